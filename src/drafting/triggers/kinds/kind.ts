import { fitsOne } from '../../../lib/text.ts';
import type { Commit, Event, EventReader, EventType } from '../../../providers/events.ts';
import type { Material, ScopeDrafts, Shipped } from '../../store.ts';
import type { TriggerFilters } from '../model.ts';
import type { RangeReader } from '../range-store.ts';

/** How one type of event becomes drafts: the drafts that an event affects, and their material. */
export interface TriggerKind {
  event: EventType;
  /** The one action that creates drafts, by our name for it. Every other action is an edit. */
  action: string;
  /** The types of events that its drafts consist of. */
  content: readonly EventType[];
  filters: readonly (keyof TriggerFilters)[];
  /** Its draft collects events until a person or a release closes it. */
  isRolling: boolean;
  /** Its scopes are branches of repositories (`branchScope`); at a tracker, releases have scopes of their own. */
  isOfBranch: boolean;
  /** The scope whose drafts an event affects; null when it affects none. */
  scopeOf(filters: TriggerFilters, event: Event, repositoryId: string | null): string | null;
  /** The event is content of drafts and passes the filters. */
  matches(filters: TriggerFilters, event: Event): boolean;
  /** The drafts of a scope, oldest first. The order in which events arrived does not change the result. */
  plan(input: PlanInput): Promise<PlannedDraft[]>;
}

export interface PlanInput {
  filters: TriggerFilters;
  scope: string;
  /** Plan the drafts that have events since then. ISO 8601. */
  since: string;
  events: EventReader;
  drafts: ScopeDrafts;
  /** The commits of the releases of the repository. */
  ranges: RangeReader;
  /**
   * Chooses the drafts to plan now from all that are to be planned, oldest first. Only for kinds whose drafts do not
   * depend on each other; absent: all.
   */
  choose?: (subjects: readonly string[]) => ReadonlySet<string>;
}

export interface PlannedDraft {
  /** Such as `release v2.4.0`; `OPEN` for the rolling draft. */
  subject: string;
  material: Material | null;
  /** The `keysOf` its events. */
  eventKeys: string[];
  /** The time of its newest event. ISO 8601. */
  until: string;
  draftOnly: boolean;
  /** A new post is published even if the trigger makes drafts. */
  publish: boolean;
  /** The events of this time waited for it, whether it names them or not. Null where none wait. */
  window: { after: string | undefined; until: string } | null;
}

/**
 * The keys that mark an event as used by a draft. A merged pull request is also the push that it made. Another push may
 * bring the same commits, so a push of several names each.
 */
export function keysOf(event: Event): string[] {
  const own = `${event.type} ${event.key}`;
  if (event.type === 'push') {
    const { after, commits } = event.data;
    const isPlain = commits.length === 1 && commits[0]?.sha === after;
    return isPlain ? [own] : [own, ...commits.map(({ sha }) => `commit ${sha}`)];
  }
  return event.type === 'pull_request' && event.data.mergeCommitSha !== null
    ? [own, `push ${event.data.mergeCommitSha}`]
    : [own];
}

/** A rolling draft that a person closed has the event. */
export function isInClosedDraft(event: Event, { closedKeys }: ScopeDrafts): boolean {
  return keysOf(event).some((key) => closedKeys.has(key));
}

export const emptyMaterial: Material = {
  repository: null,
  branch: null,
  isDefaultBranch: true,
  release: null,
  previousTag: null,
  pushes: [],
  pullRequests: [],
  issues: [],
  linked: [],
  project: null,
  update: null,
  team: null,
  inProject: null,
};

export function draftOf(subject: string, events: readonly Event[], known: Partial<Material>): PlannedDraft {
  const times = events.map(({ occurredAt }) => occurredAt).sort();
  const material = { ...emptyMaterial, ...known };
  return { ...emptyDraft(subject), material, eventKeys: events.flatMap(keysOf), until: times.at(-1) ?? '' };
}

export function emptyDraft(subject: string): PlannedDraft {
  return {
    subject,
    material: null,
    eventKeys: [],
    until: '',
    draftOnly: false,
    publish: false,
    window: null,
  };
}

/** Ignores case. Without a filter, true. */
export function isOneOf(filter: string[] | undefined, ...names: (string | null | undefined)[]): boolean {
  const wanted = filter?.map((value) => value.toLowerCase());
  return wanted === undefined || names.some((name) => name && wanted.includes(name.toLowerCase()));
}

/** The subject of the rolling draft that collects new events. */
export const OPEN = 'open';

// The filter by path: the packages of a repository that a trigger is about.

/** The text of a pattern before what varies. */
const startOf = (pattern: string) => pattern.split('*')[0] ?? '';

/**
 * The folders, with a slash at the end, and files in which patterns can match, to ask a provider for. Null when one of
 * them can match anywhere.
 */
export function prefixesOf(patterns: readonly string[]): string[] | null {
  const prefixes = patterns.map((pattern) => {
    const start = startOf(pattern);
    return start === pattern ? pattern : start.slice(0, start.lastIndexOf('/') + 1);
  });
  return prefixes.includes('') ? null : [...new Set(prefixes)];
}

/** A pattern without `*` is a file, or a folder with all that is in it. */
function fitsPath(patterns: readonly string[], path: string): boolean {
  const isFolder = path === '' || path.endsWith('/');
  return patterns.some((pattern) => {
    if (fitsOne([pattern], path) || path.startsWith(`${pattern.replace(/\/$/, '')}/`)) return true;
    // It may be any file of the folder.
    return isFolder && (startOf(pattern).startsWith(path) || path.startsWith(startOf(pattern)));
  });
}

/** True without a filter, and for unknown files: an extra change is easier to notice than a missing one. */
export function touches(patterns: readonly string[] | undefined, { paths }: Pick<Commit, 'paths'>): boolean {
  if (patterns === undefined || paths === undefined) return true;
  return paths.some((path) => fitsPath(patterns, path));
}

export interface Changes {
  pushes: Shipped<'push'>[];
  pullRequests: Shipped<'pull_request'>[];
}

/**
 * The changes in the filtered files. A pull request changes the files of its commits, which may be in any of the `known`
 * pushes.
 */
export function inPaths(
  patterns: readonly string[] | undefined,
  { pushes, pullRequests }: Changes,
  known: readonly Shipped<'push'>[] = pushes,
): Changes {
  if (patterns === undefined) return { pushes, pullRequests };
  const bySha = new Map(known.flatMap((push) => push.data.commits.map((each) => [each.sha, push] as const)));
  return {
    pullRequests: pullRequests.filter(({ data: { mergeCommitSha } }) => {
      const push = bySha.get(mergeCommitSha ?? '');
      const commits = push?.data.commits ?? [];
      const own = commits.filter(({ sha }) => sha === mergeCommitSha || push?.data.after === mergeCommitSha);
      const named = own.filter(({ paths }) => paths !== undefined);
      return named.length === 0 || named.some((commit) => touches(patterns, commit));
    }),
    pushes: withCommits(pushes, (commit) => touches(patterns, commit)),
  };
}

/** The pushes with some of their commits, without those that keep none. */
export function withCommits(
  pushes: readonly Shipped<'push'>[],
  isKept: (commit: Commit, push: Shipped<'push'>) => boolean,
): Shipped<'push'>[] {
  return pushes.flatMap((push) => {
    const commits = push.data.commits.filter((commit) => isKept(commit, push));
    if (commits.length === push.data.commits.length) return push;
    return commits.length === 0 ? [] : { ...push, data: { ...push.data, commits } };
  });
}
