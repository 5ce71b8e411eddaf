import { systemClock } from '../../../lib/time.ts';
import {
  type HookSettings,
  type Place,
  type ProviderApi,
  ProviderProblem,
  type RemoteAttempt,
} from '../../api.ts';
import type { Call, ClientOptions } from '../../rest.ts';
import { signingToken } from '../provider.ts';
import { type Context, openClient } from './client.ts';
import {
  attemptsOf,
  EVENT_FLAGS,
  type Hook,
  hookOf,
  hooksOf,
  OTHER_FLAGS,
  type Project,
  projectsOf,
  toHook,
  words,
} from './responses.ts';

const PER_PAGE = 100;

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
): Required<Omit<ProviderApi, 'findHookAnywhere'>> {
  const { clock = systemClock } = options;
  const { about, ask, askBelow, getProject, readPages } = openClient(baseUrl, token, options);

  /** As `askBelow`, about a hook; null when the hook, or the part of it that `below` names, does not exist. */
  async function askHook(context: Context, hookId: string, below = '', call: Call = {}) {
    if (!/^\d{1,15}$/.test(hookId)) throw noHook(context, hookId);
    return askBelow(context, `/hooks/${hookId}${below}`, call);
  }

  async function getHook(context: Context, hookId: string): Promise<Hook> {
    const response = await askHook(context, hookId);
    if (response === null) throw noHook(context, hookId);
    return hookOf(response.json);
  }

  async function putHook(context: Context, hookId: string | number, body: object): Promise<Hook> {
    const response = await askHook(context, String(hookId), '', { method: 'PUT', body });
    if (response === null) throw noHook(context, String(hookId));
    return hookOf(response.json);
  }

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

    /** Without archived projects, and only those whose webhooks the token's owner may manage. */
    async listPlaces() {
      const context = about(null);
      const projects: Project[] = [];
      const query = {
        membership: true,
        min_access_level: MAINTAINER,
        archived: false,
        simple: true,
        order_by: 'last_activity_at',
        per_page: PER_PAGE,
      };
      const listed = await readPages(
        (page) => ask(context, '/projects', { query: { ...query, page } }),
        MAX_PLACE_PAGES,
        (json) => {
          projects.push(...projectsOf(json));
          return true;
        },
      );
      // Activity between two pages can put a project on both.
      const places = [...new Map(projects.map((each) => [each.id, toPlace(each, true)])).values()];
      return {
        places: places.sort((a, b) => (a.name < b.name ? -1 : 1)),
        isCut: listed?.isCut ?? false,
      };
    },

    /** A renamed project comes under its new name. Who may list its webhooks may manage them. */
    async getPlace(name) {
      const project = await getProject(about(name.trim()));
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

    async listHooks(placeId) {
      const context = about(placeId);
      const hooks: Hook[] = [];
      const listed = await readPages(
        (page) => askBelow(context, '/hooks', { query: { per_page: PER_PAGE, page } }),
        MAX_HOOK_PAGES,
        (json) => {
          hooks.push(...hooksOf(json));
          return true;
        },
      );
      if (listed === null) throw new ProviderProblem('missing-permission', words.noAccess(context));
      // Half a list could lack the hook that the caller looks for.
      if (listed.isCut) throw new ProviderProblem('provider-failed', words.listTooSlow(context));
      return hooks.map((hook) => toHook(placeId, hook));
    },

    async findHook(placeId, hookId) {
      const response = await askHook(about(placeId), hookId);
      return response && toHook(placeId, hookOf(response.json));
    },

    async createHook(placeId, settings) {
      const context = about(placeId, settings.secret);
      const body = { ...bodyOf(settings), signing_token: signingToken(settings.secret) };
      const response = await askBelow(context, '/hooks', { method: 'POST', body });
      if (response === null) throw new ProviderProblem('missing-permission', words.noAccess(context));
      const hook = hookOf(response.json);
      if (hook.signing_token_present === true) return toHook(placeId, hook);
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
      if (toHook(placeId, hook).isActive || (await test(context, hookId))) return;
      throw new ProviderProblem('refused', words.stillDisabled(context));
    },

    async deleteHook(placeId, hookId) {
      await askHook(about(placeId), hookId, '', { method: 'DELETE' });
    },

    /** GitLab has sent it by the time it answers. */
    async pingHook(placeId, hookId) {
      await test(about(placeId), hookId);
    },

    /** At most 400. GitLab keeps attempts for some days only. */
    async listAttempts(placeId, hookId, since) {
      const context = about(placeId);
      const from = since.toISOString();
      const attempts: RemoteAttempt[] = [];
      const listed = await readPages(
        (page) => askHook(context, hookId, '/events', { query: { per_page: ATTEMPTS_PER_PAGE, page } }),
        MAX_ATTEMPT_PAGES,
        (json) => {
          const page = attemptsOf(json, attempts.at(-1)?.deliveredAt ?? clock.now().toISOString());
          const recent = page.filter(({ deliveredAt }) => deliveredAt >= from);
          attempts.push(...recent);
          return recent.length === page.length;
        },
      );
      if (listed !== null) return { attempts, isCut: listed.isCut };
      await getHook(context, hookId);
      throw new ProviderProblem('missing-permission', words.noAttempts(placeId));
    },

    /** At most five in a minute. GitLab has sent it by the time it answers, with the id of the first attempt. */
    async redeliver(placeId, hookId, attemptId) {
      const isId = /^\d{1,18}$/.test(attemptId);
      const below = `/events/${attemptId}/resend`;
      const sent = isId ? await askHook(about(placeId), hookId, below, { method: 'POST' }) : null;
      if (sent === null) throw new ProviderProblem('refused', words.noAttempt(placeId, attemptId));
    },
  };
}

function toPlace({ id, path_with_namespace: name }: Project, canAdminister: boolean): Place {
  return { id: name, name, providerId: id, canAdminister };
}

const noHook = (context: Context, hookId: string) =>
  new ProviderProblem('hook-not-found', words.noHook(context, hookId));

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
