import { and, eq, getTableColumns, min, sql } from 'drizzle-orm';
import { placeholdersFor, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { imports, postSchedules, posts, stagedPosts } from '../../db/schema/posts.ts';
import { AppError } from '../lib/app-error.ts';
import type { OwnedPost } from './model.ts';
import { readPosts } from './store.ts';

/** Writes a new post or version, which an import in progress no longer overwrites. Throws `AppError` 409 for a foreign id. */
export async function writePost(tx: WriteTx, post: OwnedPost): Promise<void> {
  const [staged, isSaved] = await Promise.all([
    statements(tx).take.get({ postId: post.id }),
    savePost(tx, post),
  ]);
  const isTheirs = staged !== undefined && staged.organizationId !== post.organizationId;
  if (isTheirs || !isSaved) {
    throw new AppError(409, `The id ${post.id} was taken in the meantime. Try again.`);
  }
}

/** Inserts or replaces a post in `posts`. False when another organization has the id. */
async function savePost(tx: WriteTx, post: OwnedPost): Promise<boolean> {
  return (await statements(tx).save.all({ ...post })).length > 0;
}

/** Before a write in place: moves the version of an applied import into `posts`, and drops the one of any other. */
export async function settleStagedPost(tx: WriteTx, postId: string): Promise<void> {
  const staged = await statements(tx).take.get({ postId });
  if (staged !== undefined && (await findImport(tx))?.state === 'applying') await savePost(tx, staged);
}

/** Deletes a settled post and its schedule. Null when there is none. */
export async function deletePostRow(tx: WriteTx, postId: string) {
  const { deleteSchedule, deletePost } = statements(tx);
  await deleteSchedule.run({ postId });
  return (await deletePost.get({ postId })) ?? null;
}

// A large import writes its posts in pieces, so that a delivery can commit between them. Readers see none until
// one small commit changes the state of the import to `applying`. From then on they see all of them, and the pieces
// move into `posts`. See `imports` in the schema.

type Import = typeof imports.$inferSelect;
type ImportKey = Pick<Import, 'id' | 'state'>;

export async function findImport(tx: ReadTx): Promise<Import | null> {
  return (await statements(tx).current.get()) ?? null;
}

/** An import is in progress, or has left posts behind. */
export async function isImporting(tx: ReadTx): Promise<boolean> {
  return (await findImport(tx)) !== null || (await statements(tx).anyStaged.get()) !== undefined;
}

export async function insertImport(tx: WriteTx, row: Import): Promise<void> {
  await tx.insert(imports).values(row).run();
}

/** Records that the import's process is alive. False when the import is gone or in another state. */
export async function beat(tx: WriteTx, key: ImportKey, beatAt: number): Promise<boolean> {
  return (await statements(tx).beat.all({ ...key, beatAt })).length > 0;
}

export async function stagePost(tx: WriteTx, post: OwnedPost, piece: number): Promise<void> {
  await statements(tx).stage.run({ ...post, piece });
}

/** Publishes all posts of the import. */
export async function applyImport(tx: WriteTx, id: string): Promise<void> {
  await tx.update(imports).set({ state: 'applying' }).where(eq(imports.id, id)).run();
}

/** The staged posts of an import that is not applying become leftovers, for `takePiece`. */
export async function deleteImport(tx: WriteTx, { id, state }: ImportKey): Promise<void> {
  await tx
    .delete(imports)
    .where(and(eq(imports.id, id), eq(imports.state, state)))
    .run();
}

/** Removes and returns the posts of one piece; none when nothing is staged. */
export async function takePiece(tx: WriteTx): Promise<OwnedPost[]> {
  return await statements(tx).takePiece.all();
}

/**
 * Moves one piece of the applied import into `posts`. Returns the number of posts. `replaced` gets each post that was
 * there before.
 */
export async function movePiece(
  tx: WriteTx,
  replaced: (before: OwnedPost, after: OwnedPost) => Promise<unknown> = async () => undefined,
): Promise<number> {
  const piece = await takePiece(tx);
  const current = await readPosts(
    tx,
    piece.map(({ id }) => id),
  );
  for (const post of piece) {
    const before = current.get(post.id);
    if (await savePost(tx, post)) await (before && replaced(before, post));
  }
  return piece.length;
}

const { json: _, ...columns } = getTableColumns(posts);
const { id: _id, organizationId: _organizationId, ...changeable } = columns;
const { json: _json, piece: _piece, ...stagedColumns } = getTableColumns(stagedPosts);

const statements = prepared((tx) => ({
  save: tx
    .insert(posts)
    .values(placeholdersFor(columns))
    .onConflictDoUpdate({
      target: posts.id,
      set: Object.fromEntries(
        Object.entries(changeable).map(([key, { name }]) => [key, sql`excluded.${sql.identifier(name)}`]),
      ),
      setWhere: sql`${posts.organizationId} = excluded.organization_id`,
    })
    .returning({ id: posts.id })
    .prepare(),
  deleteSchedule: tx
    .delete(postSchedules)
    .where(eq(postSchedules.postId, sql.placeholder('postId')))
    .prepare(),
  deletePost: tx
    .delete(posts)
    .where(eq(posts.id, sql.placeholder('postId')))
    .returning({ id: posts.id, organizationId: posts.organizationId, title: posts.title })
    .prepare(),
  current: tx.select().from(imports).prepare(),
  beat: tx
    .update(imports)
    .set({ beatAt: sql`${sql.placeholder('beatAt')}` })
    .where(and(eq(imports.id, sql.placeholder('id')), eq(imports.state, sql.placeholder('state'))))
    .returning({ id: imports.id })
    .prepare(),
  anyStaged: tx.select({ id: stagedPosts.id }).from(stagedPosts).prepare(),
  take: tx
    .delete(stagedPosts)
    .where(eq(stagedPosts.id, sql.placeholder('postId')))
    .returning(stagedColumns)
    .prepare(),
  takePiece: tx
    .delete(stagedPosts)
    .where(eq(stagedPosts.piece, tx.select({ piece: min(stagedPosts.piece) }).from(stagedPosts)))
    .returning(stagedColumns)
    .prepare(),
  stage: tx
    .insert(stagedPosts)
    .values(placeholdersFor({ ...stagedColumns, piece: null }))
    .prepare(),
}));
