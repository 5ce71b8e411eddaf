import { afterAll, beforeEach, expect, test } from 'bun:test';
import { deletePost, editPost } from '../../src/posts/service.ts';
import { listAttempts, listMessages, measureOutbox } from '../../src/readers/hooks/message-store.ts';
import { getHook, type HookKind } from '../../src/readers/hooks/model.ts';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import {
  createHook,
  deleteHook,
  resendFailed,
  resendMessage,
  rotateSecret,
  sendTest,
  switchHook,
} from '../../src/readers/hooks/service.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { findInDatabase } from '../../src/server/attention.ts';
import { fixedClock } from '../support/clock.ts';
import { contentOf, execute, testSqlite, valuesOf } from '../support/database.ts';
import { LOCAL_HOSTS, startHookReceiver, verified } from '../support/hook-receiver.ts';
import { appWithOrganization, examplePost, PUBLIC_URL } from '../support/test-app.ts';

const receiver = startHookReceiver();
afterAll(() => receiver[Symbol.dispose]());
beforeEach(() => {
  receiver.requests.length = 0;
  receiver.responses.clear();
});

/** The library that verifies signatures compares their time with the real one. */
const today = () => fixedClock(new Date().toISOString());

async function world(kind: HookKind = 'signed', path = '/hook', organizations = ['org_a']) {
  const clock = today();
  const app = await appWithOrganization({ clock, hookPrivateHosts: LOCAL_HOSTS, organizations });
  const { deps } = app;
  const add = (kind: HookKind, path: string, organizationId = 'org_a') =>
    createHook(deps, { organizationId, name: 'Site', kind, url: receiver.at(path) });
  const hook = await add(kind, path);
  const send = createHookSender(deps);
  const publish = (id: string, title = `Title of ${id}`) =>
    app.addPosts('org_a', { ...examplePost(1), id, title, createdAt: clock.now().toISOString() });
  const messages = async (hookId = hook.id) =>
    (await deps.db.read((tx) => listMessages(tx, hookId, { limit: 1000 }))).reverse();
  const attemptsOf = (id: string) => deps.db.read((tx) => listAttempts(tx, id));
  return { app, deps, clock, hook, add, send, publish, messages, attemptsOf };
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('a signed hook gets each change, verified by the official library, and nothing of drafts', async () => {
  const { deps, app, hook, clock, send, messages } = await world();
  await changePublication(deps, 'org_a', { isPageOn: true, slug: 'acme' });
  const draft = { ...examplePost(1), id: 'p1', title: 'Faster', status: 'draft' as const };
  await app.addPosts('org_a', draft);
  await send();
  expect(receiver.requests).toEqual([]);
  await editPost(deps, 'p1', { status: 'published' });
  expect(await send()).toBe(1);
  await editPost(deps, 'p1', { status: 'draft', title: 'Secret plan' });
  await send();
  expect(await send()).toBe(0);
  const payloads = receiver.requests.map((each) => verified(hook.secret ?? '', each));
  const timestamp = clock.now().toISOString();
  const data = { organizationId: 'org_a', postId: 'p1', title: 'Faster', createdAt: draft.createdAt };
  expect(payloads).toEqual([
    { type: 'post.published', timestamp, data: { ...data, url: `${PUBLIC_URL}/changelog/acme/p1` } },
    { type: 'post.unpublished', timestamp, data: { ...data, url: null } },
  ]);
  expect(receiver.requests[0]).toMatchObject({ method: 'POST', path: '/hook' });
  expect(receiver.requests[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-id': (await messages())[0]?.id ?? '',
  });
  expect((await messages()).map(({ state }) => state)).toEqual(['sent', 'sent']);
});

test('the URL and the secret are in the database only encrypted, and never in the log', async () => {
  const { deps, app, hook } = await world('signed', '/secret-path');
  const stored = await contentOf(app.db);
  for (const secret of ['secret-path', hook.secret ?? '']) {
    expect(stored).not.toContain(secret);
    expect(JSON.stringify(app.logged)).not.toContain(secret);
  }
  expect(await deps.db.read((tx) => getHook(tx, hook.id))).not.toContainAnyKeys(['url', 'secret']);
});

test('eight attempts within about a day, with one id and one body; the permalink stays as it was', async () => {
  const { deps, hook, clock, send, publish, messages, attemptsOf } = await world();
  receiver.responses.set('/hook', [() => new Response('out of order', { status: 500 })]);
  await publish('p1');
  const began = clock.now().getTime();
  await send();
  await changePublication(deps, 'org_a', { isPageOn: true });
  for (let attempt = 2; attempt <= 8; attempt++) {
    const [message] = await messages();
    expect(message).toMatchObject({ state: 'queued', attempts: attempt - 1 });
    clock.advance((message?.dueAt ?? 0) - clock.now().getTime() - 1);
    expect(await send()).toBe(0);
    clock.advance(1);
    expect(await send()).toBe(1);
  }
  const [message] = await messages();
  expect(message).toMatchObject({ state: 'failed', attempts: 8 });
  const hours = (clock.now().getTime() - began) / HOUR;
  expect(hours).toBeWithin(24, 26.5);
  const bodies = new Set(receiver.requests.map(({ body, headers }) => `${headers['webhook-id']} ${body}`));
  expect(bodies.size).toBe(1);
  // Each attempt is signed at its own time.
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(8);
  const [first] = await attemptsOf(message?.id ?? '');
  expect(first).toMatchObject({ statusCode: 500, response: 'out of order', problem: 'Responded 500.' });
  expect(
    verified(hook.secret ?? '', receiver.requests[0] ?? { body: '', headers: {}, method: '', path: '' }).data
      .url,
  ).toBeNull();
});

test('a later message of a post waits for the earlier one; other posts do not', async () => {
  const { deps, hook, clock, send, publish } = await world();
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 }), () => new Response()]);
  await publish('p1');
  await send();
  await editPost(deps, 'p1', { title: 'Second' });
  await publish('p2');
  await editPost(deps, 'p1', { title: 'Third' });
  await send();
  const titles = () => receiver.requests.map((each) => verified(hook.secret ?? '', each).data.title);
  expect(titles()).toEqual(['Title of p1', 'Title of p2']);
  clock.advance(6_000);
  await send();
  expect(titles()).toEqual(['Title of p1', 'Title of p2', 'Title of p1', 'Second', 'Third']);
});

