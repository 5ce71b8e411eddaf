import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { usePolling, useWebhook } from '../../src/intake/polling/connect.ts';
import { pollNow } from '../../src/intake/polling/poll.ts';
import { replayDelivery, sendDelivery } from '../../src/intake/receiver/send.ts';
import { recoverDue } from '../../src/intake/recovery.ts';
import { syncInstallation } from '../../src/integrations/app.ts';
import { connectWithToken } from '../../src/integrations/connect.ts';
import { findDelivery } from '../../src/integrations/deliveries/log-store.ts';
import { diagnose } from '../../src/integrations/doctor.ts';
import { findMissed, redeliverMissed } from '../../src/integrations/missed.ts';
import { disconnectIntegration } from '../../src/integrations/places.ts';
import { rotateSecret, syncHooks } from '../../src/integrations/rotate.ts';
import { revealSecret } from '../../src/integrations/store.ts';
import { imageAccess, openReaderOf } from '../../src/integrations/token.ts';
import { systemClock } from '../../src/lib/time.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { findInDatabase } from '../../src/server/attention.ts';
import { connectGithub, logOf } from '../support/deliveries.ts';
import { createTriggerFor, postsOf, runAll } from '../support/drafts.ts';
import { projectOf } from '../support/github-api/project.ts';
import type { StoredRepository } from '../support/github-api/state.ts';
import {
  type AppWorld,
  createdApp,
  installedApp,
  integrationOf,
  namesOf,
  startAppWorld,
} from '../support/github-app.ts';

let world: AppWorld;

beforeEach(async () => {
  world = await startAppWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

/** A sample of GitHub's about one of its repositories. */
function payloadOf({ id, name }: StoredRepository, event: string) {
  const sample = samplePayload('github', event, { repository: name, now: new Date() });
  const repository = sample?.repository as Record<string, unknown>;
  return { ...sample, repository: { ...repository, id, full_name: name } };
}

const emit = (repository: StoredRepository, event: string) =>
  world.github.emit(repository, event, payloadOf(repository, event));

async function newestEntry() {
  const [entry] = await logOf(world.app);
  return entry;
}

const path = (organizationId: string, id: string, rest = '') =>
  `/api/webhooks/github-app/${organizationId}/${id}${rest}`;

async function post(to: string, secret: string, payload: unknown, event = 'push') {
  const body = JSON.stringify(payload);
  const response = await world.app.request(to, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': crypto.randomUUID(),
      'x-hub-signature-256': `sha256=${hmacSha256(secret, body)}`,
    },
  });
  return [response.status, (await response.json()).error ?? 'taken'];
}

describe('one webhook for all repositories', () => {
  test('an event about each becomes a draft of its repository', async () => {
    const { app, rocket, engine } = world;
    const { id } = await installedApp(world, rocket, engine);
    await createTriggerFor(app, { integrationId: id } as never, 'release');
    for (const repository of [rocket, engine]) {
      const [attempt] = await emit(repository, 'release');
      expect(attempt?.statusCode).toBe(200);
      const { repositories = [] } = (await integrationOf(world, id)) ?? {};
      const own = repositories.find(({ fullName }) => fullName === repository.name);
      expect(await newestEntry()).toMatchObject({ status: 'processed', repositoryId: own?.id });
    }
    await runAll(app);
    expect(await postsOf(app)).toHaveLength(2);
  });

  test('an event about a repository that is not connected is ignored, with its name', async () => {
    const { github, rocket, engine, app } = world;
    const { stored, id } = await installedApp(world, rocket);
    await createTriggerFor(app, { integrationId: id } as never, 'release');
    // GitHub has it in the installation, and Tidings does not know yet.
    stored.installation?.repositoryIds.push(engine.id);
    const [attempt] = await emit(engine, 'release');
    expect(attempt?.statusCode).toBe(200);
    expect(await newestEntry()).toMatchObject({
      status: 'ignored',
      repositoryId: null,
      reason: expect.stringContaining('acme/engine'),
    });
    await runAll(app);
    expect(await postsOf(app)).toEqual([]);
    await github.settled();
  });

  test('a renamed repository keeps its place', async () => {
    const { github, rocket } = world;
    const { id } = await installedApp(world, rocket);
    const before = (await integrationOf(world, id))?.repositories[0]?.id;
    github.rename(rocket, 'acme/rocket-two');
    await emit(rocket, 'release');
    const after = await integrationOf(world, id);
    expect(namesOf(after)).toEqual(['acme/rocket-two']);
    expect(after?.repositories[0]?.id).toBe(before);
  });

  test('test deliveries and replays work as for other webhooks', async () => {
    const { app, rocket } = world;
    const { id } = await installedApp(world, rocket);
    const { db, secrets, clock } = app.deps;
    const body = JSON.stringify(
      samplePayload('github', 'release', { repository: rocket.name, now: new Date() }),
    );
    const sent = await sendDelivery(
      { db, secrets, clock, fetch },
      { integrationId: id, event: 'release', deliveryId: 'd-1', body, baseUrl: app.deps.publicUrl() },
    );
    expect(sent).toMatchObject({
      status: 200,
      request: { url: expect.stringContaining('/github-app/org_a/') },
    });
    const entry = await app.db.read((tx) => findDelivery(tx, 'org_a', 'd-1'));
    if (entry === null) throw new Error('the test delivery is not in the log');
    expect(entry.repositoryId).not.toBeNull();
    expect(await replayDelivery(app.deps, entry)).toMatchObject({ repositoryId: entry.repositoryId });
  });
});

