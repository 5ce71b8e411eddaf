import {
  type Database,
  integration as integrationKey,
  type Lease,
  organization as organizationKey,
  posts as postsKey,
  type Storage,
  type WriteOptions,
  type WriteTx,
  withLease,
} from '../../../db/engine.ts';
import { isSystemFailure, LeaseLost } from '../../../db/failures.ts';
import { messageOf } from '../../lib/app-error.ts';
import type { AuditDeps } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import type { Compose, Composition } from '../store.ts';
import { backOffMs, kinds } from './model.ts';
import { BATCH, inOrder, type Plan, planRun, recipeOf, type Seen, type SourcedDraft } from './plan.ts';
import { type DueRun, delayRun, giveUpRun, holdRun, listDueRuns, postponeRun } from './queue-store.ts';
import { failResults } from './results-store.ts';
import { type Beginning, type Composed, type Next, unchanged, type Written, writeBatch } from './write.ts';

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

/** The text of a draft without material. */
const NOTHING: Composition = { text: null, leftOut: [] };

/** How many runs a process does at a time. */
const AT_ONCE = 8;

/** How many due runs to choose from: other processes may be at work on the first ones. */
const MAX_CANDIDATES = 3 * AT_ONCE;

/** The same, for drafts that take long to compose, in milliseconds. */
const BATCH_MS = 100;

export type TriggerDeps = AuditDeps &
  Pick<Deps, 'ids' | 'publicUrl' | 'providerUrls' | 'assistant'> & { db: Storage & Pick<Database, 'lease'> };

/** `db` writes only while the run is this process's own. */
type Needs = AuditDeps & Pick<Deps, 'ids' | 'publicUrl' | 'providerUrls' | 'assistant'>;

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
  const composeOne: Compose = (recipe, material) => {
    onStep();
    return compose(recipe, material);
  };
  /** Does one step of a run. True when it is over. */
  async function advance(work: Work): Promise<boolean> {
    try {
      const step = await work.steps.next();
      if (!step.done) return false;
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
    await work.lease.release();
    return true;
  }
  try {
    while (signal?.aborted !== true) {
      onStep();
      const taken = (await takeRuns(deps, underWay)).map((each) => begin(deps, composeOne, each, signal));
      const works = taken.length > 0 ? taken : underWay.splice(0, AT_ONCE);
      if (works.length === 0) break;
      underWay.push(...works);
      const steps = await Promise.allSettled(works.map(advance));
      for (const [index, step] of steps.entries()) {
        if (step.status === 'rejected') throw step.reason;
        const work = works[index];
        if (step.value && work !== undefined) underWay.splice(underWay.indexOf(work), 1);
      }
    }
  } finally {
    for (const { lease } of underWay) await lease.release();
  }
  return done;
}

/** Takes the next due runs; none when there are none, or other processes do them all. */
async function takeRuns({ db, clock }: TriggerDeps, underWay: readonly Work[]) {
  const others = underWay.map(({ run }) => run);
  let due = await db.read((tx) => listDueRuns(tx, clock.now(), others, MAX_CANDIDATES));
  const taken: { run: DueRun; lease: Lease }[] = [];
  try {
    while (due.length > 0 && taken.length < AT_ONCE) {
      const lease = await db.lease(due.map(leaseOf));
      const run = due.find((each) => leaseOf(each) === lease?.name);
      if (lease === null || run === undefined) break;
      taken.push({ run, lease });
      due = due.filter((each) => each !== run);
    }
  } catch (error) {
    for (const { lease } of taken) await lease.release();
    throw error;
  }
  return taken;
}

const leaseOf = ({ triggerId, scope }: DueRun) => `run ${triggerId} ${scope}`;

