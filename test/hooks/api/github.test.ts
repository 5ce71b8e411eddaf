import { expect, test } from 'bun:test';
import type { GithubOptions } from '../../../src/hooks/api/github/client.ts';
import { githubApi } from '../../../src/hooks/api/github.ts';
import { type HookWish, type ProblemKind, ProviderProblem } from '../../../src/hooks/model.ts';
import { fixedClock } from '../../support/clock.ts';
import { attemptOf } from '../../support/github-api/deliver.ts';
import { allFaults, type Fault, redirectTo } from '../../support/github-api/faults.ts';
import { type GithubApiOptions, startGithubApi } from '../../support/github-api/server.ts';
import type { StoredToken } from '../../support/github-api/state.ts';
import { holdDeadAddress, startClosingServer } from '../../support/unkey/faults.ts';

const SECRET = 'whsec_the-secret-of-the-webhook';
const WISH: HookWish = { url: 'http://127.0.0.1:1/hook', secret: SECRET, events: ['push', 'release'] };
const FINE: StoredToken = { user: 'mona', permissions: { repository_hooks: 'write' } };

/** GitHub with acme/rocket, which mona administers, and our client with her token. */
function start(options: GithubApiOptions & Partial<GithubOptions> & { token?: StoredToken } = {}) {
  const clock = fixedClock('2026-11-21T03:49:17.500Z');
  const github = startGithubApi({ clock, ...options });
  const repository = github.addRepository('acme/rocket', { rights: { mona: 'admin' } });
  const token = github.addToken(options.token ?? FINE);
  const api = githubApi(github.url, token, { clock, ...options });
  return { clock, github, repository, token, api, [Symbol.dispose]: () => github[Symbol.dispose]() };
}

/** The problem that a call ends with, after it was seen to hold no secret wherever one may look. */
async function problemOf(call: Promise<unknown>, ...secrets: string[]) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProviderProblem)) throw new Error(`not a problem: ${Bun.inspect(error)}`);
  const everything = Bun.inspect(error, { depth: 20 }) + JSON.stringify(error) + String(error.stack);
  for (const secret of [SECRET, ...secrets]) expect(everything).not.toContain(secret);
  return { kind: error.kind, message: error.message, retryAt: error.retryAt, cause: error.cause };
}

test('a hook lives: create, find, list, change, delete', async () => {
  using world = start();
  const { api, github, repository } = world;
  const created = await api.createHook('acme/rocket', WISH);
  expect(created).toEqual({
    id: String(repository.hooks[0]?.id),
    placeId: 'acme/rocket',
    url: WISH.url,
    events: ['push', 'release'],
    isActive: true,
    isJson: true,
    hasSecret: true,
    lastResponse: null,
  });
  expect(github.requests[0]).toEqual({
    method: 'POST',
    path: '/repos/acme/rocket/hooks',
    query: {},
    body: {
      name: 'web',
      active: true,
      events: ['push', 'release'],
      config: { url: WISH.url, secret: SECRET, content_type: 'json', insecure_ssl: '0' },
    },
    authorization: `token ${world.token}`,
    status: 201,
  });
  await github.settled();
  const found = await api.findHook('acme/rocket', created.id);
  // Nobody listens there: GitHub's 502 is not an answer of ours.
  expect(found).toEqual({
    ...created,
    lastResponse: { statusCode: null, message: 'failed to connect to host' },
  });
  expect(await api.listHooks('acme/rocket')).toEqual(found === null ? [] : [found]);

  Object.assign(repository.hooks[0] ?? {}, { isActive: false });
  const other = { ...WISH, url: 'http://127.0.0.1:1/other', secret: 'another secret', events: ['issues'] };
  await api.changeHook('acme/rocket', created.id, other);
  expect(repository.hooks[0]).toMatchObject({
    config: { url: other.url, secret: 'another secret', content_type: 'json', insecure_ssl: '0' },
    events: ['issues'],
    isActive: true,
  });

  await api.deleteHook('acme/rocket', created.id);
  expect(repository.hooks).toEqual([]);
  await api.deleteHook('acme/rocket', created.id);
  expect(await api.findHook('acme/rocket', created.id)).toBeNull();
  expect(await problemOf(api.changeHook('acme/rocket', created.id, WISH))).toMatchObject({
    kind: 'hook-not-found',
    message: `The webhook ${created.id} is not at acme/rocket any more`,
  });
});

