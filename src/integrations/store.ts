import { and, asc, desc, eq, ne, type SQL, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { commitTogether } from '../../db/group-commit.ts';
import { integrations, organizations, repositories } from '../../db/schema/index.ts';
import { AppError } from '../lib/app-error.ts';
import type { Integration, ReceivingIntegration, Repository, SealedSecrets } from './model.ts';

type NewIntegration = typeof integrations.$inferInsert;
type NewRepository = typeof repositories.$inferInsert;

/** Both or neither. */
export function insertIntegration(
  db: Database,
  integration: NewIntegration,
  repository: NewRepository | null,
): Promise<void> {
  return commitTogether(db, () => {
    db.insert(integrations).values(integration).run();
    if (repository !== null) db.insert(repositories).values(repository).run();
  });
}

/** Of one organization, or of all; oldest first. */
export async function listIntegrations(db: Database, organizationId?: string): Promise<Integration[]> {
  return select(
    db,
    organizationId === undefined ? undefined : eq(integrations.organizationId, organizationId),
  );
}

function select(db: Database, filter: SQL | undefined): Integration[] {
  const rows = db
    .select({ integration: integrations, repository: repositories })
    .from(integrations)
    .leftJoin(repositories, eq(repositories.integrationId, integrations.id))
    .where(filter)
    .orderBy(asc(integrations.createdAt), asc(integrations.id), asc(repositories.fullName))
    .all();
  const found = new Map<string, Integration>();
  for (const { integration, repository } of rows) {
    const { id, type, enabled, createdAt } = integration;
    const entry = found.get(id) ?? {
      id,
      organizationId: integration.organizationId,
      type,
      enabled,
      repositories: [],
      createdAt,
    };
    if (repository !== null) entry.repositories.push({ id: repository.id, fullName: repository.fullName });
    found.set(id, entry);
  }
  return [...found.values()];
}

/** Throws `AppError` 404. */
export async function getIntegration(db: Database, id: string): Promise<Integration> {
  const [integration] = select(db, eq(integrations.id, id));
  if (integration === undefined) throw integrationNotFound(id);
  return integration;
}

export async function findReceivingIntegration(
  db: Database,
  id: string,
): Promise<ReceivingIntegration | null> {
  return statements(db).receiving.get({ id }) ?? null;
}

/** Throws `AppError` 404. */
export async function getReceivingIntegration(db: Database, id: string): Promise<ReceivingIntegration> {
  const integration = await findReceivingIntegration(db, id);
  if (integration === null) throw integrationNotFound(id);
  return integration;
}

/** The repository, and the integration that it is one of. */
export async function findRepository(
  db: Database,
  id: string,
): Promise<(Repository & { integrationId: string }) | null> {
  return statements(db).repository.get({ id }) ?? null;
}

/** Throws `AppError` 404. */
export async function setEnabled(db: Database, id: string, enabled: boolean): Promise<Integration> {
  await commitTogether(db, () => {
    db.update(integrations).set({ enabled }).where(eq(integrations.id, id)).run();
  });
  return getIntegration(db, id);
}

/** The present secret becomes the previous one, taken until `until`. Throws `AppError` 404. */
export async function replaceSecret(db: Database, id: string, secret: Buffer, until: Date): Promise<void> {
  const previous = { previousSecret: sql`${integrations.secret}`, previousSecretUntil: until.toISOString() };
  const replaced = await commitTogether(db, () =>
    db
      .update(integrations)
      .set({ secret, ...previous })
      .where(eq(integrations.id, id))
      .returning({ id: integrations.id })
      .all(),
  );
  if (replaced.length === 0) throw integrationNotFound(id);
}

/** With its repositories; its deliveries stay in the log. Throws `AppError` 404. */
export async function deleteIntegration(db: Database, id: string): Promise<void> {
  const deleted = await commitTogether(db, () =>
    db.delete(integrations).where(eq(integrations.id, id)).returning({ id: integrations.id }).all(),
  );
  if (deleted.length === 0) throw integrationNotFound(id);
}

const statements = prepared((db) => ({
  receiving: db
    .select({
      id: integrations.id,
      organizationId: integrations.organizationId,
      type: integrations.type,
      enabled: integrations.enabled,
      secret: integrations.secret,
      previousSecret: integrations.previousSecret,
      previousSecretUntil: integrations.previousSecretUntil,
      plan: organizations.plan,
    })
    .from(integrations)
    .innerJoin(organizations, eq(organizations.id, integrations.organizationId))
    .where(eq(integrations.id, sql.placeholder('id')))
    .prepare(),
  repository: db
    .select({
      id: repositories.id,
      fullName: repositories.fullName,
      integrationId: repositories.integrationId,
    })
    .from(repositories)
    .where(eq(repositories.id, sql.placeholder('id')))
    .prepare(),
}));

function integrationNotFound(id: string): AppError {
  return new AppError(404, `Integration ${id} not found; "integration list" shows those there are`);
}

/** Those of the organization's other integrations, the newest `limit` first. Never another organization's. */
export async function listOtherSealedSecrets(
  db: Database,
  { id, organizationId }: Pick<ReceivingIntegration, 'id' | 'organizationId'>,
  limit: number,
): Promise<SealedSecrets[]> {
  return db
    .select({
      id: integrations.id,
      secret: integrations.secret,
      previousSecret: integrations.previousSecret,
      previousSecretUntil: integrations.previousSecretUntil,
    })
    .from(integrations)
    .where(and(eq(integrations.organizationId, organizationId), ne(integrations.id, id)))
    .orderBy(desc(integrations.createdAt), desc(integrations.id))
    .limit(limit)
    .all();
}
