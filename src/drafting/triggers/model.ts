import { type Static, Type } from '@sinclair/typebox';
import { and, asc, eq, ne, type SQL } from 'drizzle-orm';
import { matching, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { integrations } from '../../../db/schema/integrations.ts';
import { triggers } from '../../../db/schema/triggers.ts';
import { AppError } from '../../lib/app-error.ts';
import { isOfLive } from '../../people/organization-store.ts';
import type { ContentType } from '../../posts/model.ts';
import type { Event, EventType } from '../../providers/events.ts';
import { type IntegrationType, providerOf } from '../../providers/index.ts';
import { type EntryRules, isEntryRule } from '../changes/rules.ts';
import { pullRequest, push, release } from './kinds/branch.ts';
import type { TriggerKind } from './kinds/kind.ts';
import { issue, project, projectUpdate } from './kinds/tracker.ts';
import type { Outcome } from './results-store.ts';

const MAX_VALUES = 20;
const MAX_VALUE_LENGTH = 200;

const Values = (what: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_VALUE_LENGTH, pattern: '\\S' }), {
    minItems: 1,
    maxItems: MAX_VALUES,
    errorMessage: `must be 1 to ${MAX_VALUES} ${what} of at most ${MAX_VALUE_LENGTH} characters`,
  });

/** The events that a trigger acts on. One matching value of a list is enough; an absent filter lets all through. */
export const TriggerFilters = Type.Object(
  {
    /** Patterns with `*`. Absent: the default branch. */
    branch: Type.Optional(Values('branches')),
    label: Type.Optional(Values('labels')),
    /** Patterns with `*` of the files that a change is in. */
    path: Type.Optional(Values('paths')),
    /** Absent: true. */
    prereleases: Type.Optional(Type.Boolean()),
    /** Patterns with `*`. */
    tag: Type.Optional(Values('patterns of tags')),
    /** A team's key, name or id. */
    team: Type.Optional(Values('teams')),
    /** A project's name or id. */
    project: Type.Optional(Values('projects')),
    /** The rest decides what the drafts list, not which events arrive (see `EntryRules`). */
    block: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,49}$',
        errorMessage: 'must be one word of at most 50 characters, such as release-note',
      }),
    ),
    excludeLabel: Type.Optional(Values('labels')),
    excludeAuthor: Type.Optional(Values('authors')),
    excludeBots: Type.Optional(Type.Boolean()),
    excludeTitle: Type.Optional(Values('patterns of titles')),
    excludeType: Type.Optional(Values('types')),
  },
  { additionalProperties: false },
);
export type TriggerFilters = Static<typeof TriggerFilters>;

/** The rule that turns an event into a post. */
export interface Trigger {
  id: string;
  organizationId: string;
  integrationId: string;
  integrationType: IntegrationType;
  /** Null: every repository of the integration. */
  repositoryId: string | null;
  event: EventType;
  /** Follows from the event; the provider's name for it may differ. */
  action: string;
  filters: TriggerFilters;
  contentType: ContentType;
  /** Liquid; null is the built-in one. */
  titleTemplate: string | null;
  bodyTemplate: string | null;
  /** Publish its posts at once, instead of leaving them as drafts. */
  publish: boolean;
  /** Ask the assistant for another wording of its drafts. */
  suggests: boolean;
  enabled: boolean;
  createdAt: string;
  updatedAt: string;
}

export const kinds: Readonly<Record<EventType, TriggerKind>> = {
  release,
  push,
  pull_request: pullRequest,
  issue,
  project,
  project_update: projectUpdate,
};

export function kindsFor(type: IntegrationType): TriggerKind[] {
  const { triggerEvents } = providerOf(type);
  return Object.values(kinds).filter(({ event }) => Object.hasOwn(triggerEvents, event));
}

/** Limits a list to one organization, or to one integration. */
export type TriggerOwner = Partial<Record<'organizationId' | 'integrationId', string | undefined>>;

/** How many past releases a new trigger can make drafts of. */
export const MAX_LAST = 50;

/** How long a run waits after each failure, in milliseconds. The next failure after the last one gives it up. */
export const backOffMs: readonly number[] = [1_000, 10_000, 60_000, 600_000];

// Why a delivery has no draft.

