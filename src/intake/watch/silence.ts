import { NONE } from '../../../db/engine.ts';
import { findEvent, findSame } from '../../drafting/events.ts';
import { openReaderOf } from '../../integrations/token.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import { ProviderProblem } from '../../providers/api.ts';
import { providerOf } from '../../providers/index.ts';
import { readableEventIn } from '../../providers/provider.ts';
import { isSilent, learnRhythm, WINDOW } from './rhythm.ts';
import { type Activity, listDuePlaces, type Place, readActivity, saveSilence } from './silence-store.ts';

// A webhook that stops says nothing. The leader compares how long each place has been quiet with its own rhythm, and asks the
// provider first, where it may, whether anything happened.

/** How many places one run looks at. */
const MAX_DUE = 5;

/** The wait before the next look, and before the next one at a silent place, in milliseconds. */
const EVERY_MS = 6 * 3_600_000;
const SILENT_MS = 300_000;

/** A delivery may take a while, in milliseconds. */
const LATE_MS = 900_000;

/** Looks at the places that are due. `signal` ends it early, and aborts requests. */
export async function watchSilence(deps: Deps, signal?: AbortSignal): Promise<void> {
  const { db, clock } = deps;
  for (const place of await db.read((tx) => listDuePlaces(tx, clock.now(), MAX_DUE))) {
    const { since, isProven } = await look(deps, place, signal);
    if (signal?.aborted) return;
    const dueAt = clock.now().getTime() + (since === null ? EVERY_MS : SILENT_MS);
    const { integrationId, repositoryId } = place;
    await db.write((tx) => saveSilence(tx, { integrationId, repositoryId, since, isProven, dueAt }), NONE);
  }
}

const HEARD = { since: null, isProven: false };

async function look(deps: Deps, place: Place, signal: AbortSignal | undefined) {
  const { db, clock } = deps;
  const today = clock.now().getTime() / DAY_MS;
  const begin = (today - 2 * WINDOW) * DAY_MS;
  const from = new Date(Math.max(Date.parse(place.createdAt), begin)).toISOString();
  const activity = await db.read((tx) => readActivity(tx, place, from));
  if (!isQuiet(activity, from, Math.floor(today))) return HEARD;
  const { lastAt } = activity;
  if (!place.hasToken || providerOf(place.type).reader === null) return { since: lastAt, isProven: false };
  // Nothing came since, so the answer still holds.
  if (place.since === lastAt) return { since: lastAt, isProven: true };
  try {
    return (await hasNews(deps, place, activity, signal)) ? { since: lastAt, isProven: true } : HEARD;
  } catch (error) {
    // A provider that does not tell is an item of its own.
    if (!(error instanceof ProviderProblem)) throw error;
    return HEARD;
  }
}

const dayOf = (time: string) => Math.floor(Date.parse(time) / DAY_MS);

function isQuiet({ days, knownFrom, lastAt }: Activity, from: string, today: number): boolean {
  const last = days.at(-1);
  if (last === undefined) return false;
  const begin = Math.max(dayOf(from), dayOf(last) - WINDOW, knownFrom === '' ? 0 : dayOf(knownFrom));
  const known = days.map(dayOf).filter((day) => day >= begin);
  const rhythm = learnRhythm(known, begin);
  return rhythm !== null && isSilent(rhythm, dayOf(lastAt), today);
}

/** True if the provider has something that a webhook should have delivered. */
async function hasNews(
  deps: Deps,
  { integrationId, organizationId, repositoryId, fullName, type }: Place,
  { lastAt, types }: Activity,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { db, clock } = deps;
  const provider = providerOf(type);
  const source = { integrationId, repositoryId };
  const reader = await openReaderOf(deps, { id: integrationId, organizationId, type }, signal);
  const repository = await reader.getRepository(fullName ?? '');
  if (types.has('push')) {
    const head = await reader.getHead(repository, repository.defaultBranch);
    const push = head && (await db.read((tx) => findEvent(tx, source, { type: 'push', key: head.sha })));
    if (head !== null && push === null) return true;
  }
  const now = clock.now();
  const receivedAt = now.toISOString();
  const settled = new Date(now.getTime() - LATE_MS).toISOString();
  const pages = [
    types.has('release') ? await reader.listReleases(repository) : null,
    types.has('pull_request') ? await reader.listMerged(repository) : null,
  ];
  for (const item of pages.flatMap((page) => page?.items ?? [])) {
    const event = readableEventIn(provider, item, {
      repository: repository.fullName,
      deliveryId: '',
      receivedAt,
    });
    if (event === null || event.occurredAt <= lastAt || event.occurredAt > settled) continue;
    if ((await db.read((tx) => findSame(tx, source, event))) === null) return true;
  }
  return false;
}
