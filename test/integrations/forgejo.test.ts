import { afterEach, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { diagnose } from '../../src/integrations/doctor.ts';
import { disconnectIntegration } from '../../src/integrations/places.ts';
import { repairHooks, rotateSecret, syncHooks } from '../../src/integrations/rotate.ts';
import { revealSecret } from '../../src/integrations/store.ts';
import { setToken } from '../../src/integrations/token.ts';
import { providerApis } from '../../src/providers/index.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { commitOf, PLACE, pullOf, releaseOf } from '../support/forgejo-api/rocket.ts';
import { type ForgejoApi, startForgejoApi } from '../support/forgejo-api/server.ts';
import type { StoredRepository } from '../support/forgejo-api/state.ts';
import { pullHook, pushHook, releaseHook } from '../support/forgejo-api/views.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// Forgejo and Gitea from the token to the draft, with a stand-in that really delivers.

let app: TestApp;
let forgejo: ForgejoApi;
let repository: StoredRepository;
let token: string;
let server: Bun.Server<undefined>;

async function start(options: { isGitea?: boolean } = {}) {
  app = await appWithOrganization({
    openProviderApi: (type, given) => providerApis({ forgejo: forgejo.url })(type, given),
    publicUrl: () => `http://127.0.0.1:${server.port}`,
  });
  forgejo = startForgejoApi({ clock: app.clock, ...options });
  server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.fetch(request) });
  repository = forgejo.addRepository(PLACE, { rights: { ann: 'admin' }, commits: [3, 2, 1].map(commitOf) });
  token = forgejo.addToken({ user: 'ann', scopes: ['write:repository', 'read:user'] });
}

afterEach(async () => {
  await server.stop(true);
  forgejo[Symbol.dispose]();
});

async function connect(options: { isGitea?: boolean } = {}) {
  await start(options);
  return connectWithToken(app.deps, { type: 'forgejo', organizationId: 'org_a', token, places: [PLACE] });
}

const makeTrigger = (integrationId: string, event: string) =>
  createTrigger(app.deps, { integrationId, event, contentType: 'changelog' });

const codesOf = async (integrationId: string) =>
  (await diagnose(app.deps, integrationId)).findings.map(({ code }) => code);

test('Gitea has a webhook of its type, whose test delivery arrived, and whose events become drafts', async () => {
  const { integrationId, places } = await connect({ isGitea: true });
  expect(places).toMatchObject([{ place: PLACE, hasPinged: true }]);
  expect(repository.hooks).toMatchObject([{ type: 'gitea', isActive: true }]);
  for (const event of ['release', 'pull_request', 'push']) await makeTrigger(integrationId, event);
  const { world } = forgejo;
  await forgejo.emit(repository, 'push', pushHook(world, repository, commitOf(1).sha, [commitOf(2)]));
  await forgejo.emit(repository, 'pull_request', pullHook(world, repository, pullOf(3)));
  const release = releaseHook(world, repository, releaseOf(4));
  expect(await forgejo.emit(repository, 'release', release)).toEqual([200]);
  await runAll(app);
  const posts = await postsOf(app);
  expect(posts.map(({ title }) => title)).toContain('Rocket 1.4');
  expect(posts[0]?.sourceMetadata).toMatchObject({ platform: 'forgejo', repository: PLACE });
  expect(posts.some(({ markdown }) => markdown.includes(`[#3](${world.web}/${PLACE}/pulls/3)`))).toBe(true);
});

test('a repository without commits sends no test: the ping is missing, and the doctor says so', async () => {
  await start();
  repository.commits.length = 0;
  const connecting = connectWithToken(app.deps, {
    type: 'forgejo',
    organizationId: 'org_a',
    token,
    places: [PLACE],
  });
  const { places, integrationId } = await connecting;
  expect(places).toMatchObject([{ hasPinged: false }]);
  expect(await codesOf(integrationId)).toEqual(expect.arrayContaining(['hook_correct', 'no_ping']));
}, 60_000);

test('a new event of a trigger changes the webhook and keeps its deliveries at Forgejo', async () => {
  const { integrationId } = await connect();
  const [hook] = repository.hooks;
  await makeTrigger(integrationId, 'pull_request');
  await syncHooks(app.deps);
  expect(repository.hooks).toEqual([hook as NonNullable<typeof hook>]);
  expect(hook?.events).toEqual(['release', 'pull_request']);
  expect(hook?.deliveries).toHaveLength(1);
});

test('a rotation that fails at the second repository sets the first back', async () => {
  await start();
  const engine = forgejo.addRepository('acme/engine', {
    rights: { ann: 'admin' },
    commits: [1].map(commitOf),
  });
  const { integrationId } = await connectWithToken(app.deps, {
    type: 'forgejo',
    organizationId: 'org_a',
    token,
    places: [PLACE, 'acme/engine'],
  });
  const before = await revealSecret(app.deps, integrationId);
  // The hooks are changed in the order of their names.
  repository.rights.ann = 'write';
  const rotation = rotateSecret(app.deps, integrationId);
  expect(await rotation.catch((error: Error) => error.message)).toContain('does not administer acme/rocket');
  expect(engine.hooks).toMatchObject([{ secret: before }]);
  expect(repository.hooks).toMatchObject([{ secret: before }]);
  repository.rights.ann = 'admin';
  await syncHooks(app.deps);
  expect(await codesOf(integrationId)).not.toContain('hook_differs');
});

test('a webhook that was set up by hand is taken over with a new secret of it, and nothing is left behind', async () => {
  await start();
  const connected = await connectIntegration(app.deps, 'forgejo', 'org_a', PLACE);
  repository.hooks.push({
    id: 7,
    type: 'forgejo',
    secret: connected.secret,
    url: connected.webhookUrl,
    contentType: 'form',
    events: ['push'],
    isActive: true,
    deliveries: [],
  });
  expect(await setToken(app.deps, connected.integrationId, token)).toMatchObject([{ hasPinged: true }]);
  expect(repository.hooks).toMatchObject([
    { contentType: 'json', secret: connected.secret, events: ['push', 'release', 'pull_request'] },
  ]);
  await disconnectIntegration(app.deps, connected.integrationId);
  expect(repository.hooks).toEqual([]);
});

test('what a person changes at Forgejo is found, and repaired', async () => {
  const { integrationId } = await connect();
  Object.assign(repository.hooks[0] ?? {}, {
    isActive: false,
    contentType: 'form',
    events: ['push'],
    secret: 'x',
  });
  const { ok, findings } = await diagnose(app.deps, integrationId);
  expect(ok).toBe(false);
  expect(findings.find(({ code }) => code === 'hook_differs')).toMatchObject({
    differences: [
      { code: 'inactive' },
      { code: 'missing_events', events: ['pull_request', 'release'] },
      { code: 'not_json' },
    ],
  });
  expect(await repairHooks(app.deps, integrationId)).toMatchObject([{ hasPinged: true }]);
  expect(repository.hooks).toMatchObject([{ isActive: true, contentType: 'json' }]);
  repository.hooks.length = 0;
  expect(await codesOf(integrationId)).toContain('hook_deleted');
  await repairHooks(app.deps, integrationId);
  expect(repository.hooks).toHaveLength(1);
});
