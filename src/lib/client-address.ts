import { isIP } from 'node:net';

/** The client address when neither a header nor the connection has one, such as after the client has gone. */
const UNKNOWN = 'unknown';

/**
 * The IP address of the client: what the trusted proxy wrote into `header`, or the connection's peer. A proxy appends
 * to a header that the client sent, so only the last address is the proxy's word. A value that is no IP address counts
 * as absent.
 */
export function clientAddress(headers: Headers, peer: string | null, header: string | undefined): string {
  const forwarded = header === undefined ? undefined : headers.get(header)?.split(',').at(-1)?.trim();
  return parseIp(forwarded) ?? parseIp(peer ?? undefined) ?? UNKNOWN;
}

/** The one spelling of an IP address: IPv6 is compressed, and IPv4 in IPv6 becomes IPv4. Null for anything else. */
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

/** The clients that share limits with this one: an IPv6 customer has a /64 at least, and counts as one client. */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const before = head.split(':').filter(Boolean);
  const after = tail?.split(':').filter(Boolean) ?? [];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