test('a ping and a redelivery arrive, and every attempt is told of', async () => {
  using world = start();
  const { api, github, repository, clock } = world;
  const seen: string[] = [];
  let status = 500;
  using receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      seen.push(`${request.headers.get('x-github-event')} ${request.headers.get('x-github-delivery')}`);
      return new Response(null, { status });
    },
  });
  const url = `http://127.0.0.1:${receiver.port}/hook`;
  const hook = await api.createHook('acme/rocket', { ...WISH, url });
  await github.settled();
  const ping = repository.hooks[0]?.attempts[0];

  clock.advance(1000);
  const [missed] = await github.emit(repository, 'release', { action: 'published' });
  status = 202;
  clock.advance(1000);
  await api.redeliver?.('acme/rocket', hook.id, String(missed?.id));
  await github.settled();
  clock.advance(1000);
  await api.pingHook?.('acme/rocket', hook.id);
  await github.settled();

  const since = new Date('2026-11-21T03:49:18.500Z');
  const [again, resent, first] = (await api.listAttempts?.('acme/rocket', hook.id, since))?.attempts ?? [];
  expect(again).toMatchObject({ event: 'ping', action: null, statusCode: 202, status: 'OK' });
  expect(resent).toEqual({
    id: String(repository.hooks[0]?.attempts[1]?.id),
    deliveryId: String(missed?.guid),
    deliveredAt: '2026-11-21T03:49:19.500Z',
    event: 'release',
    action: 'published',
    statusCode: 202,
    status: 'OK',
  });
  expect(first).toEqual({
    id: String(missed?.id),
    deliveryId: String(missed?.guid),
    deliveredAt: '2026-11-21T03:49:18.500Z',
    event: 'release',
    action: 'published',
    statusCode: 500,
    status: 'Invalid HTTP Response: 500',
  });
  // The first ping is older than was asked for.
  expect((await api.listAttempts?.('acme/rocket', hook.id, since))?.attempts).toHaveLength(3);
  expect(seen).toEqual([
    `ping ${ping?.guid}`,
    `release ${missed?.guid}`,
    `release ${missed?.guid}`,
    `ping ${again?.deliveryId}`,
  ]);
  expect((await api.findHook('acme/rocket', hook.id))?.lastResponse).toEqual({
    statusCode: 202,
    message: 'OK',
  });

  expect(await problemOf(api.redeliver?.('acme/rocket', hook.id, '7') ?? Promise.resolve())).toMatchObject({
    kind: 'refused',
    message: 'GitHub no longer has the delivery 7 of acme/rocket, or its webhook',
  });
});

test('a hook that a person made otherwise is told of as it is', async () => {
  using world = start();
  const { api, repository } = world;
  const { id } = await api.createHook('acme/rocket', WISH);
  Object.assign(repository.hooks[0] ?? {}, {
    config: { url: WISH.url, content_type: 'form', insecure_ssl: '1' },
    events: ['release', '*'],
    isActive: false,
    lastResponse: { code: 422, status: 'misconfigured', message: 'Invalid HTTP Response: 404' },
  });
  expect(await api.findHook('acme/rocket', id)).toMatchObject({
    events: ['*', 'release'],
    isActive: false,
    isJson: false,
    hasSecret: false,
    lastResponse: { statusCode: 404, message: 'Invalid HTTP Response: 404' },
  });
});

