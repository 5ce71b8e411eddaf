import { expect, test } from 'bun:test';
import { DatabaseUnavailable } from '../../db/failures.ts';
import { composeDraft } from '../../src/drafting/compose.ts';
import { createApp } from '../../src/server/app.ts';
import { bearer, createTestApp } from '../support/test-app.ts';

/** An app whose database fails. */
function appWithoutDatabase(failure: Error = new DatabaseUnavailable(new Error('connection refused'))) {
  const app = createTestApp();
  const away = () => Promise.reject(failure);
  const db = { ...app.db, read: away, write: away };
  const server = createApp({
    ...app.deps,
    db,
    compose: async (recipe, material) => composeDraft(recipe, material),
    clientIpHeader: undefined,
    organizationCreation: 'owners',
  });
  const ask = (path: string, init?: RequestInit) =>
    Promise.resolve(server.fetch(new Request(`http://localhost${path}`, init)));
  return { ...app, ask };
}

const cookie = '__Host-tidings_session=abc';

test('a page says that the database is away, and tries again by itself', async () => {
  const { ask, logged } = appWithoutDatabase();
  const response = await ask('/dashboard/org_a', { headers: { cookie } });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('5');
  expect(response.headers.get('refresh')).toBe('5');
  const text = await response.text();
  expect(text).toContain('Database unavailable');
  expect(text).toContain('Saved data is safe.');
  // The pool of connections logs an outage once, not each request.
  expect(logged.filter(({ msg }) => msg !== 'request')).toEqual([]);
});

test('a form says how to send it again, and is not sent by itself', async () => {
  const { ask } = appWithoutDatabase();
  const response = await ask('/dashboard/~/sign-out', {
    method: 'POST',
    headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    body: '',
  });
  expect(response.status).toBe(503);
  expect(response.headers.get('refresh')).toBeNull();
  const text = await response.text();
  expect(text).toContain('Your last change may not be saved.');
  expect(text).toContain('Reload this page in a moment.');
});

test('the content API answers 503 with Retry-After', async () => {
  const { ask, addOrganization, addKey } = appWithoutDatabase();
  await addOrganization('org_a');
  const key = await addKey('org_a');
  const response = await ask('/v1/org_a/posts', bearer(key));
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('5');
  expect(await response.json()).toEqual({ error: 'The database is not available' });
});

test.each([
  ['SQLITE_IOERR_READ', 'The database is not available'],
  ['SQLITE_BUSY', 'The database is busy'],
  ['EMFILE', 'Service unavailable'],
])('%s is 503 with Retry-After on pages and in the content API, and is logged', async (code, error) => {
  const { ask, addOrganization, addKey, logged } = appWithoutDatabase(
    Object.assign(new Error('a fault'), { code }),
  );
  await addOrganization('org_a');
  const key = await addKey('org_a');
  for (const response of [
    await ask('/dashboard/org_a', { headers: { cookie } }),
    await ask('/changelog/acme', { headers: { accept: 'text/html' } }),
    await ask('/v1/org_a/posts', bearer(key)),
  ]) {
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^[15]$/);
    if (!response.headers.get('content-type')?.includes('html'))
      expect(await response.json()).toEqual({ error });
  }
  expect(logged.filter(({ msg }) => msg === 'request failed')).toHaveLength(3);
});
