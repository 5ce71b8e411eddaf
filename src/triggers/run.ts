import {
  type Database,
  type Lease,
  type ReadTx,
  type Storage,
  type WriteOptions,
  type WriteTx,
  withLease,
} from '../../db/engine.ts';
import { isSystemFailure, LeaseLost } from '../../db/failures.ts';
import {
  integration as integrationKey,
  organization as organizationKey,
  posts as postsKey,
} from '../../db/order.ts';
import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import type { Compose, DraftText, Recipe } from '../drafts/model.ts';
import { readScope } from '../drafts/store.ts';
import { type Outcome, writeDraft } from '../drafts/write.ts';
import { eventReader } from '../events/store.ts';
import { messageOf } from '../lib/app-error.ts';
import { imagePlaceAt } from '../providers/index.ts';
import { readCopies, withCopies } from './images.ts';
import { branchOf, repositoryOf } from './kinds/branch.ts';
import { kinds } from './kinds/index.ts';
import { keysOf, OPEN, type PlannedDraft, type TriggerKind } from './kinds/kind.ts';
import { withIssues } from './linked-issues.ts';
import { backOffMs, type Trigger } from './model.ts';
import {
  type DueRun,
  delayRun,
  finishRun,
  giveUpRun,
  holdRun,
  listDueRuns,
  postponeRun,
} from './queue-store.ts';
import { type RangeHead, rangeReader } from './range-store.ts';
import { failResults, listWaiting, settleRest, settleResults, settleWaiting } from './results-store.ts';
import { findTrigger } from './store.ts';

// A run makes the drafts of one scope: read the events, plan the drafts, compose each, write it. A process holds a lease
// on each run that it does, so that several processes do different runs at the same time. A run whose process died or
// hangs is taken over by another.

/** Plan again this often in one run after a person closes the rolling draft meanwhile. */
const MAX_PLANS = 3;

const MAX_ERROR_LENGTH = 500;

/** How long a run waits after the system failed, such as a full disk or a locked database, in milliseconds. */
const SYSTEM_WAIT_MS = 10_000;

/** How often a run looks for the copies of its images, and the commits of its releases, in milliseconds. */
const LOOK_MS = 500;

/** How long a draft waits for the commits of its release, in milliseconds. */
const RANGE_WAIT_MS = 60_000;

/** How many due runs to choose from: other processes may be at work on the first ones. */
const MAX_CANDIDATES = 20;

export type TriggerDeps = AuditDeps &
  Pick<Deps, 'ids' | 'publicUrl' | 'providerUrls'> & { db: Storage & Pick<Database, 'lease'> };

/** `db` writes only while the run is this process's own. */
type Needs = AuditDeps & Pick<Deps, 'ids' | 'publicUrl' | 'providerUrls'>;

/** For the server's job: rests after a failure for which not even a delay could be written. Logs each once. */
export function createTriggerWorker(deps: TriggerDeps, compose: Compose) {
  const reported = new Set<string>();
  let failedAt: number | null = null;
  return async (signal?: AbortSignal, onStep?: () => void): Promise<number> => {
    const restedMs = failedAt === null ? SYSTEM_WAIT_MS : deps.clock.now().getTime() - failedAt;
    // Negative: the clock was set back.
    if (restedMs >= 0 && restedMs < SYSTEM_WAIT_MS) return 0;
    failedAt = null;
    try {
      return await runTriggers(deps, compose, signal, onStep, reported);
    } catch (error) {
      if (!isSystemFailure(error)) throw error;
      failedAt = deps.clock.now().getTime();
      report(deps, reported, error);
      return 0;
    }
  };
}

/** A run that this process does. */
interface Work {
  run: DueRun;
  lease: Lease;
  /** With `db` under the lease. */
  deps: Needs;
  /** Each step ends when a draft fails, the last when all are made. */
  steps: AsyncGenerator<void, void>;
}

