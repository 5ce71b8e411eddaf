import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import {
  candidates,
  MAX_EXAMINED_BYTES,
  MAX_OTHERS,
  MAX_PER_INTEGRATION,
} from '../../src/intake/receiver/signature-doctor.ts';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { github } from '../../src/providers/github/provider.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { execute } from '../support/database.ts';
import { appWithGithub, connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import type { TestApp } from '../support/test-app.ts';

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
});

/** Sends it in a minute of its own. Says which cause the log tells, and why in words. */
async function causeOf(body: string | Uint8Array, secret: string, to = connected) {
  app.clock.advance(60_000);
  const response = await app.request(...githubRequest(to, body, { event: 'push', secret }));
  expect(response.status).toBe(401);
  const [entry] = await logOf(app);
  expect(entry?.createdAt).toBe(app.clock.now().toISOString());
  return { cause: entry?.payload.data?.signature, reason: entry?.reason };
}

const errors = () => app.logged.filter(({ level }) => level === 'error');

/** Puts a secret into the database as it would be sealed. */
async function setSecret(integrationId: string, secret: Buffer): Promise<void> {
  await execute(app.db, sql`UPDATE integrations SET secret = ${secret} WHERE id = ${integrationId}`);
}

describe('the work for an unverified sender is bounded', () => {
  test('a body over 128 KiB is not looked into', async () => {
    const secret = `${connected.secret}\n`;
    expect(await causeOf('x'.repeat(MAX_EXAMINED_BYTES), secret)).toMatchObject({ cause: 'whitespace' });
    expect(await causeOf('x'.repeat(MAX_EXAMINED_BYTES + 1), secret)).toEqual({
      cause: 'too-large',
      reason:
        'The delivery was not signed with the secret of this integration. The body has more than 128 KiB, so Tidings did not look for the cause. A smaller delivery may show it. Set the secret again at GitHub, or rotate it and set the new one.',
    });
  });

  test('of more than 50 other integrations the newest are looked at', async () => {
    const others: Connected[] = [];
    for (let n = 0; n <= MAX_OTHERS; n++) {
      app.clock.advance(1);
      others.push(await connectGithub(app, 'org_a', `acme/other-${n}`));
    }
    const [oldest, second] = others;
    expect(await causeOf('{}', second?.secret ?? '')).toMatchObject({ cause: 'other-integration' });
    const { cause, reason } = await causeOf('{}', oldest?.secret ?? '');
    expect(cause).toBe('unknown');
    expect(reason).toContain('the secrets of the 50 newest other integrations of this organization;');
  });

  test('three of an integration are examined in a minute; the next minute is another one', async () => {
    const other = await connectGithub(app, 'org_a', 'acme/pad');
    const send = (to: Connected) => app.request(...githubRequest(to, '{}', { secret: `${to.secret} ` }));
    for (let n = 0; n < MAX_PER_INTEGRATION + 4; n++) expect((await send(connected)).status).toBe(401);
    await send(other);
    const told = async () =>
      (await logOf(app))
        .map(({ integrationId, payload, count }) => [integrationId, payload.data?.signature, count])
        .sort();
    const first = [
      [connected.integrationId, 'not-examined', 4],
      [connected.integrationId, 'whitespace', 3],
      [other.integrationId, 'whitespace', 1],
    ];
    expect(await told()).toEqual(first.sort());
    const [entry] = (await logOf(app)).filter(({ payload }) => payload.data?.signature === 'not-examined');
    expect(entry?.reason).toBe(
      'The delivery was not signed with the secret of this integration. Tidings did not look for the cause again, because it examined enough rejected deliveries in this minute. See the other entries of this minute.',
    );
    app.clock.advance(60_000);
    await send(connected);
    expect(await told()).toEqual([...first, [connected.integrationId, 'whitespace', 1]].sort());
  });

  test('a hundred of all integrations are examined in a minute', async () => {
    const causes: unknown[] = [];
    for (let n = 0; n < 35; n++) {
      const to = await connectGithub(app, 'org_a', `acme/many-${n}`);
      for (let m = 0; m < MAX_PER_INTEGRATION; m++) {
        await app.request(...githubRequest(to, '{}', { secret: `${to.secret} ` }));
      }
    }
    for (const { payload, count } of await logOf(app)) {
      causes.push(...Array(count).fill(payload.data?.signature));
    }
    expect(causes.filter((cause) => cause === 'whitespace')).toHaveLength(100);
    expect(causes.filter((cause) => cause === 'not-examined')).toHaveLength(5);
  });

  test('a delivery that is signed well is verified once, and nothing else is done', async () => {
    let verified = 0;
    const counting = {
      ...github,
      isSigned: (...words: Parameters<typeof github.isSigned>) => {
        verified++;
        return github.isSigned(...words);
      },
    };
    ({ app, connected } = await appWithGithub({ providers: [counting] }));
    expect((await app.request(...githubRequest(connected, { zen: 'x' }))).status).toBe(200);
    expect(verified).toBe(1);
    expect((await app.request(...githubRequest(connected, { zen: 'x' }, { secret: 'x' }))).status).toBe(401);
    expect(verified).toBeGreaterThan(10);
  });
});