function begin(
  deps: TriggerDeps,
  compose: Compose,
  { run, lease }: Pick<Work, 'run' | 'lease'>,
  signal: AbortSignal | undefined,
): Work {
  const held: Needs = { ...deps, db: withLease(deps.db, lease) };
  return { run, lease, deps: held, steps: doRun(held, compose, { run, lease }, signal) };
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
  // Try once: the failed work has waited for the lock already.
  const options = { key: keyOf(run), giveUpMs: 0 };
  try {
    await db.write((tx) => delayRun(tx, run, shortMessageOf(failure), dueAt), options);
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

interface Progress {
  readonly deps: Needs;
  readonly compose: Compose;
  readonly signal: AbortSignal | undefined;
  /** Given back with the last write. */
  readonly lease: Lease;
  /** As it was planned last. */
  run: DueRun;
  /** Of the present pass over its drafts. */
  began: Beginning;
  /** The drafts that the pass has written, or left as they are. By subject. */
  readonly written: Map<string, Written>;
  readonly seen: Seen;
  /** A person has closed a draft since it was planned. */
  isClosed: boolean;
  /** Why some drafts could not be written. */
  readonly failures: unknown[];
}

/**
 * Ends a step after each batch and each draft that fails, and goes on with the next. Plans again when events arrived
 * meanwhile, so that they need not wait for the rest; after the rest, another pass looks at what they changed. So a run
 * comes to its last draft, and other runs to their turn, however many events arrive. False when there was nothing to do.
 * Throws when the system failed.
 */
async function* doRun(
  deps: Needs,
  compose: Compose,
  { run, lease }: Pick<Work, 'run' | 'lease'>,
  signal: AbortSignal | undefined,
): AsyncGenerator<void, boolean> {
  const { db, clock } = deps;
  const progress: Progress = {
    deps,
    compose,
    signal,
    lease,
    run,
    began: { revision: run.revision, fresh: [] },
    written: new Map(),
    seen: { subjects: new Set(), results: new Set() },
    isClosed: false,
    failures: [],
  };
  const { failures } = progress;
  try {
    for (let closings = 0, plans = 0; closings < MAX_PLANS; plans++) {
      const planned = await db.read((tx) => planRun(tx, deps, progress.run, progress.seen, clock.now()));
      if (planned === null) return plans > 0;
      if (planned === 'wait') {
        const dueAt = new Date(clock.now().getTime() + LOOK_MS);
        await db.write(async (tx) => {
          await holdRun(tx, run, dueAt);
          lease.releaseIn(tx);
        }, orderOf(run));
        return true;
      }
      if (progress.seen.subjects.size === 0) startOver(progress, planned);
      Object.assign(progress, { run: planned.run, isClosed: false });
      const next = yield* makeDrafts(progress, planned);
      if (next === 'done') return true;
      if (next === 'again') {
        progress.seen.subjects.clear();
        progress.written.clear();
      }
      if (progress.isClosed) closings++;
      else if (next === 'plan' && !planned.isWhole) {
        for (const subject of planned.subjects) progress.seen.subjects.add(subject);
        yield;
      } else if (failures.length > 0) break;
      else yield;
      if (closings === MAX_PLANS) {
        failures.push(new Error('the draft was published or deleted again and again meanwhile'));
      }
    }
  } catch (error) {
    if (endsRun(error)) throw error;
    failures.push(error);
  }
  // An aborted run stays queued.
  if (signal?.aborted !== true) await fail(progress);
  return true;
}

/** The plan begins with the first draft again. Of what the pass has written, only the drafts that it still plans count. */
function startOver(progress: Progress, { run: { revision }, fresh, drafts, isWhole }: Plan): void {
  progress.began = { revision, fresh };
  if (!isWhole) return;
  const planned = new Set(drafts.map(({ subject }) => subject));
  for (const subject of progress.written.keys()) if (!planned.has(subject)) progress.written.delete(subject);
}

/** Composes and writes the drafts of a plan in batches. Tells what comes next, which is `done` for an aborted run too. */
async function* makeDrafts(progress: Progress, planned: Plan): AsyncGenerator<void, Next> {
  const { written, failures, signal } = progress;
  const { todo, same } = inOrder(planned, written);
  for (const draft of same) written.set(draft.subject, unchanged(draft));
  if (todo.length === 0 && !planned.isWhole) return 'plan';
  for (let count = 0, startedAt = performance.now(); ; ) {
    const isOver = () => performance.now() - startedAt >= BATCH_MS;
    const failed = failures.length;
    const batch = await composeBatch(progress, planned, todo, isOver);
    if (signal?.aborted === true && batch.length === 0) return 'done';
    const next = await writeParts(progress, planned, batch, planned.isWhole && todo.length === 0);
    if (failures.length > failed) yield;
    if (todo.length === 0 || next !== 'plan') return next;
    count += batch.length;
    if (count < BATCH && !isOver()) continue;
    yield;
    [count, startedAt] = [0, performance.now()];
  }
}

/** Composes the next drafts of `todo`, which it takes from there, up to one that fails. */
async function composeBatch(
  { compose, signal, failures }: Progress,
  { trigger }: Plan,
  todo: SourcedDraft[],
  isOver: () => boolean,
): Promise<Composed[]> {
  // Rolling drafts build on each other.
  const size = kinds[trigger.event].isRolling ? 1 : BATCH;
  const batch: Composed[] = [];
  while (batch.length < size && signal?.aborted !== true) {
    if (batch.length > 0 && isOver()) break;
    const draft = todo.shift();
    if (draft === undefined) break;
    try {
      const { material } = draft;
      const composition = material === null ? NOTHING : await compose(recipeOf(trigger), material);
      batch.push({ draft, composition });
    } catch (error) {
      if (endsRun(error)) throw error;
      failures.push(error);
      break;
    }
  }
  return batch;
}

/** Writes a batch in one transaction, or each draft in its own: one that cannot be written must not keep the others from it. */
async function writeParts(
  progress: Progress,
  planned: Plan,
  batch: readonly Composed[],
  isLast: boolean,
): Promise<Next> {
  const { deps, lease, run, written, failures } = progress;
  let next: Next = 'plan';
  if (batch.length === 0 && failures.length > 0) return next;
  for (let parts = [batch]; parts.length > 0; ) {
    const [part = [], ...rest] = parts;
    parts = rest;
    const mayEnd = failures.length === 0 && !progress.isClosed;
    const end = { isLast: isLast && rest.length === 0, mayEnd, lease, began: progress.began };
    const write = (tx: WriteTx) => writeBatch(tx, deps, planned, part, written, end);
    try {
      const step = await deps.db.write(write, orderOf(run));
      for (const each of step.written) {
        written.set(each.subject, each);
        progress.isClosed ||= each.outcome === 'closed';
      }
      next = step.next;
    } catch (error) {
      if (endsRun(error)) throw error;
      if (part.length > 1) parts = part.map((each) => [each]);
      else failures.push(error);
    }
  }
  return next;
}

/** Records the first failure, and postpones the run or gives it up. */
async function fail({ deps: { db, clock, log }, lease, run, failures: [failure] }: Progress): Promise<void> {
  const { triggerId, scope, attempts } = run;
  const error = shortMessageOf(failure);
  const context = { triggerId, scope, attempts: attempts + 1, err: failure };
  const waitMs = backOffMs[attempts];
  const dueAt = waitMs === undefined ? null : new Date(clock.now().getTime() + waitMs);
  if (dueAt === null) log.error(context, 'a trigger run failed for the last time and was given up');
  else log.warn({ ...context, nextAttemptAt: dueAt.toISOString() }, 'a trigger run failed; retrying later');
  await db.write(async (tx) => {
    await (dueAt === null ? giveUpRun(tx, run, error) : postponeRun(tx, run, error, dueAt));
    await failResults(tx, run, error, clock.now());
    lease.releaseIn(tx);
  }, orderOf(run));
}

/** The run failed through no fault of its own. */
function endsRun(error: unknown): boolean {
  return isSystemFailure(error) || error instanceof LeaseLost;
}
