import { systemClock } from '../../../lib/time.ts';
import {
  type HookSettings,
  type Place,
  type ProblemKind,
  type ProviderApi,
  ProviderProblem,
  type RemoteAttempt,
} from '../../api.ts';
import {
  attemptList,
  type Call,
  type ClientOptions,
  type Context,
  type Host,
  hostClient,
  hostHooks,
  sortPlaces,
} from '../../host.ts';
import { type ApiResponse, nextLink, numberIn, serviceAt } from '../../rest.ts';
import { isProjectName, signingToken, webOf } from '../provider.ts';
import {
  attemptsOf,
  EVENT_FLAGS,
  expiryOf,
  type Hook,
  hookOf,
  hooksOf,
  OTHER_FLAGS,
  type Project,
  projectOf,
  projectsOf,
  toHook,
  words,
} from './responses.ts';

/** A thousand projects: enough to choose from. Any other can be named. */
const MAX_PLACE_PAGES = 10;

/** gitlab.com allows 100 hooks for a project. */
const MAX_HOOK_PAGES = 5;

/** Each attempt comes with its whole payload and response. */
const ATTEMPTS_PER_PAGE = 20;
const MAX_ATTEMPT_PAGES = 20;

/** The role that manages webhooks. */
const MAINTAINER = 40;

/**
 * GitLab's REST API on behalf of a personal, group or project access token with the scope `api`. `baseUrl` has no
 * trailing slash: `https://gitlab.com/api/v4`. Never retries, and no error holds the token or a webhook's secret.
 */