/** The filter of a trigger that excludes an event. `default`: the event needs no filter to be excluded. */
export type Exclusion = Exclude<keyof TriggerFilters, keyof EntryRules> | 'default';

/** Null when the trigger, as it is now, lets the event through. */
export function findExclusion({ event: type, filters }: Trigger, event: Event): Exclusion | null {
  const kind = kinds[type];
  // Without a branch filter, the default branch alone passes.
  const base = filters.branch === undefined ? {} : { branch: filters.branch };
  if (!kind.matches(base, event)) return filters.branch === undefined ? 'default' : 'branch';
  const isOfEvents = (name: string): name is Exclude<Exclusion, 'default'> => !isEntryRule(name);
  const names = Object.keys(filters).filter(isOfEvents);
  return names.find((name) => !kind.matches({ ...base, [name]: filters[name] }, event)) ?? null;
}

/** Why no trigger received an event that has no results. */
export type NoTrigger =
  /** The event never makes a draft. */
  | { reason: 'no_event' }
  /** No trigger makes drafts of such events. */
  | { reason: 'none'; hasOthers: boolean }
  | { reason: 'disabled'; trigger: Trigger }
  /** The trigger came or was enabled after the delivery. */
  | { reason: 'later'; trigger: Trigger };

/** `shipped`: the event of the delivery and its repository; null when it has none. */
export function explainNoTrigger(
  shipped: { event: Event; repositoryId: string | null } | null,
  triggers: readonly Trigger[],
): NoTrigger {
  if (shipped === null) return { reason: 'no_event' };
  const { event, repositoryId } = shipped;
  const concerned = triggers.filter(
    (each) =>
      kinds[each.event].content.includes(event.type) &&
      (each.repositoryId === null || each.repositoryId === repositoryId),
  );
  const trigger = concerned.find(({ enabled }) => enabled) ?? concerned[0];
  if (trigger === undefined) return { reason: 'none', hasOthers: triggers.length > 0 };
  return { reason: trigger.enabled ? 'later' : 'disabled', trigger };
}

/** The result changes without anybody's help: its run is due, or is retried. */
export function isPending(result: {
  outcome: Outcome;
  trigger: Pick<Trigger, 'enabled'> | null;
  run: { status: string } | null;
}): boolean {
  const { outcome, trigger, run } = result;
  if (trigger?.enabled !== true) return false;
  return outcome === 'queued' ? run?.status !== 'failed' : outcome === 'failed' && run?.status === 'queued';
}

// The sentences that the command line and the dashboard share, by the codes of refusals.

const noPostReasons = {
  other_integration: () => 'it belongs to another integration',
  no_event: () => 'its event creates no posts',
  no_match: () => 'its event, its repository or the filters do not match',
  edit_only: (type: string) =>
    `the ${type} did not arrive while the trigger was enabled, and an edit alone creates no post`,
  no_change: () => 'it changes no post',
  left_out: (why: string) => `the trigger leaves it out: ${why}`,
};

/** Why a trigger makes no post of a delivery. */
export type NoPostReason = keyof typeof noPostReasons;

export function describeNoPost({ reason, type }: { reason: NoPostReason; type: string }): string {
  return noPostReasons[reason](type);
}

const sentences = {
  trigger_not_found: (it: { id: string }) => `Trigger ${it.id} not found`,
  trigger_exists: (it: { id: string }) =>
    `Trigger ${it.id} has the same rule. Change that trigger, or choose other filters.`,
  not_applicable: (it: { field: string; value: string; to: string; supported: readonly string[] }) =>
    `The ${it.field} ${it.value} does not apply to ${it.to}. Choose from: ${it.supported.join(', ')}.`,
  publish_unsupported: (it: { event: string; supported: readonly string[] }) =>
    `A rolling draft of ${it.event} events can't be published at once. Choose one of these events: ${it.supported.join(', ')}.`,
  past_unsupported: (it: { event: string }) =>
    `Only a release trigger can create drafts of past releases, not a trigger on ${it.event}.`,
  unknown_repository: (it: { id: string; repository: string; known: readonly string[] }) =>
    `Integration ${it.id} has no repository ${it.repository}. It has: ${it.known.join(', ') || 'none'}.`,
  no_post: (it: { deliveryId: string; triggerId: string; reason: NoPostReason; type: string }) =>
    `Trigger ${it.triggerId} creates no post for delivery ${it.deliveryId}: ${describeNoPost(it)}`,
};

