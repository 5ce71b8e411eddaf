import { Type } from '@sinclair/typebox';
import { and, eq, getTableColumns, inArray, isNotNull, lte, ne, or, sql } from 'drizzle-orm';
import {
  dialectOf,
  matching,
  placeholdersFor,
  prepared,
  type ReadTx,
  type WriteTx,
} from '../../../db/engine.ts';
import {
  apps,
  deliveries,
  deliveryClaims,
  integrations,
  repositories,
} from '../../../db/schema/integrations.ts';
import { organizations } from '../../../db/schema/organizations.ts';
import { deliveryResults } from '../../../db/schema/triggers.ts';
import type { Ids } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { retentionDaysOf } from '../../people/audit.ts';
import { isLive } from '../../people/organization-store.ts';
import type { ProcessedDelivery } from '../../providers/provider.ts';

/** How long a delivery id is remembered, in milliseconds (section 8 of the spec: 86,400 seconds). */
export const DEDUP_WINDOW_MS = DAY_MS;

/** Why a duplicate is not processed again. */
export const DUPLICATE_REASON = 'The same delivery ID was accepted less than 24 hours ago';

/** Why a delivery that a heartbeat requested is not processed again. */
export const HEARTBEAT_REASON = 'Tidings requested this delivery again to test the webhook';

/** The delivery ids of what polling read begin with it. */
export const POLLED_ID = 'poll-';

/** Why a delivery changes nothing that polling read before it. */
export const POLLED_REASON = 'Tidings polled this event before the webhook delivered it';

export type DeliveryStatus = Delivery['status'];
export const deliveryStatuses = ['processed', 'ignored', 'duplicate', 'rejected', 'failed'] as const;

/** True when the provider need not send the delivery again. */
export function isTaken(status: DeliveryStatus): boolean {
  return status === 'processed' || status === 'ignored' || status === 'duplicate';
}

/**
 * A processed entry as the triggers read it; null for an entry without data, such as a ping or a rejection.
 * `repositories` are those of its integration.
 */
export function toProcessed(
  entry: Delivery,
  repositories: readonly { id: string; fullName: string }[],
): ProcessedDelivery | null {
  const { status, referenceId, repositoryId, integrationId, integrationType, payload, createdAt } = entry;
  const { event, action, data } = payload;
  if (status !== 'processed' || data === null || event === null || action === null) return null;
  return {
    integrationId,
    integrationType,
    repositoryId,
    repository: repositories.find(({ id }) => id === repositoryId)?.fullName ?? null,
    deliveryId: referenceId ?? entry.id,
    receivedAt: createdAt,
    event,
    action,
    data,
  };
}

/** True when triggers can run the entry again. A replay is left out: its original is in the log too. */
export function isReplayable({ status, payload, replayOf }: Delivery): boolean {
  return status === 'processed' && payload.data !== null && replayOf === null;
}

