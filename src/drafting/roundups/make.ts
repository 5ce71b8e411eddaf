import { changingPosts, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { isSystemFailure, LeaseLost } from '../../../db/failures.ts';
import { messageOf } from '../../lib/app-error.ts';
import { formatLongDay } from '../../lib/time.ts';
import type { AuditDeps } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { writePost } from '../../posts/store.ts';
import { recordVersion } from '../../posts/versions.ts';
import { type Event, type EventSource, ROUNDUP_EVENTS } from '../../providers/events.ts';
import { changeOfIssue } from '../changes/issues.ts';
import { byTime, changesOf, commitsOfRequest } from '../changes/reached.ts';
import type { LeftOut } from '../changes/rules.ts';
import { findEvents } from '../events.ts';
import { roundupTemplates } from '../starters.ts';
import type { Compose, Composition, Material } from '../store.ts';
import { draftOf, type PlannedDraft, withCommits } from '../triggers/kinds/kind.ts';
import { withIssues } from '../triggers/material.ts';
import { nextRoundup, startOf } from './service.ts';
import {
  type Change,
  findRoundup,
  forgetChanges,
  getRoundup,
  holds,
  insertRoundupPost,
  listDue,
  listPending,
  moveRoundup,
  type Roundup,
  readTaken,
  takeChanges,
} from './store.ts';

// Makes the post of a roundup: reads the changes that wait, composes them, and takes them in the transaction that writes the
// post. What arrives meanwhile waits for the next one.

/** Of one post, so that it is composed within its time limit and can list them. The rest is for another post, right after it. */
const MAX_CHANGES = 1_000;

/** How often to begin again, because somebody changed the roundup or made its post meanwhile. */
const MAX_TRIES = 5;

/** How long a roundup rests after its post could not be made, in milliseconds. */
const REST_MS = 10 * 60_000;

type Needs = AuditDeps & Pick<Deps, 'ids'>;

/** Null where nothing was to be told. */
export type Made = { id: string; title: string } | null;

/** Makes the post of a roundup now, and leaves its schedule as it is. Throws `AppError` 404. */
export async function makeNow(deps: Needs, compose: Compose, id: string): Promise<Made> {
  await deps.db.read((tx) => getRoundup(tx, id));
  const [first = null] = await makeAll(deps, compose, id, deps.clock.now(), (roundup) => roundup);
  return first;
}

/** For the server's job. A roundup that was due while no server ran is made once. Returns how many posts it made. */
export function createRoundupWorker(deps: Needs & Pick<Deps, 'elapsed'>, compose: Compose) {
  const failedAt = new Map<string, number>();
  return async (signal?: AbortSignal): Promise<number> => {
    const now = deps.elapsed.dueAt();
    let made = 0;
    for (const id of await deps.db.read((tx) => listDue(tx, now), { single: true })) {
      if (signal?.aborted === true) break;
      const restedMs = now.getTime() - (failedAt.get(id) ?? Number.NEGATIVE_INFINITY);
      if (restedMs >= 0 && restedMs < REST_MS) continue;
      try {
        const posts = await makeAll(deps, compose, id, now, (roundup) => planNext(roundup, now));
        made += posts.length;
        failedAt.delete(id);
      } catch (error) {
        if (isSystemFailure(error) || error instanceof LeaseLost) throw error;
        failedAt.set(id, now.getTime());
        deps.log.error(
          { roundupId: id, err: error, reason: messageOf(error) },
          'a roundup failed; retrying later',
        );
      }
    }
    return made;
  };
}

/** The schedule after the post of a roundup; null when it is not due. */
function planNext(roundup: Roundup, now: Date): ReturnType<Schedule> {
  if (!roundup.enabled) return null;
  // Either may date from a clock set ahead.
  const [startsOn = ''] = [roundup.startsOn, startOf(roundup.timeZone, now)].sort();
  const nextAt = nextRoundup({ ...roundup, startsOn }, now).toISOString();
  const isAhead = roundup.nextAt > now.toISOString();
  return isAhead && roundup.nextAt <= nextAt ? null : { startsOn, nextAt };
}

/** The schedule afterwards; null to leave the roundup alone. */
type Schedule = (roundup: Roundup) => Pick<Roundup, 'nextAt' | 'startsOn'> | null;

async function makeAll(deps: Needs, compose: Compose, id: string, now: Date, schedule: Schedule) {
  const posts: NonNullable<Made>[] = [];
  for (let hasMore = true, each = schedule; hasMore; each = (roundup) => roundup) {
    const made = await make(deps, compose, id, now, each);
    if (made?.post) posts.push(made.post);
    hasMore = made?.hasMore === true;
  }
  return posts;
}

async function make(
  deps: Needs,
  compose: Compose,
  id: string,
  now: Date,
  schedule: Schedule,
): Promise<{ post: Made; hasMore: boolean } | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const read = await deps.db.read(async (tx) => {
      const roundup = await findRoundup(tx, id);
      return roundup && { roundup, ...(await readChanges(tx, roundup)) };
    });
    const next = read && schedule(read.roundup);
    if (read === null || next === null) return null;
    const { roundup, sections, keys, hasMore } = read;
    const { nextAt, startsOn } = next;
    const isMoved = nextAt !== roundup.nextAt;
    const composition = await composeRoundup(compose, roundup, sections, now);
    const order = changingPosts(roundup.organizationId, `roundup ${id}`);
    try {
      return await deps.db.write(async (tx) => {
        if (!Bun.deepEquals(await findRoundup(tx, id), roundup)) throw new ChangedMeanwhile();
        if (isMoved) await moveRoundup(tx, id, { nextAt, startsOn });
        // Its time dated from a clock set ahead.
        if (isMoved && roundup.nextAt > now.toISOString()) return null;
        return { post: await write(tx, deps, roundup, keys, composition, now), hasMore };
      }, order);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error;
    }
  }
  throw new ChangedMeanwhile();
}

