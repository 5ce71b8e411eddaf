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

/** The events that a trigger acts on. One matching value of a list is enough; an absent filter lets all through. */
export const TriggerFilters = Type.Object(
  {
    /** Patterns with `*`. Absent: the default branch. */
    branch: Type.Optional(Values('branches')),
    label: Type.Optional(Values('labels')),
    /** Patterns with `*` of the files that a change is in. */
    path: Type.Optional(Values('paths')),
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
  /** Follows from the event; the provider's name for it may differ. */
  action: string;
  filters: TriggerFilters;
  contentType: ContentType;
  /** Liquid; null is the built-in one. */
  titleTemplate: string | null;
  bodyTemplate: string | null;
  /** Publish its posts at once, instead of leaving them as drafts. */
  publish: boolean;
  enabled: boolean;
  createdAt: string;
  updatedAt: string;
}

/** Limits a list to one organization, or to one integration. */
export type TriggerOwner = Partial<Record<'organizationId' | 'integrationId', string | undefined>>;

/** How many past releases a new trigger can make drafts of. */
export const MAX_LAST = 50;

/** How long a run waits after each failure, in milliseconds. The next failure after the last one gives it up. */
export const backOffMs: readonly number[] = [1_000, 10_000, 60_000, 600_000];
