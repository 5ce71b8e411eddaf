import { cutLine } from '../lib/text.ts';
import type { EventResult } from './provider.ts';

const MAX_TITLE_LENGTH = 200;
const MAX_REASON_LENGTH = 500;

/** An event that matters. `data` is one of our own objects: small, and without e-mail addresses. */
export function processed(
  title: string,
  { type, action, data }: { type: string; action: string; data: object },
): EventResult {
  return {
    outcome: 'processed',
    title: cutLine(title, MAX_TITLE_LENGTH),
    processed: { type, action, data: { ...data } },
  };
}

/** An event that is well but does not matter; `reason` tells people why. */
export function ignored(title: string, reason: string): EventResult {
  return {
    outcome: 'ignored',
    title: cutLine(title, MAX_TITLE_LENGTH),
    reason: cutLine(reason, MAX_REASON_LENGTH),
  };
}

/** An action's name in people's words: `review_requested` is "review requested". */
export function words(action: string): string {
  return action.replaceAll('_', ' ');
}
