import { messageOf } from '../../lib/app-error.ts';
import { answerRequests } from '../../lib/thread.ts';
import type { Card } from './cards.ts';

// The thread that `cards.ts` starts.

/** The bytes of the image, or why there is none. */
export type CardAnswer = { png: Uint8Array<ArrayBuffer> } | { problem: string };

answerRequests<Card, CardAnswer>(async () => {
  const { drawCard } = await import('./card-draw.ts');
  return async (card) => {
    try {
      return { png: await drawCard(card) };
    } catch (error) {
      return { problem: messageOf(error) };
    }
  };
});
