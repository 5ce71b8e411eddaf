// Bodies that may have been signed before something on the way changed them. They come from unverified senders, so
// the time for everything here grows with their length.

/** The changes on the way from the signer to the receiver, in words. */
export const bodyChanges = {
  'json-rewritten': 'the JSON was reformatted',
  'form-to-json': 'the JSON was extracted from a form',
  'json-to-form': 'the JSON was wrapped in a form',
  'form-rewritten': 'the form was encoded again',
  'line-ends': 'the line endings were changed',
  'line-end-added': 'a line ending was added at the end',
  'line-end-removed': 'the last line ending was removed',
  'bom-added': 'a byte order mark was added',
  'bom-removed': 'the byte order mark was removed',
};

export type BodyChange = keyof typeof bodyChanges;

/** `text` is the body before the change. */
type Variant = [change: BodyChange, text: string];

const BOM = '\uFEFF';
const FORM = /(?:^|&)payload=([^&]*)/;
const JSON_START = /^\s*[{[]/;

/** None when the body is not UTF-8. */
export function* bodyVariants(body: Uint8Array): Generator<Variant> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return;
  }
  const field = JSON_START.test(text) ? undefined : FORM.exec(text)?.[1];
  for (const variant of field === undefined ? ofJson(text) : ofForm(field)) {
    if (variant[1] !== text) yield variant;
  }
  yield* ofLines(text);
}

function* ofJson(json: string): Generator<Variant> {
  for (const text of layouts(json)) yield ['json-rewritten', text];
  for (const text of forms(json)) yield ['form-to-json', text];
}

function* ofForm(field: string): Generator<Variant> {
  const json = new URLSearchParams(`payload=${field}`).get('payload') ?? '';
  yield ['json-to-form', json];
  for (const text of forms(json)) yield ['form-rewritten', text];
}

function* ofLines(text: string): Generator<Variant> {
  const unix = text.replaceAll('\r\n', '\n');
  if (unix !== text) yield ['line-ends', unix];
  if (unix.includes('\n')) yield ['line-ends', unix.replaceAll('\n', '\r\n')];
  if (text.endsWith('\n')) yield ['line-end-added', text.replace(/\r?\n$/, '')];
  yield ['line-end-removed', `${text}\n`];
  yield ['line-end-removed', `${text}\r\n`];
  yield text.startsWith(BOM) ? ['bom-added', text.slice(BOM.length)] : ['bom-removed', BOM + text];
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

/** Indentation grows with depth: this many levels make a body at most 17 times as long. Providers nest less. */
const MAX_DEPTH = 16;

/** The same JSON: compact, compact with only the escapes that JSON needs, and indented. */
function* layouts(json: string): Generator<string> {
  const text = compact(json);
  yield text;
  if (depthOf(text) > MAX_DEPTH) return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  const indented = JSON.stringify(value, null, 2);
  yield* [JSON.stringify(value), indented, `${indented}\n`];
}

/** A string, which may lack its end, or white space. */
const STRING_OR_SPACE = /"(?:[^"\\]+|\\.)*"?|[ \t\r\n]+/gs;

/** JSON without white space. Unlike `JSON.parse`, it keeps numbers and the order of fields. */
export function compact(json: string): string {
  return json.replaceAll(STRING_OR_SPACE, (each) => (each.startsWith('"') ? each : ''));
}

export function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (const each of json.replaceAll(STRING_OR_SPACE, '')) {
    if (each === '{' || each === '[') deepest = Math.max(deepest, ++depth);
    else if (each === '}' || each === ']') depth--;
  }
  return deepest;
}
