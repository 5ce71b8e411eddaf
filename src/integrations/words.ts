import type { DeliveryStatus } from '../deliveries/model.ts';
import type { ProviderProblem } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import type { IntegrationType } from './model.ts';

// Codes, and the sentences that the command line and the dashboard share. Each adds its own commands or buttons.

/** Turns an ISO 8601 time into text. */
export type FormatTime = (time: string) => string;

const asIs: FormatTime = (time) => time;

type Sentences = Readonly<Record<string, (data: never, time: FormatTime) => string>>;

/** A code of a table, with the data of its sentence. */
type Coded<Table extends Sentences> = {
  [Code in keyof Table]: { code: Code } & (Parameters<Table[Code]> extends []
    ? unknown
    : Parameters<Table[Code]>[0]);
}[keyof Table];

function describe<Table extends Sentences>(table: Table, coded: Coded<Table>, time: FormatTime): string {
  const sentence = table[coded.code] as (data: unknown, time: FormatTime) => string;
  return sentence(coded, time);
}

const nameOf = (type: IntegrationType) => providerOf(type).name;

interface OfPlace {
  place: string;
  integrationId: string;
}

interface OfType {
  type: IntegrationType;
}

/** The nouns for a provider's places. */
export function placeNouns(type: IntegrationType): { one: string; many: string } {
  return providerOf(type).hasRepositories
    ? { one: 'repository', many: 'repositories' }
    : { one: 'team', many: 'teams' };
}

/** Reasons for refusing a change. */
const problems = {
  integration_not_found: ({ integrationId }: Pick<OfPlace, 'integrationId'>) =>
    `Integration ${integrationId} not found`,
  unknown_place: ({ place, integrationId }: OfPlace) => `Integration ${integrationId} has no ${place}`,
  delivery_not_missed: ({ deliveryId }: { deliveryId: string }) =>
    `Delivery ${deliveryId} is not missing. Check for missed deliveries again.`,
  invalid_token: ({ maxLength }: { maxLength: number }) =>
    `The token must be 1 to ${maxLength} characters without spaces. Paste it as the provider showed it.`,
  no_places: () => 'Name at least one repository, as OWNER/NAME.',
  too_many_places: ({ max, count }: { max: number; count: number }) =>
    `At most ${max} can be connected at once, not ${count}.`,
  no_token: ({ type, integrationId }: OfType & Pick<OfPlace, 'integrationId'>) =>
    `Integration ${integrationId} has no ${nameOf(type)} token that Tidings can read.`,
  place_connected: ({ place, integrationId }: OfPlace & { hasToken: boolean }) =>
    `Integration ${integrationId} already has ${place}.`,
  place_added_before: ({ place, integrationId }: OfPlace) =>
    `Integration ${integrationId} already has ${place}.`,
  last_place: ({ place, integrationId }: OfPlace) =>
    `${place} is the only place of integration ${integrationId}. Disconnect the integration instead.`,
  integration_full: ({ max }: { max: number }) => `An integration holds at most ${max}. Connect another one.`,
  manual_places: ({ type }: OfType) =>
    `This webhook was set up by hand. Choose its teams at ${nameOf(type)}.`,
  name_reused: ({ type, place }: OfType & { place: string }) =>
    `${nameOf(type)} has another repository under the name ${place} now. Remove it from the integration and add it again.`,
  rotation_in_progress: ({ integrationId }: Pick<OfPlace, 'integrationId'>) =>
    `The webhooks of ${integrationId} are being changed, or a process ended while it changed them. Wait two minutes, then try again.`,
  disconnected_meanwhile: ({ place }: { place: string }) =>
    `${place} was disconnected meanwhile. Its webhook was deleted again.`,
  no_delivery_list: ({ type }: OfType) =>
    `${nameOf(type)} does not list its deliveries. It retries failed ones by itself.`,
};

export type Problem = Coded<typeof problems>;

export const describeProblem = (problem: Problem): string => describe(problems, problem, asIs);

/** The provider's own words, except for a rate limit, whose time is formatted. */
export function describeProviderProblem(
  { kind, message, retryAt }: ProviderProblem,
  type: IntegrationType,
  time: FormatTime,
): string {
  if (kind !== 'rate-limited' || retryAt === null) return message;
  return `${nameOf(type)} takes no more requests from this token until ${time(retryAt.toISOString())}. Try again then.`;
}

