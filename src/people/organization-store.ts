import {
  and,
  asc,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  isNull,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { matching, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { memberships, organizations } from '../../db/schema/organizations.ts';
import { AppError } from '../lib/app-error.ts';
import { DAY_MS } from '../lib/time.ts';
import type { DeletedOrganization, Organization } from './organizations.ts';

// In the trash it looks as if it did not exist: each way to an organization, and each list of due work, has a condition here.

export const isLive = isNull(organizations.deletedAt);

/** The condition that the organization of a row is not in the trash. True for a row without an organization. */
export const isOfLive = (organizationId: SQLWrapper): SQL =>
  sql`not exists (select 1 from ${organizations} where ${organizations.id} = ${organizationId} and ${isNotNull(organizations.deletedAt)})`;

const { deletedAt, needsSecondFactor, ...columns } = getTableColumns(organizations);

export const organizationColumns = columns;

/** How long a deleted organization can be restored, in days. */
export const ORGANIZATION_TRASH_DAYS = 30;

/** Throws `AppError` 409 when the id is in use, also in the trash. */
export async function insertOrganization(tx: WriteTx, organization: Organization): Promise<void> {
  const inserted = await tx
    .insert(organizations)
    .values(organization)
    .onConflictDoNothing()
    .returning()
    .all();
  if (inserted.length > 0) return;
  const { id } = organization;
  const problem = (await isDeleted(tx, id)) ? 'is in the trash' : 'already exists';
  throw new AppError(409, `Organization ${id} ${problem}`, {
    code: 'organization_exists',
    details: { id },
  });
}

export async function updateOrganization(
  tx: WriteTx,
  { id, name, plan, needsApproval }: Organization,
): Promise<void> {
  await tx.update(organizations).set({ name, plan, needsApproval }).where(eq(organizations.id, id)).run();
}

export async function setDeleted(tx: WriteTx, id: string, at: string | null): Promise<void> {
  await tx.update(organizations).set({ deletedAt: at }).where(eq(organizations.id, id)).run();
}

export async function findOrganization(tx: ReadTx, id: string): Promise<Organization | null> {
  const isIt = and(eq(organizations.id, id), isLive);
  return (await tx.select(columns).from(organizations).where(isIt).get()) ?? null;
}

export async function isSecondFactorNeeded(tx: ReadTx, id: string): Promise<boolean> {
  return (await tx.$count(organizations, and(eq(organizations.id, id), eq(needsSecondFactor, true)))) > 0;
}

export async function setSecondFactorNeeded(tx: WriteTx, id: string, isNeeded: boolean): Promise<void> {
  await tx.update(organizations).set({ needsSecondFactor: isNeeded }).where(eq(organizations.id, id)).run();
}

/** Throws `AppError` 404; `details.isEmpty` says that there is no organization at all, `isDeleted` that it is in the trash. */
export async function getOrganization(tx: ReadTx, id: string): Promise<Organization> {
  const organization = await findOrganization(tx, id);
  if (organization !== null) return organization;
  const isEmpty = (await countOrganizations(tx)) === 0;
  throw new AppError(404, `Organization ${id} not found`, {
    code: 'organization_not_found',
    details: { id, isEmpty, isDeleted: await isDeleted(tx, id) },
  });
}

/** It is in the trash. False for one that is unknown, which Unkey may have keys of. */
export async function isDeleted(tx: ReadTx, id: string): Promise<boolean> {
  return (await tx.$count(organizations, and(eq(organizations.id, id), isNotNull(deletedAt)))) > 0;
}

const oldestFirst = [asc(organizations.createdAt), asc(organizations.id)];

export async function listOrganizations(tx: ReadTx): Promise<Organization[]> {
  return await tx
    .select(columns)
    .from(organizations)
    .where(isLive)
    .orderBy(...oldestFirst)
    .all();
}

/** In the trash, those that can still be restored: all, the one with this id, those of an owner. Oldest first. */
export async function listDeletedOrganizations(
  tx: ReadTx,
  now: Date,
  { id, ownerId }: { id?: string; ownerId?: string | undefined } = {},
): Promise<DeletedOrganization[]> {
  const since = new Date(now.getTime() - ORGANIZATION_TRASH_DAYS * DAY_MS).toISOString();
  const owned = tx
    .select({ id: memberships.organizationId })
    .from(memberships)
    .where(matching(memberships, { userId: ownerId, role: 'owner' }));
  const isOwned = ownerId === undefined ? undefined : inArray(organizations.id, owned);
  const rows = await tx
    .select({ ...columns, deletedAt: sql<string>`${deletedAt}` })
    .from(organizations)
    .where(and(gt(deletedAt, since), matching(organizations, { id }), isOwned))
    .orderBy(...oldestFirst)
    .all();
  return rows.map((row) => ({ ...row, expiresAt: expiryOf(row.deletedAt) }));
}

export const expiryOf = (deleted: string): string =>
  new Date(Date.parse(deleted) + ORGANIZATION_TRASH_DAYS * DAY_MS).toISOString();

/** With those in the trash. */
export async function countOrganizations(tx: ReadTx): Promise<number> {
  return tx.$count(organizations);
}