describe('the path of an App', () => {
  test('takes deliveries of Apps alone, signed with the secret of the App', async () => {
    const { app, rocket } = world;
    const { id } = await installedApp(world, rocket);
    const secret = await revealSecret(app.deps, id);
    const push = payloadOf(rocket, 'push');
    expect(await post(path('org_a', id), secret, push)).toEqual([200, 'taken']);
    expect(await post(path('org_a', id), 'wrong', push)).toEqual([401, 'Invalid webhook signature']);
    expect(await post(path('org_b', id), secret, push)).toEqual([404, 'Integration not found']);
    expect(await post(path('org_a', 'int_none'), secret, push)).toEqual([404, 'Integration not found']);
    const repositoryId = (await integrationOf(world, id))?.repositories[0]?.id;
    expect(await post(path('org_a', id, `/${repositoryId}`), secret, push)).toEqual([
      400,
      'Invalid webhook parameters',
    ]);
    const other = await connectGithub(app, 'org_a', 'acme/other');
    expect(await post(path('org_a', other.integrationId), other.secret, push)).toEqual([
      404,
      'Integration not found',
    ]);
  });

  test('needs a repository in an event about one', async () => {
    const { app, rocket } = world;
    const { id } = await installedApp(world, rocket);
    const secret = await revealSecret(app.deps, id);
    const { repository: _, ...push } = payloadOf(rocket, 'push');
    const [status, message] = await post(path('org_a', id), secret, push);
    expect([status, message]).toEqual([400, expect.stringContaining('repository')]);
    expect(await post(path('org_a', id), secret, { zen: 'x' }, 'ping')).toEqual([200, 'taken']);
    expect(await post(path('org_a', id), secret, { action: 'x' }, 'installation')).toEqual([
      400,
      expect.stringContaining('Malformed payload: installation'),
    ]);
  });

  test('an unsigned event about the installation changes nothing', async () => {
    const { rocket } = world;
    const { id, stored } = await installedApp(world, rocket);
    const installation = { id: stored.installation?.id };
    const deleted = { action: 'deleted', installation };
    expect(await post(path('org_a', id), 'wrong', deleted, 'installation')).toMatchObject([
      401,
      'Invalid webhook signature',
    ]);
    expect((await integrationOf(world, id))?.app?.installationId).toBe(stored.installation?.id ?? 0);
  });
});

