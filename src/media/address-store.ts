import { inArray, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { WriteTx } from '../../db/engine.ts';
import { deletedPosts, posts, postVersions } from '../../db/schema/posts.ts';
import { drafts } from '../../db/schema/triggers.ts';

/** Texts that hold addresses of images, each with its key. */
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

/** Replaces the start of addresses in at most `limit` texts. Returns how many it changed; times stay as they are. */
export async function replaceAddresses(
  tx: WriteTx,
  from: string,
  to: string,
  limit: number,
): Promise<number> {
  for (const { table, key, texts } of places) {
    const columns = Object.values(texts);
    const pattern = `%${from.replaceAll(/[!%_]/g, '!$&')}%`;
    // SQLite's `like` ignores case, and `replace` does not: a row that stays as it is must not come again.
    const holds = sql.join(
      columns.map(
        (column) =>
          sql`(${column} like ${pattern} escape '!' and replace(${column}, ${from}, ${to}) <> ${column})`,
      ),
      sql` or `,
    );
    const rows = (await tx.select({ key }).from(table).where(holds).limit(limit).all()) as { key: string }[];
    if (rows.length === 0) continue;
    const changes: Record<string, SQL> = {};
    for (const [name, column] of Object.entries(texts))
      changes[name] = sql`replace(${column}, ${from}, ${to})`;
    const isOne = inArray(
      key,
      rows.map((row) => row.key),
    );
    await tx.update(table).set(changes).where(isOne).run();
    return rows.length;
  }
  return 0;
}
