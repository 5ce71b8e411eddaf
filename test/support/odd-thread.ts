import { composeDraft } from '../../src/drafts/compose.ts';
import type { ComposeAnswer, ComposeRequest } from '../../src/drafts/thread.ts';

// A thread for drafts that goes wrong in the way that a request's trigger is called, and makes the others' drafts.

declare const self: Worker;

self.onmessage = ({ data: { recipe, material } }: MessageEvent<ComposeRequest>) => {
  switch (recipe.triggerId) {
    case 'stuck':
      for (;;);
    case 'crashes':
      throw new Error('it is broken');
    case 'ends':
      process.exit(3);
      break;
    default: {
      const answer: ComposeAnswer = { text: composeDraft(recipe, material) };
      self.postMessage(answer);
    }
  }
};
