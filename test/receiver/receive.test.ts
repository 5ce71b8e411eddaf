import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { UploadError, type UploadProblem } from '../../src/http/request.ts';
import { createReceiver } from '../../src/intake/receiver/receive.ts';
import { setEnabled } from '../../src/integrations/connect.ts';
import { deleteIntegration, deleteRepository } from '../../src/integrations/store.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { providers, samplePayload } from '../../src/providers/index.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { execute, sqliteOf, testPostgres, testSqlite, valuesOf } from '../support/database.ts';
import {
  appWithGithub,
  claimCount,
  connectGithub,
  connectLinear,
  githubRequest,
  linearRequest,
  logOf,
} from '../support/deliveries.ts';
import { refuseWrites } from '../support/faults.ts';
import { releaseOf } from '../support/hooks.ts';
import { refusalOf } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';
import type { TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub({ organizations: ['org_a', 'org_b'] }));
});

const ping = {
  zen: 'Keep it logically awesome.',
  hook_id: 1,
  repository: { id: 7, full_name: 'acme/rocket' },
};
const linearComment = {
  action: 'create',
  type: 'Comment',
  data: {},
  organizationId: 'o',
  webhookTimestamp: Date.parse('2026-11-20T12:00:00Z'),
};
const DELIVERY = '72d3162e-cc78-11e3-81ab-4c9367dc0958';

/** People paste the URL with a slash at its end. */
test.each([
  ['GitHub', () => githubRequest(connected, ping)],
  [
    'Linear',
    async () => linearRequest(await connectLinear(app, 'org_a'), linearComment, { event: 'Comment' }),
  ],
])('a URL with a slash at its end works for %s', async (_, request) => {
  const [path, init] = await request();
  const send = (ending: string) => app.fetch(new Request(`http://localhost${path}${ending}`, init));
  expect((await send('/')).status).toBe(200);
  expect((await send('//')).status).toBe(404);
  expect(await claimCount(app)).toBe(1);
});

describe('an accepted delivery', () => {
  test('a ping is answered, claimed and logged', async () => {
    const response = await app.request(...githubRequest(connected, ping, { delivery: DELIVERY }));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      received: true,
      message: 'Webhook configured successfully',
      data: { event: 'ping', delivery: DELIVERY },
    });
    expect(await claimCount(app)).toBe(1);
    expect(await logOf(app)).toEqual([
      {
        id: expect.stringMatching(/^dlv_/),
        organizationId: 'org_a',
        integrationId: connected.integrationId,
        integrationType: 'github',
        repositoryId: connected.repositoryId as string,
        title: 'Ping: the webhook is configured',
        status: 'processed',
        statusCode: 200,
        referenceId: DELIVERY,
        payload: { event: 'ping', action: null, data: null },
        reason: null,
        count: 1,
        sameBodyAs: null,
        replayOf: null,
        isPolled: false,
        headers: {
          'content-type': 'application/json',
          'x-github-event': 'ping',
          'x-github-delivery': DELIVERY,
        },
        durationMs: expect.any(Number),
        retentionDays: 7,
        createdAt: '2026-11-20T12:00:00.000Z',
      },
    ]);
  });

  test('headers that tell of it are kept, bounded; its signature and other secrets are not', async () => {
    const headers = {
      'user-agent': `GitHub-Hookshot/${'x'.repeat(500)}`,
      'x-github-hook-id': '42',
      authorization: 'Bearer secret',
      cookie: 'a=secret',
      'x-anything': 'secret',
    };
    await app.request(...githubRequest(connected, ping, { headers }));
    const [entry] = await logOf(app);
    expect(Object.keys(entry?.headers ?? {})).toEqual([
      'user-agent',
      'content-type',
      'x-github-event',
      'x-github-delivery',
      'x-github-hook-id',
    ]);
    expect(entry?.headers?.['user-agent']).toHaveLength(200);
  });

  test('nothing is kept of the headers of a sender that was not verified', async () => {
    await app.request(...githubRequest(connected, ping, { secret: 'another' }));
    expect(await logOf(app)).toMatchObject([{ status: 'rejected', headers: null }]);
  });

  test('a body without a declared length is read', async () => {
    const [path, init] = githubRequest(connected, ping);
    const body = new Blob([String(init.body)]).stream();
    expect((await app.request(path, { ...init, body })).status).toBe(200);
  });

  test('the entry keeps the days of the plan that held', async () => {
    await app.request(...githubRequest(connected, ping));
    await changeOrganization(app.deps, 'org_a', { plan: 'pro' });
    app.clock.advance(1000);
    await app.request(...githubRequest(connected, ping));
    expect((await logOf(app)).map(({ retentionDays }) => retentionDays)).toEqual([30, 7]);
  });
});

