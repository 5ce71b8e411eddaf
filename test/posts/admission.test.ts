import { expect, test } from 'bun:test';
import { allowReading } from '../../src/people/keys/check.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';

async function begin() {
  const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  await app.addPosts('org_a', { id: 'mine' });
  await app.addPosts('org_b', { id: 'theirs' });
  return app;
}

const requestFor = (path: string, headers = {}) => new Request(`http://localhost${path}`, { headers });

test('a request that the server allowed reads the posts of its organization without a key', async () => {
  const app = await begin();
  for (const path of ['/v1/org_a/posts', '/v1/org_a/posts/mine']) {
    const response = await app.fetch(allowReading(requestFor(path), 'org_a'));
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"mine"');
  }
});

test('it reads no posts of another organization', async () => {
  const app = await begin();
  for (const path of ['/v1/org_b/posts', '/v1/org_b/posts/theirs', '/v1/org_A/posts', '/v1/none/posts']) {
    const response = await app.fetch(allowReading(requestFor(path), 'org_a'));
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ error: 'Forbidden: organization access denied' });
  }
  const response = await app.fetch(allowReading(requestFor('/v1/org_a/posts/theirs'), 'org_a'));
  expect(await response.json()).toEqual({ post: null });
});

test('the permission is that of the object: an equal request and a copy need a key', async () => {
  const app = await begin();
  const allowed = allowReading(requestFor('/v1/org_a/posts', { 'x-request-id': 'req_12345678' }), 'org_a');
  const others = [allowed.clone(), new Request(allowed), requestFor('/v1/org_a/posts', allowed.headers)];
  expect((await app.fetch(allowed)).status).toBe(200);
  for (const other of others) {
    const response = await app.fetch(other);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({ error: 'Missing API key' });
  }
});

test('it opens nothing but the content API', async () => {
  const app = await begin();
  for (const path of ['/dashboard/org_a/posts', '/metrics', '/dashboard/org_a/explorer?send=1']) {
    const plain = await app.fetch(requestFor(path));
    const allowed = await app.fetch(allowReading(requestFor(path), 'org_a'));
    expect([303, 403]).toContain(plain.status);
    expect(allowed.status).toBe(plain.status);
  }
});

test('it uses no key: an organization without keys can be read, and no key counts as used', async () => {
  const app = await begin();
  const key = await app.addKey('org_a');
  const verified = app.deps.metrics.verifications.valid.value;
  expect((await app.fetch(allowReading(requestFor('/v1/org_a/posts'), 'org_a'))).status).toBe(200);
  expect(app.deps.metrics.verifications.valid.value).toBe(verified);
  await app.deps.keys.flush({ all: true });
  expect(await app.deps.keys.listKeys('org_a')).toMatchObject([{ id: key.id, lastUsedAt: null }]);
  expect((await app.request('/v1/org_a/posts', bearer(key))).status).toBe(200);
});
