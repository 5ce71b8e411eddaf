import { and, desc, eq, getTableColumns, gte, inArray, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import { afterCommit, deleteExpired, type ReadTx, type Storage, type WriteTx } from '../../db/engine.ts';
import { auditEvents, memberships, organizations } from '../../db/schema/organizations.ts';
import type { Logger } from '../lib/log.ts';
import { cutLine } from '../lib/text.ts';
import { type Clock, DAY_MS } from '../lib/time.ts';

export const auditGroups = {
  posts: [
    'post.published',
    'post.unpublished',
    'post.scheduled',
    'post.unscheduled',
    'post.changed',
    'post.deleted',
    'post.restored',
    'post.erased',
    'post.imported',
    'post.approval_requested',
    'post.approved',
    'post.approval_declined',
    'post.approval_withdrawn',
    'post.approval_skipped',
    'image.deleted',
  ],
  keys: ['key.created', 'key.revoked', 'key.deleted'],
  integrations: [
    'integration.connected',
    'integration.disconnected',
    'integration.enabled',
    'integration.disabled',
    'integration.place_added',
    'integration.place_removed',
    'integration.switched',
    'secret.rotated',
    'token.set',
  ],
  triggers: [
    'trigger.created',
    'trigger.changed',
    'trigger.enabled',
    'trigger.disabled',
    'trigger.deleted',
    'roundup.created',
    'roundup.changed',
    'roundup.enabled',
    'roundup.disabled',
    'roundup.deleted',
  ],
  members: [
    'member.invited',
    'member.invitations_withdrawn',
    'member.joined',
    'member.removed',
    'member.role_changed',
  ],
  accounts: [
    'session.created',
    'session.ended',
    'sign_in.refused',
    'user.created',
    'user.disabled',
    'user.enabled',
    'user.deleted',
    'password.changed',
    'password.link_created',
    'identity.linked',
    'identity.unlinked',
    'passkey.added',
    'passkey.removed',
    'recovery_codes.created',
    'recovery_code.used',
  ],
  organization: [
    'organization.created',
    'organization.changed',
    'organization.deleted',
    'organization.restored',
    'organization.erased',
    'assistant.changed',
    'assistant.asked',
  ],
  public: ['publication.changed', 'hook.created', 'hook.changed', 'hook.deleted'],
} as const;

export type AuditGroup = keyof typeof auditGroups;
export type AuditAction = (typeof auditGroups)[AuditGroup][number];

export const auditActions: readonly AuditAction[] = Object.values(auditGroups).flat();

/** How long an organization's log entries and audit events are kept, by plan, in days (section 2 of the spec). */
export const retentionDaysOf: Readonly<Record<'free' | 'pro', number>> = { free: 7, pro: 30 };

export const ACCOUNT_RETENTION_DAYS = 30;

/** The author of a change. The name is kept as text, so that the log still names a deleted account. */
export interface Actor {
  /** `anonymous`: nobody has signed in. */
  type: 'user' | 'command_line' | 'server' | 'trigger' | 'anonymous';
  id: string | null;
  /** A user's email address, a command's system user, a trigger's content type, or who scheduled what the server does. */
  name: string | null;
  address: string | null;
}

export const SERVER: Actor = { type: 'server', id: null, name: null, address: null };

/** Makes the server the actor of what it decides at somebody's request. Their address stays. */
export function asServer(deps: AuditDeps): AuditDeps {
  return { ...deps, actor: { ...SERVER, address: deps.actor.address } };
}

export function describeActor({ type, id, name }: Omit<Actor, 'address'>): string {
  switch (type) {
    case 'user':
      return name ?? id ?? 'A user';
    case 'command_line':
      return name === null ? 'The command line' : `${name} on the command line`;
    case 'server':
      return name === null ? 'Tidings' : `Tidings for ${name}`;
    case 'trigger':
      return name === null ? 'A trigger' : `The ${name} trigger`;
    case 'anonymous':
      return 'Somebody';
  }
}

const MAX_QUOTED_LENGTH = 100;

/** A name or title in quotes, on one line and cut. */
export function quote(text: string): string {
  return `“${cutLine(text.toWellFormed(), MAX_QUOTED_LENGTH)}”`;
}

/** `actor` acts in this request, command or job. `skipsApproval`: an operator publishes what nobody has approved. */
export type AuditContext = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly actor: Actor;
  readonly skipsApproval?: boolean;
};

export type AuditDeps = AuditContext & { readonly db: Storage };

export interface NewAuditEvent {
  /** Null for events of accounts. */
  organizationId: string | null;
  action: AuditAction;
  target: { type: string; id: string } | null;
  /** The rest of a sentence that the actor begins: `created the API key “Website”`. Never a secret. */
  summary: string;
  count?: number;
}

export type AuditEvent = ReturnType<typeof toEvent>;

const MAX_SUMMARY_LENGTH = 400;

/** Records an event in the transaction of its change, and logs it after the commit. Returns the row's id. */
export async function recordAudit(
  tx: WriteTx,
  { clock, log, actor }: AuditContext,
  event: NewAuditEvent,
): Promise<number> {
  const { organizationId, action, target, count = 1 } = event;
  const now = clock.now();
  const summary = event.summary.slice(0, MAX_SUMMARY_LENGTH).toWellFormed();
  const fields = {
    organizationId,
    action,
    actorType: actor.type,
    actorId: actor.id,
    actorName: actor.name,
    address: actor.address,
    targetType: target?.type ?? null,
    targetId: target?.id ?? null,
    count,
    createdAt: now.toISOString(),
  };
  const { id, plan: planOf } = organizations;
  const isIt = eq(id, organizationId ?? '');
  const plan = (await tx.select({ plan: planOf }).from(organizations).where(isIt).get())?.plan;
  const retentionDays = plan === undefined ? ACCOUNT_RETENTION_DAYS : retentionDaysOf[plan];
  const expiresAt = now.getTime() + retentionDays * DAY_MS;
  const row = { ...fields, summary, expiresAt };
  const inserted = await tx.insert(auditEvents).values(row).returning({ id: auditEvents.id }).get();
  afterCommit(tx, () => log[levelOf(actor)]({ audit: fields }, `${describeActor(actor)} ${summary}`));
  return inserted?.id ?? 0;
}