const RESTORES = 'If the webhook is gone at the provider, Tidings restores it within a minute.';

const maybeLeft = (places: readonly string[]) =>
  places
    .map((place) => `Check the webhooks of ${place}: one may remain that Tidings could not delete. `)
    .join('');

/** The state after a change that the provider refused or failed. `left`: places where a hook may remain. */
const outcomes = {
  not_connected: ({ left }: { left: readonly string[] }) => `${maybeLeft(left)}Nothing was connected.`,
  not_added: ({ left }: { left: readonly string[] }) => `${maybeLeft(left)}Nothing was added.`,
  not_removed: ({ mayBeGone }: { mayBeGone: boolean }) =>
    `Nothing was removed.${mayBeGone ? ` ${RESTORES}` : ''}`,
  not_disconnected: ({ deleted, mayBeGone }: { deleted: readonly string[]; mayBeGone: string | null }) => {
    if (deleted.length === 0) return `Nothing was disconnected.${mayBeGone === null ? '' : ` ${RESTORES}`}`;
    const last = mayBeGone === null ? '' : `, and that of ${mayBeGone} if it is gone`;
    return `The integration is still connected. Tidings restores the deleted webhooks of ${deleted.join(', ')} within a minute${last}.`;
  },
  not_rotated: () => 'The secret was not rotated.',
  token_stored: () => 'The token is stored, and Tidings keeps trying to set the webhooks.',
};

export type Outcome = Coded<typeof outcomes>;

export const describeOutcome = (outcome: Outcome): string => describe(outcomes, outcome, asIs);

/** The effect of a rotation on the old secret. */
export function describeOldSecret(type: IntegrationType, endsNow: boolean, isSetAtProvider: boolean): string {
  if (!endsNow) return 'The old one works for another 24 hours.';
  return isSetAtProvider
    ? `The old one no longer works. A delivery that ${nameOf(type)} signed with it and that had not arrived yet is refused.`
    : `The old one no longer works: deliveries are refused until you set the new one at ${nameOf(type)}.`;
}

interface Response {
  /** Null if nothing responded. */
  statusCode: number | null;
  /** The provider's words. */
  message: string;
}

/** Such as `200 OK` and `504 timed out`. Shortens `Invalid HTTP Response: 403`, which repeats the status. */
export function describeResponse({ statusCode, message }: Response): string {
  if (statusCode === null) return message;
  return message === `Invalid HTTP Response: ${statusCode}` ? String(statusCode) : `${statusCode} ${message}`;
}

/** Reasons why the log does not have a delivery as taken. */
const missedCauses = {
  logged: ({ status, reason }: { status: DeliveryStatus; reason: string | null }) =>
    reason ?? `The log has it as ${status}`,
  not_logged: (response: Response) =>
    (response.statusCode ?? 0) < 300
      ? `Answered ${describeResponse(response)} and not in the log: another server answered, or the data was restored from a backup`
      : `Answered ${describeResponse(response)} and not in the log: Tidings or a proxy in front of it rejected the request`,
  no_response: ({ message }: { message: string }) => message,
};

export type MissedCause = Coded<typeof missedCauses>;

export const describeMissed = (cause: MissedCause): string => describe(missedCauses, cause, asIs);

/** Differences between a hook at the provider and its desired state. */
const differences = {
  inactive: () => 'is switched off',
  other_url: ({ actual, desired }: { actual: string; desired: string }) =>
    `delivers to ${actual}, not to ${desired}`,
  missing_events: ({ events }: { events: readonly string[] }) =>
    `does not deliver ${events.join(', ')}, which triggers need`,
  not_json: () => 'delivers forms instead of JSON',
  no_secret: () => 'has no secret',
  old_secret: () => 'does not have the current secret yet',
};

export type Difference = Coded<typeof differences>;

const unreachable = {
  timeout: ({ timeoutMs }: { timeoutMs: number }) => `no response within ${timeoutMs / 1000} seconds`,
  redirect: ({ location }: { location: string }) =>
    `it redirects to ${location}, and providers follow no redirects`,
  other_server: ({ statusCode }: { statusCode: number }) =>
    `something else than Tidings answered, with ${statusCode}`,
  /** The system's code, such as `ECONNREFUSED`. */
  no_connection: ({ systemCode }: { systemCode: string }) => `nothing answers (${systemCode})`,
};

export type Unreachable = Coded<typeof unreachable>;

