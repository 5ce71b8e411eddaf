import type { IntegrationType } from '../integrations/model.ts';

// What happened, as drafts are made from it: one record for each thing that was shipped, whatever number of deliveries
// told of it and in whatever order. Small, and kept longer than the log.

/** Where an event happened: a repository, or a whole workspace of an issue tracker. */
export interface EventSource {
  integrationId: string;
  integrationType: IntegrationType;
  /** Null for an integration without repositories. */
  repositoryId: string | null;
}

/** What each type of event says. Texts are bounded; null and absent are both null. */
export interface EventData {
  push: {
    /** The commit that the branch is at now. */
    after: string;
    compareUrl: string | null;
    /** Oldest first. */
    commits: Commit[];
  };
  pull_request: {
    number: number;
    title: string;
    /** What its description says after `BREAKING CHANGE:`. */
    breaking: string | null;
    labels: string[];
    author: string | null;
    /** Whether the branch that it was merged into is the repository's default one; null where that is not known. */
    isDefaultBranch: boolean | null;
    mergeCommitSha: string | null;
    url: string | null;
  };
  release: {
    tag: string;
    /** Null when it has none but its tag. */
    name: string | null;
    /** In Markdown; null when nothing was written, or nothing but a link to all changes. */
    notes: string | null;
    isPrerelease: boolean;
    author: string | null;
    url: string | null;
  };
  issue: {
    id: string;
    /** Such as `ENG-412`. */
    identifier: string;
    title: string;
    labels: string[];
    team: { id: string; name: string; key: string | null } | null;
    project: { id: string; name: string } | null;
    author: string | null;
    url: string | null;
    /** False when it was reopened, or removed. */
    isCompleted: boolean;
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
  /** What its message says after `BREAKING CHANGE:`, one line. */
  breaking: string | null;
  /** A login, or else a name. */
  author: string | null;
  url: string | null;
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

/** An event of one type. */
interface EventOf<Type extends EventType> {
  type: Type;
  /** What it is about, the same in every delivery that tells of it: a commit, a number, a tag, an id. */
  key: string;
  /** The branch that it reached, or that a release is of. Null for an issue tracker. */
  branch: string | null;
  /** ISO 8601, UTC, with milliseconds. */
  occurredAt: string;
  /** Sorts after the versions of the same event that it replaces, whichever arrives first. */
  version: string;
  /** `owner/name`, or null for an issue tracker. */
  repository: string | null;
  /** The delivery id of the provider's that told of it. */
  deliveryId: string;
  data: EventData[Type];
}

/** Something that was shipped. */
export type ShippedEvent = { [Type in EventType]: EventOf<Type> }[EventType];

/** A release, as far as it parts what came before it from what came after. */
interface ReleaseCut {
  tag: string;
  isPrerelease: boolean;
  occurredAt: string;
}

/** An event that a trigger may make a post of. */
export interface Arrival {
  /** A person asked for it: its post is a draft even if the trigger publishes. */
  draftOnly: boolean;
}

/** The events of one source, and which of them one trigger may make posts of. */
export interface EventReader {
  /**
   * Oldest first: later than `after`, not later than `until`. Of too many, the newest. With `arrived`, only those that
   * the trigger may make posts of.
   */
  list(
    types: readonly EventType[],
    span: { branch?: string; after?: string | undefined; until?: string | undefined; arrived?: boolean },
  ): Promise<ShippedEvent[]>;
  /** All of a branch, oldest first. */
  listReleases(branch: string): Promise<ReleaseCut[]>;
  find(type: EventType, key: string): Promise<ShippedEvent | null>;
  /** Null for an event that the trigger may not make a post of. */
  arrivalOf(type: EventType, key: string): Promise<Arrival | null>;
}
