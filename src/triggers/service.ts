import type { WriteTx } from '../../db/storage.ts';
import type { AuditAction } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { checkTemplates } from '../drafts/check.ts';
import { listReleases } from '../events/store.ts';
import type { Integration } from '../integrations/model.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { invalidField, requireValid } from '../lib/validation.ts';
import type { ContentType } from '../posts/model.ts';
import { branchScope, fitsOne, matchesRelease } from './kinds/branch.ts';
import { kinds, kindsFor } from './kinds/index.ts';
import type { TriggerKind } from './kinds/kind.ts';
import { MAX_LAST, type Trigger, TriggerFilters, type TriggerOwner } from './model.ts';
import { forgetUnmatched, queueRun, recordArrival, retryRuns } from './queue-store.ts';
import {
  findTriggerIdByRule,
  getTrigger,
  insertTrigger,
  listTriggers,
  removeTrigger,
  type StoredTrigger,
  updateTrigger,
} from './store.ts';
import { refusal } from './words.ts';

/** A trigger to create. Absent fields take their default. */
export interface NewTrigger {
  integrationId: string;
  /** `owner/name` or the repository's id. Absent: every repository of the integration. */
  repository?: string | undefined;
  /** Our name of the event, or the provider's. */
  event: string;
  /** Absent: the one that makes drafts of the event. */
  action?: string | undefined;
  filters?: TriggerFilters;
  contentType: ContentType;
  titleTemplate?: string | null;
  bodyTemplate?: string | null;
  publish?: boolean;
  enabled?: boolean;
  /** Make drafts of this many past releases too: the newest that the filters let through. Absent: none. */
  last?: number | undefined;
}

/** The fields that can change: all but the event and its source. A null template is the built-in one. */
export type TriggerChanges = Partial<
  Pick<Trigger, 'filters' | 'contentType' | 'titleTemplate' | 'bodyTemplate' | 'publish'>
>;

type Needs = AuditDeps & Pick<Deps, 'db' | 'ids'>;

/**
 * Throws `AppError` 404 for an unknown integration or repository, 400 for invalid fields, and 409 when another trigger
 * has the same rule. The trigger acts on events that arrive from now on, and on the `last` releases.
 */
export async function createTrigger(deps: Needs, given: NewTrigger): Promise<Trigger> {
  const { db, clock, ids } = deps;
  const integration = await db.read((tx) => getIntegration(tx, given.integrationId));
  const kind = requireKind(integration, given.event, given.action);
  const now = clock.now();
  const trigger = await requireRule({
    id: ids.newId('trg'),
    integrationId: integration.id,
    repositoryId: given.repository === undefined ? null : requireRepository(integration, given.repository),
    event: kind.event,
    filters: given.filters ?? {},
    contentType: given.contentType,
    titleTemplate: given.titleTemplate ?? null,
    bodyTemplate: given.bodyTemplate ?? null,
    publish: given.publish ?? false,
    enabled: given.enabled ?? true,
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
  });
  const last = requireLast(kind, given.last);
  const rule = ruleOf(trigger);
  return db.write(async (tx) => {
    if (!(await insertTrigger(tx, trigger, rule))) {
      throw refusal(409, 'trigger_exists', { id: (await findTriggerIdByRule(tx, rule)) ?? '' });
    }
    if (last > 0) await requestReleases(tx, integration, trigger, last, now);
    const created = await getTrigger(tx, trigger.id);
    await record(tx, deps, 'trigger.created', created);
    return created;
  });
}

/** Queues drafts of the newest releases that the filters let through. */
async function requestReleases(
  tx: WriteTx,
  { id: integrationId, repositories }: Integration,
  { id: triggerId, repositoryId, filters }: StoredTrigger,
  last: number,
  now: Date,
): Promise<void> {
  const repositoryIds = repositoryId === null ? repositories.map(({ id }) => id) : [repositoryId];
  const releases = (await listReleases(tx, integrationId, repositoryIds)).filter(
    (release) => matchesRelease(filters, release) && fitsOne(filters.branch, release.branch),
  );
  for (const release of releases.slice(0, last)) {
    const { tag, branch, occurredAt: since, deliveryId } = release;
    const event = { triggerId, repositoryId: release.repositoryId, type: 'release', key: tag } as const;
    await recordArrival(tx, { ...event, isMatch: true, draftOnly: true });
    const scope = branchScope(release.repositoryId, branch);
    await queueRun(tx, { triggerId, scope, since, deliveryId }, now);
  }
}

/**
 * Throws as `createTrigger` does. The next event changes drafts that exist. Failed runs are retried at once, because
 * the change may have fixed them.
 */
export async function changeTrigger(deps: Needs, id: string, changes: TriggerChanges): Promise<Trigger> {
  const { db, clock } = deps;
  const current = await db.read((tx) => getTrigger(tx, id));
  const next = await requireRule({ ...current, ...changes });
  const { filters, contentType, titleTemplate, bodyTemplate, publish } = next;
  const rule = ruleOf(next);
  const now = clock.now();
  return db.write(async (tx) => {
    const before = await getTrigger(tx, id);
    const otherId = await findTriggerIdByRule(tx, rule, id);
    if (otherId !== null) throw refusal(409, 'trigger_exists', { id: otherId });
    if (!Bun.deepEquals(before.filters, filters)) await forgetUnmatched(tx, id);
    const updatedAt = now.toISOString();
    const fields = { filters, contentType, titleTemplate, bodyTemplate, publish };
    await updateTrigger(tx, id, { ...fields, updatedAt, rule });
    await retryRuns(tx, id, now);
    const changed = changedFields(before, next);
    if (changed !== '') await record(tx, deps, 'trigger.changed', next, `: ${changed}`);
    return { ...before, ...fields, updatedAt };
  });
}

