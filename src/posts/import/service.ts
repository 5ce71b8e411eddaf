import { basename } from 'node:path';
import { changingPosts, inCommits, type ReadTx, type Storage, type WriteTx } from '../../../db/engine.ts';
import { knownFailure } from '../../../db/failures.ts';
import { AppError, messageOf } from '../../lib/app-error.ts';
import { derivedId, type Ids } from '../../lib/text.ts';
import { turns } from '../../lib/time.ts';
import { type AuditDeps, describeActor, quote, recordAudit } from '../../people/audit.ts';
import { getOrganization } from '../../people/organization-store.ts';
import { hashOfSeen, isApproved, requireApproved, rulesOf } from '../approval-rule.ts';
import { type ContentType, END_OF_DATES, type OwnedPost, type PostStatus } from '../model.ts';
import { listSchedules, type Schedule, saveSchedule } from '../schedule.ts';
import { findOwners, readPosts, writePost } from '../store.ts';
import { markVersion, recordVersion } from '../versions.ts';
import { importError, type SourceFile } from './files.ts';
import { type CheckedRecord, type ReadOptions, readRecords } from './records.ts';

export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Bounds on what a commit saves without a look at the time. A larger post has a piece of its own. */
const MAX_PIECE_POSTS = 10;
const MAX_PIECE_CHARACTERS = 32 * 1024;

export interface ImportOptions extends ReadOptions {
  status: PostStatus;
  contentType: ContentType;
  /** Schedules the posts that are drafts only for their date, in this time zone. Absent: they stay drafts. */
  scheduleZone?: string | undefined;
  onProgress?: (done: number, total: number) => void;
}

export type ImportResult = Omit<
  Awaited<ReturnType<typeof importFile>>,
  'future' | 'scheduled' | 'unapproved'
> & {
  future?: number;
  scheduled?: number;
  unapproved?: number;
};

/**
 * Checks all records of a file, then imports them in many short commits: readers see the first before the last. A record
 * without an id gets one from its organization, source and key, so that importing the same file again updates the posts, and
 * completes an import that was cut off. Throws `AppError` 400 with file, line and field before anything is written,
 * `ImportCutOff` afterwards, and 404 for an unknown organization; its `details` have all `problems`. `reassignedIds` counts posts with another id
 * than in the file, and `newIds` has their ids by those of the file; `skipped` names each part of the file that is no post, `unknownFields` the names of front matter that are kept as metadata,
 * and `headings` counts those of a changelog. `future`, absent for none, counts posts that would be published but for their
 * date: they are drafts without a schedule. `scheduled`, absent for none, counts those that got one. `unapproved`, absent for none,
 * counts posts that would be public but for a second person: new ones are drafts, and public ones stay as they are.
 */
