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
import type { Compose, DraftText, Material, Recipe } from '../drafts/model.ts';
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
  findDueRun,
  finishRun,
  giveUpRun,
  holdRun,
  isCurrent,
  listDueRuns,
  postponeRun,
} from './queue-store.ts';
import { type RangeHead, rangeReader } from './range-store.ts';
import {
  failResults,
  listUnsettled,
  listWaiting,
  settleRest,
  settleResults,
  settleWaiting,
} from './results-store.ts';
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

/** A run makes so many drafts before others come first, and writes them in one transaction where their order is free. */
const BATCH = 16;

/** The same, for drafts that take long to compose, in milliseconds. */
const BATCH_MS = 100;

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
  /** Each step ends when others come first. The last returns false when there was nothing to do. */
  steps: AsyncGenerator<void, boolean>;
}

/**
 * Does the due runs until none is left, and returns how many. Several processes may do this at once. After each batch of
 * drafts, and each draft that fails, the other runs come first. Throws when a failure of the system cannot be recorded.
 * `onStep` is a sign of life; `reported` holds the failures that are in the log already.
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
  const take = createTaker(deps, underWay);
  const composeOne: Compose = (recipe, material) => {
    onStep();
    return compose(recipe, material);
  };
  try {
    while (signal?.aborted !== true) {
      onStep();
      const taken = await take();
      const work = taken === null ? underWay.shift() : begin(deps, composeOne, taken, signal);
      if (work === undefined) break;
      underWay.push(work);
      try {
        const step = await work.steps.next();
        if (!step.done) continue;
        if (step.value) {
          done++;
          reported.clear();
        }
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

/** Returns a function that takes the next due run; null when there is none, or other processes do them all. */
function createTaker({ db, clock }: TriggerDeps, underWay: readonly Work[]) {
  /** Those of the last list that are left: to list them for each would cost more than most runs do. */
  let due: DueRun[] = [];
  return async (): Promise<{ run: DueRun; lease: Lease } | null> => {
    const others = underWay.map(({ run }) => run);
    if (due.length === 0) due = await db.read((tx) => listDueRuns(tx, clock.now(), others, MAX_CANDIDATES));
    if (due.length === 0) return null;
    const lease = await db.lease(due.map(leaseOf));
    const run = due.find((each) => leaseOf(each) === lease?.name);
    due = due.filter((each) => lease !== null && each !== run);
    return lease === null || run === undefined ? null : { run, lease };
  };
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

/**
 * Ends a step after each batch and each draft that fails, and goes on with the next. Plans again when events arrived
 * meanwhile, so that they need not wait for the rest. False when there was nothing to do. Throws when the system failed.
 */
async function* doRun(
  deps: Needs,
  compose: Compose,
  taken: DueRun,
  signal: AbortSignal | undefined,
): AsyncGenerator<void, boolean> {
  const { db, clock, log } = deps;
  const write = <Result>(work: (tx: WriteTx) => Promise<Result>) => db.write(work, orderOf(taken));
  let run = taken;
  const failures: unknown[] = [];
  const written = new Map<string, Written>();
  try {
    for (let closings = 0; closings < MAX_PLANS; ) {
      const planned = await db.read((tx) => planRun(tx, deps, run, clock.now()));
      if (planned === null) return written.size > 0;
      if (planned === 'wait') {
        const dueAt = new Date(clock.now().getTime() + LOOK_MS);
        await write((tx) => holdRun(tx, run, dueAt));
        return true;
      }
      run = planned.run;
      const todo = inOrder(deps, planned, written);
      const size = kinds[planned.trigger.event].isRolling ? 1 : BATCH;
      let isClosed = false;
      let next: Next = 'plan';
      for (let count = 0, startedAt = performance.now(); ; ) {
        const batch: Composed[] = [];
        const failed = failures.length;
        const isOver = () => performance.now() - startedAt >= BATCH_MS;
        while (todo.length > 0 && failures.length === failed && batch.length < size) {
          if (batch.length > 0 && isOver()) break;
          if (signal?.aborted === true) break;
          const [draft] = todo.splice(0, 1) as [PlannedDraft];
          try {
            batch.push(await composeOne(deps, compose, planned, draft));
          } catch (error) {
            if (endsRun(error)) throw error;
            failures.push(error);
          }
        }
        if (signal?.aborted === true && batch.length === 0) return true;
        // One that cannot be written must not keep the others from it.
        for (let parts = batch.length > 0 || failures.length === 0 ? [batch] : []; parts.length > 0; ) {
          const [part = []] = parts.splice(0, 1);
          const isLast = todo.length === 0 && parts.length === 0;
          try {
            const mayEnd: boolean = failures.length === 0 && !isClosed;
            const step: Step = await write((tx) =>
              writeBatch(tx, deps, planned, part, written, { isLast, mayEnd }),
            );
            for (const each of step.written) {
              written.set(each.draft.subject, each);
              isClosed ||= each.outcome === 'closed';
            }
            next = step.next;
          } catch (error) {
            if (endsRun(error)) throw error;
            if (part.length > 1) parts = [...part.map((each) => [each]), ...parts];
            else failures.push(error);
          }
        }
        if (failures.length > failed) yield;
        if (todo.length === 0 || next === 'news') break;
        count += batch.length;
        if (count < BATCH && !isOver()) continue;
        yield;
        [count, startedAt] = [0, performance.now()];
      }
      if (next === 'done') return true;
      if (isClosed) closings++;
      else if (failures.length > 0) break;
      if (closings === MAX_PLANS) {
        failures.push(new Error('the draft was published or deleted again and again meanwhile'));
      }
    }
  } catch (error) {
    if (endsRun(error)) throw error;
    failures.push(error);
  }
  // An aborted run stays queued.
  if (signal?.aborted === true) return true;
  const [failure] = failures;
  const waitMs = backOffMs[run.attempts];
  const { triggerId, scope, attempts } = run;
  const context = { triggerId, scope, attempts: attempts + 1, err: failure };
  const fail = async (change: (tx: WriteTx, error: string) => Promise<void>) => {
    await write(async (tx) => {
      const error = shortMessageOf(failure);
      await change(tx, error);
      await failResults(tx, run, error, clock.now());
    });
    return true;
  };
  if (waitMs === undefined) {
    log.error(context, 'a trigger run failed for the last time and was given up');
    return fail((tx, error) => giveUpRun(tx, run, error));
  }
  const dueAt = new Date(clock.now().getTime() + waitMs);
  log.warn({ ...context, nextAttemptAt: dueAt.toISOString() }, 'a trigger run failed; retrying later');
  return fail((tx, error) => postponeRun(tx, run, error, dueAt));
}

/** What comes after a batch. `news`: an event arrived, which must not wait for the rest. */
type Next = 'plan' | 'news' | 'done';

interface Step {
  written: Written[];
  next: Next;
}

/**
 * The drafts to make, in order. Of many, those of events that wait come first, and of those the newest: at most a batch
 * goes before a new release. Rolling drafts build on each other, and a person may close one at any time. The others stay
 * as `written` before by this run, unless something else is in them now.
 */
function inOrder(deps: Needs, planned: Plan, written: ReadonlyMap<string, Written>): PlannedDraft[] {
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
function sourceOf(trigger: Trigger, draft: PlannedDraft, material: Material | null): string {
  return Bun.SHA256.hash(JSON.stringify([recipeOf(trigger), { ...draft, material }]), 'base64');
}

function materialOf({ publicUrl }: Needs, { copies }: Plan, { material }: PlannedDraft): Material | null {
  return material && withCopies(material, copies, publicUrl());
}

interface Composed {
  draft: PlannedDraft;
  source: string;
  text: DraftText | null;
}

async function composeOne(
  deps: Needs,
  compose: Compose,
  planned: Plan,
  draft: PlannedDraft,
): Promise<Composed> {
  const { trigger } = planned;
  const material = materialOf(deps, planned, draft);
  const text = material === null ? null : await compose(recipeOf(trigger), material);
  return { draft, source: sourceOf(trigger, draft, material), text };
}

/** Writes drafts, and ends the run after the last ones if it may. */
async function writeBatch(
  tx: WriteTx,
  deps: Needs,
  planned: Plan,
  batch: readonly Composed[],
  before: ReadonlyMap<string, Written>,
  { isLast, mayEnd }: { isLast: boolean; mayEnd: boolean },
): Promise<Step> {
  const { run, drafts } = planned;
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

/** Null when the run is not due any more; `wait` while its images, or the commits of its releases, are being read. */
async function planRun(
  tx: ReadTx,
  deps: Needs,
  { triggerId, scope, event, integrationId }: DueRun,
  now: Date,
) {
  const kind = kinds[event];
  const source = { integrationId, repositoryId: kind.isOfBranch ? repositoryOf(scope) : null };
  const [run, trigger, known, ranges, freshKeys] = await Promise.all([
    findDueRun(tx, { triggerId, scope }, now),
    findTrigger(tx, triggerId),
    readScope(tx, source, { triggerId, scope }),
    rangeReader(tx, source),
    kind.isRolling ? new Set<string>() : listUnsettled(tx, { triggerId, scope }),
  ]);
  if (run === null || trigger === null) return null;
  const events = eventReader(tx, { ...source, triggerId });
  const { filters } = trigger;
  const { since } = run;
  const planned = await kind.plan({ filters, scope, since, events, drafts: known, ranges });
  if (waitsForRange(kind, planned, ranges.heads.values(), now)) return 'wait';
  const drafts = await withIssues(tx, trigger.organizationId, planned);
  const placeOf = imagePlaceAt(trigger.integrationType, deps);
  const copies = await readCopies(tx, { integrationId, placeOf }, drafts, now);
  if (copies === null) return 'wait';
  return { run, trigger, drafts, closedKeys: known.closedKeys, copies, freshKeys };
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
  /** What it was written from. */
  source: string;
  outcome: Outcome;
  postId: string | null;
  /** Of all events in the draft. */
  eventKeys: string[];
}

/** Writes a draft and the results of its events; nothing when the trigger was deleted meanwhile. */
async function writePlanned(
  tx: WriteTx,
  deps: Needs,
  planned: Plan,
  { draft, source, text }: Composed,
): Promise<Written> {
  const { id: triggerId, organizationId, contentType, publish, event } = planned.trigger;
  const { scope } = planned.run;
  const { subject, eventKeys, until, draftOnly, publish: isWanted } = draft;
  if ((await findTrigger(tx, triggerId)) === null) {
    return { draft, source, outcome: 'unchanged', postId: null, eventKeys: [] };
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
  const keys = [...new Set([...written.eventKeys, ...keysSettledBy(draft)])];
  if (outcome !== 'closed') {
    await settleResults(tx, { triggerId, scope }, keys, { outcome, postId }, deps.clock.now());
  }
  return { draft, source, outcome, postId, eventKeys: keys };
}

function keysSettledBy({ material, eventKeys }: PlannedDraft): string[] {
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
