import { and, asc, desc, eq, inArray, isNull, ne, notInArray, or, type SQL, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { integrations, organizations, repositories } from '../../db/schema/index.ts';
import type { ReadTx } from '../../db/storage.ts';
import type { AuditAction } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import {
  type Integration,
  nameIntegration,
  type ReceivingIntegration,
  type RepositoryIdentity,
  type SealedSecrets,
} from './model.ts';

type NewIntegration = typeof integrations.$inferInsert;
type NewRepository = typeof repositories.$inferInsert;

/** Synchronous, for a transaction of the caller's. Returns the id of the audit event. */
export function insertIntegration(
  deps: AuditDeps,
  integration: NewIntegration,
  newRepositories: readonly NewRepository[],
): number {
  const { db } = deps;
  db.insert(integrations).values(integration).run();
  for (const repository of newRepositories) db.insert(repositories).values(repository).run();
  const named = { ...integration, repositories: newRepositories };
  return recordIntegration(deps, 'integration.connected', named, (name) => `connected ${name}`);
}

/** Synchronous, for a transaction of the caller's. */
export function insertRepository(db: Database, repository: NewRepository): void {
  db.insert(repositories).values(repository).run();
}

/** With the triggers that are for it alone; its deliveries stay in the log. Synchronous, as above. */
export function deleteRepository(db: Database, id: string): void {
  db.delete(repositories).where(eq(repositories.id, id)).run();
}

/** Records a change to an integration. Synchronous, as above. Returns the id of the audit event. */
export function recordIntegration(
  deps: AuditDeps,
  action: Extract<AuditAction, `integration.${string}` | 'secret.rotated' | 'token.set'>,
  integration: Parameters<typeof nameIntegration>[0] & Pick<Integration, 'id' | 'organizationId'>,
  describe: (name: string) => string,
): number {
  const { id, organizationId } = integration;
  const summary = describe(nameIntegration(integration));
  return recordAudit(deps.db, deps, { organizationId, action, target: { type: 'integration', id }, summary });
}

/** Of one organization, or of all; oldest first. */
export async function listIntegrations(db: ReadTx, organizationId?: string): Promise<Integration[]> {
  return select(
    db,
    organizationId === undefined ? undefined : eq(integrations.organizationId, organizationId),
  );
}

function select(db: ReadTx, filter: SQL | undefined): Integration[] {
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
      hasToken: integration.token !== null,
      createdAt,
    };
    if (repository !== null) {
      const { id, fullName, providerId } = repository;
      entry.repositories.push({ id, fullName, providerId });
    }
    found.set(id, entry);
  }
  return [...found.values()];
}

/** Throws `AppError` 404. */
export async function getIntegration(db: ReadTx, id: string): Promise<Integration> {
  const [integration] = select(db, eq(integrations.id, id));
  if (integration === undefined) throw integrationNotFound(id);
  return integration;
}

export async function findReceivingIntegration(db: ReadTx, id: string): Promise<ReceivingIntegration | null> {
  return statements(db).receiving.get({ id }) ?? null;
}

/** Throws `AppError` 404. */
export async function getReceivingIntegration(db: Database, id: string): Promise<ReceivingIntegration> {
  const integration = await findReceivingIntegration(db, id);
  if (integration === null) throw integrationNotFound(id);
  return integration;
}

/**
 * Keeps the id and the present name of a repository. Nothing changes when it has another id, or when another repository
 * of the integration has this one. Synchronous, for a transaction of the caller's.
 */