describe('a refused delivery', () => {
  const at = (path: string) => githubRequest(connected, ping, { path: `/api/webhooks/${path}` });
  const own = () => `org_a/${connected.integrationId}/${connected.repositoryId}`;
  const many = 25 * 1024 * 1024 + 1;

  // Each case is wrong in the named way and in everything that is checked after it.
  const cases: [
    string,
    () => [string, RequestInit] | Promise<[string, RequestInit]>,
    number,
    string,
    string | null,
  ][] = [
    ['a body over 25 MiB', () => withSize(at('nobody/org_a/x/y'), many), 413, 'Payload too large', null],
    [
      'a body over 25 MiB, for us',
      () => withSize(unsigned(at(`github/${own()}`)), many),
      413,
      'Payload too large',
      'The body has more than 25 MiB',
    ],
    ['an unknown provider', () => at(`bitbucket/${own()}`), 400, 'Invalid webhook parameters', null],
    ['a malformed id', () => at('github/org_a/a.b/c'), 400, 'Invalid webhook parameters', null],
    [
      'no repository',
      () => at(`github/org_a/${connected.integrationId}`),
      400,
      'Invalid webhook parameters',
      null,
    ],
    ['no such integration', () => at('github/org_a/int_none/repo_none'), 404, 'Integration not found', null],
    [
      'an integration of another organization',
      () => at(`github/org_b/${connected.integrationId}/${connected.repositoryId}`),
      404,
      'Integration not found',
      null,
    ],
    ['an integration of another provider', () => at(`linear/${own()}`), 404, 'Integration not found', null],
    [
      'no such repository',
      () => unsigned(at(`github/org_a/${connected.integrationId}/repo_none`)),
      404,
      'Repository not found',
      "The webhook's URL names a repository that is not connected: repo_none",
    ],
    [
      'a missing event',
      () => githubRequest(connected, ping, { secret: 'x', headers: { 'x-github-event': undefined } }),
      400,
      'Missing or invalid header: X-GitHub-Event',
      'A GitHub delivery must have the header X-GitHub-Event',
    ],
    [
      'a missing delivery id',
      () => githubRequest(connected, ping, { secret: 'x', headers: { 'x-github-delivery': undefined } }),
      400,
      'Missing or invalid header: X-GitHub-Delivery',
      'A GitHub delivery must have the header X-GitHub-Delivery',
    ],
    [
      'an odd delivery id',
      () => githubRequest(connected, ping, { delivery: 'a b' }),
      400,
      'Missing or invalid header: X-GitHub-Delivery',
      'A GitHub delivery must have the header X-GitHub-Delivery',
    ],
    [
      'a missing signature',
      () => unsigned(githubRequest(connected, ping)),
      400,
      'Missing or invalid header: X-Hub-Signature-256',
      'A GitHub delivery must have the header X-Hub-Signature-256',
    ],
    [
      'a wrong signature',
      () => githubRequest(connected, 'no JSON', { secret: 'x' }),
      401,
      'Invalid webhook signature',
      'The delivery was not signed with the secret of this integration, and Tidings found none of the usual causes. Tried: white space and quotation marks around the secret; reformatted JSON; changed line endings and byte order marks; a form instead of JSON, and JSON instead of a form. Set the secret again at GitHub, or rotate it and set the new one.',
    ],
    [
      'no JSON',
      () => githubRequest(connected, 'no JSON'),
      400,
      'Malformed payload: the body is not JSON in UTF-8',
      'the body is not JSON in UTF-8',
    ],
    [
      'no object',
      () => githubRequest(connected, '[]'),
      400,
      'Malformed payload: the body is not a JSON object',
      'the body is not a JSON object',
    ],
  ];

  test.each(cases)('%s', async (_, request, status, error, reason) => {
    const response = await app.request(...(await request()));
    expect(await response.json()).toEqual({ error });
    expect(response.status).toBe(status);
    expect(await claimCount(app)).toBe(0);
    const log = await logOf(app);
    if (reason === null) expect(log).toEqual([]);
    else
      expect(log).toMatchObject([
        {
          status: 'rejected',
          statusCode: status,
          reason,
          payload: { data: status === 401 ? { signature: 'unknown' } : null },
        },
      ]);
  });

  test('a disabled integration, before anything else of the delivery is looked at', async () => {
    await setEnabled(app.deps, connected.integrationId, false);
    const response = await app.request(...unsigned(at(`github/org_a/${connected.integrationId}/repo_none`)));
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ error: 'Integration is disabled' });
    expect(await logOf(app)).toMatchObject([
      { status: 'rejected', statusCode: 403, reason: 'The integration is disabled' },
    ]);
    await setEnabled(app.deps, connected.integrationId, true);
    expect((await app.request(...githubRequest(connected, ping))).status).toBe(200);
  });

  test.each(['org_a', 'org_b'])('a release at the repository of another integration of %s', async (owner) => {
    const other = await connectGithub(app, owner, 'acme/pad');
    const path = `/api/webhooks/github/org_a/${connected.integrationId}/${other.repositoryId}`;
    // About that very repository: no other check may be what refuses it.
    const release = releaseOf({ id: 8, name: 'acme/pad' }, 'v1.0.0');
    const response = await app.request(...githubRequest(connected, release, { event: 'release', path }));
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ error: 'Repository does not belong to the integration' });
    expect(await valuesOf(app.db, 'SELECT 1 FROM events')).toEqual([]);
    expect(await claimCount(app)).toBe(0);
  });

  test('a body that turns out too large while it is read', async () => {
    const [path, init] = githubRequest(connected, ping);
    const chunk = new Uint8Array(1024 * 1024);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (sent++ < 40) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const response = await app.request(path, { ...init, body });
    expect(response.status).toBe(413);
    expect(sent).toBeLessThan(40);
    expect(await logOf(app)).toMatchObject([{ status: 'rejected', statusCode: 413 }]);
  });
});

