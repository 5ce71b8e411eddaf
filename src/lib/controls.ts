// Characters with which a stranger can control a terminal or reorder the text around their own: control characters and
// Unicode's bidirectional formatting characters.

/** All but tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the pattern
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Everything that starts a new line or moves the cursor, as one run. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the pattern
const CONTROLS_AND_BREAKS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** Characters that `JSON.stringify` does not escape. */
const UNESCAPED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, '');
}

export function onOneLine(text: string): string {
  return text.replaceAll(CONTROLS_AND_BREAKS, ' ');
}

/** The same JSON value without characters that a terminal interprets. */
export function escapeControls(json: string): string {
  return json.replaceAll(UNESCAPED, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
