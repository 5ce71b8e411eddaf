import {
  and,
  count,
  desc,
  eq,
  getTableColumns,
  gte,
  inArray,
  isNull,
  lt,
  lte,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { auditEvents, memberships, organizations } from '../../db/schema/organizations.ts';
import { afterCommit, placeholdersFor, prepared, type ReadTx, type WriteTx } from '../../db/storage.ts';
import type { Logger } from '../lib/log.ts';
import { type Clock, DAY_MS } from '../lib/time.ts';
import {
  ACCOUNT_RETENTION_DAYS,
  type Actor,
  type AuditAction,
  type AuditEvent,
  describeActor,
  retentionDaysOf,
} from './model.ts';

/** `actor` acts in this request, command or job. */
export interface AuditContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly actor: Actor;
}

/** For services that record what they change. */
export interface AuditDeps extends AuditContext {
  readonly db: Database;
}

/** An event to record; its actor and time follow from the context. */
export interface NewAuditEvent {
  /** Null for events of accounts. */
  organizationId: string | null;
  action: AuditAction;
  target: { type: string; id: string } | null;
  summary: string;
  count?: number;
}

const MAX_SUMMARY_LENGTH = 400;

/**
 * Records an event in the transaction of its change, and logs it once that is committed. Returns the row's id.
 */
export async function recordAudit(
  tx: WriteTx,
  { clock, log, actor }: AuditContext,
  event: NewAuditEvent,
): Promise<number> {
  const { organizationId, action, target } = event;
  const now = clock.now();
  const row = {
    organizationId,
    action,
    actorType: actor.type,
    actorId: actor.id,
    actorName: actor.name,
    address: actor.address,
    targetType: target?.type ?? null,
    targetId: target?.id ?? null,
    summary: event.summary.slice(0, MAX_SUMMARY_LENGTH).toWellFormed(),
    count: event.count ?? 1,
    createdAt: now.toISOString(),
    expiresAt: now.getTime() + retentionDays(tx, organizationId) * DAY_MS,
  };
  const [inserted] = statements(tx).insert.all(row);
  const { expiresAt: _, summary, ...fields } = row;
  afterCommit(tx, () => log[levelOf(actor)]({ audit: fields }, `${describeActor(actor)} ${summary}`));
  return inserted?.id ?? 0;
}

/** Removes the event of a change that failed later, in the transaction that undoes the change. */
export async function withdrawAudit(
  tx: WriteTx,
  { log, actor }: Pick<AuditContext, 'log' | 'actor'>,
  id: number,
): Promise<void> {
  const [row] = tx
    .delete(auditEvents)
    .where(eq(auditEvents.id, id))
    .returning({ action: auditEvents.action, targetId: auditEvents.targetId })
    .all();
  afterCommit(tx, () =>
    log[levelOf(actor)]({ audit: row }, 'Tidings undid the change, because it failed later'),
  );
}

/** A command prints its result, so a log line on the same terminal would only repeat it. */
function levelOf({ type }: Actor): 'debug' | 'info' {
  return type === 'command_line' ? 'debug' : 'info';
}

function retentionDays(tx: ReadTx, organizationId: string | null): number {
  if (organizationId === null) return ACCOUNT_RETENTION_DAYS;
  const plan = statements(tx).plan.get({ organizationId })?.plan;
  return plan === undefined ? ACCOUNT_RETENTION_DAYS : retentionDaysOf[plan];
}

/** Rows of refused sign-ins that name a client address. Further ones share one row a minute. */
const MAX_REFUSALS = { perMinute: 20, perDay: 1_000 };

const REFUSED = { action: 'sign_in.refused', actorType: 'anonymous', summary: 'failed to sign in' } as const;

/**
 * Counts refused sign-ins of one client, or of many (null): one row for each minute and client address, within a fixed
 * number of rows, so that guessing passwords does not grow the log. Logs the first of each row.
 */
export async function countRefusedSignIn(
  tx: WriteTx,
  { clock, log }: Pick<AuditContext, 'clock' | 'log'>,
  clientAddress: string | null,
  attempts = 1,
): Promise<void> {
  const minute = new Date(Math.floor(clock.now().getTime() / 60_000) * 60_000);
  const createdAt = minute.toISOString();
  const { increment, refusals, insert } = statements(tx);
  const isCounted = (address: string | null) => increment.all({ createdAt, address, attempts }).length > 0;
  if (isCounted(clientAddress)) return;
  const rowsSince = (since: string) => refusals.get({ since })?.rows ?? 0;
  const isFull =
    rowsSince(createdAt) >= MAX_REFUSALS.perMinute ||
    rowsSince(`${createdAt.slice(0, 10)}T00:00:00.000Z`) >= MAX_REFUSALS.perDay;
  const address = isFull ? null : clientAddress;
  if (isFull && isCounted(address)) return;
  insert.run({
    ...REFUSED,
    organizationId: null,
    actorId: null,
    actorName: null,
    address,
    targetType: null,
    targetId: null,
    count: attempts,
    createdAt,
    expiresAt: minute.getTime() + ACCOUNT_RETENTION_DAYS * DAY_MS,
  });
  afterCommit(tx, () =>
    log.info({ audit: { action: REFUSED.action, address } }, `Somebody ${REFUSED.summary}`),
  );
}

