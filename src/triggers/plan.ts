import type { ReadTx } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import type { Material, Recipe } from '../drafts/model.ts';
import { noDrafts, readScope } from '../drafts/store.ts';
import { eventReader } from '../events/store.ts';
import { imagePlaceAt } from '../providers/index.ts';
import { readCopies, withCopies } from './images.ts';
import { repositoryOf } from './kinds/branch.ts';
import { kinds } from './kinds/index.ts';
import { keysOf, type PlannedDraft, type TriggerKind } from './kinds/kind.ts';
import { withIssues } from './linked-issues.ts';
import type { Trigger } from './model.ts';
import { type DueRun, findDueRun } from './queue-store.ts';
import { isRangeNew, rangeReader } from './range-store.ts';
import { listOpen, type Outcome } from './results-store.ts';
import { findTrigger } from './store.ts';

// What a run has to write: the drafts of its scope, and in which order.

/** How long a draft waits for the commits of its release, in milliseconds. */
const RANGE_WAIT_MS = 60_000;

/** A run makes so many drafts before others come first, and writes them in one transaction where their order is free. */
export const BATCH = 16;

type Needs = Pick<Deps, 'publicUrl' | 'providerUrls'>;

/** Null when the run is not due any more; `wait` while its images, or the commits of its releases, are being read. */
export async function planRun(
  tx: ReadTx,
  deps: Needs,
  { triggerId, scope, event, integrationId }: DueRun,
  now: Date,
) {
  const kind = kinds[event];
  const source = { integrationId, repositoryId: kind.isOfBranch ? repositoryOf(scope) : null };
  const [run, trigger, known, open] = await Promise.all([
    findDueRun(tx, { triggerId, scope }, now),
    findTrigger(tx, triggerId),
    // Only rolling drafts depend on those before them.
    kind.isRolling ? readScope(tx, source, { triggerId, scope }) : noDrafts,
    listOpen(tx, { triggerId, scope }),
  ]);
  if (run === null || trigger === null) return null;
  const events = eventReader(tx, { ...source, triggerId });
  const { filters } = trigger;
  const { since } = run;
  const ranges = rangeReader(tx, source);
  const planned = await kind.plan({ filters, scope, since, events, drafts: known, ranges });
  // Until the provider was asked once. If it cannot answer now, the draft is made by time, and again when it can.
  if (needsRange(kind, planned) && (await isRangeNew(tx, source, now, RANGE_WAIT_MS))) return 'wait';
  const drafts = await withIssues(tx, trigger.organizationId, planned);
  const placeOf = imagePlaceAt(trigger.integrationType, deps);
  const copies = await readCopies(tx, { integrationId, placeOf }, drafts, now);
  if (copies === null) return 'wait';
  const [waiting, fresh] = [open.filter(isWaiting), open.filter((result) => !isWaiting(result))];
  const freshKeys: ReadonlySet<string> = new Set(fresh.map(({ eventKey }) => eventKey));
  return { run, trigger, drafts, closedKeys: known.closedKeys, copies, fresh, freshKeys, waiting };
}

const isWaiting = ({ outcome }: { outcome: Outcome }) => outcome === 'waiting';

function needsRange({ isRolling }: TriggerKind, drafts: readonly PlannedDraft[]): boolean {
  return isRolling || drafts.some(({ material }) => material?.release?.data.notes === null);
}

export type Plan = Exclude<Awaited<ReturnType<typeof planRun>>, null | 'wait'>;

/** A draft that this run has written. */
interface Made {
  /** What it was written from. */
  source: string;
  /** Of all events in the draft. */
  eventKeys: string[];
}

/**
 * The drafts to make, in order. Of many, those of events that wait come first, and of those the newest: at most a batch
 * goes before a new release. Rolling drafts build on each other, and a person may close one at any time. The others stay
 * as `written` before by this run, unless something else is in them now.
 */
export function inOrder(deps: Needs, planned: Plan, written: ReadonlyMap<string, Made>): PlannedDraft[] {
  const { trigger, drafts, freshKeys } = planned;
  if (kinds[trigger.event].isRolling) return [...drafts];
  const isFresh = (keys: readonly string[]) => keys.some((key) => freshKeys.has(key));
  const todo = drafts.filter((draft) => {
    const before = written.get(draft.subject);
    if (before === undefined || isFresh(before.eventKeys)) return true;
    return before.source !== sourceOf(trigger, draft, materialOf(deps, planned, draft));
  });
  if (todo.length <= BATCH) return todo;
  const fresh = todo.filter((draft) => isFresh(keysSettledBy(draft)));
  const rest = todo.filter((draft) => !isFresh(keysSettledBy(draft)));
  return [fresh, rest].flatMap((part) => {
    const batches: PlannedDraft[][] = [];
    for (let end = part.length; end > 0; end -= BATCH)
      batches.push(part.slice(Math.max(0, end - BATCH), end));
    return batches.flat();
  });
}

/** All that a draft is written from, as a hash. */
export function sourceOf(trigger: Trigger, draft: PlannedDraft, material: Material | null): string {
  return Bun.SHA256.hash(JSON.stringify([recipeOf(trigger), { ...draft, material }]), 'base64');
}

export function materialOf(
  { publicUrl }: Needs,
  { copies }: Plan,
  { material }: PlannedDraft,
): Material | null {
  return material && withCopies(material, copies, publicUrl());
}

/** The events whose results a draft settles. */
export function keysSettledBy({ material, eventKeys }: PlannedDraft): string[] {
  // A release without notes consists of changes that it has no keys of.
  const commits = (material?.pushes ?? []).flatMap(({ data }) => data.commits);
  return [
    ...eventKeys,
    ...[...(material?.pushes ?? []), ...(material?.pullRequests ?? [])].flatMap(keysOf),
    // A push may have ended with any of them.
    ...commits.map(({ sha }) => `push ${sha}`),
  ];
}

export function recipeOf(trigger: Trigger): Recipe {
  const { id, integrationType, event, contentType, titleTemplate, bodyTemplate } = trigger;
  return { triggerId: id, platform: integrationType, event, contentType, titleTemplate, bodyTemplate };
}
