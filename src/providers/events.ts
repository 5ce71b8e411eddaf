import type { WrittenBlock } from './written.ts';

// The material of drafts: one record for each thing that was shipped, for any number and order of its deliveries.
// Small, and kept longer than the log.

/** The source of an event: a repository, or a whole workspace of an issue tracker. */
export interface EventSource {
  integrationId: string;
  /** Null for an integration without repositories. */
  repositoryId: string | null;
}

/** The data of each type of event. Texts are bounded. */
export interface EventData {
  push: {
    /** The commit that the branch is at now. */
    after: string;
    compareUrl: string | null;
    /** Oldest first. */
    commits: Commit[];
    /** How many commits the push has, where its payload names fewer; else absent. */
    total?: number;
    /** The commit that the branch was at then; null for a new branch. Absent without `total`, and where nothing tells it. */
    before?: string | null;
  };
  pull_request: {
    number: number;
    title: string;
    breaking: string | null;
    labels: string[];
    author: string | null;
    /** True when it was merged into the default branch; null when unknown. */
    isDefaultBranch: boolean | null;
    mergeCommitSha: string | null;
    url: string | null;
    blocks?: WrittenBlock[];
    /** The hashes of commits, and the numbers of pull requests (`#12`), that it takes back; absent for none. */
    reverts?: string[];
    /** The issues that its branch, its title and its description name; absent for none. */
    identifiers?: string[];
  };
  release: {
    tag: string;
    /** Null when it has none but its tag. */
    name: string | null;
    /** In Markdown; null when they are empty, or only link to all changes. */
    notes: string | null;
    isPrerelease: boolean;
    author: string | null;
    url: string | null;
    /** At an issue tracker: the name of its pipeline, and its issues. */
    pipeline?: string | null;
    issues?: { id: string; identifier: string; title: string; url: string | null }[];
    /** Notes that were written for the release with this id; they are no release of their own. */
    noteOf?: string;
  };
  issue: {
    id: string;
    /** Such as `ENG-412`. */
    identifier: string;
    /** Its identifiers in earlier teams; absent for none. */
    previousIdentifiers?: string[];
    title: string;
    labels: string[];
    team: { id: string; name: string; key: string | null } | null;
    project: { id: string; name: string } | null;
    author: string | null;
    url: string | null;
    /** False when it was reopened, or removed. */
    isCompleted: boolean;
    /**
     * The page of a pull request that is linked to the issue with this id; null when the link was removed. Such an event
     * is no issue of its own: its key is `link`, a space, and the id of the link.
     */
    linksTo?: string | null;
  };
  project: {
    id: string;
    name: string;
    /** In Markdown. */
    summary: string | null;
    author: string | null;
    url: string | null;
    isCompleted: boolean;
  };
  project_update: {
    id: string;
    about: { kind: 'project' | 'initiative'; id: string; name: string; url: string | null };
    /** In Markdown. */
    body: string | null;
    /** `onTrack`, `atRisk`, `offTrack`. */
    health: string | null;
    author: string | null;
    url: string | null;
  };
}

export interface Commit {
  sha: string;
  /** The first line of its message; of a merge such as `Merge pull request #12 from ann/quiet: Quiet mode` the title too. */
  subject: string;
  /** The text after `BREAKING CHANGE:` in its message, on one line. */
  breaking: string | null;
  /** Lines of its body that read as titles of changes; absent for none. */
  further?: string[];
  /** The blocks of its message for a changelog; absent without one. */
  blocks?: WrittenBlock[];
  /** The value of its trailer `Changelog`; absent without one. */
  kind?: string;
  /** The hashes of commits, and the numbers of pull requests (`#12`), that it takes back; absent for none. */
  reverts?: string[];
  /** The commits of another branch that it is a copy of; absent for none. */
  picked?: string[];
  /** The path of pull requests below the repository's page, where it is not `pull`. */
  pullPath?: string;
  /** A login, or else a name. */
  author: string | null;
  url: string | null;
  /** The issues that its message names; absent for none. */
  identifiers?: string[];
  /** The files that it changes, or of very many the folders, with a slash at the end. Absent where they are unknown. */
  paths?: string[];
}

export type EventType = keyof EventData;

export const eventTypes: readonly EventType[] = [
  'push',
  'pull_request',
  'release',
  'issue',
  'project',
  'project_update',
];

/** The types of which roundups consist: what reached the default branch of a repository, and what a team completed. */
export const ROUNDUP_EVENTS: readonly EventType[] = ['push', 'pull_request', 'issue'];

interface EventOf<Type extends EventType> {
  type: Type;
  /** The same in every delivery about it: a commit, a number, a tag, an id. */
  key: string;
  /** The provider's id of a release with a tag, which stays when the tag is edited. Absent where the provider gives none. */
  releaseId?: string;
  /** The branch that it reached, or that a release is of. Null for an issue tracker. */
  branch: string | null;
  /** ISO 8601, UTC, with milliseconds. */
  occurredAt: string;
  /** Sorts after the versions of the same event that it replaces, whichever arrives first. */
  version: string;
  /** `owner/name`, or null for an issue tracker. */
  repository: string | null;
  /** The provider's id of the delivery that brought it. */
  deliveryId: string;
  data: EventData[Type];
}

/** Something that was shipped. */
export type Event = { [Type in EventType]: EventOf<Type> }[EventType];

/** The facts that a provider reads from its data. The receiver adds the rest. */
export type EventFacts = {
  [Type in EventType]: Omit<EventOf<Type>, 'repository' | 'deliveryId' | 'occurredAt'> & {
    /** Times that may say when it happened, the best first. */
    times: (string | null | undefined)[];
  };
}[EventType];

export interface Arrival {
  /** A person asked for it: its post is a draft even if the trigger publishes. */
  draftOnly: boolean;
  /** A person asked for its post to be published: it is, even if the trigger makes drafts. */
  publish: boolean;
}

export interface EventReader {
  /**
   * Oldest first: later than `after`, not later than `until`. Of too many, the newest. With `arrived`, only those that
   * the trigger may make posts of.
   */
  list(
    types: readonly EventType[],
    span: { branch?: string; after?: string | undefined; until?: string | undefined; arrived?: boolean },
  ): Promise<Event[]>;
  /**
   * Releases without their notes, oldest first: those of a branch since a time, the newest `limit` of it before that, or
   * some by their tags.
   */
  listReleases(
    which:
      | { branch: string; since: string }
      | { branch: string; before: string; limit: number }
      | { tags: readonly string[] },
  ): Promise<{ tag: string; branch: string | null; isPrerelease: boolean; occurredAt: string }[]>;
  find(type: EventType, key: string): Promise<Event | null>;
  /** Those of these events that are known, by key. */
  findAll(type: EventType, keys: readonly string[]): Promise<ReadonlyMap<string, Event>>;
  /** Those of these events that the trigger may make posts of, by key. */
  arrivalsOf(type: EventType, keys: readonly string[]): Promise<ReadonlyMap<string, Arrival>>;
  /** Null for an event that the trigger may not make a post of. */
  arrivalOf(type: EventType, key: string): Promise<Arrival | null>;
}
