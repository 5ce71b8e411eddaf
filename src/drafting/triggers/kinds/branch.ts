import { fitsOne } from '../../../lib/text.ts';
import type { Commit, Event, EventReader, EventType } from '../../../providers/events.ts';
import { isBranchMerge } from '../../changes/reached.ts';
import { ENTRY_RULES } from '../../changes/rules.ts';
import type { Material, ScopeDrafts, Shipped } from '../../store.ts';
import type { TriggerFilters } from '../model.ts';
import type { RangeCommit } from '../range-store.ts';
import {
  type Changes,
  draftOf,
  emptyDraft,
  inPaths,
  isInClosedDraft,
  isOneOf,
  type PlanInput,
  type TriggerKind,
  touches,
  withCommits,
} from './kind.ts';
import { isOfTracker, planTrackerRelease, trackerScopeOf } from './tracker.ts';
import {
  dayAfter,
  dayBefore,
  type ListedRelease,
  readWindows,
  type Window,
  type Windows,
} from './windows.ts';

/**
 * The changes of a release by the commit graph; null when it is unknown. They are the same however much of it arrived as
 * pushes, and in which order.
 */
async function graphChanges(
  events: EventReader,
  { commits, after, until }: Window,
  release: Shipped<'release'>,
): Promise<Changes | null> {
  if (commits === null) return null;
  const shas = new Set(commits.map(({ sha }) => sha));
  const times = commits.flatMap(({ at }) => at ?? []).sort();
  const [first, last] = [times[0], times.at(-1)];
  // A pull request of a release may have reached another branch.
  const merged = await events.list(['pull_request'], {
    after: first === undefined ? after : dayBefore(first),
    until: last === undefined ? until : dayAfter(last),
  });
  const unnamed = await events.list(['pull_request'], {
    ...(release.branch !== null && { branch: release.branch }),
    after,
    until,
  });
  const pullRequests = merged.filter((event) => event.type === 'pull_request');
  return {
    pushes: pushesOf(commits, release),
    pullRequests: [
      ...pullRequests.filter(({ data }) => shas.has(data.mergeCommitSha ?? '')),
      // The commit of some is unknown.
      ...unnamed
        .filter((event) => event.type === 'pull_request')
        .filter((each) => each.data.mergeCommitSha === null),
    ],
  };
}

/** The steps of the main line as pushes. */
export function pushesOf(
  commits: readonly RangeCommit[],
  release: Pick<Shipped<'release'>, 'branch' | 'repository' | 'deliveryId' | 'occurredAt'>,
): Shipped<'push'>[] {
  const { branch, repository, deliveryId } = release;
  const steps = Map.groupBy(commits, ({ sha, broughtBy }) => broughtBy ?? sha);
  return [...steps].map(([after, own]) => ({
    type: 'push',
    key: after,
    branch,
    occurredAt: own.at(-1)?.at ?? release.occurredAt,
    version: '',
    repository,
    deliveryId,
    data: { after, compareUrl: null, commits: own.map(({ at: _, broughtBy: __, ...commit }) => commit) },
  }));
}

// Kinds for code hosts. Releases divide the history of a branch into windows (`windows.ts`): each change belongs to the
// window of one release, or to the open window after the last one.

/** A release is a draft of its own: its notes or, without notes, the changes since the release before it. */
export const release: TriggerKind = {
  event: 'release',
  action: 'published',
  content: ['release'],
  filters: ['branch', 'path', 'prereleases', 'tag', ...ENTRY_RULES],
  isRolling: false,
  isOfBranch: true,

  // A push that arrives after the release it belongs to changes that release's draft.
  scopeOf: (filters, event, repositoryId) =>
    trackerScopeOf(event) ?? scopeOfBranch(['push', 'pull_request'])(filters, event, repositoryId),

  matches: (filters, event) =>
    event.type === 'release' &&
    (event.branch === null ? matchesTracker(filters, event) : matchesBranch(filters, event)),

  async plan({ filters, scope, since, events, ranges, choose }) {
    if (repositoryOf(scope) === null) {
      return planTrackerRelease(events, scope, (event) => matchesTracker(filters, event));
    }
    const branch = branchOf(scope);
    const divides = (each: ListedRelease) => isDivider(filters, each);
    const needsFiles = filters.path !== undefined;
    const windows = await readWindows({ branch, since, events, ranges, divides, needsFiles });
    const subjects = [...windows.skipped, ...windows.planned.map(({ subject }) => subject)];
    const chosen = choose?.(subjects) ?? new Set(subjects);
    const planned = windows.planned.filter(({ subject }) => chosen.has(subject));
    const drafts = windows.skipped.filter((subject) => chosen.has(subject)).map(emptyDraft);
    let timed: ReturnType<typeof partition> | undefined;
    const tags = tagsOf(planned);
    const [known, arrivals] = await Promise.all([
      findReleases(events, tags),
      events.arrivalsOf('release', tags),
    ]);
    for (const window of planned) {
      const { subject, previousTag, after, until } = window;
      const [event, arrival] = [known.get(window.tag ?? ''), arrivals.get(window.tag ?? '')];
      if (event === undefined || arrival === undefined || until === undefined) continue;
      let changes: Partial<Material> = {};
      if (event.data.notes === null) {
        if (window.commits === null) timed ??= partition(windows, await listChanges(events, branch, windows));
        const all = (await graphChanges(events, window, event)) ?? changesIn(timed, window);
        changes = inPaths(filters.path, all);
      }
      const { repository } = event;
      const material = { repository, branch, release: event, previousTag, ...changes };
      drafts.push({ ...draftOf(subject, [event], material), ...arrival, window: { after, until } });
    }
    return drafts;
  },
};