test('a hook that fails holds up its post at no other hook', async () => {
  const { deps, add, send, publish } = await world();
  await add('signed', '/other');
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 })]);
  await publish('p1');
  await send();
  await editPost(deps, 'p1', { title: 'Second' });
  await send();
  expect(receiver.requests.map(({ path }) => path).sort()).toEqual(['/hook', '/other', '/other']);
});

test.each([429, 503])('Retry-After of a %d postpones the next attempt', async (status) => {
  const { clock, send, publish, messages } = await world();
  receiver.responses.set('/hook', [() => new Response(null, { status, headers: { 'retry-after': '600' } })]);
  await publish('p1');
  await send();
  expect(((await messages())[0]?.dueAt ?? 0) - clock.now().getTime()).toBe(600_000);
});

test('Retry-After shortens no wait, and counts for no other status', async () => {
  const { clock, send, publish, messages } = await world();
  const later = (status: number, value: string) => () =>
    new Response(null, { status, headers: { 'retry-after': value } });
  receiver.responses.set('/hook', [
    later(429, '600'),
    later(503, '1'),
    later(500, '9999'),
    () => new Response(),
  ]);
  await publish('p1');
  await send();
  const waitMs = async () => ((await messages())[0]?.dueAt ?? 0) - clock.now().getTime();
  expect(await waitMs()).toBe(600_000);
  clock.advance(600_000);
  await send();
  expect(await waitMs()).toBeWithin(55_000, 61_000);
  clock.advance(61_000);
  await send();
  expect(await waitMs()).toBeWithin(240_000, 270_000);
});

