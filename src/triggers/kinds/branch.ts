import { isBranchMerge } from '../../drafts/changes/reached.ts';
import type { Shipped } from '../../drafts/model.ts';
import type { Event, EventReader, EventType } from '../../events/model.ts';
import type { TriggerFilters } from '../model.ts';
import {
  draftOf,
  emptyDraft,
  isInClosedDraft,
  isOneOf,
  OPEN,
  type PlanInput,
  type TriggerKind,
} from './kind.ts';

// Kinds for code hosts. Releases divide the history of a branch into windows: each change belongs to the window of the
// next release, or to the open window after the last one.

/** A release is a draft of its own: its notes or, without notes, the changes since the release before it. */
export const release: TriggerKind = {
  event: 'release',
  action: 'published',
  content: ['release'],
  filters: ['branch', 'prereleases', 'tag'],
  isRolling: false,
  isOfBranch: true,

  // A push that arrives after the release it belongs to changes that release's draft.
  scopeOf: scopeOfBranch(['push', 'pull_request']),

  matches: (filters, event) => event.type === 'release' && matchesBranch(filters, event),

  async plan({ filters, scope, since, events }) {
    const branch = branchOf(scope);
    const { windows, skipped } = await windowsSince(events, branch, filters, since);
    const drafts = skipped.map(emptyDraft);
    for (const window of windows) {
      const { subject, tag, previousTag, after, until } = window;
      const event = await findRelease(events, tag);
      const arrival = event && (await events.arrivalOf('release', event.key));
      if (event === null || arrival === null || until === undefined) continue;
      const changes = event.data.notes === null ? await changesIn(events, branch, window, false) : {};
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
  filters: ['branch', 'prereleases', 'tag'],
};

/** The pull requests that are merged into a branch, in one draft until a release closes it. */
export const pullRequest: TriggerKind = {
  ...rolling(['pull_request']),
  event: 'pull_request',
  action: 'merged',
  filters: ['branch', 'label', 'prereleases', 'tag'],
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
      (event.type !== 'pull_request' || isOneOf(filters.label, ...event.data.labels)),

    async plan(input) {
      const { filters, scope, events, drafts } = input;
      const branch = branchOf(scope);
      const { windows, skipped } = await windowsOfDrafts(input, input.since);
      const planned = skipped.map(emptyDraft);
      for (const window of windows) {
        const { subject, previousTag } = window;
        const arrived = await changesIn(events, branch, window, true);
        const isFree = (event: Event) => !isInClosedDraft(event, drafts);
        const pushes = content.includes('push')
          ? arrived.pushes.filter((each) => isFree(each) && !each.data.commits.every(isBranchMerge))
          : [];
        const pullRequests = arrived.pullRequests.filter(
          (each) => isFree(each) && isOneOf(filters.label, ...each.data.labels),
        );
        const changes = [...pushes, ...pullRequests];
        const [first] = changes;
        if (first === undefined) {
          planned.push(emptyDraft(subject));
          continue;
        }
        const { repository } = first;
        const isDefaultBranch =
          pushes.length > 0 || pullRequests.some(({ data }) => data.isDefaultBranch !== false);
        const closedBy = await findRelease(events, window.tag);
        const closed = closedBy === null ? changes : [...changes, closedBy];
        const where = { repository, branch, isDefaultBranch, previousTag };
        planned.push(draftOf(subject, closed, { ...where, release: closedBy, pushes, pullRequests }));
      }
      return planned;
    },
  };
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

export function repositoryOf(scope: string): string {
  return scope.slice(0, scope.indexOf(' '));
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

/** Applies the filters of releases: tags and pre-releases. */
export function matchesRelease(
  { prereleases, tag: patterns }: TriggerFilters,
  { tag, isPrerelease }: { tag: string; isPrerelease: boolean },
): boolean {
  return (prereleases !== false || !isPrerelease) && fitsOne(patterns, tag);
}

/** In a pattern `*` matches anything. Without patterns, true. */
export function fitsOne(patterns: readonly string[] | undefined, text: string): boolean {
  return patterns === undefined || patterns.some((pattern) => fits(pattern, text));
}

/** Takes time in proportion to the text: looks for each part once, from the end of the one before. */
function fits(pattern: string, text: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return text === first;
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const middle = text.slice(0, end);
  let from = first.length;
  for (const part of parts) {
    const at = middle.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}

/** The time on a branch between two releases that match the filters. */
interface Window {
  /** Of its draft. */
  subject: string;
  /** The release before it; null at the start of the known history. */
  previousTag: string | null;
  after: string | undefined;
  /** The release that closes it; null for the open window. */
  tag: string | null;
  until: string | undefined;
}

/** The windows that may have events since then: oldest first, the open one last. */
async function windowsSince(events: EventReader, branch: string, filters: TriggerFilters, since: string) {
  const windows: Window[] = [];
  /** The subjects of releases that do not match the filters, and divide nothing. */
  const skipped: string[] = [];
  let previousTag: string | null = null;
  let after: string | undefined;
  for (const each of await events.listReleases(branch)) {
    const { tag, occurredAt: until } = each;
    const subject = `release ${tag}`;
    const isMatch = matchesRelease(filters, each);
    if (until >= since && isMatch) windows.push({ subject, previousTag, after, tag, until });
    if (until >= since && !isMatch) skipped.push(subject);
    if (isMatch) [previousTag, after] = [tag, until];
  }
  windows.push({ subject: OPEN, previousTag, after, tag: null, until: undefined });
  return { windows, skipped };
}

/**
 * The windows since then, and earlier ones while their drafts hold older events. A release that arrived while the
 * trigger was disabled may split such a draft: plan both parts, so that no event is lost.
 */
async function windowsOfDrafts(input: PlanInput, since: string): ReturnType<typeof windowsSince> {
  const { filters, scope, events, drafts } = input;
  const result = await windowsSince(events, branchOf(scope), filters, since);
  const subjects = [...result.skipped, ...result.windows.map(({ subject }) => subject)];
  const oldest = await drafts.oldestEvent(subjects);
  return oldest === null || oldest >= since ? result : windowsOfDrafts(input, oldest);
}

/** The changes of a window, oldest first; with `arrived` only those that arrived while the trigger was enabled. */
async function changesIn(events: EventReader, branch: string, { after, until }: Window, arrived: boolean) {
  const changes = await events.list(['push', 'pull_request'], { branch, after, until, arrived });
  return {
    pushes: changes.filter((event) => event.type === 'push'),
    pullRequests: changes.filter((event) => event.type === 'pull_request'),
  };
}

async function findRelease(events: EventReader, tag: string | null): Promise<Shipped<'release'> | null> {
  const event = tag === null ? null : await events.find('release', tag);
  return event?.type === 'release' ? event : null;
}
