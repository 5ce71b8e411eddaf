import { type Static, Type } from '@sinclair/typebox';
import type { EventType } from '../events/model.ts';
import type { IntegrationType } from '../integrations/model.ts';
import type { ContentType } from '../posts/model.ts';

const MAX_VALUES = 20;
const MAX_VALUE_LENGTH = 200;

const Values = (what: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_VALUE_LENGTH, pattern: '\\S' }), {
    minItems: 1,
    maxItems: MAX_VALUES,
    errorMessage: `must be 1 to ${MAX_VALUES} ${what} of at most ${MAX_VALUE_LENGTH} characters`,
  });

/** Which of a trigger's events are meant. What is absent is no filter; of several values one is enough. */
export const TriggerFilters = Type.Object(
  {
    /** Patterns with `*`. Absent: the default branch. */
    branch: Type.Optional(Values('branches')),
    label: Type.Optional(Values('labels')),
    /** Absent: true. */
    prereleases: Type.Optional(Type.Boolean()),
    /** Patterns with `*`. */
    tag: Type.Optional(Values('patterns of tags')),
    /** A team's key, name or id. */
    team: Type.Optional(Values('teams')),
    /** A project's name or id. */
    project: Type.Optional(Values('projects')),
  },
  { additionalProperties: false },
);
export type TriggerFilters = Static<typeof TriggerFilters>;

/** The rule that turns an event into a post. */
export interface Trigger {
  id: string;
  organizationId: string;
  integrationId: string;
  integrationType: IntegrationType;
  /** Null: every repository of the integration. */
  repositoryId: string | null;
  event: EventType;
  /** What the event must have come to: what our processing calls it. */
  action: string;
  filters: TriggerFilters;
  contentType: ContentType;
  /** Liquid; null is the built-in one. */
  titleTemplate: string | null;
  bodyTemplate: string | null;
  /** Whether its posts are published at once, or wait for a person as drafts. */
  publish: boolean;
  enabled: boolean;
  createdAt: string;
  updatedAt: string;
}

/** How many past releases a new trigger can make drafts of. */
export const MAX_LAST = 50;

/** How long a run waits after each failure, in milliseconds; after the last one it is given up. */
export const backOffMs: readonly number[] = [1_000, 10_000, 60_000, 600_000];

export type RunStatus = 'queued' | 'failed';

/** What a trigger still has to do, or could not do. What is done leaves none. */
export interface TriggerRun {
  triggerId: string;
  organizationId: string;
  /** What it is about: a branch of a repository, a team, a project, an update. */
  scope: string;
  status: RunStatus;
  /** How often it was tried. */
  attempts: number;
  /** When it is tried next; null when it has been given up. */
  nextAttemptAt: string | null;
  /** The provider's id of the delivery that asked for it last. */
  deliveryId: string;
  error: string | null;
  queuedAt: string;
}
