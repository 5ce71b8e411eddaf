import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import { dialectOf, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { identities, memberships, organizations } from '../../db/schema/organizations.ts';
import { postApprovals, postSchedules, posts, postVersions } from '../../db/schema/posts.ts';
import { AppError } from '../lib/app-error.ts';
import type { Ids } from '../lib/text.ts';
import { type Actor, type AuditContext, describeActor } from '../people/audit.ts';
import { isLive } from '../people/organization-store.ts';
import { type Member, mailboxOf, mayPublish, onlyPublishers } from '../people/permission.ts';
import { findMember, listMembers } from '../people/store.ts';
import type { OwnedPost } from './model.ts';
import { recordPost } from './store.ts';
import { latestVersion, listTexts, settleVersion } from './versions.ts';

// If publishing needs a second person, one person asks for the approval of a text, and another one gives it. It holds for
// exactly that text. Every way to publish asks here, in the transaction that writes. `approval-requests.ts` has what people do.

export type Approval = typeof postApprovals.$inferSelect;

/** A hash of all that readers see of a post. Without a date of its own, it gets that of its publication. */
export function hashOfSeen(post: Omit<OwnedPost, 'id' | 'status' | 'updatedAt' | 'organizationId'>): string {
  const { title, content, markdown, contentType, sourceMetadata, isDateSet, createdAt } = post;
  const seen = [title, content, markdown, contentType, sourceMetadata, isDateSet ? createdAt : null];
  return Bun.SHA256.hash(JSON.stringify(seen), 'base64url');
}

export interface Rules {
  organizationName: string;
  needsApproval: boolean;
  /** The actor may only write drafts. */
  isWriter: boolean;
  isScheduled: boolean;
}

const NO_RULES = { organizationName: '', needsApproval: false, isWriter: false, isScheduled: false };

/** The rules for the actor, about a post or about the posts of an organization. */
export async function rulesOf(
  tx: ReadTx,
  { actor }: { actor: Pick<Actor, 'type' | 'id'> },
  { id: postId = '', organizationId = null }: { id?: string; organizationId?: string | null },
): Promise<Rules> {
  const userId = actor.type === 'user' ? (actor.id ?? '') : '';
  const found = await statements(tx).rules.get({ postId, organizationId, userId });
  if (found === undefined) return NO_RULES;
  const { name: organizationName, needsApproval, role, scheduledId } = found;
  return { organizationName, needsApproval, isWriter: role === 'writer', isScheduled: scheduledId !== null };
}

/**
 * Throws unless the post may become public as it is: `AppError` 403 for a writer, 409 `approval_needed`. `published`: the post
 * with the date that it gets, which is approved too. An operator may skip the approval, which then counts as given.
 */
export async function requireApproved(
  tx: WriteTx,
  deps: AuditContext,
  post: OwnedPost,
  published = post,
): Promise<void> {
  const { needsApproval, isWriter, organizationName } = await rulesOf(tx, deps, post);
  if (isWriter) throw onlyPublishers(organizationName);
  if (!needsApproval) return;
  if (!(await isApproved(tx, post))) {
    if (deps.skipsApproval !== true) throw approvalNeeded();
    await skip(tx, deps, post);
  }
  await tx
    .update(postApprovals)
    .set({ hash: hashOfSeen(published) })
    .where(eq(postApprovals.postId, post.id))
    .run();
}

/** Throws `AppError` 403 where a writer would take away, or move, what is public or scheduled. */
export async function requirePublisher(tx: ReadTx, deps: AuditContext, post: OwnedPost): Promise<void> {
  if (deps.actor.type !== 'user') return;
  const { isWriter, isScheduled, organizationName } = await rulesOf(tx, deps, post);
  if (isWriter && (post.status === 'published' || isScheduled)) throw onlyPublishers(organizationName);
}

async function skip(tx: WriteTx, deps: AuditContext, post: OwnedPost): Promise<void> {
  const now = deps.clock.now().toISOString();
  const operator = describeActor(deps.actor);
  await saveApproval(tx, {
    ...{ postId: post.id, organizationId: post.organizationId, state: 'approved', change: null, note: null },
    ...{ hash: hashOfSeen(post), versionId: (await latestVersion(tx, post.id))?.id ?? '' },
    ...{ askedById: null, askedBy: operator, askedAt: now },
    ...{ decidedById: null, decidedBy: operator, decidedAt: now },
  });
  await recordPost(tx, deps, 'post.approval_skipped', post);
}

function approvalNeeded(): AppError {
  return new AppError(409, 'Publishing needs a second person here, and nobody has approved this text', {
    code: 'approval_needed',
  });
}

/** Somebody approved the post as it is, and may still do so. */
export async function isApproved(tx: ReadTx, post: OwnedPost): Promise<boolean> {
  const approval = await findApproval(tx, post.id);
  if (approval?.state !== 'approved' || !(await isOfText(tx, approval, post))) return false;
  const { decidedById: userId, organizationId } = approval;
  return userId === null || (await mayApprove(tx, { userId, organizationId }));
}

export async function mayApprove(
  tx: ReadTx,
  key: { userId: string; organizationId: string },
): Promise<boolean> {
  const member = await findMember(tx, key);
  return member !== null && isApprover(member);
}

/** The post did not change since. */
export async function isOfText(tx: ReadTx, approval: Approval, post: OwnedPost): Promise<boolean> {
  const { versionId, hash, change } = approval;
  const latest = await latestVersion(tx, post.id);
  return versionId === (latest?.id ?? '') && hash === hashOfSeen({ ...post, ...change });
}

/**
 * For a change of a post, before it is written. True: the post is public and the change waits for approval, so it must not be
 * written. Throws `AppError` 403 for a writer who would change what is public or scheduled, 409 `change_waiting` beside the change of
 * somebody else, and 409 `approval_needed` where no person makes the change.
 */
export async function holdChange(
  tx: WriteTx,
  deps: AuditContext & { readonly ids: Ids },
  before: OwnedPost,
  after: OwnedPost,
  known?: Rules,
): Promise<boolean> {
  const { needsApproval, isWriter, isScheduled, organizationName } =
    known ?? (await rulesOf(tx, deps, before));
  const isPublic = before.status === 'published';
  if (!needsApproval) {
    if (isWriter && (isPublic || isScheduled)) throw onlyPublishers(organizationName);
    return false;
  }
  if (!isPublic || after.status !== 'published') return false;
  const waiting = await findApproval(tx, before.id);
  const isOwn = waiting?.askedById === deps.actor.id;
  if (hashOfSeen(before) === hashOfSeen(after)) {
    if (isOwn && waiting?.change != null) await withdraw(tx, deps, before, waiting);
    return false;
  }
  if (deps.skipsApproval) {
    await recordPost(tx, deps, 'post.approval_skipped', before);
    return false;
  }
  if (deps.actor.type !== 'user') throw approvalNeeded();
  const isChange = waiting?.state === 'waiting' && waiting.change !== null;
  if (isChange && !isOwn && (await isOfText(tx, waiting, before))) {
    const message = `A change by ${waiting.askedBy} waits for approval. Somebody must approve or decline it first`;
    throw new AppError(409, message, { code: 'change_waiting' });
  }
  await ask(tx, deps, before, after);
  return true;
}

/**
 * Asks for the approval of a draft, or of a change of a published post. Where no person asks, a request for the same text stays,
 * also one that somebody declined.
 */
export async function ask(
  tx: WriteTx,
  deps: AuditContext & { readonly ids: Ids },
  post: OwnedPost,
  changed?: OwnedPost,
): Promise<void> {
  const { actor, clock } = deps;
  const isPerson = actor.type === 'user';
  const known = await findApproval(tx, post.id);
  const isOpen = known?.state === 'waiting' || known?.state === 'declined';
  if (!isPerson && isOpen && (await isOfText(tx, known, post))) return;
  const { title, markdown, content, contentType } = changed ?? post;
  await saveApproval(tx, {
    ...{ postId: post.id, organizationId: post.organizationId, state: 'waiting', note: null },
    change: changed === undefined ? null : { title, markdown, content, contentType },
    hash: hashOfSeen({ ...post, title, markdown, content, contentType }),
    versionId: (await settleVersion(tx, deps, post)).id,
    ...{ askedById: isPerson ? actor.id : null, askedBy: describeActor(actor) },
    ...{ askedAt: clock.now().toISOString(), decidedById: null, decidedBy: null, decidedAt: null },
  });
  const verb = changed === undefined ? 'asked to approve' : 'asked to approve a change of';
  await recordPost(tx, deps, 'post.approval_requested', post, { verb });
}

/** Takes back a request, and forgets the change that it is about. */
export async function withdraw(
  tx: WriteTx,
  deps: AuditContext,
  post: OwnedPost,
  approval: Approval,
): Promise<void> {
  await decide(tx, deps, approval, { state: 'withdrawn', change: null });
  await recordPost(tx, deps, 'post.approval_withdrawn', post);
}

/** A person as a version or a request names them. */
interface Person {
  id: string | null;
  email: string | null;
}

const textOf = ({ title, markdown, contentType }: Record<'title' | 'markdown' | 'contentType', string>) =>
  JSON.stringify([title, markdown, contentType]);

/**
 * The people who asked, and those who changed the post since readers last saw it. A text that was there before, and
 * comes back, brings its authors with it.
 */
async function listAuthors(
  tx: ReadTx,
  { postId, change, askedById, askedBy }: Approval,
): Promise<readonly Person[]> {
  type Authors = ReadonlyMap<string, Person>;
  const none: Authors = new Map();
  const authorsOf = new Map<string, Authors>();
  let authors = none;
  for (const version of await listTexts(tx, postId)) {
    const { actorType, actorId: id, actorName: email } = version;
    const author = actorType === 'user' ? [[`${id} ${email}`, { id, email }] as const] : [];
    authors = new Map([...authors, ...(authorsOf.get(textOf(version)) ?? none), ...author]);
    // Others than its authors stand behind it.
    if (version.reached === 'published') authors = none;
    authorsOf.set(textOf(version), authors);
  }
  if (change !== null) authors = authorsOf.get(textOf(change)) ?? none;
  const asker = askedById === null ? [] : [{ id: askedById, email: askedBy }];
  return [...asker, ...authors.values()];
}

/**
 * The members who may approve the text that is asked for: publishers and owners who are none of its authors, by any
 * account.
 */
export async function listApprovers(tx: ReadTx, approval: Approval): Promise<Member[]> {
  const members = (await listMembers(tx, approval.organizationId)).filter(isApprover);
  const authors = await listAuthors(tx, approval);
  const addresses = await addressesOf(tx, [...authors, ...members]);
  const isKnown = new Set(authors.flatMap(addresses));
  return members.filter((member) => !addresses(member).some((each) => isKnown.has(each)));
}

const isApprover = ({ role, disabledAt }: Pick<Member, 'role' | 'disabledAt'>) =>
  disabledAt === null && mayPublish(role);

/** All that tells a person: the account, its mailbox, and those of its accounts at the identity provider. */
async function addressesOf(tx: ReadTx, people: readonly Person[]): Promise<(person: Person) => string[]> {
  const ids = people.flatMap(({ id }) => id ?? []);
  const linked = await tx
    .select({ id: identities.userId, name: identities.name })
    .from(identities)
    .where(inArray(identities.userId, dialectOf(tx).listed(ids)))
    .all();
  return ({ id, email }) => {
    const names = linked.filter((identity) => identity.id === id).map(({ name }) => name);
    const mailboxes = [email ?? '', ...names].map(mailboxOf).filter((mailbox) => mailbox !== null);
    return id === null ? mailboxes : [id, ...mailboxes];
  };
}

// The rows.

/** The requests for texts as they are, where publishing needs a second person: of an organization, or all. The oldest first. */
export async function listWaiting(tx: ReadTx, organizationId: string | null, limit: number) {
  const { postId, state, change, versionId } = postApprovals;
  const newest = sql`(select ${postVersions.id} from ${postVersions} where ${postVersions.postId} = ${postId}
    order by ${postVersions.createdAt} desc, ${postVersions.id} desc limit 1)`;
  return tx
    .select({
      ...{ id: posts.id, organizationId: posts.organizationId, title: posts.title },
      ...{ isChange: sql<boolean>`${change} is not null`.mapWith(Boolean) },
      ...{ askedAt: postApprovals.askedAt, askedBy: postApprovals.askedBy },
    })
    .from(postApprovals)
    .innerJoin(posts, eq(posts.id, postId))
    .innerJoin(organizations, eq(organizations.id, posts.organizationId))
    .where(
      and(
        sql`${state} = 'waiting'`,
        organizationId === null ? undefined : eq(organizations.id, organizationId),
        isLive,
        eq(organizations.needsApproval, true),
        eq(versionId, newest),
        // A change of a published post stands by itself.
        sql`(${change} is not null or ${posts.status} = 'draft')`,
      ),
    )
    .orderBy(asc(postApprovals.askedAt))
    .limit(limit)
    .all();
}

export async function findApproval(tx: ReadTx, postId: string): Promise<Approval | null> {
  return (await statements(tx).find.get({ postId })) ?? null;
}

async function saveApproval(tx: WriteTx, row: Approval): Promise<void> {
  const target = postApprovals.postId;
  await tx.insert(postApprovals).values(row).onConflictDoUpdate({ target, set: row }).run();
}

/** Saves what somebody decided about a request. */
export function decide(
  tx: WriteTx,
  { clock, actor }: AuditContext,
  approval: Approval,
  changes: Partial<Approval>,
): Promise<void> {
  const decision = { decidedById: actor.id, decidedBy: actor.name, decidedAt: clock.now().toISOString() };
  return saveApproval(tx, { ...approval, ...decision, ...changes });
}

const statements = prepared((tx) => {
  const postId = sql.placeholder('postId');
  const isMember = eq(memberships.userId, sql.placeholder('userId'));
  return {
    find: tx.select().from(postApprovals).where(eq(postApprovals.postId, postId)).prepare(),
    rules: tx
      .select({
        name: organizations.name,
        needsApproval: organizations.needsApproval,
        role: memberships.role,
        scheduledId: postSchedules.postId,
      })
      .from(organizations)
      .leftJoin(memberships, and(eq(memberships.organizationId, organizations.id), isMember))
      .leftJoin(postSchedules, eq(postSchedules.postId, postId))
      .where(
        sql`${organizations.id} = coalesce(${sql.placeholder('organizationId')}, (select ${posts.organizationId} from ${posts} where ${posts.id} = ${postId}))`,
      )
      .prepare(),
  };
});
