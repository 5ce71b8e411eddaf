import { AppError, messageOf } from '../lib/app-error.ts';
import { renderMarkdown } from '../markdown/render.ts';
import { checkOwnTemplates, composeDraft } from './compose.ts';
import type { ThreadAnswer, ThreadRequest } from './thread.ts';

// The thread that `thread.ts` starts: it says that it is ready, then answers each request.

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<ThreadRequest>) => {
  let answer: ThreadAnswer;
  try {
    answer = { result: work(data) };
  } catch (error) {
    const { status, details } = error instanceof AppError ? error : { status: 500, details: {} };
    answer = { error: { status, message: messageOf(error), details } };
  }
  self.postMessage(answer);
};
self.postMessage('ready');

function work(request: ThreadRequest) {
  if ('markdown' in request) return renderMarkdown(request.markdown);
  if ('recipe' in request) return composeDraft(request.recipe, request.material);
  return checkOwnTemplates(request.templates, request.material);
}
