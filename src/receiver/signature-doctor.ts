import type { Deps } from '../deps.ts';
import type { Integration, ReceivingIntegration } from '../integrations/model.ts';
import { acceptedSecrets, expiredSecret, listOtherSecrets } from '../integrations/secrets.ts';
import { getIntegration } from '../integrations/store.ts';
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
  const tried = { hasPrevious: integration.previousSecret !== null, others: 0, hasMore: false };
  const secrets = {
    accepted: acceptedSecrets(deps, integration),
    expired: expiredSecret(deps, integration),
    others: async () => {
      const found = await listOtherSecrets(deps, integration, MAX_OTHERS + 1);
      const others = found.slice(0, MAX_OTHERS);
      tried.others = others.length;
      tried.hasMore = found.length > MAX_OTHERS;
      return others;
    },
  };
  let bytes = 0;
  for await (const candidate of candidates(secrets, body)) {
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
  return { cause: 'unknown', tried };
}

interface OpenedSecrets {
  /** The current one first. */
  accepted: readonly string[];
  /** The one before the last rotation, once it is no longer accepted. */
  expired: string | null;
  /** Of the organization's other integrations; read only when they are needed. */
  others(): Promise<readonly { id: string; secrets: readonly string[] }[]>;
}

/** The cheapest first. */
export async function* candidates(
  { accepted, expired, others }: OpenedSecrets,
  body: Uint8Array,
): AsyncGenerator<Candidate> {
  if (expired !== null) yield { secret: expired, body, match: { cause: 'previous-secret' } };
  const [current] = accepted;
  for (const [before, after, extra] of surroundings) {
    // Skip an empty secret: anybody could sign with white space alone.
    if (current) yield { secret: before + current + after, body, match: { cause: 'whitespace', extra } };
  }
  for (const { id, secrets } of await others()) {
    const match = { cause: 'other-integration', integrationId: id } as const;
    for (const secret of secrets) yield { secret, body, match };
  }
  for (const [change, text] of bodyVariants(body)) {
    const cause = change === 'form-to-json' || change === 'json-to-form' ? 'form' : 'body-altered';
    const changed = Buffer.from(text);
    for (const secret of accepted) yield { secret, body: changed, match: { cause, change } };
  }
}

const surroundings: readonly [before: string, after: string, extra: string][] = [
  ...[
    ['\n', 'a line break'] as const,
    ['\r\n', 'a line break'] as const,
    ['\r', 'a line break'] as const,
    [' ', 'a space'] as const,
    ['\t', 'a tab'] as const,
    ['\u00a0', 'a space'] as const,
  ].flatMap(([each, what]): [string, string, string][] => [
    ['', each, `${what} behind it`],
    [each, '', `${what} before it`],
  ]),
  [' ', ' ', 'spaces around it'],
  ['"', '"', 'quotation marks around it'],
  ["'", "'", 'quotation marks around it'],
  ['`', '`', 'quotation marks around it'],
];

/** Returns a function that counts searches and is false above the limits. Remembers one minute only. */
function createRate(clock: Clock): (integrationId: string) => boolean {
  let minute = '';
  let total = 0;
  const examined = new Map<string, number>();
  return (integrationId) => {
    const current = clock.now().toISOString().slice(0, 16);
    if (current !== minute) {
      minute = current;
      total = 0;
      examined.clear();
    }
    const count = examined.get(integrationId) ?? 0;
    if (count >= MAX_PER_INTEGRATION || total >= MAX_PER_MINUTE) return false;
    examined.set(integrationId, count + 1);
    total++;
    return true;
  };
}
