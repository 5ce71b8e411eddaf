import { beforeEach, describe, expect, test } from 'bun:test';
import { setEnabled } from '../../src/integrations/connect.ts';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import { SAMPLE_REPOSITORY_ID } from '../../src/providers/provider.ts';
import { claimCount, logOf } from '../support/deliveries.ts';
import { changed } from '../support/payloads.ts';
import { type ByHand, DAY_MS, MINUTE_MS, type Subject, startByHand } from '../support/provider-kit.ts';
import { allRows } from '../support/rows.ts';

// Checks of a delivery before it counts: its headers, its signature, its bytes, its id, and its repository.

const UNSIGNED = { status: 401, error: 'Invalid webhook signature' };
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Nothing of a refused delivery is left but its entry in the log. */
async function expectNothingKept({ app }: ByHand): Promise<void> {
  const { events, delivery_claims } = await allRows(app.db);
  expect({ events, delivery_claims }).toEqual({ events: [], delivery_claims: [] });
}

export function receivingTests(subject: Subject): void {
  const { provider, about, ping, formSignatureCovers, signsTime, spareHeaders = [] } = subject;
  let it: ByHand;

  beforeEach(async () => {
    it = await startByHand(subject);
  });

  /** The payload of the example about a repository that the provider knows by this id. */
  const payloadOf = (id: number, fullName: string) => about?.(it.sample(), { id, fullName }) ?? {};

  describe('the signature', () => {
    test('covers every byte', async () => {
      const body = bytesOf(JSON.stringify(it.sample()));
      const { body: _, ...request } = it.requestOf(body);
      for (const at of [0, 1, Math.floor(body.length / 2), body.length - 1]) {
        const changedBody = body.with(at, (body[at] ?? 0) ^ 1);
        expect(await it.post({ ...request, body: changedBody })).toEqual(UNSIGNED);
      }
      for (const cut of [body.subarray(0, -1), Buffer.concat([body, bytesOf('\n')])]) {
        expect(await it.post({ ...request, body: new Uint8Array(cut) })).toEqual(UNSIGNED);
      }
      await expectNothingKept(it);
      expect((await it.post({ ...request, body })).status).toBe(200);
    });

    test.each([
      ['a byte order mark', (json: string) => `\uFEFF${json}`],
      ['white space that JavaScript would not write', (json: string) => `\n ${json} \r\n`],
      [
        'numbers that JavaScript would change',
        (json: string) => json.replace('{', '{"n":[9007199254740993,1.0],'),
      ],
      ['text beyond ASCII', (json: string) => json.replace('{', '{"text":"Größe 尺寸 🚀 \u2028",')],
    ])('is over the bytes as they were sent: %s', async (_, change) => {
      expect((await it.send(change(JSON.stringify(it.sample())))).status).toBe(200);
    });

    test('of bytes that are not UTF-8 is right, and the delivery is refused', async () => {
      const body = new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
      const malformed = { status: 400, error: 'Malformed payload: the body is not JSON in UTF-8' };
      expect(await it.send(body)).toEqual(malformed);
      const replaced = bytesOf(new TextDecoder().decode(body));
      expect(await it.post({ ...it.requestOf(body), body: replaced })).toEqual(UNSIGNED);
    });

    test('with another secret is refused, and never stands in the way of the real delivery', async () => {
      const deliveryId = 'delivery-1';
      for (const secret of ['another', `${it.connected.secret} `]) {
        expect(await it.send(it.sample(), { deliveryId, secret })).toEqual(UNSIGNED);
      }
      await expectNothingKept(it);
      expect((await it.send(it.sample(), { deliveryId })).status).toBe(200);
      expect(() => it.requestOf('{}', { secret: '' })).toThrow('an empty secret signs nothing');
      expect(provider.isSigned(bytesOf('{}'), '', '')).toBe(false);
    });

    test('and the secret are in no log; the event and the delivery id are', async () => {
      const deliveryId = 'delivery-1';
      const request = it.requestOf(JSON.stringify(it.sample()), { deliveryId });
      await it.post(request);
      await it.post({ ...request, body: '{}' });
      const log = await logOf(it.app);
      const isLogged = (name: string) =>
        /^(user-agent|content-type)$/.test(name) || provider.loggedHeaders.includes(name);
      const secrets = [...request.headers].filter(([name, value]) => !isLogged(name) && value !== deliveryId);
      expect(secrets.length).toBeGreaterThan(0);
      const text = JSON.stringify([it.app.logged, log]);
      for (const [, value] of secrets) expect(text).not.toContain(value.replace(/^(sha256=|v1,)/, ''));
      expect(text).not.toContain(it.connected.secret);
      const taken = log.find(({ status }) => status === 'processed');
      expect(taken).toMatchObject({ referenceId: deliveryId, payload: { event: provider.exampleEvent } });
      expect(Object.keys(taken?.headers ?? {})).toContain(provider.headerNames.event.toLowerCase());
    });

    test(
      signsTime ? 'is refused when it is a day old' : 'says no time, so an old delivery is taken',
      async () => {
        const request = it.requestOf(JSON.stringify(it.sample()));
        it.app.clock.advance(DAY_MS + MINUTE_MS);
        expect((await it.post(request)).status).toBe(signsTime ? 400 : 200);
      },
    );
  });

  describe('a form', () => {
    const form = (json: string) => new URLSearchParams({ payload: json }).toString();

    function formRequest(signed?: 'form' | 'payload') {
      const json = JSON.stringify(it.sample());
      const request = it.requestOf(form(json), { signed: signed === 'payload' ? json : form(json) });
      request.headers.set('content-type', 'application/x-www-form-urlencoded');
      return request;
    }

    test.skipIf(!provider.sendsForms)('carries the payload in a field', async () => {
      expect(formSignatureCovers).not.toBeNull();
      expect((await it.post(formRequest(formSignatureCovers ?? 'form'))).status).toBe(200);
      const other = formSignatureCovers === 'form' ? 'payload' : 'form';
      expect(await it.post(formRequest(other))).toEqual(UNSIGNED);
    });

    test.skipIf(provider.sendsForms)('is not taken', async () => {
      expect(await it.post(formRequest())).toEqual({
        status: 400,
        error: 'Malformed payload: the body is not JSON in UTF-8',
      });
    });
  });

  describe('the headers', () => {
    const names = () =>
      [...it.requestOf('{}').headers.keys()].filter((name) => !/^(user-agent|content-type)$/.test(name));

    test('are needed, each once', async () => {
      expect(names().length).toBeGreaterThanOrEqual(3);
      for (const name of names()) {
        const [missing, doubled, empty] = [0, 1, 2].map(() => it.requestOf(JSON.stringify(it.sample())));
        missing?.headers.delete(name);
        doubled?.headers.append(name, 'another');
        empty?.headers.set(name, '');
        const answers = [missing, doubled, empty].map((request) => it.post(request ?? it.requestOf('{}')));
        const statuses = (await Promise.all(answers)).map(({ status }) => status);
        const isSpare = spareHeaders.includes(name);
        const isRefused = (status: number) => (isSpare ? status === 200 : status === 400 || status === 401);
        expect({ name, statuses, isRight: statuses.every(isRefused) }).toMatchObject({ isRight: true });
      }
    });

    test('that are missing are named', async () => {
      const answer = await it.post({ ...it.requestOf('{}'), headers: new Headers() });
      const error = `Missing or invalid header: ${provider.headerNames.event}`;
      expect(answer).toEqual({ status: 400, error });
      const reason = `A ${provider.name} delivery must have the header ${provider.headerNames.event}`;
      expect(await logOf(it.app)).toMatchObject([
        { status: 'rejected', statusCode: 400, reason, headers: null },
      ]);
    });
  });

  test('a body over 25 MiB is refused before it is read', async () => {
    const request = it.requestOf(JSON.stringify(it.sample()));
    request.headers.set('content-length', String(25 * 1024 * 1024 + 1));
    expect(await it.post(request)).toEqual({ status: 413, error: 'Payload too large' });
    expect(await logOf(it.app)).toMatchObject([{ status: 'rejected', statusCode: 413 }]);
    await expectNothingKept(it);
  });

  test.each([
    ['no JSON', 'the body is not JSON in UTF-8'],
    ['', 'the body is not JSON in UTF-8'],
    ['[]', 'the body is not a JSON object'],
    ['null', 'the body is not a JSON object'],
  ])('the signed body %j is refused', async (body, message) => {
    expect(await it.send(body)).toEqual({ status: 400, error: `Malformed payload: ${message}` });
    await expectNothingKept(it);
  });

  test('a payload without the fields of its event is refused', async () => {
    // Only what says when it was signed, and whom it is about.
    const { webhookTimestamp, project, repository } = it.sample();
    const answer = await it.send({ webhookTimestamp, project, repository });
    expect(answer).toEqual({
      status: 400,
      error: expect.stringMatching(/^Malformed payload: [\w.]+ is missing$/),
    });
    await expectNothingKept(it);
  });

  test('an event that Tidings does not use is accepted and ignored', async () => {
    const reason = 'Tidings does not use the event weather';
    expect(await it.send(it.sample(), { event: 'weather' })).toMatchObject({
      status: 200,
      message: `Ignored: ${reason}`,
    });
    expect(await logOf(it.app)).toMatchObject([{ status: 'ignored', reason, payload: { event: 'weather' } }]);
  });

  test.skipIf(ping === null)('the test delivery is answered, and is no event', async () => {
    const context = { repository: subject.repository ?? '', now: it.app.clock.now() };
    const { event = '', payload = {} } = ping?.(context) ?? {};
    expect(await it.send(payload, { event })).toMatchObject({
      status: 200,
      message: 'Webhook configured successfully',
    });
    expect(await logOf(it.app)).toMatchObject([
      { status: 'processed', payload: { event: 'ping', data: null } },
    ]);
    expect((await allRows(it.app.db)).events).toEqual([]);
  });

  test('a disabled integration refuses everything until it is enabled again', async () => {
    await setEnabled(it.app.deps, it.connected.integrationId, false);
    for (const secret of [it.connected.secret, 'another']) {
      expect(await it.send(it.sample(), { secret })).toEqual({
        status: 403,
        error: 'Integration is disabled',
      });
    }
    await expectNothingKept(it);
    await setEnabled(it.app.deps, it.connected.integrationId, true);
    expect((await it.send()).status).toBe(200);
  });

  test('a rotated secret is accepted at once, and the old one for a day', async () => {
    const { secret } = await rotateSecret(it.app.deps, it.connected.integrationId);
    const statuses = async () =>
      [await it.send(it.sample(), { secret }), await it.send(it.sample())].map(({ status }) => status);
    expect(await statuses()).toEqual([200, 200]);
    it.app.clock.advance(DAY_MS - 1);
    expect(await statuses()).toEqual([200, 200]);
    it.app.clock.advance(1);
    expect(await statuses()).toEqual([200, 401]);
  });

  describe('a delivery id', () => {
    test('is processed once, also when deliveries arrive together', async () => {
      const deliveryId = 'delivery-1';
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => it.send(it.sample(), { deliveryId })),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
      expect(answers.filter(({ message }) => message?.startsWith('Duplicate delivery'))).toHaveLength(19);
      const log = await logOf(it.app);
      expect(log.filter(({ status }) => status === 'processed')).toHaveLength(1);
      expect([await claimCount(it.app), (await allRows(it.app.db)).events?.length]).toEqual([1, 1]);
    });

    test('is remembered for a day', async () => {
      const deliveryId = 'delivery-1';
      await it.send(it.sample(), { deliveryId });
      it.app.clock.advance(DAY_MS - 1);
      expect((await it.send(it.sample(), { deliveryId })).message).toStartWith('Duplicate delivery');
      it.app.clock.advance(1);
      expect((await it.send(it.sample(), { deliveryId })).message).toStartWith('Processed');
      // The day begins anew.
      it.app.clock.advance(DAY_MS - 1);
      expect((await it.send(it.sample(), { deliveryId })).message).toStartWith('Duplicate delivery');
      expect(await claimCount(it.app)).toBe(1);
    });

    test('that is new takes a body that was delivered before, and the log says so', async () => {
      const sample = it.sample();
      for (const deliveryId of ['first', 'second']) {
        expect((await it.send(sample, { deliveryId })).status).toBe(200);
        it.app.clock.advance(1000);
      }
      const log = await logOf(it.app);
      expect(log.map(({ referenceId, sameBodyAs }) => [referenceId, sameBodyAs])).toEqual([
        ['second', 'first'],
        ['first', null],
      ]);
      expect((await allRows(it.app.db)).events).toHaveLength(1);
    });
  });

  describe.skipIf(!provider.hasRepositories)('the repository', () => {
    const WRONG = { status: 403, error: 'Repository does not belong to the integration' };
    const own = subject.repository ?? '';
    const other = own.replace(/[^/]+$/, 'lander');
    const identity = async () => {
      const { repositories } = await it.integration();
      return repositories.map(({ fullName, providerId }) => `${fullName} ${providerId}`);
    };

    test('of a payload must be that of the URL', async () => {
      expect(await it.send(payloadOf(666, other))).toEqual(WRONG);
      expect(await logOf(it.app)).toMatchObject([
        { status: 'rejected', statusCode: 403, payload: { data: { repository: other } } },
      ]);
      await expectNothingKept(it);
      expect(await identity()).toEqual([`${own} null`]);
    });

    test('of the URL must be one of the integration', async () => {
      const missing = it.connected.webhookUrl.replace(/[^/]+$/, 'repo_none');
      expect(await it.send(it.sample(), { url: missing })).toEqual({
        status: 404,
        error: 'Repository not found',
      });
      const [without] = missing.split('/repo_none');
      expect(await it.send(it.sample(), { url: without })).toEqual({
        status: 400,
        error: 'Invalid webhook parameters',
      });
    });

    test('stays connected when it is renamed: its id is learned from a verified delivery', async () => {
      expect((await it.send(payloadOf(7, own), { secret: 'another' })).status).toBe(401);
      expect(await identity()).toEqual([`${own} null`]);
      expect((await it.send(payloadOf(7, own))).status).toBe(200);
      expect(await identity()).toEqual([`${own} 7`]);
      expect((await it.send(payloadOf(7, other))).status).toBe(200);
      expect(await identity()).toEqual([`${other} 7`]);
      // Another one took the old name.
      expect(await it.send(payloadOf(8, own))).toEqual(WRONG);
    });

    test('of a sample is told by its name, and teaches no id', async () => {
      expect(provider.repositoryOf(it.sample())).toEqual({ id: SAMPLE_REPOSITORY_ID, fullName: own });
      expect((await it.send()).status).toBe(200);
      expect(await identity()).toEqual([`${own} null`]);
    });

    test('is named by its full name or its URL', () => {
      expect(provider.isRepositoryName(own)).toBe(true);
      expect(provider.placeName(` ${own} `, undefined).trim()).toBe(own);
      for (const name of ['', 'rocket', `${own} x`, '../..', `${own}\n`]) {
        expect(provider.isRepositoryName(name)).toBe(false);
      }
    });
  });

  test.skipIf(provider.hasRepositories)('the URL names no repository', async () => {
    const url = it.connected.webhookUrl;
    expect(await it.send(it.sample(), { url: `${url}/-` })).toMatchObject({ status: 200 });
    expect((await it.send(it.sample(), { url: `${url}/repo_1` })).status).toBe(404);
    expect(provider.repositoryOf(it.sample())).toBeNull();
  });

  test('declares events that fit together', () => {
    const { events, triggerEvents, samples, exampleEvent } = provider;
    const needed = Object.values(triggerEvents).flat();
    expect(needed.filter((event) => events[event]?.toEvent === undefined)).toEqual([]);
    expect(needed).toContain(exampleEvent);
    expect(needed.filter((event) => !Object.hasOwn(samples, event))).toEqual([]);
    expect(Object.keys(samples).filter((name) => !Object.hasOwn(events, name.split(' ')[0] ?? ''))).toEqual(
      [],
    );
    for (const name of Object.keys(samples)) expect(changed(it.sample(name.split(' ')[0]), {})).toBeObject();
  });
}
