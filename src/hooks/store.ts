import { and, asc, count, eq, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { commitTogether } from '../../db/group-commit.ts';
import { hooks, integrations } from '../../db/schema/index.ts';
import type { IntegrationType } from '../integrations/model.ts';
import type { Hook } from './model.ts';

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

/** A hook that is yet to be made at the provider. */
export function newHook(
  integrationId: string,
  place: { id: string; name: string },
  repositoryId: string | null,
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
    retryAt: null,
    attempts: 0,
  };
}

/** Synchronous, for a transaction of the caller's. One that is there already stays as it is. */
export function insertHooks(db: Database, rows: readonly Hook[], createdAt: string): void {
  for (const row of rows) {
    db.insert(hooks)
      .values({ ...row, events: [...row.events], createdAt })
      .onConflictDoNothing()
      .run();
  }
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

/** Those of all integrations that have a token and may be tried now, the ones that were tried least first. */
export async function listDueHooks(db: Database, now: Date): Promise<DueHook[]> {
  return statements(db).due.all({ now: now.getTime() });
}

/** As it is now, when it may be tried; null when it may not any more, or was taken away. */
export async function findDueHook(
  db: Database,
  { integrationId, placeId }: Pick<Hook, 'integrationId' | 'placeId'>,
  now: Date,
): Promise<Hook | null> {
  const hook = db
    .select(columns)
    .from(hooks)
    .where(and(eq(hooks.integrationId, integrationId), eq(hooks.placeId, placeId)))
    .get();
  return hook !== undefined && (hook.retryAt ?? 0) <= now.getTime() ? hook : null;
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
        or(isNull(hooks.retryAt), lte(hooks.retryAt, sql.placeholder('now'))),
      ),
    )
    .orderBy(asc(hooks.attempts), asc(hooks.integrationId), asc(hooks.placeId))
    .prepare(),
}));

/** What is known of the hook now. Nothing when it was taken away meanwhile. */
export function updateHook(
  db: Database,
  { integrationId, placeId }: Pick<Hook, 'integrationId' | 'placeId'>,
  changes: Partial<Omit<Hook, 'integrationId' | 'placeId' | 'repositoryId'>>,
): Promise<void> {
  const { events, ...rest } = changes;
  return commitTogether(db, () => {
    db.update(hooks)
      .set({ ...rest, ...(events === undefined ? {} : { events: [...events] }) })
      .where(and(eq(hooks.integrationId, integrationId), eq(hooks.placeId, placeId)))
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

export function deleteHook(
  db: Database,
  { integrationId, placeId }: Pick<Hook, 'integrationId' | 'placeId'>,
): Promise<void> {
  return commitTogether(db, () => {
    db.delete(hooks)
      .where(and(eq(hooks.integrationId, integrationId), eq(hooks.placeId, placeId)))
      .run();
  });
}

/** How many hooks are not as they should be, because the provider did not do what it was asked. */
export function countProblems(db: Database): number {
  return db.select({ problems: count() }).from(hooks).where(isNotNull(hooks.problem)).get()?.problems ?? 0;
}
