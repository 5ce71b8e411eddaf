import { AppError } from '../lib/app-error.ts';
import { type After, threadQueue } from '../lib/thread.ts';
import type { Card } from './card-model.ts';
import type { CardAnswer } from './card-thread.ts';

/** How long one image may take, in milliseconds. Most take ten; the first of a thread loads the renderer. */
const TIME_LIMIT_MS = 5_000;

/** How long the thread is kept without work, in milliseconds: it weighs some 50 MB. */
const IDLE_MS = 30_000;

const MAIN = new URL('./card-thread.ts', import.meta.url);

export interface CardPainter {
  /** A PNG. Rejects with `AppError` 503. */
  draw(card: Card): Promise<Uint8Array<ArrayBuffer>>;
  close(): void;
}

const failures = {
  stopping: 'The image was not made: the server is stopping',
  failed: 'The image could not be made',
  slow: 'The image took too long to make',
};

/** Draws social images in a thread, one at a time. The thread starts with the first one. */
export function threadedPainter({
  main = MAIN,
  idleMs = IDLE_MS,
  after,
}: {
  main?: URL;
  idleMs?: number;
  after?: After;
} = {}): CardPainter {
  const queue = threadQueue<Card, CardAnswer>({ main, limitMs: TIME_LIMIT_MS, idleMs, after });
  return {
    async draw(card) {
      const answer = await queue.ask(card, failures);
      if ('problem' in answer) throw new AppError(503, `${failures.failed}: ${answer.problem}`);
      return answer.png;
    },
    close: () => queue.close(),
  };
}
