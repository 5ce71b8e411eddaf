import { and, asc, eq, getTableColumns, isNotNull, isNull, lte, or } from 'drizzle-orm';
import { excluded, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { integrations, tokenStates } from '../../db/schema/integrations.ts';

export type TokenState = typeof tokenStates.$inferSelect;

/** The enabled integrations with a token that the provider should be asked about, with its last state. */
export async function listDueTokens(tx: ReadTx, now: Date, limit: number) {
  const { dueAt } = tokenStates;
  const { id, organizationId, type } = integrations;
  return tx
    .select({ id, organizationId, type, state: tokenStates })
    .from(integrations)
    .leftJoin(tokenStates, eq(tokenStates.integrationId, integrations.id))
    .where(
      and(
        eq(integrations.enabled, true),
        isNotNull(integrations.token),
        or(isNull(dueAt), lte(dueAt, now.getTime())),
      ),
    )
    .orderBy(asc(dueAt), asc(integrations.id))
    .limit(limit)
    .all();
}

const { integrationId, ...changeable } = getTableColumns(tokenStates);

/** Does nothing if the integration is gone. */
export async function saveTokenState(tx: WriteTx, state: TokenState): Promise<void> {
  const owner = await tx
    .select({ id: integrations.id })
    .from(integrations)
    .where(eq(integrations.id, state.integrationId))
    .get();
  if (owner === undefined) return;
  const set = excluded(changeable);
  await tx.insert(tokenStates).values(state).onConflictDoUpdate({ target: integrationId, set });
}

/** Of a token that was replaced. */
export async function deleteTokenState(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(tokenStates).where(eq(integrationId, id));
}