test('places: those that can be administered first, then by name; archived ones never', async () => {
  using world = start();
  const { api, github } = world;
  github.addRepository('zeta/read', { rights: { mona: 'read' } });
  github.addRepository('acme/old', { rights: { mona: 'admin' }, isArchived: true });
  github.addRepository('acme/engine', { rights: { mona: 'admin' } });
  github.addRepository('beta/write', { rights: { mona: 'write' } });
  github.addRepository('other/hidden', { rights: { hubot: 'admin' } });
  expect(await api.listPlaces()).toEqual({
    places: [
      { id: 'acme/engine', name: 'acme/engine', canAdminister: true },
      { id: 'acme/rocket', name: 'acme/rocket', canAdminister: true },
      { id: 'beta/write', name: 'beta/write', canAdminister: false },
      { id: 'zeta/read', name: 'zeta/read', canAdminister: false },
    ],
    isCut: false,
  });
  expect(await api.getPlace('acme/old')).toEqual({ id: 'acme/old', name: 'acme/old', canAdminister: false });
  expect(await api.getPlace(' ACME/Rocket ')).toEqual({
    id: 'acme/rocket',
    name: 'acme/rocket',
    canAdminister: true,
  });
});

test('organizations that want single sign-on are missing from the list, which says that it is cut', async () => {
  using world = start({ token: { user: 'mona', scopes: ['repo'] } });
  world.github.addRepository('strict/repository', { rights: { mona: 'admin' }, wantsSso: true });
  const { places, isCut } = await world.api.listPlaces();
  expect({ names: places.map(({ name }) => name), isCut }).toEqual({ names: ['acme/rocket'], isCut: true });
});

test('a thousand repositories are listed, and no more', async () => {
  using world = start();
  const { api, github } = world;
  for (let number = 1; number < 1000; number++) {
    github.addRepository(`acme/r${number}`, { rights: { mona: 'read' } });
  }
  const all = await api.listPlaces();
  expect([all.places.length, all.isCut]).toEqual([1000, false]);
  github.addRepository('acme/one-more', { rights: { mona: 'read' } });
  github.requests.length = 0;
  const some = await api.listPlaces();
  expect([some.places.length, some.isCut, github.requests.length]).toEqual([1000, true, 10]);
});

test('two thousand attempts are listed, and no more', async () => {
  using world = start();
  const { api, github, repository } = world;
  const { id } = await api.createHook('acme/rocket', WISH);
  await github.settled();
  const attempts = repository.hooks[0]?.attempts ?? [];
  const outcome = {
    status: 'OK',
    statusCode: 200,
    deliveredAt: '2026-11-21T04:00:00Z',
    durationSeconds: 0.1,
  };
  const delivery = { event: 'push', payload: {}, guid: 'a guid', isRedelivery: false };
  while (attempts.length < 2000) attempts.unshift(attemptOf(delivery, outcome));
  const list = async (since: string) => {
    github.requests.length = 0;
    const listed = await api.listAttempts?.('acme/rocket', id, new Date(since));
    return [listed?.attempts.length, listed?.isCut, github.requests.length];
  };
  expect(await list('2026-11-20T00:00:00Z')).toEqual([2000, false, 20]);
  attempts.unshift(attemptOf(delivery, outcome));
  expect(await list('2026-11-20T00:00:00Z')).toEqual([2000, true, 20]);
  expect(await list('2026-11-21T04:00:01Z')).toEqual([0, false, 1]);
});

test('a list that takes too long ends with what there is', async () => {
  using world = start({ listingMs: -1 });
  for (let number = 0; number < 100; number++) {
    world.github.addRepository(`acme/r${number}`, { rights: { mona: 'read' } });
  }
  const { places, isCut } = await world.api.listPlaces();
  expect([places.length, isCut, world.github.requests.length]).toEqual([100, true, 1]);
});

test('half a list of hooks is none', async () => {
  using world = start({ listingMs: -1 });
  for (let number = 0; number < 101; number++) {
    await world.api.createHook('acme/rocket', { ...WISH, events: [`event_${number}`] });
  }
  expect(await problemOf(world.api.listHooks('acme/rocket'))).toMatchObject({
    kind: 'provider-failed',
    message: 'GitHub took too long to list the webhooks of acme/rocket. Try again later.',
  });
});

