// Characters that a stranger can use to steer a terminal or to reorder the text around their own: control characters,
// and the formatting characters of Unicode's bidirectional algorithm.

/** All of them but the tab and the line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the pattern
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Everything that starts a new line or moves the cursor, as one run. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the pattern
const CONTROLS_AND_BREAKS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** What `JSON.stringify` leaves as it is. */
const UNESCAPED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, '');
}

export function onOneLine(text: string): string {
  return text.replaceAll(CONTROLS_AND_BREAKS, ' ');
}

/** The same JSON value in characters that no terminal interprets. */
export function escapeControls(json: string): string {
  return json.replaceAll(UNESCAPED, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