/** Throws `AppError` 404. */
export async function switchTrigger(deps: Needs, id: string, enabled: boolean): Promise<Trigger> {
  return deps.db.write(async (tx) => {
    const before = await getTrigger(tx, id);
    const updatedAt = deps.clock.now().toISOString();
    await updateTrigger(tx, id, { enabled, updatedAt });
    if (before.enabled !== enabled) {
      await record(tx, deps, enabled ? 'trigger.enabled' : 'trigger.disabled', before);
    }
    return { ...before, enabled, updatedAt };
  });
}

/** With its runs; its posts stay. Throws `AppError` 404. */
export async function deleteTrigger(deps: AuditDeps & Pick<Deps, 'db'>, id: string): Promise<void> {
  await deps.db.write(async (tx) => {
    const before = await getTrigger(tx, id);
    await removeTrigger(tx, id);
    await record(tx, deps, 'trigger.deleted', before);
  });
}

/** Throws `AppError` 404. */
export async function findTriggerById({ db }: Pick<Deps, 'db'>, id: string): Promise<Trigger> {
  return db.read((tx) => getTrigger(tx, id));
}

/** Of one organization or integration, or all; oldest first. */
export async function findTriggers({ db }: Pick<Deps, 'db'>, owner: TriggerOwner): Promise<Trigger[]> {
  return db.read((tx) => listTriggers(tx, owner));
}

async function record(
  tx: WriteTx,
  deps: AuditDeps,
  action: Extract<AuditAction, `trigger.${string}`>,
  { id, organizationId, event, contentType, publish }: Trigger,
  more = '',
): Promise<void> {
  const name = `“${event} → ${contentType}”`.replaceAll('_', ' ');
  const verb = action.slice('trigger.'.length);
  const summary = `${verb} the trigger ${name}${publish ? ', which publishes at once' : ''}${more}`;
  await recordAudit(tx, deps, { organizationId, action, target: { type: 'trigger', id }, summary });
}

const fieldNames = [
  ['filters', 'filters'],
  ['contentType', 'content type'],
  ['titleTemplate', 'title template'],
  ['bodyTemplate', 'body template'],
  ['publish', 'publishing'],
] as const;

function changedFields(before: Trigger, after: Trigger): string {
  return fieldNames
    .filter(([field]) => !Bun.deepEquals(before[field], after[field]))
    .map(([, name]) => name)
    .join(', ');
}

/** Takes our name of the event or the provider's: `pull_request`, `Issue`, `ProjectUpdate`. */
function requireKind({ type }: Integration, name: string, action: string | undefined): TriggerKind {
  const event = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
  const possible = kindsFor(type);
  const kind = possible.find((each) => each.event === event);
  if (kind === undefined) {
    const supported = possible.map((each) => each.event);
    throw refusal(400, 'not_applicable', {
      field: 'event',
      value: name,
      to: `a ${type} integration`,
      supported,
    });
  }
  if (action !== undefined && action !== kind.action) {
    throw refusal(400, 'not_applicable', {
      field: 'action',
      value: action,
      to: kind.event,
      supported: [kind.action],
    });
  }
  return kind;
}

function requireRepository({ id, repositories }: Integration, repository: string): string {
  const match = repositories.find(
    (each) => each.id === repository || each.fullName.toLowerCase() === repository.toLowerCase(),
  );
  if (match !== undefined) return match.id;
  const known = repositories.map(({ fullName }) => fullName);
  throw refusal(404, 'unknown_repository', { id, repository, known });
}

/** The filters in canonical form: names and values sorted, each value once. */
function requireFilters({ event, filters: supported }: TriggerKind, filters: TriggerFilters): TriggerFilters {
  requireValid(TriggerFilters, filters);
  const entries = Object.entries(filters).filter(([, value]) => value !== undefined);
  for (const [filter] of entries) {
    if (!supported.includes(filter as keyof TriggerFilters)) {
      throw refusal(400, 'not_applicable', { field: 'filter', value: filter, to: event, supported });
    }
  }
  return Object.fromEntries(
    entries
      .map(([name, value]) => [name, Array.isArray(value) ? [...new Set(value)].sort() : value] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function requireLast({ event }: TriggerKind, last = 0): number {
  if (last === 0) return 0;
  if (event !== 'release') throw refusal(400, 'past_unsupported', { event });
  if (!Number.isInteger(last) || last < 1 || last > MAX_LAST) {
    throw invalidField('last', `must be a whole number from 1 to ${MAX_LAST}`);
  }
  return last;
}

/** The trigger with its filters in canonical form. The `fields` of the error name a template that cannot be used. */
async function requireRule<Rule extends StoredTrigger>(trigger: Rule): Promise<Rule> {
  const { event, publish } = trigger;
  const filters = requireFilters(kinds[event], trigger.filters);
  if (publish && kinds[event].isRolling) {
    const whole = Object.values(kinds).filter(({ isRolling }) => !isRolling);
    throw refusal(400, 'publish_unsupported', { event, supported: whole.map((each) => each.event) });
  }
  for (const field of ['titleTemplate', 'bodyTemplate'] as const) {
    if (trigger[field] === null) continue;
    try {
      await checkTemplates(event, { titleTemplate: null, bodyTemplate: null, [field]: trigger[field] });
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      const { message } = cause;
      throw new AppError(400, message, { code: 'invalid_template', fields: { [field]: message }, cause });
    }
  }
  return { ...trigger, filters };
}

/** The parts of a trigger that no two triggers may share, as one text. */
function ruleOf({ integrationId, repositoryId, event, filters, contentType }: StoredTrigger): string {
  return JSON.stringify([integrationId, repositoryId, event, filters, contentType]);
}
