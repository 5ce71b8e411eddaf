import { describe, expect, test } from 'bun:test';
import type { Verdict } from '../../src/people/keys/store.ts';
import { MAX_CALLS, MAX_OF_KIND, MAX_WAITING, shareVerifications } from '../../src/people/keys/unkey.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { exchange } from '../support/raw-http.ts';
import { startTidings } from '../support/server.ts';
import { bearer } from '../support/test-app.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';

const PATH = '/v1/org_1/posts';

/** Unkey that holds each verification that `holds` names until `open`. Keys that begin with `good` are valid. */
function startGate(holds: (key: string) => boolean = () => true) {
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  const arrivals = new Map<number, () => void>();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { key }: { key: string } = await request.json();
      asked.push(key);
      arrivals.get(asked.length)?.();
      if (holds(key)) await gate.promise;
      const identity = { id: 'i', externalId: 'org_1' };
      const data = key.startsWith('good')
        ? { valid: true, code: 'VALID', keyId: key, identity }
        : { valid: false, code: 'NOT_FOUND' };
      return Response.json({ meta: { requestId: 'req_1' }, data });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    asked,
    /** Resolves with the arrival of so many verifications. */
    arrived: (count: number) =>
      asked.length >= count
        ? Promise.resolve()
        : new Promise<void>((resolve) => void arrivals.set(count, resolve)),
    open: () => gate.resolve(),
    [Symbol.dispose]: () => void server.stop(true),
  };
}

test('equal keys at the same time share one verification, and the next request asks again', async () => {
  using unkey = startGate();
  using app = await createUnkeyApp({ organizations: ['org_1'], baseUrl: unkey.url });
  const read = async (key: string) => (await app.request(PATH, bearer(key))).status;
  const held = ['good', 'bad', 'good', 'good2', 'bad', 'good'].map(read);
  await unkey.arrived(3);
  unkey.open();
  expect(await Promise.all(held)).toEqual([200, 401, 200, 200, 401, 200]);
  expect(unkey.asked.toSorted()).toEqual(['bad', 'good', 'good2']);
  expect(await read('good')).toBe(200);
  expect(unkey.asked).toHaveLength(4);
});

test('1,200 keys at once all get their verdict, and other calls to the internet find a place', async () => {
  using unkey = startGate();
  using app = await createUnkeyApp({ organizations: ['org_1'], baseUrl: unkey.url });
  const keys = Array.from({ length: 1_200 }, (_, index) =>
    index % 3 === 0 ? `bad${index}` : `good${index}`,
  );
  const held = keys.map(async (key) => (await app.request(PATH, bearer(key))).status);
  await unkey.arrived(MAX_OF_KIND);
  using other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('hook') });
  expect(await (await fetch(other.url)).text()).toBe('hook');
  expect(unkey.asked).toHaveLength(MAX_OF_KIND);
  unkey.open();
  expect(await Promise.all(held)).toEqual(keys.map((key) => (key.startsWith('bad') ? 401 : 200)));
});

test('a server lets valid keys, new and known, pass beside 300 verifications that hang', async () => {
  const folder = temporaryFolder();
  using unkey = startGate((key) => key.startsWith('hung'));
  await cliJson(folder.path, ['organization', 'create', '--name', 'One', '--id', 'org_1']);
  const environment = { UNKEY_ROOT_KEY: 'root', UNKEY_BASE_URL: unkey.url, UNKEY_TIMEOUT_MS: '60000' };
  const server = await startTidings(folder.path, [], { environment });
  try {
    const ask = (key: string) => fetch(`${server.url}${PATH}`, bearer(key));
    const { port } = new URL(server.url);
    // `fetch` would leave no place for the valid ones.
    const hung = Array.from({ length: 300 }, (_, at) => {
      const head = [
        `GET ${PATH} HTTP/1.1`,
        'host: x',
        `authorization: Bearer hung${at}`,
        'connection: close',
      ];
      return exchange(Number(port), [...head, '']);
    });
    await unkey.arrived(300);
    const statuses: number[] = [];
    for (const key of ['good', 'good', 'bad']) statuses.push((await ask(key)).status);
    expect(statuses).toEqual([200, 200, 401]);
    expect(unkey.asked.slice(300)).toEqual(['good', 'good', 'bad']);
    unkey.open();
    for (const answer of await Promise.all(hung)) expect(answer).toStartWith('HTTP/1.1 401');
  } finally {
    await server.stop();
    folder.remove();
  }
});

