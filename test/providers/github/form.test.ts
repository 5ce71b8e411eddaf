import { expect, test } from 'bun:test';
import { github } from '../../../src/providers/github/provider.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import { hmacSha256 } from '../../../src/providers/provider.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const read = (body: string, contentType: string | null = 'application/x-www-form-urlencoded') =>
  github.readPayload(new TextEncoder().encode(body), contentType, now);

test('a form is signed as it came and read from its field', async () => {
  const payload = {
    ...samplePayload('github', 'push', { repository: 'acme/rocket', now }),
    note: 'a+b & 100 % Größe 🚀',
  };
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const signature = `sha256=${hmacSha256('secret', body)}`;
  expect(github.isSigned(new TextEncoder().encode(body), signature, 'secret')).toBe(true);
  for (const type of [
    'application/x-www-form-urlencoded',
    'Application/X-WWW-Form-URLEncoded; charset=utf-8',
  ]) {
    expect(await read(body, type)).toEqual(payload);
  }
  await expect(read(body, 'application/json')).rejects.toThrow('the body is not JSON in UTF-8');
});

test.each([
  ['', 'the form has no field payload'],
  ['Payload=%7B%7D', 'the form has no field payload'],
  ['payload', 'the form has no field payload'],
  ['mypayload=%7B%7D', 'the form has no field payload'],
  ['payload=', 'the body is not JSON in UTF-8'],
  ['payload=%5B%5D', 'the body is not a JSON object'],
])('the form %p is refused', async (body, message) => {
  await expect(read(body)).rejects.toThrow(message);
});

test.each(['a=1&payload=%7B%22a%22%3a1%7D', 'payload=%7B"a"+%3A+1}&payload=%7B%7D', '&&payload={"a":1}&'])(
  'the field of the form %p is read',
  async (body) => {
    expect(await read(body)).toEqual({ a: 1 });
  },
);

test('a percent sign that begins no byte stays', async () => {
  expect(await read('payload={"a":"100%","b":"%2","c":"%zz%4a"}')).toEqual({ a: '100%', b: '%2', c: '%zzJ' });
});

test('a body that would hold up others is refused', async () => {
  const names = Array.from({ length: 20_001 }, (_, at) => `"name${at}":1`).join(',');
  await expect(read(`{${names}}`, null)).rejects.toThrow('the body has an object with too many names');
  await expect(read('{"a":'.repeat(200_000), null)).rejects.toThrow('the body nests too deeply');
});
