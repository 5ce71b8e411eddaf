import { DAY_MS } from '../../../lib/time.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import { type ApiResponse, type ApiService, notTheApi } from '../../api-fetch.ts';
import { words } from './words.ts';

/** Linear counts requests and their complexity, for a token and for a kind of request; resets are in milliseconds. */
const BUDGETS = ['requests', 'complexity', 'endpoint-requests'];

/** The longest wait that Tidings believes: Linear's windows are an hour long. */
const MAX_WAIT_MS = DAY_MS;

/** The latest time that a `Date` can hold. */
const MAX_TIME = 8_640_000_000_000_000;

const MAX_REASON_LENGTH = 200;

/** The first GraphQL error of a response. Not every error has a code, so the message decides too. */
interface GraphqlError {
  type: string;
  code: string;
  message: string;
  /** Linear's sentence for people. */
  presentable: string;
}

/** The problem behind a response without the data. Hides the secrets, which GraphQL errors quote. */
export function problemOf(
  { status, headers, json }: ApiResponse,
  { service, secrets }: { service: ApiService; secrets: readonly string[] },
): ProviderProblem {
  const error = firstErrorIn(json);
  if (error?.code === 'RATELIMITED' || error?.type === 'ratelimited' || status === 429) {
    const retryAt = retryAtOf(headers);
    return new ProviderProblem('rate-limited', words.rateLimited(retryAt), { retryAt });
  }
  if (error !== null) return new ProviderProblem(...meaningOf(error, status, reasonOf(error, secrets)));
  if (status === 401) return new ProviderProblem('bad-token', words.badToken());
  if (status >= 500) return new ProviderProblem('provider-failed', words.failedStatus(status));
  return notTheApi(service, `it sent an unexpected response with status ${status}`);
}

function meaningOf(error: GraphqlError, status: number, reason: string): [ProblemKind, string] {
  const { type, code, message, presentable } = error;
  const isAccess = /invalid (scope|role)/i.test(message);
  if (isAccess && /admin/i.test(message)) return ['missing-permission', words.adminsOnly()];
  if (isAccess || type === 'forbidden' || code === 'FORBIDDEN') {
    return ['missing-permission', words.noPermission(reason)];
  }
  if (type === 'authentication error' || code === 'AUTHENTICATION_ERROR' || status === 401) {
    return ['bad-token', words.badToken()];
  }
  if (type === 'usage limit exceeded') return ['too-many-hooks', words.tooManyHooks(reason)];
  if (status >= 500 || ['internal error', 'network error', 'lock timeout'].includes(type)) {
    return ['provider-failed', words.failed(reason)];
  }
  if (/url not unique/i.test(message)) return ['hook-exists', words.hookExists()];
  if (/entity not found: webhook/i.test(message)) return ['hook-not-found', words.noHook()];
  if (/entity not found: team/i.test(message)) return ['place-not-found', words.noTeam()];
  // Skip errors of GraphQL itself: they quote the whole input, which has a URL whatever is wrong with it.
  if (type !== 'graphql error' && (/\burl\b/i.test(message) || /\burl\b/i.test(presentable))) {
    return ['unreachable-url', words.unreachableUrl(reason)];
  }
  return ['refused', words.refused(reason)];
}

function firstErrorIn(body: unknown): GraphqlError | null {
  const { errors } = { ...(body as { errors?: unknown } | null) };
  const first: unknown = Array.isArray(errors) ? errors[0] : null;
  if (typeof first !== 'object' || first === null) return null;
  const { message, extensions } = first as { message?: unknown; extensions?: Record<string, unknown> };
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    type: text(extensions?.type),
    code: text(extensions?.code),
    message: text(message),
    presentable: text(extensions?.userPresentableMessage),
  };
}

/** Linear's words in quotes, on one line, bounded and without secrets. */
function reasonOf({ presentable, message }: GraphqlError, secrets: readonly string[]): string {
  const hide = (text: string, secret: string) => (secret ? text.replaceAll(secret, '…') : text);
  const hidden = secrets.reduce(hide, presentable || message);
  const line = hidden.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '');
  if (line === '') return 'no reason given';
  return line.length > MAX_REASON_LENGTH ? `"${line.slice(0, MAX_REASON_LENGTH)}…"` : `"${line}"`;
}

/**
 * When Linear accepts requests again, in whole seconds; null unless its headers say so. `Retry-After` counts from the
 * response's own `Date`, so this machine's clock does not matter.
 */
function retryAtOf(headers: Headers): Date | null {
  const answeredAt = Date.parse(headers.get('date') ?? '');
  const waitSeconds = Number.parseInt(headers.get('retry-after') ?? '', 10);
  const waited = answeredAt + waitSeconds * 1000;
  const resets = BUDGETS.filter((budget) => headers.get(`x-ratelimit-${budget}-remaining`) === '0').map(
    (budget) => Number.parseInt(headers.get(`x-ratelimit-${budget}-reset`) ?? '', 10),
  );
  // A proxy may drop the `Date`.
  const latest = Math.min(answeredAt + MAX_WAIT_MS || MAX_TIME, MAX_TIME);
  const times = (Number.isFinite(waited) ? [waited] : resets).filter((time) => time > 0 && time <= latest);
  return times.length === 0 ? null : new Date(Math.ceil(Math.max(...times) / 1000) * 1000);
}
