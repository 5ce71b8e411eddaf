import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { checkTemplates } from '../drafts/check.ts';
import type { EventType } from '../events/model.ts';
import { listReleases } from '../events/store.ts';
import type { Integration } from '../integrations/model.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { requireValid } from '../lib/validation.ts';
import type { ContentType } from '../posts/model.ts';
import { providerOf } from '../providers/index.ts';
import { recordRequest } from './arrival-store.ts';
import { branchScope } from './kinds/branch.ts';
import { kinds } from './kinds/index.ts';
import type { TriggerKind } from './kinds/kind.ts';
import { fitsOne, isReleaseMeant } from './match.ts';
import { MAX_LAST, type Trigger, TriggerFilters } from './model.ts';
import {
  findTriggerByRule,
  getTrigger,
  insertTrigger,
  listTriggers,
  queueRun,
  replaceTrigger,
  retryRuns,
  type StoredTrigger,
  setTriggerEnabled,
  type TriggerRow,
} from './store.ts';

/** What a trigger is made of. What is absent keeps its default. */
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

/** What can be changed of a trigger: everything but what it listens to. Null templates are the built-in ones. */
export type TriggerChanges = Partial<
  Pick<Trigger, 'filters' | 'contentType' | 'titleTemplate' | 'bodyTemplate' | 'publish'>
>;

type Needs = AuditDeps & Pick<Deps, 'ids'>;

/**
 * Throws `AppError` 404 when there is no such integration, 400 for what makes no sense, above all a template that
 * cannot be used (`TemplateError`), and 409 when another trigger does the same. The trigger acts on events that arrive
 * from now on, and on the `last` releases.
 */
export async function createTrigger(deps: Needs, given: NewTrigger): Promise<Trigger> {
  const { db, clock, ids } = deps;
  const integration = await getIntegration(db, given.integrationId);
  const kind = requireKind(integration, given.event, given.action);
  const now = clock.now().toISOString();
  const trigger: StoredTrigger = {
    id: ids.newId('trg'),
    integrationId: integration.id,
    repositoryId: given.repository === undefined ? null : requireRepository(integration, given.repository),
    event: kind.event,
    filters: requireFilters(kind, given.filters ?? {}),
    contentType: given.contentType,
    titleTemplate: given.titleTemplate ?? null,
    bodyTemplate: given.bodyTemplate ?? null,
    publish: requirePublishable(kind, given.publish ?? false),
    enabled: given.enabled ?? true,
    createdAt: now,
    updatedAt: now,
  };
  const last = requireLast(kind, given.last);
  checkTemplates(trigger);
  const rule = ruleOf(trigger);
  const requestDrafts = () => requestLast(deps, integration, trigger, last);
  if (!(await insertTrigger(deps, trigger, rule, requestDrafts))) throw await isDuplicate(deps, rule);
  return findTriggerById(deps, trigger.id);
}

/** Queues drafts of the newest releases that the filters let through. Synchronous: part of the trigger's transaction. */
function requestLast(
  { db, clock }: Needs,
  { id: integrationId, repositories }: Integration,
  { id: triggerId, repositoryId, filters }: StoredTrigger,
  last: number,
): void {
  if (last === 0) return;
  const repositoryIds = repositoryId === null ? repositories.map(({ id }) => id) : [repositoryId];
  const releases = listReleases(db, integrationId, repositoryIds).filter(
    (release) => isReleaseMeant(filters, release) && fitsOne(filters.branch, release.branch),
  );
  for (const release of releases.slice(0, last)) {
    const { occurredAt: since, deliveryId } = release;
    recordRequest(
      db,
      { triggerId, repositoryId: release.repositoryId },
      { type: 'release', key: release.tag },
    );
    const scope = branchScope(release.repositoryId, release.branch);
    queueRun(db, { triggerId, scope, since, deliveryId }, clock.now());
  }
}

/**
 * Throws as `createTrigger` does. Drafts that are there change with their next event; what the trigger failed to do
 * is tried again at once, as this may have mended it.
 */
