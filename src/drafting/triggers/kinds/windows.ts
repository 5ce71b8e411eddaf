import { DAY_MS } from '../../../lib/time.ts';
import type { Event, EventReader } from '../../../providers/events.ts';
import { countFirst } from '../../changes/reached.ts';
import type { RangeCommit, RangeHead, RangeReader } from '../range-store.ts';
import { OPEN } from './kind.ts';

// Releases divide the history of a branch into windows: each change belongs to one. The commit graph says to which,
// where the provider could be asked; the time says it otherwise.

export type ListedRelease = Awaited<ReturnType<EventReader['listReleases']>>[number];

/** The contents of a release, with those before it that are left out. */
export interface Window {
  /** Of its draft. */
  subject: string;
  /** The release before it; null at the start of the known history. */
  previousTag: string | null;
  /** Its time, where nothing else is known. */
  after: string | undefined;
  until: string | undefined;
  /** The release that closes it; null for the open window. */
  tag: string | null;
  /** By the graph; null when only the time is known. No two windows have the same commit. */
  commits: RangeCommit[] | null;
  /** More commits may belong to it. */
  isCut: boolean;
}

export interface Windows {
  /** Oldest first, the open one last: those to plan. */
  planned: Window[];
  /** The subjects of releases that divide nothing. */
  skipped: string[];
  /** The start of the time in which their changes happened; undefined: the start of the history. */
  after: string | undefined;
  /** Tells the window of each change of a branch. `changes`: all since `after`. */
  placing(changes: readonly Event[]): Place;
}

/** The window of a commit of the event, or of the whole event; null when the branch has lost it. */
type Place = (event: Event) => (sha: string | null) => Window | null;

/** How many windows before those to plan are looked at for the commits of merged branches. */
const OVERLAP = 20;

interface Options {
  branch: string;
  since: string;
  events: EventReader;
  ranges: RangeReader;
  /** True for a release that begins a window. */
  divides: (release: ListedRelease) => boolean;
  /** The files of commits matter, so that commits are of no use while they are asked for again. */
  needsFiles: boolean;
}

export async function readWindows(options: Options): Promise<Windows> {
  const { branch, since, events, ranges, divides, needsFiles } = options;
  const [earlier, later] = await Promise.all([
    listDividers(options, OVERLAP + 1),
    events.listReleases({ branch, since }),
  ]);
  const isKnown = ({ status, isRead }: RangeHead) => status === 'known' || (isRead && !needsFiles);
  // The one before those that are looked at only begins the first of them.
  let before = earlier.length > OVERLAP ? earlier.shift() : undefined;
  const { heads, byTag } = await readHeads(options, [...earlier, ...later], isKnown);
  const windows: Window[] = [];
  const chains = new Map<Window, string[]>();
  const skipped: string[] = [];
  for (const each of [...earlier, ...later]) {
    const { tag, occurredAt: until } = each;
    if (!divides(each)) {
      skipped.push(`release ${tag}`);
      continue;
    }
    const chain = chainOf(tag, heads, isKnown, (previous) => {
      const release = byTag.get(previous);
      return release === undefined || divides(release);
    });
    const window: Window = {
      subject: `release ${tag}`,
      previousTag: chain === null ? (before?.tag ?? null) : chain.previousTag,
      after: before?.occurredAt,
      until,
      tag,
      commits: null,
      isCut: chain?.tags.some((part) => isCut(heads.get(part))) ?? false,
    };
    if (chain !== null) chains.set(window, chain.tags);
    windows.push(window);
    before = each;
  }
  const open = { previousTag: before?.tag ?? null, after: before?.occurredAt, until: undefined };
  windows.push({ subject: OPEN, ...open, tag: null, commits: null, isCut: false });

  const owners = await readKnown(windows, chains, ranges);
  const planned = windows.slice(earlier.length);
  // A change that the windows before them do not have may belong to the first one.
  let start = earlier.length;
  while (windows[start - 1]?.commits != null) start--;
  const after = startOf(windows[start]?.after, planned);
  return { planned, skipped, after, placing: (changes) => placer(windows, owners, changes) };
}

/** The newest `count` releases before the windows that divide the branch, oldest first. */
async function listDividers({ branch, since, events, divides }: Options, count: number) {
  for (let limit = count; ; limit *= 8) {
    const releases = await events.listReleases({ branch, before: since, limit });
    const dividers = releases.filter(divides).slice(-count);
    if (dividers.length === count || releases.length < limit) return dividers;
  }
}

