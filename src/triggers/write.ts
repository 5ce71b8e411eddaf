import type { WriteTx } from '../../db/engine.ts';
import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import type { DraftText } from '../drafts/model.ts';
import { type Outcome, writeDraft } from '../drafts/write.ts';
import { branchOf, repositoryOf } from './kinds/branch.ts';
import { kinds } from './kinds/index.ts';
import { OPEN, type PlannedDraft } from './kinds/kind.ts';
import { keysSettledBy, type Plan } from './plan.ts';
import { type DueRun, finishRun, isCurrent } from './queue-store.ts';
import { settleRest, settleResults, settleWaiting } from './results-store.ts';
import { findTrigger } from './store.ts';

// What a run writes: its drafts, the results of their events, and its end.

type Needs = AuditDeps & Pick<Deps, 'ids'>;

export interface Composed {
  draft: PlannedDraft;
  source: string;
  text: DraftText | null;
}

export interface Written {
  draft: PlannedDraft;
  /** What it was written from. */
  source: string;
  outcome: Outcome;
  postId: string | null;
  /** Of all events in the draft. */
  eventKeys: string[];
}

/** What comes after a batch. `news`: an event arrived, which must not wait for the rest. */
export type Next = 'plan' | 'news' | 'done';

export interface Step {
  written: Written[];
  next: Next;
}

/** Writes drafts, and ends the run after the last ones if it may. */
export async function writeBatch(
  tx: WriteTx,
  deps: Needs,
  planned: Plan,
  batch: readonly Composed[],
  before: ReadonlyMap<string, Written>,
  { isLast, mayEnd }: { isLast: boolean; mayEnd: boolean },
): Promise<Step> {
  const { run, drafts } = planned;
  const trigger = await findTrigger(tx, run.triggerId);
  // It was deleted meanwhile, with its run.
  if (trigger === null) return { written: [], next: 'news' };
  const writing = batch.map((each) => writePlanned(tx, deps, planned, each));
  // All of them: a statement must not be sent after the transaction.
  await Promise.allSettled(writing);
  const written = await Promise.all(writing);
  if (!mayEnd || written.some(({ outcome }) => outcome === 'closed')) return { written, next: 'plan' };
  if (!isLast) return { written, next: (await isCurrent(tx, run)) ? 'plan' : 'news' };
  if (!(await finishRun(tx, run))) return { written, next: 'news' };
  const own = new Map(written.map((each) => [each.draft.subject, each]));
  const all = drafts.flatMap((draft) => {
    const made = own.get(draft.subject) ?? before.get(draft.subject);
    return made === undefined ? [] : [{ ...made, draft }];
  });
  await settleRun(tx, run, planned, all, deps.clock.now());
  return { written, next: 'done' };
}

/** Settles the results that no draft has settled, at the end of a run. */
async function settleRun(
  tx: WriteTx,
  run: DueRun,
  { trigger, closedKeys, fresh, waiting }: Plan,
  written: readonly Written[],
  now: Date,
): Promise<void> {
  const settled = new Set(
    written.flatMap(({ outcome, eventKeys }) => (outcome === 'closed' ? [] : eventKeys)),
  );
  const rest = fresh.filter(({ eventKey }) => !settled.has(eventKey));
  if (rest.length > 0) await settleRest(tx, run, kinds[trigger.event], closedKeys, now);
  const { integrationId } = trigger;
  const source = { integrationId, repositoryId: repositoryOf(run.scope), branch: branchOf(run.scope) };
  const entries = [...waiting, ...rest].map(({ deliveryId }) => deliveryId);
  if (entries.length === 0) return;
  for (const { draft, outcome, ...result } of written) {
    if (draft.window === null || outcome === 'closed') continue;
    await settleWaiting(tx, run, { ...source, ...draft.window }, { outcome, ...result }, entries, now);
  }
}

/** Writes a draft and the results of its events. */
async function writePlanned(
  tx: WriteTx,
  deps: Needs,
  planned: Plan,
  { draft, source, text }: Composed,
): Promise<Written> {
  const { id: triggerId, organizationId, contentType, publish, event } = planned.trigger;
  const { scope } = planned.run;
  const { subject, eventKeys, until, draftOnly, publish: isWanted } = draft;
  const name = event.replaceAll('_', ' ');
  const asTrigger = { ...deps, actor: { type: 'trigger', id: triggerId, name, address: null } } as const;
  const { outcome, ...written } = await writeDraft(tx, asTrigger, {
    name: { triggerId, scope, subject },
    organizationId,
    contentType,
    publish: isWanted || (publish && !draftOnly),
    keepsDate: publish || draftOnly || isWanted,
    text,
    eventKeys,
    until,
    closes: kinds[event].isRolling && subject !== OPEN ? OPEN : null,
    isOpen: subject === OPEN,
    releaseOf: event === 'release' ? repositoryOf(scope) : null,
  });
  const { postId } = written;
  const keys = [...new Set([...written.eventKeys, ...keysSettledBy(draft)])];
  if (outcome !== 'closed' && keys.some((key) => planned.freshKeys.has(key))) {
    await settleResults(tx, { triggerId, scope }, keys, { outcome, postId }, deps.clock.now());
  }
  return { draft, source, outcome, postId, eventKeys: keys };
}
