import type { WriteTx } from '../../db/engine.ts';
import { AppError, invalidField } from '../lib/app-error.ts';
import { isLocal } from '../lib/public-fetch.ts';
import { type AuditAction, type AuditContext, recordAudit } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { type ProblemKind, ProviderProblem } from '../providers/api.ts';
import type { IntegrationType } from '../providers/ids.ts';
import { providerOf, providers } from '../providers/index.ts';
import type { Integration } from './store.ts';

// Codes, and the sentences that the command line and the dashboard share. Each adds its own commands or buttons.
// `{name}` stands for a value: `{type}` for the provider's name, `{at}` and `{since}` for times.

/** Reasons for refusing a change. */
const problems = {
  integration_not_found: 'Integration {integrationId} not found',
  unknown_place: 'Integration {integrationId} has no {place}',
  delivery_not_missed: 'Delivery {deliveryId} is not missing. Check for missed deliveries again.',
  invalid_token:
    'The token must be 1 to {maxLength} characters without spaces. Paste it as the provider showed it.',
  no_places: 'Name at least one {place}, as {pattern}.',
  too_many_places: 'You can connect at most {max} at once, not {count}. Choose fewer.',
  no_api: 'Tidings cannot manage webhooks at {type}. Set them up there by hand.',
  no_token: 'Integration {integrationId} has no usable {type} token.',
  place_connected: 'Integration {integrationId} already has {place}.',
  place_added_before: 'Integration {integrationId} already has {place}.',
  last_place: 'Integration {integrationId} has only {place}. Disconnect the integration instead',
  integration_full: 'An integration has at most {max} repositories or teams. Connect another integration.',
  manual_places: 'This webhook was set up by hand. Choose its {places} at {type}.',
  name_reused:
    'At {type}, {place} is now a different repository. Remove it from the integration and add it again.',
  rotation_in_progress:
    'Another change of the webhooks of {integrationId} is in progress, or was interrupted. Wait two minutes, then try again.',
  disconnected_meanwhile: '{place} was disconnected in the meantime, so Tidings deleted its webhook.',
  no_delivery_list:
    '{type} does not list its deliveries. With a token, Tidings reads the changes every 10 minutes instead.',
  no_apps: 'This is not an App at {type}.',
  invalid_key: 'This is not a private key. Paste the whole file, from BEGIN to END.',
  app_without_token: 'This integration is an App, which needs no token.',
  app_places: 'The installation of the App has the repositories. Change them at {url}',
} as const;

/** Reasons why the log does not have a delivery as taken. */
const missedCauses = {
  logged: '{reason}',
  logged_without_reason: 'Logged as {status}',
  answered_by_other:
    'Answered {response} and not in the log: another server answered, or the data was restored from a backup',
  refused: 'Answered {response} and not in the log: Tidings or a proxy in front of it rejected the request',
  no_response: '{response}',
} as const;

/** Differences between a hook at the provider and its desired state. */
const differences = {
  inactive: 'is switched off',
  other_url: 'delivers to {actual}, not to {desired}',
  missing_events: 'does not deliver {events}, which triggers need',
  not_json: 'delivers forms instead of JSON',
  no_secret: 'has no secret',
  old_secret: 'does not have the current secret yet',
} as const;

