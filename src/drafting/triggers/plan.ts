import type { ReadTx } from '../../../db/engine.ts';
import type { Deps } from '../../people/deps.ts';
import type { EventReader } from '../../providers/events.ts';
import { imagePlaceAt, providerOf } from '../../providers/index.ts';
import { entryRulesOf } from '../changes/rules.ts';
import { eventReader } from '../events.ts';
import { noDrafts, type Recipe, readScope, readSources } from '../store.ts';
import { repositoryOf } from './kinds/branch.ts';
import { keysOf, OPEN, type PlannedDraft, type TriggerKind } from './kinds/kind.ts';
import { readCopies, withCopies, withIssues } from './material.ts';
import { findTrigger, kinds, type Trigger } from './model.ts';
import { type DueRun, findDueRun } from './queue-store.ts';
import { isRangeNew, rangeReader } from './range-store.ts';
import { listOpen, type Outcome } from './results-store.ts';

// Plans a run: the drafts of its scope, and in which order.

/** How long a draft waits for the commits of its release, in milliseconds. */
const RANGE_WAIT_MS = 60_000;

/** A run makes so many drafts before others come first, and writes them in one transaction where their order is free. */
export const BATCH = 16;

/** A run plans so many drafts at a time. Most of them stay as they are. */
const PIECE = 256;

type Needs = Pick<Deps, 'publicUrl' | 'providerUrls'>;

/** Plans made so far in a pass over the drafts of a run. */
export interface Seen {
  subjects: Set<string>;
  /** The results of events, which a plan has read. */
  results: Set<string>;
}

/** Plans the draft of a release again when another event of it arrives. */
function forgetNews({ subjects, results }: Seen, fresh: readonly { deliveryId: string; eventKey: string }[]) {
  for (const { deliveryId, eventKey } of fresh) {
    const name = `${deliveryId} ${eventKey}`;
    // The subject of a release is its key.
    if (!results.has(name)) subjects.delete(eventKey);
    results.add(name);
  }
}

/**
 * The next piece of what a run has to write. Null when the run is not due any more; `wait` while its images, or the
 * commits of its releases, are being read.
 */
export async function planRun(
  tx: ReadTx,
  deps: Needs,
  { triggerId, scope, event, integrationId }: DueRun,
  seen: Seen,
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
  const [waiting, fresh] = [open.filter(isWaiting), open.filter((result) => !isWaiting(result))];
  const freshKeys: ReadonlySet<string> = new Set(fresh.map(({ eventKey }) => eventKey));
  forgetNews(seen, fresh);
  const piece = choosePiece(trigger, seen.subjects, freshKeys);
  const { events, upcoming } = withoutUpcoming(eventReader(tx, { ...source, triggerId }), trigger, now);
  const { filters } = trigger;
  const { since } = run;
  const { choose } = piece;
  const ranges = rangeReader(tx, source);
  const planned = await kind.plan({ filters, scope, since, events, drafts: known, ranges, choose });
  // Waits until the provider was asked once. If it cannot answer now, the draft is made by time, and again when it can.
  if (needsRange(kind, planned) && (await isRangeNew(tx, source, now, RANGE_WAIT_MS))) return 'wait';
  const placeOf = imagePlaceAt(trigger.integrationType, deps);
  const plannedSubjects = planned.map(({ subject }) => subject);
  const [linked, copies, sources] = await Promise.all([
    withIssues(tx, trigger.organizationId, planned),
    readCopies(tx, { integrationId, placeOf }, planned, now),
    readSources(tx, { triggerId, scope }, plannedSubjects),
  ]);
  if (copies === null) return 'wait';
  const drafts = linked.map((draft): SourcedDraft => {
    const material = draft.material && withCopies(draft.material, copies, deps.publicUrl());
    const known = sources.get(draft.subject);
    return { ...draft, material, source: sourceOf(trigger, { ...draft, material }), known };
  });
  const { subjects, isWhole } = piece;
  const { closedKeys } = known;
  return { run, trigger, drafts, closedKeys, fresh, freshKeys, waiting, subjects, isWhole, upcoming };
}

