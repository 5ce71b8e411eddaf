import type { Deps } from '../deps.ts';
import { findFullAt, saveThrottle } from '../http/throttle-store.ts';
import { type Polled, REQUESTS_PER_ROUND } from '../integrations/poll-interval.ts';
import type { Integration } from '../integrations/store.ts';
import { providerOf } from '../providers/index.ts';

// Requests without a token share one limit for the whole server. Rounds that people start get a part of it, and each
// organization half of that part, so that none uses it up. Kept in the database: the limits hold for all processes.

/** The part of the provider's limit. The schedule has `SHARE`; the rest is for history. */
const BY_HAND_SHARE = 0.2;

const HOUR_MS = 3_600_000;

/** A later end comes from a clock that was wrong. */
const MAX_MS = 2 * HOUR_MS;

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
    { key: keyOf(type, ''), perHour: allowance.server },
    { key: keyOf(type, organizationId), perHour: allowance.organization },
  ];
  const now = clock.now().getTime();
  const take = async (tx: Parameters<Parameters<typeof db.write>[0]>[0]) => {
    const stored = await findFullAt(
      tx,
      buckets.map(({ key }) => key),
    );
    const present = buckets.map((bucket) => {
      const fullAt = stored.get(bucket.key) ?? now;
      const isPossible = fullAt > now && fullAt <= now + MAX_MS;
      return { ...bucket, everyMs: HOUR_MS / bucket.perHour, fullAt: isPossible ? fullAt : now };
    });
    const left = present.map(({ everyMs, fullAt, perHour }) =>
      Math.max(0, Math.floor(perHour - (fullAt - now) / everyMs)),
    );
    const granted = Math.min(wanted, ...left);
    const taken = present.map((each) => ({
      ...each,
      fullAt: Math.round(each.fullAt + granted * each.everyMs),
    }));
    if (granted > 0) for (const { key, fullAt } of taken) await saveThrottle(tx, key, fullAt);
    const next = Math.max(...taken.map(({ everyMs, fullAt, perHour }) => fullAt - (perHour - 1) * everyMs));
    return { granted, retryAt: new Date(Math.max(now, Math.ceil(next))) };
  };
  // The key under which all rows of the table are written.
  return db.write(take, { key: 'throttles' });
}

const keyOf = (type: string, organizationId: string) =>
  Bun.SHA256.hash(`poll by hand ${type} ${organizationId}`, 'base64url');