/** Results of the integration doctor. */
const findings = {
  enabled: 'The integration accepts deliveries',
  disabled: 'The integration is disabled: Tidings rejects deliveries with 403',
  reachable: '{url} responds',
  local_address: '{url} responds, but only this machine or network can reach it',
  needs_https: '{url} responds, but {type} delivers only over https',
  no_response: '{url} cannot be reached from here: no response within {seconds} seconds',
  redirect:
    "{url} cannot be reached from here: it redirects to {location}, and providers don't follow redirects",
  other_server: '{url} cannot be reached from here: another server answered, with {statusCode}',
  no_connection: '{url} cannot be reached from here: nothing answers ({systemCode})',
  manual_hook: 'The webhook was set up by hand: Tidings cannot check webhooks at {type}',
  token_missing: 'The webhook was set up by hand: without a token, Tidings cannot check it at {type}',
  history_only: 'No webhook exists: only past releases were imported',
  hook_not_created: 'The webhook does not exist yet',
  hook_deleted: 'Somebody deleted the webhook {hookId} at the provider',
  hook_correct: 'The webhook {hookId} is active and delivers {events}',
  hook_differs: 'The webhook {hookId} {differences}',
  hook_update_failed: 'The last update at the provider failed: {problem}',
  hook_check_failed: '{problem}',
  last_response: '{type} reports for its last delivery: {response}',
  ping_arrived: 'The last ping arrived at {at}',
  no_ping: 'The log has no ping',
  secret_accepted: 'The newest delivery, at {at}, has a valid signature',
  secret_refused: 'The newest delivery, at {at}, has a wrong signature. {reason}',
  secret_unproven: 'No delivery has confirmed the secret yet',
  other_repository: 'Tidings rejected a delivery about another repository, at {at}. {reason}',
  deliveries_missed:
    'Deliveries are missing: {arrived} arrived, {failed} failed, {neverArrived} never arrived since {since}',
  none_missed:
    'No delivery is missing: {arrived} arrived, {failed} failed, {neverArrived} never arrived since {since}',
  only_pings: '{type} has delivered only pings since {since}',
  partly_compared: 'Missing deliveries of {places} are unknown',
  not_compared: 'Missing deliveries are unknown: {problem}',
  app_installed: 'The App is installed at {type}',
  app_not_installed: 'Nobody has installed the App at {type}, so it sends nothing',
  app_suspended: 'Somebody suspended the App at {type}, at {at}: it sends nothing',
  app_unknown: 'The installation is unknown: {problem}',
  polled: 'The last round, at {at}, read everything. {interval}',
  poll_waits: 'The first round has not run yet. {interval}',
  poll_paused: 'Polling pauses: {problem}',
  poll_failed: 'The last round failed: {problem}',
  poll_overdue: 'No round has run since {at}',
  webhook_awaited: 'A webhook takes over from polling: Tidings waits for its first delivery since {since}',
} as const;

type NamesIn<Sentence extends string> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** Values other than text and numbers. */
interface Special {
  type: IntegrationType;
  events: readonly string[];
  places: readonly string[];
  reason: string | null;
  response: Response;
  differences: readonly Difference[];
  problem: string | ProviderProblem;
}

/** A code of a table, with the values of its sentence. */
type Coded<Table extends Record<string, string>> = {
  [Code in keyof Table]: { code: Code } & {
    [Name in NamesIn<Table[Code]>]: Name extends keyof Special ? Special[Name] : string | number;
  };
}[keyof Table];

export type Problem = Coded<typeof problems>;
export type MissedCause = Coded<typeof missedCauses>;
export type FindingCode = Coded<typeof findings>;
export type Difference = Coded<typeof differences>;

/** Turns an ISO 8601 time into text. */
export type FormatTime = (time: string) => string;

const asIs: FormatTime = (time) => time;

function render(sentence: string, values: object, time: FormatTime): string {
  const given = values as Record<string, unknown> & Special;
  const textOf = (name: string): string => {
    const value = given[name];
    if (name === 'type') return providerOf(given.type).name;
    if (name === 'at' || name === 'since') return time(String(value));
    if (name === 'response') return describeResponse(given.response);
    if (name === 'differences') {
      return given.differences.map((each) => render(differences[each.code], each, time)).join('; it ');
    }
    if (value instanceof ProviderProblem) return value.message;
    return Array.isArray(value) ? value.join(', ') : String(value ?? '');
  };
  return sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => textOf(name)).trim();
}

const describeProblem = (problem: Problem) => render(problems[problem.code], problem, asIs);
export const describeMissed = (cause: MissedCause) => render(missedCauses[cause.code], cause, asIs);
export const describeFinding = (finding: FindingCode, time = asIs) =>
  render(findings[finding.code], finding, time);

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

/** The state after a change that the provider refused or failed. */
export type Outcome =
  /** `left`: places where a hook may remain. */
  | { code: 'not_connected' | 'not_added'; left: readonly string[] }
  | { code: 'not_removed'; mayBeGone: boolean }
  /** The job creates the hooks at `deleted` again, and the one at `mayBeGone` if it is gone. */
  | { code: 'not_disconnected'; deleted: readonly string[]; mayBeGone: string | null }
  | { code: 'not_rotated' | 'token_stored' | 'old_hook_left' };

