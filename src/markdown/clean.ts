/** Controls that turn the direction of what follows them, even behind the text. Right-to-left text needs none. */
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are to go
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Well-formed text with `\n` line ends, and without control characters but tabs. */
export function cleanText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(CONTROLS, '').replaceAll(BIDI_CONTROLS, '').toWellFormed();
}
