import { and, asc, count, eq, gt, lte, or, type SQL, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { integrations, triggerRuns, triggers } from '../../db/schema/index.ts';
import type { ReadTx } from '../../db/storage.ts';
import type { AuditAction } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import { forgetUnmatched } from './arrival-store.ts';
import { backOffMs, type RunStatus, type Trigger, type TriggerFilters, type TriggerRun } from './model.ts';

/** A trigger as it is stored: what its integration says of it aside. */
export type StoredTrigger = Omit<Trigger, 'organizationId' | 'integrationType' | 'action'>;

/** A trigger without what follows from its event. */
export type TriggerRow = Omit<Trigger, 'action'>;

/** False when another trigger has the same rule. Runs `next` in the same transaction. */
export function insertTrigger(
  deps: AuditDeps,
  trigger: StoredTrigger,
  rule: string,
  next: () => void,
): Promise<boolean> {
  const { db } = deps;
  return db.write(() => {
    const inserted = db
      .insert(triggers)
      .values({ ...trigger, rule })
      .onConflictDoNothing({ target: triggers.rule })
      .returning({ id: triggers.id })
      .all();
    if (inserted.length === 0) return false;
    next();
    recordTrigger(deps, 'trigger.created', select(db, eq(triggers.id, trigger.id))[0]);
    return true;
  });
}

/** Synchronous, for a transaction of the caller's. */
function recordTrigger(
  deps: AuditDeps,
  action: Extract<AuditAction, `trigger.${string}`>,
  trigger: TriggerRow | undefined,
  more = '',
): void {
  if (trigger === undefined) return;
  const { id, organizationId, event, contentType, publish } = trigger;
  const name = `“${event} → ${contentType}”`.replaceAll('_', ' ');
  const verb = action.slice('trigger.'.length);
  const summary = `${verb} the trigger ${name}${publish ? ', which publishes at once' : ''}${more}`;
  void recordAudit(deps.db, deps, { organizationId, action, target: { type: 'trigger', id }, summary });
}

/** False when another trigger has the same rule. */
export function replaceTrigger(deps: AuditDeps, trigger: StoredTrigger, rule: string): Promise<boolean> {
  const { db } = deps;
  return db.write(() => {
    const [before] = select(db, eq(triggers.id, trigger.id));
    const other = db
      .select({ id: triggers.id })
      .from(triggers)
      .where(and(eq(triggers.rule, rule), sql`${triggers.id} <> ${trigger.id}`))
      .get();
    if (other !== undefined) return false;
    forgetUnmatched(db, trigger.id, trigger.filters);
    db.update(triggers)
      .set({ ...trigger, rule })
      .where(eq(triggers.id, trigger.id))
      .run();
    const [after] = select(db, eq(triggers.id, trigger.id));
    const changed = changedFields(before, after);
    if (changed !== '') recordTrigger(deps, 'trigger.changed', after, `: ${changed}`);
    return true;
  });
}

const fieldNames = {
  filters: 'filters',
  contentType: 'content type',
  titleTemplate: 'title template',
  bodyTemplate: 'body template',
  publish: 'publishing',
} as const;

/** The names of what a person changed; empty when nothing did. */
function changedFields(before: TriggerRow | undefined, after: TriggerRow | undefined): string {
  const fields = Object.keys(fieldNames) as (keyof typeof fieldNames)[];
  return fields
    .filter((field) => !Bun.deepEquals(before?.[field], after?.[field]))
    .map((field) => fieldNames[field])
    .join(', ');
}

export async function findTriggerByRule(db: Database, rule: string): Promise<{ id: string } | null> {
  return db.select({ id: triggers.id }).from(triggers).where(eq(triggers.rule, rule)).get() ?? null;
}

/** Oldest first. */
export async function listTriggers(
  db: Database,
  {
    organizationId,
    integrationId,
  }: { organizationId?: string | undefined; integrationId?: string | undefined },
): Promise<TriggerRow[]> {
  return select(
    db,
    and(
      organizationId === undefined ? undefined : eq(integrations.organizationId, organizationId),
      integrationId === undefined ? undefined : eq(triggers.integrationId, integrationId),
    ),
  );
}

export async function findTrigger(db: Database, id: string): Promise<TriggerRow | null> {
  return select(db, eq(triggers.id, id))[0] ?? null;
}

/** Throws `AppError` 404. */
export async function getTrigger(db: Database, id: string): Promise<TriggerRow> {
  const trigger = await findTrigger(db, id);
  if (trigger === null) throw triggerNotFound(id);
  return trigger;
}

/** Throws `AppError` 404. */
export function setTriggerEnabled(deps: AuditDeps, id: string, enabled: boolean): Promise<void> {
  const { db, clock } = deps;
  return db.write(() => {
    const [before] = select(db, eq(triggers.id, id));
    if (before === undefined) throw triggerNotFound(id);
    const updatedAt = clock.now().toISOString();
    db.update(triggers).set({ enabled, updatedAt }).where(eq(triggers.id, id)).run();
    if (before.enabled === enabled) return;
    recordTrigger(deps, enabled ? 'trigger.enabled' : 'trigger.disabled', before);
  });
}

/** With what it still had to do; the posts that it made stay. Throws `AppError` 404. */
export function deleteTrigger(deps: AuditDeps, id: string): Promise<void> {
  const { db } = deps;
  return db.write(() => {
    const [before] = select(db, eq(triggers.id, id));
    if (before === undefined) throw triggerNotFound(id);
    db.delete(triggers).where(eq(triggers.id, id)).run();
    recordTrigger(deps, 'trigger.deleted', before);
  });
}

function select(db: Database, filter: SQL | undefined): TriggerRow[] {
  const rows = db
    .select({ trigger: triggers, integration: integrations })
    .from(triggers)
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(filter)
    .orderBy(asc(triggers.createdAt), asc(triggers.id))
    .all();
  return rows.map(({ trigger: { rule: _, ...trigger }, integration }) => ({
    ...trigger,
    organizationId: integration.organizationId,
    integrationType: integration.type,
    filters: trigger.filters as TriggerFilters,
  }));
}

/** The triggers that an event of this source may mean something to. Synchronous, for the delivery's transaction. */
export function listEnabledTriggers(
  db: ReadTx,
  integrationId: string,
  repositoryId: string | null,
): Pick<Trigger, 'id' | 'event' | 'filters'>[] {
  const rows = statements(db).enabled.all({ integrationId });
  return rows
    .filter((row) => row.repositoryId === null || row.repositoryId === repositoryId)
    .map(({ id, event, filters }) => ({ id, event, filters: filters as TriggerFilters }));
}

/** Asks for a run, or for one more look in the run that is asked for already. Synchronous, as above. */
export function queueRun(
  db: ReadTx,
  run: { triggerId: string; scope: string; since: string; deliveryId: string },
  now: Date,
): void {
  statements(db).queue.run({ ...run, dueAt: now.getTime(), queuedAt: now.toISOString() });
}

/** A run that is due, as the worker takes it. */
export type DueRun = typeof triggerRuns.$inferSelect;

/**
 * The next run that is due of a trigger that is enabled, but for `underWay`; those that never failed come first. A run
 * that waits longer than any backoff was queued by a clock that was ahead, so it is due too.
 */
export async function findDueRun(
  db: Database,
  now: Date,
  underWay: readonly Pick<DueRun, 'triggerId' | 'scope'>[],
): Promise<DueRun | null> {
  const isUnderWay = ({ triggerId, scope }: DueRun) =>
    underWay.some((each) => each.triggerId === triggerId && each.scope === scope);
  const rows = statements(db).due.all({
    now: now.getTime(),
    latestDue: now.getTime() + Math.max(...backOffMs),
    limit: underWay.length + 1,
  });
  return rows.map(({ run }) => run).find((run) => !isUnderWay(run)) ?? null;
}

/** The run is done, unless something came while it was under way. Synchronous. */
export function finishRun(db: Database, { triggerId, scope, revision }: DueRun): void {
  db.delete(triggerRuns)
    .where(and(isRun(triggerId, scope), eq(triggerRuns.revision, revision)))
    .run();
}

/**
 * The run is tried again at `dueAt`, or given up when that is null; unless something came while it was under way,
 * which is worth another try at once. Synchronous.
 */
export function postponeRun(
  db: Database,
  { triggerId, scope, attempts, revision }: DueRun,
  error: string,
  dueAt: Date | null,
): void {
  const isOld = eq(triggerRuns.revision, revision);
  db.update(triggerRuns)
    .set(
      dueAt === null
        ? {
            error,
            status: sql`iif(${isOld}, 'failed', 'queued')`,
            attempts: sql`iif(${isOld}, ${attempts + 1}, 0)`,
          }
        : { error, attempts: attempts + 1, dueAt: dueAt.getTime() },
    )
    .where(isRun(triggerId, scope))
    .run();
}

/** The run waits until `dueAt` because the system failed: that is no failed attempt. Synchronous. */
export function delayRun(db: Database, { triggerId, scope }: DueRun, error: string, dueAt: Date): void {
  db.update(triggerRuns).set({ error, dueAt: dueAt.getTime() }).where(isRun(triggerId, scope)).run();
}

/** Oldest first. */
export async function listRuns(
  db: Database,
  filter: {
    organizationId?: string | undefined;
    integrationId?: string | undefined;
    status?: RunStatus | undefined;
  },
): Promise<TriggerRun[]> {
  const rows = db
    .select({ run: triggerRuns, organizationId: integrations.organizationId })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(
      and(
        filter.organizationId === undefined
          ? undefined
          : eq(integrations.organizationId, filter.organizationId),
        filter.integrationId === undefined ? undefined : eq(integrations.id, filter.integrationId),
        filter.status === undefined ? undefined : eq(triggerRuns.status, filter.status),
      ),
    )
    .orderBy(asc(triggerRuns.queuedAt), asc(triggerRuns.triggerId), asc(triggerRuns.scope))
    .limit(MAX_RUNS)
    .all();
  return rows.map(({ run: { since: _, revision: __, dueAt, ...run }, organizationId }) => ({
    ...run,
    organizationId,
    nextAttemptAt: run.status === 'failed' ? null : new Date(dueAt).toISOString(),
  }));
}

/** What there is to do and was given up, and when the oldest that can be done was queued; null when nothing can. */
export function measureQueue(db: Database): { queued: number; failed: number; oldest: string | null } {
  const rows = statements(db).measure.all();
  const counted = (status: RunStatus) => rows.find((row) => row.status === status);
  const queued = counted('queued');
  return {
    queued: queued?.runs ?? 0,
    failed: counted('failed')?.runs ?? 0,
    oldest: queued?.oldest ?? null,
  };
}

const MAX_RUNS = 1_000;

/**
 * Makes due now, of one trigger or of all: runs that were given up, that failed, or that are not due yet. Returns how
 * many there were.
 */
export function retryRuns(db: Database, triggerId: string | undefined, now: Date): Promise<number> {
  const isMeant = and(
    or(eq(triggerRuns.status, 'failed'), gt(triggerRuns.attempts, 0), gt(triggerRuns.dueAt, now.getTime())),
    triggerId === undefined ? undefined : eq(triggerRuns.triggerId, triggerId),
  );
  return db.write(() => {
    const queued = db.update(triggerRuns).set({
      status: 'queued',
      attempts: 0,
      dueAt: now.getTime(),
      // One that is under way is not done with that.
      revision: sql`${triggerRuns.revision} + 1`,
    });
    return queued.where(isMeant).returning({ scope: triggerRuns.scope }).all().length;
  });
}

const statements = prepared((db) => ({
  enabled: db
    .select({
      id: triggers.id,
      repositoryId: triggers.repositoryId,
      event: triggers.event,
      filters: triggers.filters,
    })
    .from(triggers)
    .where(and(eq(triggers.integrationId, sql.placeholder('integrationId')), eq(triggers.enabled, true)))
    .prepare(),
  queue: db
    .insert(triggerRuns)
    .values({
      triggerId: sql.placeholder('triggerId'),
      scope: sql.placeholder('scope'),
      since: sql.placeholder('since'),
      revision: 1,
      status: 'queued',
      attempts: 0,
      dueAt: sql.placeholder('dueAt'),
      deliveryId: sql.placeholder('deliveryId'),
      queuedAt: sql.placeholder('queuedAt'),
    })
    .onConflictDoUpdate({
      target: [triggerRuns.triggerId, triggerRuns.scope],
      set: {
        since: sql`min(${triggerRuns.since}, excluded.since)`,
        revision: sql`${triggerRuns.revision} + 1`,
        // What was given up is worth another try, as there is news; a run that failed keeps its backoff.
        attempts: sql`iif(${triggerRuns.status} = 'failed', 0, ${triggerRuns.attempts})`,
        dueAt: sql`case when ${triggerRuns.status} = 'failed' then excluded.due_at when ${triggerRuns.attempts} = 0 then min(${triggerRuns.dueAt}, excluded.due_at) else ${triggerRuns.dueAt} end`,
        status: sql`'queued'`,
        deliveryId: sql`excluded.delivery_id`,
      },
    })
    .prepare(),
  // What a trigger that is off left waits for it to be turned on: that is no delay.
  measure: db
    .select({
      status: triggerRuns.status,
      runs: count(),
      oldest: sql<string | null>`min(iif(${triggers.enabled}, ${triggerRuns.queuedAt}, null))`,
    })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .groupBy(triggerRuns.status)
    .prepare(),
  due: db
    .select({ run: triggerRuns })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .where(
      and(
        eq(triggerRuns.status, 'queued'),
        or(
          lte(triggerRuns.dueAt, sql.placeholder('now')),
          gt(triggerRuns.dueAt, sql.placeholder('latestDue')),
        ),
        eq(triggers.enabled, true),
      ),
    )
    .orderBy(asc(triggerRuns.attempts), asc(triggerRuns.dueAt))
    .limit(sql.placeholder('limit'))
    .prepare(),
}));

function isRun(triggerId: string, scope: string) {
  return and(eq(triggerRuns.triggerId, triggerId), eq(triggerRuns.scope, scope));
}

function triggerNotFound(id: string): AppError {
  return new AppError(404, `Trigger ${id} not found; "trigger list" shows those there are`);
}
