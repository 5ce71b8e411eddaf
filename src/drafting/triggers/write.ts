import type { Lease, WriteTx } from '../../../db/engine.ts';
import type { AuditDeps } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { findTimes, hasRelease } from '../events.ts';
import type { Composition } from '../store.ts';
import { queueWording } from '../wording/store.ts';
import { findStored, type NewDraft, type Outcome, writeDraft } from '../write.ts';
import { branchOf, repositoryOf } from './kinds/branch.ts';
import { OPEN } from './kinds/kind.ts';
import { findTrigger, kinds } from './model.ts';
import { keysSettledBy, type Plan, type SourcedDraft } from './plan.ts';
import { type DueRun, finishRun, isCurrent, waitWithRun } from './queue-store.ts';
import { settleRest, settleResults, settleWaiting } from './results-store.ts';

// Writes the drafts of a run, the results of their events, and its end.

type Needs = AuditDeps & Pick<Deps, 'ids' | 'assistant'>;

export interface Composed {
  draft: SourcedDraft;
  composition: Composition;
}

/** A draft that a run has written, or that stays as it is. */
export interface Written extends Pick<SourcedDraft, 'subject' | 'window' | 'source'> {
  outcome: Outcome;
  postId: string | null;
  eventKeys: string[];
}

/** A draft that stays as it is. */
export function unchanged(draft: SourcedDraft): Written {
  const { subject, window, source, known } = draft;
  const postId = known?.postId ?? null;
  return { subject, window, source, outcome: 'unchanged', postId, eventKeys: keysSettledBy(draft) };
}

/**
 * The next step after a batch. `news`: an event arrived, which must not wait for the rest. `again`: the rest is done, and
 * an event arrived since the pass began.
 */
export type Next = 'plan' | 'news' | 'again' | 'done';

export interface Step {
  written: Written[];
  next: Next;
}

/** The revision of a run when a pass began, and the results that it had to settle. */
export type Beginning = Pick<DueRun, 'revision'> & Pick<Plan, 'fresh'>;

interface End {
  isLast: boolean;
  mayEnd: boolean;
  lease: Lease;
  began: Beginning;
}

/** Writes drafts, and ends the run after the last ones if it may. */
export async function writeBatch(
  tx: WriteTx,
  deps: Needs,
  planned: Plan,
  batch: readonly Composed[],
  before: ReadonlyMap<string, Written>,
  { isLast, mayEnd, lease, began }: End,
): Promise<Step> {
  const { run } = planned;
  // Sent together: one round trip.
  const [trigger, ...found] = await Promise.all([
    findTrigger(tx, run.triggerId),
    ...batch.map((each) => find(tx, planned, each)),
  ]);
  // It was deleted meanwhile, with its run.
  if (trigger === null) return { written: [], next: 'news' };
  const written = await writeAll(tx, deps, planned, found);
  if (!mayEnd || written.some(({ outcome }) => outcome === 'closed')) return { written, next: 'plan' };
  if (!isLast) return { written, next: (await isCurrent(tx, run)) ? 'plan' : 'news' };
  const now = deps.clock.now();
  const waitsUntil = [...planned.upcoming.values()].sort()[0];
  const whole = { ...run, revision: began.revision };
  const ended = await (waitsUntil === undefined
    ? finishRun(tx, whole)
    : waitWithRun(tx, whole, new Date(waitsUntil), now));
  if (ended) lease.releaseIn(tx);
  const all = new Map([...before, ...written.map((each) => [each.subject, each] as const)]);
  // While events keep arriving, the next pass has those of this one to settle, and not ever more.
  const { fresh } = ended ? planned : began;
  await settleRun(tx, run, { ...planned, fresh }, [...all.values()], now);
  return { written, next: ended ? 'done' : 'again' };
}

type Found = Awaited<ReturnType<typeof find>>;

