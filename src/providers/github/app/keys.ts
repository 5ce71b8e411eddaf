import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Clock } from '../../../lib/time.ts';
import type { AppCredential } from '../../app.ts';

/** GitHub refuses a JWT that is valid for more than ten minutes. */
const LIFETIME_SECONDS = 540;

/** GitHub's clock may be that far behind. */
const DRIFT_SECONDS = 60;

/** A key of 4,096 bits has 3,300 characters. */
const MAX_LENGTH = 20_000;

/** The key in a PEM file, with PKCS #1 as GitHub makes it or PKCS #8; null for anything else. */
export function parsePrivateKey(pem: string): KeyObject | null {
  if (pem.length > MAX_LENGTH) return null;
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' ? key : null;
  } catch {
    return null;
  }
}

/** Signs in as the App: a JWT with RS256. */
export function appToken({ appId, privateKey }: AppCredential, clock: Clock): string {
  const now = Math.floor(clock.now().getTime() / 1000);
  const claims = { iat: now - DRIFT_SECONDS, exp: now + LIFETIME_SECONDS, iss: String(appId) };
  const encoded = [{ alg: 'RS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const content = encoded.join('.');
  return `${content}.${sign('RSA-SHA256', Buffer.from(content), privateKey).toString('base64url')}`;
}

/** Identifies a key without revealing it. */
export function keyHash(privateKey: string): string {
  return createHash('sha256').update(privateKey).digest('base64url');
}
