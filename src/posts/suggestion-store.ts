import { and, asc, count, desc, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { postSuggestions, posts } from '../../db/schema/posts.ts';

/** A change that the holder of an API key proposes. It never changes. */
export type SuggestedChange = typeof postSuggestions.$inferSelect;
/** Without the text. The title is the post's own where the change keeps it. */
export type SuggestedHead = Omit<SuggestedChange, 'title' | 'markdown'> & { title: string };

export async function insertSuggestedChange(tx: WriteTx, row: SuggestedChange): Promise<void> {
  await tx.insert(postSuggestions).values(row).run();
}

export async function findSuggestedChange(tx: ReadTx, id: string): Promise<SuggestedChange | null> {
  return (await tx.select().from(postSuggestions).where(eq(postSuggestions.id, id)).get()) ?? null;
}

/** The same text for the same post, from the same key. */
export async function hasSuggestedChange(
  tx: ReadTx,
  { postId, keyId, title, markdown }: Pick<SuggestedChange, 'postId' | 'keyId' | 'title' | 'markdown'>,
): Promise<boolean> {
  const isSame = and(
    eq(postSuggestions.postId, postId),
    eq(postSuggestions.keyId, keyId),
    title === null ? isNull(postSuggestions.title) : eq(postSuggestions.title, title),
    markdown === null ? isNull(postSuggestions.markdown) : eq(postSuggestions.markdown, markdown),
  );
  return (await tx.$count(postSuggestions, isSame)) > 0;
}

/** Those of a post, the oldest first. */
export async function listSuggestedChanges(tx: ReadTx, postId: string): Promise<SuggestedChange[]> {
  return tx
    .select()
    .from(postSuggestions)
    .where(eq(postSuggestions.postId, postId))
    .orderBy(asc(postSuggestions.createdAt), asc(postSuggestions.id))
    .all();
}

const { title: _title, markdown: _markdown, ...columns } = getTableColumns(postSuggestions);
const head = { ...columns, title: sql<string>`coalesce(${postSuggestions.title}, ${posts.title})` };

/** Those of an organization, of a post, or all, the newest first. Posts in the trash do not count. */
export async function listOpenChanges(
  tx: ReadTx,
  { organizationId, postId }: { organizationId?: string | undefined; postId?: string | undefined },
): Promise<SuggestedHead[]> {
  return tx
    .select(head)
    .from(postSuggestions)
    .innerJoin(posts, eq(posts.id, postSuggestions.postId))
    .where(
      and(
        organizationId === undefined ? undefined : eq(postSuggestions.organizationId, organizationId),
        postId === undefined ? undefined : eq(postSuggestions.postId, postId),
      ),
    )
    .orderBy(desc(postSuggestions.createdAt), desc(postSuggestions.id))
    .all();
}

/** The number of an organization's. */
export async function countOpenChanges(tx: ReadTx, organizationId: string): Promise<number> {
  const counted = await tx
    .select({ number: count() })
    .from(postSuggestions)
    .innerJoin(posts, eq(posts.id, postSuggestions.postId))
    .where(eq(postSuggestions.organizationId, organizationId))
    .get();
  return counted?.number ?? 0;
}

/** How many rows a post and its organization have, with those of posts in the trash. */
export async function countStoredChanges(
  tx: ReadTx,
  { postId, organizationId }: Pick<SuggestedChange, 'postId' | 'organizationId'>,
): Promise<{ ofPost: number; ofOrganization: number }> {
  const [ofPost, ofOrganization] = await Promise.all([
    tx.$count(postSuggestions, eq(postSuggestions.postId, postId)),
    tx.$count(postSuggestions, eq(postSuggestions.organizationId, organizationId)),
  ]);
  return { ofPost, ofOrganization };
}

export async function deleteSuggestedChange(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(postSuggestions).where(eq(postSuggestions.id, id)).run();
}
