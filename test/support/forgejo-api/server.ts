import { type Clock, systemClock } from '../../../src/lib/time.ts';
import { type FaultCounts, type RecordedRequest, type Respond, recordRequests } from '../stand-in.ts';
import { deliver } from './deliver.ts';
import { type Answer, answer } from './operations.ts';
import { ForgejoRefusal, type StoredRepository, type StoredToken, type World } from './state.ts';

export interface ForgejoApi extends Disposable {
  /** For `FORGEJO_API_URL`, without a trailing slash. */
  readonly url: string;
  readonly world: World;
  /** Every request, oldest first. */
  readonly requests: RecordedRequest[];
  /** The repository is the stored one: a test may change it. */
  addRepository(path: string, about?: Partial<Omit<StoredRepository, 'id' | 'path'>>): StoredRepository;
  /** Returns the token's value. */
  addToken(token: StoredToken): string;
  /** Delivers an event to each hook that is active and listens to it. Returns their statuses. */
  emit(repository: StoredRepository, event: string, payload: object): Promise<(number | null)[]>;
  /** Resolves when every test delivery that was requested was sent. */
  settled(): Promise<void>;
  /** Answers the next request, or the next `times`, after `after` that Forgejo answers itself. */
  failNext(respond: Respond, counts?: FaultCounts): void;
}

/** The page size of a server whose administrator changed nothing. */
const MAX_PER_PAGE = 50;

/**
 * Stands in for Forgejo, or Gitea, over HTTP: repositories, tokens, and webhooks with deliveries that it really sends.
 * `sendsEtags`: as behind a proxy that adds them.
 */
export function startForgejoApi(
  options: { clock?: Clock; isGitea?: boolean; sendsEtags?: boolean; path?: string } = {},
): ForgejoApi {
  const { clock = systemClock, isGitea = false, sendsEtags = false, path = '' } = options;
  const base = `${path}/api/v1`;
  const { requests, failNext, respond } = recordRequests(base, respondTo);

  async function respondTo(request: Request, url: URL, body: unknown): Promise<Response> {
    try {
      const context = {
        world,
        token: tokenOf(request.headers.get('authorization')),
        method: request.method,
        query: url.searchParams,
        body: { ...(body as Record<string, unknown> | null) },
      };
      return show(request, url, await answer(context, url.pathname.replace(base, '')));
    } catch (error) {
      if (!(error instanceof ForgejoRefusal)) throw error;
      const { status, message, headers } = error;
      return Response.json({ message, url: `${web}/api/swagger`, errors: [] }, { status, headers });
    }
  }

  function tokenOf(authorization: string | null): StoredToken | null {
    if (authorization === null) return null;
    const token = world.tokens.get(authorization.replace(/^token /, ''));
    if (token !== undefined) return token;
    throw new ForgejoRefusal(401, 'invalid username, password or token');
  }

  function show(request: Request, url: URL, { status, body, list, hasLink = true }: Answer): Response {
    const limit = Math.min(Number(url.searchParams.get('limit') ?? 30), MAX_PER_PAGE);
    const page = Number(url.searchParams.get('page') ?? 1);
    const shown = list?.slice((page - 1) * limit, page * limit) ?? body;
    if (shown === undefined) return new Response(null, { status });
    const text = JSON.stringify(shown);
    const headers = new Headers({ 'content-type': 'application/json;charset=utf-8' });
    if (list !== undefined) {
      headers.set('x-total-count', String(list.length));
      url.searchParams.set('page', String(page + 1));
      const hasMore = list.length > page * limit;
      if (hasLink && hasMore) headers.set('link', `<${url.href}>; rel="next",<${url.href}>; rel="last"`);
    }
    if (sendsEtags) headers.set('etag', `W/"${Bun.hash(text).toString(16)}"`);
    const isSame = sendsEtags && request.headers.get('if-none-match') === headers.get('etag');
    return isSame ? new Response(null, { status: 304, headers }) : new Response(text, { status, headers });
  }

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: respond });
  const web = `http://127.0.0.1:${server.port}${path}`;
  const world: World = {
    web,
    clock,
    isGitea,
    hasWebhooks: true,
    requiresSignIn: false,
    tokens: new Map(),
    repositories: [],
    pending: new Set(),
  };

  return {
    url: `${web}/api/v1`,
    world,
    requests,
    addRepository(name, about = {}) {
      const repository: StoredRepository = {
        formerPaths: [],
        defaultBranch: 'main',
        isPrivate: true,
        isArchived: false,
        rights: {},
        hooks: [],
        releases: [],
        pulls: [],
        commits: [],
        tags: {},
        ...about,
        id: 41 + world.repositories.length,
        path: name,
      };
      world.repositories.push(repository);
      return repository;
    },
    addToken(token) {
      const value = crypto.randomUUID().replaceAll('-', '').padEnd(40, '0');
      world.tokens.set(value, token);
      return value;
    },
    emit(repository, event, payload) {
      const hooks = repository.hooks.filter(({ events, isActive }) => isActive && events.includes(event));
      return Promise.all(hooks.map((hook) => deliver(world, hook, event, payload)));
    },
    async settled() {
      for (const delivery of world.pending) {
        await delivery;
        world.pending.delete(delivery);
      }
    },
    failNext,
    [Symbol.dispose]: () => void server.stop(true),
  };
}