class ChangedMeanwhile extends Error {
  override readonly message = 'the roundup was changed again and again meanwhile';
}

async function write(
  tx: WriteTx,
  deps: Needs,
  { id: roundupId, organizationId, contentType }: Roundup,
  keys: readonly string[],
  { text, leftOut }: Composition,
  now: Date,
): Promise<Made> {
  const postId = text === null ? null : deps.ids.newId('post');
  if (!(await takeChanges(tx, roundupId, keys, postId))) throw new ChangedMeanwhile();
  await forgetChanges(tx, roundupId, now);
  if (text === null || postId === null) return null;
  const madeAt = now.toISOString();
  const times = { createdAt: madeAt, updatedAt: madeAt, isDateSet: false };
  const post = { ...text, ...times, id: postId, organizationId, contentType, status: 'draft' as const };
  await writePost(tx, post);
  await recordVersion(tx, deps, { before: null, after: post, origin: 'trigger' });
  await insertRoundupPost(tx, { postId, roundupId, madeAt, leftOut });
  return { id: postId, title: text.title };
}

function composeRoundup(
  compose: Compose,
  { id, name, contentType, groupBy, whenEmpty, timeZone }: Roundup,
  sections: Section[],
  now: Date,
): Promise<Composition> {
  const { title: titleTemplate, body: bodyTemplate } = roundupTemplates(contentType, groupBy);
  const date = formatLongDay(now, timeZone);
  const { material } = draftOf('roundup', [], { roundup: { id, name, date, whenEmpty, sections } });
  const recipe = { triggerId: null, platform: null, event: 'push', contentType } as const;
  if (material === null) throw new Error('a roundup has material');
  return compose({ ...recipe, titleTemplate, bodyTemplate }, material);
}

interface Section {
  name: string;
  material: Material;
}

/** The changes that wait: the sections of the post, and the keys that it takes. */
async function readChanges(
  tx: ReadTx,
  roundup: Roundup,
): Promise<{ sections: Section[]; keys: string[]; hasMore: boolean }> {
  const { rows, hasMore } = await listPending(tx, roundup.id, MAX_CHANGES);
  const drafts: PlannedDraft[] = [];
  const waiting = new Set<string>();
  for (const { source, rows: ofPlace, events } of await readPlaces(tx, rows)) {
    for (const { type, key, data } of events) {
      // A reopened issue waits until it is completed again.
      if (type === 'issue' && !data.isCompleted) waiting.add(`issue ${key}`);
    }
    const held = events.filter((event) => roundup.sources.some((each) => holds(each, event, source)));
    drafts.push(...sectionsOf(await withoutTaken(tx, roundup.id, ofPlace, held)));
  }
  const linked = await withIssues(tx, roundup.organizationId, drafts);
  const sections = linked.flatMap(({ subject: name, material }) =>
    material === null ? [] : { name, material },
  );
  const rankOf = ({ material }: Section) => Number(material.repository === null);
  return {
    sections: sections.sort((a, b) => rankOf(a) - rankOf(b) || (a.name < b.name ? -1 : 1)),
    keys: rows.map(({ key }) => key).filter((key) => !waiting.has(key)),
    hasMore: hasMore && waiting.size < rows.length,
  };
}