test('a Retry-After of more than a day is kept while other messages are sent', async () => {
  const { clock, send, publish, messages } = await world();
  const later = () => new Response(null, { status: 429, headers: { 'retry-after': '100000' } });
  receiver.responses.set('/hook', [later, () => new Response()]);
  await publish('p1');
  await send();
  const dueAt = (await messages())[0]?.dueAt;
  expect(dueAt).toBe(clock.now().getTime() + 100_000_000);
  // Messages of one millisecond have no order.
  clock.advance(1_000);
  await publish('p2');
  await send();
  expect((await messages()).map((each) => each.state)).toEqual(['queued', 'sent']);
  expect((await messages())[0]?.dueAt).toBe(dueAt ?? 0);
  expect(receiver.requests).toHaveLength(2);
});

test('a retry that was planned by a clock far ahead is sent once the clock is right', async () => {
  const { deps, clock, send, publish, messages } = await world();
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 }), () => new Response()]);
  const yearMs = 365 * 24 * HOUR;
  clock.advance(yearMs);
  await publish('p1');
  await send();
  clock.advance(-yearMs);
  await editPost(deps, 'p1', { title: 'Second' });
  await send();
  expect((await messages()).map(({ state }) => state)).toEqual(['sent', 'sent']);
  expect(receiver.requests).toHaveLength(3);
});

test('410 Gone disables the hook and ends its messages, which the audit log says', async () => {
  const { deps, app, hook, send, publish, messages } = await world();
  receiver.responses.set('/hook', [() => new Response(null, { status: 410 })]);
  await publish('p1');
  await editPost(deps, 'p1', { title: 'Second' });
  await send();
  expect((await deps.db.read((tx) => getHook(tx, hook.id))).isEnabled).toBeFalse();
  expect((await messages()).map(({ state }) => state)).toEqual(['failed', 'failed']);
  await publish('p2');
  await send();
  expect(receiver.requests).toHaveLength(1);
  const summaries = await valuesOf(app.db, "SELECT summary FROM audit_events WHERE action = 'hook.changed'");
  expect(summaries).toEqual([['disabled the hook “Site” because it responded 410 Gone']]);
});

test('redirects are failures, and nothing follows them', async () => {
  const { send, publish, messages, attemptsOf } = await world();
  receiver.responses.set('/hook', [() => Response.redirect(receiver.at('/elsewhere'), 307)]);
  await publish('p1');
  await send();
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook']);
  const [attempt] = await attemptsOf((await messages())[0]?.id ?? '');
  expect(attempt?.problem).toBe('Responded 307. Tidings follows no redirects.');
});

test('at most 1 KB of a response is read and kept', async () => {
  const { send, publish, messages, attemptsOf } = await world();
  receiver.responses.set('/hook', [() => new Response('x'.repeat(5_000_000), { status: 500 })]);
  await publish('p1');
  await send();
  const [attempt] = await attemptsOf((await messages())[0]?.id ?? '');
  expect(attempt?.response).toHaveLength(1024);
});

test('a receiver that does not respond fails the attempt, and holds up no other hook', async () => {
  const { deps, add, hook, publish, messages } = await world('signed', '/slow');
  await add('signed', '/quick');
  const answers = Promise.withResolvers<Response>();
  receiver.responses.set('/slow', [() => answers.promise]);
  for (let at = 0; at < 30; at++) await publish(`p${at}`);
  const send = createHookSender(deps, { timeoutMs: 20_000 });
  const sending = send();
  const count = (path: string) => receiver.requests.filter((each) => each.path === path).length;
  while (count('/quick') < 30) await Bun.sleep(5);
  // The bound for each hook.
  expect(count('/slow')).toBe(8);
  answers.resolve(new Response());
  await sending;
  expect((await messages(hook.id)).every(({ state }) => state === 'sent')).toBeTrue();
  // A connection that ends without a response.
  const failing = createHookSender(deps, { timeoutMs: 1 });
  receiver.responses.set('/slow', [() => new Promise(() => undefined)]);
  await publish('last');
  await failing();
  const last = (await messages(hook.id)).find(({ postId }) => postId === 'last');
  expect(last).toMatchObject({ state: 'queued', attempts: 1 });
});

