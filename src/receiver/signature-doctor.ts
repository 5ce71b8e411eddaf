import type { Deps } from '../deps.ts';
import type { Integration, ReceivingIntegration } from '../integrations/model.ts';
import { acceptedSecrets, expiredSecret, getIntegration, listOtherSecrets } from '../integrations/store.ts';
import { type Clock, letOthersIn } from '../lib/time.ts';
import type { Provider } from '../providers/provider.ts';
import { type BodyChange, bodyVariants } from './body-variants.ts';

// Finds the likely cause of a wrong signature by repeating the usual mistakes: each candidate is a secret and a body
// that may have been signed instead. Unverified senders can trigger this work, so its time and frequency are bounded:
// one search takes about 15 ms.

/** The largest body that is examined, in bytes. Most deliveries have less than 30 KiB. */
export const MAX_EXAMINED_BYTES = 128 * 1024;

/** Other integrations whose secrets are tried, the newest first. */
export const MAX_OTHERS = 50;

/** Searches per minute: for one integration, and in all. */
export const MAX_PER_INTEGRATION = 3;
const MAX_PER_MINUTE = 100;

/** Bytes that are hashed before other work of the server gets its turn. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

type Known =
  | { cause: 'previous-secret' }
  /** `extra`: the characters that were signed with the secret, in words. */
  | { cause: 'whitespace'; extra: string }
  | { cause: 'body-altered' | 'form'; change: BodyChange };

/** `tried` is null when the search failed. */
export type SignatureFinding =
  | Known
  | { cause: 'other-integration'; other: Integration }
  | { cause: 'too-large' | 'not-examined' }
  | { cause: 'unknown'; tried: Tried | null };

export type Tried = { hasPrevious: boolean; others: number; hasMore: boolean };

/** A secret and a body that may have been signed. `match` never holds either. */
export interface Candidate {
  secret: string;
  body: Uint8Array;
  match: Known | { cause: 'other-integration'; integrationId: string };
}

interface Refused {
  provider: Provider;
  integration: ReceivingIntegration;
  signature: string;
  body: Uint8Array;
}

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'log'>;

/** Examines a delivery that no accepted secret signed. Never throws. */
export function createSignatureDoctor(deps: Needs): (refused: Refused) => Promise<SignatureFinding> {
  const mayExamine = createRate(deps.clock);
  return async (refused) => {
    const { integration, body } = refused;
    if (body.byteLength > MAX_EXAMINED_BYTES) return { cause: 'too-large' };
    if (!mayExamine(integration.id)) return { cause: 'not-examined' };
    try {
      return await examine(deps, refused);
    } catch (err) {
      deps.log.error({ err, integrationId: integration.id }, 'the cause of a wrong signature was not found');
      return { cause: 'unknown', tried: null };
    }
  };
}

async function examine(
  deps: Needs,
  { provider, integration, signature, body }: Refused,
): Promise<SignatureFinding> {
  const found = await listOtherSecrets(deps, integration, MAX_OTHERS + 1);
  const others = found.slice(0, MAX_OTHERS);
  const accepted = acceptedSecrets(deps, integration);
  const secrets = { accepted, expired: expiredSecret(deps, integration), others };
  let bytes = 0;
  for (const candidate of candidates(secrets, body)) {
    if (provider.isSigned(candidate.body, signature, candidate.secret)) {
      const { match } = candidate;
      if (match.cause !== 'other-integration') return match;
      const other = await deps.db.read((tx) => getIntegration(tx, match.integrationId));
      return { cause: 'other-integration', other };
    }
    bytes += candidate.body.byteLength;
    if (bytes < BYTES_PER_TURN) continue;
    bytes = 0;
    await letOthersIn();
  }
  const hasPrevious = integration.previousSecret !== null;
  const hasMore = found.length > others.length;
  return { cause: 'unknown', tried: { hasPrevious, others: others.length, hasMore } };
}

interface OpenedSecrets {
  /** The current one first. */
  accepted: readonly string[];
  /** The one before the last rotation, once it is no longer accepted. */
  expired: string | null;
  /** Of the organization's other integrations. */
  others: readonly { id: string; secrets: readonly string[] }[];
}

/** The cheapest first. */
export function* candidates(
  { accepted, expired, others }: OpenedSecrets,
  body: Uint8Array,
): Generator<Candidate> {
  if (expired !== null) yield { secret: expired, body, match: { cause: 'previous-secret' } };
  const [current] = accepted;
  for (const [before, after, extra] of surroundings) {
    // Skip an empty secret: anybody could sign with white space alone.
    if (current) yield { secret: before + current + after, body, match: { cause: 'whitespace', extra } };
  }
  for (const { id, secrets } of others) {
    const match = { cause: 'other-integration', integrationId: id } as const;
    for (const secret of secrets) yield { secret, body, match };
  }
  for (const [change, text] of bodyVariants(body)) {
    const cause = change === 'form-to-json' || change === 'json-to-form' ? 'form' : 'body-altered';
    const changed = Buffer.from(text);
    for (const secret of accepted) yield { secret, body: changed, match: { cause, change } };
  }
}

type Surrounding = [before: string, after: string, extra: string];

const blanks: readonly [blank: string, name: string][] = [
  ['\n', 'a line break'],
  ['\r\n', 'a line break'],
  ['\r', 'a line break'],
  [' ', 'a space'],
  ['\t', 'a tab'],
  ['\u00a0', 'a space'],
];

const surroundings: readonly Surrounding[] = [
  ...blanks.map(([blank, name]): Surrounding => ['', blank, `${name} after it`]),
  ...blanks.map(([blank, name]): Surrounding => [blank, '', `${name} before it`]),
  [' ', ' ', 'spaces around it'],
  ['"', '"', 'quotation marks around it'],
  ["'", "'", 'quotation marks around it'],
  ['`', '`', 'quotation marks around it'],
];

/**
 * Returns a function that counts searches and is false above the limits, which bound the processor time of this process.
 * Remembers one minute only.
 */
function createRate(clock: Clock): (integrationId: string) => boolean {
  let minute = '';
  const examined = new Map<string, number>();
  return (integrationId) => {
    const current = clock.now().toISOString().slice(0, 16);
    if (current !== minute) examined.clear();
    minute = current;
    const total = examined.values().reduce((sum, count) => sum + count, 0);
    const count = examined.get(integrationId) ?? 0;
    if (count >= MAX_PER_INTEGRATION || total >= MAX_PER_MINUTE) return false;
    examined.set(integrationId, count + 1);
    return true;
  };
}
