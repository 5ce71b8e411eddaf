import {
  ALL_PUBLIC_TEAMS,
  type HookWish,
  type ProviderApi,
  ProviderProblem,
  type RemoteHook,
} from '../../api.ts';
import { type LinearOptions, linearCaller } from './client.ts';
import { allPages } from './pages.ts';
import { linearPlaces } from './places.ts';
import { noSuccess } from './problem.ts';
import { type Webhook, webhookCreation, webhookQuery, webhooksQuery } from './queries.ts';

/** At most so many webhooks of a workspace are looked through. */
const MAX_HOOKS = 1000;

/** What Linear shows people as the webhook's name. */
const LABEL = 'Tidings';

/**
 * Linear's GraphQL API at `baseUrl`, for a personal API key or the token of an OAuth application. A request takes at
 * most 10 s unless told otherwise. Linear has no pings and tells nobody of its deliveries, so those methods are absent.
 */
export function linearApi(baseUrl: string, token: string, options?: LinearOptions): ProviderApi {
  const linear = linearCaller(baseUrl, token, options);

  async function listAll(): Promise<Webhook[]> {
    const { nodes } = await allPages(MAX_HOOKS, async (page) => {
      return (await linear.ask(webhooksQuery, page)).webhooks;
    });
    return nodes;
  }

  return {
    type: 'linear',
    ...linearPlaces(linear),

    async listHooks(placeId) {
      return (await listAll()).flatMap((webhook) => hookIn(placeId, webhook) ?? []);
    },

    async findHookAnywhere(url) {
      const found = (await listAll()).find((webhook) => webhook.url === url);
      const placeId = found === undefined ? undefined : placeOf(found);
      return found === undefined || placeId === undefined ? null : remoteHook(placeId, found);
    },

    async findHook(placeId, hookId) {
      try {
        const { webhook } = await linear.ask(webhookQuery, { id: hookId });
        return hookIn(placeId, webhook);
      } catch (error) {
        if (isGone(error)) return null;
        throw error;
      }
    },

    // Linear itself refuses a second webhook with the URL for the place, which no look beforehand could do as surely.
    async createHook(placeId, wish) {
      const place = placeId === ALL_PUBLIC_TEAMS ? { allPublicTeams: true } : { teamId: placeId };
      const input = { ...settingsOf(wish), ...place, label: LABEL };
      const { webhookCreate } = await linear.ask(webhookCreation, { input }, wish.secret);
      if (!webhookCreate.success) throw noSuccess();
      return remoteHook(placeId, webhookCreate.webhook);
    },

    async changeHook(_placeId, hookId, wish) {
      await linear.perform((client) => client.updateWebhook(hookId, settingsOf(wish)), wish.secret);
    },

    async deleteHook(_placeId, hookId) {
      try {
        await linear.perform((client) => client.deleteWebhook(hookId));
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
  };
}

const settingsOf = ({ url, secret, events }: HookWish) => ({
  url,
  secret,
  resourceTypes: [...events],
  enabled: true,
});

const isGone = (error: unknown) => error instanceof ProviderProblem && error.kind === 'hook-not-found';

/** Null when the webhook is for another place. */
function hookIn(placeId: string, webhook: Webhook): RemoteHook | null {
  return placeOf(webhook) === placeId ? remoteHook(placeId, webhook) : null;
}

const placeOf = ({ allPublicTeams, team }: Webhook) => (allPublicTeams ? ALL_PUBLIC_TEAMS : team?.id);

function remoteHook(placeId: string, webhook: Webhook): RemoteHook {
  return {
    id: webhook.id,
    placeId,
    url: webhook.url ?? '',
    events: webhook.resourceTypes.toSorted(),
    isActive: webhook.enabled,
    isJson: null,
    hasSecret: null,
    lastResponse: null,
  };
}
