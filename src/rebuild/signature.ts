import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { Deps } from '../deps.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { DAY_MS } from '../lib/time.ts';
import type { SealedHook } from './store.ts';

// Signatures by https://www.standardwebhooks.com, and the secrets for them.

const SECRET_BYTES = 32;

/** How long the previous secret signs too after a rotation, in milliseconds. */
const OVERLAP_MS = DAY_MS;

interface Secrets {
  current: string;
  previous: { secret: string; until: number } | null;
}

const contextOf = (hookId: string) => `secret of rebuild hook ${hookId}`;

/** A new signing secret, and its sealed form with the one before it. */
export function newSigningSecret(
  deps: Pick<Deps, 'secrets' | 'clock'>,
  hook: Pick<SealedHook, 'id' | 'secret'>,
): { secret: string; sealed: string } {
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  const before = openedOrNull(deps, hook);
  const until = deps.clock.now().getTime() + OVERLAP_MS;
  const secrets: Secrets = {
    current: secret,
    previous: before === null ? null : { secret: before.current, until },
  };
  const sealed = deps.secrets.seal(JSON.stringify(secrets), contextOf(hook.id)).toString('base64url');
  return { secret, sealed };
}

/** Null also after the secret key was lost: a rotation must work then. */
function openedOrNull(
  deps: Pick<Deps, 'secrets'>,
  { id, secret }: Pick<SealedHook, 'id' | 'secret'>,
): Secrets | null {
  try {
    return secret === null ? null : openSecrets(deps, id, secret);
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}

/** The secrets to sign with now, the current one first. Throws `WrongSecretKey`. */
export function signingSecrets(
  deps: Pick<Deps, 'secrets' | 'clock'>,
  { id, secret }: Pick<SealedHook, 'id' | 'secret'>,
): string[] {
  if (secret === null) return [];
  const { current, previous } = openSecrets(deps, id, secret);
  const isValid = previous !== null && previous.until > deps.clock.now().getTime();
  return isValid ? [current, previous.secret] : [current];
}

function openSecrets({ secrets }: Pick<Deps, 'secrets'>, id: string, sealed: string): Secrets {
  return JSON.parse(secrets.open(Buffer.from(sealed, 'base64url'), contextOf(id)));
}

/** The three headers of a signed request: a signature with each secret. */
export function signatureHeaders(
  secrets: readonly string[],
  { id, body, now }: { id: string; body: string; now: Date },
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
  };
}
