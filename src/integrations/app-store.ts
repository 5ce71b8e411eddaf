import { and, eq, inArray, ne, notInArray, sql } from 'drizzle-orm';
import { matching, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { apps, integrations, repositories } from '../../db/schema/integrations.ts';
import type { Deps } from '../people/deps.ts';
import type { InstalledRepository } from '../providers/app.ts';
import { insertPoll, listPolls } from './poll-store.ts';
import type { Integration } from './store.ts';
import { MAX_APP_REPOSITORIES } from './words.ts';

type App = typeof apps.$inferSelect;

export async function insertApp(tx: WriteTx, app: App): Promise<void> {
  await tx.insert(apps).values(app);
}

/** With its encrypted key; null for an integration without an App. */
export async function findSealedApp(tx: ReadTx, integrationId: string): Promise<App | null> {
  return (await tx.select().from(apps).where(eq(apps.integrationId, integrationId)).get()) ?? null;
}

/** Does nothing if it is gone. */
export async function updateApp(
  tx: WriteTx,
  integrationId: string,
  changes: Partial<Omit<App, 'integrationId' | 'createdAt'>>,
): Promise<void> {
  await tx.update(apps).set(changes).where(eq(apps.integrationId, integrationId));
}

/** `known`: the provider's id of the repository or, for samples, `owner/name`. */
export async function findRepositoryId(tx: ReadTx, integrationId: string, known: number | string) {
  const { id, providerId, fullName } = repositories;
  const isIt =
    typeof known === 'number' ? eq(providerId, known) : eq(sql`lower(${fullName})`, known.toLowerCase());
  const isOwn = eq(repositories.integrationId, integrationId);
  const row = await tx.select({ id }).from(repositories).where(and(isOwn, isIt)).get();
  return row?.id ?? null;
}

/** Ids of one statement. PostgreSQL takes 65,535 values, SQLite 32,766. */
const MAX_AT_ONCE = 500;

/**
 * Adds repositories that the integration lacks, and updates the names of the others. Skips those that another
 * integration of the organization has: both would draft everything. Returns the names that were added and skipped.
 */
export async function addInstalled(
  tx: WriteTx,
  { id, organizationId, type }: Pick<Integration, 'id' | 'organizationId' | 'type'>,
  installed: readonly InstalledRepository[],
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
): Promise<{ added: string[]; skipped: string[] }> {
  const known = await tx
    .select({ providerId: repositories.providerId, fullName: repositories.fullName })
    .from(repositories)
    .where(eq(repositories.integrationId, id));
  const taken = await takenNames(tx, { id, organizationId, type });
  const names = new Map(known.map(({ providerId, fullName }) => [providerId, fullName]));
  const skipped = installed.filter(({ fullName }) => taken.has(fullName.toLowerCase()));
  const added = installed
    .filter((each) => !names.has(each.providerId) && !skipped.includes(each))
    .slice(0, Math.max(0, MAX_APP_REPOSITORIES - known.length));
  const now = clock.now();
  const createdAt = now.toISOString();
  const isPolled = await staysPolled(tx, id);
  for (let at = 0; at < added.length; at += MAX_AT_ONCE) {
    const rows = added
      .slice(at, at + MAX_AT_ONCE)
      .map((each) => ({ id: ids.newId('repo'), integrationId: id, ...each, createdAt }));
    const inserted = await tx
      .insert(repositories)
      .values(rows)
      .onConflictDoNothing()
      .returning({ id: repositories.id });
    if (isPolled) for (const row of inserted) await insertPoll(tx, newPoll(row.id, id, now));
  }
  for (const { providerId, fullName } of installed) {
    const name = names.get(providerId);
    if (name === undefined || name === fullName) continue;
    const isSame = and(eq(repositories.integrationId, id), eq(repositories.providerId, providerId));
    await tx.update(repositories).set({ fullName }).where(isSame);
  }
  return { added: added.map(nameOf), skipped: skipped.map(nameOf) };
}

/** Polled, and no webhook is about to take over. */
async function staysPolled(tx: ReadTx, id: string): Promise<boolean> {
  const { isPolled } = integrations;
  const row = await tx.select({ isPolled }).from(integrations).where(eq(integrations.id, id)).get();
  return row?.isPolled === true && (await listPolls(tx, id)).every(({ cursor }) => !cursor?.webhookSince);
}

/** Its first round takes the present as the start. */
const newPoll = (repositoryId: string, integrationId: string, now: Date) => ({
  ...{ repositoryId, integrationId, cursor: null, dueAt: now.getTime() },
  ...{ polledAt: null, problem: null, attempts: 0 },
});

const nameOf = ({ fullName }: { fullName: string }) => fullName;

/** The repositories of the organization's other integrations of the provider, in lower case. */
async function takenNames(
  tx: ReadTx,
  { id, organizationId, type }: Pick<Integration, 'id' | 'organizationId' | 'type'>,
): Promise<Set<string>> {
  const rows = await tx
    .select({ name: sql<string>`lower(${repositories.fullName})` })
    .from(repositories)
    .innerJoin(integrations, eq(integrations.id, repositories.integrationId))
    .where(and(matching(integrations, { organizationId, type }), ne(integrations.id, id)));
  return new Set(rows.map(({ name }) => name));
}

/** Deletes these repositories with their triggers, or with `isKept` all but these. Returns their names. */
export async function removeInstalled(
  tx: WriteTx,
  integrationId: string,
  named: readonly InstalledRepository[],
  { isKept = false } = {},
): Promise<string[]> {
  const providerIds = named.map(({ providerId }) => providerId);
  const isChosen = (isKept ? notInArray : inArray)(repositories.providerId, providerIds);
  const deleted = await tx
    .delete(repositories)
    .where(and(eq(repositories.integrationId, integrationId), isChosen))
    .returning({ fullName: repositories.fullName });
  return deleted.map(nameOf);
}
