import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { gitlab, signingToken } from '../../../src/providers/gitlab/provider.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const body = '{"title":"Größe 🚀"}';
const now = new Date('2026-11-20T12:00:00.000Z');
const seconds = now.getTime() / 1000;

/** As standardwebhooks.com describes it. */
function standardSignature(token: string, id: string, at: number, text: string): string {
  const key = Buffer.from(token.replace('whsec_', ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${at}.${text}`).digest('base64')}`;
}

const headersOf = (more: Record<string, string>) =>
  new Headers({ 'x-gitlab-event': 'Push Hook', 'idempotency-key': 'key-1', ...more });

function signatureOf(headers: Headers): string {
  const read = gitlab.readHeaders(headers);
  if ('missing' in read) throw new Error(`${read.missing} is missing`);
  return read.signature;
}

describe('a signed delivery', () => {
  const signature = standardSignature(signingToken('secret'), 'key-1', seconds, body);
  const signed = (more: Record<string, string> = {}) =>
    headersOf({
      'webhook-id': 'key-1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': signature,
      ...more,
    });

  test('has a signing token of 32 bytes, whatever the secret', () => {
    for (const secret of ['s', 'secret', 'x'.repeat(500), 'über 🚀']) {
      expect(signingToken(secret)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    }
    expect(signingToken('secret')).not.toBe(signingToken('secret '));
  });

  test('names its event without spaces, its id and its time', () => {
    expect(gitlab.readHeaders(signed({ 'x-gitlab-event': 'Merge Request Hook' }))).toMatchObject({
      event: 'merge_request',
      deliveryId: 'key-1',
      signedAt: now,
    });
  });

  test('is signed over id, time and body', () => {
    expect(gitlab.isSigned(bytes(body), signatureOf(signed()), 'secret')).toBe(true);
    expect(gitlab.isSigned(bytes(`${body} `), signatureOf(signed()), 'secret')).toBe(false);
    expect(gitlab.isSigned(bytes(body), signatureOf(signed()), 'another')).toBe(false);
    expect(gitlab.isSigned(bytes(body), signatureOf(signed()), '')).toBe(false);
    for (const changes of [{ 'webhook-id': 'key-2' }, { 'webhook-timestamp': String(seconds + 1) }]) {
      expect(gitlab.isSigned(bytes(body), signatureOf(signed(changes)), 'secret')).toBe(false);
    }
  });

  test('may have several signatures, as while a token is replaced', () => {
    const both = `v1,AAAA v2,x ${signature}`;
    expect(gitlab.isSigned(bytes(body), signatureOf(signed({ 'webhook-signature': both })), 'secret')).toBe(
      true,
    );
  });

  test('is never taken for the secret that it also sends', () => {
    for (const wrong of ['v1,AAAA', '', 'secret', 'plain secret']) {
      const headers = signed({ 'webhook-signature': wrong, 'x-gitlab-token': 'secret' });
      expect(gitlab.isSigned(bytes(body), signatureOf(headers), 'secret')).toBe(false);
    }
  });

  test.each([
    ['webhook-id', 'a b'],
    ['webhook-timestamp', '2026-11-20T12:00:00Z'],
    ['webhook-timestamp', '-5'],
  ])('with the %s %p is malformed', (name, value) => {
    expect(gitlab.readHeaders(signed({ [name]: value }))).toEqual({ missing: name });
    const without = signed();
    without.delete(name);
    expect(gitlab.readHeaders(without)).toEqual({ missing: name });
  });

  test('is made by `sign` as by the standard', () => {
    const made = gitlab.sign({ event: 'merge_request', deliveryId: 'key-1', body, secret: 'secret', now });
    expect(made).toMatchObject({
      'x-gitlab-event': 'Merge Request Hook',
      'idempotency-key': 'key-1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': signature,
    });
    expect(made).not.toHaveProperty('x-gitlab-token');
    expect(() => gitlab.sign({ event: 'push', deliveryId: 'a', body, secret: '', now })).toThrow(
      'empty secret',
    );
  });
});

describe('a delivery of an older GitLab', () => {
  const withToken = (token: string) => signatureOf(headersOf({ 'x-gitlab-token': token }));

  test('sends the secret itself', () => {
    expect(gitlab.isSigned(bytes(body), withToken('secret'), 'secret')).toBe(true);
    for (const wrong of ['secre', 'secret2', 'Secret', 'another'.repeat(50)]) {
      expect(gitlab.isSigned(bytes(body), withToken(wrong), 'secret')).toBe(false);
    }
    expect(gitlab.isSigned(bytes(body), withToken('x'), '')).toBe(false);
    expect(gitlab.readHeaders(headersOf({}))).toEqual({ missing: 'X-Gitlab-Token' });
    expect(gitlab.readHeaders(headersOf({ 'x-gitlab-token': '' }))).toEqual({ missing: 'X-Gitlab-Token' });
  });

  test('before 17.4 has the id of the attempt, never the id that recursive deliveries share', () => {
    const headers = headersOf({ 'x-gitlab-token': 'secret', 'x-gitlab-event-uuid': 'shared' });
    headers.delete('idempotency-key');
    expect(gitlab.readHeaders(headers)).toEqual({ missing: 'Idempotency-Key' });
    headers.set('x-gitlab-webhook-uuid', 'own-1');
    expect(gitlab.readHeaders(headers)).toMatchObject({ deliveryId: 'own-1' });
  });
});

test.each(['', 'Push', 'push hook', 'Push  Hook', 'Push Hook\u00e4', `${'Very '.repeat(7)}Hook`])(
  'the event %p is malformed',
  (event) => {
    expect(gitlab.readHeaders(headersOf({ 'x-gitlab-event': event, 'x-gitlab-token': 's' }))).toEqual({
      missing: 'X-Gitlab-Event',
    });
  },
);
