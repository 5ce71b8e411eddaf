import { and, asc, desc, eq, inArray, isNull, ne, notInArray, or, type SQL, sql } from 'drizzle-orm';
import { hooks, integrations, repositories } from '../../db/schema/integrations.ts';
import { organizations } from '../../db/schema/organizations.ts';
import { prepared, type ReadTx, type WriteTx } from '../../db/storage.ts';
import type { Integration, ReceivingIntegration, RepositoryIdentity, SealedSecrets } from './model.ts';
import { IntegrationProblem } from './problems.ts';

type NewIntegration = typeof integrations.$inferInsert;
export type NewRepository = typeof repositories.$inferInsert;

export async function insertIntegration(
  tx: WriteTx,
  integration: NewIntegration,
  newRepositories: readonly NewRepository[],
): Promise<void> {
  tx.insert(integrations).values(integration).run();
  for (const repository of newRepositories) await insertRepository(tx, repository);
}

export async function insertRepository(tx: WriteTx, repository: NewRepository): Promise<void> {
  tx.insert(repositories).values(repository).run();
}

/** Deletes its triggers too. Its deliveries stay in the log. */
export async function deleteRepository(tx: WriteTx, id: string): Promise<void> {
  tx.delete(repositories).where(eq(repositories.id, id)).run();
}

/** Of one organization, or of all; oldest first. */
export async function listIntegrations(tx: ReadTx, organizationId?: string): Promise<Integration[]> {
  return select(
    tx,
    organizationId === undefined ? undefined : eq(integrations.organizationId, organizationId),
  );
}

/** Throws `IntegrationProblem` `integration_not_found`. */
export async function getIntegration(tx: ReadTx, id: string): Promise<Integration> {
  const [integration] = select(tx, eq(integrations.id, id));
  if (integration === undefined) throw notFound(id);
  return integration;
}

function select(tx: ReadTx, filter: SQL | undefined): Integration[] {
  const rows = tx
    .select({ integration: integrations, repository: repositories })
    .from(integrations)
    .leftJoin(repositories, eq(repositories.integrationId, integrations.id))
    .where(filter)
    .orderBy(asc(integrations.createdAt), asc(integrations.id), asc(repositories.fullName))
    .all();
  return Array.from(
    Map.groupBy(rows, ({ integration }) => integration.id).values(),
    (own) => toIntegration(own) ?? [],
  ).flat();
}

function toIntegration(
  rows: {
    integration: typeof integrations.$inferSelect;
    repository: typeof repositories.$inferSelect | null;
  }[],
): Integration | null {
  const [first] = rows;
  if (first === undefined) return null;
  const { id, organizationId, type, enabled, token, createdAt } = first.integration;
  return {
    id,
    organizationId,
    type,
    enabled,
    repositories: rows.flatMap(({ repository }) => {
      if (repository === null) return [];
      const { id, fullName, providerId } = repository;
      return [{ id, fullName, providerId }];
    }),
    hasToken: token !== null,
    createdAt,
  };
}

export async function findReceivingIntegration(tx: ReadTx, id: string): Promise<ReceivingIntegration | null> {
  return statements(tx).receiving.get({ id }) ?? null;
}

/** Throws `IntegrationProblem` `integration_not_found`. */
export async function getReceivingIntegration(tx: ReadTx, id: string): Promise<ReceivingIntegration> {
  const integration = await findReceivingIntegration(tx, id);
  if (integration === null) throw notFound(id);
  return integration;
}

/** Secrets of the organization's other integrations, the newest `limit` first. */
export async function listOtherSealedSecrets(
  tx: ReadTx,
  { id, organizationId }: Pick<ReceivingIntegration, 'id' | 'organizationId'>,
  limit: number,
): Promise<SealedSecrets[]> {
  return tx
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

/**
 * Updates the provider's id and the name of a repository. Changes nothing if the repository has another id, or if
 * another repository of the integration has this one.
 */
export async function learnRepository(
  tx: WriteTx,
  id: string,
  { providerId, fullName }: RepositoryIdentity,
): Promise<void> {
  const other = sql`select 1 from ${repositories} as other where other.integration_id = ${repositories.integrationId} and other.provider_id = ${providerId} and other.id <> ${repositories.id}`;
  tx.update(repositories)
    .set({ providerId, fullName })
    .where(
      and(
        eq(repositories.id, id),
        or(isNull(repositories.providerId), eq(repositories.providerId, providerId)),
        sql`not exists (${other})`,
      ),
    )
    .run();
}

/**
 * One of these places that an integration of the organization has: a repository by its name in any case, or another
 * place by its id. `except` lists ids of repositories to skip.
 */
export async function findConnectedPlace(
  tx: ReadTx,
  organizationId: string,
  placeIds: readonly string[],
  except: readonly string[] = [],
): Promise<{ integrationId: string; place: string } | null> {
  const isOfOrganization = eq(integrations.organizationId, organizationId);
  const names = placeIds.map((name) => name.toLowerCase());
  const repository = tx
    .select({ integrationId: integrations.id, place: repositories.fullName })
    .from(repositories)
    .innerJoin(integrations, eq(integrations.id, repositories.integrationId))
    .where(
      and(
        isOfOrganization,
        inArray(sql`lower(${repositories.fullName})`, names),
        notInArray(repositories.id, [...except]),
      ),
    )
    .get();
  if (repository !== undefined) return repository;
  const hook = tx
    .select({ integrationId: integrations.id, place: hooks.placeName })
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .where(and(isOfOrganization, isNull(hooks.repositoryId), inArray(hooks.placeId, [...placeIds])))
    .get();
  return hook ?? null;
}

/** Changes one integration. Does nothing if it is gone. */
export async function updateIntegration(
  tx: WriteTx,
  id: string,
  changes: Partial<
    Pick<
      NewIntegration,
      'enabled' | 'secret' | 'previousSecret' | 'previousSecretUntil' | 'token' | 'missedCheckedAt'
    >
  >,
): Promise<void> {
  tx.update(integrations).set(changes).where(eq(integrations.id, id)).run();
}

/** Ends the previous secret at `at`, unless `secret` is no longer the current one. */
export async function endPreviousSecret(tx: WriteTx, id: string, secret: Buffer, at: Date): Promise<void> {
  tx.update(integrations)
    .set({ previousSecretUntil: at.toISOString() })
    .where(and(eq(integrations.id, id), eq(integrations.secret, secret)))
    .run();
}

/** The encrypted token for the provider's API; null if the webhook is set up by hand. */
export async function findSealedToken(tx: ReadTx, id: string): Promise<Buffer | null> {
  return (await findColumns(tx, id))?.token ?? null;
}

/** The last check for missed deliveries, as ISO 8601; null for never. */
export async function findMissedCheckedAt(tx: ReadTx, id: string): Promise<string | null> {
  return (await findColumns(tx, id))?.missedCheckedAt ?? null;
}

async function findColumns(tx: ReadTx, id: string) {
  const { token, missedCheckedAt } = integrations;
  return tx.select({ token, missedCheckedAt }).from(integrations).where(eq(integrations.id, id)).get();
}

/** Deletes its repositories too; its deliveries stay in the log. Throws `IntegrationProblem` `integration_not_found`. */
export async function deleteIntegration(tx: WriteTx, id: string): Promise<void> {
  const deleted = tx.delete(integrations).where(eq(integrations.id, id));
  if (deleted.returning({ id: integrations.id }).all().length === 0) throw notFound(id);
}

function notFound(integrationId: string): IntegrationProblem {
  return new IntegrationProblem({ code: 'integration_not_found', integrationId });
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
}));
