import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { answerTo } from './answer.ts';
import { answerViolations, requestViolations } from './contract.ts';
import { deliver } from './deliver.ts';
import { type Fault, type FaultCounts, planFaults, type Respond } from './faults.ts';
import type { RecordedRequest, StoredAttempt, StoredRepository, StoredToken } from './state.ts';
import { describedPath, type World } from './world.ts';

export interface GithubApi extends Disposable {
  /** The value of `GITHUB_API_URL`, without a trailing slash. */
  readonly url: string;
  /** Every request that came, in order. */
  readonly requests: RecordedRequest[];
  /** Violations of GitHub's OpenAPI description in requests and responses. Dispose throws for any. */
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
  /** Answers the next requests so: one, or `times`, after `after` that are answered as usual. */
  failNext(fault: Fault | Respond, counts?: FaultCounts): void;
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
  const plan = planFaults();

  async function respond(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const asked = {
      method: request.method,
      path: describedPath(world, decodeURIComponent(url.pathname.slice(basePath.length))),
      query: Object.fromEntries(url.searchParams),
      body: parsed(await request.text()),
      authorization: request.headers.get('authorization'),
    };
    const record = { ...asked, status: 0 };
    requests.push(record);
    const fault = plan.next();
    const isBelow = url.pathname.startsWith(`${basePath}/`);
    const found = isBelow ? requestViolations(asked) : [`${url.pathname} is not below ${basePath}`];
    if (fault !== null && found.length === 0) return fault(request);

    const { status, body, headers } = answerTo(world, { ...asked, url });
    const text = body === undefined ? null : JSON.stringify(body);
    // That a change of what was renamed is sent on, the description does not say.
    if (status !== 307) found.push(...answerViolations(asked, status, parsed(text ?? '')));
    violations.push(...found);
    record.status = found.length > 0 ? 500 : status;
    const type = text === null ? {} : { 'content-type': 'application/json; charset=utf-8' };
    const requestId = { 'x-github-request-id': `F00D:${requests.length}` };
    return new Response(text, { status: record.status, headers: { ...headers, ...type, ...requestId } });
  }

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: respond });
  const url = `http://127.0.0.1:${server.port}${basePath}`;
  const world: World = { url, clock, allowLocal, tokens: new Map(), repositories: [], pending: new Set() };

  return {
    url,
    requests,
    violations,
    tokens: world.tokens,
    repositories: world.repositories,
    failNext: plan.add,
    ...doings(world),
    [Symbol.dispose]() {
      void server.stop(true);
      if (violations.length === 0) return;
      const message = `not as GitHub describes it: ${[...new Set(violations)].join('; ')}`;
      // A test that fails for the same reason would hide the error behind its own.
      process.stderr.write(`${message}\n`);
      throw new Error(message);
    },
  };
}

/** Actions at GitHub outside of its API. */
function doings(world: World): Pick<GithubApi, 'addRepository' | 'rename' | 'addToken' | 'emit' | 'settled'> {
  return {
    addRepository(name, about = {}) {
      const id = 1_296_269 + world.repositories.length;
      const usual = { formerNames: [], isPrivate: true, isArchived: false, wantsSso: false, rights: {} };
      const repository: StoredRepository = { id, name, hooks: [], ...usual, ...about };
      world.repositories.push(repository);
      return repository;
    },
    rename(repository, name) {
      repository.formerNames.push(repository.name);
      repository.name = name;
    },
    addToken(token) {
      const random = crypto.randomUUID().replaceAll('-', '');
      const value = token.scopes === undefined ? `github_pat_${random}` : `ghp_${random}`;
      world.tokens.set(value, token);
      return value;
    },
    emit(repository, event, payload) {
      const delivery = { event, payload, guid: crypto.randomUUID(), isRedelivery: false };
      const hooks = repository.hooks.filter(
        ({ isActive, events }) => isActive && (events.includes(event) || events.includes('*')),
      );
      return Promise.all(hooks.map((hook) => deliver(repository, hook, delivery, world.clock)));
    },
    async settled() {
      while (world.pending.size > 0) await Promise.all(world.pending);
    },
  };
}

/** A body, null for an empty one. One that is no JSON stays text, which no description lets through. */
function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return text;
  }
}
