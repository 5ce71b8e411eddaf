import { and, desc, eq, gte, inArray, isNull, lt, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Storage } from '../../../db/engine.ts';
import { dialectOf, matching, type ReadTx } from '../../../db/engine.ts';
import { deliveries } from '../../../db/schema/integrations.ts';
import { deliveryResults } from '../../../db/schema/triggers.ts';
import { AppError } from '../../lib/app-error.ts';
import { isOfLive } from '../../people/organization-store.ts';
import type { IntegrationType } from '../../providers/index.ts';
import type { Delivery, DeliveryStatus } from './store.ts';

// Reading the log.

export type LogPosition = Pick<Delivery, 'createdAt' | 'id'>;

export interface LogFilter {
  integrationId?: string | undefined;
  integrationType?: IntegrationType | undefined;
  status?: DeliveryStatus | undefined;
  event?: string | undefined;
  /** The entry's id, or the provider's delivery id. */
  anyId?: string | undefined;
  /** In the title, or in a value of the payload. */
  text?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
  result?: ResultFilter | undefined;
  /** True: what polling read; false: what webhooks delivered. */
  isPolled?: boolean | undefined;
}

/** The result of a delivery, for any of the triggers. `none`: no trigger received it. */
export const resultFilters = ['draft', 'suggested', 'waiting', 'filtered', 'failed', 'none'] as const;
export type ResultFilter = (typeof resultFilters)[number];

/** The matching entries, newest first; `page` counts from 1. */
export async function listDeliveries(
  tx: ReadTx,
  organizationId: string,
  filter: LogFilter,
  { limit, page = 1 }: { limit: number; page?: number },
): Promise<Delivery[]> {
  const { within, since, until, beside } = logFilters(tx, organizationId, filter);
  const found = await listEntries(tx, and(within, since, until, beside), limit, (page - 1) * limit);
  return filter.text === undefined ? found : found.filter((entry) => hasText(entry, filter.text ?? ''));
}

async function listEntries(
  tx: ReadTx,
  where: SQL | undefined,
  limit: number,
  offset = 0,
): Promise<Delivery[]> {
  const rows = tx
    .select()
    .from(deliveries)
    .where(where)
    .orderBy(...newestFirst);
  return (await rows.limit(limit).offset(offset)).map(fromRow);
}

export interface LogPage {
  entries: Delivery[];
  /** The start of the next page; null at the end of the log. */
  next: LogPosition | null;
  /** True when the scan reached `MAX_SCANNED` before the page was full. */
  isCut: boolean;
}

/** Entries that one page scans at most, so that a rare filter is quick in any log. */
export const MAX_SCANNED = 20_000;

/** The entries whose titles and payloads one page reads at most for a text, and about how many bytes of payloads. */
export const MAX_SEARCHED = 1_000;
const MAX_SEARCHED_BYTES = 8_388_608;

/** The matching entries, newest first, older than `before`. */
export async function listLogPage(
  tx: ReadTx,
  organizationId: string,
  filter: LogFilter,
  { limit, before }: { limit: number; before?: LogPosition | null },
): Promise<LogPage> {
  const { text } = filter;
  const { within, since, until, beside } = logFilters(tx, organizationId, filter);
  // A position within the filter is the nearer bound.
  const from = before ? sql`${position} < (${before.createdAt}, ${before.id})` : until;
  const findEnd = text === undefined ? findScanEnd : findSearchEnd;
  const end = beside === undefined ? undefined : await findEnd(tx, and(within, from, since));
  // Pass the nearer lower bound alone: given both, SQLite walks the index to the further one.
  const down = end === undefined ? since : sql`${position} >= (${end.createdAt}, ${end.id})`;
  const where = and(within, from, down, beside);
  const found =
    text === undefined
      ? await listEntries(tx, where, limit + 1)
      : (await listEntries(tx, where, MAX_SEARCHED)).filter((entry) => hasText(entry, text));
  const entries = found.slice(0, limit);
  const isFull = found.length > limit;
  return { entries, next: (isFull ? entries.at(-1) : end) ?? null, isCut: !isFull && end !== undefined };
}

async function findScanEnd(tx: ReadTx, where: SQL | undefined): Promise<LogPosition | undefined> {
  return tx
    .select({ createdAt: deliveries.createdAt, id: deliveries.id })
    .from(deliveries)
    .where(where)
    .orderBy(...newestFirst)
    .limit(1)
    .offset(MAX_SCANNED - 1)
    .get();
}

async function findSearchEnd(tx: ReadTx, where: SQL | undefined): Promise<LogPosition | undefined> {
  const bytes = sql<number>`coalesce(octet_length(${deliveries.data}), 0)`.mapWith(Number);
  const rows = await tx
    .select({ createdAt: deliveries.createdAt, id: deliveries.id, bytes })
    .from(deliveries)
    .where(where)
    .orderBy(...newestFirst)
    .limit(MAX_SEARCHED)
    .all();
  let total = 0;
  const last = rows.findIndex((row) => {
    total += row.bytes;
    return total >= MAX_SEARCHED_BYTES;
  });
  return rows[last === -1 ? MAX_SEARCHED - 1 : last];
}

