import { eq, sql } from 'drizzle-orm';
import { dialectOf, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { publications } from '../../db/schema/public.ts';
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

const statements = prepared((tx) => ({
  bySlug: tx
    .select()
    .from(publications)
    .where(eq(publications.slug, sql.placeholder('slug')))
    .prepare(),
}));