/**
 * Does the due runs until none is left, and returns how many. Several processes may do this at once. After each draft
 * that fails, the other runs come first. Throws when a failure of the system cannot be recorded. `onStep` is a sign of
 * life; `reported` holds the failures that are in the log already.
 */
export async function runTriggers(
  deps: TriggerDeps,
  compose: Compose,
  signal?: AbortSignal,
  onStep: () => void = () => undefined,
  reported = new Set<string>(),
): Promise<number> {
  let done = 0;
  /** In turn: the one that waits longest comes first. */
  const underWay: Work[] = [];
  const composeOne: Compose = (recipe, material) => {
    onStep();
    return compose(recipe, material);
  };
  try {
    while (signal?.aborted !== true) {
      onStep();
      const taken = await takeRun(
        deps,
        underWay.map(({ run }) => run),
      );
      const work = taken === null ? underWay.shift() : begin(deps, composeOne, taken, signal);
      if (work === undefined) break;
      underWay.push(work);
      try {
        if (!(await work.steps.next()).done) continue;
        done++;
        reported.clear();
      } catch (error) {
        if (error instanceof LeaseLost) {
          const { triggerId, scope } = work.run;
          deps.log.warn({ triggerId, scope }, 'another process took over a trigger run');
        } else {
          if (!isSystemFailure(error)) throw error;
          await delay(work, error);
          report(deps, reported, error, work.run);
        }
      }
      underWay.pop();
      await work.lease.release();
    }
  } finally {
    for (const { lease } of underWay) await lease.release();
  }
  return done;
}

/** The next due run, unless other processes do all of them. */
async function takeRun(
  { db, clock }: TriggerDeps,
  underWay: readonly DueRun[],
): Promise<{ run: DueRun; lease: Lease } | null> {
  const listDue = () => db.read((tx) => listDueRuns(tx, clock.now(), underWay, MAX_CANDIDATES));
  for (;;) {
    const due = await listDue();
    if (due.length === 0) return null;
    const lease = await db.lease(due.map(leaseOf));
    if (lease === null) return null;
    // Another process may have done it before the lease was taken.
    const run = (await listDue()).find((each) => leaseOf(each) === lease.name);
    if (run !== undefined) return { run, lease };
    await lease.release();
  }
}

const leaseOf = ({ triggerId, scope }: DueRun) => `run ${triggerId} ${scope}`;

function begin(
  deps: TriggerDeps,
  compose: Compose,
  { run, lease }: Pick<Work, 'run' | 'lease'>,
  signal: AbortSignal | undefined,
): Work {
  const held: Needs = { ...deps, db: withLease(deps.db, lease) };
  return { run, lease, deps: held, steps: doRun(held, compose, run, signal) };
}

const keyOf = ({ triggerId }: DueRun) => `trigger ${triggerId}`;

/** The drafts of one trigger are written one after the other, in their turn with other work about the organization's posts. */
const orderOf = (run: DueRun): WriteOptions => ({
  key: [keyOf(run), postsKey(run.organizationId)],
  shares: [integrationKey(run.integrationId), organizationKey(run.organizationId)],
});

/** Throws the failure when the delay cannot be written. */
async function delay({ deps: { db, clock }, run }: Work, failure: unknown): Promise<void> {
  const dueAt = new Date(clock.now().getTime() + SYSTEM_WAIT_MS);
  try {
    // Try once: the failed work has waited for the lock already.
    await db.write((tx) => delayRun(tx, run, shortMessageOf(failure), dueAt), {
      key: keyOf(run),
      giveUpMs: 0,
    });
  } catch {
    throw failure;
  }
}

function report({ log }: Needs, reported: Set<string>, error: unknown, run?: DueRun): void {
  const message = shortMessageOf(error);
  // A run keeps its last error, so that a process that starts later does not log it again.
  if (reported.has(message) || run?.error === message) return;
  reported.add(message);
  log.warn(
    { triggerId: run?.triggerId, scope: run?.scope, err: error },
    `the system failed, and no draft can be made; retrying every ${SYSTEM_WAIT_MS / 1000} seconds`,
  );
}

