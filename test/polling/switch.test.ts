import { describe, expect, test } from 'bun:test';
import {
  addPolledPlace,
  setPollToken,
  useManualWebhook,
  usePolling,
  useWebhook,
} from '../../src/intake/polling/connect.ts';
import { pollDue, pollNow } from '../../src/intake/polling/poll.ts';
import { replayDelivery, sendDelivery } from '../../src/intake/receiver/send.ts';
import { diagnose } from '../../src/integrations/doctor.ts';
import { listHooks } from '../../src/integrations/hook-store.ts';
import { removePlace } from '../../src/integrations/places.ts';
import { listPolls } from '../../src/integrations/poll-store.ts';
import {
  acceptedSecrets,
  getIntegration,
  getSealedIntegration,
  revealSecret,
} from '../../src/integrations/store.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { projectOf } from '../support/github-api/project.ts';
import { READER, startPolling } from '../support/polling.ts';
import { connectRocket, startProviderApp } from '../support/provider-app.ts';
import { allRows } from '../support/rows.ts';

type World = Awaited<ReturnType<typeof startPolling>>;

const stateOf = ({ app, integrationId }: Pick<World, 'app' | 'integrationId'>) =>
  app.db.read(async (tx) => {
    const { isPolled, hasToken } = await getIntegration(tx, integrationId);
    const polls = (await listPolls(tx, integrationId)).length;
    return { isPolled, hasToken, polls, hooks: (await listHooks(tx, integrationId)).length };
  });

