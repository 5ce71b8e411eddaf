import { changing, integration as integrationKey, type WriteTx } from '../../../db/engine.ts';
import { changeIntegration, getIntegration } from '../../integrations/store.ts';
import { type Integration, placeName, providerNames } from '../../integrations/words.ts';
import { AppError, type ChangeOf, changeFor, invalidField, notFound } from '../../lib/app-error.ts';
import { fitsOne } from '../../lib/text.ts';
import { requireValid } from '../../lib/validation.ts';
import { type AuditAction, type AuditDeps, recordAudit } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { deleteOrphans } from '../../posts/trash.ts';
import { findVersion, recordVersion } from '../../posts/versions.ts';
import { isEntryRule } from '../changes/rules.ts';
import { type CheckTemplates, checkTemplates } from '../check.ts';
import { findEvent, listReleases } from '../events.ts';
import { branchScope, matchesRelease } from './kinds/branch.ts';
import type { TriggerKind } from './kinds/kind.ts';
import * as store from './model.ts';
import { kinds, kindsFor, MAX_LAST, refusal, type Trigger, TriggerFilters } from './model.ts';
import { forgetUnmatched, queueRun, recordArrival, retryRuns } from './queue-store.ts';
import { queueRange, requeueRanges } from './range-store.ts';
import { endWaiting, queuePastResult } from './results-store.ts';

/** A trigger to create. Absent fields take their default. */
export interface NewTrigger
  extends Pick<Trigger, 'integrationId' | 'contentType'>,
    Partial<
      Pick<Trigger, 'filters' | 'titleTemplate' | 'bodyTemplate' | 'publish' | 'suggests' | 'enabled'>
    > {
  /** `owner/name`, the URL or the id of the repository. Absent: every repository of the integration. */
  repository?: string | undefined;
  /** Our name of the event, or the provider's. */
  event: string;
  /** Absent: the one that makes drafts of the event. */
  action?: string | undefined;
  /** Make drafts of this many past releases too: the newest that the filters let through. Absent: none. */
  last?: number | undefined;
}

/** The fields that can change: all but the event and its source. A null template is the built-in one. */
export type TriggerChanges = Partial<
  Pick<Trigger, 'filters' | 'contentType' | 'titleTemplate' | 'bodyTemplate' | 'publish' | 'suggests'>
>;

type Needs = AuditDeps & Pick<Deps, 'ids' | 'providerUrls'>;

/** Throws `AppError` 404 for an unknown integration or repository, 400 for invalid fields, 409 for a rule in use. */
export async function createTrigger(deps: Needs, given: NewTrigger): Promise<Trigger> {
  const { db, clock, ids } = deps;
  const { repository, event, action, last = 0, ...fields } = given;
  const integration = await db.read((tx) => getIntegration(tx, given.integrationId));
  const kind = requireKind(integration, event, action);
  const now = clock.now();
  const trigger = await requireRule<store.StoredTrigger>({
    filters: {},
    titleTemplate: null,
    bodyTemplate: null,
    publish: false,
    suggests: false,
    enabled: true,
    ...fields,
    id: ids.newId('trg'),
    repositoryId: repository === undefined ? null : requireRepository(deps, integration, repository),
    event: kind.event,
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
  });
  requireLast(kind, last);
  const rule = ruleOf(trigger);
  return changeIntegration(db, trigger.integrationId, async (tx) => {
    if (!(await store.insertTrigger(tx, trigger, rule))) {
      throw refusal(409, 'trigger_exists', { id: (await store.findTriggerIdByRule(tx, rule)) ?? '' });
    }
    if (last > 0) await requestReleases(tx, integration, trigger, last, now);
    await askForPaths(tx, integration, trigger, now);
    const created = await store.getTrigger(tx, trigger.id);
    await record(tx, deps, 'trigger.created', created);
    return created;
  });
}

async function requestReleases(
  tx: WriteTx,
  { id: integrationId, repositories }: Integration,
  { id: triggerId, repositoryId, filters }: store.StoredTrigger,
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
    await recordArrival(tx, { ...event, isMatch: true, draftOnly: true, publish: false });
    const source = { integrationId, repositoryId: release.repositoryId };
    const stored = await findEvent(tx, source, event);
    if (stored?.type === 'release' && stored.data.notes === null)
      await queueRange(tx, { ...source, tag }, now);
    const scope = branchScope(release.repositoryId, branch);
    await queueRun(tx, { triggerId, scope, since, deliveryId }, now);
    const past = { integrationId, referenceId: deliveryId };
    await queuePastResult(tx, past, { triggerId, scope, eventKey: `release ${tag}` }, now);
  }
}