function shortMessageOf(error: unknown): string {
  return messageOf(error).slice(0, MAX_ERROR_LENGTH);
}

/** Ends a step after each draft that fails, and goes on with the next draft. Throws when the system failed. */
async function* doRun(
  deps: Needs,
  compose: Compose,
  run: DueRun,
  signal: AbortSignal | undefined,
): AsyncGenerator<void, void> {
  const { db, clock, log } = deps;
  const write = <Result>(work: (tx: WriteTx) => Promise<Result>) => db.write(work, orderOf(run));
  const failures: unknown[] = [];
  let last: Plan | null = null;
  let written: Written[] = [];
  try {
    let isClosed = true;
    for (let plans = 0; isClosed && plans < MAX_PLANS; plans++) {
      isClosed = false;
      const planned = await db.read((tx) => planRun(tx, deps, run, clock.now()));
      if (planned === null) break;
      if (planned === 'wait') {
        const dueAt = new Date(clock.now().getTime() + LOOK_MS);
        return await write((tx) => holdRun(tx, run, dueAt));
      }
      last = planned;
      written = [];
      const { trigger, drafts, copies } = planned;
      for (const draft of drafts) {
        if (signal?.aborted === true) return;
        try {
          const material = draft.material && withCopies(draft.material, copies, deps.publicUrl());
          const text = material === null ? null : await compose(recipeOf(trigger), material);
          const result = await write((tx) => writePlanned(tx, deps, trigger, run.scope, draft, text));
          written.push(result);
          isClosed ||= result.outcome === 'closed';
        } catch (error) {
          if (endsRun(error)) throw error;
          failures.push(error);
          yield;
        }
      }
    }
    if (isClosed) failures.push(new Error('the draft was published or deleted again and again meanwhile'));
  } catch (error) {
    if (endsRun(error)) throw error;
    failures.push(error);
  }
  // An aborted run stays queued.
  if (signal?.aborted === true) return;
  const [failure] = failures;
  if (failure === undefined) {
    return write(async (tx) => {
      // An event that arrived since is the next run's.
      if ((await finishRun(tx, run)) && last !== null) await settleRun(tx, run, last, written, clock.now());
    });
  }
  const waitMs = backOffMs[run.attempts];
  const { triggerId, scope, attempts } = run;
  const context = { triggerId, scope, attempts: attempts + 1, err: failure };
  const fail = (change: (tx: WriteTx, error: string) => Promise<void>) =>
    write(async (tx) => {
      const error = shortMessageOf(failure);
      await change(tx, error);
      await failResults(tx, run, error, clock.now());
    });
  if (waitMs === undefined) {
    log.error(context, 'a trigger run failed for the last time and was given up');
    return fail((tx, error) => giveUpRun(tx, run, error));
  }
  const dueAt = new Date(clock.now().getTime() + waitMs);
  log.warn({ ...context, nextAttemptAt: dueAt.toISOString() }, 'a trigger run failed; retrying later');
  return fail((tx, error) => postponeRun(tx, run, error, dueAt));
}

/** Settles the results that no draft has settled, at the end of a run. */
async function settleRun(
  tx: WriteTx,
  run: DueRun,
  { trigger, closedKeys }: Plan,
  written: readonly Written[],
  now: Date,
): Promise<void> {
  await settleRest(tx, run, kinds[trigger.event], closedKeys, now);
  const { integrationId } = trigger;
  const source = { integrationId, repositoryId: repositoryOf(run.scope), branch: branchOf(run.scope) };
  const waiting = written.some(({ draft }) => draft.window !== null) ? await listWaiting(tx, run) : [];
  if (waiting.length === 0) return;
  for (const { draft, outcome, ...result } of written) {
    if (draft.window === null || outcome === 'closed') continue;
    await settleWaiting(tx, run, { ...source, ...draft.window }, { outcome, ...result }, waiting, now);
  }
}