describe('from polling to a webhook', () => {
  test('no event falls between them, and none is drafted twice', async () => {
    await using world = await startPolling({ token: READER, events: ['release'] });
    const { app, project, github, integrationId } = world;
    // Published before the webhook exists, and after the last round.
    project.happen({ release: 'v1.0.0', notes: 'Before' });
    app.clock.advance(1_000);
    const [place] = await useWebhook(app.deps, integrationId);
    expect(place).toMatchObject({ place: 'acme/rocket', hasPinged: true });
    await github.settled();
    expect(await stateOf(world)).toEqual({ isPolled: true, hasToken: true, polls: 1, hooks: 1 });
    // Both bring this one.
    app.clock.advance(1_000);
    await project.send(project.happen({ release: 'v1.1.0', notes: 'Both' }));
    await world.poll();
    expect(await stateOf(world)).toEqual({ isPolled: false, hasToken: true, polls: 0, hooks: 1 });
    app.clock.advance(1_000);
    await project.send(project.happen({ release: 'v1.2.0', notes: 'After' }));
    await runAll(app);
    expect((await postsOf(app)).map(({ markdown }) => markdown.trim()).sort()).toEqual([
      'After',
      'Before',
      'Both',
    ]);
    const log = await world.log();
    expect(log.filter((line) => line.includes('processed: Release'))).toEqual([
      'sent processed: Release v1.1.0 published',
      'polled processed: Release v1.0.0 published',
      'sent processed: Release v1.2.0 published',
    ]);
    const audit = (await allRows(app.db)).audit_events ?? [];
    expect(audit.map(({ summary }) => summary)).toContain(
      'replaced polling by webhooks for the GitHub integration acme/rocket',
    );
    await world.poll();
    await expect(pollNow(app.deps, integrationId)).rejects.toMatchObject({ status: 409 });
  });

  test('polling goes on until a delivery of the provider has arrived', async () => {
    await using world = await startPolling({ token: READER });
    const { app, integrationId, project } = world;
    const { urls, secret } = await useManualWebhook(app.deps, integrationId);
    expect(urls).toEqual([{ repository: 'acme/rocket', webhookUrl: expect.stringContaining(integrationId) }]);
    expect(secret).toMatch(/^\w{20,}/);
    const { findings } = await diagnose(app.deps, integrationId);
    expect(findings.map(({ code }) => code)).toContain('webhook_awaited');
    // A test event of Tidings proves nothing about the provider.
    const body = JSON.stringify({ zen: 'Keep it simple.' });
    await sendDelivery(
      { ...app.deps, fetch: (request) => app.fetch(request) },
      { integrationId, event: 'ping', deliveryId: 'test-1', body, baseUrl: 'http://localhost' },
    );
    for (let round = 0; round < 3; round++) await world.poll();
    expect(await stateOf(world)).toMatchObject({ isPolled: true, polls: 1 });
    // Nor does the replay of a delivery from before.
    await usePolling(app.deps, integrationId);
    await world.deliver(project.happen({ release: 'v1.0.0', notes: 'Before' }));
    app.clock.advance(1_000);
    await useManualWebhook(app.deps, integrationId);
    const sent = (await logOf(app)).find(
      ({ isPolled, status, title }) => !isPolled && status === 'processed' && title.startsWith('Release'),
    );
    if (sent === undefined) throw new Error('no delivery');
    await replayDelivery(app.deps, sent);
    await world.poll();
    expect(await stateOf(world)).toMatchObject({ isPolled: true, polls: 1 });
    await world.deliver(project.happen({ push: ['feat: a'] }));
    await world.poll();
    expect(await stateOf(world)).toMatchObject({ isPolled: false, polls: 0 });
  });

  test('the secret of a webhook by hand replaces one that nobody had', async () => {
    await using world = await startPolling();
    const { app, integrationId, project } = world;
    const unseen = await revealSecret(app.deps, integrationId);
    const { secret } = await useManualWebhook(app.deps, integrationId);
    const accepted = async () => {
      const sealed = await app.db.read((tx) => getSealedIntegration(tx, integrationId));
      return acceptedSecrets(app.deps, sealed);
    };
    expect(await accepted()).toEqual([secret]);
    expect(unseen).not.toBe(secret);
    // A person may have entered this one at the provider.
    app.clock.advance(1_000);
    const again = await useManualWebhook(app.deps, integrationId);
    expect(await accepted()).toEqual([again.secret, secret]);
    await world.deliver(project.happen({ push: ['feat: a'] }));
    app.clock.advance(2 * 86_400_000);
    await pollDue(app.deps);
    await usePolling(app.deps, integrationId);
    const third = await useManualWebhook(app.deps, integrationId);
    expect(await accepted()).toEqual([third.secret, again.secret]);
  });

  test('a token that may not administer webhooks changes nothing', async () => {
    await using world = await startPolling();
    const { app, github, integrationId } = world;
    const weak = github.addToken({ user: 'mona', permissions: { contents: 'read', pull_requests: 'read' } });
    await expect(useWebhook(app.deps, integrationId, { token: weak })).rejects.toThrow();
    await expect(useWebhook(app.deps, integrationId)).rejects.toMatchObject({ status: 400 });
    expect(await stateOf(world)).toEqual({ isPolled: true, hasToken: false, polls: 1, hooks: 0 });
    const { findings } = await diagnose(app.deps, integrationId);
    expect(findings.map(({ code }) => code)).not.toContain('webhook_awaited');
  });

  test('a change of mind keeps polling, and deletes the webhook', async () => {
    await using world = await startPolling({ token: READER });
    const { app, github, repository, integrationId } = world;
    world.provider.goAway();
    await useWebhook(app.deps, integrationId).catch(() => undefined);
    expect(repository.hooks).toHaveLength(1);
    await usePolling(app.deps, integrationId);
    await world.poll();
    await github.settled();
    expect(repository.hooks).toEqual([]);
    expect(await stateOf(world)).toEqual({ isPolled: true, hasToken: true, polls: 1, hooks: 0 });
    world.provider.comeBack();
  });
});

describe('from a webhook to polling', () => {
  test('the webhook stays for a round, and is then deleted', async () => {
    await using provider = await startProviderApp();
    const { app, github } = provider;
    const { repository, integrationId, token } = await connectRocket(provider);
    const stored = github.tokens.get(token);
    Object.assign(stored ?? {}, { permissions: READER.permissions });
    const project = projectOf(repository, app.clock, [{ push: ['chore: start'] }]);
    expect(await usePolling(app.deps, integrationId)).toEqual({ places: ['acme/rocket'], byHand: [] });
    expect(repository.hooks).toHaveLength(1);
    app.clock.advance(1_000);
    await project.send(project.happen({ push: ['feat: both'] }));
    app.clock.advance(60_000);
    await pollDue(app.deps);
    expect(repository.hooks).toEqual([]);
    project.happen({ push: ['feat: polled'] });
    app.clock.advance(60_000);
    await pollDue(app.deps);
    expect(await stateOf({ app, integrationId })).toEqual({
      isPolled: true,
      hasToken: true,
      polls: 1,
      hooks: 0,
    });
    const pushes = (await logOf(app)).filter(({ payload }) => payload.event === 'push');
    expect(pushes.map(({ isPolled, status }) => [isPolled, status])).toEqual([
      [true, 'processed'],
      [false, 'processed'],
    ]);
  });

  test('a repository that the token cannot read keeps its webhook', async () => {
    await using provider = await startProviderApp();
    const { app } = provider;
    const { repository, integrationId } = await connectRocket(provider);
    await expect(usePolling(app.deps, integrationId)).rejects.toThrow('Contents: read');
    expect(repository.hooks).toHaveLength(1);
    expect(await stateOf({ app, integrationId })).toEqual({
      isPolled: false,
      hasToken: true,
      polls: 0,
      hooks: 1,
    });
  });
});

