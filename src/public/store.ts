import { eq, getTableColumns, sql } from 'drizzle-orm';
import { dialectOf, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { formerSlugs, publications } from '../../db/schema/public.ts';
import { deleteExpired } from '../http/bounded-store.ts';
import type { Publication } from './model.ts';

export async function findPublication(tx: ReadTx, organizationId: string): Promise<Publication | null> {
  const ofOrganization = eq(publications.organizationId, organizationId);
  return (await tx.select().from(publications).where(ofOrganization).get()) ?? null;
}

/** `isKept`: in `write`, where it stays so until the commit. */
export async function isMcpOn(tx: ReadTx, organizationId: string, isKept: boolean): Promise<boolean> {
  const { isMcpOn, organizationId: id } = publications;
  const kept = isKept ? dialectOf(tx).keepRows : sql``;
  const [row] = await tx.values<[number]>(
    sql`select ${isMcpOn} from ${publications} where ${id} = ${organizationId} ${kept}`,
  );
  return row?.[0] === 1;
}

export async function findPublicationBySlug(tx: ReadTx, slug: string): Promise<Publication | null> {
  return (await statements(tx).bySlug.get({ slug })) ?? null;
}

/** Inserts or replaces it. The caller must have checked that no other organization has the slug. */
export async function savePublication(tx: WriteTx, publication: Publication): Promise<void> {
  const { organizationId, ...changeable } = publication;
  await tx
    .insert(publications)
    .values(publication)
    .onConflictDoUpdate({ target: publications.organizationId, set: changeable })
    .run();
}

/** The publication that had a slug before. The caller must have checked that none has it now. */
export async function findPublicationByFormerSlug(tx: ReadTx, slug: string): Promise<Publication | null> {
  const found = tx
    .select(getTableColumns(publications))
    .from(formerSlugs)
    .innerJoin(publications, eq(publications.organizationId, formerSlugs.organizationId))
    .where(eq(formerSlugs.slug, slug));
  return (await found.get()) ?? null;
}

export async function saveFormerSlug(tx: WriteTx, row: typeof formerSlugs.$inferInsert): Promise<void> {
  await tx.insert(formerSlugs).values(row).onConflictDoUpdate({ target: formerSlugs.slug, set: row }).run();
}

/** For a slug that an organization takes. */
export async function deleteFormerSlug(tx: WriteTx, slug: string): Promise<void> {
  await tx.delete(formerSlugs).where(eq(formerSlugs.slug, slug)).run();
}

/** Deletes at most `limit` slugs that no longer redirect. Returns their number. */
export const deleteExpiredSlugs = (tx: WriteTx, asOf: Date, limit: number) =>
  deleteExpired(
    tx,
    { table: formerSlugs, key: formerSlugs.slug, expiresAt: formerSlugs.expiresAt },
    asOf,
    limit,
  );

const statements = prepared((tx) => ({
  bySlug: tx
    .select()
    .from(publications)
    .where(eq(publications.slug, sql.placeholder('slug')))
    .prepare(),
}));
