import { and, asc, count, eq, inArray, lte, sql } from 'drizzle-orm';
import { changingPosts, dialectOf, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { postSchedules, posts } from '../../db/schema/posts.ts';
import { invalidField } from '../lib/app-error.ts';
import { formatInZone, knownZone, parseInZone, span, type ZonedTime } from '../lib/time.ts';
import { type AuditContext, type AuditDeps, describeActor } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { isOfLive } from '../people/organization-store.ts';
import { ask, isApproved, requireApproved, requirePublisher, rulesOf } from './approval-rule.ts';
import { END_OF_DATES, isPublished, type OwnedPost, type Post, withStatus } from './model.ts';
import { changePost, getPost, readPost, recordPost, writePost } from './store.ts';
import { markVersion } from './versions.ts';

// Drafts that are published at a time of the wall clock.

/** A time as a person gave it: on the clock of the time zone, unless it names its offset. */
export interface GivenTime {
  publishAt: string;
  timeZone: string;
}

/** `clockChange`: of the time that was given. */
export interface Scheduled extends Pick<ZonedTime, 'clockChange'> {
  post: Post;
  schedule: Schedule;
}

/** `check` may throw, in the transaction that writes. Throws `AppError` 400, 404, 409, and as `requireApproved` does. */
export async function schedulePost(
  deps: AuditDeps,
  postId: string,
  given: GivenTime,
  check?: (stored: Schedule | null, post: OwnedPost) => void,
): Promise<Scheduled> {
  const { timeZone } = given;
  const { time, clockChange } = readTime(given, deps.clock.now());
  return changePost(deps.db, postId, async (tx, post) => {
    if (post.status === 'published') throw isPublished();
    check?.(await findSchedule(tx, postId), post);
    const schedule = await insertSchedule(tx, deps, post, { time, timeZone });
    return { post: await getPost(tx, postId), schedule, clockChange };
  });
}

/** Schedules a draft and records it, in the caller's transaction. It replaces an earlier schedule. Throws as `requireApproved` does. */
export async function insertSchedule(
  tx: WriteTx,
  deps: AuditContext,
  post: OwnedPost,
  { time, timeZone }: { time: Date; timeZone: string },
): Promise<Schedule> {
  await requireApproved(tx, deps, post);
  const schedule = {
    postId: post.id,
    organizationId: post.organizationId,
    publishAt: time.getTime(),
    timeZone,
    actorName: describeActor(deps.actor),
    createdAt: deps.clock.now().toISOString(),
  };
  await saveSchedule(tx, schedule);
  await recordPost(tx, deps, 'post.scheduled', post, { more: ` for ${formatInZone(time, timeZone)}` });
  return schedule;
}

export function readTime({ publishAt, timeZone }: GivenTime, now: Date): ZonedTime {
  if (knownZone(timeZone) === null)
    throw invalidField('timeZone', 'must be an IANA name, such as Europe/Berlin');
  const parsed = parseInZone(publishAt, timeZone);
  if (parsed === null) throw invalidField('publishAt', 'must be a date and a time, such as 2027-01-31T09:00');
  const { time } = parsed;
  if (time <= now) {
    throw invalidField('publishAt', `must be in the future. ${formatInZone(time, timeZone)} has passed`);
  }
  if (time >= END_OF_DATES) throw invalidField('publishAt', 'must be before the year 2100');
  return parsed;
}

/** The draft stays a draft. False when it has no schedule. Throws `AppError` 404, and what `check` throws. */
export function cancelSchedule(
  deps: AuditDeps,
  postId: string,
  check?: (stored: Schedule) => void,
): Promise<boolean> {
  return changePost(deps.db, postId, async (tx, post) => {
    await requirePublisher(tx, deps, post);
    const schedule = await takeSchedule(tx, postId);
    if (schedule !== null) check?.(schedule);
    const isCanceled = schedule !== null && post.status === 'draft';
    if (isCanceled) await recordPost(tx, deps, 'post.unscheduled', post);
    return isCanceled;
  });
}

const BATCH = 100;

type PublishDeps = AuditDeps & Pick<Deps, 'elapsed' | 'ids'>;

/** Each once, and none early when the wall clock jumps. `runningSince`: what was due before is late. */
export async function publishDuePosts(
  deps: PublishDeps,
  { signal, runningSince }: { signal?: AbortSignal; runningSince: Date },
): Promise<number> {
  const { db, elapsed } = deps;
  const failures: unknown[] = [];
  let published = 0;
  let hasMore = true;
  while (hasMore && failures.length === 0) {
    const due = await db.read((tx) => listDuePosts(tx, elapsed.dueAt(), BATCH), { single: true });
    for (const { postId, organizationId } of due) {
      if (signal?.aborted === true) return published;
      try {
        const publish = (tx: WriteTx) => publishDuePost(tx, deps, postId, runningSince);
        if (await db.write(publish, changingPosts(organizationId))) published++;
      } catch (error) {
        failures.push(error);
      }
    }
    hasMore = due.length === BATCH;
  }
  if (failures.length > 0) throw failures[0];
  return published;
}

/** Takes the schedule and publishes the post in one transaction, so that a crash leaves both or neither. */
async function publishDuePost(
  tx: WriteTx,
  deps: PublishDeps,
  postId: string,
  runningSince: Date,
): Promise<boolean> {
  const now = deps.elapsed.dueAt();
  const schedule = await takeSchedule(tx, postId, now);
  if (schedule === null) return false;
  const post = await readPost(tx, postId);
  // An import may have published it meanwhile.
  if (post?.organizationId !== schedule.organizationId || post.status === 'published') return false;
  const scheduledFor = new Date(schedule.publishAt).toISOString();
  const published = { ...withStatus(post, 'published', scheduledFor), updatedAt: now.toISOString() };
  const scheduler = { ...deps, actor: { ...deps.actor, name: schedule.actorName } };
  const { needsApproval } = await rulesOf(tx, deps, post);
  if (needsApproval && !(await isApproved(tx, post))) {
    const what = { verb: 'did not publish', more: ' at its time, because nobody has approved its text' };
    await recordPost(tx, scheduler, 'post.unscheduled', post, what);
    await ask(tx, deps, post);
    return false;
  }
  await requireApproved(tx, deps, post, published);
  await writePost(tx, published);
  await markVersion(tx, postId, 'published');
  await recordPost(tx, scheduler, 'post.published', post, { more: lateness(schedule, now, runningSince) });
  return true;
}

/** Shorter delays are not worth a word: a restart, or another process taking over. */
const LATE_MS = 60_000;

function lateness({ publishAt }: Schedule, now: Date, runningSince: Date): string {
  const lateMs = now.getTime() - publishAt;
  if (lateMs < LATE_MS) return ' as scheduled';
  const reason = publishAt < runningSince.getTime() ? ': Tidings was not running' : '';
  return ` ${span(lateMs)} late${reason}`;
}

export type Schedule = typeof postSchedules.$inferSelect;

export async function saveSchedule(tx: WriteTx, schedule: Schedule): Promise<void> {
  const { postId: _, ...state } = schedule;
  await tx
    .insert(postSchedules)
    .values(schedule)
    .onConflictDoUpdate({ target: postSchedules.postId, set: state })
    .run();
}

/** Deletes and returns the schedule of a post. `dueAt`: only if it is due by then. */
export async function takeSchedule(tx: WriteTx, postId: string, dueAt?: Date): Promise<Schedule | null> {
  const isDue = dueAt && lte(postSchedules.publishAt, dueAt.getTime());
  const taken = tx
    .delete(postSchedules)
    .where(and(eq(postSchedules.postId, postId), isDue))
    .returning();
  return (await taken.get()) ?? null;
}

export async function findSchedule(tx: ReadTx, postId: string): Promise<Schedule | null> {
  return (await tx.select().from(postSchedules).where(eq(postSchedules.postId, postId)).get()) ?? null;
}

export async function listSchedules(tx: ReadTx, postIds: readonly string[]): Promise<Map<string, Schedule>> {
  if (postIds.length === 0) return new Map();
  const isListed = inArray(postSchedules.postId, dialectOf(tx).listed(postIds));
  const rows = await tx.select().from(postSchedules).where(isListed).all();
  return new Map(rows.map((row) => [row.postId, row]));
}

export async function listDuePosts(
  tx: ReadTx,
  now: Date,
  limit: number,
): Promise<Pick<Schedule, 'postId' | 'organizationId'>[]> {
  const { postId, organizationId, publishAt } = postSchedules;
  return tx
    .select({ postId, organizationId })
    .from(postSchedules)
    .where(and(lte(publishAt, now.getTime()), isOfLive(organizationId)))
    .orderBy(asc(publishAt), asc(postId))
    .limit(limit)
    .all();
}

const scheduledCount = prepared((tx) =>
  tx
    .select({ drafts: count() })
    .from(postSchedules)
    .innerJoin(posts, eq(posts.id, postSchedules.postId))
    .where(
      and(eq(postSchedules.organizationId, sql.placeholder('organizationId')), eq(posts.status, 'draft')),
    )
    .prepare(),
);

/** The number of an organization's drafts that have a schedule. An import may have published the others. */
export async function countScheduled(tx: ReadTx, organizationId: string): Promise<number> {
  return (await scheduledCount(tx).get({ organizationId }))?.drafts ?? 0;
}
