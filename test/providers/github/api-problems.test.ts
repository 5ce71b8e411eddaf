import { expect, test } from 'bun:test';
import type { ProblemKind, ProviderApi } from '../../../src/providers/api.ts';
import { allFaults, type Fault } from '../../support/github-api/faults.ts';
import { FINE, problemOf, SECRET, SETTINGS, startRocket } from '../../support/github-api/rocket.ts';
import type { StoredToken } from '../../support/github-api/state.ts';

const ADVICE =
  'with the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook).';

/** The problem of each fault; `URL` stands for the stand-in's. */
const refused: [Fault, ProblemKind, string, retryAt?: string][] = [
  [
    'answers 401',
    'bad-token',
    `GitHub rejected the token: it is unknown, revoked or expired. Create a new one at URL/settings/personal-access-tokens ${ADVICE}`,
  ],
  [
    'answers 403 for its rate limit',
    'rate-limited',
    'GitHub accepts no more requests from this token until 2026-11-21T04:10:00Z. Try again then.',
    '2026-11-21T04:10:00.000Z',
  ],
  [
    'answers 429 for its rate limit',
    'rate-limited',
    'GitHub accepts no more requests from this token until 2026-11-21T04:10:00Z. Try again then.',
    '2026-11-21T04:10:00.000Z',
  ],
  [
    'answers 403 for its secondary rate limit',
    'rate-limited',
    'GitHub accepts no more requests from this token until 2026-11-21T03:49:48Z. Try again then.',
    '2026-11-21T03:49:48.000Z',
  ],
  [
    'answers 429 without a time',
    'rate-limited',
    'GitHub accepts no more requests from this token until 2026-11-21T03:50:18Z. Try again then.',
    '2026-11-21T03:50:18.000Z',
  ],
  [
    'answers 403 for its secondary rate limit without a time',
    'rate-limited',
    'GitHub accepts no more requests from this token until 2026-11-21T03:50:18Z. Try again then.',
    '2026-11-21T03:50:18.000Z',
  ],
  [
    'answers 403 and asks for a wait of years',
    'rate-limited',
    'GitHub accepts no more requests from this token until 2026-11-22T03:49:18Z. Try again then.',
    '2026-11-22T03:49:18.000Z',
  ],
  [
    'wants single sign-on',
    'missing-permission',
    'The organization acme requires single sign-on for this token. Authorize the token for it at URL/settings/tokens ("Configure SSO"), then try again.',
  ],
  [
    'wants single sign-on without the header',
    'missing-permission',
    'The organization acme requires single sign-on for this token. Authorize the token for it at URL/settings/tokens ("Configure SSO"), then try again.',
  ],
  [
    'answers 403 for the permission',
    'missing-permission',
    `The token can't manage the webhooks of acme/rocket: it needs the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook). Change it at URL/settings/personal-access-tokens.`,
  ],
  [
    'answers 403 for the right',
    'missing-permission',
    "The token's owner does not have the role Admin in acme/rocket, which webhooks need. Ask for the role, or use the token of somebody who has it.",
  ],
  [
    'answers 403 for its IP allow list',
    'refused',
    'GitHub rejected the request with status 403: The `acme` organization has an IP allow list enabled, and your IP address is not permitted.',
  ],
  ['answers 410', 'refused', 'GitHub rejected the request with status 410: This feature is gone'],
  ['answers 451', 'refused', 'GitHub rejected the request with status 451: Repository access blocked'],
  ['answers 500', 'provider-failed', 'GitHub failed with status 500. Try again later.'],
  ['answers 502 with a page', 'provider-failed', 'GitHub failed with status 502. Try again later.'],
  [
    'answers 200 with a page',
    'provider-failed',
    "The server at URL is not GitHub's API: it sent text/html with status 200, not JSON. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
  [
    'answers 404 with a page',
    'provider-failed',
    "The server at URL is not GitHub's API: it sent text/html with status 404, not JSON. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
  [
    'answers broken JSON',
    'provider-failed',
    "The server at URL is not GitHub's API: it sent application/json with status 200, not JSON. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
  [
    'answers JSON of another shape',
    'provider-failed',
    'GitHub sent an unexpected response instead of a webhook. Check GITHUB_API_URL.',
  ],
  [
    'answers null',
    'provider-failed',
    'GitHub sent an unexpected response instead of a webhook. Check GITHUB_API_URL.',
  ],
  [
    'answers with an empty body',
    'provider-failed',
    'GitHub sent an unexpected response instead of a webhook. Check GITHUB_API_URL.',
  ],
  [
    'redirects without end',
    'provider-failed',
    "The server at URL is not GitHub's API: it redirects endlessly. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.",
  ],
];
const hangs: Fault[] = ['never answers', 'stops in the middle of its answer'];

test('the tables cover every fault', () => {
  expect([...hangs, ...refused.map(([fault]) => fault)].toSorted()).toEqual(allFaults.toSorted());
});

const refusedRows = refused.map(
  ([fault, kind, message, retryAt]) => [fault, kind, message, retryAt ?? null] as const,
);

test.each(refusedRows)('GitHub %s: the problem is %s', async (fault, kind, message, retryAt) => {
  using world = startRocket();
  const { api, github, token, repository } = world;
  github.failNext(fault, { times: Number.POSITIVE_INFINITY });
  const problem = await problemOf(api.createHook('acme/rocket', SETTINGS), token);
  expect({ ...problem, cause: null }).toEqual({
    kind,
    message: message.replace(/(?<!_)URL/, github.url),
    retryAt: retryAt === null ? null : new Date(retryAt),
    cause: null,
  });
  expect(repository.hooks).toEqual([]);
});

/** Every method: none may fail in another way. */
const methods: [string, (api: ProviderApi) => Promise<unknown> | undefined][] = [
  ['listPlaces', (api) => api.listPlaces()],
  ['getPlace', (api) => api.getPlace('acme/rocket')],
  ['listHooks', (api) => api.listHooks('acme/rocket')],
  ['findHook', (api) => api.findHook('acme/rocket', '1')],
  ['createHook', (api) => api.createHook('acme/rocket', SETTINGS)],
  ['changeHook', (api) => api.changeHook('acme/rocket', '1', SETTINGS)],
  ['deleteHook', (api) => api.deleteHook('acme/rocket', '1')],
  ['pingHook', (api) => api.pingHook?.('acme/rocket', '1')],
  ['listAttempts', (api) => api.listAttempts?.('acme/rocket', '1', new Date(0))],
  ['redeliver', (api) => api.redeliver?.('acme/rocket', '1', '2')],
];

test.each(methods)('%s throws a problem for every refusal, and never retries', async (_, call) => {
  using world = startRocket();
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

test.each(methods.slice(2))('%s tells a lost permission from a missing repository', async (_, call) => {
  using world = startRocket();
  const { api, repository, token, github } = world;
  repository.rights.mona = 'write';
  expect((await problemOf(call(api) ?? Promise.resolve(), token)).kind).toBe('missing-permission');
  repository.rights = {};
  expect(await problemOf(call(api) ?? Promise.resolve(), token)).toMatchObject({
    kind: 'place-not-found',
    message:
      'GitHub has no repository acme/rocket that the token can see. Check the name, and the repositories that the token may access.',
  });
  github.tokens.clear();
  expect((await problemOf(call(api) ?? Promise.resolve(), token)).kind).toBe('bad-token');
});

const NEEDS = `The token can't manage the webhooks of acme/rocket: it needs the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook). Change it at URL/settings/personal-access-tokens.`;
const LACKS = `The token can't manage the webhooks of acme/rocket: it lacks the scope admin:repo_hook. Add it at URL/settings/tokens.`;

const weak: [string, StoredToken, string][] = [
  ['may only read webhooks', { user: 'mona', permissions: { repository_hooks: 'read' } }, NEEDS],
  ['has no permission', { user: 'mona', permissions: {} }, NEEDS],
  ['was given other repositories', { ...FINE, repositories: ['acme/engine'] }, NEEDS],
  ['has another scope', { user: 'mona', scopes: ['read:user'] }, LACKS],
  ['has no scope', { user: 'mona', scopes: [] }, LACKS],
  ['may only read webhooks, as a classic one', { user: 'mona', scopes: ['read:repo_hook'] }, LACKS],
];

test.each(weak)('a token that %s creates no hook', async (_, given, message) => {
  using world = startRocket({ token: given });
  const { api, repository, token, github } = world;
  repository.isPrivate = false;
  const problem = await problemOf(api.createHook('acme/rocket', SETTINGS), token);
  expect([problem.kind, problem.message]).toEqual([
    'missing-permission',
    message.replace(/(?<!_)URL/, github.url),
  ]);
  expect(repository.hooks).toEqual([]);
});

test('a classic token with the scope and single sign-on creates a hook', async () => {
  using world = startRocket({ token: { user: 'mona', scopes: ['admin:repo_hook', 'repo'], hasSso: true } });
  world.repository.wantsSso = true;
  expect((await world.api.createHook('acme/rocket', SETTINGS)).hasSecret).toBe(true);
});

test('a URL that another hook has is hook-exists', async () => {
  using world = startRocket();
  await world.api.createHook('acme/rocket', SETTINGS);
  expect(await problemOf(world.api.createHook('acme/rocket', SETTINGS))).toMatchObject({
    kind: 'hook-exists',
    message: `acme/rocket has a webhook with this URL already. Delete it at ${world.github.url}/acme/rocket/settings/hooks, then try again.`,
  });
});

test('more hooks than GitHub allows are too-many-hooks', async () => {
  using world = startRocket();
  for (let number = 0; number < 20; number++) {
    await world.api.createHook('acme/rocket', { ...SETTINGS, url: `${SETTINGS.url}/${number}` });
  }
  expect(await problemOf(world.api.createHook('acme/rocket', SETTINGS))).toMatchObject({
    kind: 'too-many-hooks',
    message: `GitHub rejected another webhook for acme/rocket: The "push" event cannot have more than 20 hooks. Delete one that you do not need at ${world.github.url}/acme/rocket/settings/hooks, then try again.`,
  });
});

test('a URL that GitHub cannot reach is unreachable-url', async () => {
  using world = startRocket({ allowLocal: false });
  const { api } = world;
  expect(
    await problemOf(api.createHook('acme/rocket', { ...SETTINGS, url: 'http://localhost:3000/x' })),
  ).toMatchObject({
    kind: 'unreachable-url',
    message:
      "GitHub rejected the webhook: url is not supported because it isn't reachable over the public Internet (localhost). Set PUBLIC_URL to an address that GitHub can reach.",
  });
});

test('an archived repository is refused', async () => {
  using world = startRocket();
  world.repository.isArchived = true;
  expect(await problemOf(world.api.createHook('acme/rocket', SETTINGS))).toMatchObject({
    kind: 'refused',
    message: 'GitHub rejected the request with status 403: Repository was archived so is read-only.',
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
])('a name that no repository can have sends no request: %p', async (name) => {
  using world = startRocket();
  expect(await problemOf(world.api.getPlace(name))).toMatchObject({
    kind: 'place-not-found',
    message: `A repository has the form OWNER/NAME, such as acme/rocket, not ${name}`,
  });
  expect((await problemOf(world.api.findHook('acme/rocket', '1/config'))).kind).toBe('hook-not-found');
  expect(world.github.requests).toEqual([]);
});

test('secrets that GitHub repeats are hidden', async () => {
  using world = startRocket();
  const { api, github, token } = world;
  github.failNext(() =>
    Response.json(
      { message: 'x', errors: [{ message: `no ${SECRET} of ${token}`, value: SECRET }] },
      { status: 422 },
    ),
  );
  const problem = await problemOf(api.createHook('acme/rocket', SETTINGS), token);
  expect(problem.message).toBe('GitHub rejected the request with status 422: no ******** of ********');
});

test.each(hangs)('when GitHub %s, the request times out', async (fault) => {
  using world = startRocket({ requestMs: 50 });
  world.github.failNext(fault);
  expect(await problemOf(world.api.listPlaces(), world.token)).toMatchObject({
    kind: 'provider-failed',
    message: 'GitHub did not respond within 0.05 s. Try again later.',
  });
});

test('an address that lists no repositories is not the API', async () => {
  using world = startRocket();
  world.github.failNext(() => Response.json({ message: 'Not Found' }, { status: 404 }));
  expect(await problemOf(world.api.listPlaces())).toMatchObject({
    kind: 'provider-failed',
    message: `The server at ${world.github.url} is not GitHub's API: it lists no repositories. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.`,
  });
});

test('the cause holds the response and nothing of the request', async () => {
  using world = startRocket();
  await world.api.createHook('acme/rocket', SETTINGS);
  const { cause } = await problemOf(world.api.createHook('acme/rocket', SETTINGS), world.token);
  expect(String(cause)).toBe(
    'Error: GitHub answered 422: Hook already exists on this repository (request F00D:2)',
  );
  expect(Object.keys(cause as Error)).toEqual([]);
});
