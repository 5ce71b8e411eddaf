import type { Material } from '../../drafts/model.ts';
import type { ScopeDrafts } from '../../drafts/store.ts';
import type { Event, EventReader, EventType } from '../../events/model.ts';
import type { TriggerFilters } from '../model.ts';
import type { RangeReader } from '../range-store.ts';

export { OPEN } from './subject.ts';

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
  /** Null when no event belongs in the draft. */
  material: Material | null;
  /** The `keysOf` its events. */
  eventKeys: string[];
  /** When its newest event happened. ISO 8601. */
  until: string;
  /** A new post is a draft even if the trigger publishes. */
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

const emptyMaterial: Material = {
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
