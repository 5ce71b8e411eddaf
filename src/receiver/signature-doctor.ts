import type { Deps } from '../deps.ts';
import type { ReceivingIntegration } from '../integrations/model.ts';
import { acceptedSecrets, expiredSecret, listOtherSecrets } from '../integrations/secrets.ts';
import { getIntegration } from '../integrations/store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Provider } from '../providers/provider.ts';
import { type Refusal, wrongSignature } from './refusal.ts';
import { type Candidate, candidates, type Found, findCause, MAX_EXAMINED_BYTES } from './signature-cause.ts';
import { type Known, nameOf, reasonFor } from './signature-words.ts';

// An unverified sender can have this work done: bounds keep one examination to some 15 ms, and their number small.

/** How many other integrations are looked at, the newest first. */
export const MAX_OTHERS = 50;

/** How many refused deliveries are examined in a minute: of one integration, and in all. */
export const MAX_PER_INTEGRATION = 3;
const MAX_PER_MINUTE = 100;

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'log'>;

interface Refused {
  provider: Provider;
  integration: ReceivingIntegration;
  signature: string;
  body: Uint8Array;
}

/** The refusal of a delivery that no secret in force signed, with the likely cause. Never throws. */
export type Diagnose = (refused: Refused) => Promise<Refusal>;

/** Finds out why signatures are refused, for the log of their own organization. */
export function createSignatureDoctor(deps: Needs): Diagnose {
  const mayExamine = createRate(deps.clock);
  return async (refused) => {
    const { provider, integration, body } = refused;
    if (body.byteLength > MAX_EXAMINED_BYTES) return refusal(nothing('too-large'), provider);
    if (!mayExamine(integration.id)) return refusal(nothing('not-examined'), provider);
    try {
      const { found, known } = await examine(deps, refused);
      return refusal(found, provider, known);
    } catch (err) {
      deps.log.error({ err, integrationId: integration.id }, 'the cause of a wrong signature was not found');
      return refusal(nothing('unknown'), provider);
    }
  };
}

function refusal(found: Found, provider: Provider, known?: Known): Refusal {
  const { cause, integrationId } = found;
  const other = integrationId === undefined ? {} : { integrationId };
  return wrongSignature({ signature: cause, ...other }, reasonFor(found, provider, known));
}

async function examine(
  deps: Needs,
  { provider, integration, signature, body }: Refused,
): Promise<{ found: Found; known: Known }> {
  let tried = { hasPrevious: integration.previousSecret !== null, others: 0, hasMore: false };
  const secrets = {
    accepted: acceptedSecrets(deps, integration),
    expired: expiredSecret(deps, integration),
    async others() {
      const others = await listOtherSecrets(deps, integration, MAX_OTHERS + 1);
      const hasMore = others.length > MAX_OTHERS;
      tried = { ...tried, others: Math.min(others.length, MAX_OTHERS), hasMore };
      return others.slice(0, MAX_OTHERS);
    },
  };
  const fits = ({ body, secret }: Candidate) => provider.isSigned(body, signature, secret);
  const found = (await findCause(candidates(secrets, body), fits)) ?? nothing('unknown');
  if (found.integrationId === undefined) return { found, known: { tried } };
  return { found, known: { other: nameOf(await getIntegration(deps.db, found.integrationId)) } };
}

function nothing(cause: 'too-large' | 'not-examined' | 'unknown'): Found {
  return { cause, detail: '' };
}

/** Whether a delivery of the integration may still be examined in this minute. Remembers one minute only. */
function createRate(clock: Clock): (integrationId: string) => boolean {
  let minute = '';
  let total = 0;
  const examined = new Map<string, number>();
  return (integrationId) => {
    const present = clock.now().toISOString().slice(0, 16);
    if (present !== minute) {
      minute = present;
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
