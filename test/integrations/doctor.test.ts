import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration, setEnabled } from '../../src/integrations/connect.ts';
import { diagnose, type Finding } from '../../src/integrations/doctor.ts';
import { describeFinding } from '../../src/integrations/words.ts';
import { isLocal } from '../../src/lib/public-fetch.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { execute } from '../support/database.ts';
import { createHookWorld, type HookWorld, releaseOf } from '../support/hooks.ts';
import { rejection } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';

let world: HookWorld;

beforeEach(async () => {
  world = await createHookWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

const rocketHook = () => {
  const [hook] = world.rocket.hooks;
  if (hook === undefined) throw new Error('the hook is missing');
  return hook;
};

const doctor = (id: string) => diagnose({ ...world.deps, fetch: (request) => fetch(request) }, id);

/** The findings of a name, as `status: message`. */
const messages = (findings: readonly Finding[], name: Finding['name']) =>
  findings
    .filter((finding) => finding.name === name)
    .map((finding) => `${finding.status}: ${describeFinding(finding)}`);

test('a healthy integration has no failed finding, and the doctor changes nothing', async () => {
  const id = await world.connect();
  await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1.0.0'));
  const before = await allRows(world.db);
  const { ok, findings } = await doctor(id);
  expect(ok).toBe(true);
  expect(findings.map(({ name, status }) => `${name} ${status}`)).toEqual([
    'enabled ok',
    // The server of this test is on this machine.
    'reachability warning',
    'hook ok',
    'last-delivery ok',
    'ping ok',
    'secret ok',
    'missed ok',
  ]);
  expect(await allRows(world.db)).toEqual(before);
});

test('an unsigned request does not hide a wrong secret', async () => {
  const id = await world.connect();
  const hook = rocketHook();
  hook.config.secret = 'another';
  world.clock.advance(1000);
  await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1.0.0'));
  world.clock.advance(1000);
  const unsigned = await fetch(hook.config.url ?? '', { method: 'POST', body: '{}' });
  expect(unsigned.status).toBe(400);
  const { findings } = await doctor(id);
  expect(messages(findings, 'secret')).toEqual([expect.stringContaining('failed: The newest delivery, at ')]);
});

test('a delivery about another repository is a problem until one about the right one arrives', async () => {
  const id = await world.connect();
  const hook = rocketHook();
  const send = async (payload: object) => {
    world.clock.advance(1000);
    const body = JSON.stringify(payload);
    const headers = {
      'x-github-event': 'release',
      'x-github-delivery': crypto.randomUUID(),
      'x-hub-signature-256': `sha256=${hmacSha256(hook.config.secret ?? '', body)}`,
    };
    return (await fetch(hook.config.url ?? '', { method: 'POST', body, headers })).status;
  };
  expect(await send(releaseOf({ id: 666, name: 'evil/other' }, 'v1.0.0'))).toBe(403);
  const refused =
    "Tidings rejected a delivery about another repository, at 2026-11-20T12:00:01.000Z. The delivery is about evil/other, but the webhook's URL is for acme/rocket. Correct the URL at GitHub, or connect evil/other too.";
  const first = await doctor(id);
  expect([first.ok, ...messages(first.findings, 'repository')]).toEqual([false, `failed: ${refused}`]);
  expect(await send(releaseOf(world.rocket, 'v1.0.0'))).toBe(200);
  expect(messages((await doctor(id)).findings, 'repository')).toEqual([`warning: ${refused}`]);
});

describe('each problem has a finding', () => {
  test.each<[string, (id: string) => unknown, Finding['name'], string]>([
    [
      'it is disabled',
      (id) => setEnabled(world.deps, id, false),
      'enabled',
      'failed: The integration is disabled',
    ],
    ['the server is away', () => world.goAway(), 'reachability', 'failed: http://127.0.0.1'],
    [
      'the webhook was deleted',
      () => world.rocket.hooks.splice(0),
      'hook',
      'failed: Somebody deleted the webhook',
    ],
    [
      'the webhook was switched off',
      () => {
        rocketHook().isActive = false;
      },
      'hook',
      'is switched off',
    ],
    [
      'the webhook leads elsewhere, as a form, without a secret',
      () => {
        rocketHook().config = { url: 'https://elsewhere.test/', content_type: 'form', insecure_ssl: '0' };
      },
      'hook',
      'delivers to https://elsewhere.test/, not to http://127.0.0.1',
    ],
    [
      'an event is missing',
      () => {
        rocketHook().events = ['push'];
      },
      'hook',
      'does not deliver pull_request, release, which triggers need',
    ],
    ['the token was revoked', () => world.github.tokens.clear(), 'hook', 'failed: GitHub rejected the token'],
    [
      'the repository is gone',
      () => world.github.repositories.splice(0),
      'hook',
      'failed: GitHub has no repository acme/rocket',
    ],
    [
      'the secret at GitHub is another one',
      async () => {
        rocketHook().config.secret = 'another';
        world.clock.advance(1000);
        await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1.0.0'));
      },
      'secret',
      'failed: The newest delivery, at ',
    ],
    [
      'a delivery is missing',
      async () => {
        world.goAway();
        await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1.0.0'));
        world.comeBack();
      },
      'missed',
      'failed: Deliveries are missing: 0 arrived, 0 failed, 1 never arrived',
    ],
    [
      'the last delivery failed',
      async () => {
        world.goAway();
        await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1.0.0'));
        world.comeBack();
      },
      'last-delivery',
      'failed: GitHub reports for its last delivery: failed to connect to host',
    ],
  ])('%s', async (_, harm, name, words) => {
    const id = await world.connect();
    await harm(id);
    const { ok, findings } = await doctor(id);
    expect(ok).toBe(false);
    expect(messages(findings, name).join('\n')).toContain(words);
  });

  test('all differences of one webhook are one finding', async () => {
    const id = await world.connect();
    Object.assign(rocketHook(), {
      isActive: false,
      events: ['push', 'release'],
      config: { url: rocketHook().config.url, content_type: 'form', insecure_ssl: '0' },
    });
    const [hook] = messages((await doctor(id)).findings, 'hook');
    expect(hook).toBe(
      `failed: The webhook ${rocketHook().id} is switched off; it does not deliver pull_request, which triggers need; it delivers forms instead of JSON; it has no secret`,
    );
  });

  test('a failed update of the job is a warning', async () => {
    const id = await world.connect();
    await createTrigger(world.deps, { integrationId: id, event: 'pull_request', contentType: 'changelog' });
    await execute(world.db, "UPDATE hooks SET problem = 'GitHub failed with status 500'");
    const found = messages((await doctor(id)).findings, 'hook');
    expect(found.at(-1)).toContain(
      'warning: The last update at the provider failed: GitHub failed with status 500',
    );
  });

  test('a provider failure is reported once for any number of repositories', async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    world.github.tokens.clear();
    expect(messages((await doctor(id)).findings, 'hook')).toHaveLength(1);
  });

  test('another server at the address is a problem', async () => {
    const id = await world.connect();
    const { findings } = await diagnose({ ...world.deps, fetch: () => new Response('hello') }, id);
    expect(messages(findings, 'reachability')[0]).toContain('another server answered, with 200');
    const moved = () =>
      new Response(null, { status: 301, headers: { location: 'https://tidings.test/ping' } });
    expect(
      messages((await diagnose({ ...world.deps, fetch: moved }, id)).findings, 'reachability')[0],
    ).toContain(
      "cannot be reached from here: it redirects to https://tidings.test/ping, and providers don't follow redirects",
    );
  });
});

test('without a token, the doctor checks everything but the provider', async () => {
  const { integrationId } = await connectIntegration(world.deps, 'github', 'org_a', 'acme/rocket');
  const { ok, findings } = await doctor(integrationId);
  expect(ok).toBe(true);
  expect(findings.map(({ name, status }) => `${name} ${status}`)).toEqual([
    'enabled ok',
    'reachability warning',
    'hook warning',
    'secret warning',
  ]);
  expect(world.github.requests).toEqual([]);
  expect(await rejection(doctor('int_none'))).toMatchObject({ status: 404 });
});

test.each([
  ['http://localhost:3000', true],
  ['http://127.0.0.1:1', true],
  ['https://10.1.2.3', true],
  ['https://192.168.0.9/base', true],
  ['https://172.20.0.1', true],
  ['http://[::1]:3000', true],
  ['http://tidings.local', true],
  ['https://172.40.0.1', false],
  ['https://tidings.example.com', false],
  ['https://10.example.com', false],
])('%s is local: %p', (url, expected) => {
  expect(isLocal(url)).toBe(expected);
});
