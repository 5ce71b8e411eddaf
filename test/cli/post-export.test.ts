import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();
afterAll(folder.remove);

const at = (name: string) => join(folder.path, name);
const read = (name: string) => Bun.file(at(name)).text();
const run = (...words: string[]) => cli(at('data'), ['post', ...words, '--organization', 'acme']);
const json = (...words: string[]) => cliJson(at('data'), ['post', ...words, '--organization', 'acme']);

const posts = [
  { id: 'one', title: 'Rocket: *quieter*', markdown: '- a\n', createdAt: '2026-11-18T09:30:00Z' },
  {
    id: 'two',
    title: '2.4.0',
    markdown: 'a\r\nb',
    createdAt: '2026-11-19',
    status: 'draft',
    isDateSet: false,
  },
  { id: 'three', title: 'Hi', content: ' c ', contentType: 'linkedin_post', createdAt: '2026-11-20' },
];
await cliJson(at('data'), ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
await Bun.write(at('in.json'), JSON.stringify(posts));
await json('import', at('in.json'));

describe('post export --output', () => {
  test.each([
    ['out.jsonl', 'jsonl', 3],
    ['out.json', 'json', 3],
    ['CHANGELOG.md', 'changelog', 1],
    ['out.tar.gz', 'markdown', 3],
    ['folder/', 'markdown', 3],
  ])('%s has the format %s', async (name, format, count) => {
    const words = name === 'folder/' ? ['--format', 'markdown'] : [];
    const result = await json('export', '--output', at(name), ...words);
    expect(result).toEqual({ path: at(name), format, posts: count });
    expect(existsSync(at(name))).toBe(true);
    if (format === 'markdown') return;
    // The same bytes as the output of the command.
    expect(await read(name)).toBe((await run('export', '--format', format)).stdout);
  });

  test('a folder of Markdown files imports into an empty database as the same posts', async () => {
    mkdirSync(at('empty'));
    await json('export', '--output', at('empty'), '--format', 'markdown');
    expect(readdirSync(at('empty')).sort()).toEqual(['changelog', 'linkedin_post']);
    const other = at('other');
    await cliJson(other, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
    const words = ['post', 'import', '--organization', 'acme', at('empty')];
    const nothing = { headings: null, unchanged: 0, reassignedIds: 0, newIds: {}, skipped: [] };
    const result = { file: at('empty'), ...nothing };
    expect(await cliJson(other, words)).toEqual([{ ...result, created: 3, updated: 0 }]);
    const exported = await cli(other, ['post', 'export', '--organization', 'acme', '--jsonl']);
    expect(exported.stdout).toBe((await run('export', '--jsonl')).stdout);
    expect(await cliJson(other, words)).toEqual([{ ...result, created: 0, updated: 0, unchanged: 3 }]);
  });

  test.each([
    [['--output', 'in.json'], 1, 'exists already. Delete it, or choose another name.'],
    [['--output', '', '--format', 'markdown'], 1, 'exists already'],
    [['--output', 'nowhere/out.json'], 1, 'was not written: ENOENT'],
    [['--output', 'out.txt'], 2, 'names no format. Add --format json|jsonl|markdown|changelog'],
    [['--format', 'markdown'], 2, 'Markdown is a file for each post. Add --output'],
    [['--format', 'json', '--jsonl'], 2, 'cannot be used with'],
  ])('%p is refused, and nothing is written', async (words, exitCode, message) => {
    const before = [readdirSync(folder.path).sort(), await read('in.json')];
    const named = words.map((word, n) => (words[n - 1] === '--output' ? at(word) : word));
    const result = await run('export', ...named);
    expect(result).toMatchObject({ exitCode, stdout: '' });
    expect(result.stderr).toContain(message);
    expect([readdirSync(folder.path).sort(), await read('in.json')]).toEqual(before);
  });

  test('of an unknown organization writes nothing', async () => {
    const words = ['post', 'export', '--organization', 'nobody', '--output', at('nobody.json')];
    expect(await cli(at('data'), words)).toMatchObject({ exitCode: 1, stdout: '' });
    expect(readdirSync(folder.path).filter((name) => name.startsWith('nobody'))).toEqual([]);
  });
});

test('a terminal gets no control character of a changelog, and a file has them all', async () => {
  const words = ['post', 'import', '--organization', 'acme', at('red.json')];
  await Bun.write(at('red.json'), JSON.stringify([{ title: 'Red', markdown: 'a \u001b[31mred' }]));
  await cliJson(at('terminal'), ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  await cliJson(at('terminal'), words);
  const exporting = ['post', 'export', '--organization', 'acme', '--format', 'changelog'];
  expect((await cli(at('terminal'), exporting)).stdout).toContain('a [31mred');
  await cliJson(at('terminal'), [...exporting, '--output', at('red.md')]);
  expect(await read('red.md')).toContain('a \u001b[31mred');
});

describe('post import of a folder', () => {
  test('derives ids from the folder and the path below it, or from --source', async () => {
    for (const year of ['2023', '2024'])
      await Bun.write(at(`years/${year}/index.md`), '---\ntitle: v1\n---\nText');
    const importing = async (...words: string[]) => (await json('import', at('years'), ...words))[0];
    expect(await importing()).toMatchObject({ created: 2 });
    expect(await importing()).toMatchObject({ created: 0, unchanged: 2 });
    expect(await importing('--source', 'other')).toMatchObject({ created: 2 });
  });

  test('names each file with an error, and imports the others', async () => {
    mkdirSync(at('mixed/deep'), { recursive: true });
    await Bun.write(at('mixed/bad.json'), '{');
    await Bun.write(at('mixed/deep/good.md'), '---\nid: good\ntitle: Good\n---\nText');
    await Bun.write(at('mixed/logo.png'), 'not a post');
    const { exitCode, stdout, stderr } = await run('import', at('mixed'));
    expect({ exitCode, stdout }).toEqual({
      exitCode: 1,
      stdout: `${at('mixed')}: 1 created, 0 updated, 0 unchanged\n`,
    });
    expect(stderr).toContain(`${at('mixed/bad.json')}:1: is not valid JSON`);
  });

  test('names what it does not read: hidden files, packages, and links to folders', async () => {
    const files = [
      ...['one.md', 'deep/two.md', '.three.md', '.obsidian/four.md', 'deep/.git/five.md', '.gitignore'],
      ...['node_modules/pack/README.md', 'node_modules/pack/package.json'],
    ];
    for (const file of files) await Bun.write(at(`site/${file}`), `---\ntitle: ${file}\n---\nText`);
    await Bun.write(at('site/deep/CHANGELOG.md'), '# Log\n\n## 1.0.0 - 2026-01-01\n\n- y\n');
    await Bun.write(at('elsewhere.md'), '---\ntitle: Linked\n---\nText');
    symlinkSync(at('elsewhere.md'), at('site/linked.md'));
    symlinkSync(at('site'), at('site/deep/round'));
    const { exitCode, stdout } = await run('import', at('site'));
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `${at('site')}: 4 created, 0 updated, 0 unchanged
  headings: 2, of which 1 are posts and 1 skipped
  skipped: ${at('site/deep/CHANGELOG.md')}: "Log" (line 1: above the first version)
  not read, because hidden or links: .obsidian, .three.md, deep/.git, deep/round, node_modules
`,
    });
  });

  test('without files that hold posts is refused', async () => {
    mkdirSync(at('nothing'));
    const { exitCode, stderr } = await run('import', at('nothing'));
    expect(exitCode).toBe(1);
    expect(stderr).toContain('has no JSON, JSON Lines or Markdown files');
  });
});
