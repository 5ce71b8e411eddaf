import { systemClock } from '../../../lib/clock.ts';
import type { ProviderApi } from '../../api.ts';
import { listAttempts, redeliver } from './attempts.ts';
import { type GithubOptions, openClient } from './client.ts';
import { changeHook, createHook, deleteHook, findHook, listHooks, pingHook } from './hooks.ts';
import { getPlace, listPlaces } from './places.ts';

const DEFAULTS: GithubOptions = { clock: systemClock, requestMs: 10_000, listingMs: 30_000 };

/**
 * GitHub's REST API on behalf of a token, fine-grained or classic. `baseUrl` has no trailing slash:
 * `https://api.github.com`, or `https://HOST/api/v3`. Nothing is tried again by itself, nothing is written to the
 * console, and no error holds the token or a webhook's secret.
 */
export function githubApi(baseUrl: string, token: string, options: Partial<GithubOptions> = {}): ProviderApi {
  const client = openClient(baseUrl, token, { ...DEFAULTS, ...options });
  return {
    type: 'github',
    listPlaces: () => listPlaces(client),
    getPlace: (name) => getPlace(client, name),
    listHooks: (placeId) => listHooks(client, placeId),
    findHook: (placeId, hookId) => findHook(client, placeId, hookId),
    createHook: (placeId, wish) => createHook(client, placeId, wish),
    changeHook: (placeId, hookId, wish) => changeHook(client, placeId, hookId, wish),
    deleteHook: (placeId, hookId) => deleteHook(client, placeId, hookId),
    pingHook: (placeId, hookId) => pingHook(client, placeId, hookId),
    listAttempts: (placeId, hookId, since) => listAttempts(client, placeId, hookId, since),
    redeliver: (placeId, hookId, attemptId) => redeliver(client, placeId, hookId, attemptId),
  };
}