test('100 edits within half a minute are one build', async () => {
  const { deps, clock, send, publish, messages } = await world('netlify', '/build_hooks/1');
  await publish('p1');
  for (let edit = 1; edit <= 100; edit++) {
    await editPost(deps, 'p1', { title: `Edit ${edit}` });
    if (edit % 20 === 0) await send();
    clock.advance(1_000);
  }
  clock.advance(9_000);
  await send();
  expect(receiver.requests).toEqual([]);
  clock.advance(20_000);
  await send();
  expect(receiver.requests).toHaveLength(1);
  const states = Map.groupBy(await messages(), ({ state }) => state);
  expect([states.get('sent')?.length, states.get('merged')?.length]).toEqual([1, 100]);
  expect(states.get('sent')?.[0]?.title).toBe('Edit 100');
});

test('a hook that was disabled in a burst waits again after its next change', async () => {
  const { deps, clock, hook, send, publish } = await world('netlify', '/build_hooks/1');
  await publish('p1');
  await send();
  await switchHook(deps, hook.id, false);
  clock.advance(HOUR);
  await switchHook(deps, hook.id, true);
  await editPost(deps, 'p1', { title: 'Later' });
  await send();
  clock.advance(20_000);
  await send();
  expect(receiver.requests).toEqual([]);
  clock.advance(11_000);
  await send();
  expect(receiver.requests).toHaveLength(1);
});

test('a channel does not hear of a post that was unpublished or deleted before its message was sent', async () => {
  const { deps, clock, send, publish, messages } = await world('slack');
  receiver.responses.set('/hook', [() => new Response('down', { status: 500 })]);
  await publish('p1');
  await publish('p2');
  await send();
  expect(receiver.requests).toHaveLength(2);
  await editPost(deps, 'p1', { status: 'draft' });
  await deletePost(deps, 'p2');
  await publish('p3');
  await editPost(deps, 'p3', { status: 'draft' });
  receiver.responses.clear();
  await send();
  clock.advance(HOUR);
  await send();
  expect(receiver.requests).toHaveLength(2);
  expect((await messages()).map(({ postId, state }) => [postId, state]).sort()).toEqual([
    ['p1', 'merged'],
    ['p2', 'merged'],
  ]);
});

test('a build starts after five minutes, however many edits follow each other', async () => {
  const { deps, clock, send, publish } = await world('vercel', '/deploy');
  await publish('p1');
  for (let edit = 1; receiver.requests.length === 0; edit++) {
    expect(edit).toBeLessThan(40);
    await editPost(deps, 'p1', { title: `Edit ${edit}` });
    await send();
    clock.advance(20_000);
    await send();
  }
});

test.each([
  ['netlify', '{}', 'application/json'],
  ['vercel', '', undefined],
  ['cloudflare', '', undefined],
] as const)('%s gets a POST to its secret URL', async (kind, body, type) => {
  const { clock, send, publish } = await world(kind, '/build?trigger_title=Post');
  await publish('p1');
  await send();
  clock.advance(30_000);
  await send();
  expect(receiver.requests).toHaveLength(1);
  expect(receiver.requests[0]).toMatchObject({ method: 'POST', path: '/build?trigger_title=Post', body });
  expect(receiver.requests[0]?.headers['content-type']).toBe(type as string);
  expect(receiver.requests[0]?.headers).not.toContainKey('webhook-signature');
});

