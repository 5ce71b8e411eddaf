import { type Clock, systemClock } from '../../../src/lib/time.ts';
import { type FaultCounts, type RecordedRequest, type Respond, recordRequests } from '../stand-in.ts';
import { deliver } from './deliver.ts';
import { type Answer, answer } from './operations.ts';
import {
  GitlabRefusal,
  type StoredAttempt,
  type StoredProject,
  type StoredToken,
  type World,
} from './state.ts';

export interface GitlabApi extends Disposable {
  /** For `GITLAB_API_URL`, without a trailing slash. */
  readonly url: string;
  readonly world: World;
  /** Every request, oldest first. */
  readonly requests: RecordedRequest[];
  /** The project is the stored one: a test may change it. */
  addProject(path: string, about?: Partial<Omit<StoredProject, 'id' | 'path'>>): StoredProject;
  /** Returns the token's value. */
  addToken(token: StoredToken): string;
  /** Delivers an event to each hook that is enabled and listens to it. */
  emit(project: StoredProject, flag: string, header: string, payload: object): Promise<StoredAttempt[]>;
  /** Answers the next request, or the next `times`, after `after` that GitLab answers itself. */
  failNext(respond: Respond, counts?: FaultCounts): void;
  /** Leaves `x-next-page` out, as GitLab does of very long lists: only the link leads on. */
  omitNextPage(): void;
  /** Allows this many more requests until `resetAt`. */
  limit(remaining: number, resetAt: Date): void;
}

/** Stands in for GitLab over HTTP: projects, tokens, and webhooks with deliveries that it really sends. */
export function startGitlabApi(
  options: { clock?: Clock; canSign?: boolean; allowLocal?: boolean } = {},
): GitlabApi {
  const { clock = systemClock, canSign = true, allowLocal = true } = options;
  const { requests, failNext, respond } = recordRequests('/api/v4', respondTo);
  let budget = { limit: 2000, remaining: 2000, resetAt: new Date(clock.now().getTime() + 60_000) };

  let hasNextPage = true;

  async function respondTo(request: Request, url: URL, body: unknown): Promise<Response> {
    if (budget.remaining <= 0 && clock.now() < budget.resetAt) {
      const wait = Math.ceil((budget.resetAt.getTime() - clock.now().getTime()) / 1000);
      return new Response('Retry later\n', {
        status: 429,
        headers: { ...limitHeaders(), 'content-type': 'text/plain', 'retry-after': String(wait) },
      });
    }
    budget.remaining--;
    try {
      const token = tokenOf(request.headers.get('authorization'));
      const context = {
        world,
        token,
        method: request.method,
        query: url.searchParams,
        body: { ...(body as Record<string, unknown> | null) },
      };
      return show(request, url, await answer(context, url.pathname.replace('/api/v4', '')));
    } catch (error) {
      if (!(error instanceof GitlabRefusal)) throw error;
      return Response.json(error.body, {
        status: error.status,
        headers: { ...limitHeaders(), ...error.headers },
      });
    }
  }

  function tokenOf(authorization: string | null): StoredToken | null {
    if (authorization === null) return null;
    const token = world.tokens.get(authorization.replace(/^Bearer /, ''));
    if (token !== undefined) return token;
    throw new GitlabRefusal(401, {
      error: 'invalid_token',
      error_description: 'Token is expired. You can either do re-authorization or token refresh.',
    });
  }

  /** A page of a list, and 304 for an unchanged response. */
  function show(request: Request, url: URL, { status, body, list }: Answer): Response {
    const perPage = Math.min(Number(url.searchParams.get('per_page') ?? 20), 100);
    const page = Number(url.searchParams.get('page') ?? 1);
    const hasMore = list !== undefined && list.length > page * perPage;
    const shown = list?.slice((page - 1) * perPage, page * perPage) ?? body;
    const text = shown === undefined ? null : JSON.stringify(shown);
    const etag = `W/"${Bun.hash(text ?? '').toString(16)}"`;
    const next = new URL(url);
    next.searchParams.set('page', String(page + 1));
    const headers = {
      ...limitHeaders(),
      etag,
      ...(list !== undefined && { 'x-page': String(page) }),
      ...(list !== undefined && hasNextPage && { 'x-next-page': hasMore ? String(page + 1) : '' }),
      ...(hasMore && { link: `<${next}>; rel="next"` }),
    };
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
    return new Response(text, { status, headers: { ...headers, 'content-type': 'application/json' } });
  }

  const limitHeaders = () => ({
    'ratelimit-limit': String(budget.limit),
    'ratelimit-remaining': String(Math.max(0, budget.remaining)),
    'ratelimit-reset': String(Math.floor(budget.resetAt.getTime() / 1000)),
  });

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: respond });
  const web = `http://127.0.0.1:${server.port}`;
  const world: World = { web, clock, canSign, allowLocal, tokens: new Map(), projects: [] };

  return {
    url: `${web}/api/v4`,
    world,
    requests,
    addProject(path, about = {}) {
      const usual = {
        formerPaths: [],
        defaultBranch: 'main',
        visibility: 'private',
        isArchived: false,
        roles: {},
        hooks: [],
        releases: [],
        mergeRequests: [],
        commits: [],
        tags: {},
      } as const;
      const project = { ...structuredClone(usual), ...about, id: 278_964 + world.projects.length, path };
      world.projects.push(project as StoredProject);
      return project as StoredProject;
    },
    addToken(token) {
      const value = `glpat-${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`;
      world.tokens.set(value, token);
      return value;
    },
    emit(project, flag, header, payload) {
      const hooks = project.hooks.filter(
        ({ flags, alertStatus }) => flags[flag] === true && alertStatus === 'executable',
      );
      return Promise.all(
        hooks.map((hook) => deliver(world, hook, header, payload as Record<string, unknown>)),
      );
    },
    failNext,
    omitNextPage() {
      hasNextPage = false;
    },
    limit(remaining, resetAt) {
      budget = { limit: 2000, remaining, resetAt };
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}
