import { integration as integrationKey, type WriteTx } from '../../../db/engine.ts';
import { getIntegration, type Integration } from '../../integrations/store.ts';
import { openReaderOf } from '../../integrations/token.ts';
import { AppError, messageOf } from '../../lib/app-error.ts';
import { count, fitsOne } from '../../lib/text.ts';
import type { Deps } from '../../people/deps.ts';
import { ProviderProblem } from '../../providers/api.ts';
import type { Commit, Event } from '../../providers/events.ts';
import { providerOf } from '../../providers/index.ts';
import { eventIn, MalformedPayload, readableEventIn } from '../../providers/provider.ts';
import type {
  CommitRange,
  ReadDelivery,
  RemoteRepository,
  RepositoryReader,
} from '../../providers/reader.ts';
import { findEvent, listReleases, recordEvent } from '../events.ts';
import { claimChanges, listSources } from '../roundups/store.ts';
import { branchScope, isDivider } from './kinds/branch.ts';
import { prefixesOf } from './kinds/kind.ts';
import { kinds } from './model.ts';
import { listEnabledTriggers, queueRun, recordMatch } from './queue-store.ts';
import { alongMainLine, basesOf, compareVersions, type ReleasePoint } from './range-graph.ts';
import {
  deleteRanges,
  listDueRanges,
  listRanges,
  postponeRanges,
  pushOf,
  queueRange,
  type RangeCommit,
  type RangeKey,
  type RangeSource,
  rangeOfPush,
  updateRange,
} from './range-store.ts';

// Asks the provider which commits belong to a release: those that its tag has and the release before it lacks. Releases
// of maintenance branches and pre-releases are told apart by the graph, which times cannot do. It also asks for the commits
// of a push whose payload names too few.

/** How long to wait after each failure of the provider, in milliseconds. After the last one the range is unknown. */
const BACK_OFF_MS = [2_000, 10_000, 60_000, 600_000, 3_600_000];

/** The wait after a refusal that does not say how long, in milliseconds. */
const LIMIT_WAIT_MS = 60_000;

/** A limit that ends later than this dates from a clock set ahead, in milliseconds. */
const MAX_WAIT_MS = 24 * 3_600_000;

/** Ranges of one pass. The runs that they cause come in between. */
const BATCH = 10;

/** How many earlier releases to compare with. */
const MAX_TRIED = 8;

/** How many pages of releases to read, for those that were never delivered. */
const MAX_RELEASE_PAGES = 5;

/** The folders of filters that a provider is asked about for one repository. */
const MAX_PREFIXES = 20;

const MAX_PROBLEM_LENGTH = 500;

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'openReader' | 'log'>;
type DueRange = Awaited<ReturnType<typeof listDueRanges>>[number];

/** Asks for the ranges that are due, of one repository or of all. Returns how many it asked for. */
export async function readRanges(
  deps: Needs,
  { signal, repositoryId }: { signal?: AbortSignal | undefined; repositoryId?: string } = {},
): Promise<number> {
  let asked = 0;
  while (signal?.aborted !== true) {
    const due = await deps.db.read((tx) =>
      listDueRanges(tx, deps.clock.now(), { limit: BATCH, repositoryId }),
    );
    if (due.length === 0) break;
    const places = Map.groupBy(due, (each) => `${each.integrationId} ${each.repositoryId}`);
    for (const ranges of places.values()) await readPlace(deps, ranges, signal);
    asked += due.length;
  }
  return asked;
}

/** The ranges of one repository. */
async function readPlace(deps: Needs, ranges: readonly DueRange[], signal: AbortSignal | undefined) {
  const [first] = ranges;
  if (first === undefined) return;
  let place: Place | null = null;
  for (const range of ranges) {
    if (signal?.aborted) return;
    try {
      place ??= await openPlace(deps, first, signal);
      if (place === null) return await deps.db.write((tx) => deleteRanges(tx, ranges), orderOf(first));
      const push = pushOf(range);
      if (push !== null) {
        await completePush(place, range, push);
        continue;
      }
      const found = await findRange(place, range.tag);
      await deps.db.write((tx) => settle(tx, deps, range, found, deps.clock.now()), orderOf(range));
    } catch (error) {
      if (signal?.aborted) throw error;
      const { isForAll } = await postpone(deps, range, error, ranges);
      if (isForAll) return;
    }
  }
}

const orderOf = ({ integrationId, repositoryId }: RangeSource) => ({
  key: `ranges ${integrationId} ${repositoryId}`,
  shares: [integrationKey(integrationId)],
});

/** A repository that can be read. */
interface Readable {
  reader: RepositoryReader;
  remote: RemoteRepository;
  /** The folders that filters of triggers name. */
  prefixes: readonly string[];
}

