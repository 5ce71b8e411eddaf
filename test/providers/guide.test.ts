import { expect, test } from 'bun:test';
import { cp, mkdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newFolder } from '../support/folder.ts';

// The provider in docs/providers.md is complete: a copy of the source with it passes the conformance suite.

const root = join(import.meta.dir, '../..');
const COPIED = ['src', 'db', 'test', 'package.json', 'tsconfig.json', 'bunfig.toml', 'text-imports.d.ts'];

interface Block {
  language: string;
  path: string;
  text: string;
}

/** The code blocks that name a file. */
async function readBlocks(): Promise<Block[]> {
  const guide = await Bun.file(join(root, 'docs/providers.md')).text();
  return Array.from(
    guide.matchAll(/^```(ts|diff|json) (\S+)\n(.*?)^```$/gms),
    ([, language = '', path = '', text = '']) => ({ language, path, text }),
  );
}

/** Applies one hunk, whose old lines stand together once. */
function patch(source: string, hunk: string): string {
  const linesWithout = (mark: string) =>
    hunk
      .split('\n')
      .filter((line) => !line.startsWith(mark))
      .map((line) => line.slice(1))
      .join('\n');
  const parts = source.split(linesWithout('+'));
  expect(parts, `the lines of the guide stand in the source:\n${hunk}`).toHaveLength(2);
  return parts.join(linesWithout('-'));
}

async function run(cwd: string, ...words: string[]) {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', TEST_ENGINE: 'sqlite' },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const output = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, output: output.join('\n') };
}

test('the example in the guide compiles, and passes the suite', async () => {
  const folder = newFolder('provider');
  try {
    for (const path of COPIED) await cp(join(root, path), join(folder, path), { recursive: true });
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const blocks = await readBlocks();
    expect(blocks.map(({ language }) => language).join(' ')).toBe('ts json diff diff diff diff ts');
    for (const { language, path, text } of blocks) {
      const file = join(folder, path);
      await mkdir(dirname(file), { recursive: true });
      const isNew = language !== 'diff';
      await Bun.write(file, isNew ? text : patch(await Bun.file(file).text(), text));
    }

    const files = ['src/providers/codetree/provider.ts', 'test/providers/codetree/kit.ts'];
    const config = {
      extends: './tsconfig.json',
      include: ['src/**/*.d.ts', 'db/**/*.d.ts', '*.d.ts'],
      files,
    };
    await Bun.write(join(folder, 'tsconfig.guide.json'), JSON.stringify(config));
    const compiled = await run(folder, '--bun', 'tsc', '--project', 'tsconfig.guide.json');
    expect(compiled.output.trim()).toBe('');
    expect(compiled.exitCode).toBe(0);

    const suite = ['test', '--timeout', '300000', 'test/providers/conformance.test.ts', '-t', 'Codetree'];
    const { exitCode, output } = await run(folder, ...suite);
    expect(output).toMatch(/^ 0 fail$/m);
    expect(exitCode).toBe(0);
    expect(Number(/^ (\d+) pass$/m.exec(output)?.[1])).toBeGreaterThan(35);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 300_000);
