import { AppError, messageOf } from '../lib/app-error.ts';
import { answerRequests } from '../lib/thread-main.ts';
import type { ThreadAnswer, ThreadRequest } from './thread.ts';

// The thread that `thread.ts` starts.

answerRequests<ThreadRequest, ThreadAnswer>(async () => {
  const { renderMarkdown } = await import('../markdown/render.ts');
  const { checkOwnTemplates, composeDraft } = await import('./compose.ts');

  function work(request: ThreadRequest) {
    if ('markdown' in request) return renderMarkdown(request.markdown);
    if ('recipe' in request) return composeDraft(request.recipe, request.material);
    return checkOwnTemplates(request.templates, request.material);
  }

  return (request) => {
    try {
      return { result: work(request) };
    } catch (error) {
      const { status, details } = error instanceof AppError ? error : { status: 500, details: {} };
      return { error: { status, message: messageOf(error), details } };
    }
  };
});
