import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { check, fields, render, status, type Text, table } from '../../src/cli/output.ts';
import { tidings } from '../../src/lib/build.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { root } from '../support/server.ts';

const folder = temporaryFolder();
const ESCAPE = '\u001b';
const title = `A long title about ${'quieter engines and '.repeat(4)}rockets`;

beforeAll(async () => {
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  const path = join(folder.path, 'posts.json');
  const posts = [
    { id: 'one', title, content: 'x' },
    { id: 'two', title: `Red ${ESCAPE}[31malert${ESCAPE}[0m`, content: 'x', status: 'draft' },
  ];
  await Bun.write(path, JSON.stringify(posts));
  await cliJson(folder.path, ['post', 'import', '--organization', 'acme', path]);
});

afterAll(() => folder.remove());

const list = ['post', 'list', '--organization', 'acme'];
const wide = { width: Number.POSITIVE_INFINITY, hasColor: false, hasSymbols: true };
const plain = (text: string) => Bun.stripANSI(text);

test('right-to-left names reorder nothing beside them', () => {
  expect(
    render(
      wide,
      table(
        ['Name', 'Id'],
        [
          ['אבג', 'one'],
          ['Acme', 'two'],
        ],
      ),
    ),
  ).toBe('Name  Id\n\u2068אבג\u2069   one\nAcme  two');
  expect(render(wide, fields({ Event: 'renamed “אבג” to “Acme”' }))).toBe(
    'Event  \u2068renamed “\u2068אבג\u2069” to “Acme”\u2069',
  );
  // A name cannot end the isolate around it.
  expect(render(wide, fields({ Name: 'א\u2069b' }))).toBe('Name  \u2068א b\u2069');
});

describe('color', () => {
  test('marks headings, statuses and errors, and never changes the text', async () => {
    const colored = await cli(folder.path, list, { hasColor: true });
    expect(colored.stdout).toContain(`${ESCAPE}[32mpublished`);
    expect(plain(colored.stdout)).toBe((await cli(folder.path, list)).stdout);
    const failed = await cli(folder.path, ['post', 'show', 'none'], { errorHasColor: true });
    expect(failed.stderr).toStartWith(`${ESCAPE}[31merror:${ESCAPE}[39m Post none not found`);
    const misused = await cli(folder.path, ['post', 'lits'], { errorHasColor: true });
    expect(misused.stderr).toStartWith(
      `${ESCAPE}[31merror:${ESCAPE}[39m unknown command 'lits'. Did you mean list?`,
    );
    const help = await cli(folder.path, ['post', '--help'], { hasColor: true });
    expect(help.stdout).toContain(`${ESCAPE}[1mExamples:`);
    expect((await cli(folder.path, ['post', '--help'])).stdout).not.toContain(ESCAPE);
  });

  test('is our own alone: a stranger cannot add any', async () => {
    const { stdout } = await cli(folder.path, list, { hasColor: true });
    expect(stdout).toContain('Red  [31malert [0m');
    expect(stdout).not.toContain(`${ESCAPE}[31m`);
  });

  test('is never in JSON', async () => {
    const options = { hasColor: true, errorHasColor: true, width: 40 };
    expect(await cliJson(folder.path, list, options)).toMatchObject([
      { title: expect.any(String) },
      { title },
    ]);
  });

  const run = (words: readonly string[], environment: Record<string, string>) => {
    const child = Bun.spawnSync([process.execPath, join(root, 'src/cli.ts'), ...words], {
      env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME, DATA_DIR: folder.path, ...environment },
    });
    return child.stdout.toString();
  };

  test('is absent from pipes, unless FORCE_COLOR asks for it', () => {
    expect(run(list, {})).not.toContain(ESCAPE);
    expect(run(list, { FORCE_COLOR: '1' })).toContain(`${ESCAPE}[32mpublished`);
    expect(JSON.parse(run([...list, '--json'], { FORCE_COLOR: '1' }))).toHaveLength(2);
  }, 60_000);

  /** Runs the command in a pseudo terminal of 60 columns. */
  const runInTerminal = (environment: Record<string, string>) => {
    const command = `stty cols 60; '${process.execPath}' '${join(root, 'src/cli.ts')}' ${list.join(' ')}`;
    const child = Bun.spawnSync(['script', '-qec', command, '/dev/null'], {
      env: {
        PATH: Bun.env.PATH,
        HOME: Bun.env.HOME,
        DATA_DIR: folder.path,
        TERM: 'xterm-256color',
        ...environment,
      },
      stdin: 'ignore',
    });
    return child.stdout.toString().replaceAll('\r\n', '\n');
  };

  test.skipIf(process.platform !== 'linux' || Bun.which('script') === null)(
    'is shown on a terminal, unless NO_COLOR or TERM=dumb forbid it; a table fits the terminal',
    () => {
      const colored = runInTerminal({});
      expect(colored).toContain(`${ESCAPE}[32mpublished`);
      for (const environment of [{ NO_COLOR: '1' }, { TERM: 'dumb' }, { FORCE_COLOR: '0' }]) {
        expect(runInTerminal(environment as Record<string, string>)).toBe(plain(colored));
      }
      const widths = plain(colored)
        .split('\n')
        .map((line) => Bun.stringWidth(line));
      expect(Math.max(...widths)).toBe(60);
      expect(colored).toContain('…');
    },
    60_000,
  );
});

