import { closeSync, openSync } from 'node:fs';
import { AppError } from '../lib/app-error.ts';
import type { Compose, DraftText, Material, Recipe } from './model.ts';

/** How long one draft or one text may take, in milliseconds. Most take one or two. */
const TIME_LIMIT_MS = 2_000;

/** How long the thread is kept without work, in milliseconds: it weighs some megabytes. */
const IDLE_MS = 30_000;

/** More file descriptors than a thread takes when it starts. */
const THREAD_DESCRIPTORS = 16;

const MAIN = new URL('./thread-main.ts', import.meta.url);

/** A message to the thread: a draft to compose, or Markdown to render. */
export type ThreadRequest = { recipe: Recipe; material: Material } | { markdown: string };
export type ThreadAnswer =
  | { text: DraftText }
  | { html: string }
  | { error: { status: number; message: string } };

export interface Composer {
  compose: Compose;
  /** Markdown as HTML that a page can hold (`renderMarkdown`). Rejects with `AppError` 503. */
  render(markdown: string): Promise<string>;
  /** Ends the thread. The work under way, what waits and what comes later is rejected. */
  close(): void;
}

/** Calls `run` after so many milliseconds. Returns how to cancel that. */
export type After = (ms: number, run: () => void) => () => void;

/** Messages of failures. */
const words = {
  draft: {
    stopping: 'The draft was not made: the service is stopping',
    failed: 'The draft could not be made',
    slow: (seconds: number) => `The draft took more than ${seconds} s to make; simplify its template`,
  },
  text: {
    stopping: 'The text was not rendered: the service is stopping',
    failed: 'The text could not be rendered',
    slow: (seconds: number) => `The text took more than ${seconds} s to render`,
  },
};

/**
 * Composes drafts and renders long texts in a thread of its own, so that neither a template nor a text that means harm
 * can hold up a request: work that takes more than `timeLimitMs` is ended with its thread, and the next gets a new
 * thread. One at a time. `main` is what the thread runs.
 */
export function threadedComposer({
  timeLimitMs = TIME_LIMIT_MS,
  idleMs = IDLE_MS,
  main = MAIN,
  after = realAfter,
}: {
  timeLimitMs?: number;
  /** Null: the thread is started at once and kept. */
  idleMs?: number | null;
  main?: URL;
  after?: After;
} = {}): Composer {
  let isClosed = false;
  let thread: Worker | null = null;
  let isReady = false;
  /** Rejects the work under way. */
  let abort: () => void = () => undefined;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function begin(): Worker {
    const worker = startThread(main);
    isReady = false;
    worker.onmessage = () => {
      isReady = true;
    };
    thread = worker;
    return worker;
  }

  function end(): void {
    thread?.terminate();
    thread = null;
  }

  /** Rejects, whatever becomes of the thread: when it is too slow, goes wrong or ends, and at `close`. */
  async function ask(request: ThreadRequest): Promise<ThreadAnswer> {
    const { failed, slow, stopping } = 'markdown' in request ? words.text : words.draft;
    clearTimeout(idle);
    if (isClosed) throw new AppError(503, stopping);
    const { promise, resolve, reject } = Promise.withResolvers<ThreadAnswer>();
    abort = () => reject(new AppError(503, stopping));
    let cancel: () => void = () => undefined;
    // The limit starts with the work: on a busy machine a new thread takes seconds.
    const send = (to: Worker) => {
      cancel = after(timeLimitMs, () => reject(new AppError(503, slow(timeLimitMs / 1000))));
      to.postMessage(request);
    };
    const worker = thread ?? begin();
    const onEnd = () => reject(new AppError(503, `${failed}: its thread ended`));
    worker.onmessage = ({ data }: MessageEvent<ThreadAnswer | 'ready'>) => {
      if (data !== 'ready') return resolve(data);
      isReady = true;
      send(worker);
    };
    worker.onerror = ({ message }) => reject(new AppError(503, `${failed}: ${message}`));
    worker.addEventListener('close', onEnd);
    if (isReady) send(worker);
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

  function enqueue<Answer extends ThreadAnswer>(request: ThreadRequest): Promise<Answer> {
    const next = last.then(async () => {
      const answer = await ask(request);
      if ('error' in answer) throw new AppError(answer.error.status, answer.error.message);
      return answer as Answer;
    });
    last = next.catch(() => undefined);
    return next;
  }

  if (idleMs === null) begin();
  return {
    async compose(recipe, material) {
      return (await enqueue<{ text: DraftText }>({ recipe, material })).text;
    },
    async render(markdown) {
      return (await enqueue<{ html: string }>({ markdown })).html;
    },
    close() {
      isClosed = true;
      clearTimeout(idle);
      abort();
      end();
    },
  };
}

/** Throws `AppError` 503 where the process is out of file descriptors: Bun exits when a thread then starts. */
function startThread(main: URL): Worker {
  const probes: number[] = [];
  try {
    while (probes.length < THREAD_DESCRIPTORS) probes.push(openSync(process.execPath, 'r'));
  } catch (cause) {
    throw new AppError(503, 'The draft could not be made: out of file descriptors', { cause });
  } finally {
    for (const probe of probes) closeSync(probe);
  }
  return new Worker(main);
}

function realAfter(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
