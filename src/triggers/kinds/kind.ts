import type { Material } from '../../drafts/model.ts';
import type { Told } from '../../drafts/store.ts';
import type { EventReader, EventSource, EventType, ShippedEvent } from '../../events/model.ts';
import type { Trigger, TriggerFilters } from '../model.ts';

/** One draft that a trigger is to have. */
export interface PlannedDraft {
  /** Such as `release v2.4.0`; `OPEN` for the rolling one that takes up what comes. */
  subject: string;
  /** Null: there is nothing to tell, any more or yet. */
  material: Material | null;
  /** The events that it tells of, as `keysOf` names them. */
  eventKeys: string[];
  /** When the newest of them happened. ISO 8601. */
  until: string;
  /** Whether a new post is a draft even if the trigger publishes. */
  draftOnly: boolean;
}

/** The subject of the rolling draft that takes up what comes. */
export const OPEN = 'open';

/** What there is to plan from. */
export interface Planning {
  trigger: Pick<Trigger, 'filters' | 'event'>;
  scope: string;
  /** Drafts that tell of nothing since then need no look. ISO 8601. */
  since: string;
  events: EventReader;
  told: Told;
}

/** What one event of triggers means: when it touches which drafts, and what these tell. */
export interface TriggerKind {
  event: EventType;
  /** The one action that makes drafts of it, as our processing names it. Every other action is an edit. */
  action: string;
  /** The events that its drafts are made of. */
  tells: readonly EventType[];
  /** Whether its scopes are branches of repositories, which releases divide. */
  isOfBranch: boolean;
  /** The filters that say something about it. */
  filters: readonly (keyof TriggerFilters)[];
  /** Whether its draft goes on until something closes it. */
  isRolling: boolean;
  /** The scopes that an event touches as it is; none when it means nothing to the trigger. */
  scopesOf(
    trigger: Pick<Trigger, 'filters'>,
    event: ShippedEvent,
    source: Pick<EventSource, 'repositoryId'>,
  ): string[];
  /** Whether the filters let through an event that drafts are made of, as it is. */
  matches(filters: TriggerFilters, event: ShippedEvent): boolean;
  /**
   * The drafts of a scope, oldest first, of those events that the trigger may make posts of. The same events give the
   * same drafts, in whatever order they came.
   */
  plan(planning: Planning): Promise<PlannedDraft[]>;
}

/** The names under which an event counts as told. A merged pull request is also the push that it made. */
export function keysOf(event: ShippedEvent): string[] {
  const own = `${event.type} ${event.key}`;
  return event.type === 'pull_request' && event.data.mergeCommitSha !== null
    ? [own, `push ${event.data.mergeCommitSha}`]
    : [own];
}

export function wasTold(event: ShippedEvent, { keys }: Told): boolean {
  return keysOf(event).some((key) => keys.has(key));
}

/** Material that tells of nothing, to be filled in. */
export const noMaterial: Material = {
  repository: null,
  branch: null,
  isDefaultBranch: true,
  release: null,
  previousTag: null,
  pushes: [],
  pullRequests: [],
  issues: [],
  project: null,
  update: null,
  team: null,
  inProject: null,
};

/** A draft that tells of these events, the newest last. */
export function planned(subject: string, events: readonly ShippedEvent[], material: Material): PlannedDraft {
  return {
    subject,
    material,
    eventKeys: events.flatMap(keysOf),
    until:
      events
        .map(({ occurredAt }) => occurredAt)
        .sort()
        .at(-1) ?? '',
    draftOnly: false,
  };
}

export function nothing(subject: string): PlannedDraft {
  return { subject, material: null, eventKeys: [], until: '', draftOnly: false };
}