describe('every wrong signature gets 401', () => {
  test.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['deep lists', '['.repeat(100_000)],
    ['deep lists that end', `${'['.repeat(60_000)}${'\\n'}${']'.repeat(60_000)}`],
    ['deep objects', '{"a":'.repeat(20_000)],
    ['an open string', `{"a":"${'\\"'.repeat(50_000)}`],
    ['half an escape', '{"a":"\\u12"}'],
    ['a lone surrogate', '{"a":"\\ud800"}'],
    ['no UTF-8', Uint8Array.of(0x7b, 0xff, 0xfe, 0x22, 0x5c)],
    ['a broken form', `payload=${'%'.repeat(1_000)}`],
    ['a form without its field', '&payload&payload=&'],
    ['zeros', new Uint8Array(1_000)],
  ])('%s', async (_, body) => {
    expect(await causeOf(body, 'wrong')).toMatchObject({ cause: 'unknown' });
    expect(errors()).toEqual([]);
  });

  test('a search that fails is unknown, and the server logs the error', async () => {
    let calls = 0;
    const failing = {
      ...github,
      isSigned: () => {
        if (calls++ > 0) throw new Error('out of order');
        return false;
      },
    };
    ({ app, connected } = await appWithGithub({ providers: [failing] }));
    expect(await causeOf('{}', 'x')).toEqual({
      cause: 'unknown',
      reason:
        "The delivery was not signed with the secret of this integration. Tidings failed to look for the cause; see the server's log. Set the secret again at GitHub, or rotate it and set the new one.",
    });
    expect(errors()).toHaveLength(1);
    expect(JSON.stringify(errors())).toContain('out of order');
  });

  test('secrets of another key are left out', async () => {
    const third = await connectGithub(app, 'org_a', 'acme/third');
    const unreadable = await connectGithub(app, 'org_a', 'acme/unreadable');
    await setSecret(unreadable.integrationId, Buffer.from('sealed with another key, long ago, and lost'));
    expect(await causeOf('{}', third.secret)).toMatchObject({ cause: 'other-integration' });
    await execute(
      app.db,
      sql`UPDATE integrations SET previous_secret = ${Buffer.from('sealed with another key, long ago, and lost')},
      previous_secret_until = '2026-01-01T00:00:00.000Z' WHERE id = ${connected.integrationId}`,
    );
    expect(await causeOf('{}', `${connected.secret} `)).toMatchObject({ cause: 'whitespace' });
    expect(errors()).toEqual([]);
  });

  test('an empty secret fits nothing, not even with white space', async () => {
    const { integrationId } = connected;
    const other = await connectGithub(app, 'org_a', 'acme/pad');
    for (const id of [integrationId, other.integrationId]) {
      await setSecret(id, app.deps.secrets.seal('', `webhook secret of ${id}`));
    }
    for (const secret of [' ', '\n', '""']) {
      expect(await causeOf('{}', secret)).toMatchObject({ cause: 'unknown' });
    }
    app.clock.advance(60_000);
    const digest = new Bun.CryptoHasher('sha256').update('{}').digest('hex');
    const headers = { 'x-hub-signature-256': `sha256=${digest}` };
    expect((await app.request(...githubRequest(connected, '{}', { headers }))).status).toBe(401);
    expect((await logOf(app))[0]).toMatchObject({ payload: { data: { signature: 'unknown' } } });
  });

  test('a repeated header or a malformed one is unknown', async () => {
    for (const signature of ['sha256=', 'sha1=abc', `sha256=${'g'.repeat(64)}`, 'x'.repeat(4_000)]) {
      app.clock.advance(60_000);
      const headers = { 'x-hub-signature-256': signature };
      expect((await app.request(...githubRequest(connected, '{}', { headers }))).status).toBe(401);
      expect((await logOf(app))[0]).toMatchObject({ payload: { data: { signature: 'unknown' } } });
    }
  });
});