export async function importFile(deps: AuditDeps & { ids: Ids }, file: SourceFile, options: ImportOptions) {
  const { db } = deps;
  const { organizationId, onProgress = () => undefined } = options;
  await db.read((tx) => getOrganization(tx, organizationId));
  const now = deps.clock.now().toISOString();
  const { records: given, problems, ...summary } = await readRecords(file, options);
  const [first] = problems;
  if (first !== undefined) {
    const { status, message, code, details } = first;
    throw new AppError(status, message, {
      ...(code !== undefined && { code }),
      details: { ...details, ...summary, problems },
    });
  }
  const { records, newIds } = await replaceTakenIds(deps, file, organizationId, given);
  const pieces = [...splitRecords(records)];
  const target = { type: 'organization', id: organizationId };
  const audit = (tx: WriteTx, what: string, count = 1) =>
    recordAudit(tx, deps, {
      organizationId,
      action: 'post.imported',
      target,
      summary: `${what} from ${quote(basename(file.name))}`,
      count,
    });

  async function save(tx: WriteTx, piece: Records, saved: Counts): Promise<void> {
    const existing = await readPosts(tx, [...piece.keys()]);
    const schedules = await schedulesOf(tx, piece, existing, now);
    const { needsApproval } = await rulesOf(tx, deps, { organizationId });
    for (const [id, record] of piece) {
      const old = existing.get(id);
      if (old !== undefined && old.organizationId !== organizationId) {
        const message = `The ID ${id} was taken during the import.`;
        throw new AppError(409, message);
      }
      saved.done++;
      const merged = merge(id, record.fields, old, options, now);
      const { post, isUnapproved } = await hold(tx, deps, merged, old, needsApproval);
      if (isUnapproved) saved[deps.skipsApproval ? 'skipped' : 'unapproved']++;
      const schedule = schedules.get(id);
      const isWaiting = waitsForDate(post, record, options, now);
      const isMoved = old !== undefined && old !== post && schedule?.publishAt === Date.parse(old.createdAt);
      const isScheduled =
        isWaiting &&
        canBeScheduled(post) &&
        (isMoved || (schedule === undefined && options.scheduleZone !== undefined)) &&
        (!needsApproval || deps.skipsApproval === true || (await isApproved(tx, post)));
      if (isWaiting && schedule === undefined && !isScheduled) saved.future++;
      if (post === old && !isScheduled) continue;
      if (post !== old) await writePost(tx, post);
      if (isScheduled) {
        await saveSchedule(tx, {
          postId: id,
          organizationId,
          publishAt: Date.parse(post.createdAt),
          timeZone: schedule?.timeZone ?? options.scheduleZone ?? 'UTC',
          actorName: describeActor(deps.actor),
          createdAt: now,
        });
        saved.scheduled++;
      }
      if (old !== undefined || needsApproval) {
        const isAlways = needsApproval && (old === undefined || hashOfSeen(old) !== hashOfSeen(post));
        await recordVersion(tx, deps, { before: old ?? null, after: post, origin: 'import', isAlways });
      }
      if (isScheduled) await requireApproved(tx, deps, post);
      if (post.status === 'published') {
        if (needsApproval) await markVersion(tx, id, 'published');
        saved.published++;
      }
      saved[old === undefined ? 'created' : 'updated']++;
    }
  }

  let next = 0;
  let counts = noCounts();
  // A write may run again after a lost connection, so it counts from what was committed.
  async function saveSome(tx: WriteTx, hasTime: () => boolean) {
    const saved = { ...counts };
    let at = next;
    do {
      const piece = pieces[at++];
      if (piece !== undefined) await save(tx, piece, saved);
    } while (at < pieces.length && hasTime());
    const hasMore = at < pieces.length;
    const count = saved.created + saved.updated;
    const isFirstChange = count > 0 && counts.created + counts.updated === 0;
    if (hasMore && isFirstChange) await audit(tx, `began to import ${nameCount(records.size)}`);
    if (!hasMore && count > 0) {
      const scheduled = saved.scheduled > 0 ? `, ${saved.scheduled} scheduled` : '';
      const skipped = saved.skipped > 0 ? `, ${saved.skipped} without approval` : '';
      const what = `${saved.published} published${scheduled}${skipped}`;
      await audit(tx, `imported ${nameCount(count)} (${what})`, count);
    }
    return { result: { at, saved }, hasMore };
  }
  try {
    for await (const { at, saved } of inCommits(db, saveSome, changingPosts(organizationId))) {
      [next, counts] = [at, saved];
      onProgress(saved.done, records.size);
    }
  } catch (error) {
    throw counts.done === 0 ? error : new ImportCutOff(error, counts.done, records.size);
  }
  const { created, updated, future, scheduled, unapproved } = counts;
  const unchanged = records.size - created - updated;
  const reassignedIds = Object.keys(newIds).length;
  const result = { file: file.name, created, updated, unchanged, reassignedIds, newIds, ...summary };
  return {
    ...result,
    ...(future > 0 && { future }),
    ...(scheduled > 0 && { scheduled }),
    ...(unapproved > 0 && { unapproved }),
  };
}

interface PreviewedPost extends Pick<OwnedPost, 'id' | 'title' | 'contentType' | 'status' | 'createdAt'> {
  change: 'created' | 'updated' | 'unchanged';
}

export type ImportPreview = Awaited<ReturnType<typeof previewImport>>;

/**
 * Plans what `importFile` would do, and writes nothing. With `problems` it would do nothing. `published`: posts to write
 * that the API then returns; `future`: those that stay drafts for their date, and have no schedule, and `schedulable`
 * those of them with a date that a schedule can have; `replaced`: those that the source alone tells
 * to be the same as existing posts; `unapproved`: as of `importFile`. Throws `AppError` 400 `unknown_format`.
 */