/** Hides releases until their time, where a provider dates them ahead. `upcoming`: those that a plan has met, by tag. */
function withoutUpcoming(reader: EventReader, { integrationType }: Trigger, now: Date) {
  const upcoming = new Map<string, string>();
  if (providerOf(integrationType).datesReleasesAhead !== true) return { events: reader, upcoming };
  const listReleases: EventReader['listReleases'] = async (which) => {
    const releases = await reader.listReleases(which);
    const isLater = ({ occurredAt }: { occurredAt: string }) => occurredAt > now.toISOString();
    for (const { tag, occurredAt } of releases.filter(isLater)) upcoming.set(tag, occurredAt);
    return releases.filter((each) => !isLater(each));
  };
  return { events: { ...reader, listReleases }, upcoming };
}

export type Plan = Exclude<Awaited<ReturnType<typeof planRun>>, null | 'wait'>;

export interface SourcedDraft extends PlannedDraft {
  /** A hash of all that its text is made from. */
  source: string;
  /** The draft as it was written before. */
  known: { postId: string; source: string | null } | undefined;
}

const isWaiting = ({ outcome }: { outcome: Outcome }) => outcome === 'waiting';

/**
 * Chooses the drafts to plan next: those of releases that have just arrived come first, and of those the newest, so that
 * no release waits for many before it. A trigger that publishes keeps their order, because readers see it.
 */
function choosePiece({ publish }: Trigger, seen: ReadonlySet<string>, freshKeys: ReadonlySet<string>) {
  const piece = {
    /** The drafts that were chosen. */
    subjects: [] as readonly string[],
    /** Nothing is left after it. */
    isWhole: true,
    choose(all: readonly string[]): ReadonlySet<string> {
      const left = all.filter((subject) => !seen.has(subject));
      const fresh = left.filter((subject) => freshKeys.has(subject));
      const rest = left.filter((subject) => !freshKeys.has(subject));
      piece.subjects = [...(publish ? fresh : fresh.toReversed()), ...rest].slice(0, PIECE);
      piece.isWhole = piece.subjects.length === left.length;
      return new Set(piece.subjects);
    },
  };
  return piece;
}

function needsRange({ isRolling }: TriggerKind, drafts: readonly PlannedDraft[]): boolean {
  return isRolling || drafts.some(({ material }) => material?.release?.data.notes === null);
}

/**
 * Divides the drafts of a plan into those to write, in order, and those that stay as they are because nothing has changed.
 * Leaves out what the pass has written already: a draft that people have changed keeps the source of an older text. Of
 * many, those of events that have just arrived come first, and of those the newest: at most a batch goes before a new
 * release. Rolling drafts build on each other, and a person may close the open one at any time.
 */
export function inOrder(
  { trigger, drafts, freshKeys }: Plan,
  written: ReadonlyMap<string, Pick<SourcedDraft, 'source'>>,
): { todo: SourcedDraft[]; same: SourcedDraft[] } {
  const arrived = new Set(drafts.filter((draft) => keysSettledBy(draft).some((key) => freshKeys.has(key))));
  const isFresh = (draft: SourcedDraft) => arrived.has(draft);
  const isWritten = ({ subject, source }: SourcedDraft) => written.get(subject)?.source === source;
  const isSame = ({ known, material, source }: SourcedDraft) =>
    known === undefined ? material === null : known.source === source;
  const isDue = (draft: SourcedDraft) => draft.subject === OPEN || isFresh(draft);
  const left = drafts.filter((draft) => isDue(draft) || !isWritten(draft));
  const todo = left.filter((draft) => isDue(draft) || !isSame(draft));
  const same = left.filter((draft) => !isDue(draft) && isSame(draft));
  if (kinds[trigger.event].isRolling || todo.length <= BATCH) return { todo, same };
  const fresh = todo.filter(isFresh);
  const rest = todo.filter((draft) => !isFresh(draft));
  if (trigger.publish || todo.some(({ publish }) => publish)) return { todo: [...fresh, ...rest], same };
  const newestFirst = [fresh, rest].flatMap((part) => {
    const batches: SourcedDraft[][] = [];
    for (let end = part.length; end > 0; end -= BATCH)
      batches.push(part.slice(Math.max(0, end - BATCH), end));
    return batches.flat();
  });
  return { todo: newestFirst, same };
}

/** All that a draft is written from, as a hash. */
function sourceOf(trigger: Trigger, draft: PlannedDraft): string {
  return Bun.SHA256.hash(JSON.stringify([recipeOf(trigger), draft]), 'base64');
}

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
  const { id: triggerId, integrationType: platform, event, contentType, filters } = trigger;
  const { titleTemplate, bodyTemplate } = trigger;
  const entries = entryRulesOf(filters);
  return { triggerId, platform, event, contentType, titleTemplate, bodyTemplate, entries };
}