/** A draft to write, beside the stored one. */
async function find(tx: WriteTx, { trigger, run }: Plan, { draft, composition }: Composed) {
  const { id: triggerId, organizationId, contentType, publish, event } = trigger;
  const { scope } = run;
  const { subject, eventKeys, until, draftOnly, publish: isWanted, source } = draft;
  const given: NewDraft = {
    name: { triggerId, scope, subject },
    organizationId,
    contentType,
    publish: isWanted || (publish && !draftOnly),
    keepsDate: publish || draftOnly || isWanted,
    ...composition,
    source,
    eventKeys,
    until,
    closes: kinds[event].isRolling && subject !== OPEN ? OPEN : null,
    isOpen: subject === OPEN,
    releaseOf: event === 'release' ? repositoryOf(scope) : null,
  };
  const { integrationId } = trigger;
  const repositoryId = repositoryOf(scope);
  const tag = /^release (.*)/s.exec(subject)?.[1];
  // Sent together: one round trip.
  const [stored, isPresent] = await Promise.all([
    findStored(tx, given),
    tag === undefined || !kinds[event].isOfBranch || repositoryId === null
      ? true
      : hasRelease(tx, { integrationId, repositoryId }, tag),
  ]);
  // The release got another tag since it was planned: its draft has another name, and is written under that.
  return { draft, given: isPresent || stored.known !== null ? given : { ...given, text: null }, stored };
}

async function writeAll(
  tx: WriteTx,
  deps: Needs,
  planned: Plan,
  batch: readonly Found[],
): Promise<Written[]> {
  // Readers see the order in which posts are published.
  if (batch.some(({ given }) => given.publish)) {
    const written: Written[] = [];
    for (const each of batch) written.push(await writeOne(tx, deps, planned, each));
    return written;
  }
  const writing = batch.map((each) => writeOne(tx, deps, planned, each));
  // All of them: a statement must not be sent after the transaction.
  await Promise.allSettled(writing);
  return Promise.all(writing);
}

/** Settles the results that no draft has settled, at the end of a pass. */
async function settleRun(
  tx: WriteTx,
  run: DueRun,
  { trigger, closedKeys, fresh, waiting, upcoming }: Plan,
  written: readonly Written[],
  now: Date,
): Promise<void> {
  const settled = new Set(
    written.flatMap(({ outcome, eventKeys }) => (outcome === 'closed' ? [] : eventKeys)),
  );
  // The run waits for these.
  const open = new Set([...upcoming.keys()].map((tag) => `release ${tag}`));
  const rest = fresh.filter(({ eventKey }) => !settled.has(eventKey) && !open.has(eventKey));
  if (rest.length > 0) await settleRest(tx, run, kinds[trigger.event], rest, closedKeys, now);
  const left = [...waiting, ...rest];
  const windows = written.flatMap(({ window, outcome, ...result }) =>
    window === null || outcome === 'closed' ? [] : [{ ...window, draft: { outcome, ...result } }],
  );
  if (left.length === 0 || windows.length === 0) return;
  const { integrationId } = trigger;
  const source = { integrationId, repositoryId: repositoryOf(run.scope), branch: branchOf(run.scope) };
  const keys = left.map(({ eventKey }) => eventKey);
  const times = await findTimes(tx, source, keys);
  for (const { after = '', until, draft } of windows) {
    const own = left.filter(({ eventKey }) => {
      const time = times.get(eventKey) ?? '';
      return time > after && time <= until;
    });
    if (own.length > 0) await settleWaiting(tx, run, own, draft, now);
  }
}

/** Writes a draft and the results of its events. */
async function writeOne(
  tx: WriteTx,
  deps: Needs,
  { trigger, run, freshKeys }: Plan,
  { draft, given, stored }: Found,
): Promise<Written> {
  const { subject, window, source } = draft;
  const name = trigger.event.replaceAll('_', ' ');
  const asTrigger = { ...deps, actor: { type: 'trigger', id: trigger.id, name, address: null } } as const;
  const { outcome, postId, ...written } = await writeDraft(tx, asTrigger, given, stored);
  const isSuggested = trigger.suggests && deps.assistant !== undefined;
  if (isSuggested && postId !== null && ['created', 'updated'].includes(outcome)) {
    await queueWording(tx, deps, { postId, organizationId: trigger.organizationId, actorName: null });
  }
  const eventKeys = [...new Set([...written.eventKeys, ...keysSettledBy(draft)])];
  if (outcome !== 'closed' && eventKeys.some((key) => freshKeys.has(key))) {
    await settleResults(tx, run, eventKeys, { outcome, postId }, deps.clock.now());
  }
  return { subject, window, source, outcome, postId, eventKeys };
}
