import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { commandsOf, pathOf } from '../../src/cli/command.ts';
import { tidings } from '../../src/lib/build.ts';
import { cli, temporaryFolder } from '../support/cli.ts';
import { program } from '../support/commands-page.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const run = (words: readonly string[], terminal = {}) => cli(folder.path, words, terminal);

const paths = commandsOf(await program()).map((command) => pathOf(command));

describe.each(paths.map((path) => [path.join(' '), path] as const))('--help of %p', (_, path) => {
  test('has examples that are right', async () => {
    const { stdout } = await run([...path, '--help']);
    const [, examples = ''] = stdout.split('\nExamples:\n');
    const lines = examples.trimEnd().split('\n');
    for (const line of lines) {
      expect(line).toStartWith(`  ${tidings} ${path.join(' ')}`.trimEnd());
      await expectParses(line.slice(`  ${tidings} `.length));
    }
  });

  test('fits narrow terminals, but for lines to paste', async () => {
    for (const width of [60, 100]) {
      const { stdout } = await run([...path, '--help'], { width });
      const [text = ''] = stdout.split('\nExamples:\n');
      const lines = text.split('\n').filter((line) => !line.startsWith('Usage:'));
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    }
  });

  test('is written in sentence case', async () => {
    const command = commandsOf(await program()).find((each) => pathOf(each).join(' ') === path.join(' '));
    const texts = [
      command?.description(),
      ...(command?.options ?? []).map(({ description }) => description),
      ...(command?.registeredArguments ?? []).map(({ description }) => description),
    ];
    for (const text of texts) expect(text).toMatch(/^(?:[A-Z]|postgres:)/);
  });
});

/** Parses the line as the shell and the program would, and runs nothing. */
async function expectParses(line: string): Promise<void> {
  const [command = ''] = line.split(/ [<>] /);
  const words = Array.from(command.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, bare]) =>
    (quoted ?? bare ?? '').replace('…', 'x'),
  );
  if (words[0] === 'help') return;
  const parsed = await program();
  let ran = false;
  for (const each of commandsOf(parsed)) {
    if (each.commands.length > 0) continue;
    each.action(() => {
      ran = true;
    });
  }
  await parsed.parseAsync(words, { from: 'user' });
  expect({ line, ran }).toEqual({ line, ran: true });
}

describe('a typo', () => {
  test.each([
    [['key', 'create', '--nmae', 'x'], "unknown option '--nmae'. Did you mean --name?", 'key create'],
    [
      ['key', 'create', '--organization', 'a', '--nmae=x'],
      "unknown option '--nmae=x'. Did you mean --name?",
      'key create',
    ],
    [['--jsonn', 'key', 'list'], "unknown option '--jsonn'. Did you mean --json?", ''],
    [['keey', 'create'], "unknown command 'keey'. Did you mean key?", ''],
    [['key', 'craete', '--name', 'x'], "unknown command 'craete'. Did you mean create?", 'key'],
    [['user', 'ceate'], "unknown command 'ceate'. Did you mean create?", 'user'],
    [['key', 'create', '--zzz'], "unknown option '--zzz'", 'key create'],
  ])('%p is named before anything that is missing', async (words, message, path) => {
    expect(await run(words)).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `error: ${message}\nRun "${[tidings, path, '--help'].filter(Boolean).join(' ')}" for usage.\n`,
    });
  });

  test('is not suspected in right words: the missing option is named', async () => {
    const { stderr } = await run(['key', 'create', '--name', '--nmae']);
    expect(stderr).toStartWith("error: required option '--organization <id>' not specified\n");
    expect((await run(['post', 'import'])).stderr).toStartWith("error: missing required argument 'file'\n");
  });
});

test.each([
  [['serve', '--demo'], 8],
  [['post', 'import'], 1],
  [['--json', 'post', 'import'], 1],
  [['completion', 'bash'], 1],
  [[], 1],
])('the command %p lets code run %p times as often before it is compiled', async (words, scale) => {
  using policy = spyOn(Bun.unsafe, 'setJITPolicy').mockReturnValue(undefined);
  await program(words);
  expect(policy.mock.calls).toEqual([[scale]]);
});
