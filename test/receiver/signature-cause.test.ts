import { beforeEach, describe, expect, test } from 'bun:test';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import {
  claimCount,
  connectGithub,
  connectLinear,
  githubRequest,
  linearRequest,
  logOf,
} from '../support/deliveries.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
});

const MINUTE_MS = 60_000;

interface Sent {
  /** The body at the provider. */
  signed: string;
  secret: string;
  /** The body that arrived; default: the same. */
  arrived?: string;
  type?: string;
}

const senders = {
  GitHub: {
    connect: () => connectGithub(app, 'org_a'),
    payload: () => samplePayload('github', 'push', { repository: 'acme/rocket', now: app.clock.now() }) ?? {},
    request: (to: Connected, { signed, secret, arrived = signed, type = 'application/json' }: Sent) =>
      githubRequest(to, arrived, {
        event: 'push',
        headers: {
          'content-type': type,
          'x-hub-signature-256': `sha256=${hmacSha256(secret, signed)}`,
        },
      }),
  },
  Linear: {
    connect: () => connectLinear(app, 'org_a'),
    payload: () => samplePayload('linear', 'Issue', { now: app.clock.now() }) ?? {},
    request: (to: Connected, { signed, secret, arrived = signed, type = 'application/json' }: Sent) =>
      linearRequest(to, arrived, {
        headers: { 'content-type': type, 'linear-signature': hmacSha256(secret, signed) },
      }),
  },
};

const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'content-type': 'application/json',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface Told {
  signature?: unknown;
  integrationId?: unknown;
  reason: string;
}

/** The log's cause, after checking that the sender learnt nothing of it. */
async function causeOf([path, init]: [string, RequestInit]): Promise<Told> {
  const before = (await logOf(app)).length;
  const response = await app.request(path, init);
  expect(response.status).toBe(401);
  expect(await response.text()).toBe('{"error":"Invalid webhook signature"}');
  expect(Object.fromEntries(response.headers)).toEqual(ANSWER_HEADERS);
  expect(await claimCount(app)).toBe(0);
  const log = await logOf(app);
  expect(log).toHaveLength(before + 1);
  const [entry] = log;
  expect(entry).toMatchObject({
    status: 'rejected',
    statusCode: 401,
    title: 'Signature does not match',
    count: 1,
    headers: null,
    repositoryId: null,
    payload: { action: null },
  });
  app.clock.advance(MINUTE_MS);
  return { ...entry?.payload.data, reason: entry?.reason ?? '' };
}

