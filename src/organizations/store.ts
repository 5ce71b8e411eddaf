import { asc, count, eq } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { organizations } from '../../db/schema/index.ts';
import type { ReadTx } from '../../db/storage.ts';
import { quote } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import type { Organization, Plan } from './model.ts';

/** Throws `AppError` 409 when the id is taken. Synchronous, for a transaction of the caller's. */
export function insertOrganizationNow(db: Database, organization: Organization): void {
  const inserted = db.insert(organizations).values(organization).onConflictDoNothing().returning().all();
  if (inserted.length === 0) throw new AppError(409, `Organization ${organization.id} exists already`);
}

export async function findOrganization(db: ReadTx, id: string): Promise<Organization | null> {
  return db.select().from(organizations).where(eq(organizations.id, id)).get() ?? null;
}

/** Throws `AppError` 404 when there is none. */
export async function getOrganization(db: ReadTx, id: string): Promise<Organization> {
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

function countNow(db: ReadTx): number {
  return db.select({ total: count() }).from(organizations).get()?.total ?? 0;
}

/** Throws `AppError` 404 when there is no such organization. */
export function setPlan(deps: AuditDeps, id: string, plan: Plan): Promise<Organization> {
  return updateOrganization(deps, id, { plan });
}

/** Throws `AppError` 404 when there is no such organization. */
export function updateOrganization(
  deps: AuditDeps,
  id: string,
  change: Partial<Pick<Organization, 'name' | 'plan'>>,
): Promise<Organization> {
  const { db } = deps;
  return db.write(() => {
    const before = db.select().from(organizations).where(eq(organizations.id, id)).get();
    if (before === undefined) throw organizationNotFound(db, id);
    const after = { ...before, ...change };
    const summary = describeChange(before, after);
    if (summary === '') return before;
    db.update(organizations).set(change).where(eq(organizations.id, id)).run();
    const target = { type: 'organization', id };
    recordAudit(deps.db, deps, { organizationId: id, action: 'organization.changed', target, summary });
    return after;
  });
}

/** Empty when nothing changed. */
function describeChange(before: Organization, after: Organization): string {
  return [
    after.name === before.name
      ? ''
      : `renamed the organization from ${quote(before.name)} to ${quote(after.name)}`,
    after.plan === before.plan ? '' : `changed the plan from ${before.plan} to ${after.plan}`,
  ]
    .filter((part) => part !== '')
    .join(' and ');
}

/** Where there is none at all, the data folder may well be another one than was meant. */
function organizationNotFound(db: ReadTx, id: string): AppError {
  const next =
    countNow(db) === 0
      ? 'this data folder holds none yet. "organization create" makes one; --data-dir names another folder'
      : '"organization list" shows those there are';
  return new AppError(404, `Organization ${id} not found; ${next}`);
}
