import { expect, test } from 'bun:test';
import { setToken, watchTokens } from '../../src/integrations/token.ts';
import { tidings } from '../../src/lib/build.ts';
import { formatInZone } from '../../src/lib/time.ts';
import { gitlabApi } from '../../src/providers/gitlab/api/index.ts';
import { findInDatabase } from '../../src/server/attention.ts';
import { startGitlabApi } from '../support/gitlab-api/server.ts';
import { connectRocket, startProviderApp } from '../support/provider-app.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function startWatch() {
  const provider = await startProviderApp();
  const { app } = provider;
  const { integrationId } = await connectRocket(provider);
  return {
    ...provider,
    integrationId,
    look: async (ms = 0) => {
      app.clock.advance(ms);
      await watchTokens(app.deps);
      const kinds = ['token_refused', 'token_expires'] as const;
      return app.db.read((tx) => findInDatabase(tx, app.clock.now(), kinds));
    },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}

test('a token that does not expire is no item, and is asked about once a day', async () => {
  await using world = await startWatch();
  const { github, look } = world;
  expect(await look()).toEqual([]);
  const { length } = github.requests;
  for (let hour = 0; hour < 23; hour++) expect(await look(HOUR_MS)).toEqual([]);
  expect(github.requests.length).toBe(length);
  expect(await look(HOUR_MS)).toEqual([]);
  expect(github.requests.length).toBe(length + 1);
});

test('a token that expires is one item from 14 days ahead, until another one is stored', async () => {
  await using world = await startWatch();
  const { app, github, integrationId, look } = world;
  const end = app.clock.now().getTime() + 20 * DAY_MS;
  const token = github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' }, expiresAt: end });
  await setToken(app.deps, integrationId, token);
  expect(await look()).toEqual([]);
  const day = formatInZone(end, 'UTC');
  expect(await look(6 * DAY_MS)).toMatchObject([
    {
      kind: 'token_expires',
      subject: integrationId,
      since: new Date(end - 14 * DAY_MS).toISOString(),
      message: `acme/rocket: the GitHub token expires on ${day}`,
      action: `${tidings} integration set-token ${integrationId} --token TOKEN`,
    },
  ]);
  expect(await look(11 * DAY_MS)).toMatchObject([
    { message: `acme/rocket: the GitHub token expires within 3 days, on ${day}` },
  ]);
  expect(await look(3 * DAY_MS)).toMatchObject([{ kind: 'token_refused' }]);
  await setToken(
    app.deps,
    integrationId,
    github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } }),
  );
  expect(await look()).toEqual([]);
});

test('a token that GitHub refuses is an item, and no longer once GitHub takes it', async () => {
  await using world = await startWatch();
  const { app, github, look } = world;
  expect(await look()).toEqual([]);
  const refuse = () => github.failNext(() => Response.json({ message: 'Bad credentials' }, { status: 401 }));
  refuse();
  const since = new Date(app.clock.now().getTime() + DAY_MS).toISOString();
  const [item] = await look(DAY_MS);
  expect(item).toMatchObject({ kind: 'token_refused', since });
  expect(item?.message).toStartWith(
    'acme/rocket: GitHub rejected the token: it is unknown, revoked or expired',
  );
  refuse();
  expect(await look(600_000)).toMatchObject([{ since }]);
  expect(await look(600_000)).toEqual([]);
});

test('a provider that fails says nothing about the token', async () => {
  await using world = await startWatch();
  world.github.failNext(() => new Response('', { status: 502 }));
  expect(await world.look(DAY_MS)).toEqual([]);
});

test("GitLab's tokens end at the beginning of a day", async () => {
  using gitlab = startGitlabApi();
  const expiryOf = (expiresAt?: string) => {
    const token = gitlab.addToken({ user: 'ann', scopes: ['api'], ...(expiresAt && { expiresAt }) });
    return gitlabApi(gitlab.url, token).getExpiry();
  };
  expect(await expiryOf('2026-12-24')).toBe('2026-12-24T00:00:00.000Z');
  expect(await expiryOf()).toBeNull();
  gitlab.failNext(() => Response.json({ message: '404 Not found' }, { status: 404 }));
  expect(await expiryOf('2026-12-24')).toBeNull();
  expect(gitlabApi(gitlab.url, 'glpat-unknown').getExpiry()).rejects.toMatchObject({ kind: 'bad-token' });
});