export async function previewImport(
  deps: Pick<AuditDeps, 'db' | 'clock' | 'actor' | 'skipsApproval'>,
  file: SourceFile,
  options: ImportOptions,
) {
  const { db, clock } = deps;
  const { organizationId } = options;
  const now = clock.now().toISOString();
  const { records, problems, ...summary } = await readRecords(file, options);
  const posts: PreviewedPost[] = [];
  const nothing = {
    posts,
    published: 0,
    future: 0,
    schedulable: 0,
    replaced: 0,
    unapproved: 0,
    newIds: {},
    ...summary,
  };
  if (problems.length > 0) return { ...nothing, problems };
  const own = await replaceTakenIds(deps, file, organizationId, records).catch((error) => {
    if (error instanceof AppError && error.code === 'bad_file') return error;
    throw error;
  });
  if (own instanceof AppError) return { ...nothing, problems: [own] };
  let replaced = 0;
  let future = 0;
  let schedulable = 0;
  let unapproved = 0;
  const turn = turns();
  for (const piece of splitRecords(own.records)) {
    await turn();
    const { plans, schedules } = await db.read(async (tx) => {
      const existing = await readPosts(tx, [...piece.keys()]);
      const { needsApproval } = await rulesOf(tx, deps, { organizationId });
      const plans = await Array.fromAsync(piece, async ([id, record]) => {
        const old = existing.get(id);
        const merged = merge(id, record.fields, old, options, now);
        return { id, record, old, ...(await hold(tx, deps, merged, old, needsApproval)) };
      });
      return { plans, schedules: await schedulesOf(tx, piece, existing, now) };
    });
    for (const { id, record, old, post, isUnapproved } of plans) {
      if (isUnapproved) unapproved++;
      const change = old === undefined ? 'created' : post === old ? 'unchanged' : 'updated';
      const { title, contentType, status, createdAt } = post;
      if (change === 'updated' && !record.isIdGiven) replaced++;
      if (!schedules.has(id) && waitsForDate(post, record, options, now)) {
        future++;
        if (canBeScheduled(post)) schedulable++;
      }
      posts.push({ id, title, contentType, status, createdAt, change });
    }
  }
  const published = posts.filter((post) => post.change !== 'unchanged' && post.status === 'published').length;
  const numbers = { published, future, schedulable, replaced, unapproved };
  return { ...nothing, ...numbers, newIds: own.newIds, problems: [] };
}

/** An import that failed after it had saved some of its posts. */
export class ImportCutOff extends AppError {
  constructor(cause: unknown, done: number, total: number) {
    const how = `${done} of ${nameCount(total)} are imported. Import the same file again to complete it.`;
    const why = messageOf(cause).replace(/\.?$/, '.');
    super(knownFailure(cause)?.status ?? 500, `The import stopped: ${why} ${how}`, { cause });
  }
}

const nameCount = (count: number) => (count === 1 ? '1 post' : `${count} posts`);

type Counts = ReturnType<typeof noCounts>;

/** `done`: records that were compared with what is stored, and written if they differ. */
const noCounts = () => ({
  ...{ done: 0, created: 0, updated: 0, published: 0 },
  ...{ future: 0, scheduled: 0, unapproved: 0, skipped: 0 },
});

type Records = Map<string, CheckedRecord>;

function* splitRecords(records: Records): Generator<Records> {
  let piece: Records = new Map();
  let characters = 0;
  for (const [id, record] of records) {
    const { title, markdown = '', content } = record.fields;
    const length = title.length + markdown.length + content.length;
    if (piece.size === MAX_PIECE_POSTS || (piece.size > 0 && characters + length > MAX_PIECE_CHARACTERS)) {
      yield piece;
      piece = new Map();
      characters = 0;
    }
    piece.set(id, record);
    characters += length;
  }
  if (piece.size > 0) yield piece;
}

