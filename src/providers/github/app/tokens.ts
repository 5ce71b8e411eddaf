import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/time.ts';
import { ProviderProblem } from '../../api.ts';
import type { AppCredential } from '../../app.ts';
import { type GithubOptions, openClient } from '../api/client.ts';
import { problemOf, refusalOf } from '../api/problems.ts';
import { words } from '../api/words.ts';
import { appToken, keyHash } from './keys.ts';
import { accessTokenOf } from './responses.ts';

/** Tokens end after an hour. They are renewed that long before, in milliseconds. */
const RENEW_MS = 10 * 60_000;

const MAX_KEPT = 500;

/** `renewAt`: in milliseconds since 1970; infinite until the token is there. */
interface Kept {
  token: Promise<string>;
  renewAt: number;
}

/** The tokens of this process, by API, installation and key. They are nowhere else. */
const kept = new BoundedMap<string, Kept>(MAX_KEPT);

const tokenKey = (baseUrl: string, { appId, installationId, privateKey }: AppCredential) =>
  [baseUrl, appId, installationId, keyHash(privateKey)].join(' ');

/** GitHub's API as the App itself, and its failures in the words of an App. */
export function openAsApp(baseUrl: string, app: AppCredential, options: GithubOptions & { clock: Clock }) {
  const client = openClient(baseUrl, async () => appToken(app, options.clock), 'of an App', options);
  const context = client.about(null);

  return {
    ...client,
    /** Null when GitHub has no such thing. Throws `ProviderProblem`. */
    async find<T>(request: () => Promise<T>): Promise<T | null> {
      try {
        return await request();
      } catch (error) {
        const refusal = refusalOf(error, []);
        if (refusal?.status === 404) return null;
        if (refusal?.status === 401) throw new ProviderProblem('bad-token', words.badKey(app.slug));
        if (refusal?.status === 403 && /suspended/i.test(refusal.reason)) {
          throw new ProviderProblem('missing-permission', words.suspended(app.slug));
        }
        throw problemOf(error, context);
      }
    },
    web: context.web,
  };
}

/** A token of the installation. Asks GitHub once, however many callers need it. Throws `ProviderProblem`. */
export function installationToken(baseUrl: string, app: AppCredential, clock: Clock): Promise<string> {
  const key = tokenKey(baseUrl, app);
  const known = kept.get(key);
  if (known !== undefined && clock.now().getTime() < known.renewAt) return known.token;
  const made = requestToken(baseUrl, app, clock);
  const entry: Kept = { renewAt: Number.POSITIVE_INFINITY, token: made.then(({ token }) => token) };
  made.then(
    ({ expiresAt }) => {
      entry.renewAt = expiresAt - RENEW_MS;
    },
    () => forgetEntry(key, entry),
  );
  kept.set(key, entry);
  return entry.token;
}

/** Makes the next request ask for a new token: GitHub refused this one. */
export function forgetToken(baseUrl: string, app: AppCredential): void {
  kept.delete(tokenKey(baseUrl, app));
}

function forgetEntry(key: string, entry: Kept): void {
  if (kept.get(key) === entry) kept.delete(key);
}

async function requestToken(baseUrl: string, app: AppCredential, clock: Clock) {
  const { find, request, web } = openAsApp(baseUrl, app, { clock });
  const { installationId } = app;
  const notInstalled = () => new ProviderProblem('missing-permission', words.notInstalled(app.slug, web));
  if (installationId === null) throw notInstalled();
  const path = `/app/installations/${installationId}/access_tokens`;
  const made = await find(() => request(path, { method: 'POST' }));
  if (made === null) throw notInstalled();
  return accessTokenOf(made.json);
}
