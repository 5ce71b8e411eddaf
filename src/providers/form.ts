const NAME = Buffer.from('payload=');
const [AMPERSAND, PERCENT, PLUS, SPACE] = [38, 37, 43, 32];

/** Decoded fields, because each secret that may have signed a body reads it again. */
const decoded = new WeakMap<Uint8Array, Uint8Array>();

/** The field `payload` of a form; null without one. Takes as long as 25 MB of JSON, whatever else is in the form. */
export function payloadField(body: Uint8Array): Uint8Array | null {
  const known = decoded.get(body);
  if (known !== undefined) return known;
  const form = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = startsWithPayload(body) ? 0 : form.indexOf('&payload=') + 1;
  if (start === 0 && !startsWithPayload(body)) return null;
  const from = start + NAME.length;
  const end = form.indexOf(AMPERSAND, from);
  const field = decode(form.subarray(from, end === -1 ? form.length : end));
  decoded.set(body, field);
  return field;
}

export const startsWithPayload = (body: Uint8Array) => NAME.equals(body.subarray(0, NAME.length));

/** As `URLSearchParams` decodes, but to bytes and in a fifth of the time. */
function decode(encoded: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(encoded.length);
  let length = 0;
  for (let at = 0; at < encoded.length; at++) {
    const each = encoded[at] ?? 0;
    const byte = each === PERCENT ? digit(encoded[at + 1]) * 16 + digit(encoded[at + 2]) : -1;
    if (byte >= 0) at += 2;
    bytes[length++] = byte >= 0 ? byte : each === PLUS ? SPACE : each;
  }
  return bytes.subarray(0, length);
}

/** The value of a hexadecimal digit; far below zero for other characters. */
function digit(character = 0): number {
  if (character >= 48 && character <= 57) return character - 48;
  const letter = character | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1_000;
}