/** The commits of releases came without the folders that a new filter names. */
async function askForPaths(
  tx: WriteTx,
  { id, repositories }: Integration,
  { repositoryId, filters }: store.StoredTrigger,
  now: Date,
): Promise<void> {
  if (filters.path === undefined) return;
  const repositoryIds = repositoryId === null ? repositories.map((each) => each.id) : [repositoryId];
  await requeueRanges(tx, id, repositoryIds, MAX_LAST, now);
}

/**
 * `change`: the new values, or what makes them of the stored trigger. Throws as `createTrigger` does. Retries failed runs
 * at once, because the change may have fixed them.
 */
export async function changeTrigger(
  deps: Needs,
  id: string,
  change: ChangeOf<Trigger, TriggerChanges>,
): Promise<Trigger> {
  return (await changeTemplates(deps, id, change, 'edit')).trigger;
}

/**
 * Puts the templates of an earlier version back, as a new version. `previousId`: the version before, to undo it; null when
 * the trigger had these templates. `check` may throw, before it writes. Throws as `changeTrigger` does.
 */
export async function restoreTemplates(
  deps: Needs,
  id: string,
  versionId: string,
  check?: (stored: Trigger) => void,
): Promise<Changed> {
  const version = await deps.db.read((tx) => findVersion(tx, id, versionId));
  if (version === null) throw notFound('version', versionId);
  const { title, markdown, contentType } = version;
  const templates = { titleTemplate: title || null, bodyTemplate: markdown || null, contentType };
  const change = (stored: Trigger) => {
    check?.(stored);
    return templates;
  };
  return changeTemplates(deps, id, change, 'restore');
}

interface Changed {
  trigger: Trigger;
  previousId: string | null;
}

async function changeTemplates(
  deps: Needs,
  id: string,
  change: ChangeOf<Trigger, TriggerChanges>,
  origin: 'edit' | 'restore',
): Promise<Changed> {
  for (;;) {
    const current = await deps.db.read((tx) => store.getTrigger(tx, id));
    const next = await requireRule({ ...current, ...changeFor(current, change) });
    const changed = await writeTrigger(deps, current, next, origin);
    if (changed !== null) return changed;
  }
}

/** Null when the trigger is no longer the one that was read. */
async function writeTrigger(
  deps: Needs,
  current: Trigger,
  next: Trigger,
  origin: 'edit' | 'restore',
): Promise<Changed | null> {
  const { db, clock } = deps;
  const { id } = current;
  const { filters, contentType, titleTemplate, bodyTemplate, publish, suggests } = next;
  const rule = ruleOf(next);
  const now = clock.now();
  return db.write(async (tx) => {
    const before = await store.getTrigger(tx, id);
    if (!Bun.deepEquals(before, current)) return null;
    const otherId = await store.findTriggerIdByRule(tx, rule, id);
    if (otherId !== null) throw refusal(409, 'trigger_exists', { id: otherId });
    if (!Bun.deepEquals(before.filters, filters)) await forgetUnmatched(tx, id);
    if (!Bun.deepEquals(before.filters.path, filters.path)) {
      await askForPaths(tx, await getIntegration(tx, next.integrationId), next, now);
    }
    const updatedAt = now.toISOString();
    const fields = { filters, contentType, titleTemplate, bodyTemplate, publish, suggests };
    await store.updateTrigger(tx, id, { ...fields, updatedAt, rule });
    await retryRuns(tx, id, now);
    const changed = changedFields(before, next);
    if (changed !== '') await record(tx, deps, 'trigger.changed', next, `: ${changed}`);
    const texts = { before: templatesOf(before), after: templatesOf(next), origin };
    const previousId = await recordVersion(tx, deps, texts);
    return { trigger: { ...before, ...fields, updatedAt }, previousId };
  }, changesOf(current));
}

/** The templates as the history keeps them. */
function templatesOf({ id, organizationId, titleTemplate, bodyTemplate, contentType, updatedAt }: Trigger) {
  const texts = { title: titleTemplate ?? '', markdown: bodyTemplate ?? '', contentType };
  return { id, organizationId, updatedAt, ...texts };
}

/** Throws `AppError` 404. */
export async function switchTrigger(deps: Needs, id: string, enabled: boolean): Promise<Trigger> {
  const present = await deps.db.read((tx) => store.getTrigger(tx, id), { single: true });
  return deps.db.write(async (tx) => {
    const before = await store.getTrigger(tx, id);
    const updatedAt = deps.clock.now().toISOString();
    await store.updateTrigger(tx, id, { enabled, updatedAt });
    if (before.enabled !== enabled) {
      await record(tx, deps, enabled ? 'trigger.enabled' : 'trigger.disabled', before);
    }
    return { ...before, enabled, updatedAt };
  }, changesOf(present));
}