export async function listContents(tx: ReadTx, rows: readonly Change[]): Promise<Omit<LeftOut, 'reason'>[]> {
  const places = await readPlaces(tx, rows);
  return places.flatMap(({ rows: own, events }) => {
    const keys = new Set(own.map(({ key }) => key));
    const pushes = withCommits(
      events.filter((event) => event.type === 'push'),
      ({ sha }) => keys.has(`commit ${sha}`),
    );
    const pullRequests = events.filter((event) => event.type === 'pull_request');
    const issues = events.filter((event) => event.type === 'issue');
    const changes = [
      ...changesOf({ pushes, pullRequests }).changes,
      ...issues.map(({ data }) => changeOfIssue(data)),
    ];
    return changes.flatMap(({ text: title, references: [reference] }) =>
      reference ? { title, reference } : [],
    );
  });
}

/** The changes of each repository, or of each tracker, with the events that brought them. */
export async function readPlaces(tx: ReadTx, rows: readonly Change[]) {
  const places = Map.groupBy(rows, ({ integrationId, repositoryId }) => `${integrationId} ${repositoryId}`);
  const read = Array.from(places.values(), async (own) => {
    const [{ integrationId = '', repositoryId = '' } = {}] = own;
    const source = { integrationId, repositoryId: repositoryId || null };
    return { source, rows: own, events: await readEvents(tx, source, own) };
  });
  return Promise.all(read);
}

async function readEvents(tx: ReadTx, source: EventSource, rows: readonly Change[]): Promise<Event[]> {
  const found = ROUNDUP_EVENTS.map((type) => {
    const start = `${type} `;
    const names = rows.map(({ event }) => event).filter((event) => event.startsWith(start));
    return findEvents(tx, source, type, [...new Set(names.map((name) => name.slice(start.length)))]);
  });
  return (await Promise.all(found)).flat();
}

/**
 * Leaves out what an earlier post has: a pull request may come after the push of its merge, or the other way round, and
 * several pushes may bring the same commits. `rows`: those of one place, and `events` those that brought them.
 */
async function withoutTaken(
  tx: ReadTx,
  roundupId: string,
  rows: readonly Change[],
  events: readonly Event[],
): Promise<Event[]> {
  const merges = events.flatMap(({ type, data }) =>
    type === 'push' ? data.after : type === 'pull_request' ? (data.mergeCommitSha ?? []) : [],
  );
  const mergeKeys = merges.map((sha) => `commit ${sha}`);
  const taken = await readTaken(tx, roundupId, mergeKeys);
  const own = new Set(rows.flatMap(({ key, event }) => (key.startsWith('commit ') ? [] : event)));
  const whole = events.filter(
    (event) =>
      event.type !== 'push' &&
      own.has(nameOf(event)) &&
      !(event.type === 'pull_request' && taken.has(`commit ${event.data.mergeCommitSha}`)),
  );
  const requests = new Set(whole.map(nameOf));
  const isGone = (name: string) => isRequest(name) && !requests.has(name);
  const open = new Set(rows.flatMap(({ key, event }) => (isGone(event) ? [] : key)));
  const pushes = events.filter((event) => event.type === 'push');
  return [
    ...whole,
    ...pushes.flatMap((push) => {
      const { after } = push.data;
      const by = taken.get(`commit ${after}`) ?? '';
      const merged = isRequest(by) ? new Map([[after, Number(by.slice(REQUEST.length))]]) : new Map();
      const ofRequest = new Set(commitsOfRequest(push.data, merged));
      return withCommits([push], ({ sha }) => open.has(`commit ${sha}`) && !ofRequest.has(sha));
    }),
  ];
}

const REQUEST = 'pull_request ';
const isRequest = (name: string) => name.startsWith(REQUEST);
const nameOf = ({ type, key }: Event) => `${type} ${key}`;

/** The events of one place as sections: a repository is one, and a team of a tracker. */
function sectionsOf(events: readonly Event[]): PlannedDraft[] {
  const teams = Map.groupBy(events, (event) => (event.type === 'issue' ? event.data.team?.id : null));
  return Array.from(teams.values(), (own) => {
    const pushes = own.filter((event) => event.type === 'push');
    const pullRequests = own.filter((event) => event.type === 'pull_request');
    const issues = own.filter((event) => event.type === 'issue').sort(byTime);
    const newest = [...pushes, ...pullRequests].sort(byTime).at(-1);
    const team = issues[0]?.data.team ?? null;
    const { repository = null, branch = null } = newest ?? {};
    const material = { repository, branch, pushes, pullRequests, issues, team };
    return draftOf(repository ?? team?.name ?? 'Issues', [], material);
  });
}