interface Counted {
  counts: Readonly<Record<'arrived' | 'failed' | 'never-arrived', number>>;
  since: string;
}

const counted = ({ counts, since }: Counted, time: FormatTime) =>
  `${counts.arrived} arrived, ${counts.failed} failed, ${counts['never-arrived']} never arrived since ${time(since)}`;

interface Refused {
  at: string;
  reason: string | null;
}

/** Results of the integration doctor. */
const findings = {
  enabled: () => 'The integration accepts deliveries',
  disabled: () => 'The integration is disabled: deliveries are refused with 403',
  reachable: ({ url }: { url: string }) => `${url} responds`,
  local_address: ({ url }: { url: string }) =>
    `${url} responds, but only this machine or network can reach it`,
  needs_https: ({ url, type }: OfType & { url: string }) =>
    `${url} responds, but ${nameOf(type)} delivers only over https`,
  unreachable: ({ url, cause }: { url: string; cause: Unreachable }) =>
    `${url} cannot be reached from here: ${describe(unreachable, cause, asIs)}`,
  manual_hook: ({ type }: OfType) =>
    `The webhook was set up by hand: without a token, Tidings cannot check it at ${nameOf(type)}`,
  hook_not_created: ({ problem }: { problem: string | null }) =>
    `The webhook does not exist yet${problem === null ? '' : `: ${problem}`}`,
  hook_deleted: ({ hookId }: { hookId: string }) => `Somebody deleted the webhook ${hookId} there`,
  hook_correct: ({ hookId, events }: { hookId: string; events: readonly string[] }) =>
    `The webhook ${hookId} is active and delivers ${events.join(', ')}`,
  hook_differs: ({ hookId, differs }: { hookId: string; differs: readonly Difference[] }) =>
    `The webhook ${hookId} ${differs.map((each) => describe(differences, each, asIs)).join('; it ')}`,
  hook_update_failed: ({ problem }: { problem: string }) => `The last update there failed: ${problem}`,
  hook_check_failed: ({ problem }: { problem: ProviderProblem }) => problem.message,
  last_response: ({ type, ...response }: OfType & Response) =>
    `${nameOf(type)} reports for its last delivery: ${describeResponse(response)}`,
  ping_arrived: ({ at }: { at: string }, time: FormatTime) => `The last ping arrived at ${time(at)}`,
  no_ping: () => 'The log has no ping',
  secret_accepted: ({ at }: { at: string }, time: FormatTime) =>
    `The newest delivery, at ${time(at)}, was signed with the right secret`,
  secret_refused: ({ at, reason }: Refused, time: FormatTime) =>
    `The newest delivery was refused for its signature, at ${time(at)}. ${reason ?? ''}`.trim(),
  secret_unproven: () => 'No delivery has arrived yet that proves the secret right',
  other_repository: ({ at, reason }: Refused, time: FormatTime) =>
    `A delivery about another repository was refused, at ${time(at)}. ${reason ?? ''}`.trim(),
  deliveries_missed: (data: Counted, time: FormatTime) => {
    const count = data.counts.failed + data.counts['never-arrived'];
    return `${count === 1 ? '1 delivery is' : `${count} deliveries are`} missing: ${counted(data, time)}`;
  },
  none_missed: (data: Counted, time: FormatTime) => `No delivery is missing: ${counted(data, time)}`,
  only_pings: ({ type, since }: OfType & { since: string }, time: FormatTime) =>
    `${nameOf(type)} has delivered nothing but pings since ${time(since)}`,
  partly_compared: ({ places }: { places: readonly string[] }) =>
    `Missing deliveries of ${places.join(', ')} are unknown`,
  not_compared: ({ problem }: { problem: ProviderProblem }) =>
    `Missing deliveries are unknown: ${problem.message}`,
};

export type FindingCode = Coded<typeof findings>;

export const describeFinding = (finding: FindingCode, time: FormatTime = asIs): string =>
  describe(findings, finding, time);

/** Fixes that need neither a command nor a button. */
export const fixes: Readonly<Record<string, string>> = {
  start_server:
    'Start the server, and set PUBLIC_URL to its public address. If this machine cannot reach its own public address, rely on the last ping',
  set_public_url:
    'Set PUBLIC_URL to an address that providers can reach, or use a tunnel during development (docs/webhooks.md)',
  use_https: 'Put a proxy with TLS in front of it, and set PUBLIC_URL to its https address',
};
