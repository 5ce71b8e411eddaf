import { LinearError } from '@linear/sdk';
import { ProviderProblem } from '../../api.ts';
import { retryAtOf } from './retry-at.ts';
import { quoted, type Told, toldBy } from './told.ts';

// What came of a request to Linear, as a problem in words of ours. The SDK's errors hold the whole request, the
// token's neighbours and the webhook's secret included, so none of them is kept as a cause, and what Linear says is
// quoted without the secrets and in bounds.

/** Of the request that failed. */
export interface Context {
  url: string;
  timeoutMs: number;
  /** What no message may show. */
  secrets: readonly string[];
}

const ADMINS_ONLY =
  'The token may not administer webhooks: Linear lets only workspace admins do that (OAuth: the scope admin). Ask an admin for an API key.';

/** Any failure of a call, as a problem without a cause. */
export function problemOf(error: unknown, context: Context): ProviderProblem {
  if (error instanceof LinearError) {
    // The SDK's own methods wrap what failed before there was an answer, too.
    const { raw } = error;
    return raw?.response === undefined && raw !== error
      ? problemOf(raw, context)
      : answeredProblem(error, context);
  }
  if (!(error instanceof Error)) return notLinear(context);
  if (error.name === 'TimeoutError') {
    const seconds = context.timeoutMs / 1000;
    return failed(`Linear did not answer within ${seconds} seconds. Try again later.`);
  }
  // What the SDK says of a URL that would carry the token in the clear.
  if (error.message.includes('must use HTTPS')) {
    return failed('LINEAR_API_URL must be an https URL, or one of this machine.');
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null;
  if (code === null) return notLinear(context);
  return failed(
    `Linear cannot be reached at ${shown(context.url)} (${code}). Check the network and LINEAR_API_URL.`,
  );
}

/** Something else than Linear's API answered, or the API has changed. */
export function notLinear({ url }: Context, status?: number): ProviderProblem {
  const told = status === undefined ? '' : ` (status ${status})`;
  return failed(
    `What answers at ${shown(url)} does not answer as Linear's API does${told}. Check LINEAR_API_URL.`,
  );
}

export function noSuccess(): ProviderProblem {
  return failed('Linear did not do it, and does not say why. Try again later.');
}

function answeredProblem(error: LinearError, context: Context): ProviderProblem {
  const status = error.status ?? 0;
  const told = toldBy(error);
  if (told?.code === 'RATELIMITED' || told?.type === 'ratelimited' || status === 429) {
    return rateLimited(error);
  }
  if (told !== null) return toldProblem(told, status, context);
  if (status === 401) return badToken();
  return status >= 500 ? serverFailed(status) : notLinear(context, status);
}

function toldProblem(told: Told, status: number, context: Context): ProviderProblem {
  const { type, code, message } = told;
  const words = quoted(told, context.secrets);
  if (/invalid (scope|role)/i.test(message) && /admin/i.test(message)) {
    return new ProviderProblem('missing-permission', ADMINS_ONLY);
  }
  if (type === 'forbidden' || code === 'FORBIDDEN' || /invalid (scope|role)/i.test(message)) {
    return new ProviderProblem(
      'missing-permission',
      `The token lacks a permission: Linear says ${words}. Ask a workspace admin for an API key.`,
    );
  }
  if (type === 'authentication error' || code === 'AUTHENTICATION_ERROR' || status === 401) {
    return badToken();
  }
  if (type === 'usage limit exceeded') {
    return new ProviderProblem('too-many-hooks', `Linear takes no more webhooks there: it says ${words}.`);
  }
  if (status >= 500 || ['internal error', 'network error', 'lock timeout'].includes(type)) {
    return failed(`Linear failed: it says ${words}. Try again later.`);
  }
  return inputProblem(told, words) ?? new ProviderProblem('refused', `Linear refused it: it says ${words}.`);
}

function inputProblem({ type, message, presentable }: Told, words: string): ProviderProblem | null {
  if (/url not unique/i.test(message)) {
    return new ProviderProblem(
      'hook-exists',
      'Linear has a webhook with this URL there already. Delete it at https://linear.app/settings/api, or take it over.',
    );
  }
  if (/entity not found: webhook/i.test(message)) {
    return new ProviderProblem('hook-not-found', 'The webhook is not at Linear any more.');
  }
  if (/entity not found: team/i.test(message)) {
    return new ProviderProblem('place-not-found', 'Linear has no such team, or the token cannot see it.');
  }
  // GraphQL's own errors quote the whole input, which has a URL whatever is wrong with it.
  if (type !== 'graphql error' && (/\burl\b/i.test(message) || /\burl\b/i.test(presentable))) {
    return new ProviderProblem(
      'unreachable-url',
      `Linear does not take the webhook's URL: it says ${words}. It must be a public https URL, so set PUBLIC_URL to one.`,
    );
  }
  return null;
}

function rateLimited(error: LinearError): ProviderProblem {
  const retryAt = retryAtOf(error.raw?.response?.headers);
  const until = retryAt === null ? 'for now' : `until ${retryAt.toISOString().replace('.000Z', 'Z')}`;
  const then = retryAt === null ? 'in a few minutes' : 'then';
  return new ProviderProblem(
    'rate-limited',
    `Linear takes no more requests from this token ${until}. Try again ${then}.`,
    { retryAt: retryAt ?? undefined },
  );
}

const badToken = () =>
  new ProviderProblem(
    'bad-token',
    'Linear refused the token: it is unknown, revoked or expired. Make a new API key at https://linear.app/settings/account/security.',
  );

const failed = (message: string) => new ProviderProblem('provider-failed', message);

const serverFailed = (status: number) => failed(`Linear failed with status ${status}. Try again later.`);

/** Without the name and password that a URL may hold. */
function shown(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'LINEAR_API_URL' : `${parsed.origin}${parsed.pathname}`;
}
