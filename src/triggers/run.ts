import { isSystemFailure } from '../../db/client.ts';
import type { WriteTx } from '../../db/storage.ts';
import type { Actor } from '../audit/model.ts';
import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import type { Compose, DraftText, Recipe } from '../drafts/model.ts';
import { isTriggerThere, listTold } from '../drafts/store.ts';
import { type Written, writeDraft } from '../drafts/write.ts';
import { eventReader } from '../events/store.ts';
import { repositoryOf } from './kinds/branch.ts';
import { kinds } from './kinds/index.ts';
import { OPEN, type PlannedDraft } from './kinds/kind.ts';
import { backOffMs } from './model.ts';
import {
  type DueRun,
  delayRun,
  findDueRun,
  findTrigger,
  finishRun,
  postponeRun,
  type TriggerRow,
} from './store.ts';

/** A rolling draft that a person closes is planned anew; more often than this in one run nobody does. */
const MAX_PLANS = 3;

const MAX_ERROR_LENGTH = 500;

/** How long a run waits after the system failed, such as a full disk or a locked database, in milliseconds. */
const SYSTEM_WAIT_MS = 10_000;

type Needs = AuditDeps & Pick<Deps, 'ids'>;

/** A run that is under way, step by step: each `next` goes on until a draft fails, or until all are made. */
interface Work {
  run: DueRun;
  steps: AsyncGenerator<void, void>;
}

/**
 * What the server's job calls again and again: `runTriggers`, which rests for a while when the system fails so that not
 * even a delay can be written. Logs each failure of the system once, until a run is done again.
 */
export function createTriggerWorker(deps: Needs, compose: Compose) {
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

/**
 * Does what the triggers have to do, until nothing is due or `signal` is aborted. A run that fails is put off and, in
 * the end, given up. It holds up no other for longer than one draft: after each that fails, the others come first. Any
 * process may do this at any time, even two at once: a run works from all that is known, so that doing it twice
 * changes nothing. Returns how many runs it did.
 * A failure of the system, such as a full disk, only delays a run. Throws it when the delay cannot be written either.
 * `onStep` is called at each run and draft: a sign of life. `reported` holds the failures that are in the log already.
 */
export async function runTriggers(
  deps: Needs,
  compose: Compose,
  signal?: AbortSignal,
  onStep: () => void = () => undefined,
  reported = new Set<string>(),
): Promise<number> {
  let done = 0;
  const waiting: Work[] = [];
  const composeOne: Compose = (recipe, material) => {
    onStep();
    return compose(recipe, material);
  };
  while (signal?.aborted !== true) {
    onStep();
    const underWay = waiting.map(({ run }) => run);
    const run = await findDueRun(deps.db, deps.clock.now(), underWay);
    const work = run === null ? waiting.shift() : { run, steps: doRun(deps, composeOne, run, signal) };
    if (work === undefined) break;
    try {
      if ((await work.steps.next()).done) {
        done++;
        reported.clear();
      } else waiting.push(work);
    } catch (error) {
      if (!isSystemFailure(error)) throw error;
      await delay(deps, work.run, error);
      report(deps, reported, error, work.run);
    }
  }
  return done;
}

/** Throws the failure when the delay cannot be written. */
async function delay({ db, clock }: Needs, run: DueRun, failure: unknown): Promise<void> {
  const dueAt = new Date(clock.now().getTime() + SYSTEM_WAIT_MS);
  try {
    // One try: whoever locks the database has been waited for already.
    await db.write(() => delayRun(db, run, messageOf(failure), dueAt), { giveUpMs: 0 });
  } catch {
    throw failure;
  }
}

function report({ log }: Needs, reported: Set<string>, error: unknown, run?: DueRun): void {
  const message = messageOf(error);
  // The run keeps its last error, so a run that goes on failing alone is in the log once too.
  if (reported.has(message) || run?.error === message) return;
  reported.add(message);
  log.warn(
    { triggerId: run?.triggerId, scope: run?.scope, err: error },
    `the system failed, and no draft can be made; retrying every ${SYSTEM_WAIT_MS / 1000} seconds`,
  );
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_LENGTH);
}