describe('the installation', () => {
  test('brings repositories, adds and removes them', async () => {
    const { github, rocket, engine, app } = world;
    const { stored, id } = await installedApp(world, rocket);
    expect(await integrationOf(world, id)).toMatchObject({
      app: { installationId: stored.installation?.id ?? 0 },
      repositories: [{ fullName: 'acme/rocket', providerId: rocket.id }],
    });
    github.installApp(stored, [rocket, engine]);
    await github.settled();
    expect(namesOf(await integrationOf(world, id))).toEqual(['acme/engine', 'acme/rocket']);
    expect(await newestEntry()).toMatchObject({
      status: 'processed',
      title: 'Installation: added acme/engine',
      payload: { event: 'installation_repositories', data: { added: ['acme/engine'] } },
    });
    github.installApp(stored, [engine]);
    await github.settled();
    expect(namesOf(await integrationOf(world, id))).toEqual(['acme/engine']);
    const log = app.logged.flatMap(({ audit, msg }) => (audit === undefined ? [] : [String(msg)]));
    expect(log.join('\n')).not.toContain('undefined');
  });

  test('keeps all repositories when the provider names none', async () => {
    const { app, github, rocket } = world;
    const { id } = await installedApp(world, rocket);
    await createTriggerFor(app, { integrationId: id } as never, 'release');
    github.failNext(() => Response.json({ total_count: 0, repositories: [] }), { after: 2 });
    expect(await syncInstallation(app.deps, id)).toMatchObject({ isInstalled: true, added: [], removed: [] });
    expect(namesOf(await integrationOf(world, id))).toEqual(['acme/rocket']);
    expect(github.requests.at(-1)?.path).toBe('/installation/repositories');
  });

  test('leaves out a repository that another integration has', async () => {
    const { app, github, rocket, engine } = world;
    const token = github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
    rocket.rights.ann = 'admin';
    const request = { type: 'github', organizationId: 'org_a', token, places: ['acme/rocket'] } as const;
    await connectWithToken(app.deps, request);
    const { id } = await installedApp(world, rocket, engine);
    expect(namesOf(await integrationOf(world, id))).toEqual(['acme/engine']);
  });

  test('an event about an old installation does not end the new one', async () => {
    const { github, rocket } = world;
    const { stored, id } = await installedApp(world, rocket);
    const old = stored.installation?.id;
    github.uninstallApp(stored);
    await github.settled();
    github.installApp(stored, [rocket]);
    await github.settled();
    const late = { action: 'deleted', installation: { id: old } };
    const secret = await revealSecret(world.app.deps, id);
    expect(await post(path('org_a', id), secret, late, 'installation')).toEqual([200, 'taken']);
    const present = stored.installation?.id ?? 0;
    expect(present).not.toBe(old ?? 0);
    expect((await integrationOf(world, id))?.app?.installationId).toBe(present);
  });

  test('is found again when the events about the old and the new one arrive in reverse order', async () => {
    const { app, github, rocket, engine } = world;
    const { stored, id } = await installedApp(world, rocket);
    await syncHooks(app.deps);
    const old = stored.installation?.id ?? 0;
    const present = old + 1;
    stored.installation = { id: present, repositoryIds: [rocket.id, engine.id], suspendedAt: null };
    const secret = await revealSecret(app.deps, id);
    const send = (action: string, installation: number) =>
      post(path('org_a', id), secret, { action, installation: { id: installation } }, 'installation');
    expect(await send('created', present)).toEqual([200, 'taken']);
    expect(await send('deleted', old)).toEqual([200, 'taken']);
    expect((await integrationOf(world, id))?.app?.installationId).toBeNull();
    // The first look fails, and the next one has to read the repositories too.
    github.failNext(() => new Response('', { status: 502 }), { after: 2 });
    await syncHooks(app.deps);
    app.clock.advance(60_000);
    await syncHooks(app.deps);
    const found = await integrationOf(world, id);
    expect(found?.app?.installationId).toBe(present);
    expect(namesOf(found)).toEqual(['acme/engine', 'acme/rocket']);
    const { length } = github.requests;
    await syncHooks(app.deps);
    expect(github.requests).toHaveLength(length);
  });

  test('of another account is not looked for, and brings no repositories', async () => {
    const { app, github, rocket, engine } = world;
    const { stored, id } = await installedApp(world, rocket);
    await syncHooks(app.deps);
    const old = stored.installation?.id ?? 0;
    stored.installation = {
      id: old + 1,
      account: 'mallory',
      repositoryIds: [engine.id],
      suspendedAt: null,
    };
    const secret = await revealSecret(app.deps, id);
    const deleted = { action: 'deleted', installation: { id: old } };
    expect(await post(path('org_a', id), secret, deleted, 'installation')).toEqual([200, 'taken']);
    const changed = {
      action: 'added',
      installation: { id: old + 1 },
      repositories_added: [{ id: engine.id, full_name: engine.name }],
      repositories_removed: [{ id: rocket.id, full_name: rocket.name }],
    };
    const result = await post(path('org_a', id), secret, changed, 'installation_repositories');
    expect(result).toEqual([200, 'taken']);
    await syncHooks(app.deps);
    const after = await integrationOf(world, id);
    expect(after?.app?.installationId).toBeNull();
    expect(namesOf(after)).toEqual(['acme/rocket']);
    expect(github.requests.some((request) => request.path === '/app/installations')).toBe(true);
  });

  test('is not replaced when another account installs the App, which its owner made public', async () => {
    const { rocket } = world;
    const { id, stored } = await installedApp(world, rocket);
    const before = await integrationOf(world, id);
    const secret = await revealSecret(world.app.deps, id);
    const installation = { id: 99, account: { login: 'mallory' } };
    const foreign = { id: 666, full_name: 'mallory/rocket' };
    const created = { action: 'created', installation, repositories: [foreign] };
    expect(await post(path('org_a', id), secret, created, 'installation')).toEqual([200, 'taken']);
    for (const [added, removed] of [
      [[foreign], []],
      [[], [{ id: rocket.id, full_name: rocket.name }]],
    ]) {
      const changed = {
        action: 'added',
        installation,
        repositories_added: added,
        repositories_removed: removed,
      };
      expect(await post(path('org_a', id), secret, changed, 'installation_repositories')).toEqual([
        200,
        'taken',
      ]);
    }
    expect(await integrationOf(world, id)).toEqual(before);
    expect(before?.app?.installationId).toBe(stored.installation?.id ?? 0);
  });
});

