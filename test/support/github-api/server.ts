import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { accessHeaders, canSee, tokenOf, wantsSso } from './access.ts';
import { answerViolations, requestViolations, routeOf } from './contract.ts';
import { type Delivery, deliver } from './deliver.ts';
import { type Fault, faults } from './faults.ts';
import { type Answer, operations } from './operations.ts';
import { GithubRefusal, refusals } from './refusal.ts';
import type { RecordedRequest, StoredAttempt, StoredHook, StoredRepository, StoredToken } from './state.ts';

type Respond = (request: Request) => Response | Promise<Response>;

export interface GithubApi extends Disposable {
  /** What `GITHUB_API_URL` is to be, without a trailing slash. */
  readonly url: string;
  /** Every request that came, in order. */
  readonly requests: RecordedRequest[];
  /** What GitHub's description has against requests that came and answers that were given. Dispose throws for any. */
  readonly violations: string[];
  /** By their values. Delete one to revoke it. */
  readonly tokens: Map<string, StoredToken>;
  readonly repositories: StoredRepository[];
  /** The repository is the stored one: a test may change it. */
  addRepository(
    name: string,
    about?: Partial<Omit<StoredRepository, 'name' | 'id' | 'hooks'>>,
  ): StoredRepository;
  rename(repository: StoredRepository, name: string): void;
  /** Of a classic token when it has `scopes`, else of a fine-grained one. Returns its value. */
  addToken(token: StoredToken): string;
  /** Something happens at a repository: delivered to each active hook that wants the event. Resolves when it was sent. */
  emit(
    repository: StoredRepository,
    event: string,
    payload: Record<string, unknown>,
  ): Promise<StoredAttempt[]>;
  /** Resolves when every ping and redelivery that was asked for has been sent. */
  settled(): Promise<void>;
  /** Answers the next `times` requests so, after `after` requests as usual. `Infinity` for all to come. */
  failNext(fault: Fault | Respond, counts?: { times?: number; after?: number }): void;
}

export interface GithubApiOptions {
  clock?: Clock;
  /** `/api/v3` for Enterprise Server. */
  basePath?: string;
  /** GitHub takes no webhook on this machine; tests need it to, unless they are about just that. */
  allowLocal?: boolean;
}