describe('the log of deliveries from a sender without the secret', () => {
  /** A delivery whose sender goes away in the middle of the body. */
  function abortedRequest(): [string, RequestInit] {
    const [path, init] = githubRequest(connected, ping);
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(10));
      },
      pull: (controller) => controller.error(new Error('the connection was closed')),
    });
    return [path, { ...init, body }];
  }
  const forged = () => githubRequest(connected, { a: 'x'.repeat(10_000) }, { secret: 'wrong' });

  test('is one entry a minute for each cause, which counts, and holds no payload', async () => {
    for (let n = 0; n < 50; n++) await app.request(...forged());
    app.clock.advance(60_000);
    for (let n = 0; n < 3; n++) await app.request(...forged());
    const log = await logOf(app);
    const told = log.map(({ count, statusCode, payload }) => [statusCode, payload.data?.signature, count]);
    expect(told.sort()).toEqual([
      [401, 'not-examined', 47],
      [401, 'unknown', 3],
      [401, 'unknown', 3],
    ]);
    expect(JSON.stringify(log)).not.toContain('xxxx');
  });

  test('refusals of one minute with different causes have an entry each, which says its own cause', async () => {
    const without = (name: string) => githubRequest(connected, ping, { headers: { [name]: undefined } });
    const repository = (id: string) =>
      githubRequest(connected, ping, { path: `/api/webhooks/github/org_a/${connected.integrationId}/${id}` });
    for (const request of [
      without('x-github-event'),
      without('x-github-delivery'),
      without('x-github-delivery'),
      without('x-hub-signature-256'),
      repository('repo_x'),
      repository('repo_y'),
      abortedRequest(),
      abortedRequest(),
      abortedRequest(),
    ]) {
      await app.request(...request);
    }
    const told = (await logOf(app)).map(
      ({ statusCode, count, reason }) => `${statusCode} ${count} ${reason}`,
    );
    expect(told.sort()).toEqual([
      '400 1 A GitHub delivery must have the header X-GitHub-Event',
      '400 1 A GitHub delivery must have the header X-Hub-Signature-256',
      '400 2 A GitHub delivery must have the header X-GitHub-Delivery',
      '400 3 The connection closed before the whole body arrived',
      "404 2 The webhook's URL names a repository that is not connected: repo_x",
    ]);
  });

  test('an upload that is cut off is a refusal, not a failure of the service', async () => {
    for (let n = 0; n < 100; n++) {
      const response = await app.request(...abortedRequest());
      expect([response.status, await response.json()]).toEqual([400, { error: 'Upload aborted' }]);
    }
    app.clock.advance(60_000);
    await app.request(...abortedRequest());
    expect((await logOf(app)).map(({ status, title, count }) => `${status} ${title} ${count}`)).toEqual([
      'rejected Upload aborted 1',
      'rejected Upload aborted 100',
    ]);
    expect(app.logged.filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([]);
    const metrics = await app.deps.metrics.registry.render(() => undefined);
    expect(metrics).toContain('tidings_deliveries_total{provider="github",outcome="rejected"} 101');
    expect(metrics).toContain('tidings_deliveries_total{provider="github",outcome="failed"} 0');
  });

  test.each<[UploadProblem, number, string]>([
    ['too_large', 413, 'Payload too large'],
    ['aborted', 400, 'Upload aborted'],
    ['too_slow', 408, 'Upload timed out'],
    ['no_room', 503, 'Too many uploads'],
  ])('an upload that is not read, %s, is counted per minute', async (problem, status, message) => {
    const receive = createReceiver(app.deps, providers);
    const { organizationId, integrationId, repositoryId } = { organizationId: 'org_a', ...connected };
    const [, init] = githubRequest(connected, ping);
    for (let n = 0; n < 3; n++) {
      const refusal = await refusalOf(
        receive({
          path: { provider: 'github', organizationId, integrationId, repositoryId },
          headers: new Headers(init.headers),
          isTooLarge: false,
          readBody: () => Promise.reject(new UploadError(problem)),
        }),
      );
      expect(refusal).toEqual({ status, message });
    }
    expect(await logOf(app)).toMatchObject([
      { status: 'rejected', statusCode: status, title: message, count: 3 },
    ]);
  });

  test('is one entry a minute also where the service itself fails before the signature is checked', async () => {
    await execute(app.db, sql`UPDATE integrations SET secret = ${Buffer.of(0)}`);
    for (let n = 0; n < 20; n++) expect((await app.request(...forged())).status).toBe(500);
    expect(await logOf(app)).toMatchObject([{ status: 'failed', statusCode: 500, count: 20 }]);
  });

  test('never suppresses the real delivery of the same id', async () => {
    const [path, init] = githubRequest(connected, ping, { delivery: DELIVERY, secret: 'wrong' });
    expect((await app.request(path, init)).status).toBe(401);
    const real = await app.request(...githubRequest(connected, ping, { delivery: DELIVERY }));
    expect(await real.json()).toMatchObject({ data: { event: 'ping' } });
  });
});

