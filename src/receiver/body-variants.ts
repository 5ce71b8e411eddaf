// Bodies that may have been signed before something on the way changed them. They come from unverified senders, so
// the time for everything here grows with their length.

/** A change on the way from the signer to the receiver. */
export type BodyChange =
  | 'json-rewritten'
  | 'form-to-json'
  | 'json-to-form'
  | 'form-rewritten'
  | 'line-ends'
  | 'line-end-added'
  | 'line-end-removed'
  | 'bom-added'
  | 'bom-removed';

export interface BodyVariant {
  change: BodyChange;
  /** The body before the change. */
  text: string;
}

const BOM = '\uFEFF';
const FORM = /(?:^|&)payload=([^&]*)/;
const JSON_START = /^\s*[{[]/;

/** None when the body is not UTF-8. */
export function* bodyVariants(body: Uint8Array): Generator<BodyVariant> {
  const text = decode(body);
  if (text === null) return;
  const field = JSON_START.test(text) ? undefined : FORM.exec(text)?.[1];
  for (const variant of field === undefined ? ofJson(text) : ofForm(field)) {
    if (variant.text !== text) yield variant;
  }
  yield* ofLines(text);
}

/** The text with its byte order mark; null when the bytes are not UTF-8. */
function decode(body: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return null;
  }
}

function* ofJson(json: string): Generator<BodyVariant> {
  for (const text of layouts(json)) yield { change: 'json-rewritten', text };
  for (const text of forms(json)) yield { change: 'form-to-json', text };
}

function* ofForm(field: string): Generator<BodyVariant> {
  const json = new URLSearchParams(`payload=${field}`).get('payload') ?? '';
  yield { change: 'json-to-form', text: json };
  for (const text of forms(json)) yield { change: 'form-rewritten', text };
}

function* ofLines(text: string): Generator<BodyVariant> {
  const unix = text.replaceAll('\r\n', '\n');
  if (unix !== text) yield { change: 'line-ends', text: unix };
  if (unix.includes('\n')) yield { change: 'line-ends', text: unix.replaceAll('\n', '\r\n') };
  if (text.endsWith('\n')) yield { change: 'line-end-added', text: text.replace(/\r?\n$/, '') };
  yield { change: 'line-end-removed', text: `${text}\n` };
  yield { change: 'line-end-removed', text: `${text}\r\n` };
  if (text.startsWith(BOM)) yield { change: 'bom-added', text: text.slice(BOM.length) };
  else yield { change: 'bom-removed', text: BOM + text };
}

/** A form with the text in the field `payload`, in the encodings of providers, browsers and scripts. */
function* forms(text: string): Generator<string> {
  const encoded = encodeURIComponent(text);
  const strict = encoded.replaceAll(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  yield `payload=${strict.replaceAll('%20', '+')}`;
  yield new URLSearchParams({ payload: text }).toString();
  yield `payload=${encoded}`;
  yield `payload=${strict}`;
}

/** Parsing deeper JSON would take long or overflow the stack. Providers nest less. */
const MAX_DEPTH = 64;

/** How much longer than compact JSON the indented one may be. */
const MAX_GROWTH = 4;

/** The same JSON: compact, compact with only the escapes that JSON needs, and indented. */
function* layouts(json: string): Generator<string> {
  const laidOut = layOut(Buffer.from(json), 0);
  if (laidOut === null) return;
  const compact = laidOut.text.toString();
  yield compact;
  if (laidOut.depth > MAX_DEPTH) return;
  if (compact.includes('\\')) yield* reparsed(compact);
  const indented = layOut(laidOut.text, 2, laidOut.text.length * MAX_GROWTH + 1024);
  if (indented === null) return;
  const lines = indented.text.toString();
  yield lines;
  yield `${lines}\n`;
}

function* reparsed(json: string): Generator<string> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return;
  }
  yield JSON.stringify(value);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LINE_FEED = 0x0a;

const isBlank = (byte: number) => byte === SPACE || (byte >= 0x09 && byte <= 0x0d);
const isOpening = (byte: number) => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number) => byte === 0x7d || byte === 0x5d;

/**
 * Lays JSON out as `JSON.stringify` does with this indent, and measures its depth. Works on bytes: numbers and the order
 * of fields stay, nesting needs no stack, and hostile input takes no longer. Invalid JSON gives some text. Null when
 * the result would exceed `maxBytes`: indented nesting grows with the square of its depth.
 */
export function layOut(
  json: Uint8Array,
  indent: number,
  maxBytes = json.length + 2,
): { text: Buffer; depth: number } | null {
  const text = Buffer.allocUnsafe(maxBytes);
  let length = 0;
  let depth = 0;
  let deepest = 0;
  let before = 0;
  let isString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (!isString && isBlank(byte)) continue;
    if (length + 2 > maxBytes) return null;
    if (isString) {
      text[length++] = byte;
      if (byte === BACKSLASH && at + 1 < json.length) text[length++] = json[++at] ?? 0;
      isString = byte !== QUOTE;
      before = byte;
      continue;
    }
    if (isClosing(byte)) depth = Math.max(0, depth - 1);
    const isNewLine = isClosing(byte) ? !isOpening(before) : isOpening(before) || before === COMMA;
    if (indent > 0 && isNewLine) {
      if (length + 3 + depth * indent > maxBytes) return null;
      text[length++] = LINE_FEED;
      text.fill(SPACE, length, length + depth * indent);
      length += depth * indent;
    }
    text[length++] = byte;
    if (indent > 0 && byte === COLON) text[length++] = SPACE;
    if (isOpening(byte)) deepest = Math.max(deepest, ++depth);
    isString = byte === QUOTE;
    before = byte;
  }
  return { text: text.subarray(0, length), depth: deepest };
}
