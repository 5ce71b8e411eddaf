import { composeDraft } from '../../src/drafts/compose.ts';
import type { ThreadAnswer, ThreadRequest } from '../../src/drafts/thread.ts';

// A thread that goes wrong in the way that a request's trigger is called, and makes the others' drafts.

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<Exclude<ThreadRequest, { templates: unknown }>>) => {
  switch ('markdown' in data ? data.markdown : data.recipe.triggerId) {
    case 'stuck':
      // Only then does the test let the time limit pass.
      new BroadcastChannel('odd-thread').postMessage('stuck');
      for (;;);
    case 'crashes':
      throw new Error('it is broken');
    case 'ends':
      process.exit(3);
      break;
    default: {
      const answer: ThreadAnswer = {
        result: 'markdown' in data ? data.markdown : composeDraft(data.recipe, data.material),
      };
      self.postMessage(answer);
    }
  }
};
self.postMessage('ready');
