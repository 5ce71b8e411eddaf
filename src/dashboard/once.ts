import type { Database } from '../../db/client.ts';
import { randomToken } from '../lib/ids.ts';

// A page that shows a secret once is the answer to a form itself, so reloading it sends the form again. Such a form
// carries a mark, and the second time it is known. Kept in memory: after a restart the browser's own question remains.

/** How many marks are remembered; of more, the oldest is forgotten. */
const MAX_MARKS = 10_000;

const sent = new WeakMap<Database, Set<string>>();

/** The mark for a form that is shown. */
export function newMark(): string {
  return randomToken(16);
}

/**
 * Does what the form with this mark asks for; null when it was done before, or is being done. What failed may be sent
 * again: whoever goes back to the form finds it with the same mark.
 */
export async function once<Result>(
  db: Database,
  mark: string | null,
  work: () => Promise<Result>,
): Promise<Result | null> {
  if (mark === null || mark === '') return work();
  const marks = sent.get(db) ?? new Set();
  sent.set(db, marks);
  const kept = mark.slice(0, 64);
  if (marks.has(kept)) return null;
  marks.add(kept);
  const [oldest] = marks;
  if (marks.size > MAX_MARKS && oldest !== undefined) marks.delete(oldest);
  try {
    return await work();
  } catch (error) {
    marks.delete(kept);
    throw error;
  }
}