/** A repository to ask about. */
interface Place extends RangeSource, Readable {
  deps: Needs;
  integration: Integration;
  /** The releases that were delivered, and those that the provider lists. */
  releases: Map<string, ReleasePoint>;
  /** Reads one more page of them; false after the last. */
  readMore: () => Promise<boolean>;
}

/** Null when the integration or the repository is gone. */
async function openPlace(
  deps: Needs,
  { integrationId, repositoryId }: RangeSource,
  signal: AbortSignal | undefined,
): Promise<Place | null> {
  const found = await deps.db
    .read(async (tx) => {
      const [integration, releases, triggers] = await Promise.all([
        getIntegration(tx, integrationId),
        listReleases(tx, integrationId, [repositoryId]),
        listEnabledTriggers(tx, integrationId, repositoryId),
      ]);
      return { integration, releases, triggers };
    })
    .catch((error) => {
      if (error instanceof AppError && error.code === 'integration_not_found') return null;
      throw error;
    });
  const repository = found?.integration.repositories.find(({ id }) => id === repositoryId);
  if (found === null || repository === undefined) return null;
  const { integration, triggers } = found;
  const reader = await openReaderOf(deps, integration, signal);
  const remote = await reader.getRepository(repository.fullName);
  const releases = new Map(found.releases.map(({ tag, occurredAt }) => [tag, { tag, occurredAt }]));
  let cursor: string | null = null;
  let pages = 0;
  const filtered = triggers.flatMap(({ filters }) => (filters.path === undefined ? [] : [filters.path]));
  const prefixes = filtered.map(prefixesOf);
  const known = [...new Set(prefixes.flatMap((each) => each ?? []))].sort();
  return {
    deps,
    integrationId,
    repositoryId,
    integration,
    reader,
    remote,
    releases,
    // All or none: a commit without any of them must be in no filtered folder.
    prefixes: prefixes.includes(null) || known.length > MAX_PREFIXES ? [] : known,
    async readMore() {
      if (pages === MAX_RELEASE_PAGES || (pages > 0 && cursor === null)) return false;
      const page = await reader.listReleases(remote, { cursor });
      pages++;
      cursor = page?.next ?? null;
      for (const delivery of page?.items ?? []) {
        const event = releaseIn(integration, remote, delivery);
        if (event !== null && !releases.has(event.key)) {
          releases.set(event.key, { tag: event.key, occurredAt: event.occurredAt });
        }
      }
      return true;
    },
  };
}

const readOf = (
  { type }: Pick<RepositoryReader, 'type'>,
  { fullName }: RemoteRepository,
  delivery: ReadDelivery,
): Parameters<typeof eventIn> => [
  providerOf(type),
  delivery,
  { repository: fullName, deliveryId: '', receivedAt: '' },
];

/** The event of a delivery that was read; null for one that brings none, or that cannot be read. */
export const readableAt = (...delivery: Parameters<typeof readOf>): Event | null =>
  readableEventIn(...readOf(...delivery));

function releaseIn(...delivery: Parameters<typeof readableAt>): Event | null {
  const event = readableAt(...delivery);
  // A release without a time cannot be told to be earlier.
  return event?.type === 'release' && event.occurredAt !== '' ? event : null;
}

type Found = Pick<DueRange, 'previousTag' | 'commits' | 'problem'>;

async function findRange(place: Place, tag: string): Promise<Found> {
  const { reader, remote } = place;
  await place.readMore();
  const release = place.releases.get(tag);
  if (release === undefined) throw new ProviderProblem('refused', `The release ${tag} is not known.`);
  const listBases = () => basesOf(release, [...place.releases.values()]);
  // An older release has its earlier ones on the next pages.
  while (listBases().length === 0 && (await place.readMore()));
  const bases = listBases();
  const [newest, nearest] = bases;
  for (const base of bases.slice(0, MAX_TRIED)) {
    const range = await listFrom(place, base.tag, tag);
    if (range === null) continue;
    // A merged maintenance branch makes its newer release an ancestor too.
    const isLower = compareVersions(newest?.tag ?? '', nearest?.tag ?? '') === -1;
    const other = base === newest && nearest && isLower ? await listFrom(place, nearest.tag, tag) : null;
    const isNearer = other !== null && other.commits.length < range.commits.length;
    return isNearer && nearest
      ? toFound(place, tag, nearest.tag, other)
      : toFound(place, tag, base.tag, range);
  }
  if (bases.length > MAX_TRIED) {
    throw new ProviderProblem('refused', `None of the ${MAX_TRIED} releases before ${tag} is part of it.`);
  }
  return toFound(place, tag, null, await reader.listCommits(remote, null, tag));
}