type Code = keyof typeof sentences;
type Details<Key extends Code> = Parameters<(typeof sentences)[Key]>[0];

export function refusal<Key extends Code>(status: number, code: Key, details: Details<Key>): AppError {
  const message = (sentences[code] as (it: typeof details) => string)(details);
  return new AppError(status, message, { code, details: { ...details } });
}

export function isRefusal<Key extends Code>(
  error: unknown,
  code: Key,
): error is AppError & { details: Details<Key> } {
  return error instanceof AppError && error.code === code;
}

/** Says how the posts of a trigger that publishes become public. */
export const publishedWords = ({ needsApproval }: { needsApproval: boolean }): string =>
  needsApproval ? 'as a draft that waits for approval' : 'published at once';

/** In words: `branch main, release/*; no pre-releases`. */
export function describeFilters({ prereleases, block, excludeBots, ...lists }: TriggerFilters): string {
  const parts = Object.entries(lists).map(
    ([name, values]) =>
      `${name.replace(/^exclude(.*)/, (_, what) => `not ${what.toLowerCase()}`)} ${values.join(', ')}`,
  );
  if (excludeBots) parts.push('no bots');
  if (block !== undefined) parts.push(`block ${block}`);
  if (prereleases === false) parts.push('no pre-releases');
  return parts.join('; ') || '–';
}

/** The trigger's own row, without what follows from its integration and event. */
export type StoredTrigger = Omit<Trigger, 'organizationId' | 'integrationType' | 'action'>;

/** False when another trigger has the same rule. */
export async function insertTrigger(tx: WriteTx, trigger: StoredTrigger, rule: string): Promise<boolean> {
  const row = { ...trigger, rule };
  const inserted = tx.insert(triggers).values(row).onConflictDoNothing();
  return (await inserted.returning({ id: triggers.id })).length > 0;
}

export async function updateTrigger(tx: WriteTx, id: string, changes: Partial<typeof triggers.$inferInsert>) {
  await tx.update(triggers).set(changes).where(eq(triggers.id, id));
}

/** With its runs; its posts stay. */
export async function removeTrigger(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(triggers).where(eq(triggers.id, id));
}

/** The id of the trigger that has this rule, `exceptId` aside. */
export async function findTriggerIdByRule(tx: ReadTx, rule: string, exceptId = ''): Promise<string | null> {
  const isOther = and(eq(triggers.rule, rule), ne(triggers.id, exceptId));
  return (await tx.select({ id: triggers.id }).from(triggers).where(isOther).get())?.id ?? null;
}

/** Oldest first. */
export async function listTriggers(tx: ReadTx, owner: TriggerOwner): Promise<Trigger[]> {
  const rows = await select(tx, isOwnedBy(owner));
  return rows.map(toTrigger);
}

/** For a query that joins triggers and their integrations. */
export function isOwnedBy({ organizationId, integrationId }: TriggerOwner): SQL | undefined {
  return and(
    isOfLive(integrations.organizationId),
    matching(integrations, { organizationId, id: integrationId }),
  );
}

export async function findTrigger(tx: ReadTx, id: string): Promise<Trigger | null> {
  const row = await select(tx, and(eq(triggers.id, id), isOwnedBy({}))).get();
  return row === undefined ? null : toTrigger(row);
}

/** Throws `AppError` 404. */
export async function getTrigger(tx: ReadTx, id: string): Promise<Trigger> {
  const trigger = await findTrigger(tx, id);
  if (trigger === null) throw refusal(404, 'trigger_not_found', { id });
  return trigger;
}

function select(tx: ReadTx, filter: SQL | undefined) {
  return tx
    .select({ trigger: triggers, integration: integrations })
    .from(triggers)
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(filter)
    .orderBy(asc(triggers.createdAt), asc(triggers.id));
}

function toTrigger({ trigger, integration }: Awaited<ReturnType<typeof select>>[number]): Trigger {
  const { rule: _, ...own } = trigger;
  return {
    ...own,
    organizationId: integration.organizationId,
    integrationType: integration.type,
    action: kinds[trigger.event].action,
    filters: trigger.filters as TriggerFilters,
  };
}
