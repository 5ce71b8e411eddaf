import { closeSync, openSync } from 'node:fs';
import { AppError, type AppErrorOptions } from '../lib/app-error.ts';
import type { Compose, Material, OwnTemplates, Recipe } from './model.ts';

/** How long one request may take, in milliseconds. Most take one or two. */
const TIME_LIMIT_MS = 2_000;

/** How long the thread is kept without work, in milliseconds: it weighs some megabytes. */
const IDLE_MS = 30_000;

/** More file descriptors than a thread takes when it starts. */
const THREAD_DESCRIPTORS = 16;

const MAIN = new URL('./thread-main.ts', import.meta.url);

/** A draft to compose, templates to check on sample material, or Markdown to render. */
export type ThreadRequest =
  | { recipe: Recipe; material: Material }
  | { templates: OwnTemplates; material: Material }
  | { markdown: string };
export type ThreadAnswer =
  | { result: unknown }
  | { error: { status: number; message: string; details?: AppErrorOptions['details'] } };

export interface Composer {
  compose: Compose;
  /** Rejects with `AppError` 400 when a template cannot be used. */
  check(templates: OwnTemplates, material: Material): Promise<void>;
  /** Markdown as HTML that a page can hold (`renderMarkdown`). Rejects with `AppError` 503. */
  render(markdown: string): Promise<string>;
  /** Ends the thread. The work under way, what waits and what comes later is rejected. */
  close(): void;
}

const failures = {
  draft: {
    stopping: 'The draft was not written: the server is stopping',
    failed: 'The draft could not be written',
    slow: 'The draft took more than 2 s to write. Simplify its template',
  },
  text: {
    stopping: 'The text was not rendered: the server is stopping',
    failed: 'The text could not be rendered',
    slow: 'The text took more than 2 s to render',
  },
};

/**
 * Composes drafts and renders long texts in a thread, so that neither a template nor a text that means harm can hold up
 * a request: work that takes too long is ended with its thread, and the next gets a new thread. One at a time.
 */
export function threadedComposer({
  idleMs = IDLE_MS,
  main = MAIN,
  after = realAfter,
}: {
  /** Null: the thread is started at once and kept. */
  idleMs?: number | null;
  /** The file that the thread runs. */
  main?: URL;
  /** Calls `run` after so many milliseconds. Returns how to cancel that. */
  after?: (ms: number, run: () => void) => () => void;
} = {}): Composer {
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
  async function ask(request: ThreadRequest): Promise<ThreadAnswer> {
    const { failed, slow, stopping } = 'markdown' in request ? failures.text : failures.draft;
    clearTimeout(idle);
    if (isClosed) throw new AppError(503, stopping);
    thread ??= startThread(main);
    const { worker, ready } = thread;
    const { promise, resolve, reject } = Promise.withResolvers<ThreadAnswer>();
    const fail = (message: string) => reject(new AppError(503, message));
    const onEnd = () => fail(`${failed}: its thread ended`);
    let cancel: () => void = () => undefined;
    abort = () => fail(stopping);
    worker.onerror = ({ message }) => fail(`${failed}: ${message}`);
    worker.addEventListener('close', onEnd);
    // The limit starts with the work: on a busy machine a new thread takes seconds.
    void ready.then(() => {
      cancel = after(TIME_LIMIT_MS, () => fail(slow));
      worker.onmessage = ({ data }: MessageEvent<ThreadAnswer>) => resolve(data);
      worker.postMessage(request);
    });
    try {
      return await promise;
    } catch (error) {
      end();
      throw error;
    } finally {
      cancel();
      worker.removeEventListener('close', onEnd);
      if (idleMs !== null) {
        idle = setTimeout(end, idleMs);
        idle.unref();
      }
    }
  }

  function enqueue<Result>(request: ThreadRequest): Promise<Result> {
    const next = last.then(async () => {
      const answer = await ask(request);
      if ('error' in answer) {
        const { status, message, details = {} } = answer.error;
        throw new AppError(status, message, { details });
      }
      return answer.result as Result;
    });
    last = next.catch(() => undefined);
    return next;
  }

  return {
    compose: (recipe, material) => enqueue({ recipe, material }),
    check: (templates, material) => enqueue({ templates, material }),
    render: (markdown) => enqueue({ markdown }),
    close() {
      isClosed = true;
      clearTimeout(idle);
      abort();
      end();
    },
  };
}

/** Throws `AppError` 503 where the process is out of file descriptors: Bun exits when a thread then starts. */
function startThread(main: URL): { worker: Worker; ready: Promise<unknown> } {
  const probes: number[] = [];
  try {
    while (probes.length < THREAD_DESCRIPTORS) probes.push(openSync(process.execPath, 'r'));
  } catch (cause) {
    throw new AppError(503, 'The draft could not be written: out of file descriptors', { cause });
  } finally {
    for (const probe of probes) closeSync(probe);
  }
  const worker = new Worker(main);
  // Its first message says that it is ready.
  return { worker, ready: new Promise((resolve) => (worker.onmessage = resolve)) };
}

function realAfter(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
