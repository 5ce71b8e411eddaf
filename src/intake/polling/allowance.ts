import { changing, THROTTLES } from '../../../db/engine.ts';
import { type Polled, REQUESTS_PER_ROUND } from '../../integrations/poll-store.ts';
import type { Integration } from '../../integrations/store.ts';
import { fullAgainAt, type RateLimit, waitMs } from '../../lib/bounded-map.ts';
import type { Deps } from '../../people/deps.ts';
import { findFullAt, saveThrottle } from '../../people/throttles.ts';
import { providerOf } from '../../providers/index.ts';

// Requests without a token share one limit for the whole server. Rounds that people start get a part of it, and each
// organization half of that part, so that none uses it up. Kept in the database: the limits hold for all processes.

/** The part of the provider's limit. The schedule has `SHARE`; the rest is for history. */
const BY_HAND_SHARE = 0.2;

const HOUR_MS = 3_600_000;

/** How far the clocks of two processes may differ. */
const MAX_SKEW_MS = HOUR_MS;

/** The rounds that people may start within an hour. */
interface Allowance {
  server: number;
  organization: number;
}

/** Null without a bound of ours: a token has its own limit. */
export function allowanceOf({ type, hasToken }: Polled): Allowance | null {
  const perHour = hasToken ? null : (providerOf(type).reader?.anonymousPerHour ?? null);
  if (perHour === null) return null;
  const server = Math.max(1, Math.floor((perHour * BY_HAND_SHARE) / REQUESTS_PER_ROUND));
  return { server, organization: Math.ceil(server / 2) };
}

/**
 * Takes up to `wanted` rounds from both allowances. Resolves to the number of rounds that may start now, and to when
 * the next one may.
 */
export async function takeRounds(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  integration: Pick<Integration, 'type' | 'hasToken' | 'organizationId'>,
  wanted: number,
): Promise<{ granted: number; retryAt: Date | null }> {
  const allowance = allowanceOf(integration);
  if (allowance === null) return { granted: wanted, retryAt: null };
  const { type, organizationId } = integration;
  const buckets = [
    { key: keyOf(type, ''), limit: perHour(allowance.server) },
    { key: keyOf(type, organizationId), limit: perHour(allowance.organization) },
  ];
  const now = clock.now().getTime();
  const take = async (tx: Parameters<Parameters<typeof db.write>[0]>[0]) => {
    const stored = await findFullAt(
      tx,
      buckets.map(({ key }) => key),
    );
    const present = buckets.map((bucket) => ({
      ...bucket,
      fullAt: fullAgainAt(stored.get(bucket.key), bucket.limit, now, MAX_SKEW_MS),
    }));
    const left = present.map(({ limit: { burst, everyMs }, fullAt }) =>
      Math.max(0, Math.floor(burst - (fullAt - now) / everyMs)),
    );
    const granted = Math.min(wanted, ...left);
    const taken = present.map((each) => ({
      ...each,
      fullAt: Math.round(each.fullAt + granted * each.limit.everyMs),
    }));
    if (granted > 0) for (const { key, fullAt } of taken) await saveThrottle(tx, key, fullAt);
    const wait = Math.max(0, ...taken.map(({ limit, fullAt }) => waitMs(fullAt, limit, now)));
    return { granted, retryAt: new Date(now + Math.ceil(wait)) };
  };
  // The key under which all rows of the table are written.
  return db.write(take, changing(THROTTLES));
}

const perHour = (number: number): RateLimit => ({ burst: number, everyMs: HOUR_MS / number });

const keyOf = (type: string, organizationId: string) =>
  Bun.SHA256.hash(`poll by hand ${type} ${organizationId}`, 'base64url');
