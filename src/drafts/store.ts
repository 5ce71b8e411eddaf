import { and, desc, eq, exists, gte, like, lt, min, or, type SQLWrapper, sql } from 'drizzle-orm';
import { drafts, events, posts, triggers } from '../../db/schema/index.ts';
import type { ReadTx as Database } from '../../db/storage.ts';
import type { EventSource, EventType } from '../events/model.ts';
import type { Post } from '../posts/model.ts';

// Synchronous, all of it: a draft's row and its post change in one transaction, which the caller makes.

/** What is known of a draft that a trigger wrote. */
export type DraftRow = typeof drafts.$inferSelect;

/** What names a draft. */
export type DraftName = Pick<DraftRow, 'triggerId' | 'scope' | 'subject'>;

export function findDraft(db: Database, name: DraftName): DraftRow | null {
  return db.select().from(drafts).where(isNamed(name)).get() ?? null;
}

export function findDraftOfPost(db: Database, postId: string): DraftRow | null {
  return db.select().from(drafts).where(eq(drafts.postId, postId)).get() ?? null;
}

/** How many drafts are asked what they come from: the newest. */
const MAX_ASKED = 2_000;

/** What a draft must tell of. */
export interface Telling {
  /** An event, as the draft's keys name it. */
  key: string;
  /** Where subjects follow each other; null where the key says enough. */
  scope: string | null;
  /** Only drafts of triggers of this event; null for all. */
  event: EventType | null;
}

/**
 * The posts of an organization that name a delivery of an integration as where they come from, or whose drafts tell
 * of its event; newest first.
 */
export function listPostsOfDelivery(
  db: Database,
  organizationId: string,
  integrationId: string,
  deliveryId: string,
  telling: Telling | null,
): Pick<Post, 'id' | 'title' | 'status' | 'contentType' | 'updatedAt'>[] {
  const newest = db
    .select({ postId: drafts.postId, scope: drafts.scope, event: triggers.event })
    .from(drafts)
    .innerJoin(triggers, eq(triggers.id, drafts.triggerId))
    .where(eq(triggers.integrationId, integrationId))
    .orderBy(desc(drafts.until))
    .limit(MAX_ASKED)
    .as('newest');
  const { id, title, status, contentType, updatedAt, sourceMetadata } = posts;
  const isNamedByIt = sql`json_extract(${sourceMetadata}, '$.deliveryId') = ${deliveryId}`;
  const tellsOfIt =
    telling === null
      ? undefined
      : and(
          telling.scope === null ? undefined : eq(newest.scope, telling.scope),
          telling.event === null ? undefined : eq(newest.event, telling.event),
          tellsOf(db, newest.postId, telling.key),
        );
  return db
    .select({ id, title, status, contentType, updatedAt })
    .from(newest)
    .innerJoin(posts, eq(posts.id, newest.postId))
    .where(
      and(
        // The plus sign keeps SQLite from reading all posts of the organization to find these few among them.
        sql`+${posts.organizationId} = ${organizationId}`,
        or(isNamedByIt, tellsOfIt),
      ),
    )
    .orderBy(desc(updatedAt), desc(id))
    .limit(50)
    .all();
}

/** The keys are looked through as they are stored: a quoted text stands in JSON only where it is an element. */
function tellsOf(db: Database, postId: SQLWrapper, key: string) {
  const holdsKey = sql`instr(${drafts.eventKeys}, ${JSON.stringify(key)}) > 0`;
  const telling = db.select({ postId: drafts.postId }).from(drafts);
  return exists(telling.where(and(sql`${drafts.postId} = ${postId}`, holdsKey)));
}

/** A new row, or a new state of one. */
export function saveDraft(db: Database, row: DraftRow): void {
  const { triggerId, scope, subject, ...state } = row;
  db.insert(drafts)
    .values(row)
    .onConflictDoUpdate({ target: [drafts.triggerId, drafts.scope, drafts.subject], set: state })
    .run();
}

export function renameDraft(
  db: Database,
  name: DraftName,
  changes: Partial<Pick<DraftName, 'scope' | 'subject'>>,
): void {
  db.update(drafts).set(changes).where(isNamed(name)).run();
}