export function learnRepository(db: ReadTx, id: string, { providerId, fullName }: RepositoryIdentity): void {
  const other = sql`select 1 from ${repositories} as other where other.integration_id = ${repositories.integrationId} and other.provider_id = ${providerId} and other.id <> ${repositories.id}`;
  db.update(repositories)
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

/** Throws `AppError` 404. */
export async function setEnabled(deps: AuditDeps, id: string, enabled: boolean): Promise<Integration> {
  const { db } = deps;
  await db.write(() => {
    const [before] = select(db, eq(integrations.id, id));
    if (before === undefined || before.enabled === enabled) return;
    db.update(integrations).set({ enabled }).where(eq(integrations.id, id)).run();
    if (enabled) recordIntegration(deps, 'integration.enabled', before, (name) => `enabled ${name}`);
    else recordIntegration(deps, 'integration.disabled', before, (name) => `disabled ${name}`);
  });
  return getIntegration(db, id);
}

/**
 * The present secret becomes the previous one, taken until `until`; with what `also` writes (synchronous). Returns the
 * id of the audit event. Throws `AppError` 404.
 */
export async function replaceSecret(
  deps: AuditDeps,
  id: string,
  secret: Buffer,
  until: Date,
  also: () => void = () => undefined,
): Promise<number> {
  const { db } = deps;
  const previous = { previousSecret: sql`${integrations.secret}`, previousSecretUntil: until.toISOString() };
  return db.write(() => {
    also();
    const [integration] = select(db, eq(integrations.id, id));
    if (integration === undefined) throw integrationNotFound(id);
    db.update(integrations)
      .set({ secret, ...previous })
      .where(eq(integrations.id, id))
      .run();
    const describe = (name: string) => `rotated the webhook secret of ${name}`;
    return recordIntegration(deps, 'secret.rotated', integration, describe);
  });
}

/** Ends the previous secret at `at`, unless another rotation has replaced the present one, `secret`, since. */
export function endPreviousSecret(db: Database, id: string, secret: Buffer, at: Date): Promise<void> {
  return db.write(() => {
    db.update(integrations)
      .set({ previousSecretUntil: at.toISOString() })
      .where(and(eq(integrations.id, id), eq(integrations.secret, secret)))
      .run();
  });
}

/** Sets the secrets as they are to be, with what `also` writes (synchronous). */
export function restoreSecrets(
  db: Database,
  id: string,
  secrets: Pick<ReceivingIntegration, 'secret' | 'previousSecret' | 'previousSecretUntil'>,
  also: () => void,
): Promise<void> {
  return db.write(() => {
    also();
    db.update(integrations).set(secrets).where(eq(integrations.id, id)).run();
  });
}

/** The token that the provider's API is asked with, sealed; null when the webhook is set up by hand. */
export async function findSealedToken(db: Database, id: string): Promise<Buffer | null> {
  const row = db
    .select({ token: integrations.token })
    .from(integrations)
    .where(eq(integrations.id, id))
    .get();
  return row?.token ?? null;
}

/** With what `also` writes (synchronous). */
export function setSealedToken(
  deps: AuditDeps,
  integration: Integration,
  token: Buffer,
  also: () => void = () => undefined,
): Promise<void> {
  const { id, hasToken } = integration;
  return deps.db.write(() => {
    deps.db.update(integrations).set({ token }).where(eq(integrations.id, id)).run();
    also();
    const verb = hasToken ? 'replaced the provider token of' : 'set a provider token for';
    recordIntegration(deps, 'token.set', integration, (name) => `${verb} ${name}`);
  });
}

/** When somebody last looked for deliveries that never arrived. ISO 8601; null for never. */
export async function findMissedCheckedAt(db: Database, id: string): Promise<string | null> {
  const row = db
    .select({ at: integrations.missedCheckedAt })
    .from(integrations)
    .where(eq(integrations.id, id))
    .get();
  return row?.at ?? null;
}

export function setMissedCheckedAt(db: Database, id: string, at: Date): Promise<void> {
  return db.write(() => {
    db.update(integrations).set({ missedCheckedAt: at.toISOString() }).where(eq(integrations.id, id)).run();
  });
}

/**
 * With its repositories; its deliveries stay in the log. Synchronous, for a transaction of the caller's. Throws
 * `AppError` 404.
 */
export function deleteIntegration(db: Database, id: string): void {
  const deleted = db.delete(integrations).where(eq(integrations.id, id));
  if (deleted.returning({ id: integrations.id }).all().length === 0) throw integrationNotFound(id);
}

/**
 * One of these repositories, spelt in any case, that an integration of the organization has; null when none has. Rows
 * with the ids `except` do not count. Synchronous, for a transaction of the caller's.
 */
export function findConnectedRepository(
  db: Database,
  organizationId: string,
  fullNames: readonly string[],
  except: readonly string[] = [],
): { integrationId: string; name: string; hasToken: boolean } | null {
  const names = fullNames.map((name) => name.toLowerCase());
  const found = db
    .select({
      integrationId: repositories.integrationId,
      name: repositories.fullName,
      token: integrations.token,
    })
    .from(repositories)
    .innerJoin(integrations, eq(integrations.id, repositories.integrationId))
    .where(
      and(
        eq(integrations.organizationId, organizationId),
        inArray(sql`lower(${repositories.fullName})`, names),
        notInArray(repositories.id, [...except]),
      ),
    )
    .get();
  if (found === undefined) return null;
  const { token, ...connected } = found;
  return { ...connected, hasToken: token !== null };
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
