import { type Clock, systemClock } from '../../../src/lib/time.ts';
import type { FaultCounts, RecordedRequest, Respond } from '../stand-in.ts';
import { accessHeaders, isKnown, requireReading, tokenOf } from './access.ts';
import { appPage } from './app-pages.ts';
import {
  appOf,
  appOperations,
  CONVERSION,
  convert,
  dropEnded,
  emitToApps,
  install,
  noApps,
  type StoredApp,
  suspend,
  uninstall,
} from './apps.ts';
import { noCode } from './code.ts';
import { type ApiRequest, decoded, requestViolations, responseViolations, routeOf } from './contract.ts';
import { deliver } from './deliver.ts';
import { type Fault, planFaults } from './faults.ts';
import { type StoredImage, serveImages } from './images.ts';
import { countRequests, type Limits } from './limits.ts';
import { operations, type Result } from './operations.ts';
import { GithubRefusal, refusals } from './refusal.ts';
import type { StoredAttempt, StoredRepository, StoredToken } from './state.ts';
import { describedPath, repositoryAt, type World } from './world.ts';

export interface GithubApi extends Disposable {
  /** For `GITHUB_API_URL`, without a trailing slash. */
  readonly url: string;
  /** Every request, oldest first. */
  readonly requests: RecordedRequest[];
  /** Requests and responses that break GitHub's description. Dispose throws for any. */
  readonly violations: string[];
  /** By their values. Delete one to revoke it. */
  readonly tokens: Map<string, StoredToken>;
  readonly repositories: StoredRepository[];
  /** 60 requests an hour without a token, 5,000 with one, and no secondary limit. A test may change them. */
  readonly limits: Limits;
  /** Adds an attachment. Returns its address, which redirects to a signed one that expires after five minutes. */
  addImage(bytes: Uint8Array<ArrayBuffer>, about?: Partial<Omit<StoredImage, 'bytes'>>): string;
  /** The repository is the stored one: a test may change it. */
  addRepository(
    name: string,
    about?: Partial<Omit<StoredRepository, 'name' | 'id' | 'hooks' | 'code'>>,
  ): StoredRepository;
  rename(repository: StoredRepository, name: string): void;
  /** The Apps that people created from a manifest. */
  readonly apps: readonly StoredApp[];
  /** Actions of people about an App at GitHub, with the deliveries about it. */
  installApp(app: StoredApp, repositories: readonly StoredRepository[]): void;
  suspendApp(app: StoredApp, isSuspended?: boolean): void;
  uninstallApp(app: StoredApp): void;
  /** Adds a classic token when it has `scopes`, else a fine-grained one. Returns its value. */
  addToken(token: StoredToken): string;
  /** Delivers an event to each active hook that listens to it. Resolves when every delivery was sent. */
  emit(
    repository: StoredRepository,
    event: string,
    payload: Record<string, unknown>,
  ): Promise<StoredAttempt[]>;
  /** Resolves when every requested ping and redelivery was sent. */
  settled(): Promise<void>;
  /** Fails the next request, or the next `times`, after `after` that succeed. */
  failNext(fault: Fault | Respond, counts?: FaultCounts): void;
}

export interface GithubApiOptions {
  clock?: Clock;
  /** `/api/v3` for Enterprise Server. */
  basePath?: string;
  /** GitHub refuses webhooks on this machine; tests need them. True by default. */
  allowLocal?: boolean;
}

/** Stands in for GitHub's REST API over HTTP: repositories, tokens, webhooks, and deliveries that it really sends. */
export function startGithubApi(options: GithubApiOptions = {}): GithubApi {
  const { clock = systemClock, basePath = '', allowLocal = true } = options;
  const requests: RecordedRequest[] = [];
  const violations: string[] = [];
  const plan = planFaults();

  async function respond(request: Request): Promise<Response> {
    const other = images.respond(request) ?? (await appPage(world, request.clone() as Request));
    if (other !== null) return other;
    const url = new URL(request.url);
    const received = {
      method: request.method,
      path: describedPath(world, url.pathname.slice(basePath.length)),
      query: Object.fromEntries(url.searchParams),
      body: parsed(await request.text()),
      authorization: request.headers.get('authorization'),
    };
    const record = { ...received, path: decoded(received.path), status: 0 };
    requests.push(record);
    const fault = plan.next();
    const isBelow = url.pathname.startsWith(`${basePath}/`);
    const broken = isBelow ? requestViolations(received) : [`${url.pathname} is not below ${basePath}`];
    if (fault !== null && broken.length === 0) return fault(request);

    const { status, body, headers } = respondTo(world, {
      ...received,
      url,
      etag: request.headers.get('if-none-match'),
    });
    const text = body === undefined ? null : JSON.stringify(body);
    // The description lacks most redirects for a renamed repository, and 304 for most routes.
    if (![301, 304, 307].includes(status))
      broken.push(...responseViolations(received, status, parsed(text ?? '')));
    violations.push(...broken);
    record.status = broken.length > 0 ? 500 : status;
    const type = text === null ? {} : { 'content-type': 'application/json; charset=utf-8' };
    const requestId = { 'x-github-request-id': `F00D:${requests.length}` };
    return new Response(text, { status: record.status, headers: { ...headers, ...type, ...requestId } });
  }

  // A test may let a request wait.
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: respond });
  const url = `http://127.0.0.1:${server.port}${basePath}`;
  const limits: Limits = { anonymous: 60, token: 5000, perMinute: Number.POSITIVE_INFINITY };
  const budget = countRequests(limits, clock);
  const tokens = new Map<string, StoredToken>();
  const world: World = {
    url,
    clock,
    allowLocal,
    budget,
    tokens,
    repositories: [],
    apps: noApps(),
    pending: new Set(),
  };
  const images = serveImages(clock, (authorization) => isKnown(authorization, tokens));

  return {
    url,
    requests,
    violations,
    limits,
    tokens,
    repositories: world.repositories,
    apps: world.apps.list,
    failNext: plan.add,
    addImage: (bytes, about = {}) =>
      new URL(images.add({ bytes, type: 'image/png', isPrivate: false, ...about }), url).href,
    ...outsideActions(world),
    [Symbol.dispose]() {
      void server.stop(true);
      if (violations.length === 0) return;
      const message = `not as GitHub describes it: ${[...new Set(violations)].join('; ')}`;
      // A test that already failed would hide this error.
      process.stderr.write(`${message}\n`);
      throw new Error(message);
    },
  };
}