test.each([
  ['slack', { text: '<https://tidings.test/changelog/acme/p1|&lt;!channel&gt; *A* &amp; [b](c) @everyone>' }],
  [
    'discord',
    {
      content:
        '**\\<!channel\\> \\*A\\* & \\[b\\]\\(c\\) \\@everyone**\nhttps://tidings.test/changelog/acme/p1',
      allowed_mentions: { parse: [] },
    },
  ],
] as const)('%s gets the title with a link, its markup escaped, for new posts alone', async (kind, body) => {
  const { deps, send, publish } = await world(kind);
  await changePublication(deps, 'org_a', { isPageOn: true, slug: 'acme' });
  await publish('p1', '<!channel> *A* & [b](c) @everyone');
  await editPost(deps, 'p1', { title: 'Better' });
  await send();
  expect(receiver.requests.map((each) => JSON.parse(each.body))).toEqual([body]);
});

test('an import does not flood a channel', async () => {
  const { app, clock, send, messages } = await world('slack');
  const createdAt = clock.now().toISOString();
  const posts = (from: number, count: number, createdAt: string) =>
    Array.from({ length: count }, (_, at) => ({ ...examplePost(1), id: `p${from + at}`, createdAt }));
  await app.addPosts('org_a', ...posts(0, 50, '2020-01-01T00:00:00.000Z'));
  await send();
  expect([receiver.requests.length, await messages()]).toEqual([0, []]);
  await app.addPosts('org_a', ...posts(50, 50, createdAt));
  await send();
  expect(receiver.requests).toHaveLength(10);
  const states = (await messages()).map(({ state }) => state);
  expect(states.filter((state) => state === 'merged')).toHaveLength(40);
});

test('disabling drops what is queued; sending again needs an enabled hook', async () => {
  const { deps, hook, clock, send, publish, messages } = await world();
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 })]);
  await publish('p1');
  await publish('p2');
  await send();
  await switchHook(deps, hook.id, false);
  clock.advance(HOUR);
  await send();
  expect(receiver.requests).toHaveLength(2);
  expect((await messages()).map(({ state }) => state)).toEqual(['failed', 'failed']);
  await expect(resendFailed(deps, hook.id)).rejects.toMatchObject({ code: 'hook_disabled' });

  await switchHook(deps, hook.id, true);
  receiver.responses.clear();
  expect(await resendFailed(deps, hook.id)).toBe(2);
  await send();
  expect((await messages()).map(({ state }) => state)).toEqual(['sent', 'sent']);
  const [first] = await messages();
  await resendMessage(deps, hook.id, first?.id ?? '');
  await send();
  const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
  expect(ids.filter((id) => id === first?.id)).toHaveLength(3);
  await expect(resendMessage(deps, hook.id, 'msg_other')).rejects.toMatchObject({ status: 404 });
});

