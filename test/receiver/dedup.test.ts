import { beforeEach, describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import type { Connected } from '../../src/integrations/words.ts';
import { github } from '../../src/providers/github/provider.ts';
import { defineEvent, type Provider } from '../../src/providers/provider.ts';
import { appWithGithub, claimCount, connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import type { TestApp } from '../support/test-app.ts';

const DELIVERY = '72d3162e-cc78-11e3-81ab-4c9367dc0958';
const payload = { zen: 'Speak like a human.' };

let failure: Error | null;

/** GitHub, with an event that fails on demand. */
const counting: Provider = {
  ...github,
  events: {
    count: defineEvent(Type.Object({ title: Type.Optional(Type.String()) }), ({ title = 'Counted' }) => {
      if (failure !== null) throw failure;
      return {
        outcome: 'processed',
        title,
        processed: { type: 'count', action: 'counted', data: { number: 1 } },
      };
    }),
  },
};

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  failure = null;
  ({ app, connected } = await appWithGithub({ providers: [counting] }));
});

const deliver = (to = connected, delivery = DELIVERY, body: unknown = payload) =>
  app.request(...githubRequest(to, body, { event: 'count', delivery }));

test('a duplicate is logged under the title of the first, without its data', async () => {
  await deliver();
  const response = await deliver();
  expect(await response.json()).toEqual({
    received: true,
    message: 'Duplicate delivery: The same delivery ID was accepted less than 24 hours ago',
  });
  expect((await logOf(app)).find(({ status }) => status === 'duplicate')).toMatchObject({
    title: 'Counted',
    statusCode: 200,
    referenceId: DELIVERY,
    payload: { event: 'count', action: null, data: null },
  });
});

test('a duplicate of an ignored delivery has its title', async () => {
  const request = githubRequest(connected, payload, { event: 'gollum', delivery: DELIVERY });
  for (let times = 0; times < 2; times++) await app.request(...request);
  const titles = (await logOf(app)).map(({ status, title }) => `${status}: ${title}`);
  expect(titles.sort()).toEqual(['duplicate: GitHub event: gollum', 'ignored: GitHub event: gollum']);
});

test('the same body of another integration is no repetition', async () => {
  const other = await connectGithub(app, 'org_a', 'acme/pad');
  await deliver(connected, 'first');
  await deliver(other, 'second');
  expect((await logOf(app)).map(({ sameBodyAs }) => sameBodyAs)).toEqual([null, null]);
});

test('the same id on two integrations is processed on both', async () => {
  const other = await connectGithub(app, 'org_a', 'acme/pad');
  await app.addOrganization('org_b');
  const theirs = await connectGithub(app, 'org_b');
  for (const to of [connected, other, theirs]) await deliver(to);
  expect(await claimCount(app)).toBe(3);
  expect((await logOf(app)).map(({ status }) => status)).toEqual(['processed', 'processed']);
  expect((await logOf(app, 'org_b')).map(({ status }) => status)).toEqual(['processed']);
});

test('a duplicate takes the title of its own integration, whichever used the id first', async () => {
  const other = await connectGithub(app, 'org_a', 'acme/pad');
  await deliver(connected, DELIVERY, { title: 'First' });
  await deliver(other, DELIVERY, { title: 'Second' });
  for (const to of [connected, other]) await deliver(to);
  const duplicates = (await logOf(app)).filter(({ status }) => status === 'duplicate');
  const titles = new Map(duplicates.map(({ integrationId, title }) => [integrationId, title]));
  expect(titles.get(connected.integrationId)).toBe('First');
  expect(titles.get(other.integrationId)).toBe('Second');
});

describe('a handler that throws', () => {
  test('is 500, leaves no claim, is logged as failed, and the redelivery is processed', async () => {
    failure = new Error('out of paper');
    const response = await deliver();
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: 'Internal server error' });
    expect(await claimCount(app)).toBe(0);
    expect(await logOf(app)).toMatchObject([
      {
        status: 'failed',
        statusCode: 500,
        title: 'count failed',
        reason: 'The delivery could not be processed: out of paper',
        referenceId: DELIVERY,
        payload: { event: 'count', data: null },
      },
    ]);

    failure = null;
    app.clock.advance(1000);
    expect(await (await deliver()).json()).toMatchObject({ data: { processed: { type: 'count' } } });
    expect((await logOf(app)).map(({ status }) => status)).toEqual(['processed', 'failed']);
    expect(await claimCount(app)).toBe(1);
  });

  test.each([
    ['SQLITE_FULL', 'The database is not available', '5'],
    ['SQLITE_IOERR_WRITE', 'The database is not available', '5'],
    ['SQLITE_BUSY_SNAPSHOT', 'The database is busy', '1'],
    ['ENOSPC', 'Service unavailable', '5'],
    ['EDQUOT', 'Service unavailable', '5'],
    ['EMFILE', 'Service unavailable', '5'],
  ])(
    'because of %s is 503, leaves no claim, and the redelivery is processed',
    async (code, error, seconds) => {
      // Drizzle and other libraries wrap what the system reports.
      failure = new Error('no luck', { cause: Object.assign(new Error('a fault'), { code }) });
      const response = await deliver();
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe(seconds);
      expect(await response.json()).toEqual({ error });
      expect(await claimCount(app)).toBe(0);
      expect(await logOf(app)).toMatchObject([{ status: 'failed', statusCode: 503 }]);
      expect(app.logged.find(({ msg }) => msg === 'request failed')).toMatchObject({
        err: { message: expect.stringContaining('no luck') },
      });

      failure = null;
      app.clock.advance(1000);
      expect((await deliver()).status).toBe(200);
      expect(await claimCount(app)).toBe(1);
    },
  );

  test('because the database is damaged is 500, which does not pass by itself', async () => {
    failure = Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' });
    expect((await deliver()).status).toBe(500);
    expect(await claimCount(app)).toBe(0);
  });

  test('loses nothing to an equal delivery that came while it ran', async () => {
    let handled = 0;
    const events = {
      count: defineEvent(Type.Object({}), () => {
        if (++handled === 1) throw new Error('only the first');
        return {
          outcome: 'processed',
          title: 'Counted',
          processed: { type: 'count', action: 'counted', data: {} },
        };
      }),
    };
    ({ app, connected } = await appWithGithub({ providers: [{ ...github, events }] }));
    const responses = await Promise.all([deliver(), deliver(), deliver()]);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 500]);
    expect((await logOf(app)).map(({ status }) => status).sort()).toEqual([
      'duplicate',
      'failed',
      'processed',
    ]);
  });

  test('does not touch the deliveries that share its commit', async () => {
    const only = 'fails';
    const events = {
      count: defineEvent(Type.Object({ name: Type.String() }), ({ name }) => {
        if (name === only) throw new Error('no');
        return {
          outcome: 'processed',
          title: name,
          processed: { type: 'count', action: 'counted', data: {} },
        };
      }),
    };
    ({ app, connected } = await appWithGithub({ providers: [{ ...github, events }] }));
    const names = ['a', only, 'b', 'c'];
    const responses = await Promise.all(names.map((name) => deliver(connected, name, { name })));
    expect(responses.map(({ status }) => status)).toEqual([200, 500, 200, 200]);
    expect((await logOf(app)).map(({ title, status }) => `${title} ${status}`).sort()).toEqual([
      'a processed',
      'b processed',
      'c processed',
      'count failed failed',
    ]);
  });
});
