import { asc, eq } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { organizations } from '../../db/schema/organizations.ts';
import { AppError } from '../lib/app-error.ts';
import type { Organization } from './organizations.ts';

/** Throws `AppError` 409 when the id is in use. */
export async function insertOrganization(tx: WriteTx, organization: Organization): Promise<void> {
  const inserted = await tx
    .insert(organizations)
    .values(organization)
    .onConflictDoNothing()
    .returning()
    .all();
  if (inserted.length > 0) return;
  throw new AppError(409, `Organization ${organization.id} already exists`, {
    code: 'organization_exists',
    details: { id: organization.id },
  });
}

export async function updateOrganization(tx: WriteTx, { id, name, plan }: Organization): Promise<void> {
  await tx.update(organizations).set({ name, plan }).where(eq(organizations.id, id)).run();
}

export async function findOrganization(tx: ReadTx, id: string): Promise<Organization | null> {
  return (await tx.select().from(organizations).where(eq(organizations.id, id)).get()) ?? null;
}

/** Throws `AppError` 404; `details.isEmpty` says that there is no organization at all. */
export async function getOrganization(tx: ReadTx, id: string): Promise<Organization> {
  const organization = await findOrganization(tx, id);
  if (organization !== null) return organization;
  const isEmpty = (await countOrganizations(tx)) === 0;
  throw new AppError(404, `Organization ${id} not found`, {
    code: 'organization_not_found',
    details: { id, isEmpty },
  });
}

/** Oldest first. */
export async function listOrganizations(tx: ReadTx): Promise<Organization[]> {
  return await tx
    .select()
    .from(organizations)
    .orderBy(asc(organizations.createdAt), asc(organizations.id))
    .all();
}

export async function countOrganizations(tx: ReadTx): Promise<number> {
  return tx.$count(organizations);
}