/** Everything that reaches a branch, in one draft until a release closes it. */
export const push: TriggerKind = {
  ...rolling(['push', 'pull_request']),
  event: 'push',
  action: 'pushed',
  filters: ['branch', 'path', 'prereleases', 'tag', ...ENTRY_RULES],
};

/** The pull requests that are merged into a branch, in one draft until a release closes it. */
export const pullRequest: TriggerKind = {
  ...rolling(['pull_request']),
  event: 'pull_request',
  action: 'merged',
  filters: ['branch', 'label', 'prereleases', 'tag', ...ENTRY_RULES],
};

function rolling(content: EventType[]): Omit<TriggerKind, 'event' | 'action' | 'filters'> {
  return {
    content,
    isRolling: true,
    isOfBranch: true,

    scopeOf: scopeOfBranch(content),

    matches: (filters, event) =>
      content.includes(event.type) &&
      matchesBranch(filters, event) &&
      (event.type !== 'push' || event.data.commits.some((commit) => touches(filters.path, commit))) &&
      (event.type !== 'pull_request' || isOneOf(filters.label, ...event.data.labels)),

    async plan(input) {
      const { filters, scope, events, drafts } = input;
      const branch = branchOf(scope);
      const { windows, changes } = await readArrived(input, input.since);
      const { after } = windows;
      // A push outside of the paths did not arrive, but tells the files of the pull request that made it.
      const known = filters.path === undefined ? [] : await events.list(['push'], { branch, after });
      const pushed = known.filter((event) => event.type === 'push');
      const planned = windows.skipped.map(emptyDraft);
      const releases = await findReleases(events, tagsOf(windows.planned));
      for (const window of windows.planned) {
        const { subject, previousTag } = window;
        const arrived = inPaths(filters.path, changesIn(changes, window), pushed);
        const pushes = content.includes('push')
          ? withCommits(arrived.pushes, (commit, each) => !isClosed(commit, each, drafts)).filter(
              ({ data }) => !data.commits.every(isBranchMerge),
            )
          : [];
        const pullRequests = arrived.pullRequests.filter(
          (each) => !isInClosedDraft(each, drafts) && isOneOf(filters.label, ...each.data.labels),
        );
        const changed = [...pushes, ...pullRequests];
        const [first] = changed;
        if (first === undefined) {
          planned.push(emptyDraft(subject));
          continue;
        }
        const { repository } = first;
        const isDefaultBranch =
          pushes.length > 0 || pullRequests.some(({ data }) => data.isDefaultBranch !== false);
        const closedBy = releases.get(window.tag ?? '') ?? null;
        const closed = closedBy === null ? changed : [...changed, closedBy];
        const where = { repository, branch, isDefaultBranch, previousTag };
        planned.push(draftOf(subject, closed, { ...where, release: closedBy, pushes, pullRequests }));
      }
      return planned;
    },
  };
}

/**
 * A rolling draft that a person closed has the commit, whatever push brings it. Drafts of older versions, and pull
 * requests, name the last commit of a push alone.
 */
function isClosed({ sha }: Commit, { data }: Shipped<'push'>, { closedKeys }: ScopeDrafts): boolean {
  if (closedKeys.size === 0) return false;
  if (closedKeys.has(`commit ${sha}`) || closedKeys.has(`push ${sha}`)) return true;
  const isPart = data.commits.some((each) => closedKeys.has(`commit ${each.sha}`));
  return closedKeys.has(`push ${data.after}`) && !isPart;
}

/** The branch that an event reached, when it is a release or one of the `changes` and its branch passes the filters. */
function scopeOfBranch(changes: readonly EventType[]): TriggerKind['scopeOf'] {
  return (filters, event, repositoryId) => {
    const isRelevant = event.type === 'release' || changes.includes(event.type);
    if (!isRelevant || event.branch === null || !matchesBranch(filters, event)) return null;
    return branchScope(repositoryId, event.branch);
  };
}

/** The scope of a branch. Repository ids contain no space. */
export function branchScope(repositoryId: string | null, branch: string): string {
  return `${repositoryId} ${branch}`;
}