/** The ranges of the releases, and of all that their chains consist of. `byTag` has the releases before them too. */
async function readHeads(
  { events, ranges, divides }: Options,
  releases: readonly ListedRelease[],
  isKnown: (head: RangeHead) => boolean,
) {
  const byTag = new Map(releases.map((each) => [each.tag, each]));
  const heads = new Map<string, RangeHead>();
  const asked = new Set<string>();
  for (let tags = releases.filter(divides).map(({ tag }) => tag); tags.length > 0; ) {
    for (const tag of tags) asked.add(tag);
    const found = await ranges.heads(tags);
    for (const [tag, head] of found) heads.set(tag, head);
    const previous = found
      .values()
      .filter(isKnown)
      .flatMap(({ previousTag }) => (previousTag === null ? [] : [previousTag]));
    const others = [...previous].filter((tag) => !asked.has(tag));
    const unlisted = others.filter((tag) => !byTag.has(tag));
    if (unlisted.length > 0)
      for (const each of await events.listReleases({ tags: unlisted })) byTag.set(each.tag, each);
    tags = others.filter((tag) => {
      const release = byTag.get(tag);
      return release !== undefined && !divides(release);
    });
  }
  return { heads, byTag };
}

/** The problem of a range that is asked for again is not about its commits. */
const isCut = (head: RangeHead | undefined) => head?.status === 'known' && head.problem !== null;

/** The releases whose ranges make up a window, up to one that divides; null when one of them is unknown. */
function chainOf(
  tag: string,
  heads: ReadonlyMap<string, RangeHead>,
  isKnown: (head: RangeHead) => boolean,
  divides: (tag: string) => boolean,
): { tags: string[]; previousTag: string | null } | null {
  const tags = [tag];
  for (;;) {
    const head = heads.get(tags.at(-1) ?? '');
    if (head === undefined || !isKnown(head)) return null;
    const { previousTag } = head;
    if (previousTag === null || divides(previousTag) || tags.includes(previousTag))
      return { tags, previousTag };
    tags.push(previousTag);
  }
}

/** Reads the commits of windows. Of several with the same commit, the first has it. Returns the owners. */
async function readKnown(
  windows: readonly Window[],
  chains: ReadonlyMap<Window, string[]>,
  ranges: RangeReader,
): Promise<ReadonlyMap<string, Window>> {
  const commits = await ranges.read(windows.flatMap((window) => chains.get(window) ?? []));
  const owners = new Map<string, Window>();
  for (const window of windows) {
    const tags = chains.get(window);
    if (tags === undefined) continue;
    const all = tags.toReversed().flatMap((tag) => commits.get(tag) ?? []);
    for (const { sha } of all) if (!owners.has(sha)) owners.set(sha, window);
    const own = new Map(all.map((commit) => [commit.sha, commit]));
    window.commits = [...own.values()].filter(({ sha }) => owners.get(sha) === window);
  }
  return owners;
}

/** A commit may be pushed long after it was made, but hardly before. */
function startOf(after: string | undefined, windows: readonly Window[]): string | undefined {
  const times = windows.flatMap(({ commits }) => (commits ?? []).flatMap(({ at }) => at ?? []));
  const oldest = times.sort()[0];
  if (after === undefined || oldest === undefined) return after;
  return [after, dayBefore(oldest)].sort()[0];
}

export const dayBefore = (time: string) => new Date(Date.parse(time) - DAY_MS).toISOString();
export const dayAfter = (time: string) => new Date(Date.parse(time) + DAY_MS).toISOString();

/** The commit at which a push or a merge left the branch. */
function headOf({ type, data }: Event): string | null {
  return type === 'push' ? data.after : type === 'pull_request' ? data.mergeCommitSha : null;
}

/**
 * A change that no range has belongs to the first later release whose commits are unknown, or to the open window. But
 * when a later state of the branch was released without it, a forced push has dropped it.
 */
function placer(
  windows: readonly Window[],
  owners: ReadonlyMap<string, Window>,
  changes: readonly Event[],
): Place {
  const indexes = new Map(windows.map((window, index) => [window, index]));
  /** Newest first, each with the earliest window that any newer state is in. */
  const states: { time: string; earliest: number }[] = [];
  let earliest = Number.POSITIVE_INFINITY;
  for (const change of changes.toReversed()) {
    const owner = owners.get(headOf(change) ?? '');
    if (owner === undefined) continue;
    earliest = Math.min(earliest, indexes.get(owner) ?? earliest);
    states.push({ time: change.occurredAt, earliest });
  }
  /** The earliest window with a state of the branch that is newer than `time`. */
  const releasedAfter = (time: string) => {
    const newer = countFirst(states, (state) => state.time > time);
    return states[newer - 1]?.earliest ?? Number.POSITIVE_INFINITY;
  };
  return ({ occurredAt }) => {
    const start = windows.findIndex(({ until }) => until === undefined || occurredAt <= until);
    let lostAt: number | undefined;
    return (sha) => {
      const owner = owners.get(sha ?? '');
      if (owner !== undefined) return owner;
      for (let index = start; ; index++) {
        const window = windows[index];
        if (window === undefined) return null;
        const takesAll = window.commits === null || window.isCut || sha === null;
        if (takesAll) return window;
        lostAt ??= releasedAfter(occurredAt);
        if (lostAt >= start && lostAt <= index) return null;
      }
    };
  };
}
