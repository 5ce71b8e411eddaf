import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { tidings } from '../../src/lib/build.ts';
import { formatInZone } from '../../src/lib/time.ts';
import { listAttention, muteAttention } from '../../src/people/attention.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { listMessages } from '../../src/readers/hooks/message-store.ts';
import type { HookKind, HookSubject } from '../../src/readers/hooks/model.ts';
import { endNotices, MAX_NOTICES } from '../../src/readers/hooks/notices.ts';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import { createHook, sendTest, switchHook } from '../../src/readers/hooks/service.ts';
import { attentionJob } from '../../src/server/attention.ts';
import { temporaryFolder } from '../support/cli.ts';
import { fixedClock } from '../support/clock.ts';
import { execute } from '../support/database.ts';
import { connectGithub, githubRequest } from '../support/deliveries.ts';
import { refuseRows } from '../support/faults.ts';
import { LOCAL_HOSTS, startHookReceiver, verified } from '../support/hook-receiver.ts';
import { appWithOrganization, PUBLIC_URL } from '../support/test-app.ts';

const receiver = startHookReceiver();
const folder = temporaryFolder();
afterAll(() => {
  receiver[Symbol.dispose]();
  folder.remove();
});
beforeEach(() => {
  receiver.requests.length = 0;
  receiver.responses.clear();
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** With a hook at `/hook` that tells `org_a` what needs attention. */
async function world({
  kind = 'signed',
  about = 'attention',
}: {
  kind?: HookKind;
  about?: HookSubject;
} = {}) {
  // The library that verifies signatures compares their time with the real one.
  const clock = fixedClock(new Date().toISOString());
  const app = await appWithOrganization({
    clock,
    hookPrivateHosts: LOCAL_HOSTS,
    organizations: ['org_a', 'org_b'],
  });
  const { deps, db } = app;
  const add = (path: string, more: { about?: HookSubject; organizationId?: string; kind?: HookKind } = {}) =>
    createHook(deps, {
      ...{ organizationId: 'org_a', name: 'Alerts', kind, about },
      ...more,
      url: receiver.at(path),
    });
  const hook = await add('/hook');
  const failures = { inARow: 0 };
  const job = attentionJob(
    { ...deps, db, checkpointFailures: () => ({ total: 1, cause: 'SQLITE_IOERR', ...failures }) },
    { dataDir: folder.path, backups: undefined, database: undefined },
  );
  const look = async () => void (await job.run(new AbortController().signal));
  const send = createHookSender(deps);
  /** A scheduled post that was not published at its time. */
  const begin = async (id: string, organizationId = 'org_a', title = `Post ${id}`) => {
    const at = clock.now();
    await app.addPosts(organizationId, { id, title, status: 'draft' });
    await execute(
      db,
      `INSERT INTO post_schedules (post_id, organization_id, publish_at, time_zone, created_at)
       VALUES ('${id}', '${organizationId}', ${at.getTime() - 5 * MINUTE}, 'UTC', '${at.toISOString()}')`,
    );
  };
  const end = (id: string) => execute(db, `DELETE FROM post_schedules WHERE post_id = '${id}'`);
  const tell = async () => {
    await look();
    await send();
  };
  const messages = async (hookId = hook.id) =>
    (await db.read((tx) => listMessages(tx, hookId, { limit: 100 }))).reverse();
  return { app, deps, db, clock, hook, failures, add, look, send, tell, begin, end, messages };
}

const dataAt = (path: string) =>
  receiver.requests.filter((each) => each.path === path).map(({ body }) => JSON.parse(body).data);
/** `began schedule_late:p1`, and what was held back, of the requests to a path. */
const toldAt = (path = '/hook') =>
  dataAt(path).map(({ state, itemId, heldBack: { began, ended } }) =>
    [state, itemId, ...(began + ended > 0 ? [`+${began} -${ended}`] : [])].filter(Boolean).join(' '),
  );

test('1,000 failing deliveries of one cause give two messages: one when it begins, one when it ends', async () => {
  const { app, clock, hook, tell } = await world();
  const connected = await connectGithub(app, 'org_a');
  const deliver = (secret = connected.secret) =>
    app.request(
      ...githubRequest(connected, samplePayload('github', 'release', { now: clock.now() }), {
        event: 'release',
        secret,
      }),
    );
  for (let number = 0; number < 1_000; number++) {
    await deliver('wrong');
    clock.advance(1_000);
    if (number % 5 === 0) await tell();
  }
  await deliver();
  await tell();
  clock.advance(2 * HOUR);
  await tell();
  expect(toldAt()).toEqual([
    `began deliveries_rejected:${connected.integrationId}`,
    `ended deliveries_rejected:${connected.integrationId}`,
  ]);
  const [first] = receiver.requests;
  if (first === undefined) throw new Error('no request');
  expect(verified(hook.secret ?? '', first)).toMatchObject({ type: 'attention.began' });
});

test('the payload has all facts of the item, with a link to its page', async () => {
  const { clock, tell, begin, end } = await world();
  await begin('p1');
  const since = new Date(clock.now().getTime() - 5 * MINUTE).toISOString();
  await tell();
  const facts = {
    organizationId: 'org_a',
    itemId: 'schedule_late:p1',
    kind: 'schedule_late',
    since,
    count: 1,
    message: '“Post p1” was not published at its time',
    effect: 'Readers do not see the post.',
    action: `${tidings} post publish p1`,
    link: `${PUBLIC_URL}/dashboard/org_a/posts/p1`,
    heldBack: { began: 0, ended: 0 },
  };
  await end('p1');
  await tell();
  expect(dataAt('/hook')).toEqual([
    { state: 'began', ...facts },
    { state: 'ended', ...facts },
  ]);
});

test('hooks about posts get no notices, and those about attention no posts', async () => {
  const { app, add, tell, begin } = await world();
  await add('/posts', { about: 'posts' });
  await begin('p1');
  await app.addPosts('org_a', { id: 'p2', status: 'published' });
  await tell();
  expect(receiver.requests.map(({ path, body }) => [path, JSON.parse(body).type]).sort()).toEqual([
    ['/hook', 'attention.began'],
    ['/posts', 'post.published'],
  ]);
});

test('a hook gets the items of its own organization, and those of the server only if it says so', async () => {
  const { add, failures, tell, begin } = await world();
  await add('/other', { organizationId: 'org_b' });
  await add('/server', { about: 'attention-and-server' });
  await begin('a');
  await begin('b', 'org_b');
  failures.inARow = 1;
  await tell();
  expect(toldAt()).toEqual(['began schedule_late:a']);
  expect(toldAt('/other')).toEqual(['began schedule_late:b']);
  expect(toldAt('/server').sort()).toEqual(['began checkpoint_failing:server', 'began schedule_late:a']);
  const ofServer = dataAt('/server').find(({ kind }) => kind === 'checkpoint_failing');
  expect(ofServer).toMatchObject({ organizationId: null, link: `${PUBLIC_URL}/dashboard/org_a/attention` });
});

describe('the limit', () => {
  test('is six messages an hour, and a summary tells what was held back', async () => {
    const { clock, tell, begin, end } = await world();
    for (let number = 1; number <= 9; number++) {
      await begin(`p${number}`);
      await tell();
      clock.advance(1_000);
    }
    await end('p9');
    await tell();
    expect(toldAt()).toEqual([1, 2, 3, 4, 5, 6].map((number) => `began schedule_late:p${number}`));
    clock.advance(HOUR - 5_000);
    await tell();
    expect(receiver.requests).toHaveLength(MAX_NOTICES);
    clock.advance(5_000);
    await tell();
    expect(toldAt().slice(MAX_NOTICES)).toEqual(['summary +3 -1']);
    expect(dataAt('/hook').at(-1)).toMatchObject({
      message: '3 items began and 1 ended',
      effect: '8 items need attention now.',
      link: `${PUBLIC_URL}/dashboard/org_a/attention`,
    });
    clock.advance(HOUR);
    await tell();
    expect(receiver.requests).toHaveLength(MAX_NOTICES + 1);
  });

  test('holds back the rest of many items that begin at once, and the last message says so', async () => {
    const { tell, begin } = await world();
    for (let number = 1; number <= 20; number++) await begin(`p${number}`);
    await tell();
    expect(toldAt()).toHaveLength(MAX_NOTICES);
    expect(toldAt().filter((line) => line.endsWith(' +14 -0'))).toHaveLength(1);
  });

  test('holds while a receiver is down, and after it is back', async () => {
    const { clock, look, send, tell, begin, messages } = await world();
    receiver.responses.set('/hook', [() => new Response(null, { status: 500 })]);
    for (let hour = 0; hour < 5; hour++) {
      for (let number = 0; number < 4; number++) await begin(`p${hour}-${number}`);
      await tell();
      clock.advance(HOUR);
    }
    expect((await messages()).filter(({ state }) => state === 'queued')).toHaveLength(MAX_NOTICES);
    receiver.responses.clear();
    receiver.requests.length = 0;
    clock.advance(12 * HOUR);
    for (let minute = 0; minute < 59; minute++) {
      await look();
      await send();
      clock.advance(MINUTE);
    }
    expect(receiver.requests).toHaveLength(MAX_NOTICES);
    clock.advance(HOUR);
    await tell();
    // Another two were counted in the last message before there was no room.
    expect(toldAt().slice(MAX_NOTICES)).toEqual(['summary +12 -0']);
  });
});

test('an item that comes and goes is told once an hour, and counted in between', async () => {
  const { clock, tell, begin, end } = await world();
  for (let second = 0; second < 3 * 3_600; second += 60) {
    await begin('p1');
    await tell();
    clock.advance(30_000);
    await end('p1');
    await tell();
    clock.advance(30_000);
  }
  expect(toldAt().slice(0, 3)).toEqual([
    'began schedule_late:p1',
    'ended schedule_late:p1',
    expect.stringMatching(/ \+\d+ -\d+$/),
  ]);
  expect(toldAt().length).toBeLessThanOrEqual(9);
  const total = (state: string) =>
    dataAt('/hook').reduce((sum, each) => sum + each.heldBack[state] + (each.state === state ? 1 : 0), 0);
  expect([total('began'), total('ended')].every((each) => each > 120 && each <= 180)).toBeTrue();
});

test('another item is told while one comes and goes, with the number that was held back', async () => {
  const { tell, begin, end } = await world();
  for (let time = 0; time < 10; time++) {
    await begin('p1');
    await tell();
    await end('p1');
    await tell();
  }
  await begin('p2');
  await tell();
  expect(toldAt()).toEqual([
    'began schedule_late:p1',
    'ended schedule_late:p1',
    'began schedule_late:p2 +9 -9',
  ]);
});

describe('a muted item', () => {
  const of = { organizationId: 'org_a', withServer: false };

  test('sends nothing when it ends, and again after the mute', async () => {
    const { db, clock, tell, begin, end } = await world();
    await begin('p1');
    await begin('p2');
    await tell();
    receiver.requests.length = 0;
    const until = new Date(clock.now().getTime() + HOUR).toISOString();
    for (const id of ['p1', 'p2']) await muteAttention(db, of, `schedule_late:${id}`, until, endNotices);
    await end('p1');
    await tell();
    expect(toldAt()).toEqual([]);
    clock.advance(HOUR);
    await end('p2');
    await tell();
    expect(toldAt()).toEqual(['ended schedule_late:p2']);
  });

  test('is not told of by a message that was still queued', async () => {
    const { db, look, send, begin, messages } = await world();
    await begin('p1');
    await look();
    await muteAttention(db, of, 'schedule_late:p1', '2999-01-01T00:00:00.000Z', endNotices);
    await send();
    expect(receiver.requests).toEqual([]);
    expect((await messages()).map(({ state }) => state)).toEqual(['merged']);
  });
});

describe('a crash', () => {
  test('before the list is stored leaves neither an item nor a message', async () => {
    const { db, look, tell, begin, messages } = await world();
    await begin('p1');
    const mend = await refuseRows(db, 'insert', 'hook_messages', 'disk I/O error');
    await expect(look()).rejects.toThrow();
    await mend();
    expect(await db.read((tx) => listAttention(tx))).toEqual([]);
    expect(await messages()).toEqual([]);
    await tell();
    expect(toldAt()).toEqual(['began schedule_late:p1']);
  });

  test('between the list and the request loses no message, and repeats none', async () => {
    const { deps, look, begin } = await world();
    await begin('p1');
    await look();
    // Others after a restart.
    await look();
    await createHookSender(deps)();
    await look();
    await createHookSender(deps)();
    expect(toldAt()).toEqual(['began schedule_late:p1']);
  });
});

describe('an item that ends before its message could be sent', () => {
  test('is told in one message when the receiver is back', async () => {
    const { clock, tell, begin, end, messages } = await world();
    receiver.responses.set('/hook', [() => new Response(null, { status: 503 }), () => new Response()]);
    await begin('p1');
    await tell();
    await end('p1');
    await tell();
    clock.advance(HOUR);
    await tell();
    expect(toldAt()).toEqual(['began schedule_late:p1', 'ended schedule_late:p1']);
    expect((await messages()).map(({ state }) => state)).toEqual(['merged', 'sent']);
  });

  test('is told in order when nothing was tried yet', async () => {
    const { look, send, begin, end } = await world();
    await begin('p1');
    await look();
    await end('p1');
    await look();
    await send();
    expect(toldAt()).toEqual(['began schedule_late:p1', 'ended schedule_late:p1']);
  });
});

test('a failure of the messenger is an item, which only other hooks hear of', async () => {
  const { db, clock, hook, add, tell, begin } = await world();
  await add('/other');
  receiver.responses.set('/hook', [() => new Response(null, { status: 500 })]);
  await begin('p1');
  for (let minute = 0; minute < 10; minute++) {
    await tell();
    clock.advance(MINUTE);
  }
  const [, failing] = await db.read((tx) => listAttention(tx));
  expect(failing).toMatchObject({
    id: `hook_failed:${hook.id}`,
    effect: 'Nobody is told what needs attention.',
  });
  expect(toldAt('/other')).toEqual(['began schedule_late:p1', `began hook_failed:${hook.id}`]);
  receiver.responses.clear();
  clock.advance(HOUR);
  await tell();
  await tell();
  expect(toldAt('/other')).toHaveLength(3);
  expect(toldAt().every((line) => line === 'began schedule_late:p1')).toBeTrue();
});

test('a messenger whose receiver is gone is an item until a person enables or deletes it', async () => {
  const { db, deps, hook, add, tell, begin } = await world();
  const other = await add('/other');
  receiver.responses.set('/hook', [() => new Response(null, { status: 410 }), () => new Response()]);
  await begin('p1');
  await tell();
  await tell();
  const failing = async () =>
    (await db.read((tx) => listAttention(tx))).filter(({ kind }) => kind === 'hook_failed');
  expect((await failing())[0]?.message).toContain(
    'Tidings disabled it because the receiver responded 410 Gone',
  );
  expect(toldAt('/other')).toEqual(['began schedule_late:p1', `began hook_failed:${hook.id}`]);
  await switchHook(deps, other.id, false);
  await switchHook(deps, hook.id, true);
  await begin('p2');
  await tell();
  await tell();
  expect(await failing()).toEqual([]);
});

test('a disabled hook gets nothing later of what happened meanwhile', async () => {
  const { deps, clock, hook, tell, begin } = await world();
  for (let number = 0; number < 8; number++) await begin(`p${number}`);
  await tell();
  await begin('p9');
  await tell();
  await switchHook(deps, hook.id, false);
  await begin('p10');
  await tell();
  await switchHook(deps, hook.id, true);
  clock.advance(2 * HOUR);
  await tell();
  expect(receiver.requests).toHaveLength(MAX_NOTICES);
});

describe('channels', () => {
  const title = 'Q&A <!channel> *now* `x` [a](https://evil.test) @everyone | _b_';

  test('Slack gets the item with its link, and nothing of it is markup', async () => {
    const { clock, tell, begin, end } = await world({ kind: 'slack' });
    await begin('p1', 'org_a', title);
    await tell();
    clock.advance(2 * HOUR);
    await end('p1');
    await tell();
    const link = `${PUBLIC_URL}/dashboard/org_a/posts/p1`;
    const from = formatInZone(clock.now().getTime() - 2 * HOUR - 5 * MINUTE, 'UTC');
    const label = `“${title.replace('&', '&amp;').replace('<!channel>', '&lt;!channel&gt;')}” was not published at its time`;
    expect(receiver.requests.map(({ body }) => JSON.parse(body))).toEqual([
      {
        text: `*Needs attention:* <${link}|${label}>\nReaders do not see the post. Since ${from}.\nWhat to do: ${tidings} post publish p1`,
      },
      { text: `*No longer needs attention:* <${link}|${label}>\nIt lasted 2 h, since ${from}.` },
    ]);
  });

  test('Discord gets it without a mention or markup, and the link without a preview', async () => {
    const { tell, begin } = await world({ kind: 'discord' });
    await begin('p1', 'org_a', title);
    await tell();
    const { content, allowed_mentions } = JSON.parse(receiver.requests[0]?.body ?? '');
    expect(allowed_mentions).toEqual({ parse: [] });
    expect(content.split('\n')).toEqual([
      '**Needs attention:** “Q&A \\<!channel\\> \\*now\\* \\`x\\` \\[a\\]\\(https\\://evil.test\\) \\@everyone \\| \\_b\\_” was not published at its time',
      expect.stringMatching(
        /^Readers do not see the post. Since [A-Z][a-z]{2} \d+, \d{4}, \d\d\\:\d\d UTC.$/,
      ),
      `What to do\\: ${tidings.replaceAll(/[-@]/g, '\\$&')} post publish p1`,
      `<${PUBLIC_URL}/dashboard/org_a/posts/p1>`,
    ]);
  });

  test('a message says what was held back before it, and fits', async () => {
    const { tell, begin } = await world({ kind: 'discord' });
    for (let number = 0; number < 8; number++) await begin(`p${number}`, 'org_a', '*'.repeat(300));
    await tell();
    const contents = receiver.requests.map(({ body }): string => JSON.parse(body).content);
    expect(
      contents.filter((text) => text.includes('Held back since the message before\\: 2 began')),
    ).toHaveLength(1);
    expect(contents.every((text) => text.length <= 2_000)).toBeTrue();
  });
});

test('a test message has the form of the others', async () => {
  const { deps, hook, add } = await world();
  expect(await sendTest(deps, hook.id)).toMatchObject({ statusCode: 204 });
  await sendTest(deps, (await add('/slack', { kind: 'slack' })).id);
  const [signed, slack] = receiver.requests.map(({ body }) => JSON.parse(body));
  expect(signed).toMatchObject({
    type: 'hook.test',
    data: { state: 'began', kind: 'test', message: 'Test message from Tidings' },
  });
  expect(slack.text).toContain(`|Test message from Tidings>\nNothing is wrong.`);
});

test('a hook that starts builds follows posts', async () => {
  const { add } = await world();
  await expect(add('/build', { kind: 'netlify' })).rejects.toThrow('must be posts');
});