test('a repository that was renamed is found under its new name, and its hooks by either', async () => {
  using world = start();
  const { api, github, repository } = world;
  github.rename(repository, 'acme/probe');
  expect((await api.getPlace('acme/rocket')).id).toBe('acme/probe');
  const { id } = await api.createHook('acme/rocket', WISH);
  expect(repository.hooks).toHaveLength(1);
  expect((await api.findHook('acme/probe', id))?.id).toBe(id);
  await api.changeHook('acme/rocket', id, { ...WISH, events: ['issues'] });
  expect(repository.hooks[0]?.events).toEqual(['issues']);
  await api.deleteHook('acme/rocket', id);
  expect(repository.hooks).toEqual([]);
});

const ADVICE =
  'with the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook).';

/** What each fault comes to; `URL` stands for the stand-in's. */
const refused: [Fault, ProblemKind, string, retryAt?: string][] = [
  [
    'answers 401',
    'bad-token',
    `GitHub refused the token: it is unknown, revoked or expired. Make a new one at URL/settings/personal-access-tokens ${ADVICE}`,
  ],
  [
    'answers 403 for its rate limit',
    'rate-limited',
    'GitHub takes no more requests from this token until 2026-11-21T04:10:00Z. Try again then.',
    '2026-11-21T04:10:00.000Z',
  ],
  [
    'answers 429 for its rate limit',
    'rate-limited',
    'GitHub takes no more requests from this token until 2026-11-21T04:10:00Z. Try again then.',
    '2026-11-21T04:10:00.000Z',
  ],
  [
    'answers 403 for its secondary rate limit',
    'rate-limited',
    'GitHub takes no more requests from this token until 2026-11-21T03:49:48Z. Try again then.',
    '2026-11-21T03:49:48.000Z',
  ],
  [
    'answers 429 without a time',
    'rate-limited',
    'GitHub takes no more requests from this token until 2026-11-21T03:50:18Z. Try again then.',
    '2026-11-21T03:50:18.000Z',
  ],
  [
    'answers 403 for its secondary rate limit without a time',
    'rate-limited',
    'GitHub takes no more requests from this token until 2026-11-21T03:50:18Z. Try again then.',
    '2026-11-21T03:50:18.000Z',
  ],
  [
    'answers 403 and asks for a wait of years',
    'rate-limited',
    'GitHub takes no more requests from this token until 2026-11-22T03:49:18Z. Try again then.',
    '2026-11-22T03:49:18.000Z',
  ],
  [
    'wants single sign-on',
    'missing-permission',
    'The organization acme wants single sign-on for this token. Authorize the token for it at URL/settings/tokens ("Configure SSO"), then try again.',
  ],
  [
    'wants single sign-on without the header',
    'missing-permission',
    'The organization acme wants single sign-on for this token. Authorize the token for it at URL/settings/tokens ("Configure SSO"), then try again.',
  ],
  [
    'answers 403 for the permission',
    'missing-permission',
    'The token may not administer webhooks of acme/rocket: it needs the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook). Change it at URL/settings/personal-access-tokens.',
  ],
  [
    'answers 403 for the right',
    'missing-permission',
    'Whoever the token belongs to may not administer acme/rocket: webhooks need the role Admin there. Ask for the role, or use the token of somebody who has it.',
  ],
  [
    'answers 403 for its IP allow list',
    'refused',
    'GitHub refused (status 403): The `acme` organization has an IP allow list enabled, and your IP address is not permitted.',
  ],
  ['answers 410', 'refused', 'GitHub refused (status 410): This feature is gone'],
  ['answers 451', 'refused', 'GitHub refused (status 451): Repository access blocked'],
  ['answers 500', 'provider-failed', 'GitHub failed with status 500. Try again later.'],
  ['answers 502 with a page', 'provider-failed', 'GitHub failed with status 502. Try again later.'],
  [
    'answers 200 with a page',
    'provider-failed',
    "What answers at URL is not GitHub's API: it sent text/html with status 200, not JSON. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
  [
    'answers 404 with a page',
    'provider-failed',
    "What answers at URL is not GitHub's API: it sent text/html with status 404, not JSON. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
  [
    'answers broken JSON',
    'provider-failed',
    "What answers at URL is not GitHub's API: it sent application/json with status 200, not JSON. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
  [
    'answers JSON of another shape',
    'provider-failed',
    'GitHub answered with something else than a webhook. Check GITHUB_API_URL.',
  ],
  [
    'answers null',
    'provider-failed',
    'GitHub answered with something else than a webhook. Check GITHUB_API_URL.',
  ],
  [
    'answers with an empty body',
    'provider-failed',
    'GitHub answered with something else than a webhook. Check GITHUB_API_URL.',
  ],
  [
    'redirects without end',
    'provider-failed',
    "What answers at URL is not GitHub's API: it redirects without end. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
];
const hangs: Fault[] = ['never answers', 'stops in the middle of its answer'];

test('each fault is tried', () => {
  expect([...hangs, ...refused.map(([fault]) => fault)].toSorted()).toEqual(allFaults.toSorted());
});

const refusedRows = refused.map(
  ([fault, kind, message, retryAt]) => [fault, kind, message, retryAt ?? null] as const,
);

test.each(refusedRows)('when GitHub %s it is %s', async (fault, kind, message, retryAt) => {
  using world = start();
  const { api, github, token, repository } = world;
  github.failNext(fault, { times: Number.POSITIVE_INFINITY });
  const problem = await problemOf(api.createHook('acme/rocket', WISH), token);
  expect({ ...problem, cause: null }).toEqual({
    kind,
    message: message.replace(/(?<!_)URL/, github.url),
    retryAt: retryAt === null ? null : new Date(retryAt),
    cause: null,
  });
  expect(repository.hooks).toEqual([]);
});

/** Every method, to see that none fails in another way. */
const methods: [string, (api: ReturnType<typeof githubApi>) => Promise<unknown> | undefined][] = [
  ['listPlaces', (api) => api.listPlaces()],
  ['getPlace', (api) => api.getPlace('acme/rocket')],
  ['listHooks', (api) => api.listHooks('acme/rocket')],
  ['findHook', (api) => api.findHook('acme/rocket', '1')],
  ['createHook', (api) => api.createHook('acme/rocket', WISH)],
  ['changeHook', (api) => api.changeHook('acme/rocket', '1', WISH)],
  ['deleteHook', (api) => api.deleteHook('acme/rocket', '1')],
  ['pingHook', (api) => api.pingHook?.('acme/rocket', '1')],
  ['listAttempts', (api) => api.listAttempts?.('acme/rocket', '1', new Date(0))],
  ['redeliver', (api) => api.redeliver?.('acme/rocket', '1', '2')],
];

test.each(methods)('%s throws a problem for whatever GitHub refuses, and asks once', async (_, call) => {
  using world = start();
  const { api, github, token } = world;
  for (const [fault, kind] of refused.filter(([, kind]) => kind !== 'provider-failed')) {
    github.requests.length = 0;
    github.failNext(fault);
    expect((await problemOf(call(api) ?? Promise.resolve(), token)).kind).toBe(kind);
    expect(github.requests).toHaveLength(1);
  }
  for (const fault of [
    'answers 502 with a page',
    'answers 200 with a page',
    'answers broken JSON',
  ] as const) {
    github.failNext(fault);
    expect((await problemOf(call(api) ?? Promise.resolve(), token)).kind).toBe('provider-failed');
  }
});

test.each(methods.slice(2))('%s tells a token that lost its right from what is gone', async (_, call) => {
  using world = start();
  const { api, repository, token, github } = world;
  repository.rights.mona = 'write';
  expect((await problemOf(call(api) ?? Promise.resolve(), token)).kind).toBe('missing-permission');
  repository.rights = {};
  expect(await problemOf(call(api) ?? Promise.resolve(), token)).toMatchObject({
    kind: 'place-not-found',
    message:
      'GitHub shows this token no repository acme/rocket. Check the name, and that the repository is among those that the token may see.',
  });
  github.tokens.clear();
  expect((await problemOf(call(api) ?? Promise.resolve(), token)).kind).toBe('bad-token');
});

const NEEDS =
  'The token may not administer webhooks of acme/rocket: it needs the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook). Change it at URL/settings/personal-access-tokens.';
const LACKS =
  'The token may not administer webhooks of acme/rocket: it lacks the scope admin:repo_hook. Add it at URL/settings/tokens.';

const weak: [string, StoredToken, string][] = [
  ['may only read webhooks', { user: 'mona', permissions: { repository_hooks: 'read' } }, NEEDS],
  ['has no permission', { user: 'mona', permissions: {} }, NEEDS],
  ['was given other repositories', { ...FINE, repositories: ['acme/engine'] }, NEEDS],
  ['has another scope', { user: 'mona', scopes: ['read:user'] }, LACKS],
  ['has no scope', { user: 'mona', scopes: [] }, LACKS],
  ['may only read webhooks, as a classic one', { user: 'mona', scopes: ['read:repo_hook'] }, LACKS],
];

test.each(weak)('a token that %s makes no hook', async (_, given, message) => {
  using world = start({ token: given });
  const { api, repository, token, github } = world;
  repository.isPrivate = false;
  const problem = await problemOf(api.createHook('acme/rocket', WISH), token);
  expect([problem.kind, problem.message]).toEqual([
    'missing-permission',
    message.replace(/(?<!_)URL/, github.url),
  ]);
  expect(repository.hooks).toEqual([]);
});

test('a classic token with the scope, and one that was authorized for single sign-on', async () => {
  using world = start({ token: { user: 'mona', scopes: ['admin:repo_hook', 'repo'], hasSso: true } });
  world.repository.wantsSso = true;
  expect((await world.api.createHook('acme/rocket', WISH)).hasSecret).toBe(true);
});

test('a URL that another hook has', async () => {
  using world = start();
  await world.api.createHook('acme/rocket', WISH);
  expect(await problemOf(world.api.createHook('acme/rocket', WISH))).toMatchObject({
    kind: 'hook-exists',
    message: `acme/rocket has a webhook with this URL already. Delete it at ${world.github.url}/acme/rocket/settings/hooks, then try again.`,
  });
});

test('more hooks than GitHub takes', async () => {
  using world = start();
  for (let number = 0; number < 20; number++) {
    await world.api.createHook('acme/rocket', { ...WISH, url: `${WISH.url}/${number}` });
  }
  expect(await problemOf(world.api.createHook('acme/rocket', WISH))).toMatchObject({
    kind: 'too-many-hooks',
    message: `GitHub takes no more webhooks at acme/rocket: The "push" event cannot have more than 20 hooks. Delete one that is not needed at ${world.github.url}/acme/rocket/settings/hooks, then try again.`,
  });
});

test('a URL that GitHub cannot reach', async () => {
  using world = start({ allowLocal: false });
  const { api } = world;
  expect(
    await problemOf(api.createHook('acme/rocket', { ...WISH, url: 'http://localhost:3000/x' })),
  ).toMatchObject({
    kind: 'unreachable-url',
    message:
      "GitHub does not take the webhook: url is not supported because it isn't reachable over the public Internet (localhost). Set PUBLIC_URL to an address that GitHub can reach.",
  });
});

test('an archived repository', async () => {
  using world = start();
  world.repository.isArchived = true;
  expect(await problemOf(world.api.createHook('acme/rocket', WISH))).toMatchObject({
    kind: 'refused',
    message: 'GitHub refused (status 403): Repository was archived so is read-only.',
  });
});

test.each([
  '',
  'rocket',
  'acme/',
  'acme/..',
  'acme/.',
  '../user',
  'a/b/c',
  'acme/ro cket',
  'acme/rocket?x=1',
  'acme/%2e%2e',
])('what cannot be the name of a repository is not asked for: %p', async (name) => {
  using world = start();
  expect(await problemOf(world.api.getPlace(name))).toMatchObject({
    kind: 'place-not-found',
    message: `A repository is named OWNER/NAME, such as acme/rocket, not ${name}`,
  });
  expect((await problemOf(world.api.findHook('acme/rocket', '1/config'))).kind).toBe('hook-not-found');
  expect(world.github.requests).toEqual([]);
});

test('GitHub repeats the secrets that it was sent', async () => {
  using world = start();
  const { api, github, token } = world;
  github.failNext(() =>
    Response.json(
      { message: 'x', errors: [{ message: `no ${SECRET} of ${token}`, value: SECRET }] },
      { status: 422 },
    ),
  );
  const problem = await problemOf(api.createHook('acme/rocket', WISH), token);
  expect(problem.message).toBe('GitHub refused (status 422): no ******** of ********');
});

test.each(hangs)('when GitHub %s nobody waits for long', async (fault) => {
  using world = start({ requestMs: 50 });
  world.github.failNext(fault);
  expect(await problemOf(world.api.listPlaces(), world.token)).toMatchObject({
    kind: 'provider-failed',
    message: 'GitHub did not answer within 0.05 s. Try again later.',
  });
});

test('nobody listens there, or somebody hangs up', async () => {
  using dead = await holdDeadAddress();
  const cannot = (url: string, code: string) =>
    `GitHub at ${url} cannot be reached (${code}). Check the network and GITHUB_API_URL, then try again.`;
  expect(await problemOf(githubApi(dead.url, 'ghp_x').listPlaces(), 'ghp_x')).toMatchObject({
    kind: 'provider-failed',
    message: cannot(dead.url, 'ECONNREFUSED'),
  });
  using closing = startClosingServer();
  expect(await problemOf(githubApi(closing.url, 'ghp_x').listPlaces(), 'ghp_x')).toMatchObject({
    kind: 'provider-failed',
    message: cannot(closing.url, 'ECONNRESET'),
  });
});

test('a token that no header can hold is not quoted', async () => {
  using world = start();
  const token = 'ghp_line\nbreak';
  expect((await problemOf(githubApi(world.github.url, token).listPlaces(), 'break', 'ghp_line')).kind).toBe(
    'provider-failed',
  );
});

test('an answer without end', async () => {
  using world = start();
  const megabyte = new TextEncoder().encode(' '.repeat(1_048_576));
  world.github.failNext(() => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(megabyte) });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  });
  expect((await problemOf(world.api.listPlaces())).message).toContain('it sent more than 16 MiB');
});

test('the token goes to no other server, by a redirect or by a link', async () => {
  using world = start();
  const { api, github, token } = world;
  const seen: string[] = [];
  using elsewhere = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      seen.push(request.url);
      return Response.json([]);
    },
  });
  const origin = `http://127.0.0.1:${elsewhere.port}`;
  const message = `${github.url} leads on to another server, ${origin}, which does not get the token. Check GITHUB_API_URL.`;
  github.failNext(redirectTo(`${origin}/user/repos`));
  expect(await problemOf(api.listPlaces(), token)).toMatchObject({ kind: 'provider-failed', message });
  github.failNext(() =>
    Response.json([], { headers: { link: `<${origin}/user/repos?page=2>; rel="next"` } }),
  );
  expect(await problemOf(api.listPlaces(), token)).toMatchObject({ kind: 'provider-failed', message });
  expect(seen).toEqual([]);
});

test('Enterprise Server has its API below a path', async () => {
  using world = start({ basePath: '/api/v3' });
  const { api, github } = world;
  expect(github.url).toEndWith('/api/v3');
  expect((await api.listPlaces()).places).toHaveLength(1);
  const { id } = await api.createHook('acme/rocket', WISH);
  await github.settled();
  expect((await api.listAttempts?.('acme/rocket', id, new Date(0)))?.attempts).toHaveLength(1);
  github.tokens.clear();
  const web = github.url.replace('/api/v3', '');
  expect((await problemOf(api.listPlaces())).message).toContain(` ${web}/settings/personal-access-tokens `);
});

test('an address that lists no repositories', async () => {
  using world = start();
  world.github.failNext(() => Response.json({ message: 'Not Found' }, { status: 404 }));
  expect(await problemOf(world.api.listPlaces())).toMatchObject({
    kind: 'provider-failed',
    message: `What answers at ${world.github.url} is not GitHub's API: it lists no repositories. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.`,
  });
});