describe('instead of a token', () => {
  test('a reader, image downloads and the doctor use the App', async () => {
    const { app, rocket } = world;
    const { id } = await installedApp(world, rocket);
    const reader = await openReaderOf(app.deps, { id, type: 'github', organizationId: 'org_a' });
    expect(await reader.getRepository('acme/rocket')).toMatchObject({ providerId: rocket.id });
    const image = `${world.github.url}/acme/rocket/blob/main/a.png`;
    const headersFor = await imageAccess(app.deps, id, image);
    expect(headersFor(new URL(image)).authorization).toStartWith('Bearer ghs_');
    expect(headersFor(new URL('https://evil.test/a.png'))).toEqual({});
  });

  test('the doctor looks at the installation and at the webhook of the App', async () => {
    const { app, github, rocket } = world;
    const { id, stored } = await createdApp(world);
    await syncHooks(app.deps);
    const codes = async () => {
      const { findings } = await diagnose({ ...app.deps, fetch }, id);
      return findings.map(({ code }) => code).filter((code) => /^(app|hook|missed|deliveries)/.test(code));
    };
    expect(await codes()).toEqual(['app_not_installed', 'hook_correct']);
    github.installApp(stored, [rocket]);
    await github.settled();
    expect(await codes()).toEqual(['app_installed', 'hook_correct']);
    github.suspendApp(stored);
    await github.settled();
    expect(await codes()).toContain('app_suspended');
    github.suspendApp(stored, false);
    stored.hook.events = ['push'];
    stored.hook.config.url = 'http://127.0.0.1:9/elsewhere';
    await github.settled();
    expect(await codes()).toContain('hook_differs');
    stored.publicKeys.length = 0;
    expect(await codes()).toEqual(['app_unknown', 'hook_check_failed']);
  });

  test('missed deliveries come back by themselves', async () => {
    const { app, github, rocket } = world;
    const { stored } = await installedApp(world, rocket);
    const { url } = stored.hook.config;
    stored.hook.config.url = 'http://127.0.0.1:9/elsewhere';
    await emit(rocket, 'release');
    stored.hook.config.url = url;
    for (let beat = 0; beat < 3; beat++) {
      await recoverDue(app.deps);
      await github.settled();
      app.clock.advance(10_000);
    }
    const log = await logOf(app);
    expect(log.flatMap(({ status, payload }) => (payload.event === 'release' ? status : []))).toEqual([
      'processed',
    ]);
  });

  describe('the heartbeat', () => {
    const HOUR_MS = 3_600_000;
    const requested = () =>
      world.github.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/attempts'));
    const beat = async (startedAt: Date, minutes = 3) => {
      for (let minute = 0; minute < minutes; minute++) {
        world.app.clock.advance(60_000);
        await recoverDue(world.app.deps, { startedAt });
        await world.github.settled();
      }
    };
    /** Two hours after the first look, Tidings starts again. */
    const restarted = async () => {
      await recoverDue(world.app.deps, { isStart: true });
      world.app.clock.advance(2 * HOUR_MS);
      return world.app.clock.now();
    };
    const items = () =>
      world.app.db.read((tx) => findInDatabase(tx, world.app.clock.now(), ['heartbeat_failed']));

    test('requests the newest delivery again, which changes nothing, even days later', async () => {
      const { app, rocket } = world;
      const { id } = await installedApp(world, rocket);
      await createTriggerFor(app, { integrationId: id } as never, 'release');
      await emit(rocket, 'release');
      await runAll(app);
      const posts = await postsOf(app);
      expect(posts).toHaveLength(1);
      const { length } = await logOf(app);
      await recoverDue(app.deps, { isStart: true });
      app.clock.advance(50 * HOUR_MS);
      await beat(app.clock.now(), 30);
      await runAll(app);
      expect(requested()).toHaveLength(1);
      expect(await postsOf(app)).toEqual(posts);
      const log = await logOf(app);
      expect(log).toHaveLength(length + 1);
      expect(log[0]).toMatchObject({
        status: 'duplicate',
        payload: { event: 'release' },
        reason: 'Tidings requested this delivery again to test the webhook',
      });
      expect(await items()).toEqual([]);
      await emit(rocket, 'push');
      expect(await newestEntry()).toMatchObject({ status: 'processed' });
    });

    test("is an item with GitHub's reason when the delivery does not arrive, until one does", async () => {
      const { app, github, rocket } = world;
      const { stored, path } = await installedApp(world, rocket);
      const { url } = stored.hook.config;
      const startedAt = await restarted();
      stored.hook.config.url = 'http://127.0.0.1:1';
      await beat(startedAt, 30);
      expect(requested()).toHaveLength(1);
      expect(await items()).toMatchObject([
        {
          message: expect.stringContaining(
            'the delivery that Tidings asked for did not arrive (failed to connect to host)',
          ),
        },
      ]);
      expect(await (await world.visit(path)).text()).toContain(
        'The last requested delivery did not arrive: ',
      );
      stored.hook.config.url = url;
      await beat(startedAt, 60);
      await github.settled();
      expect(requested()).toHaveLength(2);
      expect(await items()).toEqual([]);
      expect((await logOf(app)).filter(({ status }) => status === 'duplicate')).toHaveLength(1);
    });

    test('does nothing when GitHub lists no delivery, or none that has arrived', async () => {
      const { github, rocket } = world;
      const { stored } = await installedApp(world, rocket);
      stored.hook.attempts.splice(0);
      const startedAt = await restarted();
      const before = github.requests.length;
      await beat(startedAt, 30);
      expect(requested()).toEqual([]);
      expect(await items()).toEqual([]);
      // Two for the heartbeat, and one for each comparison.
      expect(
        github.requests.slice(before).filter(({ path }) => path === '/app/hook/deliveries').length,
      ).toBeLessThan(7);
    });
  });

  test('missed deliveries are found and sent again', async () => {
    const { app, github, rocket } = world;
    const { id, stored } = await installedApp(world, rocket);
    const secret = stored.hook.config.secret ?? '';
    stored.hook.config.secret = 'for a while another';
    await emit(rocket, 'release');
    stored.hook.config.secret = secret;
    const { missed } = await findMissed(app.deps, id);
    expect(missed).toMatchObject([{ event: 'release', fate: 'failed' }]);
    await redeliverMissed(app.deps, id, 'all');
    await github.settled();
    expect((await findMissed(app.deps, id)).missed).toEqual([]);
    const log = await logOf(app);
    expect(
      log
        .filter(({ payload }) => payload.event === 'release')
        .map(({ status }) => status)
        .sort(),
    ).toEqual(['processed', 'rejected']);
  });

  test('polling reads with the App, and its webhook takes over again', async () => {
    const { app, github, rocket } = world;
    const { id } = await installedApp(world, rocket);
    await createTriggerFor(app, { integrationId: id } as never, 'release');
    const project = projectOf(rocket, systemClock);
    project.happen({ push: ['Begin'] });
    expect(await usePolling(app.deps, id)).toEqual({ places: ['acme/rocket'], byHand: [] });
    project.happen({ release: 'v1.0.0', notes: 'Polled' });
    expect((await pollNow(app.deps, id)).map(({ news }) => news)).toEqual([1]);
    const tokens = github.requests.map(({ authorization }) => authorization ?? '');
    expect(tokens.at(-1)).toStartWith('Bearer ghs_');

    const [place] = await useWebhook(app.deps, id);
    expect(place).toMatchObject({ webhookUrl: expect.stringContaining('/github-app/org_a/') });
    app.clock.advance(1_000);
    for (const { event, payload } of project.happen({ release: 'v1.1.0', notes: 'Delivered' })) {
      await github.emit(rocket, event, payload);
    }
    await pollNow(app.deps, id);
    expect(await integrationOf(world, id)).toMatchObject({ isPolled: false, app: {} });
    await runAll(app);
    expect((await postsOf(app)).map(({ markdown }) => markdown.trim()).sort()).toEqual([
      'Delivered',
      'Polled',
    ]);
  });

  test('a repository that is added while the App is polled is polled too', async () => {
    const { app, github, rocket, engine } = world;
    const { id, stored } = await installedApp(world, rocket);
    const project = projectOf(engine, systemClock, [{ push: ['Begin'] }]);
    projectOf(rocket, systemClock, [{ push: ['Begin'] }]);
    await usePolling(app.deps, id);
    github.installApp(stored, [rocket, engine]);
    await github.settled();
    await syncInstallation(app.deps, id);
    expect((await pollNow(app.deps, id)).map(({ repository }) => repository)).toEqual([
      'acme/engine',
      'acme/rocket',
    ]);
    project.happen({ release: 'v1.0.0', notes: 'Polled' });
    expect((await pollNow(app.deps, id)).map(({ news, problem }) => [news, problem])).toEqual([
      [1, null],
      [0, null],
    ]);
  });

  test('a rotation sets the new secret at GitHub, and the old one works for a day', async () => {
    const { app, rocket } = world;
    const { id, stored } = await installedApp(world, rocket);
    const old = stored.hook.config.secret ?? '';
    const { secret, isSetAtProvider } = await rotateSecret(app.deps, id);
    expect({ isSetAtProvider, atGithub: stored.hook.config.secret }).toEqual({
      isSetAtProvider: true,
      atGithub: secret,
    });
    expect((await emit(rocket, 'push'))[0]?.statusCode).toBe(200);
    stored.hook.config.secret = old;
    expect((await emit(rocket, 'push'))[0]?.statusCode).toBe(200);
    app.clock.advance(25 * 3_600_000);
    expect((await emit(rocket, 'push'))[0]?.statusCode).toBe(401);
  });

  test('a rotation that GitHub refuses changes nothing', async () => {
    const { app, github, rocket } = world;
    const { id, stored } = await installedApp(world, rocket);
    const old = stored.hook.config.secret ?? '';
    stored.publicKeys.length = 0;
    const failure = await rotateSecret(app.deps, id).catch((error: Error) => error.message);
    expect(failure).toContain('The secret was not rotated.');
    expect(await revealSecret(app.deps, id)).toBe(old);
    await github.settled();
  });

  test('disconnecting needs GitHub, or force', async () => {
    const { app, rocket } = world;
    const { id, stored } = await installedApp(world, rocket);
    stored.publicKeys.length = 0;
    const failure = await disconnectIntegration(app.deps, id).catch((error: Error) => error.message);
    expect(failure).toContain('GitHub rejected the private key');
    expect(await integrationOf(world, id)).not.toBeNull();
    const { left } = await disconnectIntegration(app.deps, id, { force: true });
    expect(left).toEqual([stored.slug]);
    expect(await integrationOf(world, id)).toBeNull();
  });
});
