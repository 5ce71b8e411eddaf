import { and, asc, eq, ne, type SQL, sql } from 'drizzle-orm';
import { prepared, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { integrations } from '../../../db/schema/integrations.ts';
import { triggers } from '../../../db/schema/triggers.ts';
import { kinds } from './kinds/index.ts';
import { refusal, type Trigger, type TriggerFilters, type TriggerOwner } from './model.ts';

/** The trigger's own row, without what follows from its integration and event. */
export type StoredTrigger = Omit<Trigger, 'organizationId' | 'integrationType' | 'action'>;

/** False when another trigger has the same rule. */
export async function insertTrigger(tx: WriteTx, trigger: StoredTrigger, rule: string): Promise<boolean> {
  const row = { ...trigger, rule };
  const inserted = tx.insert(triggers).values(row).onConflictDoNothing();
  return (await inserted.returning({ id: triggers.id }).all()).length > 0;
}

export async function updateTrigger(tx: WriteTx, id: string, changes: Partial<typeof triggers.$inferInsert>) {
  await tx.update(triggers).set(changes).where(eq(triggers.id, id)).run();
}

/** With its runs; its posts stay. */
export async function removeTrigger(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(triggers).where(eq(triggers.id, id)).run();
}

/** The id of the trigger that has this rule, `exceptId` aside. */
export async function findTriggerIdByRule(tx: ReadTx, rule: string, exceptId = ''): Promise<string | null> {
  const isOther = and(eq(triggers.rule, rule), ne(triggers.id, exceptId));
  return (await tx.select({ id: triggers.id }).from(triggers).where(isOther).get())?.id ?? null;
}

/** Oldest first. */
export async function listTriggers(tx: ReadTx, owner: TriggerOwner): Promise<Trigger[]> {
  const rows = await select(tx, isOwnedBy(owner)).all();
  return rows.map(toTrigger);
}

/** For a query that joins triggers and their integrations. */
export function isOwnedBy({ organizationId, integrationId }: TriggerOwner): SQL | undefined {
  return and(
    organizationId === undefined ? undefined : eq(integrations.organizationId, organizationId),
    integrationId === undefined ? undefined : eq(integrations.id, integrationId),
  );
}

export async function findTrigger(tx: ReadTx, id: string): Promise<Trigger | null> {
  const row = await statements(tx).byId.get({ id });
  return row === undefined ? null : toTrigger(row);
}

/** Throws `AppError` 404. */
export async function getTrigger(tx: ReadTx, id: string): Promise<Trigger> {
  const trigger = await findTrigger(tx, id);
  if (trigger === null) throw refusal(404, 'trigger_not_found', { id });
  return trigger;
}

function select(tx: ReadTx, filter: SQL | undefined) {
  return tx
    .select({ trigger: triggers, integration: integrations })
    .from(triggers)
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(filter)
    .orderBy(asc(triggers.createdAt), asc(triggers.id));
}

function toTrigger({
  trigger: { rule: _, ...trigger },
  integration,
}: {
  trigger: typeof triggers.$inferSelect;
  integration: typeof integrations.$inferSelect;
}): Trigger {
  return {
    ...trigger,
    organizationId: integration.organizationId,
    integrationType: integration.type,
    action: kinds[trigger.event].action,
    filters: trigger.filters as TriggerFilters,
  };
}

const statements = prepared((tx) => ({
  byId: select(tx, eq(triggers.id, sql.placeholder('id'))).prepare(),
}));
