import type { Clock } from '../../../src/lib/clock.ts';
import { type Access, canSee, requireHooks, wantsSso } from './access.ts';
import type { Delivery } from './deliver.ts';
import { changeConfig, changeHook, type HookBody, makeHook } from './hooks.ts';
import { refusals } from './refusal.ts';
import { attemptPageOf, pageOf, shownAttempt, shownHook, shownRepository } from './shown.ts';
import type { HookConfig, StoredHook, StoredRepository, StoredToken } from './state.ts';

/** What an operation works with. */
export interface Context {
  token: StoredToken;
  url: URL;
  params: Record<string, string>;
  body: unknown;
  /** Of the route; a repository that the token may see. Throws GitHub's 404 where there is none. */
  repository: () => StoredRepository;
  api: { url: string; clock: Clock; allowLocal: boolean; repositories: readonly StoredRepository[] };
  /** Sends in a moment, after the answer. */
  deliverSoon: (repository: StoredRepository, hook: StoredHook, delivery: Delivery) => void;
}

export interface Answer {
  status: number;
  /** Absent: an empty body. */
  body?: unknown;
  headers?: Record<string, string>;
}

interface Operation {
  /** What it needs of the permission "Webhooks"; null for none of it. */
  access: Access | null;
  run(context: Context): Answer;
}

const ZEN = 'Non-blocking is better than blocking.';

export function pingOf(api: string, repository: StoredRepository, hook: StoredHook, user: string): Delivery {
  const payload = {
    zen: ZEN,
    hook_id: hook.id,
    hook: shownHook(api, repository, hook),
    repository: shownRepository(repository, user),
    sender: { login: user, id: 1, type: 'User' },
  };
  return { event: 'ping', payload, guid: crypto.randomUUID(), isRedelivery: false };
}

function writable(context: Context): StoredRepository {
  const repository = context.repository();
  requireHooks(context.token, repository, 'write');
  if (repository.isArchived) throw refusals.archived();
  return repository;
}

function readable(context: Context): StoredRepository {
  const repository = context.repository();
  requireHooks(context.token, repository, 'read');
  return repository;
}

function hookOf({ params }: Context, repository: StoredRepository): StoredHook {
  const hook = repository.hooks.find(({ id }) => String(id) === params.hook_id);
  if (hook === undefined) throw refusals.notFound();
  return hook;
}

const now = ({ api }: Context) => api.clock.now().toISOString();

export const operations: Record<string, Operation> = {
  'GET /user/repos': {
    access: null,
    run({ token, url, api }) {
      const seen = api.repositories.filter(
        (each) => each.rights[token.user] !== undefined && canSee(token, each),
      );
      const hidden = seen.filter((each) => wantsSso(token, each));
      const { items, headers } = pageOf(
        seen.filter((each) => !wantsSso(token, each)),
        url,
      );
      const sso = hidden.length === 0 ? {} : { 'x-github-sso': 'partial-results; organizations=21955855' };
      return {
        status: 200,
        body: items.map((each) => shownRepository(each, token.user)),
        headers: { ...headers, ...sso },
      };
    },
  },
  'GET /repos/{owner}/{repo}': {
    access: null,
    run: (context) => ({ status: 200, body: shownRepository(context.repository(), context.token.user) }),
  },
  'GET /repos/{owner}/{repo}/hooks': {
    access: 'read',
    run(context) {
      const repository = readable(context);
      const { items, headers } = pageOf(repository.hooks, context.url);
      return {
        status: 200,
        body: items.map((hook) => shownHook(context.api.url, repository, hook)),
        headers,
      };
    },
  },
  'POST /repos/{owner}/{repo}/hooks': {
    access: 'write',
    run(context) {
      const { api, token, body, deliverSoon } = context;
      const repository = writable(context);
      const hook = makeHook(repository, (body ?? {}) as HookBody, now(context), api.allowLocal);
      const answer = shownHook(api.url, repository, hook);
      if (hook.isActive) deliverSoon(repository, hook, pingOf(api.url, repository, hook, token.user));
      return { status: 201, body: answer };
    },
  },
  'GET /repos/{owner}/{repo}/hooks/{hook_id}': {
    access: 'read',
    run(context) {
      const repository = readable(context);
      return { status: 200, body: shownHook(context.api.url, repository, hookOf(context, repository)) };
    },
  },
  'PATCH /repos/{owner}/{repo}/hooks/{hook_id}': {
    access: 'write',
    run(context) {
      const repository = writable(context);
      const hook = hookOf(context, repository);
      changeHook(repository, hook, context.body as HookBody, now(context), context.api.allowLocal);
      return { status: 200, body: shownHook(context.api.url, repository, hook) };
    },
  },
  'PATCH /repos/{owner}/{repo}/hooks/{hook_id}/config': {
    access: 'write',
    run(context) {
      const repository = writable(context);
      const hook = hookOf(context, repository);
      changeConfig(hook, (context.body ?? {}) as Partial<HookConfig>, now(context), context.api.allowLocal);
      const { config } = shownHook(context.api.url, repository, hook) as { config: object };
      return { status: 200, body: config };
    },
  },
  'DELETE /repos/{owner}/{repo}/hooks/{hook_id}': {
    access: 'write',
    run(context) {
      const repository = writable(context);
      const hook = hookOf(context, repository);
      repository.hooks.splice(repository.hooks.indexOf(hook), 1);
      return { status: 204 };
    },
  },
  'POST /repos/{owner}/{repo}/hooks/{hook_id}/pings': {
    access: 'read',
    run(context) {
      const repository = readable(context);
      const hook = hookOf(context, repository);
      context.deliverSoon(repository, hook, pingOf(context.api.url, repository, hook, context.token.user));
      return { status: 204 };
    },
  },
  'GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries': {
    access: 'read',
    run(context) {
      const repository = readable(context);
      const { items, headers } = attemptPageOf(hookOf(context, repository).attempts, context.url);
      return { status: 200, body: items.map((attempt) => shownAttempt(repository, attempt)), headers };
    },
  },
  'POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts': {
    access: 'write',
    run(context) {
      const repository = writable(context);
      const hook = hookOf(context, repository);
      const attempt = hook.attempts.find(({ id }) => String(id) === context.params.delivery_id);
      if (attempt === undefined) throw refusals.notFound();
      const { event, payload, guid } = attempt;
      context.deliverSoon(repository, hook, { event, payload, guid, isRedelivery: true });
      return { status: 202, body: {} };
    },
  },
};
