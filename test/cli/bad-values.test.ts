import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { commandsOf, pathOf } from '../../src/cli/command.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { program } from '../support/commands-page.ts';
import { root } from '../support/server.ts';

// A bad value of an option ends every command with 2 and a message that names the option.

/** A wrong value for what stands in brackets; an empty value is wrong for all. Bounds of settings: test/config.test.ts. */
const wrong: Readonly<Record<string, string>> = {
  action: 'nope',
  address: 'foo',
  color: 'red',
  event: 'nope',
  'group/name...': 'rocket',
  id: 'no such',
  liquid: '{{ nope',
  number: 'many',
  'owner/name...': 'rocket',
  permission: 'api.write',
  slug: 'a/b',
  time: 'tomorrow',
  token: 'two words',
  url: 'nowhere',
};

/** Free text of other systems: any word may be right. */
const free = ['delivery replay --event', 'delivery list --event', 'audit list --action'];

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const ids: Record<string, string> = { organization: 'acme' };

beforeAll(async () => {
  const json = (...words: string[]) => cliJson(dataDir, words);
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  for (const type of ['github', 'gitlab', 'linear', 'forgejo']) {
    const place = type === 'linear' ? [] : ['--repository', 'acme/rocket'];
    const connected = await json('integration', 'connect', type, '--organization', 'acme', ...place);
    ids[type] = connected.integrationId;
  }
  const integration = ['--integration', String(ids.github)];
  const trigger = await json(
    'trigger',
    'create',
    ...integration,
    '--event',
    'release',
    '--content-type',
    'changelog',
  );
  const post = await json(
    'post',
    'create',
    '--organization',
    'acme',
    '--title',
    'Post',
    join(root, 'README.md'),
  );
  Object.assign(ids, { trigger: trigger.id, post: post.id, integration: ids.github });
});

afterAll(() => folder.remove());

/** A right value for an option or an argument of the command. */
function rightValue(path: readonly string[], name: string): string {
  const values: Record<string, string> = {
    email: 'a@example.com',
    event: 'release',
    file: join(root, 'CHANGELOG.md'),
    id: ids[path[0] ?? ''] ?? 'any',
    integration: (path[0] === 'send' ? ids[path[1] ?? ''] : ids.integration) ?? '',
    organization: 'acme',
    'pull-request': 'acme/rocket#1',
    range: 'v1..v2',
    repository: 'acme/rocket',
    to: folder.path,
    url: 'https://example.com/hook',
  };
  return values[name] ?? 'any';
}

const isRequired = ({ description }: Option) => description.endsWith(' (required)');

/** The words of a command with a value for one option, and right values wherever one is required. */
function wordsWith(command: Command, tested: Option, value: string): string[] {
  const path = pathOf(command);
  const operands = command.registeredArguments.filter(({ required }) => required);
  const others = command.options.filter((option) => option !== tested && isRequired(option));
  return [
    ...[...path, ...operands.map((operand) => operand.argChoices?.[0] ?? rightValue(path, operand.name()))],
    ...others.flatMap((option) => [String(option.long), rightValue(path, option.attributeName())]),
    ...[String(tested.long), value],
  ];
}

const commands = commandsOf(await program()).filter(({ commands: below }) => below.length === 0);
const cases = commands.flatMap((command) => {
  const path = pathOf(command).join(' ');
  const options = command.options.filter(({ required, optional }) => required || optional);
  return options.flatMap((option) => {
    const [, kind = ''] = /[<[](.+)[>\]]$/.exec(option.flags) ?? [];
    const isSetting = option.description.endsWith(']') || path === 'doctor';
    const isFree = isSetting || free.includes(`${path} ${option.long}`) || option.long === '--delivery';
    const bad = option.argChoices === undefined ? wrong[kind] : 'nope';
    const values = isFree || bad === undefined ? [''] : ['', bad];
    return values.map((value) => [`${path} ${option.long}`, value, wordsWith, command, option] as const);
  });
});

test('there are options to check', () => expect(cases.length).toBeGreaterThan(300));

test.each(cases)('%s %p', async (_, value, make, command, option) => {
  const { exitCode, stdout, stderr } = await cli(dataDir, make(command, option, value));
  const name = option.name().replaceAll('-', '[- ]');
  expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(new RegExp(`\\b${name}\\b`, 'i'));
});
