import { describe, expect, test } from 'bun:test';
import { forgejo } from '../../../src/providers/forgejo/provider.ts';
import { samplePayload, toEvent } from '../../../src/providers/index.ts';
import { hmacSha256 } from '../../../src/providers/provider.ts';
import { changed, type Payload, readEvent } from '../../support/payloads.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const server = 'https://forgejo.example/acme/rocket';
const sample = (event: string, action?: string): Payload =>
  samplePayload('forgejo', event, { repository: 'acme/rocket', now, action }) ?? {};
const bytes = (text: string) => new TextEncoder().encode(text);

/** The event of a sample, by way of the log. */
function eventOf(name: string, changes: Payload = {}, action?: string) {
  const result = readEvent(forgejo, name, changed(sample(name, action), changes));
  if (result.outcome !== 'processed') throw new Error(result.outcome);
  return toEvent({
    integrationId: 'int_1',
    integrationType: 'forgejo',
    repositoryId: 'repo_1',
    repository: 'acme/rocket',
    deliveryId: 'delivery-1',
    receivedAt: now.toISOString(),
    event: name,
    action: result.processed.action,
    data: JSON.parse(JSON.stringify(result.processed.data)),
  });
}

describe('the signature', () => {
  const body = '{"title":"Größe 🚀"}';
  const signature = hmacSha256('secret', body);

  test('is the bare hex of the HMAC', () => {
    expect(forgejo.isSigned(bytes(body), signature, 'secret')).toBe(true);
    expect(forgejo.isSigned(bytes(body), `sha256=${signature}`, 'secret')).toBe(false);
    expect(forgejo.isSigned(bytes(`${body} `), signature, 'secret')).toBe(false);
    expect(forgejo.isSigned(bytes(body), signature, 'another')).toBe(false);
    expect(forgejo.isSigned(bytes(body), signature, '')).toBe(false);
    expect(forgejo.isSigned(bytes('{}'), hmacSha256('secret', '{}'), 'secret')).toBe(true);
  });

  test('covers the payload when the payload comes in a form', async () => {
    const form = bytes(new URLSearchParams({ payload: body }).toString());
    expect(forgejo.isSigned(form, signature, 'secret')).toBe(true);
    expect(forgejo.isSigned(form, hmacSha256('secret', form), 'secret')).toBe(false);
    expect(await forgejo.readPayload(form, 'application/x-www-form-urlencoded', now)).toEqual(
      JSON.parse(body),
    );
  });

  test.each(['application/json', 'application/x-www-form-urlencoded', null])(
    'covers what is read, whatever the content type %p says',
    async (contentType) => {
      const payload = { title: '&payload={"title":"forged"}&' };
      const form = new URLSearchParams({ payload: JSON.stringify(payload) });
      expect(await forgejo.readPayload(bytes(JSON.stringify(payload)), contentType, now)).toEqual(payload);
      expect(await forgejo.readPayload(bytes(form.toString()), contentType, now)).toEqual(payload);
    },
  );

  test('comes with the headers of Forgejo or Gitea, not with others that both send for compatibility', () => {
    const headers = forgejo.sign({ event: 'push', deliveryId: 'a-1', body, secret: 'secret', now });
    expect(headers['x-forgejo-signature']).toBe(signature);
    expect(forgejo.readHeaders(new Headers(headers))).toEqual({
      event: 'push',
      deliveryId: 'a-1',
      signature,
    });
    expect(
      forgejo.readHeaders(new Headers({ 'x-github-event': 'push', 'x-hub-signature-256': 'sha256=x' })),
    ).toEqual({ missing: 'X-Forgejo-Event' });
    const ofGitea = { 'x-gitea-event': 'push', 'x-gitea-delivery': 'b-1', 'x-gitea-signature': signature };
    expect(forgejo.readHeaders(new Headers(ofGitea))).toEqual({
      event: 'push',
      deliveryId: 'b-1',
      signature,
    });
    // Forgejo sends both sets: its own decides, and must be whole.
    expect(forgejo.readHeaders(new Headers({ ...ofGitea, ...headers }))).toMatchObject({ deliveryId: 'a-1' });
    expect(forgejo.readHeaders(new Headers({ ...ofGitea, 'x-forgejo-event': 'push' }))).toEqual({
      missing: 'X-Forgejo-Delivery',
    });
    expect(forgejo.readHeaders(new Headers({ 'x-gitea-event': 'push' }))).toEqual({
      missing: 'X-Gitea-Delivery',
    });
    expect(forgejo.loggedHeaders.filter((name) => name.includes('signature'))).toEqual([]);
  });
});

test('a release is its tag, on its branch, at its publication', () => {
  expect(readEvent(forgejo, 'release', sample('release'))).toMatchObject({
    outcome: 'processed',
    title: 'Release v2.4.0 published',
    processed: { type: 'release', action: 'published', data: { id: 9, tagName: 'v2.4.0', updatedAt: null } },
  });
  expect(eventOf('release')).toEqual({
    type: 'release',
    key: 'v2.4.0',
    releaseId: '9',
    branch: 'main',
    version: ' 0',
    occurredAt: '2026-11-20T11:59:00.000Z',
    repository: 'acme/rocket',
    deliveryId: 'delivery-1',
    data: {
      tag: 'v2.4.0',
      name: 'Rocket 2.4.0: quieter engines',
      notes: expect.stringContaining('Quiet mode'),
      isPrerelease: false,
      author: 'ann',
      url: `${server}/releases/tag/v2.4.0`,
    },
  });
});

test('a release that was updated is an edit, and replaces the one before', () => {
  const payload = sample('release', 'updated');
  expect(readEvent(forgejo, 'release', payload)).toMatchObject({
    title: 'Release v2.4.0 edited',
    processed: { action: 'edited' },
  });
  expect(eventOf('release', {}, 'updated')?.version).toBe(' 1');
});

test('a push lists its commits oldest first, without addresses', () => {
  const event = eventOf('push');
  expect(event).toMatchObject({
    type: 'push',
    key: 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77',
    branch: 'main',
    occurredAt: '2026-11-20T11:40:00.000Z',
    data: { compareUrl: expect.stringContaining(`${server}/compare/`) },
  });
  expect(event?.type === 'push' && event.data.commits).toMatchObject([
    { subject: 'feat(engine): start 40 % softer in quiet mode', author: 'ann' },
    { subject: "fix(gauge): show today's value after midnight (#12)", author: 'ann' },
  ]);
  const result = readEvent(forgejo, 'push', sample('push'));
  expect(JSON.stringify(result)).not.toContain('ben@acme.test');
  expect(result).toMatchObject({ processed: { data: { pusher: 'ann' } } });
});

test('the title of a push counts the commits that Forgejo left out', () => {
  const result = readEvent(forgejo, 'push', changed(sample('push'), { total_commits: 12 }));
  expect(result.title).toBe('12 commits pushed to main, of which the payload has 2');
});

test('the button "Test delivery" counts as a ping', () => {
  const zeros = '0'.repeat(40);
  for (const at of [zeros, 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77']) {
    const payload = changed(sample('push'), { before: at, after: at });
    expect(readEvent(forgejo, 'push', payload).outcome).toBe('ping');
  }
});
