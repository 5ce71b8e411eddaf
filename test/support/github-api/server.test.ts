import { expect, test } from 'bun:test';
import { Octokit } from '@octokit/core';
import { fixedClock } from '../clock.ts';
import { appOperations, CONVERSION } from './apps.ts';
import { description } from './contract.ts';
import { operations } from './operations.ts';
import { startGithubApi } from './server.ts';

// The stand-in checks each request and response against GitHub's own description. These tests use GitHub's own client.

const CONFIG = { url: 'http://127.0.0.1:1/hook', content_type: 'json', secret: 'a secret' };
const AT = { owner: 'acme', repo: 'rocket' };
const CREATE = 'POST /repos/{owner}/{repo}/hooks';

function start() {
  const github = startGithubApi({ clock: fixedClock() });
  const repository = github.addRepository('acme/rocket', { rights: { mona: 'admin' } });
  const auth = github.addToken({ user: 'mona', permissions: { repository_hooks: 'write' } });
  const nothing = () => undefined;
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const octokit = new Octokit({ baseUrl: github.url, auth, log });
  return { github, repository, octokit, [Symbol.dispose]: () => github[Symbol.dispose]() };
}

async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error as { status: number };
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
