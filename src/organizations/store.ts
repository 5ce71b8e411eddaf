import { asc, count, eq } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { commitTogether } from '../../db/group-commit.ts';
import { organizations } from '../../db/schema/index.ts';
import { AppError } from '../lib/app-error.ts';
import type { Organization, Plan } from './model.ts';

/** Throws `AppError` 409 when the id is taken. */
export async function insertOrganization(db: Database, organization: Organization): Promise<void> {
  insertOrganizationNow(db, organization);
}

/** The same, synchronous, for a transaction of the caller's. */
export function insertOrganizationNow(db: Database, organization: Organization): void {
  const inserted = db.insert(organizations).values(organization).onConflictDoNothing().returning().all();
  if (inserted.length === 0) throw new AppError(409, `Organization ${organization.id} exists already`);
}

export async function findOrganization(db: Database, id: string): Promise<Organization | null> {
  return db.select().from(organizations).where(eq(organizations.id, id)).get() ?? null;
}

/** Throws `AppError` 404 when there is none. */
export async function getOrganization(db: Database, id: string): Promise<Organization> {
  const organization = await findOrganization(db, id);
  if (organization === null) throw organizationNotFound(db, id);
  return organization;
}

/** Oldest first. */
export async function listOrganizations(db: Database): Promise<Organization[]> {
  return db.select().from(organizations).orderBy(asc(organizations.createdAt), asc(organizations.id)).all();
}

export async function countOrganizations(db: Database): Promise<number> {
  return countNow(db);
}

function countNow(db: Database): number {
  return db.select({ total: count() }).from(organizations).get()?.total ?? 0;
}

/** Throws `AppError` 404 when there is no such organization. */
export async function setPlan(db: Database, id: string, plan: Plan): Promise<Organization> {
  const updated = db.update(organizations).set({ plan }).where(eq(organizations.id, id)).returning().get();
  if (updated === undefined) throw organizationNotFound(db, id);
  return updated;
}

/** Throws `AppError` 404 when there is no such organization. */
export function updateOrganization(
  db: Database,
  id: string,
  change: Pick<Organization, 'name' | 'plan'>,
): Promise<Organization> {
  const update = db.update(organizations).set(change).where(eq(organizations.id, id)).returning();
  return commitTogether(db, () => {
    const updated = update.get();
    if (updated === undefined) throw organizationNotFound(db, id);
    return updated;
  });
}

/** Where there is none at all, the data folder may well be another one than was meant. */
function organizationNotFound(db: Database, id: string): AppError {
  const next =
    countNow(db) === 0
      ? 'this data folder holds none yet. "organization create" makes one; --data-dir names another folder'
      : '"organization list" shows those there are';
  return new AppError(404, `Organization ${id} not found; ${next}`);
}
