import { AppError } from '../lib/app-error.ts';
import type { TriggerFilters } from './model.ts';

// The sentences that the command line and the dashboard share, by the codes that services throw.

const reasons = {
  other_integration: () => 'it belongs to another integration',
  no_event: () => 'its event makes no posts',
  no_match: () => 'its event, its repository or the filters do not match',
  edit_only: (type: string) =>
    `the ${type} did not arrive while the trigger was enabled, and an edit alone makes no post`,
  no_change: () => 'it changes no post',
};

/** Why a trigger makes no post of a delivery. */
export type NoPostReason = keyof typeof reasons;

/** `type`: of the delivery's event. */
export function describeNoPost({ reason, type }: { reason: NoPostReason; type: string }): string {
  return reasons[reason](type);
}

interface NotApplicable {
  field: 'event' | 'action' | 'filter';
  value: string;
  to: string;
  supported: readonly string[];
}

const refusals = {
  trigger_not_found: [404, ({ id }: { id: string }) => `Trigger ${id} not found`],
  trigger_exists: [
    409,
    ({ id }: { id: string }) =>
      `Trigger ${id} has the same rule. Change that trigger, or choose other filters.`,
  ],
  not_applicable: [
    400,
    ({ field, value, to, supported }: NotApplicable) =>
      `The ${field} ${value} does not apply to ${to}. Choose from: ${supported.join(', ')}.`,
  ],
  publish_unsupported: [
    400,
    ({ event, supported }: { event: string; supported: string[] }) =>
      `A draft of ${event} grows until it is closed, so it cannot be published at once. These can: ${supported.join(', ')}.`,
  ],
  past_unsupported: [
    400,
    ({ event }: { event: string }) =>
      `Only a release trigger can make drafts of past releases, not a trigger on ${event}.`,
  ],
  repository_not_found: [
    404,
    ({ id, repository, known }: { id: string; repository: string; known: string[] }) =>
      `Integration ${id} has no repository ${repository}. It has: ${known.join(', ') || 'none'}.`,
  ],
  no_post: [
    409,
    (details: { deliveryId: string; triggerId: string; reason: NoPostReason; type: string }) =>
      `Trigger ${details.triggerId} makes no post of delivery ${details.deliveryId}: ${describeNoPost(details)}`,
  ],
} as const;

type Refusals = typeof refusals;
type RefusalCode = keyof Refusals;
type RefusalDetails<Code extends RefusalCode> = Parameters<Refusals[Code][1]>[0];

export function refusal<Code extends RefusalCode>(code: Code, details: RefusalDetails<Code>): AppError {
  const [status, describe] = refusals[code];
  const message = (describe as (values: typeof details) => string)(details);
  return new AppError(status, message, { code, details: { ...details } });
}

/** Narrows an error to a refusal with this code, and its details. */
export function isRefusal<Code extends RefusalCode>(
  error: unknown,
  code: Code,
): error is AppError & { details: RefusalDetails<Code> } {
  return error instanceof AppError && error.code === code;
}

/** In words: `branch main, release/*; no pre-releases`. */
export function describeFilters({ prereleases, ...lists }: TriggerFilters): string {
  const parts = Object.entries(lists).map(([name, values]) => `${name} ${values.join(', ')}`);
  if (prereleases === false) parts.push('no pre-releases');
  return parts.join('; ') || '–';
}
