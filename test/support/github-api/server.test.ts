import { expect, test } from 'bun:test';
import { Octokit } from '@octokit/core';
import { verify } from '@octokit/webhooks-methods';
import { fixedClock } from '../clock.ts';
import { appOperations, CONVERSION } from './apps.ts';
import { description } from './contract.ts';
import { operations } from './operations.ts';
import { type GithubApiOptions, startGithubApi } from './server.ts';
import type { HookConfig, StoredToken } from './state.ts';

// The stand-in checks each request and response against GitHub's own description. These tests use GitHub's own client.

const CONFIG = { url: 'http://127.0.0.1:1/hook', content_type: 'json', secret: 'a secret' };
const AT = { owner: 'acme', repo: 'rocket' };
const CREATE = 'POST /repos/{owner}/{repo}/hooks';
const PATCH = 'PATCH /repos/{owner}/{repo}/hooks/{hook_id}';

function start(given: Partial<StoredToken> = {}, options: GithubApiOptions = {}) {
  const github = startGithubApi({ clock: fixedClock(), ...options });
  const repository = github.addRepository('acme/rocket', { rights: { mona: 'admin' } });
  const auth = github.addToken({ user: 'mona', permissions: { repository_hooks: 'write' }, ...given });
  const octokit = client(github.url, auth);
  return { github, repository, octokit, [Symbol.dispose]: () => github[Symbol.dispose]() };
}

function client(baseUrl: string, auth: string) {
  const nothing = () => undefined;
  return new Octokit({
    baseUrl,
    auth,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  });
}

