import { expect, test } from 'bun:test';
import { github } from '../../../src/providers/github/provider.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import { hmacSha256 } from '../../../src/providers/provider.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const read = (body: string, contentType: string | null = 'application/x-www-form-urlencoded') =>
  github.readPayload(new TextEncoder().encode(body), contentType, now);

test('a form is signed as it came and read from its field', () => {
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
    expect(read(body, type)).toEqual(payload);
  }
  expect(() => read(body, 'application/json')).toThrow('the body is not JSON in UTF-8');
});

test.each([
  ['', 'the form has no field payload'],
  ['Payload=%7B%7D', 'the form has no field payload'],
  ['payload=', 'the body is not JSON in UTF-8'],
  ['payload=%5B%5D', 'the body is not a JSON object'],
])('the form %p is refused', (body, message) => {
  expect(() => read(body)).toThrow(message);
});
