import { AppError, messageOf } from '../lib/app-error.ts';
import { answerRequests } from '../lib/thread.ts';
import type { ThreadAnswer, ThreadRequest } from './thread.ts';
import { toSend } from './thread.ts';

// The thread that `thread.ts` starts.

answerRequests<ThreadRequest, ThreadAnswer>(async () => {
  const { checkOwnTemplates, composeDraft } = await import('./compose.ts');

  async function work(request: ThreadRequest) {
    if ('changelog' in request) {
      const { parseChangelog } = await import('../posts/import/changelog.ts');
      return toSend(await parseChangelog(request.changelog), request.maxPosts);
    }
    if ('recipe' in request) return composeDraft(request.recipe, request.material);
    return checkOwnTemplates(request.templates, request.material);
  }

  return async (request) => {
    try {
      return { result: await work(request) };
    } catch (error) {
      const { status, details } = error instanceof AppError ? error : { status: 500, details: {} };
      return { error: { status, message: messageOf(error), details } };
    }
  };
});
