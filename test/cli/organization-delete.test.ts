import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { migrations } from '../../db/sqlite/migrate.ts';
import { commandsOf, pathOf } from '../../src/cli/command.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { program } from '../support/commands-page.ts';
import { fixtureOf } from '../support/schema-fixtures.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const run = (...words: string[]) => cli(folder.path, words);
const json = (...words: string[]) => cliJson(folder.path, words);

/** The fixture has two organizations, each with a row in every table. The other one goes. */
const ORGANIZATION = 'organizations_0';

/** An id of the same kind, which nothing has. */
const NEVER = 'sug_never';

const file = join(folder.path, 'post.md');

/** The rows that the fixture has of each group of commands. */
const things: Readonly<Record<string, string>> = {
  key: 'api_keys_0',
  post: 'posts_0',
  suggestion: 'sug_0',
  integration: 'integrations_0',
  trigger: 'triggers_0',
  delivery: 'deliveries_0',
  hook: 'rebuild_hooks_0',
  organization: ORGANIZATION,
  roundup: 'roundups_0',
  history: 'histories_0',
};

/** Words that a command needs beside its id or organization. */
const more: Readonly<Record<string, string[]>> = {
  'organization rename': ['--name', 'N'],
  'organization set-plan': ['pro'],
  'organization set-approval': ['on'],
  'organization delete': ['--confirm', 'N'],
  'post edit': ['--title', 'T'],
  'post create': ['--title', 'T', file],
  'post import': [file],
  'integration add': ['acme/x'],
  'integration remove': ['acme/x'],
  'integration set-token': ['--token', 'T'],
  ...Object.fromEntries(
    ['github', 'gitlab', 'forgejo'].map((type) => [
      `integration connect ${type}`,
      ['--repository', 'acme/x'],
    ]),
  ),
  'trigger change': ['--tag', 'v*'],
  'roundup change': ['--name', 'N'],
  'roundup create': ['--name', 'N', '--repository', 'acme/x'],
  'trigger preview': ['--delivery', 'deliveries_1'],
  'user create': ['--email', 'new@acme.example'],
  'user add': ['new@acme.example'],
  'page set': ['--title', 'T'],
  'hook create': ['--name', 'N', '--url', 'https://hooks.example/x'],
  'key create': ['--name', 'N'],
  history: ['acme/x'],
  draft: ['acme/x', 'v1..v2'],
  preview: ['acme/x#1'],
};

/** Those that work for an organization in the trash. */
const allowed = ['organization restore', 'audit list', 'key revoke', 'key delete'];

beforeAll(async () => {
  using db = new Database(join(folder.path, 'tidings.db'), { create: true });
  // As ids of real rows.
  db.run(fixtureOf(migrations.length).replaceAll(/'([a-z_]+) ([01])'/g, "'$1_$2'"));
  db.run(`update organizations set deleted_at = null, name = 'Acme'`);
  db.run('pragma foreign_keys = on');
  db.run(`delete from organizations where id <> '${ORGANIZATION}'`);
  // Rows that no foreign key joins.
  db.run(`update deliveries set organization_id = '${ORGANIZATION}' where id = 'deliveries_0'`);
  db.run(`update post_suggestions set id = 'sug_0', post_id = 'posts_0' where id = 'post_suggestions_0'`);
  await Bun.write(file, 'Text');
});

const leaves = commandsOf(await program()).filter((command) => command.commands.length === 0);
const about = leaves.flatMap((command) => {
  const path = pathOf(command);
  const thing = things[path.at(-2) ?? ''];
  const takesId = command.registeredArguments[0]?.name() === 'id' && thing !== undefined;
  return takesId ? [[path.join(' '), [...path, thing]] as const] : [];
});
const ofOrganization = leaves
  .filter((command) => command.options.some(({ long }) => long === '--organization'))
  .map((command) => pathOf(command))
  .map((path) => [path.join(' '), [...path, '--organization', ORGANIZATION]] as const);

describe('an organization in the trash', () => {
  beforeAll(async () => {
    const suggestions = await json('post', 'suggestion', 'list', '--organization', ORGANIZATION);
    expect(suggestions).toHaveLength(1);
    await json('organization', 'delete', ORGANIZATION, '--confirm', 'Acme');
  });

  const all = [...about, ...ofOrganization].filter(([path]) => !allowed.includes(path));
  test.each(all)('looks as if it had never been to %s', async (path, words) => {
    const extra = more[path] ?? [];
    const never = await run(...words.with(-1, NEVER), ...extra);
    const result = await run(...words, ...extra);
    const withoutHint = (text: string) => text.replace(/(?<=not found)\..*/, '');
    expect(result.exitCode).not.toBe(2);
    expect({ ...result, stderr: withoutHint(result.stderr) }).toEqual({
      ...never,
      stderr: withoutHint(never.stderr).replaceAll(NEVER, words.at(-1) ?? ''),
    });
  });

  test.each([
    'integration list',
    'roundup list',
    'trigger list',
    'trigger runs',
    'hook list',
    'post suggestion list',
  ])('is not in %s', async (list) => {
    expect(await json(...list.split(' '))).toEqual([]);
  });
});