/** Stands in for GitHub's REST API over real HTTP: repositories, tokens, webhooks, and deliveries that are really sent. */
export function startGithubApi(options: GithubApiOptions = {}): GithubApi {
  const { clock = systemClock, basePath = '', allowLocal = true } = options;
  const requests: RecordedRequest[] = [];
  const violations: string[] = [];
  const tokens = new Map<string, StoredToken>();
  const repositories: StoredRepository[] = [];
  const pending = new Set<Promise<unknown>>();
  const planned: { respond: Respond; times: number; after: number }[] = [];

  function repositoryAt(path: string, url: URL, method: string, token: StoredToken): StoredRepository {
    const [, owner, name] = path.slice(1).split('/');
    const full = `${owner}/${name}`.toLowerCase();
    const found = repositories.find((each) => each.name.toLowerCase() === full);
    const former = repositories.find((each) => each.formerNames.some((one) => one.toLowerCase() === full));
    const repository = found ?? former;
    if (repository === undefined || !canSee(token, repository)) throw refusals.notFound();
    if (wantsSso(token, repository)) throw refusals.sso(repository.name.split('/')[0] ?? '');
    if (found !== undefined) return found;
    const rest = path
      .split('/')
      .slice(4)
      .map((part) => `/${part}`)
      .join('');
    throw refusals.moved(
      `${api.url}/repositories/${repository.id}${rest}${url.search}`,
      method === 'GET' ? 301 : 307,
    );
  }

  function deliverSoon(repository: StoredRepository, hook: StoredHook, delivery: Delivery): void {
    const sending = deliver(repository, hook, delivery, clock).finally(() => pending.delete(sending));
    pending.add(sending);
  }

  /** A repository that was renamed is known by its number, too. */
  function pathOf(url: URL): string {
    const path = decodeURIComponent(url.pathname.slice(basePath.length));
    return path.replace(/^\/repositories\/(\d+)/, (whole, id) => {
      const repository = repositories.find((each) => String(each.id) === id);
      return repository === undefined ? whole : `/repos/${repository.name}`;
    });
  }

  function answer(request: Request, url: URL, path: string, body: unknown): Answer {
    const route = routeOf(request.method, path);
    const operation = operations[route?.route ?? ''];
    let token: StoredToken | null = null;
    const headers = () => ({ ...LIMITS, ...accessHeaders(token, operation?.access ?? null) });
    try {
      const known = tokenOf(request.headers.get('authorization'), tokens);
      token = known;
      if (route === null || operation === undefined) throw refusals.notFound();
      const answered = operation.run({
        token,
        url,
        params: route.params,
        body,
        repository: () => repositoryAt(path, url, request.method, known),
        api: { url: api.url, clock, allowLocal, repositories },
        deliverSoon,
      });
      return { ...answered, headers: { ...headers(), ...answered.headers } };
    } catch (error) {
      if (!(error instanceof GithubRefusal)) throw error;
      return { status: error.status, body: error.body(), headers: { ...headers(), ...error.more.headers } };
    }
  }

  async function respond(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const path = pathOf(url);
    const body = parsed(await request.text());
    const asked = { method: request.method, path, query: Object.fromEntries(url.searchParams), body };
    const record = { ...asked, authorization: request.headers.get('authorization'), status: 0 };
    requests.push(record);
    const fault = nextFault(planned);
    if (fault !== null) return fault(request);

    const found = url.pathname.startsWith(`${basePath}/`)
      ? requestViolations(asked)
      : [`${url.pathname} is not below ${basePath}`];
    const answered = answer(request, url, path, body);
    const text = answered.body === undefined ? null : JSON.stringify(answered.body);
    if (answered.status !== 307) found.push(...answerViolations(asked, answered.status, parsed(text ?? '')));
    violations.push(...found);
    const status = found.length > 0 ? 500 : answered.status;
    record.status = status;
    const requestId = { 'x-github-request-id': `F00D:${requests.length}` };
    const type = text === null ? {} : { 'content-type': 'application/json; charset=utf-8' };
    return new Response(text, { status, headers: { ...answered.headers, ...type, ...requestId } });
  }

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: respond });

  const api: GithubApi = {
    url: `http://127.0.0.1:${server.port}${basePath}`,
    requests,
    violations,
    tokens,
    repositories,
    addRepository(name, about = {}) {
      const usual = { formerNames: [], isPrivate: true, isArchived: false, wantsSso: false, rights: {} };
      const repository: StoredRepository = {
        id: 1_296_269 + repositories.length,
        name,
        hooks: [],
        ...usual,
        ...about,
      };
      repositories.push(repository);
      return repository;
    },
    rename(repository, name) {
      repository.formerNames.push(repository.name);
      repository.name = name;
    },
    addToken(token) {
      const random = crypto.randomUUID().replaceAll('-', '');
      const value = token.scopes === undefined ? `github_pat_${random}` : `ghp_${random}`;
      tokens.set(value, token);
      return value;
    },
    emit(repository, event, payload) {
      const delivery = { event, payload, guid: crypto.randomUUID(), isRedelivery: false };
      const hooks = repository.hooks.filter(
        ({ isActive, events }) => isActive && (events.includes(event) || events.includes('*')),
      );
      return Promise.all(hooks.map((hook) => deliver(repository, hook, delivery, clock)));
    },
    async settled() {
      while (pending.size > 0) await Promise.all(pending);
    },
    failNext(fault, { times = 1, after = 0 } = {}) {
      planned.push({ respond: typeof fault === 'string' ? faults[fault] : fault, times, after });
    },
    [Symbol.dispose]() {
      void server.stop(true);
      if (violations.length === 0) return;
      const message = `not as GitHub describes it: ${[...new Set(violations)].join('; ')}`;
      // A test that fails for the same reason would hide the error behind its own.
      process.stderr.write(`${message}\n`);
      throw new Error(message);
    },
  };
  return api;
}

const LIMITS = {
  'x-ratelimit-limit': '5000',
  'x-ratelimit-remaining': '4999',
  'x-ratelimit-reset': '1795234200',
  'x-ratelimit-used': '1',
  'x-ratelimit-resource': 'core',
  'x-github-media-type': 'github.v3; format=json',
  'x-github-api-version-selected': '2022-11-28',
};

function nextFault(planned: { respond: Respond; times: number; after: number }[]): Respond | null {
  const [next] = planned;
  if (next === undefined) return null;
  if (next.after > 0) {
    next.after--;
    return null;
  }
  next.times--;
  if (next.times === 0) planned.shift();
  return next.respond;
}

/** A body, null for an empty one. One that is no JSON stays text, which no description lets through. */
function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return text;
  }
}
