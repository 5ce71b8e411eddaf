import { type Access, canSee, type Reading, requireHooks, wantsSso } from './access.ts';
import { installationOperations } from './apps.ts';
import { codeOperations } from './code-operations.ts';
import type { Delivery } from './deliver.ts';
import { changeHook, type HookBody, makeHook } from './hooks.ts';
import { refusals } from './refusal.ts';
import type { StoredHook, StoredRepository, StoredToken } from './state.ts';
import { attemptPageOf, attemptView, hookView, pageOf, repositoryView } from './views.ts';
import { deliverSoon, type World } from './world.ts';

/** The input of an operation. */
export interface Context {
  token: StoredToken;
  url: URL;
  params: Record<string, string>;
  body: unknown;
  /** The repository of the route. Throws GitHub's 404 when the token cannot see one. */
  repository: () => StoredRepository;
  world: World;
}

export interface Result {
  status: number;
  /** Absent: an empty body. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Operation {
  /** The level of the permission "Webhooks" that it needs; null for none. */
  access: Access | null;
  /** Everyone may use it on a public repository, and on a private one with this permission. */
  reads?: Reading;
  run(context: Context): Result;
}

const ZEN = 'Non-blocking is better than blocking.';

function pingOf(api: string, repository: StoredRepository, hook: StoredHook, user: string): Delivery {
  const payload = {
    zen: ZEN,
    hook_id: hook.id,
    hook: hookView(api, repository, hook),
    repository: repositoryView(repository, user),
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

const now = ({ world }: Context) => world.clock.now().toISOString();

export const operations: Record<string, Operation> = {
  'GET /user/repos': {
    access: null,
    run({ token, url, world }) {
      const seen = world.repositories.filter(
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
        body: items.map((each) => repositoryView(each, token.user)),
        headers: { ...headers, ...sso },
      };
    },
  },
  ...codeOperations,
  ...installationOperations,
  'GET /repos/{owner}/{repo}': {
    access: null,
    reads: 'metadata',
    run: (context) => ({ status: 200, body: repositoryView(context.repository(), context.token.user) }),
  },
  'GET /repos/{owner}/{repo}/hooks': {
    access: 'read',
    run(context) {
      const repository = readable(context);
      const { items, headers } = pageOf(repository.hooks, context.url);
      return {
        status: 200,
        body: items.map((hook) => hookView(context.world.url, repository, hook)),
        headers,
      };
    },
  },
  'POST /repos/{owner}/{repo}/hooks': {
    access: 'write',
    run(context) {
      const { world, token, body } = context;
      const repository = writable(context);
      const hook = makeHook(repository, (body ?? {}) as HookBody, now(context), world.allowLocal);
      const answer = hookView(world.url, repository, hook);
      if (hook.isActive)
        deliverSoon(world, repository, hook, pingOf(world.url, repository, hook, token.user));
      return { status: 201, body: answer };
    },
  },
  'GET /repos/{owner}/{repo}/hooks/{hook_id}': {
    access: 'read',
    run(context) {
      const repository = readable(context);
      return { status: 200, body: hookView(context.world.url, repository, hookOf(context, repository)) };
    },
  },
  'PATCH /repos/{owner}/{repo}/hooks/{hook_id}': {
    access: 'write',
    run(context) {
      const repository = writable(context);
      const hook = hookOf(context, repository);
      changeHook(repository, hook, context.body as HookBody, now(context), context.world.allowLocal);
      return { status: 200, body: hookView(context.world.url, repository, hook) };
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
      deliverSoon(
        context.world,
        repository,
        hook,
        pingOf(context.world.url, repository, hook, context.token.user),
      );
      return { status: 204 };
    },
  },
  'GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries': {
    access: 'read',
    run(context) {
      const repository = readable(context);
      const { items, headers } = attemptPageOf(hookOf(context, repository).attempts, context.url);
      return { status: 200, body: items.map((attempt) => attemptView(repository, attempt)), headers };
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
      deliverSoon(context.world, repository, hook, { event, payload, guid, isRedelivery: true });
      return { status: 202, body: {} };
    },
  },
};