describe('a table', () => {
  const rows = [
    ['post_1', status('published'), 'A title of many words'],
    ['post_22', status('draft'), '日本語のタイトルはとても広い'],
  ];
  const posts = table(['ID', 'STATUS', 'TITLE'], rows, ['TITLE']);
  const at = (width: number) => render({ ...wide, width }, posts);

  test('has its full width outside of a terminal', () => {
    expect(render(wide, posts)).toBe(
      'ID       STATUS     TITLE\npost_1   published  A title of many words\npost_22  draft      日本語のタイトルはとても広い',
    );
  });

  test('cuts only the columns that may be cut', () => {
    expect(at(32)).toBe(
      'ID       STATUS     TITLE\npost_1   published  A title of …\npost_22  draft      日本語のタ…',
    );
    for (let width = 28; width < 60; width++) {
      const lines = at(width).split('\n');
      expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(width);
      expect(lines[2]).toContain('post_22  draft');
    }
  });

  test('becomes lists of labels and values where even that is too wide', () => {
    expect(at(20)).toBe(
      'ID      post_1\nSTATUS  published\nTITLE   A title of many words\n\nID      post_22\nSTATUS  draft\nTITLE   日本語のタイトルはとても広い',
    );
  });

  test('of nothing has headings alone', () => {
    expect(render(wide, table(['ID', 'NAME'], []))).toBe('ID  NAME');
  });
});

test.each<[string, Text, string]>([
  ['paragraphs', ['One.', '', 'Two.'], 'One.\n\nTwo.'],
  ['labels', fields({ Key: 'k', Expires: null }), 'Key      k\nExpires  –'],
  ['a check', check('failed', 'name: broken', 'Mend it'), 'x name: broken\n    Mend it'],
])('%s are laid out for a terminal without symbols', (_, text, expected) => {
  expect(render({ width: 40, hasColor: false, hasSymbols: false }, text)).toBe(expected);
});

test('a check is wrapped below its own text', () => {
  const text = check('ok', 'database: everything is as it should be', 'Nothing to do, so rest for a while');
  expect(render({ ...wide, width: 26 }, text)).toBe(
    '✓ database: everything is\n  as it should be\n    Nothing to do, so rest\n    for a while',
  );
  // A line with a command can be pasted.
  const command = `${tidings} integration rotate-secret int_1`;
  expect(render({ ...wide, width: 26 }, check('ok', 'x', command))).toEndWith(`\n    ${command}`);
});