export async function changeTrigger(deps: Needs, id: string, changes: TriggerChanges): Promise<Trigger> {
  const { organizationId: _, integrationType: __, ...current } = await getTrigger(deps.db, id);
  const kind = kinds[current.event];
  const next: StoredTrigger = { ...current, ...changes, updatedAt: deps.clock.now().toISOString() };
  next.filters = requireFilters(kind, next.filters);
  requirePublishable(kind, next.publish);
  checkTemplates(next);
  const rule = ruleOf(next);
  if (!(await replaceTrigger(deps, next, rule))) throw await isDuplicate(deps, rule);
  await retryRuns(deps.db, id, deps.clock.now());
  return findTriggerById(deps, id);
}

/** Throws `AppError` 404. */
export async function switchTrigger(deps: Needs, id: string, enabled: boolean): Promise<Trigger> {
  await setTriggerEnabled(deps, id, enabled);
  return findTriggerById(deps, id);
}

/** Throws `AppError` 404. */
export async function findTriggerById({ db }: Pick<Deps, 'db'>, id: string): Promise<Trigger> {
  return withAction(await getTrigger(db, id));
}

/** Of one organization or integration, or all; oldest first. */
export async function findTriggers(
  { db }: Pick<Deps, 'db'>,
  filter: { organizationId?: string | undefined; integrationId?: string | undefined },
): Promise<Trigger[]> {
  return (await listTriggers(db, filter)).map(withAction);
}

function withAction(row: TriggerRow): Trigger {
  return { ...row, action: kinds[row.event].action };
}

/** The event by our name or by the provider's: `pull_request`, `Issue`, `ProjectUpdate`. */
function requireKind({ type }: Integration, name: string, action: string | undefined): TriggerKind {
  const event = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
  const kind = Object.hasOwn(kinds, event) ? kinds[event as EventType] : undefined;
  const { triggerEvents } = providerOf(type);
  if (kind === undefined || !Object.hasOwn(triggerEvents, kind.event)) {
    const names = Object.keys(triggerEvents).join(', ');
    throw new AppError(
      400,
      `The event ${name} makes no drafts of an integration of ${type}; these do: ${names}`,
    );
  }
  if (action !== undefined && action !== kind.action) {
    throw new AppError(
      400,
      `The action ${action} of ${kind.event} makes no drafts; ${kind.action} does, and what follows it changes the same draft`,
    );
  }
  return kind;
}

function requireRepository({ id, repositories }: Integration, name: string): string {
  const found = repositories.find(
    (each) => each.id === name || each.fullName.toLowerCase() === name.toLowerCase(),
  );
  if (found !== undefined) return found.id;
  const names = repositories.map(({ fullName }) => fullName).join(', ') || 'it has none';
  throw new AppError(404, `Integration ${id} has no repository ${name}: ${names}`);
}

/** The filters in their one form: names and values sorted, each value once. */
function requireFilters({ event, filters: known }: TriggerKind, given: TriggerFilters): TriggerFilters {
  requireValid(TriggerFilters, given);
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name] of entries) {
    if (!known.includes(name as keyof TriggerFilters)) {
      throw new AppError(
        400,
        `The filter ${name} says nothing about ${event}; these do: ${known.join(', ')}`,
      );
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
  if (event !== 'release') {
    throw new AppError(
      400,
      `Only a release trigger can make drafts of past releases; a trigger on ${event} acts on new events alone`,
    );
  }
  if (!Number.isInteger(last) || last < 1 || last > MAX_LAST) {
    throw new AppError(400, `The number of past releases must be a whole number from 1 to ${MAX_LAST}`);
  }
  return last;
}

function requirePublishable({ event, isRolling }: TriggerKind, publish: boolean): boolean {
  if (publish && isRolling) {
    const whole = Object.values(kinds).filter((kind) => !kind.isRolling);
    throw new AppError(
      400,
      `A draft of ${event} grows until it is closed, and cannot be published at once; these can: ${whole.map((kind) => kind.event).join(', ')}`,
    );
  }
  return publish;
}

/** What a trigger answers to and makes, as one text. */
function ruleOf({ integrationId, repositoryId, event, filters, contentType }: StoredTrigger): string {
  return JSON.stringify([integrationId, repositoryId, event, filters, contentType]);
}

async function isDuplicate({ db }: Pick<Deps, 'db'>, rule: string): Promise<AppError> {
  const { id } = (await findTriggerByRule(db, rule)) ?? { id: 'that was just made' };
  return new AppError(
    409,
    `Trigger ${id} does the same already; change that one ("trigger change ${id}"), or choose other filters`,
  );
}
