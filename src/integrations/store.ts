import {
  and,
  asc,
  desc,
  eq,
  exists,
  getTableColumns,
  inArray,
  isNull,
  ne,
  not,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import {
  changing,
  dialectOf,
  integration as integrationKey,
  matching,
  type ReadTx,
  type Storage,
  type WriteTx,
} from '../../db/engine.ts';
import {
  apps,
  deliveries,
  events,
  histories,
  hooks,
  integrations,
  repositories,
} from '../../db/schema/integrations.ts';
import { postVersions } from '../../db/schema/posts.ts';
import { triggers } from '../../db/schema/triggers.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { randomToken } from '../lib/text.ts';
import type { Deps } from '../people/deps.ts';
import { isOfLive } from '../people/organization-store.ts';
import { ALL_PUBLIC_TEAMS } from '../providers/api.ts';
import type { findAddress } from './deliveries/store.ts';
import { IntegrationProblem } from './words.ts';

// Integrations, their repositories and their secrets.

type NewIntegration = typeof integrations.$inferInsert;
type NewRepository = typeof repositories.$inferInsert;

/**
 * A connected provider, without its secrets. `hasToken`: it has a token, or is the `app`. `isManaged`: Tidings manages its
 * webhooks at the provider. `isPolled`: Tidings reads its events; while it changes to webhooks or back, it has both.
 */
export type Integration = ReturnType<typeof fromRows>[number];

/** `fullName`: `owner/name`. `providerId` survives renames; null until the provider or a verified delivery names it. */
export type Repository = Integration['repositories'][number];

export type RepositoryIdentity = Pick<Repository, 'fullName'> & { providerId: number };

/** An integration as the receiver needs it: its encrypted secrets, and its organization's plan. */
export type ReceivingIntegration = NonNullable<Awaited<ReturnType<typeof findAddress>>>['integration'];

/** The secrets that a delivery may be signed with, encrypted. */
type SealedSecrets = Pick<ReceivingIntegration, 'id' | 'secret' | 'previousSecret' | 'previousSecretUntil'>;

/** Writes about an integration, in turn with all other changes of it. `more`: further locks to hold. */
export function changeIntegration<Result>(
  db: Storage,
  id: string,
  work: (tx: WriteTx) => Promise<Result>,
  ...more: string[]
): Promise<Result> {
  return db.write(work, changing(integrationKey(id), ...more));
}

export async function insertIntegration(
  tx: WriteTx,
  integration: NewIntegration,
  newRepositories: readonly NewRepository[],
): Promise<void> {
  await tx.insert(integrations).values(integration);
  for (const repository of newRepositories) await insertRepository(tx, repository);
}

export async function insertRepository(tx: WriteTx, repository: NewRepository): Promise<void> {
  await tx.insert(repositories).values(repository);
}

/** Deletes its triggers too. Its deliveries stay in the log. */
export async function deleteRepository(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(repositories).where(eq(repositories.id, id));
}

/** Of one organization, or of all; oldest first. */
export async function listIntegrations(tx: ReadTx, organizationId?: string): Promise<Integration[]> {
  return fromRows(await select(tx, matching(integrations, { organizationId })));
}

export async function hasIntegrations(tx: ReadTx): Promise<boolean> {
  return (await tx.select({ id: integrations.id }).from(integrations).limit(1).get()) !== undefined;
}

export async function countEnabled(tx: ReadTx): Promise<number> {
  return tx.$count(integrations, and(eq(integrations.enabled, true), isOfLive(integrations.organizationId)));
}

/** Throws `IntegrationProblem` `integration_not_found`. */
export async function getIntegration(tx: ReadTx, id: string): Promise<Integration> {
  const [integration] = fromRows(await select(tx, eq(integrations.id, id)));
  return integration ?? notFound(id);
}

/** A row for each repository, and one for an integration without any. */
function select(tx: ReadTx, filter: SQL | undefined) {
  const { id, organizationId, type, enabled, token, isPolled, createdAt } = integrations;
  const { integrationId: _, createdAt: __, ...repository } = getTableColumns(repositories);
  const hasToken = sql<boolean>`(${token} is not null or ${apps.integrationId} is not null)`.mapWith(Boolean);
  const { appId, slug, url, installationId, suspendedAt } = apps;
  const app = { appId, slug, url, installationId, suspendedAt };
  const hasHooks = sql<boolean>`exists (select 1 from ${hooks} where ${hooks.integrationId} = ${id})`;
  const isManaged = hasHooks.mapWith(Boolean);
  const integration = { id, organizationId, type, enabled, hasToken, isManaged, isPolled, createdAt };
  return tx
    .select({ integration, app, repository })
    .from(integrations)
    .leftJoin(apps, eq(apps.integrationId, id))
    .leftJoin(repositories, eq(repositories.integrationId, id))
    .where(and(filter, isOfLive(organizationId)))
    .orderBy(asc(createdAt), asc(id), asc(repositories.fullName));
}

function fromRows(rows: Awaited<ReturnType<typeof select>>) {
  return [...Map.groupBy(rows, ({ integration }) => integration.id).values()].flatMap((own) => {
    const [first] = own;
    const repositories = own.flatMap(({ repository }) => repository ?? []);
    return first === undefined ? [] : { ...first.integration, app: first.app, repositories };
  });
}

/** Ids of the integrations that only imported past releases: no webhook and no poll delivers new ones. */
export async function listHistoryOnly(
  tx: ReadTx,
  among: readonly Pick<Integration, 'id'>[],
): Promise<Set<string>> {
  if (among.length === 0) return new Set();
  const { id, isPolled } = integrations;
  const hasHistory = exists(tx.select().from(histories).where(eq(histories.integrationId, id)));
  const hasHooks = exists(tx.select().from(hooks).where(eq(hooks.integrationId, id)));
  const hasEntries = exists(tx.select().from(deliveries).where(eq(deliveries.integrationId, id)));
  // Entries of the log expire.
  const isReceived = sql`substr(${events.deliveryId}, 1, 4) <> 'his_'`;
  const isOfIt = and(eq(events.integrationId, id), isReceived);
  const hasReceived = exists(tx.select().from(events).where(isOfIt));
  const isAmong = inArray(id, dialectOf(tx).listed(among.map((each) => each.id)));
  const hasMore = [hasHooks, hasEntries, hasReceived].map((each) => not(each));
  const rows = await tx
    .select({ id })
    .from(integrations)
    .where(and(isAmong, eq(isPolled, false), hasHistory, ...hasMore));
  return new Set(rows.map((row) => row.id));
}

/** Of all integrations, oldest first. */
export async function listSealedSecrets(tx: ReadTx): Promise<SealedSecrets[]> {
  const { id, secret, previousSecret, previousSecretUntil, createdAt } = integrations;
  const sealed = tx.select({ id, secret, previousSecret, previousSecretUntil }).from(integrations);
  return sealed.orderBy(asc(createdAt), asc(id));
}

/** With its encrypted secrets and token. */
export async function findSealedIntegration(tx: ReadTx, id: string) {
  const isIt = and(eq(integrations.id, id), isOfLive(integrations.organizationId));
  return (await tx.select().from(integrations).where(isIt).get()) ?? null;
}

/** Throws `IntegrationProblem` `integration_not_found`. */
export async function getSealedIntegration(tx: ReadTx, id: string) {
  return (await findSealedIntegration(tx, id)) ?? notFound(id);
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
  const isSame = or(isNull(repositories.providerId), eq(repositories.providerId, providerId));
  await tx
    .update(repositories)
    .set({ providerId, fullName })
    .where(and(eq(repositories.id, id), isSame, sql`not exists (${other})`));
}

/**
 * Two integrations of one repository or team would draft everything twice. Another provider may have a repository of the
 * same name. Skips all public teams, which may be those of another workspace. Throws `IntegrationProblem`
 * `place_connected`.
 */
export async function requireUnconnected(
  tx: ReadTx,
  { organizationId, type }: Pick<Integration, 'organizationId' | 'type'>,
  places: readonly { id: string }[],
): Promise<void> {
  const placeIds = places.map(({ id }) => id).filter((id) => id !== ALL_PUBLIC_TEAMS);
  const names = placeIds.map((name) => name.toLowerCase());
  const isOfOrganization = matching(integrations, { organizationId, type });
  const repository = await tx
    .select({ integrationId: integrations.id, place: repositories.fullName })
    .from(repositories)
    .innerJoin(integrations, eq(integrations.id, repositories.integrationId))
    .where(and(isOfOrganization, inArray(sql`lower(${repositories.fullName})`, names)))
    .get();
  const hook = await tx
    .select({ integrationId: integrations.id, place: hooks.placeName })
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .where(and(isOfOrganization, isNull(hooks.repositoryId), inArray(hooks.placeId, placeIds)))
    .get();
  const connected = repository ?? hook;
  if (connected !== undefined) throw new IntegrationProblem({ code: 'place_connected', ...connected });
}

/** Does nothing if the integration is gone, or if `secret` is no longer its current one. */
export async function updateIntegration(
  tx: WriteTx,
  id: string,
  changes: Partial<Omit<NewIntegration, 'id' | 'organizationId' | 'type' | 'createdAt'>>,
  secret?: Buffer,
): Promise<void> {
  const isCurrent = secret && eq(integrations.secret, secret);
  await tx
    .update(integrations)
    .set(changes)
    .where(and(eq(integrations.id, id), isCurrent));
}

/**
 * Deletes its repositories and its triggers with the versions of their templates; its deliveries stay in the log. Throws `IntegrationProblem`
 * `integration_not_found`.
 */
export async function deleteIntegration(tx: WriteTx, id: string): Promise<void> {
  // No foreign key deletes them: they can be versions of posts too.
  const itsTriggers = tx.select({ id: triggers.id }).from(triggers).where(eq(triggers.integrationId, id));
  await tx.delete(postVersions).where(inArray(postVersions.postId, itsTriggers));
  const deleted = tx.delete(integrations).where(eq(integrations.id, id));
  if ((await deleted.returning({ id: integrations.id })).length === 0) notFound(id);
}

function notFound(integrationId: string): never {
  throw new IntegrationProblem({ code: 'integration_not_found', integrationId });
}

/** The randomness of a webhook secret, in bytes. */
const SECRET_BYTES = 32;

const contextOf = (integrationId: string) => `webhook secret of ${integrationId}`;

/** A new webhook secret, and its encrypted form for the database. */
export function newSecret(deps: Pick<Deps, 'secrets'>, integrationId: string) {
  const secret = randomToken(SECRET_BYTES);
  return { secret, sealed: sealSecret(deps, integrationId, secret) };
}

export function sealSecret({ secrets }: Pick<Deps, 'secrets'>, id: string, secret: string): Buffer {
  return secrets.seal(secret, contextOf(id));
}

/** The current secret. Throws `IntegrationProblem` `integration_not_found`, and `WrongSecretKey`. */
export async function revealSecret(deps: Pick<Deps, 'db' | 'secrets'>, id: string): Promise<string> {
  return openSecret(deps, await deps.db.read((tx) => getSealedIntegration(tx, id)));
}

/** The current secret. Throws `WrongSecretKey`. */
export function openSecret(
  { secrets }: Pick<Deps, 'secrets'>,
  { id, secret }: Pick<SealedSecrets, 'id' | 'secret'>,
): string {
  return secrets.open(secret, contextOf(id));
}

/**
 * The secrets that a delivery may be signed with now, the current one first. Throws `WrongSecretKey`, but not for the
 * previous secret: after the key was lost, a rotation must take effect at once.
 */
export function acceptedSecrets(deps: Pick<Deps, 'secrets' | 'clock'>, sealed: SealedSecrets): string[] {
  const current = openSecret(deps, sealed);
  const previous = isPreviousAccepted(deps, sealed) ? openPrevious(deps, sealed) : null;
  return previous === null ? [current] : [current, previous];
}

/** The previous secret, if it has expired and can be decrypted. */
export function expiredSecret(deps: Pick<Deps, 'secrets' | 'clock'>, sealed: SealedSecrets): string | null {
  return isPreviousAccepted(deps, sealed) ? null : openPrevious(deps, sealed);
}

function isPreviousAccepted({ clock }: Pick<Deps, 'clock'>, { previousSecretUntil }: SealedSecrets): boolean {
  return previousSecretUntil !== null && previousSecretUntil > clock.now().toISOString();
}

function openPrevious(deps: Pick<Deps, 'secrets'>, { id, previousSecret }: SealedSecrets): string | null {
  return previousSecret === null ? null : openOrNull(() => openSecret(deps, { id, secret: previousSecret }));
}

/** True if each secret that is in use can be decrypted. */
export function secretsOpen(deps: Pick<Deps, 'secrets' | 'clock'>, sealed: SealedSecrets): boolean {
  const current = openOrNull(() => openSecret(deps, sealed));
  return current !== null && (!isPreviousAccepted(deps, sealed) || openPrevious(deps, sealed) !== null);
}

/**
 * The secrets that the organization's newest `limit` other integrations accept now, to explain a mistaken signature.
 * None of them is accepted for this integration.
 */
export async function listOtherSecrets(
  deps: Pick<Deps, 'db' | 'secrets' | 'clock'>,
  { id, organizationId }: Pick<ReceivingIntegration, 'id' | 'organizationId'>,
  limit: number,
): Promise<{ id: string; secrets: string[] }[]> {
  const isOther = and(eq(integrations.organizationId, organizationId), ne(integrations.id, id));
  const newestFirst = [desc(integrations.createdAt), desc(integrations.id)];
  const others = await deps.db.read((tx) =>
    tx
      .select()
      .from(integrations)
      .where(isOther)
      .orderBy(...newestFirst)
      .limit(limit)
      .all(),
  );
  return others.map((other) => ({
    id: other.id,
    secrets: openOrNull(() => acceptedSecrets(deps, other)) ?? [],
  }));
}

/** Null for a value that was encrypted under another key. */
export function openOrNull<Value>(open: () => Value): Value | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}