/** The repository of a branch; null for a release of an issue tracker. */
export function repositoryOf(scope: string): string | null {
  return isOfTracker(scope) ? null : scope.slice(0, scope.indexOf(' '));
}

export function branchOf(scope: string): string {
  return scope.slice(scope.indexOf(' ') + 1);
}

/** Without a branch filter: the default branch, and releases of any branch. */
function matchesBranch(filters: TriggerFilters, event: Event): boolean {
  if (event.branch === null) return false;
  if (event.type === 'release' && !matchesRelease(filters, event.data)) return false;
  if (filters.branch !== undefined) return fitsOne(filters.branch, event.branch);
  return event.type !== 'pull_request' || event.data.isDefaultBranch !== false;
}

/** A tracker has pipelines where a code host has branches. */
function matchesTracker(filters: TriggerFilters, { data }: Shipped<'release'>): boolean {
  if (data.noteOf !== undefined) return true;
  return matchesRelease(filters, data) && fitsOne(filters.branch, data.pipeline ?? '');
}

/** Applies the filters of releases: tags and pre-releases. */
export function matchesRelease(
  { prereleases, tag: patterns }: TriggerFilters,
  { tag, isPrerelease }: { tag: string; isPrerelease: boolean },
): boolean {
  return (prereleases !== false || !isPrerelease) && fitsOne(patterns, tag);
}

/** The release begins a window: what comes before it belongs to it, and not to the next one. */
export function isDivider(filters: TriggerFilters, each: Omit<ListedRelease, 'occurredAt'>): boolean {
  return matchesRelease(filters, each) && fitsOne(filters.branch, each.branch ?? '');
}

/**
 * The windows since then with the changes that arrived, and earlier ones while their drafts hold older events, or while
 * a change belongs to them. A release that arrived while the trigger was disabled may split such a draft: plan both
 * parts, so that no event is lost.
 */
async function readArrived(
  input: PlanInput,
  since: string,
): Promise<{ windows: Windows; changes: ReturnType<typeof partition> }> {
  const { filters, scope, events, drafts, ranges } = input;
  const branch = branchOf(scope);
  // Commits of a release of another branch reach this one too, in the window of this branch.
  const divides = (each: ListedRelease) => each.branch === branch && isDivider(filters, each);
  const needsFiles = filters.path !== undefined;
  const windows = await readWindows({ branch, since, events, ranges, divides, needsFiles });
  const subjects = [...windows.skipped, ...windows.planned.map(({ subject }) => subject)];
  const changes = partition(windows, await listChanges(events, branch, windows, true));
  const touched = [...changes].flatMap(([{ until }, of]) =>
    [...of.pushes, ...of.pullRequests].some(({ occurredAt }) => occurredAt >= since) ? (until ?? []) : [],
  );
  const oldest = [(await drafts.oldestEvent(subjects)) ?? since, ...touched].sort()[0] ?? since;
  return oldest >= since ? { windows, changes } : readArrived(input, oldest);
}

/** The changes of the windows to plan, and more; with `arrived` only those that arrived while the trigger was enabled. */
function listChanges(events: EventReader, branch: string, { after }: Windows, arrived = false) {
  return events.list(['push', 'pull_request'], { branch, after, arrived });
}

/** The changes of each window, oldest first. A push may bring commits of several. */
function partition(windows: Windows, changes: readonly Event[]): Map<Window, Changes> {
  const placeIn = windows.placing(changes);
  const parts = new Map<Window, Changes>();
  const partOf = (window: Window) => {
    const part = parts.get(window) ?? { pushes: [], pullRequests: [] };
    parts.set(window, part);
    return part;
  };
  for (const change of changes) {
    const place = placeIn(change);
    if (change.type === 'pull_request') {
      const window = place(change.data.mergeCommitSha);
      if (window !== null) partOf(window).pullRequests.push(change);
    }
    if (change.type !== 'push') continue;
    const byWindow = Map.groupBy(change.data.commits, ({ sha }) => place(sha));
    for (const [window, commits] of byWindow) {
      if (window === null) continue;
      const isWhole = commits.length === change.data.commits.length;
      partOf(window).pushes.push(isWhole ? change : { ...change, data: { ...change.data, commits } });
    }
  }
  return parts;
}

function changesIn(parts: ReadonlyMap<Window, Changes> | undefined, window: Window): Changes {
  return parts?.get(window) ?? { pushes: [], pullRequests: [] };
}

const tagsOf = (windows: readonly Window[]) => windows.flatMap(({ tag }) => tag ?? []);

async function findReleases(
  events: EventReader,
  tags: readonly string[],
): Promise<ReadonlyMap<string, Shipped<'release'>>> {
  const found = await events.findAll('release', tags);
  return new Map([...found].flatMap(([tag, event]) => (event.type === 'release' ? [[tag, event]] : [])));
}