/** A record with an id of another organization gets a derived id. Nobody is told whose the id is. Throws 400 for twins. */
async function replaceTakenIds(
  { db }: Pick<AuditDeps, 'db'>,
  file: SourceFile,
  organizationId: string,
  given: readonly CheckedRecord[],
) {
  const derive = (id: string) => derivedId('post', organizationId, id);
  const ids = given.map(({ id }) => id);
  const owners = await findAllOwners(db, ids);
  const foreign = ids.filter((id) => owners.get(id) !== organizationId);
  const derivedIds = new Map<string, string>();
  const turn = turns();
  for (const id of foreign) {
    derivedIds.set(id, derive(id));
    await turn();
  }
  const derivedOwners = await findAllOwners(db, [...derivedIds.values()]);
  const isTaken = (id: string) =>
    owners.has(id) || derivedOwners.get(derivedIds.get(id) ?? '') === organizationId;
  const reassigned = new Map([...derivedIds].filter(([id]) => isTaken(id)));
  const records: Records = new Map();
  for (const record of given) {
    const id = reassigned.get(record.id) ?? record.id;
    const twin = records.get(id);
    if (twin !== undefined) {
      const what = `is the same post as line ${twin.lineOf('id')}: ${record.name}`;
      throw importError(file, record.lineOf('id'), what);
    }
    records.set(id, record);
  }
  return { records, newIds: Object.fromEntries(reassigned) };
}

/** Ids of a step, which holds the thread. */
const STEP_IDS = 250;

/** As `findOwners`, for any number of ids. A save checks them again. */
async function findAllOwners(db: Storage, ids: readonly string[]): Promise<Map<string, string>> {
  const owners = new Map<string, string>();
  const turn = turns();
  for (let at = 0; at < ids.length; at += STEP_IDS) {
    await turn();
    const found = await db.read((tx) => findOwners(tx, ids.slice(at, at + STEP_IDS)));
    for (const [id, owner] of found) owners.set(id, owner);
  }
  return owners;
}

/** True if a post is a draft only because its date is in the future. */
function waitsForDate(
  { status, createdAt }: OwnedPost,
  record: Pick<CheckedRecord, 'fields' | 'isScheduled'>,
  options: ImportOptions,
  now: string,
): boolean {
  const wanted = record.isScheduled ? 'published' : (record.fields.status ?? options.status);
  return status === 'draft' && createdAt > now && wanted === 'published';
}

/** The post as it is written. `isUnapproved`: it would be public with a text that nobody has approved, so readers see nothing of it. */
async function hold(
  tx: ReadTx,
  { skipsApproval }: Pick<AuditDeps, 'skipsApproval'>,
  post: OwnedPost,
  old: OwnedPost | undefined,
  needsApproval: boolean,
): Promise<{ post: OwnedPost; isUnapproved: boolean }> {
  if (!needsApproval || post.status === 'draft') return { post, isUnapproved: false };
  const isSame = old !== undefined && hashOfSeen(old) === hashOfSeen(post);
  const isPublic = isSame && old.status === 'published';
  const isUnapproved = !isPublic && !(await isApproved(tx, post));
  if (!isUnapproved || skipsApproval) return { post, isUnapproved };
  const isKept = old !== undefined && (isSame || old.status === 'published');
  return { post: isKept ? old : { ...post, status: 'draft' }, isUnapproved };
}

const canBeScheduled = ({ createdAt }: OwnedPost) => new Date(createdAt) < END_OF_DATES;

function schedulesOf(
  tx: ReadTx,
  records: Records,
  existing: ReadonlyMap<string, OwnedPost>,
  now: string,
): Promise<Map<string, Schedule>> {
  const isDue = (date: string | undefined) => date === undefined || date <= now;
  const ids = [...records.keys()].filter(
    (id) => !(isDue(records.get(id)?.fields.createdAt) && isDue(existing.get(id)?.createdAt)),
  );
  return listSchedules(tx, ids);
}

/** The record over the existing post over the defaults; `old` itself when nothing changes. Publishes nothing too early. */
function merge(
  id: string,
  { title, content, markdown = content, ...fields }: CheckedRecord['fields'],
  old: OwnedPost | undefined,
  { status, contentType, organizationId }: ImportOptions,
  now: string,
): OwnedPost {
  const defaults = { status, contentType, sourceMetadata: null, createdAt: now, ...old };
  const isDateSet = fields.isDateSet ?? (fields.createdAt !== undefined || (old?.isDateSet ?? true));
  const post = {
    ...defaults,
    ...fields,
    id,
    title: title.trim(),
    content,
    markdown,
    organizationId,
    isDateSet,
  };
  if (post.status === 'published' && old?.status !== 'published' && post.createdAt > now)
    post.status = 'draft';
  const isSame =
    old !== undefined && Bun.deepEquals({ ...post, updatedAt: fields.updatedAt ?? old.updatedAt }, old);
  if (isSame) return old;
  return { ...post, updatedAt: fields.updatedAt ?? (old === undefined ? post.createdAt : now) };
}
