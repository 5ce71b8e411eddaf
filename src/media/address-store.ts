import { and, asc, gt, inArray, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { dialectOf, type WriteTx } from '../../db/engine.ts';
import { deletedPosts, posts, postVersions } from '../../db/schema/posts.ts';
import { drafts } from '../../db/schema/triggers.ts';

/** Texts that hold addresses of images, each with its key. Posts of an import follow when it is done. */
const places: readonly { table: SQLiteTable; key: SQLiteColumn; texts: Record<string, SQLiteColumn> }[] = [
  { table: posts, key: posts.id, texts: { markdown: posts.markdown, content: posts.content } },
  {
    table: deletedPosts,
    key: deletedPosts.id,
    texts: { markdown: deletedPosts.markdown, content: deletedPosts.content },
  },
  { table: postVersions, key: postVersions.id, texts: { markdown: postVersions.markdown } },
  { table: drafts, key: drafts.postId, texts: { suggestion: drafts.suggestion } },
];

/** A position in the walk through all texts. */
export interface AddressPosition {
  place: number;
  /** The last key that was looked at. */
  after: string;
}

export const FIRST_POSITION: AddressPosition = { place: 0, after: '' };

/**
 * Replaces the start of addresses in the next `limit` texts. Returns how many it changed and the next position, null at
 * the end. Times stay as they are.
 */
export async function replaceAddresses(
  tx: WriteTx,
  from: string,
  to: string,
  { place, after }: AddressPosition,
  limit: number,
): Promise<{ changed: number; next: AddressPosition | null }> {
  const current = places[place];
  if (current === undefined) return { changed: 0, next: null };
  const { table, key, texts } = current;
  const rows = (await tx
    .selectDistinct({ key })
    .from(table)
    .where(gt(key, after))
    .orderBy(asc(key))
    .limit(limit)
    .all()) as { key: string }[];
  const last = rows.at(-1);
  if (last === undefined) return { changed: 0, next: { place: place + 1, after: '' } };
  const pattern = `%${from.replaceAll(/[!%_]/g, '!$&')}%`;
  // SQLite's `like` ignores case, and `replace` does not.
  const holds = sql.join(
    Object.values(texts).map(
      (column) =>
        sql`(${column} like ${pattern} escape '!' and replace(${column}, ${from}, ${to}) <> ${column})`,
    ),
    sql` or `,
  );
  const changes: Record<string, SQL> = {};
  for (const [name, column] of Object.entries(texts)) changes[name] = sql`replace(${column}, ${from}, ${to})`;
  const isListed = inArray(key, dialectOf(tx).listed(rows.map((row) => row.key)));
  const changed = await tx
    .update(table)
    .set(changes)
    .where(and(isListed, sql`(${holds})`))
    .returning({ key })
    .all();
  return { changed: changed.length, next: { place, after: last.key } };
}