export function gitlabApi(
  baseUrl: string,
  token: string,
  options: ClientOptions = {},
): Required<Omit<ProviderApi, 'findHookAnywhere' | 'listChanges'>> {
  const { clock = systemClock } = options;
  const client = openClient(baseUrl, token, 'for webhooks', options);
  const { about, ask, askBelow, getRepository, list } = client;
  const { methods, askHook, requireHook, addHook, resend } = hostHooks(client, {
    askBelow,
    paging: LARGEST_PAGE,
    maxPages: MAX_HOOK_PAGES,
    hookOf: (placeId, json) => toHook(placeId, hookOf(json)),
    hooksOf: (placeId, json) => hooksOf(json).map((hook) => toHook(placeId, hook)),
    words,
    hidden: words.noAccess,
  });

  const getHook = async (context: Context, hookId: string): Promise<Hook> =>
    hookOf((await requireHook(context, hookId)).json);
  const putHook = async (context: Context, hookId: string, body: object): Promise<Hook> =>
    hookOf((await requireHook(context, hookId, '', { method: 'PUT', body })).json);

  /** Sends a test push. False where GitLab sends none: no commit yet, too many tests, or GitLab before 16.11. */
  async function test(context: Context, hookId: string): Promise<boolean> {
    try {
      const sent = await askHook(context, hookId, '/test/push_events', { method: 'POST' });
      if (sent === null) await getHook(context, hookId);
      return sent !== null;
    } catch (error) {
      const isNoTest = error instanceof ProviderProblem && ['rate-limited', 'refused'].includes(error.kind);
      if (isNoTest) return false;
      throw error;
    }
  }

  return {
    type: 'gitlab',
    ...methods,

    /** Without archived projects, and only those whose webhooks the token's owner may manage. */
    async listPlaces() {
      const context = about(null);
      const query = {
        membership: true,
        min_access_level: MAINTAINER,
        archived: false,
        simple: true,
        order_by: 'last_activity_at',
        ...LARGEST_PAGE,
      };
      const listed = await list(
        (path, call) => ask(context, path, call),
        { path: '/projects', query },
        MAX_PLACE_PAGES,
        projectsOf,
      );
      const places = (listed?.items ?? []).map((each) => toPlace(each, true));
      return { places: sortPlaces(places), isCut: listed?.isCut === true };
    },

    /** Knows the personal, group and project access tokens alike. */
    async getExpiry() {
      const response = await client.send('/personal_access_tokens/self');
      // Another kind of token.
      if (response.status === 404 || response.status === 403) return null;
      return expiryOf(client.accept(response, about(null)).json);
    },

    /** A renamed project comes under its new name. Who may list its webhooks may manage them. */
    async getPlace(name) {
      const project = await getRepository(about(name.trim()));
      const context = about(project.path_with_namespace);
      try {
        await askBelow(context, '/hooks', { query: { per_page: 1 } });
        return toPlace(project, true);
      } catch (error) {
        const isRole = error instanceof ProviderProblem && error.kind === 'missing-permission';
        if (isRole && error.message === words.noAccess(context)) return toPlace(project, false);
        throw error;
      }
    },

    async createHook(placeId, settings) {
      const context = about(placeId, settings.secret);
      const body = { ...bodyOf(settings), signing_token: signingToken(settings.secret) };
      const hook = await addHook(context, placeId, body);
      if (hook.hasSecret === true) return hook;
      // GitLab before 19.0 knows no signing token: it sends the secret along.
      const changed = await putHook(context, hook.id, { ...bodyOf(settings), token: settings.secret });
      return toHook(placeId, changed);
    },

    /** Sends the secret itself only to a GitLab that cannot sign: who sees a delivery could sign with it. */
    async changeHook(placeId, hookId, settings) {
      const context = about(placeId, settings.secret);
      const known = await getHook(context, hookId);
      const canSign = known.signing_token_present != null;
      const signed = { token: '', signing_token: signingToken(settings.secret) };
      let hook = await putHook(context, hookId, {
        ...bodyOf(settings),
        ...(canSign ? signed : { token: settings.secret }),
      });
      if (canSign && hook.signing_token_present !== true) {
        hook = await putHook(context, hookId, { ...bodyOf(settings), token: settings.secret });
      }
      // A change leaves a webhook disabled that failed too often; a test that arrives enables it.
      if (toHook(placeId, hook).isActive || (await test(context, hookId))) return undefined;
      throw new ProviderProblem('refused', words.stillDisabled(context));
    },

    /** GitLab has sent it by the time it answers. */
    async pingHook(placeId, hookId) {
      await test(about(placeId), hookId);
    },

    /** At most 400. GitLab keeps attempts for some days only. */
    async listAttempts(placeId, hookId, since, etag) {
      const context = about(placeId);
      const from = since.toISOString();
      const listed = await list<RemoteAttempt>(
        (path, call) => askHook(context, hookId, path, call),
        { path: '/events', query: { per_page: ATTEMPTS_PER_PAGE } },
        MAX_ATTEMPT_PAGES,
        (json, before) => attemptsOf(json, before.at(-1)?.deliveredAt ?? clock.now().toISOString()),
        ({ deliveredAt }) => deliveredAt < from,
        etag,
      );
      if (listed !== null) return attemptList(listed);
      await getHook(context, hookId);
      throw new ProviderProblem('missing-permission', words.noAttempts(placeId));
    },

    /** At most five in a minute. GitLab has sent it by the time it answers, with the id of the first attempt. */
    async redeliver(placeId, hookId, attemptId) {
      const isId = /^\d{1,18}$/.test(attemptId);
      if (!isId) throw new ProviderProblem('refused', words.noAttempt(placeId, attemptId));
      await resend(placeId, hookId, attemptId, `/events/${attemptId}/resend`);
    },
  };
}

function toPlace({ id, path_with_namespace: name }: Project, canAdminister: boolean): Place {
  return { id: name, name, providerId: id, canAdminister };
}

/** Without the secret. A custom template would send something else than the events. */
function bodyOf({ url, events }: HookSettings): object {
  const flags = Object.entries(EVENT_FLAGS).map(([event, flag]) => [flag, events.includes(event)]);
  return {
    url,
    enable_ssl_verification: true,
    custom_webhook_template: '',
    ...Object.fromEntries(flags),
    ...Object.fromEntries(OTHER_FLAGS.map((flag) => [flag, false])),
  };
}

export const LARGEST_PAGE = { per_page: 100 };