interface Received extends ApiRequest {
  url: URL;
  authorization: string | null;
  /** The header `if-none-match`. */
  etag: string | null;
}

/** GitHub's response, a refusal included, with the headers of every response. */
function respondTo(world: World, request: Received): Result {
  const { method, path, url, body, authorization } = request;
  const route = routeOf(method, path);
  const operation = operations[route?.route ?? ''];
  const asApp = appOperations[route?.route ?? ''];
  dropEnded(world);
  let token: StoredToken | null = null;
  const headers = () => ({
    ...VERSION,
    ...world.budget.headers(authorization),
    ...accessHeaders(token, operation?.access ?? null, operation?.reads),
  });
  try {
    if (route?.route === CONVERSION) {
      return { ...convert(world, route.params.code ?? ''), headers: headers() };
    }
    if (route !== null && asApp !== undefined) {
      world.budget.take(authorization);
      const app = appOf(authorization, world);
      const result = asApp({ world, app, url, params: route.params, body });
      return { ...result, headers: { ...headers(), ...result.headers } };
    }
    const caller = tokenOf(authorization, world.tokens, operation?.reads !== undefined);
    token = caller;
    world.budget.take(authorization);
    if (route === null || operation === undefined) throw refusals.notFound();
    const repository = () => {
      const found = repositoryAt(world, path, url.search, method, caller);
      if (operation.reads !== undefined) requireReading(caller, found, operation.reads);
      return found;
    };
    const result = operation.run({ world, token: caller, url, params: route.params, body, repository });
    const tagged = method === 'GET' ? withEtag(result, request.etag) : result;
    if (tagged.status === 304) world.budget.giveBack(authorization);
    return { ...tagged, headers: { ...headers(), ...tagged.headers } };
  } catch (error) {
    if (!(error instanceof GithubRefusal)) throw error;
    return { status: error.status, body: error.body(), headers: { ...headers(), ...error.more.headers } };
  }
}

/** The result with its ETag, or 304 for a client that has it. */
function withEtag(result: Result, known: string | null): Result {
  const { body, headers } = result;
  const etag = `W/"${new Bun.CryptoHasher('sha256').update(JSON.stringify([body, headers])).digest('hex')}"`;
  return known === etag ? { status: 304, headers: { etag } } : { ...result, headers: { ...headers, etag } };
}

const VERSION = {
  'x-github-media-type': 'github.v3; format=json',
  'x-github-api-version-selected': '2022-11-28',
};

/** Changes at GitHub that do not come through its API. */
function outsideActions(
  world: World,
): Pick<
  GithubApi,
  'addRepository' | 'rename' | 'addToken' | 'emit' | 'settled' | 'installApp' | 'suspendApp' | 'uninstallApp'
> {
  return {
    installApp: (app, repositories) => install(world, app, repositories),
    suspendApp: (app, isSuspended = true) => suspend(world, app, isSuspended),
    uninstallApp: (app) => uninstall(world, app),
    addRepository(name, about = {}) {
      const id = 1_296_269 + world.repositories.length;
      const usual = { formerNames: [], isPrivate: true, isArchived: false, wantsSso: false, rights: {} };
      const defaultBranch = 'main';
      const own = { id, name, hooks: [], code: noCode() };
      const repository: StoredRepository = { ...own, defaultBranch, ...usual, ...about };
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
      return Promise.all([
        ...hooks.map((hook) => deliver(repository, hook, delivery, world.clock)),
        ...emitToApps(world, repository, delivery),
      ]);
    },
    async settled() {
      while (world.pending.size > 0) await Promise.all(world.pending);
    },
  };
}

/** A body; null for an empty one. Text that is not JSON stays text, which no description allows. */
function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return text;
  }
}
