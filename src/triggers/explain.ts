import type { Event } from '../events/model.ts';
import { kinds } from './kinds/index.ts';
import type { Trigger, TriggerFilters } from './model.ts';
import type { Outcome } from './results-store.ts';

// Why a delivery has no draft.

/** The filter of a trigger that excludes an event. `default`: the event needs no filter to be excluded. */
export type Exclusion = keyof TriggerFilters | 'default';

/** Null when the trigger, as it is now, lets the event through. */
export function findExclusion({ event: type, filters }: Trigger, event: Event): Exclusion | null {
  const kind = kinds[type];
  // Without a branch filter, the default branch alone passes.
  const base = filters.branch === undefined ? {} : { branch: filters.branch };
  if (!kind.matches(base, event)) return filters.branch === undefined ? 'default' : 'branch';
  const names = Object.keys(filters) as (keyof TriggerFilters)[];
  return names.find((name) => !kind.matches({ ...base, [name]: filters[name] }, event)) ?? null;
}

/** Why no trigger received an event that has no results. */
export type NoTrigger =
  /** The event never makes a draft. */
  | { reason: 'no_event' }
  /** No trigger makes drafts of such events. */
  | { reason: 'none'; hasOthers: boolean }
  | { reason: 'disabled'; trigger: Trigger }
  /** The trigger came or was enabled after the delivery. */
  | { reason: 'later'; trigger: Trigger };

/** `shipped`: the event of the delivery and its repository; null when it has none. */
export function explainNoTrigger(
  shipped: { event: Event; repositoryId: string | null } | null,
  triggers: readonly Trigger[],
): NoTrigger {
  if (shipped === null) return { reason: 'no_event' };
  const { event, repositoryId } = shipped;
  const concerned = triggers.filter(
    (each) =>
      kinds[each.event].content.includes(event.type) &&
      (each.repositoryId === null || each.repositoryId === repositoryId),
  );
  const trigger = concerned.find(({ enabled }) => enabled) ?? concerned[0];
  if (trigger === undefined) return { reason: 'none', hasOthers: triggers.length > 0 };
  return { reason: trigger.enabled ? 'later' : 'disabled', trigger };
}

/** The result changes without anybody's help: its run is due, or is retried. */
export function isPending(result: {
  outcome: Outcome;
  trigger: Pick<Trigger, 'enabled'> | null;
  run: { status: string } | null;
}): boolean {
  const { outcome, trigger, run } = result;
  if (trigger?.enabled !== true) return false;
  return outcome === 'queued' ? run?.status !== 'failed' : outcome === 'failed' && run?.status === 'queued';
}
