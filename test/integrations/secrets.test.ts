import { beforeEach, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import { SECRET_KEY_BYTES, secretBox, WrongSecretKey } from '../../src/lib/secret-box.ts';
import { contentOf, execute } from '../support/database.ts';
import { connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization();
});

const ping = { zen: 'Design for failure.' };

test('a rotation with "now" ends the old secret at once, and the refusal names the cause', async () => {
  const connected = await connectGithub(app, 'org_a');
  const { secret } = await rotateSecret(app.deps, connected.integrationId, { now: true });
  expect((await app.request(...githubRequest(connected, ping))).status).toBe(401);
  expect((await app.request(...githubRequest(connected, ping, { secret }))).status).toBe(200);
  expect((await logOf(app)).find(({ statusCode }) => statusCode === 401)?.reason).toContain(
    'signed with the secret before the last rotation, which no longer works',
  );
});

test('a second rotation ends the first secret', async () => {
  const connected = await connectGithub(app, 'org_a');
  await rotateSecret(app.deps, connected.integrationId);
  await rotateSecret(app.deps, connected.integrationId);
  expect((await app.request(...githubRequest(connected, ping))).status).toBe(401);
});

test('no secret is in plain text in the database, in the log, or in a response', async () => {
  const connected = await connectGithub(app, 'org_a');
  const { secret } = await rotateSecret(app.deps, connected.integrationId);
  const response = await app.request(...githubRequest(connected, ping));
  const database = await contentOf(app.db);
  const seen = [
    database,
    JSON.stringify(app.logged),
    await response.text(),
    JSON.stringify(await logOf(app)),
  ].join();
  for (const value of [connected.secret, secret]) expect(seen.includes(value)).toBe(false);
  expect(database.includes(connected.integrationId)).toBe(true);
});

test('under another SECRET_KEY a delivery fails with 500 and is logged', async () => {
  const connected = await connectGithub(app, 'org_a');
  await execute(
    app.db,
    sql`UPDATE integrations SET secret = ${secretBox(new Uint8Array(32)).seal('x', 'y')}`,
  );
  const response = await app.request(...githubRequest(connected, ping));
  expect(response.status).toBe(500);
  expect(await logOf(app)).toMatchObject([
    { status: 'failed', reason: expect.stringContaining('SECRET_KEY') },
  ]);
});

test('after the key was lost, a rotated secret is accepted at once', async () => {
  const connected = await connectGithub(app, 'org_a');
  await execute(
    app.db,
    sql`UPDATE integrations SET secret = ${secretBox(new Uint8Array(32)).seal('x', 'y')}`,
  );
  const { secret } = await rotateSecret(app.deps, connected.integrationId);
  expect((await app.request(...githubRequest(connected, ping, { secret }))).status).toBe(200);
  expect((await app.request(...githubRequest(connected, ping))).status).toBe(401);
});

test('the box opens only unchanged values of the same key and context', () => {
  const box = secretBox(new Uint8Array(SECRET_KEY_BYTES).fill(1));
  const sealed = box.seal('añ 🚀', 'a');
  expect(box.open(sealed, 'a')).toBe('añ 🚀');
  expect(box.seal('añ 🚀', 'a')).not.toEqual(sealed);
  expect(() => box.open(sealed, 'b')).toThrow(WrongSecretKey);
  expect(() => secretBox(new Uint8Array(SECRET_KEY_BYTES)).open(sealed, 'a')).toThrow(WrongSecretKey);
  for (let index = 1; index < sealed.length; index++) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => box.open(changed, 'a')).toThrow(WrongSecretKey);
  }
  expect(() => box.open(sealed.subarray(0, 20), 'a')).toThrow(WrongSecretKey);
  expect(() => box.open(Buffer.alloc(0), 'a')).toThrow(WrongSecretKey);
});
