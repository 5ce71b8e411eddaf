import { timingSafeEqual } from 'node:crypto';

// How providers sign a delivery: three headers, the last with the HMAC-SHA-256 of the raw body.

/** The headers of a delivery, read before anything is verified. */
export interface DeliveryHeaders {
  event: string;
  deliveryId: string;
  signature: string;
}

/** The names of a provider's headers, as its documentation writes them. */
export interface HeaderNames {
  event: string;
  delivery: string;
  signature: string;
  /** Stands in front of the hex digits of the signature. */
  prefix: '' | 'sha256=';
}

/** How to check a delivery, and how to sign a test delivery. */
export interface Signing {
  readonly headerNames: HeaderNames;
  /** The headers that the log keeps, in lower case. Never the signature. */
  readonly loggedHeaders: readonly string[];
  /** The headers, or the name of the first one that is missing or malformed. */
  readHeaders(headers: Headers): DeliveryHeaders | { missing: string };
  /** Compares in constant time. Never true for an empty secret. */
  isSigned(body: Uint8Array, signature: string, secret: string): boolean;
  /** The headers of a signed delivery. */
  sign(delivery: { event: string; deliveryId: string; body: string; secret: string }): Record<string, string>;
}

/** `otherHeaders`: further headers that the log keeps. */
export function signedBy(
  names: HeaderNames,
  { otherHeaders, userAgent }: { otherHeaders: readonly string[]; userAgent: string },
): Signing {
  return {
    headerNames: names,
    loggedHeaders: [names.event, names.delivery, ...otherHeaders].map((name) => name.toLowerCase()),

    readHeaders(headers) {
      const event = tokenHeader(headers, names.event);
      if (event === null) return { missing: names.event };
      const deliveryId = tokenHeader(headers, names.delivery);
      if (deliveryId === null) return { missing: names.delivery };
      const signature = headers.get(names.signature);
      return signature ? { event, deliveryId, signature } : { missing: names.signature };
    },

    isSigned(body, signature, secret) {
      const { prefix } = names;
      return signature.startsWith(prefix) && isHmacSha256(signature.slice(prefix.length), secret, body);
    },

    sign({ event, deliveryId, body, secret }) {
      return {
        'user-agent': userAgent,
        [names.event.toLowerCase()]: event,
        [names.delivery.toLowerCase()]: deliveryId,
        [names.signature.toLowerCase()]: names.prefix + hmacSha256(secret, body),
      };
    },
  };
}

/** Limits delivery ids and event names: both go into the database and the log. */
const TOKEN = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;

/** The value of a header that must be a plain token; null when it is absent, doubled or malformed. */
function tokenHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value !== null && TOKEN.test(value) ? value : null;
}

/** The HMAC-SHA-256 of the raw bytes, as lower-case hex. Throws for an empty secret, which would sign for anybody. */
export function hmacSha256(secret: string, body: Uint8Array | string): string {
  if (secret === '') throw new Error('an empty secret signs nothing');
  return new Bun.CryptoHasher('sha256', secret).update(body).digest('hex');
}

/**
 * Compares `hex` with the body's HMAC in constant time. Anything but 64 lower-case digits is wrong, not an error; an
 * empty secret never verifies.
 */
function isHmacSha256(hex: string, secret: string, body: Uint8Array): boolean {
  if (secret === '' || !/^[0-9a-f]{64}$/.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, 'latin1'), Buffer.from(hmacSha256(secret, body), 'latin1'));
}