/** The processed entries of an integration since then, newest first, older than `before`. */
export function listProcessed(
  tx: ReadTx,
  integrationId: string,
  { since, before, limit }: { since: Date; before: LogPosition | null; limit: number },
): Promise<Delivery[]> {
  const isProcessed = and(
    eq(deliveries.integrationId, integrationId),
    gte(deliveries.createdAt, since.toISOString()),
    before ? sql`${position} < (${before.createdAt}, ${before.id})` : undefined,
    isToo(deliveries.status, 'processed'),
  );
  return listEntries(tx, isProcessed, limit);
}

const position = sql`(${deliveries.createdAt}, ${deliveries.id})`;
const newestFirst = [desc(deliveries.createdAt), desc(deliveries.id)];

const is = (column: SQLiteColumn, value: string | undefined) =>
  value === undefined ? undefined : eq(column, value);

/** As `is`. The cast keeps SQLite from choosing another index. */
const isToo = (column: SQLiteColumn, value: string | undefined) =>
  value === undefined ? undefined : sql`cast(${column} as text) = ${value}`;

/** Splits the filter: `within`, `since` and `until` follow one index in log order, `beside` checks each entry. */
function logFilters(
  tx: ReadTx,
  organization: string,
  { integrationId: integration, anyId, status, ...rest }: LogFilter,
) {
  const { organizationId, integrationId, integrationType } = deliveries;
  const since = rest.since && gte(deliveries.createdAt, rest.since.toISOString());
  const until = rest.until && lt(deliveries.createdAt, rest.until.toISOString());
  const others = and(
    is(integrationType, rest.integrationType),
    is(deliveries.event, rest.event),
    rest.isPolled === undefined ? undefined : eq(deliveries.isPolled, rest.isPolled),
    rest.result && hasResult(rest.result),
    rest.text === undefined ? undefined : mayHaveText(tx, rest.text),
  );
  if (anyId !== undefined) {
    const within = or(eq(deliveries.id, anyId), eq(deliveries.referenceId, anyId));
    const owners = and(isToo(organizationId, organization), isToo(integrationId, integration));
    return { within, since, until, beside: and(owners, is(deliveries.status, status), others) };
  }
  if (status !== undefined && status !== 'processed') {
    // Repeat the condition of the partial index exactly.
    const isProblem = sql`${deliveries.status} <> 'processed'`;
    const within = and(eq(organizationId, organization), eq(deliveries.status, status), isProblem);
    return { within, since, until, beside: and(isToo(integrationId, integration), others) };
  }
  const beside = and(isToo(deliveries.status, status), others);
  if (integration === undefined) return { within: eq(organizationId, organization), since, until, beside };
  const isOwn = isToo(organizationId, organization);
  const both = beside ? inOrder(beside, isOwn) : isOwn;
  return { within: eq(integrationId, integration), since, until, beside: both };
}

/** Both, the first one first: it reads an index, and the second one each entry that it lets through. */
const inOrder = (first: SQL, second: SQL | undefined) => sql`case when ${first} then ${second} end`;

function hasResult(result: ResultFilter): SQL {
  const isOfEntry = sql`${deliveryResults.deliveryId} = ${deliveries.id}`;
  if (result === 'none') {
    const hasNone = sql`${deliveries.status} = 'processed' and not exists (select 1 from ${deliveryResults} where ${isOfEntry})`;
    return inOrder(hasNone, sql`${deliveries.data} is not null`);
  }
  const outcomes = sql.raw(result === 'draft' ? "'created', 'updated'" : `'${result}'`);
  const isResult = sql`${deliveryResults.outcome} in (${outcomes})`;
  return sql`exists (select 1 from ${deliveryResults} where ${isOfEntry} and ${isResult})`;
}

/** By the entry's id, or by the provider's delivery id (its newest entry); null when the organization has none. */
export async function findDelivery(tx: ReadTx, organizationId: string, id: string): Promise<Delivery | null> {
  const [entry] = await listDeliveries(tx, organizationId, { anyId: id }, { limit: 1 });
  return entry ?? null;
}

/**
 * By the entry's id, or by the provider's delivery id: its newest entry. With `status`, arrivals of that status come
 * first: anybody can send a rejected delivery under any id. Throws `AppError` 404 `delivery_not_found`.
 */
export async function getDelivery(tx: ReadTx, id: string, status?: DeliveryStatus): Promise<Delivery> {
  const isFirst =
    status === undefined ? sql`1` : sql`${deliveries.status} = ${status} and ${deliveries.replayOf} is null`;
  const row = await tx
    .select()
    .from(deliveries)
    .where(
      and(or(eq(deliveries.id, id), eq(deliveries.referenceId, id)), isOfLive(deliveries.organizationId)),
    )
    .orderBy(desc(isFirst), ...newestFirst)
    .limit(1)
    .get();
  if (row === undefined) throw new AppError(404, `Delivery ${id} not found`, { code: 'delivery_not_found' });
  return fromRow(row);
}

