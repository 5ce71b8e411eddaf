import { afterEach, beforeEach, describe, expect, setSystemTime, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { sign, verify } from '@octokit/webhooks-methods';
import { github } from '../../src/providers/github/provider.ts';
import { sampleEvents, samplePayload } from '../../src/providers/index.ts';
import { linear } from '../../src/providers/linear/provider.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';

const secret = 'wh_4Zk2 über 🚀';
const now = new Date('2026-11-20T12:00:00.000Z');
const bytes = (text: string) => new TextEncoder().encode(text);

beforeEach(() => void setSystemTime(now));
afterEach(() => void setSystemTime());

test("GitHub's published vector", () => {
  const known = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  const body = bytes('Hello, World!');
  expect(github.isSigned(body, known, "It's a Secret to Everybody")).toBe(true);
  expect(github.isSigned(body, known, "It's a secret to everybody")).toBe(false);
});

const bodies = [
  '{}',
  '{"title":"Größe, 尺寸, 🚀, \u2028"}',
  '{"id":12345678901234567890,"pad": 1.0}',
  ...sampleEvents('github').map((event) =>
    JSON.stringify(samplePayload('github', event, { repository: 'acme/rocket', now }), null, 1),
  ),
];

test.each(bodies)('GitHub’s own library signs and verifies as we do: %.40s', async (body) => {
  const theirs = await sign(secret, body);
  expect(theirs).toBe(`sha256=${hmacSha256(secret, body)}`);
  expect(github.isSigned(bytes(body), theirs, secret)).toBe(true);
  expect(await verify(secret, body, `sha256=${hmacSha256(secret, bytes(body))}`)).toBe(true);
});

describe.each(sampleEvents('linear'))('Linear’s own SDK and %s', (event) => {
  const client = new LinearWebhookClient(secret);
  const payload = samplePayload('linear', event, { now }) ?? {};
  const body = Buffer.from(JSON.stringify(payload));

  test('takes what we sign, and reads the same', async () => {
    const signature = hmacSha256(secret, body);
    expect(client.parseData(body, signature) as unknown).toEqual(payload);
    expect(linear.isSigned(body, signature, secret)).toBe(true);
    expect(await linear.readPayload(body, 'application/json', now)).toEqual(payload);
  });

  test('refuses what we refuse', () => {
    for (const wrong of [hmacSha256('another', body), hmacSha256(secret, 'another'), '', 'x'.repeat(64)]) {
      expect(() => client.parseData(body, wrong)).toThrow('Invalid webhook signature');
      expect(linear.isSigned(body, wrong, secret)).toBe(false);
    }
  });

  test('hands it to the handler for its type', async () => {
    const handled: unknown[] = [];
    const handler = client.createHandler();
    handler.on('*', (received) => void handled.push(received));
    const headers = { 'linear-signature': hmacSha256(secret, body), 'linear-event': event };
    const request = new Request('https://tidings.test/', { method: 'POST', headers, body });
    expect((await handler(request)).status).toBe(200);
    expect(handled).toEqual([payload]);
    expect(payload.type).toBe(event);
  });
});

describe.each([
  { provider: github, prefix: 'sha256=' },
  { provider: linear, prefix: '' },
])('$provider.name', ({ provider, prefix }) => {
  const body = bytes('{"title":"Größe 🚀"}');
  const hex = hmacSha256(secret, body);
  const good = prefix + hex;

  test.each([
    ['of another secret', prefix + hmacSha256('another', body)],
    ['of another body', prefix + hmacSha256(secret, '{}')],
    ['in upper case', prefix + hex.toUpperCase()],
    ['with another prefix', prefix === '' ? `sha256=${hex}` : hex],
    ['with its prefix in upper case', `SHA256=${hex}`],
    ['with its prefix twice', `sha256=${good}`],
    ['of SHA-1', 'sha1=7d38cdd689735b008b3c702edd92eea23791c5f6'],
    ['with junk behind', `${good}00`],
    ['with a line end behind', `${good}\n`],
    ['with a space before', ` ${good}`],
    ['cut short', good.slice(0, -1)],
    ['of half a byte less and a stranger', `${good.slice(0, -1)}g`],
    ['in full-width digits', `${prefix}${'０'.repeat(64)}`],
    ['empty', ''],
    ['only its prefix', 'sha256='],
    ['doubled, as two headers arrive', `${good}, ${good}`],
  ])('one %s is wrong', (_, signature) => {
    expect(provider.isSigned(body, signature, secret)).toBe(false);
  });

  test('one flipped bit is wrong, wherever it is', () => {
    for (let index = 0; index < body.length; index++) {
      const flipped = body.with(index, (body[index] ?? 0) ^ 1);
      expect(provider.isSigned(flipped, good, secret)).toBe(false);
    }
    for (let index = prefix.length; index < good.length; index++) {
      const other = good[index] === '0' ? '1' : '0';
      expect(provider.isSigned(body, good.slice(0, index) + other + good.slice(index + 1), secret)).toBe(
        false,
      );
    }
  });

  test('an empty secret never verifies, not even what it would sign', () => {
    const unkeyed = new Bun.CryptoHasher('sha256').update(body).digest('hex');
    const emptyKey = createHmac('sha256', '').update(body).digest('hex');
    expect(provider.isSigned(body, prefix + unkeyed, '')).toBe(false);
    expect(provider.isSigned(body, prefix + emptyKey, '')).toBe(false);
    expect(provider.isSigned(body, '', '')).toBe(false);
    expect(() => hmacSha256('', body)).toThrow('an empty secret signs nothing');
  });
});