describe('a verification', () => {
  const VALID: Verdict = { outcome: 'valid', keyId: 'key_1', name: '', organizationId: 'org_1' };

  function begin() {
    const calls: { key: string; permission: string; end: (verdict: Verdict | Error) => void }[] = [];
    const verify = shareVerifications((key, permission) => {
      const { promise, resolve, reject } = Promise.withResolvers<Verdict>();
      calls.push({ key, permission, end: (end) => (end instanceof Error ? reject(end) : resolve(end)) });
      return promise;
    });
    const fill = (count: number) =>
      Array.from({ length: count }, (_, index) => verify(`key${index}`, 'read'));
    return { calls, verify, fill };
  }

  test('is shared for the same permission only', async () => {
    const { calls, verify } = begin();
    const both = [verify('a', 'read'), verify('a', 'suggest'), verify('a', 'read')];
    await Promise.resolve();
    expect(calls.map(({ key, permission }) => `${key} ${permission}`)).toEqual(['a read', 'a suggest']);
    calls[0]?.end(VALID);
    calls[1]?.end({ outcome: 'forbidden' });
    expect(await Promise.all(both)).toEqual([VALID, { outcome: 'forbidden' }, VALID]);
  });

  /** Answers a verification that is the only one. */
  async function answer({ calls, verify }: ReturnType<typeof begin>, key: string, verdict: Verdict) {
    const before = calls.length;
    const verdictOfKey = verify(key, 'read');
    while (calls.length === before) await Promise.resolve();
    calls.at(-1)?.end(verdict);
    await verdictOfKey;
  }

  test('of a key that was valid before waits for no keys that hang, and is still asked', async () => {
    const unkey = begin();
    await answer(unkey, 'good', VALID);
    await answer(unkey, 'bad', { outcome: 'invalid' });
    const { calls, verify, fill } = unkey;
    const hanging = fill(MAX_OF_KIND + 300);
    const [bad, good] = [verify('bad', 'read'), verify('good', 'read')];
    while (calls.length < MAX_OF_KIND + 3) await Promise.resolve();
    expect(calls.at(-1)?.key).toBe('good');
    // Unkey's word counts, not the memory.
    calls.at(-1)?.end({ outcome: 'invalid' });
    expect(await good).toEqual({ outcome: 'invalid' });
    for (let at = 2; at < MAX_OF_KIND + 304; at++) {
      while (calls[at] === undefined) await Promise.resolve();
      calls[at]?.end(new Error('hung'));
    }
    const ends = await Promise.allSettled([...hanging, bad]);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
  });

  test('of a key that nobody knows finds a place beside known keys that hang', async () => {
    const unkey = begin();
    const { calls, verify, fill } = unkey;
    const first = fill(MAX_CALLS);
    for (let at = 0; at < MAX_CALLS; at++) {
      while (calls[at] === undefined) await Promise.resolve();
      calls[at]?.end(VALID);
    }
    await Promise.all(first);
    void fill(MAX_CALLS);
    void verify('new', 'read');
    while (calls.at(-1)?.key !== 'new') await Promise.resolve();
    expect(calls).toHaveLength(MAX_CALLS + MAX_OF_KIND + 1);
  });

  test('that fails is shared too, and gives its place to the next', async () => {
    const { calls, verify, fill } = begin();
    const failing = fill(MAX_OF_KIND);
    const next = verify('next', 'read');
    await Promise.resolve();
    expect(calls).toHaveLength(MAX_OF_KIND);
    calls[0]?.end(new Error('Unkey is away'));
    await expect(failing[0]).rejects.toThrow('Unkey is away');
    while (calls.length === MAX_OF_KIND) await Promise.resolve();
    expect(calls.at(-1)?.key).toBe('next');
    for (const { end } of calls.slice(1)) end(VALID);
    expect(await next).toEqual(VALID);
    await Promise.all(failing.slice(1));
  });

  test('is refused when too many wait, and only then', async () => {
    const { calls, verify, fill } = begin();
    const all = fill(MAX_OF_KIND + MAX_WAITING);
    await expect(verify('one more', 'read')).rejects.toThrow('too many verifications');
    // A shared one takes no place.
    const shared = verify('key0', 'read');
    for (let at = 0; at < all.length; at++) {
      while (calls[at] === undefined) await Promise.resolve();
      calls[at]?.end(VALID);
    }
    expect(await Promise.all([...all, shared])).toHaveLength(MAX_OF_KIND + MAX_WAITING + 1);
    // In the order in which they came.
    expect(calls.map(({ key }) => key)).toEqual(all.map((_, index) => `key${index}`));
  });
});
