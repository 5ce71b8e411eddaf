import {
  ALL_PUBLIC_TEAMS,
  type HookSettings,
  type Place,
  type ProviderApi,
  ProviderProblem,
  type RemoteHook,
} from '../../api.ts';
import { changesOf, placeWith } from './changes.ts';
import {
  type LinearOptions,
  openClient,
  queries,
  readPages,
  type Team,
  type Viewer,
  type Webhook,
  words,
} from './client.ts';

const MAX_TEAMS = 1000;
const MAX_HOOKS = 1000;

/** Linear's names are far shorter. */
const MAX_NAME_LENGTH = 255;

const ALL_PUBLIC_TEAMS_NAME = 'All public teams';

/** The name that Linear shows for the webhook. */
const LABEL = 'Tidings';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Linear's GraphQL API at `baseUrl`, for a personal API key or the token of an OAuth application. A request takes at
 * most 10 s by default. Linear has no pings and does not list deliveries, so those methods are absent.
 */
export function linearApi(baseUrl: string, token: string, options?: LinearOptions): ProviderApi {
  const { ask, spareLimits } = openClient(baseUrl, token, options);
  const listAll = async () =>
    (await readPages(MAX_HOOKS, async (page) => (await ask(queries.webhooks, page)).webhooks)).nodes;

  return {
    type: 'linear',

    async listPlaces() {
      let canAdminister = false;
      const { nodes, isCut } = await readPages(MAX_TEAMS, async (page) => {
        const { viewer, teams } = await ask(queries.teams, page);
        canAdminister = mayAdminister(viewer);
        return teams;
      });
      const places = nodes
        .map((team) => teamPlace(team, canAdminister))
        .sort((one, other) => one.name.localeCompare(other.name, 'en'));
      return { places: [allPublicTeams(canAdminister), ...places], isCut };
    },

    async getPlace(idOrName) {
      const name = idOrName.trim();
      if (name === '' || name.length > MAX_NAME_LENGTH) {
        throw new ProviderProblem('place-not-found', words.noTeamNamed('of that name'));
      }
      const isAll = [ALL_PUBLIC_TEAMS, ALL_PUBLIC_TEAMS_NAME.toLowerCase()].includes(name.toLowerCase());
      const variables = isAll ? { first: 1 } : { first: 250, filter: filterFor(name) };
      const { viewer, teams } = await ask(queries.teams, variables);
      if (isAll) return allPublicTeams(mayAdminister(viewer));
      return teamPlace(oneTeam(name, teams.nodes), mayAdminister(viewer));
    },

    async listHooks(placeId) {
      return (await listAll()).filter((webhook) => placeOf(webhook) === placeId).map(remoteHook);
    },

    async findHookAnywhere(url) {
      const webhook = (await listAll()).find((each) => each.url === url);
      return webhook === undefined || placeOf(webhook) === '' ? null : remoteHook(webhook);
    },

    async findHook(placeId, hookId) {
      const found = await ask(queries.webhook, { id: hookId }).catch(nullIfGone);
      return found === null || placeOf(found.webhook) !== placeId ? null : remoteHook(found.webhook);
    },

    // Linear itself refuses a second webhook with the same URL and place, so there is nothing to look up first.
    async createHook(placeId, settings) {
      const place = placeId === ALL_PUBLIC_TEAMS ? { allPublicTeams: true } : { teamId: placeId };
      const input = { ...inputOf(settings), ...place, label: LABEL };
      const { webhookCreate } = await ask(queries.createWebhook, { input }, settings.secret);
      requireSuccess(webhookCreate);
      return { ...remoteHook(webhookCreate.webhook), placeId };
    },

    async changeHook(_placeId, hookId, settings) {
      const variables = { id: hookId, input: inputOf(settings) };
      requireSuccess((await ask(queries.updateWebhook, variables, settings.secret)).webhookUpdate);
    },

    async deleteHook(_placeId, hookId) {
      const deleted = await ask(queries.deleteWebhook, { id: hookId }).catch(nullIfGone);
      if (deleted !== null) requireSuccess(deleted.webhookDelete);
    },

    async listChanges(placeId, event, since, cursor) {
      const list = changesOf(event);
      const place = placeWith(placeId);
      const from = since.toISOString();
      const filter = list?.filterOf(place, from) ?? null;
      if (list === null || filter === null) return { items: [], next: null };
      spareLimits();
      const { changed } = await ask(list, { filter, first: list.first, after: cursor });
      const items = changed.nodes.flatMap((node) => {
        const payload = list.deliver(node, from, place);
        return payload === null ? [] : { event, payload: { type: event, ...payload } };
      });
      const { hasNextPage, endCursor } = changed.pageInfo;
      return { items, next: hasNextPage ? endCursor : null };
    },
  };
}

/** The user of an OAuth application is no admin; whether the token has the scope shows only when Tidings uses it. */
const mayAdminister = ({ admin, owner, app }: Viewer) => admin || owner || app;

/** On one line: anybody in the workspace may have chosen the name. */
const labelOf = ({ name, key }: Team) => `${name} (${key})`.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 300);

const teamPlace = (team: Team, canAdminister: boolean): Place => ({
  id: team.id,
  name: labelOf(team),
  canAdminister,
});

const allPublicTeams = (canAdminister: boolean): Place => ({
  id: ALL_PUBLIC_TEAMS,
  name: ALL_PUBLIC_TEAMS_NAME,
  canAdminister,
});

/** Matches the few teams that `name` may mean, so that one request is enough for a workspace of any size. */
function filterFor(name: string) {
  const key = /\(([^()]+)\)$/.exec(name)?.[1];
  return {
    or: [
      { key: { eqIgnoreCase: name } },
      { name: { eq: name } },
      ...(key === undefined ? [] : [{ key: { eqIgnoreCase: key } }]),
      // Linear refuses an id that is not a UUID.
      ...(UUID.test(name) ? [{ id: { eq: name.toLowerCase() } }] : []),
    ],
  };
}

/** An id or a whole label means one team; a key or a name may mean several. */
function oneTeam(wanted: string, teams: readonly Team[]): Team {
  const lower = wanted.toLowerCase();
  const exact = teams.find((team) => team.id === lower || labelOf(team) === wanted);
  if (exact !== undefined) return exact;
  const [team, ...others] = teams.filter(({ key, name }) => key.toLowerCase() === lower || name === wanted);
  if (team === undefined) throw new ProviderProblem('place-not-found', words.noTeamNamed(wanted));
  if (others.length === 0) return team;
  const labels = [team, ...others].map(labelOf).sort().join(', ');
  throw new ProviderProblem('place-not-found', words.severalTeams(wanted, labels));
}

const inputOf = ({ url, secret, events }: HookSettings) => ({
  url,
  secret,
  resourceTypes: [...events],
  enabled: true,
});

function nullIfGone(error: unknown): null {
  if (error instanceof ProviderProblem && error.kind === 'hook-not-found') return null;
  throw error;
}

function requireSuccess({ success }: { success: boolean }): void {
  if (!success) throw new ProviderProblem('provider-failed', words.noSuccess());
}

const placeOf = ({ allPublicTeams, team }: Webhook) => (allPublicTeams ? ALL_PUBLIC_TEAMS : (team?.id ?? ''));

const remoteHook = (webhook: Webhook): RemoteHook => ({
  id: webhook.id,
  placeId: placeOf(webhook),
  url: webhook.url ?? '',
  events: webhook.resourceTypes.toSorted(),
  isActive: webhook.enabled,
  isJson: null,
  hasSecret: null,
  lastResponse: null,
});
