import { compactJson, indentJson } from './json-layout.ts';

// What a body may have been before something on its way changed it. It comes from an unverified sender: everything here
// grows with its length.

export interface BodyVariant {
  cause: 'body-altered' | 'form';
  /** What happened on the way, as a clause: "its line ends were changed". */
  detail: string;
  text: string;
}

const BOM = '\uFEFF';
const FORM = /(?:^|&)payload=([^&]*)/;
const JSON_START = /^\s*[{[]/;

/** Bodies that may have been signed in place of this one. None when it is not UTF-8. */
export function* bodyVariants(body: Uint8Array): Generator<BodyVariant> {
  const text = decode(body);
  if (text === null) return;
  const field = JSON_START.test(text) ? undefined : FORM.exec(text)?.[1];
  for (const variant of field === undefined ? ofJson(text) : ofForm(field)) {
    if (variant.text !== text) yield variant;
  }
  yield* ofLines(text);
}

function* ofJson(text: string): Generator<BodyVariant> {
  for (const written of writeAnew(text)) {
    yield { cause: 'body-altered', detail: 'its JSON was written anew', text: written };
  }
  for (const form of asForm(text)) {
    yield { cause: 'form', detail: 'its JSON was taken out of a form', text: form };
  }
}

function* ofForm(field: string): Generator<BodyVariant> {
  const json = new URLSearchParams(`payload=${field}`).get('payload') ?? '';
  yield { cause: 'form', detail: 'its JSON was put into a form', text: json };
  for (const form of asForm(json)) {
    yield { cause: 'body-altered', detail: 'its form was encoded anew', text: form };
  }
}

function* ofLines(text: string): Generator<BodyVariant> {
  const altered = (detail: string, before: string): BodyVariant => ({
    cause: 'body-altered',
    detail,
    text: before,
  });
  const plain = text.replaceAll('\r\n', '\n');
  const ends = 'its line ends were changed';
  if (plain !== text) yield altered(ends, plain);
  if (plain.includes('\n')) yield altered(ends, plain.replaceAll('\n', '\r\n'));
  if (text.endsWith('\n')) yield altered('a line end was added to it', text.replace(/\r?\n$/, ''));
  yield altered('the line end at its end was taken away', `${text}\n`);
  yield altered('the line end at its end was taken away', `${text}\r\n`);
  if (text.startsWith(BOM)) yield altered('a byte order mark was put before it', text.slice(BOM.length));
  else yield altered('the byte order mark before it was taken away', BOM + text);
}

/** A form with the text in the field `payload`, as providers, browsers and scripts encode it. */
function* asForm(text: string): Generator<string> {
  const encoded = encodeURIComponent(text);
  const strict = encoded
    .replaceAll('!', '%21')
    .replaceAll("'", '%27')
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')
    .replaceAll('*', '%2A');
  yield `payload=${strict.replaceAll('%20', '+')}`;
  yield new URLSearchParams({ payload: text }).toString();
  yield `payload=${encoded}`;
  yield `payload=${strict}`;
}

/** Deeper JSON is not parsed: writing it would take long, or run out of stack. No provider nests by the dozen. */
const MAX_DEPTH = 64;

/** How much longer than compact JSON the indented one may be. */
const MAX_GROWTH = 4;

/** The same JSON in other ways of writing: compact, compact with no more escapes than are needed, and indented. */
function* writeAnew(text: string): Generator<string> {
  const { compact, depth } = compactJson(Buffer.from(text));
  const written = Buffer.from(compact).toString();
  yield written;
  if (depth > MAX_DEPTH) return;
  if (written.includes('\\')) yield* parseAnew(written);
  const indented = indentJson(compact, compact.length * MAX_GROWTH + 1024);
  if (indented === null) return;
  const lines = Buffer.from(indented).toString();
  yield lines;
  yield `${lines}\n`;
}

function* parseAnew(json: string): Generator<string> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return;
  }
  yield JSON.stringify(value);
}

/** The text with its byte order mark; null when the bytes are not UTF-8. */
function decode(body: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return null;
  }
}