function unsigned([path, init]: [string, RequestInit]): [string, RequestInit] {
  const { 'x-hub-signature-256': _, ...headers } = init.headers as Record<string, string>;
  return [path, { ...init, headers }];
}

function withSize([path, init]: [string, RequestInit], bytes: number): [string, RequestInit] {
  return [path, { ...init, headers: { ...(init.headers as object), 'content-length': String(bytes) } }];
}

describe('deliveries that fail in a row', () => {
  const inARow = () => app.deps.metrics.failedDeliveries.inARow;
  const send = async (options: Parameters<typeof githubRequest>[2] = {}, payload: unknown = ping) =>
    (await app.request(...githubRequest(connected, payload, options))).status;
  test('are counted while the system fails, and one that is taken ends the row', async () => {
    const allowWrites = await refuseWrites(app.db, 'read-only');
    expect([await send(), await send(), inARow()]).toEqual([503, 503, 2]);
    expect(await app.deps.metrics.registry.render()).toContain('\ntidings_deliveries_failed_in_a_row 2\n');
    await allowWrites();
    // A refusal says nothing about the system.
    expect([await send({}, 'no JSON'), inARow()]).toEqual([400, 2]);
    expect([await send(), inARow()]).toEqual([200, 0]);
  });

  test('do not count from a sender who is not verified', async () => {
    await refuseWrites(app.db, 'read-only');
    expect(await send({ secret: 'x' })).toBe(401);
    expect(await send({ headers: { 'x-hub-signature-256': undefined } })).toBe(400);
    expect(inARow()).toBe(0);
  });

  test('do not count when only this payload cannot be processed', async () => {
    const [github] = providers as [Provider];
    const fails = { read: () => JSON.parse('{') };
    ({ app, connected } = await appWithGithub({ providers: [{ ...github, events: { ping: fails } }] }));
    expect([await send(), inARow()]).toEqual([500, 0]);
  });
});