test('one build stands for all failed messages of a deploy hook that are sent again', async () => {
  const { deps, hook, clock, send, publish, messages } = await world('netlify', '/build_hooks/1');
  for (const id of ['p1', 'p2', 'p3']) {
    await publish(id);
    await send();
    await switchHook(deps, hook.id, false);
    await switchHook(deps, hook.id, true);
    clock.advance(MINUTE);
  }
  expect((await messages()).map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
  expect(await resendFailed(deps, hook.id)).toBe(1);
  await send();
  expect(receiver.requests).toHaveLength(1);
  expect((await messages()).map(({ state }) => state)).toEqual(['merged', 'merged', 'sent']);
});

test('a deleted hook sends nothing and leaves nothing', async () => {
  const { deps, app, hook, send, publish } = await world();
  await publish('p1');
  await deleteHook(deps, hook.id);
  await send();
  expect(receiver.requests).toEqual([]);
  expect(await valuesOf(app.db, 'SELECT id FROM hook_messages')).toEqual([]);
});

test('after a rotation both secrets verify for 24 hours, then the new one alone', async () => {
  const { deps, hook, clock } = await world();
  const { secret } = await rotateSecret(deps, hook.id);
  expect(secret).not.toBe(hook.secret ?? '');
  await sendTest(deps, hook.id);
  const [both] = receiver.requests;
  if (both === undefined) throw new Error('no request');
  expect(verified(secret, both).type).toBe('hook.test');
  expect(verified(hook.secret ?? '', both).type).toBe('hook.test');
  clock.advance(24 * HOUR);
  await sendTest(deps, hook.id);
  expect(receiver.requests[1]?.headers['webhook-signature']?.split(' ')).toHaveLength(1);
});

test('a test message returns what the receiver responded, and leaves no message', async () => {
  const { deps, hook, messages } = await world();
  receiver.responses.set('/hook', [() => new Response('no', { status: 418 })]);
  expect(await sendTest(deps, hook.id)).toMatchObject({
    statusCode: 418,
    problem: 'Responded 418.',
    response: 'no',
  });
  expect(await messages()).toEqual([]);
});

test('a name that resolves to a private address is refused at each connection', async () => {
  const { deps, clock, publish, messages, attemptsOf } = await world();
  const { id } = await createHook(deps, {
    organizationId: 'org_a',
    name: 'Rebinding',
    kind: 'signed',
    url: 'https://rebinding.example/hook',
  });
  const answers = [['93.184.216.34', '127.0.0.1'], ['169.254.169.254'], ['::ffff:10.0.0.1'], []];
  let asked = 0;
  const send = createHookSender(deps, { resolve: async () => answers[asked++] ?? [] });
  await publish('p1');
  for (const _ of answers) {
    await send();
    clock.advance(10 * MINUTE);
  }
  expect(asked).toBe(4);
  const attempts = await attemptsOf((await messages(id))[0]?.id ?? '');
  expect(new Set(attempts.map(({ problem }) => problem))).toEqual(
    new Set([
      'Rebinding.example is not on the public internet. To allow this host, set HOOK_PRIVATE_HOSTS for the server and for commands.',
    ]),
  );
});

test('the connection goes to the address that was checked, without a second lookup', async () => {
  const { deps, publish, messages } = await world();
  const { id } = await createHook(
    { ...deps, hookPrivateHosts: new Set(['site.example']) },
    {
      organizationId: 'org_a',
      name: 'Site',
      kind: 'signed',
      url: receiver.at('/').replace('127.0.0.1', 'site.example'),
    },
  );
  let asked = 0;
  const resolve = async () => (asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']);
  const send = createHookSender(
    { ...deps, hookPrivateHosts: new Set(['127.0.0.1', 'site.example']) },
    { resolve },
  );
  await publish('p1');
  await send();
  expect(asked).toBe(1);
  expect((await messages(id))[0]?.state).toBe('sent');
  expect(receiver.requests).toHaveLength(2);
});

test('the sweeper deletes messages after the retention of the plan', async () => {
  const { app, clock, send, publish } = await world();
  const { sweep } = await import('../../src/server/sweep.ts');
  await publish('p1');
  await send();
  clock.advance(7 * 24 * HOUR - 1);
  await sweep(app.deps, { confirmed: clock.now() });
  const left = () => valuesOf(app.db, 'SELECT id FROM hook_messages UNION ALL SELECT id FROM hook_attempts');
  expect(await left()).toHaveLength(2);
  clock.advance(1);
  await sweep(app.deps, { confirmed: clock.now() });
  expect(await left()).toEqual([]);
});

test('a hook counts as failing when its messages have failed for a day, until one is sent', async () => {
  const { app, deps, hook, clock, send, publish } = await world();
  const failing = async () =>
    (await app.db.read((tx) => findInDatabase(tx, clock.now())))
      .filter(({ kind }) => kind === 'hook_failed')
      .map(({ subject, message }) => ({ subject, message }));
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 })]);
  await publish('p1');
  expect(await app.db.read(measureOutbox)).toEqual({ queued: 1, dueSince: null });
  await send();
  clock.advance(24 * HOUR - 1);
  expect(await failing()).toEqual([]);
  const { dueSince } = await app.db.read(measureOutbox);
  expect(clock.now().getTime() - (dueSince ?? 0)).toBeWithin(23 * HOUR, 24 * HOUR);
  clock.advance(1);
  expect(await failing()).toEqual([
    { subject: hook.id, message: 'The hook “Site” fails: 1 message could not be sent' },
  ]);
  receiver.responses.clear();
  await publish('p2');
  await send();
  expect(await failing()).toEqual([]);
  expect(await deps.db.read(measureOutbox)).toEqual({ queued: 0, dueSince: null });
  expect(await app.deps.metrics.registry.render()).toContain(
    'tidings_hook_attempts_total{kind="signed",outcome="failed"} 1',
  );
});