/** Removes the event of a change that failed later, in the transaction that undoes the change. */
export async function withdrawAudit(
  tx: WriteTx,
  { log, actor }: Pick<AuditContext, 'log' | 'actor'>,
  id: number,
): Promise<void> {
  const [row] = await tx
    .delete(auditEvents)
    .where(eq(auditEvents.id, id))
    .returning({ action: auditEvents.action, targetId: auditEvents.targetId })
    .all();
  afterCommit(tx, () =>
    log[levelOf(actor)]({ audit: row }, 'Tidings undid the change because a later step failed'),
  );
}

/** A command prints its result, so a log line on the same terminal would only repeat it. */
function levelOf({ type }: Actor): 'debug' | 'info' {
  return type === 'command_line' ? 'debug' : 'info';
}

/** Rows of refused sign-ins that name a client address. Further ones share one row a minute. */
const MAX_REFUSALS = { perMinute: 20, perDay: 1_000 };

const REFUSED = { action: 'sign_in.refused', actorType: 'anonymous', summary: 'failed to sign in' } as const;

/** One row for each minute and client address (null: many), within a fixed number, so that guessing does not grow the log. */
export async function countRefusedSignIn(
  tx: WriteTx,
  { clock, log }: Pick<AuditContext, 'clock' | 'log'>,
  clientAddress: string | null,
  attempts = 1,
): Promise<void> {
  const minute = new Date(Math.floor(clock.now().getTime() / 60_000) * 60_000);
  const createdAt = minute.toISOString();
  // The condition of the partial index, word for word.
  const isRefusal = sql`${auditEvents.action} = 'sign_in.refused'`;
  const wasCounted = async (address: string | null) => {
    const isRow = sql`${auditEvents.address} is not distinct from ${address}`;
    const counted = tx
      .update(auditEvents)
      .set({ count: sql`${auditEvents.count} + ${attempts}` })
      .where(and(isRefusal, eq(auditEvents.createdAt, createdAt), isRow));
    return (await counted.returning({ id: auditEvents.id }).all()).length > 0;
  };
  if (await wasCounted(clientAddress)) return;
  const rowsSince = (since: string) =>
    tx.$count(auditEvents, and(isRefusal, gte(auditEvents.createdAt, since), isNotNull(auditEvents.address)));
  const isFull =
    (await rowsSince(createdAt)) >= MAX_REFUSALS.perMinute ||
    (await rowsSince(`${createdAt.slice(0, 10)}T00:00:00.000Z`)) >= MAX_REFUSALS.perDay;
  const address = isFull ? null : clientAddress;
  if (isFull && (await wasCounted(address))) return;
  const expiresAt = minute.getTime() + ACCOUNT_RETENTION_DAYS * DAY_MS;
  await tx
    .insert(auditEvents)
    .values({ ...REFUSED, address, count: attempts, createdAt, expiresAt })
    .run();
  afterCommit(tx, () =>
    log.info({ audit: { action: REFUSED.action, address } }, `Somebody ${REFUSED.summary}`),
  );
}

export interface AuditFilter {
  actions?: readonly AuditAction[] | undefined;
  actor?: Pick<Actor, 'type'> | { id: string } | undefined;
  target?: string | undefined;
  since?: Date | undefined;
  before?: number | undefined;
}

/** Newest first: of an organization, or of all organizations and accounts. */
export async function listAuditEvents(
  tx: ReadTx,
  organizationId: string | undefined,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEvent[]> {
  const isOfOne = organizationId === undefined ? undefined : eq(auditEvents.organizationId, organizationId);
  return (
    await tx
      .select()
      .from(auditEvents)
      .where(and(isOfOne, matches(filter)))
      .orderBy(desc(auditEvents.id))
      .limit(limit)
      .all()
  ).map(toEvent);
}

/** Newest first: the events of an organization, and of its members' accounts since each became a member. */
export async function listOrganizationAudit(
  tx: ReadTx,
  organizationId: string,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEvent[]> {
  const ofMembers = await tx
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

function matches({ actions, actor, target, since, before }: AuditFilter) {
  return and(
    actions === undefined ? undefined : inArray(auditEvents.action, actions),
    actor && ('type' in actor ? eq(auditEvents.actorType, actor.type) : eq(auditEvents.actorId, actor.id)),
    target === undefined ? undefined : eq(auditEvents.targetId, target),
    since === undefined ? undefined : gte(auditEvents.createdAt, since.toISOString()),
    before === undefined ? undefined : lt(auditEvents.id, before),
  );
}

function toEvent(row: typeof auditEvents.$inferSelect) {
  const { actorType, actorId, actorName, targetType, targetId, expiresAt: _, ...event } = row;
  return {
    ...event,
    action: event.action as AuditAction,
    actor: { type: actorType, id: actorId, name: actorName },
    target: targetType === null || targetId === null ? null : { type: targetType, id: targetId },
  };
}

export async function deleteExpiredAudit(tx: WriteTx, asOf: Date, limit: number): Promise<number> {
  const { id: key, expiresAt } = auditEvents;
  return deleteExpired(tx, { table: auditEvents, key, expiresAt }, asOf, limit);
}