/** The run failed through no fault of its own. */
function endsRun(error: unknown): boolean {
  return isSystemFailure(error) || error instanceof LeaseLost;
}

/** Null when the trigger was deleted; `wait` while its images, or the commits of its releases, are being read. */
async function planRun(tx: ReadTx, deps: Needs, { triggerId, scope, since }: DueRun, now: Date) {
  const trigger = await findTrigger(tx, triggerId);
  if (trigger === null) return null;
  const { integrationId, filters } = trigger;
  const kind = kinds[trigger.event];
  const repositoryId = kind.isOfBranch ? repositoryOf(scope) : null;
  const events = eventReader(tx, { integrationId, repositoryId, triggerId });
  const known = await readScope(tx, { integrationId, repositoryId }, { triggerId, scope });
  const ranges = await rangeReader(tx, { integrationId, repositoryId });
  const planned = await kind.plan({ filters, scope, since, events, drafts: known, ranges });
  if (waitsForRange(kind, planned, ranges.heads.values(), now)) return 'wait';
  const drafts = await withIssues(tx, trigger.organizationId, planned);
  const placeOf = imagePlaceAt(trigger.integrationType, deps);
  const copies = await readCopies(tx, { integrationId, placeOf }, drafts, now);
  if (copies === null) return 'wait';
  return { trigger, drafts, closedKeys: known.closedKeys, copies };
}

/** Until the provider was asked once. If it cannot answer now, the draft is made by time, and again when it can. */
function waitsForRange(
  { isRolling }: TriggerKind,
  drafts: readonly PlannedDraft[],
  ranges: Iterable<RangeHead>,
  now: Date,
): boolean {
  const needsRange = isRolling || drafts.some(({ material }) => material?.release?.data.notes === null);
  // A range that was queued later than now dates from a clock set ahead.
  const isNew = ({ createdAt }: RangeHead) => Math.abs(now.getTime() - Date.parse(createdAt)) < RANGE_WAIT_MS;
  return (
    needsRange &&
    [...ranges].some((range) => range.status === 'queued' && range.problem === null && isNew(range))
  );
}

type Plan = Exclude<Awaited<ReturnType<typeof planRun>>, null | 'wait'>;

interface Written {
  draft: PlannedDraft;
  outcome: Outcome;
  postId: string | null;
  /** Of all events in the draft. */
  eventKeys: string[];
}

/** Writes a draft and the results of its events; nothing when the trigger was deleted meanwhile. */
async function writePlanned(
  tx: WriteTx,
  deps: Needs,
  { id: triggerId, organizationId, contentType, publish, event }: Trigger,
  scope: string,
  draft: PlannedDraft,
  text: DraftText | null,
): Promise<Written> {
  const { subject, material, eventKeys, until, draftOnly, publish: isWanted } = draft;
  if ((await findTrigger(tx, triggerId)) === null) {
    return { draft, outcome: 'unchanged', postId: null, eventKeys: [] };
  }
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
  // A release without notes consists of changes that it has no keys of.
  const commits = (material?.pushes ?? []).flatMap(({ data }) => data.commits);
  const changes = [
    ...[...(material?.pushes ?? []), ...(material?.pullRequests ?? [])].flatMap(keysOf),
    // A push may have ended with any of them.
    ...commits.map(({ sha }) => `push ${sha}`),
  ];
  const keys = [...written.eventKeys, ...changes];
  if (outcome !== 'closed') {
    await settleResults(tx, { triggerId, scope }, keys, { outcome, postId }, deps.clock.now());
  }
  return { draft, outcome, postId, eventKeys: keys };
}

export function recipeOf(trigger: Trigger): Recipe {
  const { id, integrationType, event, contentType, titleTemplate, bodyTemplate } = trigger;
  return { triggerId: id, platform: integrationType, event, contentType, titleTemplate, bodyTemplate };
}
