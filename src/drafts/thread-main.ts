import { AppError } from '../lib/app-error.ts';
import { composeDraft } from './compose.ts';
import type { ComposeAnswer, ComposeRequest } from './thread.ts';

// The thread that `thread.ts` starts: a request comes in, its answer goes out.

declare const self: Worker;

self.onmessage = ({ data: { recipe, material } }: MessageEvent<ComposeRequest>) => {
  self.postMessage(answer(() => composeDraft(recipe, material)));
};

function answer(compose: () => Extract<ComposeAnswer, { text: unknown }>['text']): ComposeAnswer {
  try {
    return { text: compose() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { error: { status: error instanceof AppError ? error.status : 500, message } };
  }
}