/** The newest ping since `since`, of any repository when `repositoryId` is null. */
export async function findPing(
  tx: ReadTx,
  integrationId: string,
  repositoryId: string | null,
  since: Date,
): Promise<LogPosition | null> {
  const place = { integrationId, repositoryId: repositoryId ?? undefined };
  const isTaken = matching(deliveries, { ...place, event: 'ping', statusCode: 200 });
  const isPing = and(isTaken, gte(deliveries.createdAt, since.toISOString()));
  const [ping] = await listEntries(tx, isPing, 1);
  return ping ?? null;
}

/** The newest delivery of a provider since `since`, about any repository when it is null; tests of Tidings are none. */
export async function findWebhookDelivery(
  tx: ReadTx,
  integrationId: string,
  repositoryId: string | null,
  since: string,
): Promise<LogPosition | null> {
  const place = { integrationId, repositoryId: repositoryId ?? undefined };
  const isTaken = matching(deliveries, { ...place, statusCode: 200, isPolled: false });
  const isTakenSince = and(isTaken, gte(deliveries.createdAt, since), isNull(deliveries.replayOf));
  const entries = await listEntries(tx, isTakenSince, MAX_TESTS);
  return entries.find(({ headers }) => headers !== null && !isOwnTest(headers)) ?? null;
}

/** How many test deliveries in a row to look behind. */
const MAX_TESTS = 50;

/** The sender that Tidings names itself. */
const isOwnTest = (headers: Record<string, string>) => headers['user-agent']?.endsWith('/tidings') === true;

/** By the provider's delivery id: the newest entry of a delivery that was taken, else the newest. */
export async function listLogged(
  tx: ReadTx,
  integrationId: string,
  deliveryIds: readonly string[],
): Promise<Map<string, Pick<Delivery, 'id' | 'status' | 'reason'>>> {
  const { id, status, reason, referenceId, createdAt } = deliveries;
  const isOne = inArray(referenceId, dialectOf(tx).listed(deliveryIds));
  const entries = await tx
    .select({ id, status, reason, referenceId })
    .from(deliveries)
    .where(and(isOne, isToo(deliveries.integrationId, integrationId)))
    // Anybody can send a rejected delivery under any id, often.
    .orderBy(desc(sql`${status} in ('processed', 'ignored', 'duplicate')`), desc(createdAt))
    .limit(deliveryIds.length * 20);
  const best = new Map<string, Pick<Delivery, 'id' | 'status' | 'reason'>>();
  for (const { referenceId: deliveryId, ...entry } of entries) {
    if (deliveryId !== null && !best.has(deliveryId)) best.set(deliveryId, entry);
  }
  return best;
}

function fromRow(row: typeof deliveries.$inferSelect): Delivery {
  const { event, action, data, bodyHash: _, expiresAt: __, ...entry } = row;
  return { ...entry, payload: { event, action, data } };
}

// Text in titles and payloads. No index holds their words, which would slow each delivery down.

/** Letters of other scripts must be typed as they stand in the text: SQLite folds no others. */
const folded = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Narrows the entries to those that may have the text. A key of the payload may have it too; see `hasText`. */
function mayHaveText(tx: ReadTx, text: string): SQL | undefined {
  const { contains } = dialectOf(tx);
  const { title, data } = deliveries;
  const part = folded(text);
  // Payloads are stored as JSON.
  const inJson = folded(JSON.stringify(text).slice(1, -1));
  return or(contains(sql`lower(${title})`, part), contains(sql`lower(${data})`, inJson));
}

/** True when the title or a value of the payload has the text. */
function hasText({ title, payload }: Pick<Delivery, 'title' | 'payload'>, text: string): boolean {
  const part = folded(text);
  const has = (value: unknown): boolean =>
    typeof value === 'object' && value !== null
      ? Object.values(value).some(has)
      : folded(String(value ?? '')).includes(part);
  return has(title) || has(payload.data);
}

/** Pages of the log that a search reads at most. Others get turns between two. */
export const MAX_STEPS = 20;

/**
 * The entries with `text`, as `listLogPage`; it may also be an id. `isCut`: the search ended at `next` before the page was
 * full.
 */
export async function searchLog(
  { read }: Pick<Storage, 'read'>,
  organizationId: string,
  { text, ...filter }: LogFilter & { text: string },
  { limit, before = null }: { limit: number; before?: LogPosition | null },
): Promise<LogPage> {
  const named = await read((tx) =>
    listLogPage(tx, organizationId, { ...filter, anyId: filter.anyId ?? text }, { limit, before }),
  );
  if (named.entries.length > 0) return named;
  const entries: Delivery[] = [];
  let from = before;
  for (let step = 1; ; step++) {
    const rest = { limit: limit - entries.length, before: from };
    const page = await read((tx) => listLogPage(tx, organizationId, { ...filter, text }, rest), {
      isLong: true,
    });
    entries.push(...page.entries);
    if (!page.isCut || step === MAX_STEPS) return { ...page, entries };
    from = page.next;
  }
}