/** GitLab's REST API for a token, or without one. */
export function openClient(
  baseUrl: string,
  token: string | null,
  use: 'for webhooks' | 'for reading',
  options: ClientOptions,
) {
  const host: Host<Project> = {
    service: serviceAt(
      baseUrl,
      'GitLab',
      'GITLAB_API_URL; for a self-managed GitLab it is https://HOST/api/v4',
    ),
    web: webOf(baseUrl),
    token,
    use,
    headersOf: (value) => (value === null ? {} : { authorization: `Bearer ${value}` }),
    secretsOf: (secret) => (secret === '' ? [] : [secret, signingToken(secret)]),
    routeOf(context) {
      const { place, id } = context;
      if (id !== undefined) return `/projects/${id}`;
      if (place !== null && isProjectName(place)) return `/projects/${encodeURIComponent(place)}`;
      throw new ProviderProblem('place-not-found', words.badName(context));
    },
    repositoryOf: projectOf,
    nextPage(response, { path, query }, count) {
      const page = count === 0 ? null : nextNumber(response);
      return page === null ? null : { path, query: { ...query, page } };
    },

    places: 'projects',
    textsOf,
    retrySecond(headers, nowSecond) {
      const after = numberIn(headers, 'retry-after');
      if (after !== null) return nowSecond + after;
      const reset = numberIn(headers, 'ratelimit-reset');
      return reset !== null && reset > nowSecond ? reset : null;
    },
    rateLimited: words.rateLimited,
    meaningOf,
  };
  const client = hostClient(host, options);
  const { send, accept, getRepository } = client;

  return {
    ...client,

    /**
     * A request below a project; null where the project has no such part. GitLab lets nobody change a moved project by
     * its former name, so that is done by its number.
     */
    async askBelow(context: Context, below: string, call?: Call): Promise<ApiResponse | null> {
      let response = await send(host.routeOf(context) + below, call);
      if (response.status === 405) {
        const { id } = await getRepository(context);
        response = await send(host.routeOf({ ...context, id }) + below, call);
      }
      const isPart = response.status === 404 && !/project/i.test(textsOf(response.json).join('; '));
      return isPart ? null : accept(response, context);
    },
  };
}

/** The number of the next page. GitLab leaves the header out of very long lists, and links to it instead. */
export function nextNumber(response: ApiResponse): number | null {
  const next = numberIn(response.headers, 'x-next-page');
  if (next !== null) return next;
  const page = Number(URL.parse(nextLink(response) ?? '')?.searchParams.get('page') ?? Number.NaN);
  return Number.isSafeInteger(page) && page > 1 ? page : null;
}

function meaningOf({ status }: ApiResponse, reason: string, context: Context): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(context, status)];
  if (status === 404) return ['place-not-found', words.noPlace(context)];
  if (status === 401 || status === 403) {
    if (context.token === null) return ['place-not-found', words.noPlace(context)];
    if (/insufficient.scope|higher privileges/i.test(reason)) {
      return ['missing-permission', words.noScope(context)];
    }
    return status === 401
      ? ['bad-token', words.badToken(context)]
      : ['missing-permission', words.noAccess(context)];
  }
  if (status === 400 || status === 422) {
    if (/maximum number of .*hooks/i.test(reason)) {
      return ['too-many-hooks', words.tooManyHooks(context, reason)];
    }
    if (/\burl\b/i.test(reason)) return ['unreachable-url', words.unreachableUrl(reason)];
  }
  return ['refused', words.refused(status, reason)];
}

function textsOf(json: unknown): string[] {
  const { message, error, error_description: more } = { ...(json as Record<string, unknown> | null) };
  return [message, error, more].flatMap((each) => textsIn(each));
}

/** The texts of a message, which may be a text, a list, or lists by field: `{"url":["is blocked"]}`. */
function textsIn(value: unknown, field = ''): string[] {
  if (typeof value === 'string') return [field === '' ? value : `${field} ${value}`];
  if (Array.isArray(value)) return value.flatMap((each) => textsIn(each, field));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    textsIn(inner, name === 'base' || name === 'error' ? '' : name),
  );
}