test('a message keeps its newest attempts, however often it is sent again', async () => {
  const { deps, hook, clock, send, publish, messages, attemptsOf } = await world();
  await publish('p1');
  await send();
  const [message] = await messages();
  const id = message?.id ?? '';
  for (let again = 0; again < 20; again++) {
    clock.advance(1_000);
    await resendMessage(deps, hook.id, id);
    await send();
  }
  const attempts = await attemptsOf(id);
  expect(attempts).toHaveLength(16);
  expect(attempts.at(-1)?.startedAt).toBe(clock.now().toISOString());
});

test('a stop waits for requests under way and stores their outcome; it starts no others', async () => {
  const { send, publish, messages } = await world();
  const response = Promise.withResolvers<Response>();
  receiver.responses.set('/hook', [() => response.promise]);
  for (let at = 0; at < 10; at++) await publish(`p${at}`);
  const abort = new AbortController();
  const sending = send(abort.signal);
  while (receiver.requests.length < 8) await Bun.sleep(5);
  abort.abort();
  response.resolve(new Response());
  await sending;
  const states = (await messages()).map(({ state }) => state);
  expect(states.filter((state) => state === 'sent')).toHaveLength(8);
  expect(states.filter((state) => state === 'queued')).toHaveLength(2);
});

test('a message whose outcome was not stored is sent again with the same id', async () => {
  const { deps, send, publish, messages } = await world();
  await publish('p1');
  const isDown = { ...deps, db: { ...deps.db, write: () => Promise.reject(new Error('the disk is full')) } };
  // Accepted before the failure.
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 }), () => new Response()]);
  await send();
  await execute(deps.db, 'UPDATE hook_messages SET due_at = 1');
  await expect(createHookSender(isDown)()).rejects.toThrow('the disk is full');
  expect((await messages())[0]).toMatchObject({ state: 'queued', attempts: 1 });
  await send();
  expect((await messages())[0]).toMatchObject({ state: 'sent', attempts: 2 });
  expect(receiver.requests).toHaveLength(3);
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('a retry that was planned with a clock set ahead happens once the clock is right', async () => {
  const { clock, send, publish, messages } = await world();
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 }), () => new Response()]);
  const right = clock.now();
  clock.advance(365 * 24 * HOUR);
  await publish('p1');
  await send();
  clock.set(right.toISOString());
  await send();
  expect((await messages()).map(({ state }) => state)).toEqual(['sent']);
});

testSqlite('looking for work walks no queue', async () => {
  const { app } = await world();
  const plan = async (query: string) =>
    (await valuesOf(app.db, `EXPLAIN QUERY PLAN ${query}`)).map((row) => row.at(-1)).join('; ');
  const queued = "FROM hook_messages WHERE state = 'queued'";
  expect(await plan(`SELECT (SELECT min(due_at) ${queued}), (SELECT max(due_at) ${queued})`)).toMatch(
    /SEARCH hook_messages USING COVERING INDEX hook_messages_queued.*SEARCH hook_messages USING COVERING INDEX/,
  );
  expect(
    await plan(`SELECT * ${queued} AND hook_id = 'a' AND due_at > 0 AND due_at <= 5 ORDER BY due_at`),
  ).toBe(
    'SEARCH hook_messages USING INDEX hook_messages_queued_by_hook (hook_id=? AND due_at>? AND due_at<?)',
  );
});