export const WebhookReceived = Type.Object(
  {
    received: Type.Literal(true),
    message: Type.String({ description: 'A summary of the result.' }),
    data: Type.Optional(
      Type.Object(
        {
          event: Type.String({ description: 'The event, such as `push` or `ping`.' }),
          delivery: Type.String({ description: 'The delivery ID.' }),
          processed: Type.Optional(
            Type.Object(
              {
                type: Type.String({ description: 'Such as `release`.' }),
                action: Type.String({ description: 'Such as `published`.' }),
                data: Type.Record(Type.String(), Type.Unknown(), {
                  description: 'The main facts of the event.',
                }),
              },
              { description: 'Present for processed events.', additionalProperties: false },
            ),
          ),
          repository: Type.Optional(
            Type.Object(
              { id: Type.Integer(), fullName: Type.String({ description: 'owner/repository' }) },
              { description: 'Present when the event is about a repository.', additionalProperties: false },
            ),
          ),
        },
        { description: 'Present for processed events and pings.', additionalProperties: false },
      ),
    ),
  },
  {
    additionalProperties: false,
    description: 'The delivery was accepted: processed, ignored, or a duplicate.',
    examples: [
      {
        received: true,
        message: 'Processed release: published',
        data: {
          event: 'release',
          delivery: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
          processed: {
            type: 'release',
            action: 'published',
            data: {
              id: 250,
              tagName: 'v2.4.0',
              name: 'Rocket 2.4: quieter engines',
              body: '### Added\n\n- Quiet mode: engines start 40 % softer\n',
              isPrerelease: false,
              isDraft: false,
              author: 'ann',
              url: 'https://github.com/acme/rocket/releases/tag/v2.4.0',
              publishedAt: '2026-11-18T09:30:00Z',
              updatedAt: null,
              targetBranch: 'main',
              defaultBranch: 'main',
            },
          },
          repository: { id: 186853002, fullName: 'acme/rocket' },
        },
      },
      {
        received: true,
        message: 'Webhook configured successfully',
        data: { event: 'ping', delivery: '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
      },
      { received: true, message: `Duplicate delivery: ${DUPLICATE_REASON}` },
    ],
  },
);

// The path of a delivery: its address, the claim that keeps it from being processed twice, and its log entry.

type Row = typeof deliveries.$inferSelect;

/**
 * An entry of the log. `title` is one line for people, `statusCode` that of the HTTP response, and `durationMs` counts
 * from the arrival until the entry is written. `headers` are null when the sender was not verified.
 */
export type Delivery = Omit<Row, 'event' | 'action' | 'data' | 'bodyHash' | 'expiresAt'> & {
  payload: Pick<Row, 'event' | 'action' | 'data'>;
};

/** An entry to write, with the hash of its body when the sender was verified. */
export type NewDelivery = Delivery & { bodyHash: Buffer | null };

/** An entry to fill in, as of a delivery that arrived now. */
export function newEntry(
  ids: Ids,
  { id, organizationId, type, plan }: NonNullable<Awaited<ReturnType<typeof findAddress>>>['integration'],
  repositoryId: string | null,
  arrivedAt: Date,
): Omit<NewDelivery, 'title' | 'status' | 'reason'> {
  return {
    id: ids.newId('dlv'),
    organizationId,
    integrationId: id,
    integrationType: type,
    repositoryId,
    statusCode: 200,
    referenceId: null,
    payload: { event: null, action: null, data: null },
    count: 1,
    bodyHash: null,
    sameBodyAs: null,
    replayOf: null,
    isPolled: false,
    headers: null,
    durationMs: 0,
    retentionDays: retentionDaysOf[plan],
    createdAt: arrivedAt.toISOString(),
  };
}

export type Claim = 'claimed' | 'duplicate';

type Claimable = Pick<NewDelivery, 'integrationId' | 'referenceId'>;

/** The integration of a webhook's URL, with its sealed secrets, and the repository; null for what does not exist. */
export async function findAddress(tx: ReadTx, integrationId: string, repositoryId: string | null) {
  return (await statements(tx).address.get({ integrationId, repositoryId })) ?? null;
}

/**
 * Claims the delivery id for 24 hours of elapsed time, in one atomic statement; a claim that has expired is renewed. `nowMs`:
 * elapsed time.
 */
export async function claimDelivery(tx: WriteTx, delivery: Claimable, nowMs: number): Promise<Claim> {
  const { integrationId, referenceId } = delivery;
  const expiresAt = nowMs + DEDUP_WINDOW_MS;
  const id = { integrationId, deliveryId: referenceId ?? '' };
  const claimed = await statements(tx).claim.all({ ...id, now: nowMs, expiresAt });
  return claimed.length > 0 ? 'claimed' : 'duplicate';
}

/** The title of the delivery that holds the claim; null if the log no longer has it. */
export async function claimedTitle(
  tx: WriteTx,
  { integrationId, referenceId }: Claimable,
): Promise<string | null> {
  return (await statements(tx).title.get({ integrationId, referenceId }))?.title ?? null;
}

/** Lets the delivery id count as accepted for another 24 hours. */
export async function renewClaim(tx: WriteTx, { integrationId, referenceId }: Claimable, nowMs: number) {
  const expiresAt = nowMs + DEDUP_WINDOW_MS;
  const id = { integrationId, deliveryId: referenceId ?? '' };
  await statements(tx).claim.all({ ...id, now: expiresAt, expiresAt });
}

export async function insertDelivery(tx: WriteTx, entry: NewDelivery, now: Date): Promise<void> {
  await statements(tx).insert.run(toRow(entry, now));
}

/** Writes the entry of a delivery that was claimed, with the id of an earlier delivery that had the same body. */
export async function insertClaimed(tx: WriteTx, entry: NewDelivery, now: Date): Promise<void> {
  await statements(tx).insertClaimed.run(toRow(entry, now));
}

/** Writes an entry, or adds one arrival to the entry that has its id. */
export async function countDelivery(tx: WriteTx, entry: NewDelivery, now: Date): Promise<void> {
  await statements(tx).count.run(toRow(entry, now));
}

/** Deletes at most `limit` expired rows. Returns the number deleted. */
function deleteExpired(table: typeof deliveries | typeof deliveryClaims | typeof deliveryResults) {
  return async (tx: WriteTx, asOf: Date, limit: number): Promise<number> => {
    const { rowKey } = dialectOf(tx);
    const isExpired = lte(table.expiresAt, asOf.getTime());
    const expired = tx
      .select({ key: sql`${rowKey}` })
      .from(table)
      .where(isExpired)
      .limit(limit);
    // Checked again, because a delivery may renew its claim meanwhile: PostgreSQL before 18.1 keeps a row's old place.
    const isGone = and(isExpired, inArray(rowKey, expired));
    return (await tx.delete(table).where(isGone).returning({ deleted: sql`1` })).length;
  };
}

export const deleteExpiredClaims = deleteExpired(deliveryClaims);
export const deleteExpiredDeliveries = deleteExpired(deliveries);
export const deleteExpiredResults = deleteExpired(deliveryResults);

const statements = prepared((db) => {
  const values = placeholdersFor(getTableColumns(deliveries));
  const insert = () => db.insert(deliveries).values(values);
  const integrationId = sql.placeholder('integrationId');
  const referenceId = sql.placeholder('referenceId');
  const sameBody = db
    .select({ referenceId: deliveries.referenceId })
    .from(deliveries)
    .where(
      and(
        matching(deliveries, { integrationId: values.integrationId, bodyHash: values.bodyHash }),
        isNotNull(deliveries.bodyHash),
        ne(deliveries.referenceId, values.referenceId),
      ),
    )
    .limit(1);
  const { id, organizationId, type, enabled, secret, previousSecret, previousSecretUntil } = integrations;
  const { createdAt: _, ...repository } = getTableColumns(repositories);
  return {
    address: db
      .select({
        integration: {
          ...{ id, organizationId, type, enabled, secret, previousSecret, previousSecretUntil },
          plan: organizations.plan,
          /** Null without an App. */
          appId: apps.appId,
        },
        repository,
      })
      .from(integrations)
      .innerJoin(organizations, and(eq(organizations.id, integrations.organizationId), isLive))
      .leftJoin(apps, eq(apps.integrationId, integrations.id))
      .leftJoin(repositories, eq(repositories.id, sql.placeholder('repositoryId')))
      .where(eq(integrations.id, integrationId))
      .prepare(),
    insert: insert().prepare(),
    insertClaimed: db
      .insert(deliveries)
      .values({ ...values, sameBodyAs: sql`(${sameBody})` })
      .prepare(),
    count: insert()
      .onConflictDoUpdate({ target: deliveries.id, set: { count: sql`${deliveries.count} + 1` } })
      .prepare(),
    claim: db
      .insert(deliveryClaims)
      .values(placeholdersFor(getTableColumns(deliveryClaims)))
      .onConflictDoUpdate({
        target: [deliveryClaims.integrationId, deliveryClaims.deliveryId],
        set: { expiresAt: sql`excluded.expires_at` },
        setWhere: lte(deliveryClaims.expiresAt, sql.placeholder('now')),
      })
      .returning({ claimed: deliveryClaims.deliveryId })
      .prepare(),
    title: db
      .select({ title: deliveries.title })
      .from(deliveries)
      .where(
        and(
          matching(deliveries, { referenceId, integrationId }),
          or(eq(deliveries.status, 'processed'), eq(deliveries.status, 'ignored')),
        ),
      )
      .limit(1)
      .prepare(),
  };
});

function toRow(entry: NewDelivery, now: Date) {
  return { ...entry, ...entry.payload, expiresAt: now.getTime() + entry.retentionDays * DAY_MS };
}