/** Accepts deliveries and answers with `status`. */
function startReceiver(status = 200) {
  const seen: { headers: Headers; body: string }[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      seen.push({ headers: request.headers, body: await request.text() });
      return new Response('thanks', { status });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/hook`,
    seen,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  const { status, response } = error as { status: number; response?: { headers: object; data: unknown } };
  return { status, headers: response?.headers, data: response?.data };
}

test('the stand-in has every described route, and Enterprise Server has them too', () => {
  const served = [...Object.keys(operations), ...Object.keys(appOperations), CONVERSION];
  expect(served.toSorted()).toEqual(Object.keys(description.operations).toSorted());
  expect(description.from).toBe('@octokit/openapi 23.0.2, generated/api.github.com.json');
  for (const release of ['3.17', '3.18', '3.19']) {
    expect(description.enterprise[release]).toEqual({
      missing: [],
      // Only in the body, which is optional: Tidings sends none.
      withOtherRequests: ['POST /app/installations/{installation_id}/access_tokens'],
    });
  }
});

test('by default a hook sends forms about pushes; its secret is masked', async () => {
  using world = start();
  const { data } = await world.octokit.request(CREATE, {
    ...AT,
    config: { url: CONFIG.url, secret: 'a secret' },
  });
  expect(data).toMatchObject({
    active: true,
    events: ['push'],
    config: { url: CONFIG.url, content_type: 'form', insecure_ssl: '0', secret: '********' },
    last_response: { code: null, status: 'unused', message: null },
  });
  expect(world.repository.hooks[0]?.config.secret).toBe('a secret');
});

const changes: [
  string,
  (octokit: Octokit, hook_id: number) => Promise<unknown>,
  Partial<HookConfig>,
  string[],
][] = [
  [
    'a config removes the secret and everything else that it leaves out',
    (octokit, hook_id) => octokit.request(PATCH, { ...AT, hook_id, config: { url: CONFIG.url } }),
    { content_type: 'form', insecure_ssl: '0', url: CONFIG.url },
    ['push'],
  ],
  [
    'a change of events keeps the config',
    (octokit, hook_id) =>
      octokit.request(PATCH, { ...AT, hook_id, add_events: ['issues'], remove_events: ['push'] }),
    { ...CONFIG, insecure_ssl: '0' },
    ['issues'],
  ],
  [
    'a change of one config field keeps the others',
    (octokit, hook_id) =>
      octokit.request('PATCH /repos/{owner}/{repo}/hooks/{hook_id}/config', {
        ...AT,
        hook_id,
        insecure_ssl: '1',
      }),
    { ...CONFIG, insecure_ssl: '1' },
    ['push'],
  ],
];

test.each(changes)('%s', async (_, change, config, events) => {
  using world = start();
  const { octokit, repository } = world;
  const { data } = await octokit.request(CREATE, { ...AT, config: CONFIG });
  await change(octokit, data.id);
  expect(repository.hooks[0]?.config).toEqual(config as HookConfig);
  expect(repository.hooks[0]?.events).toEqual(events);
});

test('two hooks cannot share a URL and an event', async () => {
  using world = start();
  const { octokit } = world;
  await octokit.request(CREATE, { ...AT, config: CONFIG, events: ['push', 'release'] });
  await octokit.request(CREATE, { ...AT, config: CONFIG, events: ['issues'] });
  const { status, data } = await refusalOf(
    octokit.request(CREATE, { ...AT, config: CONFIG, events: ['release'] }),
  );
  expect([status, data]).toEqual([
    422,
    {
      message: 'Validation Failed',
      errors: [{ resource: 'Hook', code: 'custom', message: 'Hook already exists on this repository' }],
      documentation_url: 'https://docs.github.com/rest',
      status: '422',
    },
  ]);
  expect((await refusalOf(octokit.request(CREATE, { ...AT, config: {} }))).status).toBe(422);
});

test('without allowLocal a URL on this machine is unreachable', async () => {
  using world = start({}, { allowLocal: false });
  const { status, data } = await refusalOf(world.octokit.request(CREATE, { ...AT, config: CONFIG }));
  expect(status).toBe(422);
  expect(JSON.stringify(data)).toContain("isn't reachable over the public Internet (127.0.0.1)");
});

test.each(['json', 'form'])(
  'a ping as %s and an event arrive signed, with one id for all hooks',
  async (content_type) => {
    using world = start();
    using receiver = startReceiver();
    const { github, octokit, repository } = world;
    const config = { ...CONFIG, url: receiver.url, content_type };
    const { data } = await octokit.request(CREATE, { ...AT, config, events: ['release'] });
    await github.settled();
    await octokit.request(CREATE, {
      ...AT,
      config: { ...CONFIG, url: `${receiver.url}/2` },
      events: ['*'],
      active: true,
    });
    await octokit.request(CREATE, {
      ...AT,
      config: { ...CONFIG, url: `${receiver.url}/3` },
      events: ['issues'],
    });
    await octokit.request(CREATE, {
      ...AT,
      config: { ...CONFIG, url: `${receiver.url}/4` },
      events: ['release'],
      active: false,
    });
    await github.settled();
    const attempts = await github.emit(repository, 'release', { action: 'published' });
    expect(attempts.map(({ status }) => status)).toEqual(['OK', 'OK']);

    const { headers, body } = receiver.seen[0] ?? { headers: new Headers(), body: '' };
    expect(await verify('a secret', body, headers.get('x-hub-signature-256') ?? '')).toBe(true);
    const payload = content_type === 'json' ? body : (new URLSearchParams(body).get('payload') ?? '');
    expect(JSON.parse(payload)).toMatchObject({
      hook_id: data.id,
      hook: { config: { secret: '********' } },
      repository: { full_name: 'acme/rocket' },
    });
    const events = receiver.seen.map((each) => each.headers.get('x-github-event'));
    expect(events.toSorted()).toEqual(['ping', 'ping', 'ping', 'release', 'release']);
    const ids = receiver.seen.slice(3).map((each) => each.headers.get('x-github-delivery'));
    expect(new Set(ids).size).toBe(1);
  },
);

test('attempts are listed newest first and redelivered by id', async () => {
  using world = start();
  const { github, octokit, repository } = world;
  const receiver = startReceiver(404);
  const { data } = await octokit.request(CREATE, { ...AT, config: { ...CONFIG, url: receiver.url } });
  await github.settled();
  receiver[Symbol.dispose]();
  await github.emit(repository, 'push', { ref: 'refs/heads/main' });
  const at = { ...AT, hook_id: data.id };
  const route = 'GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries';
  const listed = (await octokit.request(route, { ...at, per_page: 1 })).data;
  expect(listed).toMatchObject([
    { status: 'failed to connect to host', status_code: 502, event: 'push', redelivery: false },
  ]);
  const again: string = `POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/${listed[0]?.id}/attempts`;
  expect((await octokit.request(again, at)).status).toBe(202);
  await github.settled();

  const first = await octokit.request(route, { ...at, per_page: 2 });
  expect(first.data.map(({ guid, redelivery }) => [guid, redelivery])).toEqual([
    [String(listed[0]?.guid), true],
    [String(listed[0]?.guid), false],
  ]);
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(first.headers.link ?? '') ?? [];
  const second = await octokit.request(`GET ${next}`);
  expect(second.data).toMatchObject([
    { event: 'ping', status: 'Invalid HTTP Response: 404', status_code: 404 },
  ]);
  expect(second.headers.link).toBeUndefined();
  expect(repository.hooks[0]?.lastResponse).toEqual({
    code: 502,
    status: 'connection_error',
    message: 'failed to connect to host',
  });
});

test('headers name the scopes of the token and those of the route', async () => {
  using world = start({ scopes: ['read:user', 'repo:status'] });
  const { github, repository, octokit } = world;
  repository.isPrivate = false;
  const classic = await refusalOf(octokit.request('GET /repos/{owner}/{repo}/hooks', AT));
  expect(classic.status).toBe(404);
  expect(classic.headers).toMatchObject({
    'x-oauth-scopes': 'read:user, repo:status',
    'x-accepted-oauth-scopes': 'admin:repo_hook, public_repo, read:repo_hook, repo, write:repo_hook',
  });
  const fine = client(
    github.url,
    github.addToken({ user: 'mona', permissions: { repository_hooks: 'read' } }),
  );
  expect((await fine.request('GET /repos/{owner}/{repo}/hooks', AT)).status).toBe(200);
  const refused = await refusalOf(fine.request(CREATE, { ...AT, config: CONFIG }));
  expect(refused.status).toBe(403);
  expect(refused.headers).toMatchObject({ 'x-accepted-github-permissions': 'repository_hooks=write' });
  expect(refused.data).toMatchObject({ message: 'Resource not accessible by personal access token' });
  expect((await refusalOf(client(github.url, 'ghp_unknown').request('GET /user/repos'))).status).toBe(401);
  expect((await fetch(`${github.url}/user/repos`)).status).toBe(401);
});

const strange: [string, (octokit: Octokit) => Promise<unknown>, string][] = [
  ['an unknown query', (octokit) => octokit.request('GET /repos/acme/rocket?x=1'), 'unknown query x'],
  [
    'a page that is no number',
    (octokit) => octokit.request('GET /user/repos?page=two'),
    'page must be integer',
  ],
  [
    'an unknown sort',
    (octokit) => octokit.request('GET /user/repos?sort=size'),
    'sort must be equal to one of',
  ],
  [
    'an unknown route',
    (octokit) => octokit.request('GET /repos/acme/rocket/hook'),
    'there is no GET /repos/acme/rocket/hook',
  ],
  [
    'an unknown field',
    (octokit) => octokit.request(CREATE, { ...AT, config: { ...CONFIG, ...{ colour: 'red' } } }),
    'must NOT have additional properties',
  ],
  [
    'a field of another type',
    (octokit) => octokit.request(CREATE, { ...AT, active: 'yes' as unknown as boolean }),
    'active must be boolean',
  ],
  [
    'a body where none belongs',
    (octokit) => octokit.request('POST /repos/acme/rocket/hooks/1/pings', { data: 'x' }),
    'takes no body',
  ],
];

test.each(strange)('%s fails the test that sends it', async (_, call, violation) => {
  const world = start();
  expect((await refusalOf(call(world.octokit))).status).toBe(500);
  expect(world.github.violations.join()).toContain(violation);
  world.github.violations.length = 0;
  world[Symbol.dispose]();
});

test('a response that breaks the description fails the test, too', async () => {
  const { github, repository, octokit } = start();
  const { data } = await octokit.request(CREATE, { ...AT, config: CONFIG });
  await github.settled();
  Object.assign(repository.hooks[0] ?? {}, { events: 'push' });
  const found = await refusalOf(
    octokit.request('GET /repos/{owner}/{repo}/hooks/{hook_id}', { ...AT, hook_id: data.id }),
  );
  expect(found.status).toBe(500);
  expect(() => github[Symbol.dispose]()).toThrow('events must be array');
});

test('Enterprise Server has no route outside its path', async () => {
  using world = start({}, { basePath: '/api/v3' });
  const { github, octokit } = world;
  expect((await octokit.request('GET /repos/{owner}/{repo}', AT)).data.full_name).toBe('acme/rocket');
  expect((await fetch(`${new URL(github.url).origin}/user/repos`)).status).toBe(500);
  expect(github.violations.splice(0)).not.toEqual([]);
});
