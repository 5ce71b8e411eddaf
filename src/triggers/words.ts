import { AppError } from '../lib/app-error.ts';
import type { TriggerFilters } from './model.ts';

// The sentences that the command line and the dashboard share, by the codes of refusals.

const noPostReasons = {
  other_integration: () => 'it belongs to another integration',
  no_event: () => 'its event creates no posts',
  no_match: () => 'its event, its repository or the filters do not match',
  edit_only: (type: string) =>
    `the ${type} did not arrive while the trigger was enabled, and an edit alone creates no post`,
  no_change: () => 'it changes no post',
};

/** Why a trigger makes no post of a delivery. */
export type NoPostReason = keyof typeof noPostReasons;

export function describeNoPost({ reason, type }: { reason: NoPostReason; type: string }): string {
  return noPostReasons[reason](type);
}

const sentences = {
  trigger_not_found: (it: { id: string }) => `Trigger ${it.id} not found`,
  trigger_exists: (it: { id: string }) =>
    `Trigger ${it.id} has the same rule. Change that trigger, or choose other filters.`,
  not_applicable: (it: { field: string; value: string; to: string; supported: readonly string[] }) =>
    `The ${it.field} ${it.value} does not apply to ${it.to}. Choose from: ${it.supported.join(', ')}.`,
  publish_unsupported: (it: { event: string; supported: readonly string[] }) =>
    `A rolling draft of ${it.event} events can't be published at once. Choose one of these events: ${it.supported.join(', ')}.`,
  past_unsupported: (it: { event: string }) =>
    `Only a release trigger can create drafts of past releases, not a trigger on ${it.event}.`,
  unknown_repository: (it: { id: string; repository: string; known: readonly string[] }) =>
    `Integration ${it.id} has no repository ${it.repository}. It has: ${it.known.join(', ') || 'none'}.`,
  no_post: (it: { deliveryId: string; triggerId: string; reason: NoPostReason; type: string }) =>
    `Trigger ${it.triggerId} creates no post for delivery ${it.deliveryId}: ${describeNoPost(it)}`,
};

type Code = keyof typeof sentences;
type Details<Key extends Code> = Parameters<(typeof sentences)[Key]>[0];

export function refusal<Key extends Code>(status: number, code: Key, details: Details<Key>): AppError {
  const message = (sentences[code] as (it: typeof details) => string)(details);
  return new AppError(status, message, { code, details: { ...details } });
}

export function isRefusal<Key extends Code>(
  error: unknown,
  code: Key,
): error is AppError & { details: Details<Key> } {
  return error instanceof AppError && error.code === code;
}

/** In words: `branch main, release/*; no pre-releases`. */
export function describeFilters({ prereleases, ...lists }: TriggerFilters): string {
  const parts = Object.entries(lists).map(([name, values]) => `${name} ${values.join(', ')}`);
  if (prereleases === false) parts.push('no pre-releases');
  return parts.join('; ') || '–';
}