export interface AuditFilter {
  actions?: readonly AuditAction[] | undefined;
  /** Of this actor type, such as `command_line`, or of the actor with this id. */
  actor?: Pick<Actor, 'type'> | Pick<AuditEvent['actor'], 'id'> | undefined;
  since?: Date | undefined;
  /** Only events older than the one with this id. */
  before?: number | undefined;
}

/** Newest first: of an organization, or of all organizations and accounts. */
export async function listAuditEvents(
  tx: ReadTx,
  organizationId: string | undefined,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEvent[]> {
  const isOrganization =
    organizationId === undefined ? undefined : eq(auditEvents.organizationId, organizationId);
  return tx
    .select()
    .from(auditEvents)
    .where(and(isOrganization, matches(filter)))
    .orderBy(desc(auditEvents.id))
    .limit(limit)
    .all()
    .map(toEvent);
}

/** Newest first: the events of an organization, and of its members' accounts since each became a member. */
export async function listOrganizationAudit(
  tx: ReadTx,
  organizationId: string,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEvent[]> {
  const ofMembers = tx
    .select(getTableColumns(auditEvents))
    .from(memberships)
    // SQLite keeps the order of a cross join: from the few members to the events of each.
    .crossJoin(auditEvents)
    .where(
      and(
        eq(memberships.organizationId, organizationId),
        isNull(auditEvents.organizationId),
        eq(auditEvents.targetId, memberships.userId),
        eq(auditEvents.targetType, 'user'),
        gte(auditEvents.createdAt, memberships.createdAt),
        matches(filter),
      ),
    )
    .orderBy(desc(auditEvents.id))
    .limit(limit)
    .all();
  // Two queries, each along an index. One with OR would read every row.
  const all = [...(await listAuditEvents(tx, organizationId, filter, limit)), ...ofMembers.map(toEvent)];
  return all.sort((one, other) => other.id - one.id).slice(0, limit);
}

function matches({ actions, actor, since, before }: AuditFilter): SQL | undefined {
  return and(
    actions === undefined ? undefined : inArray(auditEvents.action, actions),
    actor === undefined
      ? undefined
      : 'type' in actor
        ? eq(auditEvents.actorType, actor.type)
        : eq(auditEvents.actorId, actor.id ?? ''),
    since === undefined ? undefined : gte(auditEvents.createdAt, since.toISOString()),
    before === undefined ? undefined : lt(auditEvents.id, before),
  );
}

function toEvent(row: typeof auditEvents.$inferSelect): AuditEvent {
  const { targetType, targetId } = row;
  return {
    id: row.id,
    organizationId: row.organizationId,
    action: row.action as AuditAction,
    actor: { type: row.actorType, id: row.actorId, name: row.actorName },
    address: row.address,
    target: targetType === null || targetId === null ? null : { type: targetType, id: targetId },
    summary: row.summary,
    count: row.count,
    createdAt: row.createdAt,
  };
}

/** Deletes at most `limit` expired events. Returns their number. */
export async function deleteExpiredAudit(tx: WriteTx, asOf: Date, limit: number): Promise<number> {
  const expired = tx
    .select({ id: auditEvents.id })
    .from(auditEvents)
    .where(lte(auditEvents.expiresAt, asOf.getTime()))
    .limit(limit);
  const deleted = tx.delete(auditEvents).where(inArray(auditEvents.id, expired));
  return deleted.returning({ id: auditEvents.id }).all().length;
}

const { id: _, ...columns } = getTableColumns(auditEvents);

const statements = prepared((db) => ({
  plan: db
    .select({ plan: organizations.plan })
    .from(organizations)
    .where(eq(organizations.id, sql.placeholder('organizationId')))
    .prepare(),
  insert: db.insert(auditEvents).values(placeholdersFor(columns)).returning({ id: auditEvents.id }).prepare(),
  increment: db
    .update(auditEvents)
    .set({ count: sql`${auditEvents.count} + ${sql.placeholder('attempts')}` })
    .where(
      and(
        // The condition of the partial index, word for word.
        sql`${auditEvents.action} = 'sign_in.refused'`,
        eq(auditEvents.createdAt, sql.placeholder('createdAt')),
        sql`${auditEvents.address} is ${sql.placeholder('address')}`,
      ),
    )
    .returning({ id: auditEvents.id })
    .prepare(),
  refusals: db
    .select({ rows: count(auditEvents.address) })
    .from(auditEvents)
    .where(
      and(
        sql`${auditEvents.action} = 'sign_in.refused'`,
        gte(auditEvents.createdAt, sql.placeholder('since')),
      ),
    )
    .prepare(),
}));
