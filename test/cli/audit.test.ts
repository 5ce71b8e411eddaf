import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();
const json = (...words: string[]) => cliJson(folder.path, words);
const run = (...words: string[]) => cli(folder.path, words);

interface Listed {
  id: number;
  action: string;
  organizationId: string | null;
  summary: string;
}

/** As `id` tells, which asks the system and not $USER. */
const systemUser = Bun.spawnSync(['id', '-un']).stdout.toString().trim();

let keyId = '';

// Each command that changes something leaves one event: this is the whole list, oldest first.
const expected: [action: string, organizationId: string, summary: string][] = [
  ['organization.created', 'acme', 'created the organization “Acme”'],
  ['organization.changed', 'acme', 'changed the plan from free to pro'],
  ['key.created', 'acme', 'created the API key “Website”'],
  ['key.revoked', 'acme', 'revoked the API key “Website”'],
  ['key.deleted', 'acme', 'deleted the API key “Website”'],
  ['post.imported', 'acme', 'imported 2 posts (2 published) from “posts.json”'],
  ['post.unpublished', 'acme', 'unpublished the post “One”'],
  ['post.published', 'acme', 'published the post “One”'],
  ['post.deleted', 'acme', 'deleted the post “One”'],
  ['integration.connected', 'acme', 'connected the GitHub integration acme/rocket'],
  ['secret.rotated', 'acme', 'rotated the webhook secret of the GitHub integration acme/rocket'],
  ['integration.disabled', 'acme', 'disabled the GitHub integration acme/rocket'],
  ['integration.enabled', 'acme', 'enabled the GitHub integration acme/rocket'],
  ['trigger.created', 'acme', 'created the trigger “release → changelog”'],
  ['trigger.changed', 'acme', 'changed the trigger “release → linkedin post”: content type'],
  ['trigger.disabled', 'acme', 'disabled the trigger “release → linkedin post”'],
  ['trigger.enabled', 'acme', 'enabled the trigger “release → linkedin post”'],
  ['trigger.deleted', 'acme', 'deleted the trigger “release → linkedin post”'],
  ['integration.disconnected', 'acme', 'disconnected the GitHub integration acme/rocket'],
  ['organization.created', 'other', 'created the organization “Other”'],
];

const secrets: string[] = [];

beforeAll(async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  await json('organization', 'set-plan', 'acme', 'pro');
  const key = await json('key', 'create', '--organization', 'acme', '--name', 'Website');
  keyId = key.id;
  await json('key', 'revoke', keyId);
  await json('key', 'delete', keyId);
  const file = join(folder.path, 'posts.json');
  const posts = ['One', 'Two'].map((title) => ({ id: title, title, markdown: 'x' }));
  await Bun.write(file, JSON.stringify(posts));
  await json('post', 'import', file, '--organization', 'acme');
  await json('post', 'unpublish', 'One');
  await json('post', 'publish', 'One');
  await json('post', 'delete', 'One');
  const connect = ['integration', 'connect', 'github', '--organization', 'acme'];
  const { integrationId, secret } = await json(...connect, '--repository', 'acme/rocket');
  secrets.push(key.key, secret, (await json('integration', 'rotate-secret', integrationId)).secret);
  await json('integration', 'disable', integrationId);
  await json('integration', 'enable', integrationId);
  const create = ['trigger', 'create', '--integration', integrationId, '--event', 'release'];
  const { id } = await json(...create, '--content-type', 'changelog');
  await json('trigger', 'change', id, '--content-type', 'linkedin_post');
  await json('trigger', 'disable', id);
  await json('trigger', 'enable', id);
  await json('trigger', 'delete', id);
  await json('integration', 'disconnect', integrationId);
  await json('organization', 'create', '--name', 'Other', '--id', 'other');
  for (const words of [
    ['key', 'delete', keyId],
    ['post', 'publish', 'nothing'],
    ['organization', 'create', '--name', 'Again', '--id', 'acme'],
    ['trigger', 'enable', 'nothing'],
    ['integration', 'disable', 'nothing'],
  ]) {
    expect((await run(...words)).exitCode).toBe(1);
  }
}, 120_000);

afterAll(() => folder.remove());

test('each command that changes something leaves one event, and no secret', async () => {
  const events: Listed[] = await json('audit', 'list');
  expect(
    events.map(({ action, organizationId, summary }) => [action, organizationId, summary]).reverse(),
  ).toEqual(expected);
  for (const secret of secrets) expect(JSON.stringify(events)).not.toContain(secret);
});

test('an event says who, from where, what and when', async () => {
  const [event] = await json('audit', 'list', '--action', 'key.revoked');
  expect(event).toEqual({
    id: expect.any(Number),
    organizationId: 'acme',
    action: 'key.revoked',
    actor: { type: 'command_line', id: null, name: systemUser },
    address: null,
    target: { type: 'key', id: keyId },
    summary: 'revoked the API key “Website”',
    count: 1,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
});

test('the list is narrowed by organization, action, time and number', async () => {
  const summaries = async (...words: string[]) =>
    (await json('audit', 'list', ...words)).map(({ summary }: Listed) => summary);
  expect(await summaries('--organization', 'other')).toEqual(['created the organization “Other”']);
  expect(await summaries('--action', 'organization.created', '--limit', '1')).toEqual([
    'created the organization “Other”',
  ]);
  expect(await summaries('--since', '1h')).toHaveLength(expected.length);
  expect(await summaries('--since', '2099-01-01')).toEqual([]);
});

test('the list is a table for people', async () => {
  const { stdout } = await run('audit', 'list', '--limit', '1');
  expect(stdout).toMatch(/^TIME +EVENT +ADDRESS +ORGANIZATION\n/);
  expect(stdout).toContain(`${systemUser} on the command line created the organization “Other”`);
  expect((await run('audit', 'list', '--since', '2099-01-01')).stdout).toBe('No events found.\n');
});

test.each([
  [['--organization', 'nothing'], 1, 'Organization nothing not found'],
  [['--action', 'key'], 2, "option '--action <action>' argument 'key' is invalid"],
  [['--limit', '0'], 2, 'It must be a whole number from 1 to 1000.'],
  [['--since', 'soon'], 2, 'It must be an ISO 8601 time'],
])('%p is refused', async (words, exitCode, message) => {
  const refused = await run('audit', 'list', ...words);
  expect(refused).toMatchObject({ exitCode, stderr: expect.stringContaining(message) });
});

test('an event at Tidings’ own terminal is not repeated on standard error', async () => {
  const words = ['organization', 'set-plan', 'other', 'pro'];
  const { exitCode, stderr } = await cli(folder.path, words, { environment: { LOG_LEVEL: 'info' } });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});
