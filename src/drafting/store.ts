import { and, count, desc, eq, gte, inArray, lt, min, ne, or, sql } from 'drizzle-orm';
import { dialectOf, matching, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { events, integrations } from '../../db/schema/integrations.ts';
import { posts } from '../../db/schema/posts.ts';
import { drafts, triggers } from '../../db/schema/triggers.ts';
import { DAY_MS } from '../lib/time.ts';
import type { ContentType, Post } from '../posts/model.ts';
import { type Event, type EventSource, type EventType, eventTypes } from '../providers/events.ts';
import type { IntegrationType } from '../providers/ids.ts';
import type { EntryRules, LeftOut } from './changes/rules.ts';

export type DraftRow = typeof drafts.$inferSelect;

/** The primary key of a draft. */
export type DraftName = Pick<DraftRow, 'triggerId' | 'scope' | 'subject'>;

export async function findDraft(tx: ReadTx, name: DraftName): Promise<DraftRow | null> {
  return (await tx.select().from(drafts).where(isNamed(name)).get()) ?? null;
}

export async function findDraftOfPost(tx: ReadTx, postId: string): Promise<DraftRow | null> {
  return (await tx.select().from(drafts).where(eq(drafts.postId, postId)).get()) ?? null;
}

/** The draft with this subject under another branch of the repository. */
export async function findDraftOfRepository(
  tx: ReadTx,
  { triggerId, scope, subject }: DraftName,
  repositoryId: string,
): Promise<DraftRow | null> {
  const isElsewhere = and(ne(drafts.scope, scope), isOfRepository(repositoryId));
  const isWanted = and(matching(drafts, { triggerId, subject }), isElsewhere);
  return (await tx.select().from(drafts).where(isWanted).get()) ?? null;
}

const isOfRepository = (id: string) => and(gte(drafts.scope, `${id} `), lt(drafts.scope, `${id}!`));

/** How many posts a trigger has made, deleted ones included. */
export function countDrafts(tx: ReadTx, triggerId: string): Promise<number> {
  return tx.$count(drafts, eq(drafts.triggerId, triggerId));
}

/** The newest post of a trigger; null without one. */
export async function findLastPost(
  tx: ReadTx,
  triggerId: string,
): Promise<Pick<Post, 'id' | 'title' | 'status' | 'createdAt'> | null> {
  const { id, title, status, createdAt } = posts;
  const newest = tx
    .select({ id, title, status, createdAt })
    .from(drafts)
    .innerJoin(posts, eq(id, drafts.postId))
    .where(eq(drafts.triggerId, triggerId))
    .orderBy(desc(createdAt), desc(id));
  return (await newest.limit(1).get()) ?? null;
}

/** The posts that a trigger has made of a repository, newest first, and how many there are. */
export async function listPostsOfTrigger(
  tx: ReadTx,
  { triggerId, repositoryId }: { triggerId: string; repositoryId: string },
  { status, limit }: { status?: Post['status']; limit: number },
): Promise<{ posts: Pick<Post, 'id' | 'title' | 'status' | 'createdAt'>[]; totalItems: number }> {
  const isOfPlace = and(eq(drafts.triggerId, triggerId), isOfRepository(repositoryId));
  const isWanted = and(isOfPlace, matching(posts, { status }));
  const { id, title, createdAt } = posts;
  const isOfDraft = eq(posts.id, drafts.postId);
  const listed = await tx
    .select({ id, title, status: posts.status, createdAt })
    .from(drafts)
    .innerJoin(posts, isOfDraft)
    .where(isWanted)
    .orderBy(desc(createdAt), desc(id))
    .limit(limit);
  const counted = await tx
    .select({ totalItems: count() })
    .from(drafts)
    .innerJoin(posts, isOfDraft)
    .where(isWanted)
    .get();
  return { posts: listed, totalItems: counted?.totalItems ?? 0 };
}

/**
 * The posts of a scope's drafts by subject. `source`: of the text that the trigger has written last; null where another
 * text waits as a suggestion.
 */
export async function readSources(
  tx: ReadTx,
  { triggerId, scope }: Pick<DraftRow, 'triggerId' | 'scope'>,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, Pick<DraftRow, 'postId' | 'source'>>> {
  const { subject, postId, suggestion, source } = drafts;
  const shown = sql<string | null>`case when ${suggestion} is null then ${source} end`;
  const isOneOf = inArray(subject, dialectOf(tx).listed(subjects));
  const rows = await tx
    .select({ subject, postId, source: shown })
    .from(drafts)
    .where(and(matching(drafts, { triggerId, scope }), isOneOf));
  return new Map(rows.map(({ subject, ...draft }) => [subject, draft]));
}

/** Inserts the draft, or replaces its state. */
export async function saveDraft(tx: WriteTx, row: DraftRow): Promise<void> {
  const target = [drafts.triggerId, drafts.scope, drafts.subject];
  await tx.insert(drafts).values(row).onConflictDoUpdate({ target, set: row });
}

export async function renameDraft(
  tx: WriteTx,
  name: DraftName,
  changes: Partial<Pick<DraftName, 'scope' | 'subject'>>,
): Promise<void> {
  await tx.update(drafts).set(changes).where(isNamed(name));
}

export async function deleteDraft(tx: WriteTx, name: DraftName): Promise<void> {
  await tx.delete(drafts).where(isNamed(name));
}

function isNamed({ triggerId, scope, subject }: DraftName) {
  return matching(drafts, { triggerId, scope, subject });
}

/**
 * An organization's posts that include the event of a delivery, newest first. `content` is the event: its key in drafts,
 * the scope where that is not unique, and the only event of triggers whose drafts count.
 */
export async function listPostsOfDelivery(
  tx: ReadTx,
  organizationId: string,
  integrationId: string,
  content: { key: string; scope: string | null; event: EventType | null },
): Promise<Pick<Post, 'id' | 'title' | 'status' | 'contentType' | 'updatedAt'>[]> {
  const { id, title, status, contentType, updatedAt } = posts;
  return await tx
    .select({ id, title, status, contentType, updatedAt })
    .from(triggers)
    .innerJoin(drafts, eq(drafts.triggerId, triggers.id))
    .innerJoin(posts, eq(posts.id, drafts.postId))
    .where(
      and(
        eq(triggers.integrationId, integrationId),
        content.event === null ? undefined : eq(triggers.event, content.event),
        content.scope === null ? undefined : eq(drafts.scope, content.scope),
        // Search the JSON: a quoted text occurs there only as such.
        dialectOf(tx).contains(drafts.eventKeys, JSON.stringify(content.key)),
        // The cast keeps SQLite from reading all posts of the organization to find these few.
        sql`cast(${posts.organizationId} as text) = ${organizationId}`,
      ),
    )
    .orderBy(desc(updatedAt), desc(id))
    .limit(50);
}

/** Limits the drafts that are searched for names: the newest. */
const MAX_SEARCHED = 2_000;

/** The drafts of an integration's organization with one of these event keys, in the order of triggers and scopes. */
export async function listDraftsNaming(
  tx: ReadTx,
  integrationId: string,
  eventKeys: readonly string[],
): Promise<Pick<DraftRow, 'triggerId' | 'scope' | 'until'>[]> {
  const own = tx
    .select({ id: integrations.organizationId })
    .from(integrations)
    .where(eq(integrations.id, integrationId));
  const newest = tx
    .select({ triggerId: drafts.triggerId, scope: drafts.scope, until: drafts.until, keys: drafts.eventKeys })
    .from(drafts)
    .innerJoin(triggers, eq(triggers.id, drafts.triggerId))
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(and(inArray(integrations.organizationId, own), eq(triggers.enabled, true)))
    .orderBy(desc(drafts.until))
    .limit(MAX_SEARCHED)
    .as('newest');
  const { contains } = dialectOf(tx);
  const named = eventKeys.map((each) => contains(newest.keys, JSON.stringify(each)));
  return tx
    .select({ triggerId: newest.triggerId, scope: newest.scope, until: newest.until })
    .from(newest)
    .where(or(...named))
    .orderBy(newest.triggerId, newest.scope);
}

/** The subject that a rolling draft takes when a person publishes or deletes it. */
export function closedSubject(postId: string): string {
  return `${CLOSED}${postId}`;
}

const CLOSED = 'closed ';

/** Longer than a delivery can be late: how far before the end of the last closed draft to look for events. */
const OVERLAP_MS = 35 * DAY_MS;

/** The drafts of one scope, as plans read them. */
export interface ScopeDrafts {
  /** The event keys of rolling drafts that a person has published or deleted. */
  closedKeys: ReadonlySet<string>;
  /** Closed drafts have all events before this time; absent when there are none. */
  since: string | undefined;
  /** The time of the oldest event of these drafts; null when they have none. */
  oldestEvent(subjects: readonly string[]): Promise<string | null>;
}

/** As if there were none. */
export const noDrafts: ScopeDrafts = {
  closedKeys: new Set(),
  since: undefined,
  oldestEvent: async () => null,
};

/** `source` is the place of the scope's events. */
export async function readScope(
  tx: ReadTx,
  source: Pick<EventSource, 'integrationId' | 'repositoryId'>,
  { triggerId, scope }: Pick<DraftRow, 'triggerId' | 'scope'>,
): Promise<ScopeDrafts> {
  const isOfScope = matching(drafts, { triggerId, scope });
  const isClosed = and(isOfScope, gte(drafts.subject, CLOSED), lt(drafts.subject, 'closed!'));
  const last = await tx
    .select({ until: drafts.until })
    .from(drafts)
    .where(isClosed)
    .orderBy(desc(drafts.until))
    .limit(1)
    .get();
  const since = last && new Date(Date.parse(last.until) - OVERLAP_MS).toISOString();
  const recent =
    since === undefined
      ? []
      : await tx
          .select({ eventKeys: drafts.eventKeys })
          .from(drafts)
          .where(and(isClosed, gte(drafts.until, since)));
  return {
    closedKeys: new Set(recent.flatMap(({ eventKeys }) => eventKeys)),
    since,
    async oldestEvent(subjects) {
      const isOneOf = inArray(drafts.subject, dialectOf(tx).listed(subjects));
      const rows = await tx
        .select({ eventKeys: drafts.eventKeys, suggestion: drafts.suggestion })
        .from(drafts)
        .where(and(isOfScope, isOneOf));
      const keys = rows.flatMap((row) => [...row.eventKeys, ...(row.suggestion?.eventKeys ?? [])]);
      const place = { integrationId: source.integrationId, repositoryId: source.repositoryId ?? '' };
      // Drafts also name commits and identifiers.
      const named = keys.map(parseEventKey).filter(({ type }) => eventTypes.includes(type));
      const byType = Map.groupBy(named, ({ type }) => type);
      // One statement for each type: SQLite would read all events of the source for an OR of them.
      const found = byType.entries().map(([type, ofType]) => {
        const hasKey = inArray(events.key, dialectOf(tx).listed(ofType.map(({ key }) => key)));
        return tx
          .select({ time: min(events.occurredAt) })
          .from(events)
          .where(and(matching(events, { ...place, type }), hasKey))
          .get();
      });
      const times = (await Promise.all(found)).flatMap((row) => row?.time ?? []);
      return times.sort()[0] ?? null;
    },
  };
}

/** Splits the key of an event in drafts: its type, a space, and its own key. */
function parseEventKey(eventKey: string): { type: EventType; key: string } {
  const space = eventKey.indexOf(' ');
  return { type: eventKey.slice(0, space) as EventType, key: eventKey.slice(space + 1) };
}

export type Shipped<Type extends EventType> = Extract<Event, { type: Type }>;

/** The events of a draft, and nothing else. The same material gives the same text. */
export interface Material {
  /** `owner/name`, or null for an issue tracker. */
  repository: string | null;
  branch: string | null;
  /** `branch` is the repository's default one, which titles leave out. */
  isDefaultBranch: boolean;
  /** The release that the draft announces, or that closed it. */
  release: Shipped<'release'> | null;
  /** The tag before it. */
  previousTag: string | null;
  pushes: Shipped<'push'>[];
  pullRequests: Shipped<'pull_request'>[];
  issues: Shipped<'issue'>[];
  /** The completed issues that its commits and pull requests name. */
  linked: Shipped<'issue'>[];
  project: Shipped<'project'> | null;
  update: Shipped<'project_update'> | null;
  /** The team or project of a rolling draft. */
  team: { id: string; name: string } | null;
  inProject: { id: string; name: string } | null;
  /** Only of a roundup, which has nothing else. */
  roundup?: RoundupMaterial;
}

export interface RoundupMaterial {
  id: string;
  name: string;
  /** In words, such as `November 27, 2026`. */
  date: string;
  /** Without any change: no text, or one that says so. */
  whenEmpty: 'skip' | 'line';
  /** A repository or a team each. */
  sections: { name: string; material: Material }[];
}

/** In Liquid; null is the built-in one. */
export interface OwnTemplates {
  titleTemplate: string | null;
  bodyTemplate: string | null;
}

/** How to compose the material. */
export interface Recipe extends OwnTemplates {
  /** Null for a draft that no trigger makes. */
  triggerId: string | null;
  /** Null for several. */
  platform: IntegrationType | null;
  event: EventType;
  contentType: ContentType;
  entries?: EntryRules;
}

export interface DraftText {
  title: string;
  markdown: string;
  content: string;
  sourceMetadata: Record<string, unknown>;
}

/** A draft, or null where none of its changes is listed, and what it does not list. */
export interface Composition {
  text: DraftText | null;
  leftOut: LeftOut[];
}

/** Rejects with `TemplateError`, or when it takes too long. */
export type Compose = (recipe: Recipe, material: Material) => Promise<Composition>;

/** A newer text beside a post that a person has edited or published. */
export interface Suggestion {
  postId: string;
  title: string;
  markdown: string;
  content: string;
  /** ISO 8601. */
  suggestedAt: string;
  /** From the post as it is to the suggestion, as `compareTexts` returns them. */
  changes: SuggestedLine[] | null;
}

export interface SuggestedLine {
  kind: 'same' | 'removed' | 'added';
  line: string;
}
