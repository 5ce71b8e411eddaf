import { and, asc, count, eq, gt, inArray, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { hooks, integrations } from '../../db/schema/index.ts';
import { DAY_MS } from '../lib/time.ts';
import type { Hook } from '../providers/api.ts';
import type { IntegrationType } from './model.ts';

const columns = {
  integrationId: hooks.integrationId,
  placeId: hooks.placeId,
  placeName: hooks.placeName,
  repositoryId: hooks.repositoryId,
  remoteId: hooks.remoteId,
  events: hooks.events,
  hasPresentSecret: hooks.hasPresentSecret,
  problem: hooks.problem,
  retryAt: hooks.retryAt,
  attempts: hooks.attempts,
};

/** What tells a hook from all others. */
type HookKey = Pick<Hook, 'integrationId' | 'placeId'>;

const isHook = ({ integrationId, placeId }: HookKey) =>
  and(eq(hooks.integrationId, integrationId), eq(hooks.placeId, placeId));

/** A hook that is yet to be made at the provider; the job leaves it alone until `retryAt`, in milliseconds since 1970. */
export function newHook(
  integrationId: string,
  place: { id: string; name: string },
  repositoryId: string | null,
  retryAt: number,
): Hook {
  return {
    integrationId,
    placeId: place.id,
    placeName: place.name,
    repositoryId,
    remoteId: null,
    events: [],
    hasPresentSecret: false,
    problem: null,
    retryAt,
    attempts: 0,
  };
}

/**
 * Synchronous, for a transaction of the caller's. One that is there already stays as it is. Returns whether none was.
 */
export function insertHooks(db: Database, rows: readonly Hook[], createdAt: string): boolean {
  const inserted = rows.map((row) =>
    db
      .insert(hooks)
      .values({ ...row, events: [...row.events], createdAt })
      .onConflictDoNothing()
      .returning({ placeId: hooks.placeId })
      .all(),
  );
  return inserted.every(({ length }) => length === 1);
}

/** Of one integration, by the names of their places. */
export async function listHooks(db: Database, integrationId: string): Promise<Hook[]> {
  return db
    .select(columns)
    .from(hooks)
    .where(eq(hooks.integrationId, integrationId))
    .orderBy(asc(hooks.placeName), asc(hooks.placeId))
    .all();
}

/** As much of a hook as tells whether something is to be done about it. */
export type DueHook = Pick<
  Hook,
  'integrationId' | 'placeId' | 'repositoryId' | 'remoteId' | 'events' | 'hasPresentSecret'
> & { type: IntegrationType };

/** How long a hook may wait, in milliseconds. One that waits longer got its time from a clock that was ahead. */
export const MAX_WAIT_MS = DAY_MS;

/** Those of all integrations that have a token and may be tried now, the ones that were tried least first. */
export async function listDueHooks(db: Database, now: Date): Promise<DueHook[]> {
  return statements(db).due.all({ now: now.getTime(), latestRetry: now.getTime() + MAX_WAIT_MS });
}

/** As it is now, when it may be tried; null when it may not any more, or was taken away. */
export async function findDueHook(db: Database, key: HookKey, now: Date): Promise<Hook | null> {
  const hook = db.select(columns).from(hooks).where(isHook(key)).get();
  if (hook === undefined) return null;
  const waitMs = (hook.retryAt ?? 0) - now.getTime();
  return waitMs <= 0 || waitMs > MAX_WAIT_MS ? hook : null;
}

const statements = prepared((db) => ({
  due: db
    .select({
      integrationId: hooks.integrationId,
      placeId: hooks.placeId,
      repositoryId: hooks.repositoryId,
      remoteId: hooks.remoteId,
      events: hooks.events,
      hasPresentSecret: hooks.hasPresentSecret,
      type: integrations.type,
    })
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .where(
      and(
        isNotNull(integrations.token),
        or(
          isNull(hooks.retryAt),
          lte(hooks.retryAt, sql.placeholder('now')),
          gt(hooks.retryAt, sql.placeholder('latestRetry')),
        ),
      ),
    )
    .orderBy(asc(hooks.attempts), asc(hooks.integrationId), asc(hooks.placeId))
    .prepare(),
}));

/** What is known of the hook now. Nothing when it was taken away meanwhile. */
export function updateHook(
  db: Database,
  key: HookKey,
  changes: Partial<Omit<Hook, 'integrationId' | 'placeId' | 'repositoryId'>>,
): Promise<void> {
  const { events, ...rest } = changes;
  return db.write(() => {
    db.update(hooks)
      .set({ ...rest, ...(events === undefined ? {} : { events: [...events] }) })
      .where(isHook(key))
      .run();
  });
}

/**
 * The secret that they were given is not the present one any more; the job leaves them alone until `retryAt`, in
 * milliseconds since 1970. Synchronous, for a transaction of the caller's.
 */
export function markSecretChanged(db: Database, integrationId: string, retryAt: number): void {
  db.update(hooks)
    .set({ hasPresentSecret: false, retryAt, attempts: 0 })
    .where(eq(hooks.integrationId, integrationId))
    .run();
}

/** Returns the provider's id that it had at the very end; null without one. Synchronous, as above. */
export function deleteHook(db: Database, key: HookKey): string | null {
  const [deleted] = db.delete(hooks).where(isHook(key)).returning({ remoteId: hooks.remoteId }).all();
  return deleted?.remoteId ?? null;
}

/**
 * What the provider has now, set with this sealed secret: whether that still is the present one is asked in the same
 * transaction, as another process may have rotated it. Null when the hook was taken away meanwhile.
 */
export async function recordMade(
  db: Database,
  hook: Hook,
  { remoteId, events, secret }: { remoteId: string; events: readonly string[]; secret: Buffer },
): Promise<Hook | null> {
  const { integrationId, repositoryId } = hook;
  const well = { problem: null, retryAt: null, attempts: 0 };
  const isPresent = sql<boolean>`(SELECT ${integrations.secret} = ${secret} FROM ${integrations} WHERE ${integrations.id} = ${integrationId})`;
  const [row] = await db.write(() =>
    db
      .update(hooks)
      .set({ remoteId, events: [...events], hasPresentSecret: isPresent, ...well })
      .where(
        and(
          isHook(hook),
          // The same place may be there again, with another URL.
          sql`${hooks.repositoryId} IS ${repositoryId}`,
        ),
      )
      .returning({ hasPresentSecret: hooks.hasPresentSecret })
      .all(),
  );
  if (row === undefined) return null;
  return { ...hook, remoteId, events, hasPresentSecret: row.hasPresentSecret, ...well };
}

/**
 * Whether somebody is giving the integration's hooks another secret at the moment, so that the provider may still have
 * the previous one. Synchronous, for a transaction of the caller's.
 */
export function isBeingRotated(db: Database, integrationId: string, now: Date): boolean {
  const row = db
    .select({ placeId: hooks.placeId })
    .from(hooks)
    .where(
      and(
        eq(hooks.integrationId, integrationId),
        isNotNull(hooks.remoteId),
        eq(hooks.hasPresentSecret, false),
        isNull(hooks.problem),
        gt(hooks.retryAt, now.getTime()),
      ),
    )
    .get();
  return row !== undefined;
}

/** Forgets all of an integration, and returns them as they were. Synchronous, for a transaction of the caller's. */
export function deleteHooks(db: Database, integrationId: string): Hook[] {
  return db.delete(hooks).where(eq(hooks.integrationId, integrationId)).returning(columns).all();
}

/** The job leaves them alone until `retryAt`, in milliseconds since 1970, and then sets each anew. */
export function takeInHand(db: Database, integrationId: string, retryAt: number): Promise<void> {
  return db.write(() => markSecretChanged(db, integrationId, retryAt));
}

/** Undoes that; the job sets the first `changedCount` of them anew at once. */
export async function letGo(db: Database, given: readonly Hook[], changedCount: number): Promise<void> {
  for (const [index, hook] of given.entries()) {
    const { hasPresentSecret, retryAt, attempts } = hook;
    const isChanged = index < changedCount;
    await updateHook(db, hook, isChanged ? { retryAt: null } : { hasPresentSecret, retryAt, attempts });
  }
}

/** How many hooks are not as they should be, because the provider did not do what it was asked. */
export function countProblems(db: Database): number {
  return db.select({ problems: count() }).from(hooks).where(isNotNull(hooks.problem)).get()?.problems ?? 0;
}

/** The integration of the organization that has a webhook at one of these teams. Synchronous, as above. */
export function findConnectedTeam(
  db: Database,
  organizationId: string,
  teamIds: readonly string[],
): { integrationId: string; name: string; hasToken: boolean } | null {
  const found = db
    .select({ integrationId: hooks.integrationId, name: hooks.placeName })
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .where(
      and(
        eq(integrations.organizationId, organizationId),
        isNull(hooks.repositoryId),
        inArray(hooks.placeId, [...teamIds]),
      ),
    )
    .get();
  return found === undefined ? null : { ...found, hasToken: true };
}
