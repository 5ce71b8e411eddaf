import { and, eq, getTableColumns, isNotNull, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { deliveries, deliveryClaims, integrations, repositories } from '../../db/schema/index.ts';
import type { WriteTx } from '../../db/storage.ts';
import { DAY_MS } from '../lib/time.ts';
import { DEDUP_WINDOW_MS, type Delivery, DUPLICATE_REASON } from './model.ts';

/** An entry to write, with the hash of its body where the sender was verified. */
export type NewDelivery = Delivery & { bodyHash: Buffer | null };

/** What a delivery that was claimed came to. */
export type Outcome = Pick<Delivery, 'title' | 'status' | 'reason'> & Pick<Partial<Delivery>, 'payload'>;

/**
 * Claims the delivery, lets `process` say what it came to, and writes the log entry: one transaction, resolved when
 * it is on the disk. A delivery that was claimed less than 24 h ago is logged as a duplicate, under the title that it
 * had, and `process` is not called. When `process` throws, nothing is claimed or written, and this throws the same.
 * Nor is anything written when the integration or the repository was disconnected meanwhile: then this resolves to
 * null. See `write` for `giveUpMs`.
 */
export function takeDelivery(
  db: Database,
  entry: Omit<NewDelivery, 'title' | 'status' | 'reason'>,
  now: Date,
  process: (tx: WriteTx) => Promise<Outcome>,
  giveUpMs?: number,
): Promise<NewDelivery | null> {
  const take = async (tx: WriteTx) => {
    const claimed = claim(db, entry, now);
    if (!claimed && !isConnected(db, entry)) return null;
    const written: NewDelivery = claimed
      ? { ...entry, ...(await process(tx)), sameBodyAs: findSameBody(db, entry) }
      : {
          ...entry,
          status: 'duplicate',
          title: findTitle(db, entry) ?? entry.payload.event ?? 'Duplicate',
          reason: DUPLICATE_REASON,
        };
    insertDelivery(db, written, now);
    return written;
  };
  return db.write(take, { giveUpMs });
}

/** Synchronous, for a transaction of the caller's. */
export function insertDelivery(db: Database, entry: NewDelivery, now: Date): void {
  statements(db).insert.run(toRow(entry, now));
}

/** Writes an entry for a delivery that was not taken. */
export function recordDelivery(
  db: Database,
  entry: NewDelivery,
  now: Date,
  giveUpMs?: number,
): Promise<void> {
  return db.write(() => insertDelivery(db, entry, now), { giveUpMs });
}

/** Writes an entry, or counts one more arrival in the entry that has its id already. */
export function countDelivery(db: Database, entry: NewDelivery, now: Date, giveUpMs?: number): Promise<void> {
  return db.write(() => void statements(db).count.run(toRow(entry, now)), { giveUpMs });
}

/** Deletes at most `limit` expired claims. Returns how many there were. */
export function deleteExpiredClaims(db: Database, asOf: Date, limit: number): Promise<number> {
  return changesOf(
    db,
    sql`delete from ${deliveryClaims} where rowid in (select rowid from ${deliveryClaims} where expires_at <= ${asOf.getTime()} limit ${limit})`,
  );
}

/** Deletes at most `limit` expired entries. Returns how many there were. */
export function deleteExpiredDeliveries(db: Database, asOf: Date, limit: number): Promise<number> {
  return changesOf(
    db,
    sql`delete from ${deliveries} where rowid in (select rowid from ${deliveries} where expires_at <= ${asOf.getTime()} limit ${limit})`,
  );
}

function changesOf(db: Database, statement: SQL): Promise<number> {
  return db.write(() => (db.run(statement) as unknown as { changes: number }).changes);
}

type Claimable = Pick<NewDelivery, 'integrationId' | 'repositoryId' | 'referenceId'>;

/**
 * One atomic statement: a new claim, or one over a claim that has run out. False: it is claimed, or its integration or
 * repository is gone.
 */
function claim(db: Database, { integrationId, repositoryId, referenceId }: Claimable, now: Date): boolean {
  const values = {
    integrationId,
    repositoryId,
    deliveryId: referenceId ?? '',
    now: now.getTime(),
    expiresAt: now.getTime() + DEDUP_WINDOW_MS,
  };
  return statements(db).claim.all(values).length > 0;
}

function isConnected(db: Database, { integrationId, repositoryId }: Claimable): boolean {
  return db.get(sql`select 1 where ${connection(integrationId, repositoryId)}`) !== undefined;
}

/** Whether the repository, or the integration of a delivery that names none, is still connected. */
function connection(integrationId: unknown, repositoryId: unknown): SQL {
  return sql`case when ${repositoryId} is null
    then exists (select 1 from ${integrations} where ${integrations.id} = ${integrationId})
    else exists (select 1 from ${repositories} where ${repositories.id} = ${repositoryId} and ${repositories.integrationId} = ${integrationId})
  end`;
}

function findSameBody(
  db: Database,
  { integrationId, bodyHash, referenceId }: Pick<NewDelivery, 'integrationId' | 'bodyHash' | 'referenceId'>,
) {
  if (bodyHash === null) return null;
  return statements(db).sameBody.get({ integrationId, bodyHash, referenceId })?.referenceId ?? null;
}

function findTitle(
  db: Database,
  { integrationId, referenceId }: Pick<NewDelivery, 'integrationId' | 'referenceId'>,
) {
  return statements(db).title.get({ integrationId, referenceId })?.title;
}

const statements = prepared((db) => {
  const columns = Object.keys(getTableColumns(deliveries));
  const placeholders = Object.fromEntries(columns.map((column) => [column, sql.placeholder(column)]));
  const insert = () =>
    db.insert(deliveries).values(placeholders as unknown as typeof deliveries.$inferInsert);
  return {
    insert: insert().prepare(),
    count: insert()
      .onConflictDoUpdate({ target: deliveries.id, set: { count: sql`${deliveries.count} + 1` } })
      .prepare(),
    claim: db
      .insert(deliveryClaims)
      .select(
        sql`select ${sql.placeholder('integrationId')}, ${sql.placeholder('deliveryId')}, ${sql.placeholder('expiresAt')} where ${connection(sql.placeholder('integrationId'), sql.placeholder('repositoryId'))}`,
      )
      .onConflictDoUpdate({
        target: [deliveryClaims.integrationId, deliveryClaims.deliveryId],
        set: { expiresAt: sql`excluded.expires_at` },
        setWhere: lte(deliveryClaims.expiresAt, sql.placeholder('now')),
      })
      .returning({ claimed: deliveryClaims.deliveryId })
      .prepare(),
    sameBody: db
      .select({ referenceId: deliveries.referenceId })
      .from(deliveries)
      .where(
        and(
          eq(deliveries.integrationId, sql.placeholder('integrationId')),
          eq(deliveries.bodyHash, sql.placeholder('bodyHash')),
          isNotNull(deliveries.bodyHash),
          ne(deliveries.referenceId, sql.placeholder('referenceId')),
        ),
      )
      .limit(1)
      .prepare(),
    title: db
      .select({ title: deliveries.title })
      .from(deliveries)
      .where(
        and(
          eq(deliveries.referenceId, sql.placeholder('referenceId')),
          eq(deliveries.integrationId, sql.placeholder('integrationId')),
          or(eq(deliveries.status, 'processed'), eq(deliveries.status, 'ignored')),
        ),
      )
      .limit(1)
      .prepare(),
  };
});

function toRow({ payload, ...entry }: NewDelivery, now: Date) {
  const { event, action, data } = payload;
  return { ...entry, event, action, data, expiresAt: now.getTime() + entry.retentionDays * DAY_MS };
}