const RESTORES = 'If the webhook is gone at the provider, Tidings restores it within a minute.';

export function describeOutcome(outcome: Outcome): string {
  switch (outcome.code) {
    case 'not_connected':
    case 'not_added': {
      const left = outcome.left.map(
        (place) => `Check the webhooks of ${place}: Tidings may not have deleted one. `,
      );
      return `${left.join('')}Nothing was ${outcome.code === 'not_added' ? 'added' : 'connected'}.`;
    }
    case 'not_removed':
      return outcome.mayBeGone ? `Nothing was removed. ${RESTORES}` : 'Nothing was removed.';
    case 'not_disconnected': {
      const { deleted, mayBeGone } = outcome;
      if (deleted.length === 0)
        return `Nothing was disconnected. ${mayBeGone === null ? '' : RESTORES}`.trim();
      const last = mayBeGone === null ? '' : `, and the webhook of ${mayBeGone} if it is gone`;
      return `The integration is still connected. Tidings restores the deleted webhooks of ${deleted.join(', ')} within a minute${last}.`;
    }
    case 'not_rotated':
      return 'The secret was not rotated.';
    case 'old_hook_left':
      return 'Polling goes on. Tidings deletes the webhook after the next round.';
    case 'token_stored':
      return 'The token is stored, and Tidings keeps trying to set the webhooks.';
  }
}

export function describeProviderProblem({ message }: ProviderProblem, time: FormatTime): string {
  return message.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z\b/g, time);
}

/** The effect of a rotation on the old secret. */
export function describeOldSecret(type: IntegrationType, endsNow: boolean, isSetAtProvider: boolean): string {
  if (!endsNow) return 'The old one works for another 24 hours.';
  const { name } = providerOf(type);
  return isSetAtProvider
    ? `The old one no longer works. Tidings rejects deliveries that ${name} signed with it but has not delivered yet.`
    : `The old one no longer works. Tidings rejects deliveries until you set the new one at ${name}.`;
}

/** Fixes that need neither a command nor a button. */
export const fixes: Readonly<Record<string, string>> = {
  run_server: 'Start the server: it polls only while it runs',
  start_server:
    'Start the server, and set PUBLIC_URL to its public address. If this machine cannot reach its own public address, rely on the last ping',
  set_public_url:
    'Set PUBLIC_URL to an address that providers can reach, or use a tunnel during development (docs/webhooks.md)',
  install_app: "Install the App from the integration's page in the dashboard",
  unsuspend_app: 'Unsuspend the App at the provider, in the settings of the account',
  use_https: 'Put a proxy with TLS in front of it, and set PUBLIC_URL to its https address',
};

/** Warns of a URL that the provider, or null for any, cannot reach over the internet. Null for a public one. */
export function describeLocalAddress(type: IntegrationType | null, url: string): string | null {
  if (!isLocal(url)) return null;
  const { origin } = new URL(url);
  const who = type === null ? 'Webhooks' : providerOf(type).name;
  return `${who} can't reach ${origin} from the internet. Set PUBLIC_URL to the public address of this server, or use a tunnel.`;
}

const BAD_REQUESTS: readonly string[] = ['invalid_token', 'invalid_key', 'no_places', 'too_many_places'];
const NOT_FOUND: readonly string[] = ['integration_not_found', 'unknown_place', 'delivery_not_missed'];

/** A refused change: 404, 400, or 409. `problem` has the data that the command line and the dashboard advise by. */
export class IntegrationProblem extends AppError {
  constructor(readonly problem: Problem) {
    const { code, ...details } = problem;
    const status = NOT_FOUND.includes(code) ? 404 : BAD_REQUESTS.includes(code) ? 400 : 409;
    super(status, describeProblem(problem), { code, details });
  }
}

/** A change that the provider refused or failed, and the state that it left. */
export class ChangeFailed extends ProviderProblem {
  constructor(
    readonly problem: ProviderProblem,
    readonly outcome: Outcome,
  ) {
    const sentence = problem.message.endsWith('.') ? problem.message : `${problem.message}.`;
    super(problem.kind, `${sentence} ${describeOutcome(outcome)}`, {
      cause: problem.cause,
      retryAt: problem.retryAt ?? undefined,
    });
  }
}

