import { isIP } from 'node:net';

/**
 * The client's IP address: the last one in the trusted proxy's `header`, or the connection's peer. Earlier addresses in
 * the header come from the client. Any other value counts as absent; `unknown` without one, as after a disconnect.
 */
export function clientAddress(headers: Headers, peer: string | null, header: string | undefined): string {
  const forwarded = header === undefined ? undefined : headers.get(header)?.split(',').at(-1)?.trim();
  return parseIp(forwarded) ?? parseIp(peer ?? undefined) ?? 'unknown';
}

/** Normalizes an IP address: IPv6 is compressed, and IPv4 in IPv6 becomes IPv4. Null for anything else. */
function parseIp(text: string | undefined): string | null {
  if (text === undefined || isIP(text) === 0) return null;
  if (isIP(text) === 4) return text;
  const [withoutZone = ''] = text.split('%');
  const address = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}
