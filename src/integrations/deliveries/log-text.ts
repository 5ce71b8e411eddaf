import { or, type SQL, sql } from 'drizzle-orm';
import { dialectOf, type ReadTx } from '../../../db/engine.ts';
import { deliveries } from '../../../db/schema/integrations.ts';
import type { Delivery } from './store.ts';

// Text in titles and payloads. No index holds their words, which would slow each delivery down.

/** Letters of other scripts must be typed as they stand in the text: SQLite folds no others. */
const folded = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Narrows the entries to those that may have the text. A key of the payload may have it too; see `hasText`. */
export function mayHaveText(tx: ReadTx, text: string): SQL | undefined {
  const { contains } = dialectOf(tx);
  const { title, data } = deliveries;
  const part = folded(text);
  // Payloads are stored as JSON.
  const inJson = folded(JSON.stringify(text).slice(1, -1));
  return or(contains(sql`lower(${title})`, part), contains(sql`lower(${data})`, inJson));
}

/** True when the title or a value of the payload has the text. */
export function hasText({ title, payload }: Pick<Delivery, 'title' | 'payload'>, text: string): boolean {
  const part = folded(text);
  const has = (value: unknown): boolean =>
    typeof value === 'object' && value !== null
      ? Object.values(value).some(has)
      : folded(String(value ?? '')).includes(part);
  return has(title) || has(payload.data);
}
