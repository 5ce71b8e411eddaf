import { messageOf } from '../lib/app-error.ts';
import { drawCard } from './card-draw.ts';
import type { Card } from './card-model.ts';

// The thread that `card-queue.ts` starts: it says that it is ready, then answers each request.

declare const self: Worker;

/** The bytes of the image, or why there is none. */
export type CardAnswer = { png: Uint8Array<ArrayBuffer> } | { problem: string };

self.onmessage = async ({ data }: MessageEvent<Card>) => {
  let answer: CardAnswer;
  try {
    answer = { png: await drawCard(data) };
  } catch (error) {
    answer = { problem: messageOf(error) };
  }
  self.postMessage(answer);
};
self.postMessage('ready');
