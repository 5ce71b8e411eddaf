import { randomToken } from '../lib/text.ts';

/** The token goes to its person; the database holds only its hash. */
export function newSecret(): { token: string; hash: string } {
  const token = randomToken(32);
  return { token, hash: hashOf(token) };
}

export function hashOf(token: string): string {
  return new Bun.CryptoHasher('sha256').update(token).digest('base64url');
}
