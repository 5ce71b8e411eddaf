import { isRecord } from '../lib/validation.ts';
import { MalformedPayload } from './provider.ts';

/** What a delivery id or an event name may be: both go into the database and the log. */
const TOKEN = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;

/** The value of a header that must be a plain token; null when it is absent, doubled or odd. */
export function tokenHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value !== null && TOKEN.test(value) ? value : null;
}

/** A JSON object from UTF-8 bytes. Throws `MalformedPayload`. */
export function parseJsonObject(body: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new MalformedPayload('the body is not JSON in UTF-8');
  }
  if (!isRecord(value)) throw new MalformedPayload('the body is not a JSON object');
  return value;
}
