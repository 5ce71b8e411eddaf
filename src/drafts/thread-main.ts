import { AppError } from '../lib/app-error.ts';
import { renderMarkdown } from '../markdown/render.ts';
import { composeDraft } from './compose.ts';
import type { ThreadAnswer, ThreadRequest } from './thread.ts';

// The thread that `thread.ts` starts: it says that it is ready, then answers each request.

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<ThreadRequest>) => {
  self.postMessage(answer(data));
};
self.postMessage('ready');

function answer(request: ThreadRequest): ThreadAnswer {
  try {
    return 'markdown' in request
      ? { html: renderMarkdown(request.markdown) }
      : { text: composeDraft(request.recipe, request.material) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { error: { status: error instanceof AppError ? error.status : 500, message } };
  }
}