describe('while it is being disconnected', () => {
  const disconnected = {
    integration: () => app.db.write((tx) => deleteIntegration(tx, connected.integrationId)),
    repository: () => app.db.write((tx) => deleteRepository(tx, connected.repositoryId as string)),
  };

  /** Disconnects once the body is read, which is after the integration and its repository were found. */
  function receiveWhile(
    disconnect: () => Promise<void>,
    event: string,
    delivery: string = crypto.randomUUID(),
  ) {
    const { integrationId, repositoryId } = connected;
    const sample =
      samplePayload('github', event, { repository: 'acme/rocket', now: app.clock.now() }) ?? ping;
    const [, init] = githubRequest(connected, sample, { event, delivery });
    return createReceiver(
      app.deps,
      providers,
    )({
      path: { provider: 'github', organizationId: 'org_a', integrationId, repositoryId },
      headers: new Headers(init.headers),
      isTooLarge: false,
      async readBody() {
        await disconnect();
        return new TextEncoder().encode(String(init.body));
      },
    });
  }

  test.each(['release', 'push', 'ping', 'gollum'])(
    'the integration: a %s gets 404, and nothing is left of it',
    async (event) => {
      expect(await refusalOf(receiveWhile(disconnected.integration, event))).toEqual({
        status: 404,
        message: 'Integration not found',
      });
      const { delivery_claims, deliveries, events } = await allRows(app.db);
      expect({ delivery_claims, deliveries, events }).toEqual({
        delivery_claims: [],
        deliveries: [],
        events: [],
      });
      expect(app.logged.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    },
  );

  test.each(['release', 'push', 'ping', 'gollum'])(
    'the repository: a %s gets 404, and nothing is left but its log entry',
    async (event) => {
      expect(await refusalOf(receiveWhile(disconnected.repository, event))).toEqual({
        status: 404,
        message: 'Repository not found',
      });
      expect(await logOf(app)).toMatchObject([{ status: 'rejected', statusCode: 404 }]);
      expect([await claimCount(app), (await allRows(app.db)).events]).toEqual([0, []]);
    },
  );

  test('a duplicate gets 404 too', async () => {
    expect((await app.request(...githubRequest(connected, ping, { delivery: DELIVERY }))).status).toBe(200);
    expect(await refusalOf(receiveWhile(disconnected.integration, 'ping', DELIVERY))).toMatchObject({
      status: 404,
    });
    expect((await logOf(app)).map(({ status }) => status)).toEqual(['processed']);
  });
});

describe('while another process locks the database', () => {
  /** Milliseconds since the test began. It begins after the rest that readers get after a commit. */
  let time = 0;
  function startTimer() {
    const startedAt = performance.now() + 1_000;
    return spyOn(performance, 'now').mockImplementation(() => startedAt + time);
  }
  let spied: ReturnType<typeof startTimer>;
  beforeEach(() => {
    time = 0;
    spied = startTimer();
  });
  afterEach(() => void spied.mockRestore());

  /** Each attempt to begin a transaction takes 100 ms, and fails until `endsAtMs`. */
  function lockUntil(endsAtMs: number): void {
    const { $client } = sqliteOf(app.db);
    const query = $client.query.bind($client);
    $client.query = ((text: string) => {
      if (text === 'BEGIN IMMEDIATE') {
        time += 100;
        if (time < endsAtMs) {
          throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
        }
      }
      return query(text);
    }) as typeof $client.query;
  }

  testSqlite('the delivery and the log of its failure share less than 4 s', async () => {
    lockUntil(60_000);
    const response = await app.request(...githubRequest(connected, ping));
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(time).toBeGreaterThan(3_000);
    expect(time).toBeLessThan(4_000);
    expect(app.logged.map(({ msg }) => msg)).toContain('a rejected delivery could not be logged');
    expect(await logOf(app)).toEqual([]);
    expect(await claimCount(app)).toBe(0);
    // Readiness measures itself how long another process writes.
    expect(app.deps.metrics.failedDeliveries.inARow).toBe(0);
  });

  testSqlite('so does a refusal', async () => {
    lockUntil(60_000);
    const response = await app.request(...githubRequest(connected, ping, { secret: 'x' }));
    expect(response.status).toBe(401);
    expect(time).toBeLessThan(4_000);
  });

  testSqlite('a delivery is taken when the lock ends within 3 s', async () => {
    lockUntil(2_900);
    expect((await app.request(...githubRequest(connected, ping))).status).toBe(200);
  });

  testSqlite('a failed delivery is logged when the lock ends within the rest', async () => {
    lockUntil(3_300);
    expect((await app.request(...githubRequest(connected, ping))).status).toBe(503);
    expect(await logOf(app)).toMatchObject([
      { status: 'failed', statusCode: 503, reason: expect.stringContaining('database is locked') },
    ]);
    expect(await claimCount(app)).toBe(0);
  });

  testSqlite('the upload does not shorten the wait', async () => {
    const { integrationId, repositoryId } = connected;
    const [, init] = githubRequest(connected, ping);
    const receive = createReceiver(app.deps, providers);
    lockUntil(12_000);
    const received = await receive({
      path: { provider: 'github', organizationId: 'org_a', integrationId, repositoryId },
      headers: new Headers(init.headers),
      isTooLarge: false,
      async readBody() {
        time = 10_000;
        return new TextEncoder().encode(String(init.body));
      },
    });
    expect(received.received).toBe(true);
  });
});

describe('while another process holds the lock of the database', () => {
  const sleeping = "pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";

  /** Resolves once the lock is held to a function that gives it back. */
  async function holdLock(): Promise<() => Promise<void>> {
    const held = app.db.write((tx) => tx.run(sql`SELECT pg_sleep(60)`)).catch(() => undefined);
    await until(
      () => valuesOf(app.db, `SELECT pid FROM ${sleeping}`),
      (found) => found.length > 0,
    );
    return async () => {
      await valuesOf(app.db, `SELECT pg_cancel_backend(pid) FROM ${sleeping}`);
      await held;
    };
  }

  testPostgres('a delivery fails when it has waited 3 s, and leaves nothing', async () => {
    const giveBack = await holdLock();
    const response = await app.request(...githubRequest(connected, ping));
    expect(response.status).toBe(503);
    await giveBack();
    expect(await claimCount(app)).toBe(0);
    expect(app.deps.metrics.failedDeliveries.inARow).toBe(0);
  });

  testPostgres('a delivery is taken when the lock is given back', async () => {
    const giveBack = await holdLock();
    const [response] = await Promise.all([app.request(...githubRequest(connected, ping)), giveBack()]);
    expect(response.status).toBe(200);
  });
});