/** The draft of a release under another branch of the repository. */
export function findDraftOfBranch(
  db: Database,
  { triggerId, subject }: DraftName,
  repositoryId: string,
): DraftRow | null {
  const isOfRepository = and(gte(drafts.scope, `${repositoryId} `), lt(drafts.scope, `${repositoryId}!`));
  const isSame = and(eq(drafts.triggerId, triggerId), eq(drafts.subject, subject));
  return db.select().from(drafts).where(and(isSame, isOfRepository)).get() ?? null;
}

export function deleteDraft(db: Database, name: DraftName): void {
  db.delete(drafts).where(isNamed(name)).run();
}

/** Whether the trigger is still there: it may be deleted while its drafts are made. */
export function isTriggerThere(db: Database, triggerId: string): boolean {
  return db.select({ id: triggers.id }).from(triggers).where(eq(triggers.id, triggerId)).get() !== undefined;
}

/** The subject that a rolling draft takes once a person has published or deleted it. */
export function closedSubject(postId: string): string {
  return `${CLOSED}${postId}`;
}

const CLOSED = 'closed ';

/**
 * How long before the last rolling draft's end events are still looked for: longer than any delivery is late, or is
 * kept to be run again.
 */
const OVERLAP = '-35 days';

/** What the drafts of a scope tell. */
export interface Told {
  /** The events of rolling drafts that a person has published or deleted. */
  keys: ReadonlySet<string>;
  /** Since when events may be new to the scope. */
  since: string | undefined;
  /** When the oldest event of these drafts happened; null when they tell of none. */
  oldestOf(subjects: readonly string[]): string | null;
}

/** Reads what the drafts of a scope tell; `source` is where their events happened. */
export function listTold(
  db: Database,
  source: Pick<EventSource, 'integrationId' | 'repositoryId'>,
  { triggerId, scope }: Pick<DraftRow, 'triggerId' | 'scope'>,
): Told {
  const oldestOf = (subjects: readonly string[]) => oldestEvent(db, source, { triggerId, scope }, subjects);
  const isClosed = and(
    eq(drafts.triggerId, triggerId),
    eq(drafts.scope, scope),
    like(drafts.subject, `${CLOSED}%`),
  );
  const since = db
    .select({ since: sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', ${drafts.until}, ${OVERLAP})` })
    .from(drafts)
    .where(isClosed)
    .orderBy(desc(drafts.until))
    .limit(1)
    .get()?.since;
  if (since === undefined) return { keys: new Set(), since, oldestOf };
  const rows = db
    .select({ eventKeys: drafts.eventKeys })
    .from(drafts)
    .where(and(isClosed, gte(drafts.until, since)))
    .all();
  return { keys: new Set(rows.flatMap(({ eventKeys }) => eventKeys)), since, oldestOf };
}

function oldestEvent(
  db: Database,
  { integrationId, repositoryId }: Pick<EventSource, 'integrationId' | 'repositoryId'>,
  { triggerId, scope }: Pick<DraftRow, 'triggerId' | 'scope'>,
  subjects: readonly string[],
): string | null {
  const isOneOf = sql`${drafts.subject} in (select value from json_each(${JSON.stringify(subjects)}))`;
  const rows = db
    .select({ eventKeys: drafts.eventKeys, suggestion: drafts.suggestion })
    .from(drafts)
    .where(and(eq(drafts.triggerId, triggerId), eq(drafts.scope, scope), isOneOf))
    .all();
  const keys = rows.flatMap(({ eventKeys, suggestion }) => [...eventKeys, ...(suggestion?.eventKeys ?? [])]);
  const isTold = sql`(${events.type}, ${events.key}) in (
    select substr(value, 1, instr(value, ' ') - 1), substr(value, instr(value, ' ') + 1)
    from json_each(${JSON.stringify(keys)}))`;
  const isOfSource = and(
    eq(events.integrationId, integrationId),
    eq(events.repositoryId, repositoryId ?? ''),
  );
  const row = db
    .select({ oldest: min(events.occurredAt) })
    .from(events)
    .where(and(isOfSource, isTold))
    .get();
  return row?.oldest ?? null;
}

function isNamed({ triggerId, scope, subject }: DraftName) {
  return and(eq(drafts.triggerId, triggerId), eq(drafts.scope, scope), eq(drafts.subject, subject));
}