/** Null when the release does not contain the base, or one of them is gone. */
async function listFrom({ reader, remote }: Place, base: string, tag: string): Promise<CommitRange | null> {
  try {
    const range = await reader.listCommits(remote, base, tag);
    return range.isAncestor ? range : null;
  } catch (error) {
    if (error instanceof ProviderProblem && error.kind === 'refused') return null;
    throw error;
  }
}

async function toFound(
  place: Place,
  tag: string,
  previousTag: string | null,
  range: CommitRange,
): Promise<Found> {
  const commits = await readCommits(place, tag, range);
  return { previousTag, commits, problem: range.isCut ? problemOfCut(range.commits) : null };
}

/** The commits of a range, each with the step of the main line that brought it, and the filtered folders that it changes. */
export async function readCommits(
  place: Readable,
  head: string,
  { commits: graph }: CommitRange,
): Promise<RangeCommit[]> {
  const paths = await readPaths(place, head, graph.length);
  return alongMainLine(commitsOf(place, graph), graph, (sha) => paths?.get(sha) ?? (paths && []));
}

const problemOfCut = ({ length }: CommitRange['commits']) =>
  `It has more commits than the newest ${length.toLocaleString('en')}, which are listed.`;

/** Adds to a push what its payload did not name, and plans again what its commits belong to. */
async function completePush(place: Place, range: DueRange, key: string): Promise<void> {
  const { deps, integrationId, repositoryId } = place;
  const push = await deps.db.read((tx) => findEvent(tx, range, { type: 'push', key }));
  const isCut = push?.type === 'push' && rangeOfPush(push) !== null;
  const read = isCut ? await readPush(place, push) : null;
  await deps.db.write(async (tx) => {
    // One that is too long stays, to say so.
    if (read?.problem != null) await updateRange(tx, range, { status: 'known', problem: read.problem });
    else await deleteRanges(tx, [range]);
    if (read === null) return;
    const { complete } = read;
    const now = deps.clock.now();
    const previous = await findEvent(tx, range, complete);
    const newest = await recordEvent(tx, range, complete, previous);
    const claimed = { event: newest, previous };
    await claimChanges(tx, range, claimed, await listSources(tx, integrationId), now);
    const { deliveryId, occurredAt: since } = newest;
    const triggers = await listEnabledTriggers(tx, integrationId, repositoryId);
    for (const { id: triggerId, event, filters } of triggers) {
      const kind = kinds[event];
      if (!kind.content.includes('push')) continue;
      if (kind.matches(filters, newest))
        await recordMatch(tx, { triggerId, repositoryId, type: 'push', key });
      const scope = kind.scopeOf(filters, newest, repositoryId);
      if (scope !== null) await queueRun(tx, { triggerId, scope, since, deliveryId }, now);
    }
  }, orderOf(range));
}

/** All commits of a push. `problem`: what keeps the older ones from being read. */
async function readPush(
  place: Place,
  push: Extract<Event, { type: 'push' }>,
): Promise<{ complete: Event; problem: string | null }> {
  const { reader, remote } = place;
  const { before = null, after, commits: named, total = 0 } = push.data;
  const { commits: graph, isCut } = await reader.listCommits(remote, before, after);
  if (before === null && graph.length > total) {
    const which = `which ${total} of them were pushed is unknown`;
    throw new ProviderProblem('refused', `The branch is new and has more commits: ${which}.`);
  }
  if (graph.length <= named.length && !isCut) {
    throw new ProviderProblem('refused', `It listed ${count(graph.length, 'commit')} of ${total}.`);
  }
  const paths = await readPaths(place, after, graph.length);
  // A delivery knows the files of its commits.
  const known = new Map(named.map((commit) => [commit.sha, commit]));
  const listed = commitsOf(place, graph).map((commit) => {
    const own = known.get(commit.sha) ?? { ...commit, ...(paths && { paths: paths.get(commit.sha) ?? [] }) };
    known.delete(commit.sha);
    return own;
  });
  const commits = [...known.values(), ...listed];
  if (isCut) return { complete: { ...push, data: { ...push.data, commits } }, problem: problemOfCut(graph) };
  const { total: _, before: __, ...data } = push.data;
  return { complete: { ...push, data: { ...data, commits } }, problem: null };
}

/** Read as a push is, so that they are the same as in a delivery. */
function commitsOf({ reader, remote }: Readable, graph: CommitRange['commits']): Commit[] {
  if (graph.length === 0) return [];
  const event = eventIn(...readOf(reader, remote, reader.pushOf(remote, '0'.repeat(40), graph)));
  return event?.type === 'push' ? event.data.commits : [];
}