/** With its runs; its posts stay. Throws `AppError` 404. */
export async function deleteTrigger(
  deps: AuditDeps,
  id: string,
  check?: (stored: Trigger) => void,
): Promise<void> {
  const present = await deps.db.read((tx) => store.getTrigger(tx, id), { single: true });
  await deps.db.write(async (tx) => {
    const before = await store.getTrigger(tx, id);
    check?.(before);
    await store.removeTrigger(tx, id);
    await deleteOrphans(tx, [id]);
    await endWaiting(tx, id, deps.clock.now());
    await record(tx, deps, 'trigger.deleted', before);
  }, changesOf(present));
}

/** Deliveries hand their events to it, and runs write its drafts. */
const changesOf = ({ integrationId }: Trigger) => changing(integrationKey(integrationId));

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

const fieldNames: Record<keyof TriggerChanges, string> = {
  filters: 'filters',
  contentType: 'content type',
  titleTemplate: 'title template',
  bodyTemplate: 'body template',
  publish: 'publishing',
  suggests: 'suggested wording',
};

function changedFields(before: Trigger, after: Trigger): string {
  const fields = Object.keys(fieldNames) as (keyof TriggerChanges)[];
  const changed = fields.filter((field) => !Bun.deepEquals(before[field], after[field]));
  return changed.map((field) => fieldNames[field]).join(', ');
}

/** Takes our name of the event or the provider's: `pull_request`, `Issue`, `ProjectUpdate`. */
function requireKind({ type }: Integration, name: string, action: string | undefined): TriggerKind {
  const event = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
  const possible = kindsFor(type);
  const kind = possible.find((each) => each.event === event);
  const supported = possible.map((each) => each.event);
  if (kind === undefined)
    throw notApplicable('event', name, `a ${providerNames[type]} integration`, supported);
  if (action === undefined || action === kind.action) return kind;
  throw notApplicable('action', action, kind.event, [kind.action]);
}

function notApplicable(field: string, value: string, to: string, supported: readonly string[]): AppError {
  return refusal(400, 'not_applicable', { field, value, to, supported });
}

function requireRepository(
  deps: Pick<Deps, 'providerUrls'>,
  { id, type, repositories }: Integration,
  text: string,
): string {
  const repository = placeName(deps, type, text);
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
  const foreign = entries.find(([name]) => !supported.some((each) => each === name));
  if (foreign !== undefined) {
    // The rest says what drafts list, for every event that has changes.
    const ofEvents = supported.filter((name) => !isEntryRule(name));
    throw notApplicable('filter', foreign[0], event, ofEvents);
  }
  const canonical = entries.map(
    ([name, value]) => [name, Array.isArray(value) ? [...new Set(value)].sort() : value] as const,
  );
  return Object.fromEntries(canonical.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function requireLast({ event }: TriggerKind, last: number): void {
  if (last === 0) return;
  if (event !== 'release') throw refusal(400, 'past_unsupported', { event });
  if (!Number.isInteger(last) || last < 1 || last > MAX_LAST) {
    throw invalidField('last', `must be a whole number from 1 to ${MAX_LAST}`);
  }
}

/**
 * The trigger with its filters in canonical form. The `fields` of the error name the templates that cannot be used, and
 * its `details` where each of them fails.
 */
export async function requireRule<Rule extends store.StoredTrigger>(
  trigger: Rule,
  check: CheckTemplates = checkTemplates,
): Promise<Rule> {
  const { event, publish } = trigger;
  const filters = requireFilters(kinds[event], trigger.filters);
  if (publish && kinds[event].isRolling) {
    const whole = Object.values(kinds).filter(({ isRolling }) => !isRolling);
    throw refusal(400, 'publish_unsupported', { event, supported: whole.map((each) => each.event) });
  }
  const problems: [field: string, problem: AppError][] = [];
  for (const field of ['titleTemplate', 'bodyTemplate'] as const) {
    if (trigger[field] === null) continue;
    await check(event, { titleTemplate: null, bodyTemplate: null, [field]: trigger[field] }).catch(
      (cause) => {
        if (!(cause instanceof AppError)) throw cause;
        problems.push([field, cause]);
      },
    );
  }
  const [first] = problems;
  if (first === undefined) return { ...trigger, filters };
  const [, cause] = first;
  throw new AppError(400, cause.message, {
    code: 'invalid_template',
    fields: Object.fromEntries(problems.map(([field, { message }]) => [field, message])),
    details: { places: Object.fromEntries(problems.map(([field, { details }]) => [field, details.place])) },
    cause,
  });
}

/** The parts of a trigger that no two triggers may share, as one text. */
function ruleOf({ integrationId, repositoryId, event, filters, contentType }: store.StoredTrigger): string {
  return JSON.stringify([integrationId, repositoryId, event, filters, contentType]);
}
