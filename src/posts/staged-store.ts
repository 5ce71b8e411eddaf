import { and, eq, inArray, min, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { imports, stagedPosts } from '../../db/schema/index.ts';
import type { ReadTx } from '../../db/storage.ts';
import { contentTypes, type PostSelection, postStatuses } from './model.ts';
import type { OwnedPost, PostJson } from './store.ts';

// A large import writes its posts in pieces, so that a delivery can commit between two of them. Nobody sees the pieces
// until one small commit changes the state of the import to `applying`. From then on readers see all of them, and the
// pieces move into `posts`. See `imports` in the schema. Synchronous, for a transaction of the caller's.

export type Import = typeof imports.$inferSelect;

export function findImport(db: ReadTx): Import | null {
  return statements(db).current.get() ?? null;
}

/** Whether an import is in progress, or has left posts behind. */
export function isImporting(db: Database): boolean {
  return findImport(db) !== null || statements(db).anyStaged.get() !== undefined;
}

export function insertImport(db: Database, row: Import): void {
  db.insert(imports).values(row).run();
}

/** Says that the import's process is alive. False when the import is gone or in another state. */
export function beat(db: Database, { id, state }: Pick<Import, 'id' | 'state'>, beatAt: number): boolean {
  const alive = db
    .update(imports)
    .set({ beatAt })
    .where(and(eq(imports.id, id), eq(imports.state, state)));
  return alive.returning({ id: imports.id }).all().length > 0;
}

export function stagePost(db: Database, post: OwnedPost, piece: number): void {
  statements(db).stage.run({ ...post, piece });
}

/** Publishes all posts of the import. */
export function applyImport(db: Database, id: string): void {
  db.update(imports).set({ state: 'applying' }).where(eq(imports.id, id)).run();
}

/** What is still staged of an import that is not applying becomes a leftover, for `takePiece`. */
export function deleteImport(db: Database, { id, state }: Pick<Import, 'id' | 'state'>): void {
  db.delete(imports)
    .where(and(eq(imports.id, id), eq(imports.state, state)))
    .run();
}

/** Removes and returns the posts of one piece; none when nothing is staged. */
export function takePiece(db: Database): OwnedPost[] {
  const first = db.select({ piece: min(stagedPosts.piece) }).from(stagedPosts);
  return db.delete(stagedPosts).where(eq(stagedPosts.piece, first)).returning(postColumns).all();
}

/** Removes and returns the staged version of a post. */
export function takeStagedPost(db: ReadTx, postId: string): OwnedPost | undefined {
  return statements(db).take.get({ postId });
}

/** Whether readers of the organization see staged posts now. */
export function isApplying(db: Database, organizationId: string): boolean {
  const current = findImport(db);
  return current?.state === 'applying' && current.organizationId === organizationId;
}

/**
 * A condition: whether readers see staged posts now. Ids are unique, so a read by id needs no more. A scalar subquery:
 * `exists` becomes a join, which made the read of one post ten times as slow.
 */
export const isApplied = sql`(select ${imports.state} from ${imports}) = 'applying'`;

/** `posts` as readers see it while an import is applied: `take` posts in list order, after `offset` others. */
export function listAppliedPage(
  db: Database,
  organizationId: string,
  { statuses, contentTypes: types }: PostSelection,
  { take, offset, ascending }: { take: number; offset: number; ascending: boolean },
): PostJson[] {
  const order = ascending ? sql`asc` : sql`desc`;
  const matches = and(
    sql`organization_id = ${organizationId}`,
    statuses.length < postStatuses.length ? inArray(sql`status`, statuses) : undefined,
    types.length < contentTypes.length ? inArray(sql`content_type`, types) : undefined,
  );
  // Both halves are walks along an index, which SQLite merges.
  const rows = db.values<[PostJson]>(sql`
    select coalesce(
      (select json from staged_posts where id = page.id),
      (select json from posts where id = page.id)
    ) from (
      select created_at, id from posts
      where ${matches} and not exists (select 1 from staged_posts where staged_posts.id = posts.id)
      union all
      select created_at, id from staged_posts where ${matches}
      order by created_at ${order}, id ${order} limit ${take} offset ${offset}
    ) as page order by created_at ${order}, id ${order}`);
  return rows.map(([json]) => json);
}

const postColumns = {
  id: stagedPosts.id,
  organizationId: stagedPosts.organizationId,
  status: stagedPosts.status,
  contentType: stagedPosts.contentType,
  createdAt: stagedPosts.createdAt,
  updatedAt: stagedPosts.updatedAt,
  title: stagedPosts.title,
  content: stagedPosts.content,
  markdown: stagedPosts.markdown,
  sourceMetadata: stagedPosts.sourceMetadata,
};

const statements = prepared((db) => ({
  current: db.select().from(imports).prepare(),
  anyStaged: db.select({ id: stagedPosts.id }).from(stagedPosts).prepare(),
  take: db
    .delete(stagedPosts)
    .where(eq(stagedPosts.id, sql.placeholder('postId')))
    .returning(postColumns)
    .prepare(),
  stage: db
    .insert(stagedPosts)
    .values({
      id: sql.placeholder('id'),
      organizationId: sql.placeholder('organizationId'),
      piece: sql.placeholder('piece'),
      status: sql.placeholder('status'),
      contentType: sql.placeholder('contentType'),
      createdAt: sql.placeholder('createdAt'),
      updatedAt: sql.placeholder('updatedAt'),
      title: sql.placeholder('title'),
      content: sql.placeholder('content'),
      markdown: sql.placeholder('markdown'),
      sourceMetadata: sql.placeholder('sourceMetadata'),
    })
    .prepare(),
}));