/** Throws when the system failed. */
async function* doRun(
  deps: Needs,
  compose: Compose,
  run: DueRun,
  signal: AbortSignal | undefined,
): AsyncGenerator<void, void> {
  const { db, clock, log } = deps;
  const failures: unknown[] = [];
  try {
    const trigger = await findTrigger(db, run.triggerId);
    const failed = trigger === null ? [] : makeDrafts(deps, compose, trigger, run, signal);
    for await (const failure of failed) {
      failures.push(failure);
      yield;
    }
  } catch (error) {
    if (isSystemFailure(error)) throw error;
    failures.push(error);
  }
  // What is not done yet stays to be done.
  if (signal?.aborted === true) return;
  const [failure] = failures;
  if (failure === undefined) return db.write(() => finishRun(db, run));
  const wait = backOffMs[run.attempts];
  const dueAt = wait === undefined ? null : new Date(clock.now().getTime() + wait);
  const { triggerId, scope, attempts } = run;
  const given = { triggerId, scope, attempts: attempts + 1, err: failure };
  if (dueAt === null) log.error(given, 'a trigger failed and was given up; "trigger retry" runs it again');
  else log.warn({ ...given, nextAttemptAt: dueAt.toISOString() }, 'a trigger failed and is tried again');
  return db.write(() => postponeRun(db, run, messageOf(failure), dueAt));
}

/** Makes each draft of the run's scope. Yields what one that cannot be made threw: it does not keep the others. */
async function* makeDrafts(
  deps: Needs,
  compose: Compose,
  trigger: TriggerRow,
  run: DueRun,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown, void> {
  for (let plans = 0; plans < MAX_PLANS; plans++) {
    let isClosed = false;
    for (const draft of await planRun(deps, trigger, run)) {
      if (signal?.aborted === true) return;
      try {
        const text = draft.material === null ? null : await compose(recipeOf(trigger), draft.material);
        const written = await deps.db.write((tx) => write(tx, deps, trigger, run, draft, text));
        isClosed ||= written === 'closed';
      } catch (error) {
        // It would befall the other drafts too.
        if (isSystemFailure(error)) throw error;
        yield error;
      }
    }
    if (!isClosed) return;
  }
  yield new Error('the draft was published or deleted again and again while it was made');
}

/** The drafts of the run's scope, as all that is known makes them. */
function planRun({ db }: Needs, trigger: TriggerRow, { scope, since }: DueRun): Promise<PlannedDraft[]> {
  const { integrationId } = trigger;
  const kind = kinds[trigger.event];
  const repositoryId = kind.isOfBranch ? repositoryOf(scope) : null;
  const source = { integrationId, repositoryId, triggerId: trigger.id };
  const events = eventReader(db, source);
  const told = listTold(db, source, { triggerId: trigger.id, scope });
  return kind.plan({ trigger, scope, since, events, told });
}

async function write(
  tx: WriteTx,
  deps: Needs,
  trigger: TriggerRow,
  { scope }: DueRun,
  { subject, eventKeys, until, draftOnly }: PlannedDraft,
  text: DraftText | null,
): Promise<Written> {
  const { id: triggerId, organizationId, contentType, publish, event } = trigger;
  if (!isTriggerThere(deps.db, triggerId)) return 'unchanged';
  const actor: Actor = { type: 'trigger', id: triggerId, name: event.replaceAll('_', ' '), address: null };
  return writeDraft(
    tx,
    { ...deps, actor },
    {
      name: { triggerId, scope, subject },
      organizationId,
      contentType,
      publish: publish && !draftOnly,
      text,
      eventKeys,
      until,
      closes: kinds[event].isRolling && subject !== OPEN ? OPEN : null,
      isOpen: subject === OPEN,
      releaseOf: event === 'release' ? repositoryOf(scope) : null,
    },
  );
}

/** What to make of a draft's material. */
export function recipeOf(trigger: TriggerRow): Recipe {
  const { id, integrationType, event, contentType, titleTemplate, bodyTemplate } = trigger;
  return { triggerId: id, platform: integrationType, event, contentType, titleTemplate, bodyTemplate };
}