test('an entry holds no secret, no digest of a candidate and nothing of the body', async () => {
  const others = [
    await connectGithub(app, 'org_a', 'acme/pad'),
    await connectGithub(app, 'org_a', 'acme/ink'),
  ];
  const expired = connected.secret;
  const { secret } = await rotateSecret(app.deps, connected.integrationId);
  app.clock.advance(DAY_MS);
  const secrets = [secret, expired, ...others.map((each) => each.secret)];
  const word = fc.stringMatching(/^[A-Za-z0-9]{12,20}$/);
  const signedWith = fc.constantFrom(...secrets, `${secret}\n`, `"${secret}"`, 'wrong');
  type Layout = (value: unknown) => string;
  const compact: Layout = (value) => JSON.stringify(value);
  const pretty: Layout = (value) => JSON.stringify(value, null, 2);
  const ended: Layout = (value) => `${JSON.stringify(value)}\n`;
  const form: Layout = (value) => new URLSearchParams({ payload: JSON.stringify(value) }).toString();
  const layouts = fc.constantFrom(compact, pretty, ended, form);
  // Each cause once for sure, whatever chance brings beside them.
  const causes: [key: string, signed: Layout, arrived: Layout][] = [
    [expired, compact, compact],
    [others[0]?.secret ?? '', compact, compact],
    [`${secret}\n`, compact, compact],
    [secret, compact, pretty],
    [secret, form, compact],
    ['wrong', compact, compact],
  ];
  const seen = new Set<unknown>();

  await fc.assert(
    fc.asyncProperty(word, word, signedWith, layouts, layouts, async (name, value, key, signed, arrived) => {
      const payload = { [name]: { list: [value, 1] } };
      const body = arrived(payload);
      const signature = hmacSha256(key, signed(payload));
      const headers = { 'x-hub-signature-256': `sha256=${signature}` };
      app.clock.advance(60_000);
      const response = await app.request(...githubRequest(connected, body, { event: 'push', headers }));
      if (response.status !== 401) return;
      const entry = (await logOf(app))[0];
      expect(entry?.createdAt).toBe(app.clock.now().toISOString());
      seen.add(entry?.payload.data?.signature);
      const told = JSON.stringify([entry, app.logged]);
      const opened = {
        accepted: [secret],
        expired,
        others: others.map((each) => ({ id: each.integrationId, secrets: [each.secret] })),
      };
      const digests: string[] = [];
      for (const each of candidates(opened, Buffer.from(body))) {
        digests.push(hmacSha256(each.secret, each.body));
      }
      expect(digests.length).toBeGreaterThan(20);
      for (const hidden of [name, value, body, signature, ...digests, ...secrets]) {
        expect(told.includes(hidden)).toBe(false);
      }
    }),
    {
      numRuns: 150,
      examples: causes.map((cause) => ['nameOfAField', 'valueOfAField', ...cause]),
    },
  );
  expect([...seen].sort()).toEqual([
    'body-altered',
    'form',
    'other-integration',
    'previous-secret',
    'unknown',
    'whitespace',
  ]);
});
