import { describe, expect, test } from 'bun:test';
import type { KeyService } from '../../src/keys/service.ts';
import { refusalOf } from '../support/refusal.ts';
import { allFaults, holdDeadAddress } from '../support/unkey/faults.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';

const fields = { organizationId: 'org_1', name: 'Website', permissions: ['api.read'], expiresAt: null };
const UNAVAILABLE = { status: 503, message: 'Authentication service unavailable' };

const calls: [string, (keys: KeyService) => Promise<unknown>][] = [
  ['createKey', (keys) => keys.createKey(fields)],
  ['listKeys', (keys) => keys.listKeys('org_1')],
  ['revokeKey', (keys) => keys.revokeKey('key_1')],
  ['deleteKey', (keys) => keys.deleteKey('key_1')],
];

async function begin(options: Parameters<typeof createUnkeyApp>[0] = {}) {
  const app = createUnkeyApp(options);
  await app.addOrganization('org_1');
  return app;
}

describe('what a person can mend is told in words', () => {
  test.each(calls)('%s with a bad root key', async (_, call) => {
    using app = await begin({ rootKey: 'unkey_wrong' });
    expect(await refusalOf(call(app.deps.keys))).toEqual({
      status: 502,
      message: 'Unkey refused the request (401): The provided root key is invalid.',
    });
  });

  test.each(calls.slice(0, 2))('%s without UNKEY_API_ID', async (_, call) => {
    using app = await begin({ withoutApiId: true });
    const message = expect.stringMatching(/^UNKEY_API_ID must be set/);
    expect(await refusalOf(call(app.deps.keys))).toEqual({ status: 400, message });
    expect(app.unkey.requests).toEqual([]);
  });

  test.each(calls.slice(0, 2))('%s with the id of another API', async (_, call) => {
    using app = await begin({ apiId: 'api_of_somebody_else' });
    expect(await refusalOf(call(app.deps.keys))).toEqual({
      status: 502,
      message: 'Unkey refused the request (404): The specified API was not found.',
    });
  });

  test('a field that only Unkey bounds is named', async () => {
    using app = await begin();
    // Unkey takes no expiry after 2099.
    const refusal = await refusalOf(
      app.deps.keys.createKey({ ...fields, expiresAt: '2100-01-01T00:00:00.001Z' }),
    );
    expect(refusal.status).toBe(502);
    expect(refusal.message).toMatch(
      /^Unkey refused the request \(400\): One or more fields failed validation; body\.expires .+/,
    );
  });

  test('too many requests', async () => {
    using app = await begin();
    app.unkey.fault = 'answers 429';
    expect(await refusalOf(app.deps.keys.listKeys('org_1'))).toEqual({
      status: 502,
      message:
        'Unkey refused the request (429): This workspace has exceeded its API rate limit of 600/1m0s. Please try again later.',
    });
  });

  test('a refusal that is not in the form of Unkey is not repeated', async () => {
    using app = await begin();
    app.unkey.fault = 'answers 403 with a page';
    expect(await refusalOf(app.deps.keys.listKeys('org_1'))).toEqual({
      status: 502,
      message: 'Unkey refused the request (403) without saying why',
    });
  });
});

describe('an outage is none of a person to mend', () => {
  // Those that hang are left out: management waits ten seconds for them.
  const outages = allFaults.filter((fault) => !/never|middle|403|429/.test(fault));

  describe.each(outages)('a server that %s', (fault) => {
    test.each(calls)('%s', async (_, call) => {
      using app = await begin();
      app.unkey.fault = fault;
      expect(await refusalOf(call(app.deps.keys))).toEqual(UNAVAILABLE);
      expect(app.unkey.requests).toHaveLength(1);
    });
  });

  test.each(calls)('nobody listens: %s', async (_, call) => {
    using dead = await holdDeadAddress();
    using app = await begin({ baseUrl: dead.url });
    expect(await refusalOf(call(app.deps.keys))).toEqual(UNAVAILABLE);
  });
});