test('a switch back that is refused leaves the old webhook to be deleted', async () => {
  await using provider = await startProviderApp();
  const { app, github } = provider;
  const { repository, integrationId, token } = await connectRocket(provider);
  Object.assign(github.tokens.get(token) ?? {}, { permissions: READER.permissions });
  projectOf(repository, app.clock, [{ push: ['chore: start'] }]);
  await usePolling(app.deps, integrationId);
  const oldHooks = () =>
    app.db.read(async (tx) => (await listPolls(tx, integrationId)).map(({ cursor }) => cursor?.hasOldHook));
  expect(await oldHooks()).toEqual([true]);
  Object.assign(repository.rights, { bob: 'write' });
  const guest = github.addToken({ ...READER, user: 'bob' });
  const refused = useWebhook(app.deps, integrationId, { token: guest });
  await expect(refused).rejects.toThrow('role Admin');
  expect(await oldHooks()).toEqual([true]);
});

test('the switch ends when the last repository that waits for its webhook is removed', async () => {
  await using world = await startPolling();
  const { app, github, integrationId, project } = world;
  const engine = github.addRepository('acme/engine', { isPrivate: false });
  projectOf(engine, app.clock, [{ push: ['chore: start'] }]);
  await addPolledPlace(app.deps, integrationId, 'acme/engine');
  await useManualWebhook(app.deps, integrationId);
  await world.deliver(project.happen({ push: ['feat: a'] }));
  await pollNow(app.deps, integrationId);
  expect(await stateOf(world)).toMatchObject({ isPolled: true, polls: 1 });
  await removePlace(app.deps, integrationId, 'acme/engine');
  expect(await stateOf(world)).toMatchObject({ isPolled: false, polls: 0 });
});

test('a webhook that delivers what was polled is a duplicate in the log', async () => {
  await using world = await startPolling({ token: READER });
  const deliveries = world.project.happen({ push: ['feat: a'] });
  await world.poll();
  await world.deliver(deliveries);
  expect(await world.log()).toEqual([
    'polled processed: 1 commit pushed to main',
    'sent duplicate: 1 commit pushed to main',
  ]);
});

test('a webhook that delivers an edit of a polled release is processed', async () => {
  await using world = await startPolling({ token: READER, events: ['release'] });
  const { app, project } = world;
  project.happen({ release: 'v1.0.0', notes: 'Old' });
  await world.poll();
  app.clock.advance(1_000);
  await world.deliver(project.happen({ edit: 'v1.0.0', notes: 'New' }));
  expect(await world.log()).toEqual([
    'polled processed: Release v1.0.0 published',
    'sent processed: Release v1.0.0 edited',
  ]);
  await runAll(app);
  expect((await postsOf(app)).map(({ markdown }) => markdown.trim())).toEqual(['New']);
});

test('a token of a polled integration is checked, makes it faster, and creates no webhook', async () => {
  await using world = await startPolling();
  const { app, github, repository, integrationId } = world;
  repository.isPrivate = true;
  const blind = github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
  await expect(setPollToken(app.deps, integrationId, blind)).rejects.toThrow('Contents: read');
  await setPollToken(app.deps, integrationId, github.addToken(READER));
  await world.poll();
  expect(repository.hooks).toEqual([]);
  const [poll] = await app.db.read((tx) => listPolls(tx, integrationId));
  expect((poll?.dueAt ?? 0) - app.clock.now().getTime()).toBeLessThanOrEqual(60_000);
});
