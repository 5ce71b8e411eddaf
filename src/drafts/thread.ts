import { closeSync, openSync } from 'node:fs';
import { AppError } from '../lib/app-error.ts';
import type { Compose, DraftText, Material, Recipe } from './model.ts';

/** How long one draft may take, in milliseconds. Most take one or two. */
const TIME_LIMIT_MS = 2_000;

/** How long the thread is kept without work, in milliseconds: it weighs some megabytes. */
const IDLE_MS = 30_000;

/** More file descriptors than a thread takes when it starts. */
const THREAD_DESCRIPTORS = 16;

const MAIN = new URL('./thread-main.ts', import.meta.url);

/** What goes to the thread, and what comes back from it. */
export interface ComposeRequest {
  recipe: Recipe;
  material: Material;
}
export type ComposeAnswer = { text: DraftText } | { error: { status: number; message: string } };

export interface Composer {
  compose: Compose;
  /** Ends the thread. The draft under way, those that wait and those that come later are rejected. */
  close(): void;
}

/**
 * Makes drafts in a thread of its own, so that neither a template nor a text that means harm can hold up a request:
 * one that takes more than `timeLimitMs` is ended with its thread, and the next one gets a new thread. One at a time.
 * `main` is what the thread runs.
 */
export function threadedComposer({
  timeLimitMs = TIME_LIMIT_MS,
  idleMs = IDLE_MS,
  main = MAIN,
}: {
  timeLimitMs?: number;
  /** Null: the thread is started at once and kept. */
  idleMs?: number | null;
  main?: URL;
} = {}): Composer {
  const closing = new AbortController();
  let thread: Worker | null = idleMs === null ? startThread(main) : null;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function end(): void {
    thread?.terminate();
    thread = null;
  }

  async function composeNow(request: ComposeRequest): Promise<DraftText> {
    clearTimeout(idle);
    closing.signal.throwIfAborted();
    thread ??= startThread(main);
    try {
      const answer = await ask(thread, request, timeLimitMs, closing.signal);
      if ('text' in answer) return answer.text;
      throw new AppError(answer.error.status, answer.error.message);
    } catch (error) {
      if (!(error instanceof AppError) || error.status === 503) end();
      throw error;
    } finally {
      if (idleMs !== null) {
        idle = setTimeout(end, idleMs);
        idle.unref();
      }
    }
  }

  return {
    compose(recipe, material) {
      const next = last.then(() => composeNow({ recipe, material }));
      last = next.catch(() => undefined);
      return next;
    },
    close() {
      closing.abort(new AppError(503, 'The draft was not made: the service is stopping'));
      clearTimeout(idle);
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

/** Rejects, whatever becomes of the thread: when it is too slow, goes wrong or ends, and when `closing` is aborted. */
async function ask(
  thread: Worker,
  request: ComposeRequest,
  timeLimitMs: number,
  closing: AbortSignal,
): Promise<ComposeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ComposeAnswer>();
  const fail = (why: string) => reject(new AppError(503, `The draft could not be made: ${why}`));
  const onClosing = () => reject(closing.reason);
  const onEnd = () => fail('its thread ended');
  const limit = setTimeout(
    () =>
      reject(
        new AppError(503, `The draft took more than ${timeLimitMs / 1000} s to make; simplify its template`),
      ),
    timeLimitMs,
  );
  closing.addEventListener('abort', onClosing);
  thread.onmessage = ({ data }: MessageEvent<ComposeAnswer>) => resolve(data);
  thread.onerror = ({ message }) => fail(message);
  thread.addEventListener('close', onEnd);
  try {
    thread.postMessage(request);
    return await promise;
  } finally {
    clearTimeout(limit);
    closing.removeEventListener('abort', onClosing);
    thread.removeEventListener('close', onEnd);
  }
}