describe.each(Object.entries(senders))('a delivery of %s that was signed', (name, sender) => {
  const other = name === 'GitHub' ? 'Linear' : 'GitHub';
  let connected: Connected;
  let body: string;
  const send = (sent: Partial<Sent>) =>
    causeOf(sender.request(connected, { signed: body, secret: connected.secret, ...sent }));

  beforeEach(async () => {
    connected = await sender.connect();
    body = JSON.stringify({ ...sender.payload(), note: 'a+b & 100 % (Größe) *~! "🚀" \n </p>' });
  });

  test('as it should be is taken', async () => {
    const [path, init] = sender.request(connected, { signed: body, secret: connected.secret });
    expect((await app.request(path, init)).status).toBe(200);
  });

  test('with the previous secret, once its day is over', async () => {
    const { integrationId, secret } = connected;
    await rotateSecret(app.deps, integrationId);
    app.clock.advance(DAY_MS);
    body = JSON.stringify(sender.payload());
    expect(await send({ secret })).toEqual({
      signature: 'previous-secret',
      reason: `The delivery was signed with the secret before the last rotation, which no longer works. Set the current secret at ${name}. If nobody has it, rotate the secret and set the new one.`,
    });
    await rotateSecret(app.deps, integrationId);
    expect(await send({ secret })).toMatchObject({ signature: 'unknown' });
  });

  test('with the secret of another integration of the organization', async () => {
    const { integrationId, secret } = await connectGithub(app, 'org_a', 'acme/pad');
    const reason = (named: string) =>
      `The delivery was signed with the secret of another integration of this organization: ${named}. Set the URL and the secret of the same integration at ${name}.`;
    const told = {
      signature: 'other-integration',
      integrationId,
      reason: reason(`GitHub, acme/pad (${integrationId})`),
    };
    expect(await send({ secret })).toEqual(told);
    await rotateSecret(app.deps, integrationId);
    expect(await send({ secret })).toEqual(told);
    app.clock.advance(DAY_MS);
    expect(await send({ secret })).toMatchObject({ signature: 'unknown' });
    const linear = await connectLinear(app, 'org_a');
    expect(await send({ secret: linear.secret })).toEqual({
      ...told,
      integrationId: linear.integrationId,
      reason: reason(`Linear (${linear.integrationId})`),
    });
  });

  test("never names another organization's integration, though its secret fits", async () => {
    const strangers = [await connectGithub(app, 'org_b'), await connectLinear(app, 'org_b')];
    for (const { secret, integrationId } of strangers) {
      const told = await send({ secret });
      expect(told).toMatchObject({ signature: 'unknown' });
      expect(JSON.stringify(await logOf(app))).not.toContain(integrationId);
    }
    expect(await logOf(app, 'org_b')).toEqual([]);
  });

  test.each([
    ['\n', (secret: string) => `${secret}\n`, 'a line break after it'],
    ['\\r\\n', (secret: string) => `${secret}\r\n`, 'a line break after it'],
    ['\\r', (secret: string) => `${secret}\r`, 'a line break after it'],
    ['a line break before', (secret: string) => `\n${secret}`, 'a line break before it'],
    ['a space behind', (secret: string) => `${secret} `, 'a space after it'],
    ['a space before', (secret: string) => ` ${secret}`, 'a space before it'],
    ['a hard space', (secret: string) => `${secret}\u00a0`, 'a space after it'],
    ['a tab', (secret: string) => `\t${secret}`, 'a tab before it'],
    ['two spaces', (secret: string) => ` ${secret} `, 'spaces around it'],
    ['double quotes', (secret: string) => `"${secret}"`, 'quotation marks around it'],
    ['single quotes', (secret: string) => `'${secret}'`, 'quotation marks around it'],
    ['back quotes', (secret: string) => `\`${secret}\``, 'quotation marks around it'],
  ])('with the secret and %j', async (_, surround, detail) => {
    expect(await send({ secret: surround(connected.secret) })).toEqual({
      signature: 'whitespace',
      reason: `The delivery was signed with the secret of this integration and ${detail}. Set the secret again at ${name}, with nothing before or after it.`,
    });
  });

  const spaced = (text: string) => text.replaceAll('":', '": ').replaceAll(',"', ', "');
  const pretty = (text: string) => JSON.stringify(JSON.parse(text), null, 2);
  const inAscii = (text: string) =>
    text.replaceAll(/[^\0-\x7f]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const same = (text: string) => text;

  test.each<[string, (body: string) => string, (body: string) => string, string]>([
    ['compact, came indented', same, pretty, 'the JSON was reformatted'],
    [
      'compact, came with tabs',
      same,
      (text) => JSON.stringify(JSON.parse(text), null, '\t'),
      'the JSON was reformatted',
    ],
    ['compact, came spaced', same, spaced, 'the JSON was reformatted'],
    ['compact, came in ASCII', same, inAscii, 'the JSON was reformatted'],
    ['compact, came in ASCII and spaced', same, (text) => spaced(inAscii(text)), 'the JSON was reformatted'],
    ['compact, came with \\/', same, (text) => text.replaceAll('/', '\\/'), 'the JSON was reformatted'],
    [
      'with a number that JavaScript cannot hold, came indented',
      (text) => text.replace('{', '{"id":12345678901234567890,"pad":1.0,'),
      (text) => text.replace('{', '{\n  "id": 12345678901234567890,\n  "pad": 1.0, '),
      'the JSON was reformatted',
    ],
    ['indented, came compact', pretty, same, 'the JSON was reformatted'],
    [
      'indented with a line end, came compact',
      (text) => `${pretty(text)}\n`,
      same,
      'the JSON was reformatted',
    ],
    ['with LF, came with CRLF', pretty, (text) => pretty(text).replaceAll('\n', '\r\n'), ''],
    ['with CRLF, came with LF', (text) => pretty(text).replaceAll('\n', '\r\n'), pretty, ''],
    ['with a line end, came without', (text) => `${text}\n`, same, 'the last line ending was removed'],
    ['with CRLF, came without', (text) => `${text}\r\n`, same, 'the last line ending was removed'],
    ['without a line end, came with one', same, (text) => `${text}\n`, ''],
    ['without a line end, came with CRLF', same, (text) => `${text}\r\n`, ''],
    ['without a BOM, came with one', same, (text) => `\uFEFF${text}`, 'a byte order mark was added'],
    ['with a BOM, came without', (text) => `\uFEFF${text}`, same, 'the byte order mark was removed'],
  ])('%s', async (_, signed, arrived, detail) => {
    const told = await send({ signed: signed(body), arrived: arrived(body) });
    expect(told.reason).toStartWith(
      `The delivery was signed with the secret of this integration, but something between ${name} and Tidings changed the body: ${detail}`,
    );
    expect(told.reason).toEndWith(`. Make proxies and functions pass the bytes through unchanged.`);
    expect(told).toMatchObject({ signature: 'body-altered' });
  });

  test('with the previous secret within its day, but the body was changed', async () => {
    const { secret } = connected;
    await rotateSecret(app.deps, connected.integrationId);
    expect(await send({ secret, arrived: pretty(body) })).toMatchObject({ signature: 'body-altered' });
  });

  const forms: [string, (json: string) => string][] = [
    ['URLSearchParams', (json) => new URLSearchParams({ payload: json }).toString()],
    ['encodeURIComponent', (json) => `payload=${encodeURIComponent(json)}`],
    // Ruby's and Python's own: all but letters, digits and "_.-~", a space as a plus sign or not.
    ['CGI.escape', (json) => `payload=${strictly(json).replaceAll('%20', '+')}`],
    ['urllib.parse.quote', (json) => `payload=${strictly(json)}`],
  ];
  const FORM = 'application/x-www-form-urlencoded';

  test.each(forms)('as a form of %s, came as JSON', async (_, pack) => {
    const told = await send({ signed: pack(body), arrived: body });
    expect(told).toMatchObject({ signature: 'form' });
    expect(told.reason).toContain('the JSON was extracted from a form. Make proxies');
    const choose = 'choose the content type application/json at GitHub';
    expect(told.reason.includes(choose)).toBe(name === 'GitHub');
  });

  test.each(forms)('as JSON, came as a form of %s', async (_, pack) => {
    const told = await send({ arrived: pack(body), type: FORM });
    expect(told).toMatchObject({ signature: 'form' });
    expect(told.reason).toContain('the JSON was wrapped in a form');
  });

  test('as one form, came as another', async () => {
    const [first, second] = forms.map(([, pack]) => pack(body));
    const told = await send({ signed: first ?? '', arrived: second ?? '', type: FORM });
    expect(told).toMatchObject({ signature: 'body-altered' });
    expect(told.reason).toContain('the form was encoded again');
  });

  test('as JSON that speaks of a form is not taken for one', async () => {
    body = '{"url":"https://acme.example/?a=1&payload=%7B%7D"}';
    expect(await send({ arrived: pretty(body) })).toMatchObject({ signature: 'body-altered' });
  });

  test('with another secret is unknown, and the log lists the causes that were tried', async () => {
    expect(await send({ secret: 'another' })).toEqual({
      signature: 'unknown',
      reason: `The delivery was not signed with the secret of this integration, and Tidings found none of the usual causes. Tried: white space and quotation marks around the secret; reformatted JSON; changed line endings and byte order marks; a form instead of JSON, and JSON instead of a form. Set the secret again at ${name}, or rotate it and set the new one.`,
    });
    await senders[other].connect();
    const { reason } = await send({ secret: 'another' });
    expect(reason).toContain('Tried: the secrets of 1 other integration of this organization; white space');
    await rotateSecret(app.deps, connected.integrationId);
    const rotated = await send({ secret: 'another' });
    expect(rotated.reason).toContain('Tried: its previous secret; the secrets of 1 other');
  });
});

function strictly(text: string): string {
  const hex = (each: string) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, hex);
}

test('a form that is signed as a form is taken, as ever', async () => {
  const connected = await connectGithub(app, 'org_a');
  const signed = new URLSearchParams({ payload: JSON.stringify(senders.GitHub.payload()) }).toString();
  const type = 'application/x-www-form-urlencoded';
  const sent = senders.GitHub.request(connected, { signed, secret: connected.secret, type });
  expect((await app.request(...sent)).status).toBe(200);
});

test('causes of one minute have entries of their own, which count', async () => {
  const connected = await connectGithub(app, 'org_a');
  const send = (secret: string) =>
    app.request(...senders.GitHub.request(connected, { signed: '{}', secret }));
  for (const secret of [`${connected.secret}\n`, 'x', `${connected.secret} `, 'x', 'x']) await send(secret);
  const log = await logOf(app);
  expect(log.map(({ payload, count }) => [payload.data?.signature, count]).sort()).toEqual([
    ['not-examined', 2],
    ['unknown', 1],
    ['whitespace', 2],
  ]);
});
