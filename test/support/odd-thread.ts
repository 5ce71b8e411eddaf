import { composeDraft } from '../../src/drafting/compose.ts';
import type { ThreadAnswer, ThreadRequest } from '../../src/drafting/thread.ts';
import { answerRequests } from '../../src/lib/thread.ts';

// A thread that goes wrong in the way that a request's trigger is called, and makes the others' drafts.

answerRequests<Extract<ThreadRequest, { recipe: unknown }>, ThreadAnswer>(async () => (request) => {
  switch (request.recipe.triggerId) {
    case 'stuck':
      // Only then does the test let the time limit pass.
      new BroadcastChannel('odd-thread').postMessage('stuck');
      for (;;);
    case 'crashes':
      throw new Error('it is broken');
    case 'ends':
      return process.exit(3);
    default:
      return { result: composeDraft(request.recipe, request.material) };
  }
});