/** `ChangeFailed` for a provider's problem; any other error unchanged. */
export function changeFailed(error: unknown, outcome: Outcome): unknown {
  return error instanceof ProviderProblem ? new ChangeFailed(error, outcome) : error;
}

/** True if it is a provider's problem, of one of these kinds if any are given. */
export function isProblem(error: unknown, ...kinds: ProblemKind[]): error is ProviderProblem {
  return error instanceof ProviderProblem && (kinds.length === 0 || kinds.includes(error.kind));
}

export type { Hook } from './hook-store.ts';
export type { Integration, Repository, RepositoryIdentity } from './store.ts';
export type { IntegrationType };

/** As people write them. */
export const providerNames = Object.fromEntries(providers.map(({ id, name }) => [id, name])) as Readonly<
  Record<IntegrationType, string>
>;

/** Throws `AppError` 400 unless it is the full name of a repository. */
export function requireRepositoryName(type: IntegrationType, name: string): void {
  const { isRepositoryName, words } = providerOf(type);
  if (isRepositoryName(name)) return;
  throw invalidField('repository', `must be ${words.place.pattern}, such as acme/rocket`);
}

/** The name of a place that a person typed, or pasted as a URL. Throws `AppError` 400. */
export function placeName(
  { providerUrls }: Pick<Deps, 'providerUrls'>,
  type: IntegrationType,
  text: string,
): string {
  return providerOf(type).placeName(text, providerUrls?.[type]);
}

/** The maximum number of repositories or teams of an integration. */
export const MAX_PLACES = 100;

/** The same for the installation of an App, where a person may choose all. */
export const MAX_APP_REPOSITORIES = 1_000;

/** An integration that was connected by hand. The secret is returned only here. */
export interface Connected {
  integrationId: string;
  repositoryId?: string;
  webhookUrl: string;
  secret: string;
}

/** One repository or team that was connected with a token. */
export interface ConnectedPlace {
  place: string;
  repositoryId?: string;
  webhookUrl: string;
  hookId: string;
  /** True if the provider's ping arrived; null for a provider without pings. */
  hasPinged: boolean | null;
}

/** The names of its repositories; the provider's without any. */
export function integrationName({
  type,
  repositories,
  app,
}: Pick<Integration, 'type' | 'repositories' | 'app'>): string {
  // An App may have a thousand, and its name stays when they change.
  if (app !== null) return app.slug;
  return repositories.map(({ fullName }) => fullName).join(', ') || providerNames[type];
}

/** The name of one of its repositories; that of the integration without it. */
export function sourceName(
  integration: Parameters<typeof integrationName>[0],
  repositoryId: string | null,
): string {
  const repository = integration.repositories.find(({ id }) => id === repositoryId);
  return repository?.fullName ?? integrationName(integration);
}

/** Records a change. `did` begins the summary, which the provider and the first repository end. */
export function recordChange(
  tx: WriteTx,
  deps: AuditContext,
  integration: Pick<Integration, 'id' | 'organizationId' | 'type'> & {
    repositories: readonly { fullName: string }[];
  },
  action: Extract<AuditAction, `integration.${string}` | 'secret.rotated' | 'token.set'>,
  did: string,
): Promise<number> {
  const { id, organizationId, type, repositories } = integration;
  const [first, ...others] = repositories;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const name = first === undefined ? '' : ` ${first.fullName}${more}`;
  const summary = `${did} the ${providerNames[type]} integration${name}`;
  return recordAudit(tx, deps, { organizationId, action, target: { type: 'integration', id }, summary });
}

/** The path `/api/webhooks/…` that deliveries are sent to, below `publicUrl`. An App has one for all repositories. */
export function webhookUrl(
  publicUrl: string,
  { id, type, organizationId, app }: Pick<Integration, 'id' | 'type' | 'organizationId'> & { app?: unknown },
  repositoryId?: string | null,
): string {
  const isApp = app != null;
  const repository = repositoryId == null || isApp ? '' : `/${repositoryId}`;
  const provider = isApp ? providerOf(type).app?.path : type;
  return `${publicUrl}/api/webhooks/${provider}/${organizationId}/${id}${repository}`;
}
