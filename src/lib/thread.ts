import { closeSync, openSync } from 'node:fs';
import { AppError } from './app-error.ts';

/** More file descriptors than a thread takes when it starts. */
const THREAD_DESCRIPTORS = 16;

/** Calls `run` after so many milliseconds. Returns how to cancel that. */
export type After = (ms: number, run: () => void) => () => void;

/** Messages for a request that gets no answer. */
interface ThreadFailures {
  stopping: string;
  failed: string;
  slow: string | ((limitMs: number) => string);
}

export interface ThreadQueue<Request, Answer> {
  /** Waits for earlier requests. Rejects with `AppError` 503. */
  ask(request: Request, failures: ThreadFailures): Promise<Answer>;
  /** Ends the thread. The work under way, what waits and what comes later is rejected. */
  close(): void;
}

/**
 * Requests to a thread, one at a time. Work that takes too long is ended with its thread, and the next request gets a new
 * one. The thread runs `answerRequests`. Requests are what JSON can hold.
 */
export function threadQueue<Request, Answer>({
  main,
  limitMs,
  idleMs,
  after = realAfter,
}: {
  /** The file that the thread runs. */
  main: URL;
  /** In milliseconds; a function has the length of the request. */
  limitMs: number | ((length: number) => number);
  /** How long the thread is kept without work. Null: the thread is started at once and kept. */
  idleMs: number | null;
  after?: After | undefined;
}): ThreadQueue<Request, Answer> {
  let isClosed = false;
  let thread: ReturnType<typeof startThread> | null = idleMs === null ? startThread(main) : null;
  /** Rejects the work under way. */
  let abort: () => void = () => undefined;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function end(): void {
    thread?.worker.terminate();
    thread = null;
  }

  /** Rejects, whatever becomes of the thread: when it is too slow, goes wrong or ends, and at `close`. */
  async function send(request: Request, { failed, slow, stopping }: ThreadFailures): Promise<Answer> {
    clearTimeout(idle);
    if (isClosed) throw new AppError(503, stopping);
    thread ??= startThread(main, failed);
    const { worker, load } = thread;
    // A thread without work does not keep the process.
    worker.ref();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const fail = (message: string) => reject(new AppError(503, message));
    const onEnd = () => fail(`${failed}: its thread ended`);
    let cancel: () => void = () => undefined;
    abort = () => fail(stopping);
    worker.onerror = ({ message }) => fail(`${failed}: ${message}`);
    worker.addEventListener('close', onEnd);
    // The limit starts with the work: on a busy machine a new thread takes seconds.
    void load().then(() => {
      // To write JSON takes less than half of the time that a clone takes, and holds up other requests.
      const json = JSON.stringify(request);
      const limit = typeof limitMs === 'number' ? limitMs : limitMs(json.length);
      cancel = after(limit, () => fail(typeof slow === 'string' ? slow : slow(limit)));
      worker.onmessage = ({ data }: MessageEvent<Answer>) => resolve(data);
      worker.postMessage(json);
    });
    try {
      return await promise;
    } catch (error) {
      end();
      throw error;
    } finally {
      cancel();
      worker.removeEventListener('close', onEnd);
      worker.unref();
      if (idleMs !== null) {
        idle = setTimeout(end, idleMs);
        idle.unref();
      }
    }
  }

  return {
    ask(request, failures) {
      const next = last.then(() => send(request, failures));
      last = next.catch(() => undefined);
      return next;
    },
    close() {
      isClosed = true;
      clearTimeout(idle);
      abort();
      end();
    },
  };
}

/** A thread that runs `answerRequests`. Throws `AppError` 503 where the process is out of file descriptors: Bun exits when a thread then starts. */
export function startThread(main: URL, failed = 'A thread did not start') {
  const probes: number[] = [];
  try {
    while (probes.length < THREAD_DESCRIPTORS) probes.push(openSync(process.execPath, 'r'));
  } catch (cause) {
    throw new AppError(503, `${failed}: out of file descriptors`, { cause });
  } finally {
    for (const probe of probes) closeSync(probe);
  }
  const worker = new Worker(main) as Worker & Pick<Bun.Worker, 'ref' | 'unref'>;
  let loading: Promise<unknown> | undefined;
  return {
    worker,
    /** Resolves when the thread is ready to work. */
    load() {
      loading ??= new Promise((resolve) => {
        worker.onmessage = resolve;
        worker.postMessage(LOAD);
      });
      return loading;
    },
  };
}

function realAfter(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

// The thread's side of `threadQueue`.

declare const self: Worker;

/** The message that has the thread load its work. */
const LOAD = null;

/**
 * Answers the requests of a `threadQueue`. `load` imports the work at the first one, so that a thread without work weighs
 * little. The thread then says that it is ready, and the time limit of the request begins.
 */
export function answerRequests<Request, Answer>(
  load: () => Promise<(request: Request) => Answer | Promise<Answer>>,
): void {
  let answer: Awaited<ReturnType<typeof load>>;
  self.onmessage = async ({ data }: MessageEvent<string | typeof LOAD>) => {
    if (data !== LOAD) {
      self.postMessage(await answer(JSON.parse(data)));
      return;
    }
    answer = await load();
    self.postMessage('ready');
  };
}