/** The filtered folders that each commit changes; undefined where nobody asks, or the provider cannot tell. */
async function readPaths({ reader, remote, prefixes }: Readable, tag: string, size: number) {
  if (prefixes.length === 0 || reader.listTouching === undefined || size === 0) return undefined;
  const paths = new Map<string, string[]>();
  for (const prefix of prefixes) {
    // Commits that were made earlier and merged later may stand between those of the range.
    const shas = await reader.listTouching(remote, tag, prefix.replace(/\/$/, ''), size + 100);
    for (const sha of shas) paths.set(sha, [...(paths.get(sha) ?? []), prefix]);
  }
  return paths;
}

/** Stores the range, and plans again what its commits belong to. */
async function settle(tx: WriteTx, deps: Needs, key: RangeKey, found: Found, now: Date): Promise<void> {
  if (!(await updateRange(tx, key, { ...found, status: 'known' }))) return;
  const { integrationId, repositoryId, tag } = key;
  const release = await findEvent(tx, key, { type: 'release', key: tag });
  if (release === null) return;
  const triggers = await listEnabledTriggers(tx, integrationId, repositoryId);
  const ofBranches = triggers.filter(({ event }) => kinds[event].isOfBranch);
  const previous =
    found.previousTag === null ? null : await findEvent(tx, key, { type: 'release', key: found.previousTag });
  if (previous?.type === 'release') {
    const { branch, data } = previous;
    // The window of a trigger that leaves out the previous release begins before it.
    const isLeftOut = ofBranches.some(({ event, filters }) => {
      const isOther = kinds[event].isRolling && branch !== release.branch;
      return isOther || !isDivider(filters, { ...data, branch });
    });
    if (isLeftOut) await queueRange(tx, { ...key, tag: previous.key }, now);
  }
  const followers = (await listRanges(tx, key)).filter(({ previousTag }) => previousTag === tag);
  const branches = new Set([release.branch]);
  for (const follower of followers) {
    branches.add((await findEvent(tx, key, { type: 'release', key: follower.tag }))?.branch ?? null);
  }
  const times = [release.occurredAt, ...(found.commits ?? []).flatMap(({ at }) => at ?? [])];
  const since = times.sort()[0] ?? release.occurredAt;
  const scopes = [...branches].filter((branch) => branch !== null).sort();
  for (const { id: triggerId, filters } of ofBranches) {
    for (const branch of scopes) {
      if (!fitsOne(filters.branch, branch)) continue;
      const scope = branchScope(repositoryId, branch);
      await queueRun(tx, { triggerId, scope, since, deliveryId: release.deliveryId }, now);
    }
  }
  deps.log.debug({ ...key, commits: found.commits?.length }, 'read the commits of a release');
}

/** Retries, or gives up. `isForAll`: the others would fail for the same reason. */
async function postpone(
  deps: Needs,
  range: DueRange,
  error: unknown,
  all: readonly DueRange[],
): Promise<{ isForAll: boolean }> {
  const { db, clock, log } = deps;
  const now = clock.now().getTime();
  // Commits that cannot be read are as good as refused: asked again and again, they would hold up all other ranges.
  if (!(error instanceof AppError) && !(error instanceof MalformedPayload)) throw error;
  const kind = error instanceof ProviderProblem ? error.kind : 'refused';
  const problem = messageOf(error).slice(0, MAX_PROBLEM_LENGTH).toWellFormed();
  if (kind === 'rate-limited') {
    const retryAt = error instanceof ProviderProblem ? error.retryAt?.getTime() : undefined;
    const dueAt = Math.min(Math.max(retryAt ?? now + LIMIT_WAIT_MS, now + 1_000), now + MAX_WAIT_MS);
    await db.write((tx) => postponeRanges(tx, range, { dueAt, problem }), orderOf(range));
    return { isForAll: true };
  }
  const waitMs = kind === 'provider-failed' ? BACK_OFF_MS[range.attempts] : undefined;
  if (waitMs === undefined) log.info({ ...idOf(range), problem }, 'the commits of a release are unknown');
  const next = waitMs === undefined ? { status: 'unknown' as const } : { dueAt: now + waitMs };
  const changes = { ...next, attempts: range.attempts + 1, problem };
  // A server that is away, or a repository that cannot be seen, fails for every release.
  const isForAll = kind !== 'refused';
  await db.write(async (tx) => {
    for (const each of isForAll ? all : [range]) await updateRange(tx, each, changes);
  }, orderOf(range));
  return { isForAll };
}

const idOf = ({ integrationId, repositoryId, tag }: RangeKey) => ({ integrationId, repositoryId, tag });
