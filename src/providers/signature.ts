import { timingSafeEqual } from 'node:crypto';

/** The HMAC-SHA-256 of the raw bytes, as lower-case hex. Throws for an empty secret, which would sign for anybody. */
export function hmacSha256(secret: string, body: Uint8Array | string): string {
  if (secret === '') throw new Error('an empty secret signs nothing');
  return new Bun.CryptoHasher('sha256', secret).update(body).digest('hex');
}

/**
 * Whether `hex` (64 lower-case digits, anything else is wrong) is the body's HMAC, compared in constant time.
 * A length that differs is wrong, not an error; an empty secret never verifies.
 */
export function isHmacSha256(hex: string, secret: string, body: Uint8Array): boolean {
  if (secret === '' || !/^[0-9a-f]{64}$/.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, 'latin1'), Buffer.from(hmacSha256(secret, body), 'latin1'));
}
