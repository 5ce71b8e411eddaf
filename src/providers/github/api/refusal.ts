/** What GitHub answered instead of doing what it was asked. */
export interface Refusal {
  status: number;
  headers: Readonly<Record<string, string | number | undefined>>;
  /** Its own words: those of each error, or else its message. Without secrets, at most 300 characters. */
  words: string;
}

/** What Octokit's errors tell of an answer. */
type Answer = Pick<Refusal, 'status' | 'headers'> & { data: unknown };

/** The refusal that an error of Octokit's carries; null for any other error. */
export function refusalOf(error: unknown, secrets: readonly string[]): Refusal | null {
  const { response } = error instanceof Error ? (error as Error & { response?: Answer }) : {};
  if (response === undefined) return null;
  const { status, headers, data } = response;
  return { status, headers, words: scrubbed(wordsOf(data), secrets) };
}

/** Stands for Octokit's error as a cause: that one holds the whole request, and so the webhook's secret. */
export function causeOf({ status, headers, words }: Refusal): Error {
  const requestId = String(headers['x-github-request-id'] ?? 'unknown').slice(0, 100);
  return new Error(`GitHub answered ${status}: ${words} (request ${requestId})`);
}

/** Whether the token is a classic one and has none of the scopes that GitHub accepts for what it just refused. */
export function lacksScope({ headers }: Refusal): boolean {
  const scopes = headers['x-oauth-scopes'];
  if (scopes === undefined) return false;
  const accepted = scopesIn(headers['x-accepted-oauth-scopes'] ?? 'admin:repo_hook, write:repo_hook, repo');
  return !scopesIn(scopes).some((scope) => accepted.includes(scope));
}

function scopesIn(header: string | number): string[] {
  return String(header)
    .split(',')
    .map((scope) => scope.trim())
    .filter((scope) => scope !== '');
}

function wordsOf(data: unknown): string {
  if (typeof data !== 'object' || data === null) return 'without saying why';
  const { message, errors } = data as { message?: unknown; errors?: unknown };
  const details = (Array.isArray(errors) ? errors : []).map(detailOf).filter((detail) => detail !== '');
  if (details.length > 0) return details.join('; ');
  return typeof message === 'string' && message !== '' ? message : 'without saying why';
}

/** One of a refusal's errors. Its `value` is left out: that is what was sent. */
function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null) return '';
  const { message, field, code } = error as Record<string, unknown>;
  if (typeof message === 'string' && message !== '') return message;
  return [field, code].filter((part) => typeof part === 'string').join(' ');
}

function scrubbed(words: string, secrets: readonly string[]): string {
  const given = secrets.filter((secret) => secret !== '');
  const hidden = given.reduce((text, secret) => text.replaceAll(secret, '********'), words);
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 300);
}
