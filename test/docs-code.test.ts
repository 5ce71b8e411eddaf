import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { commandsOf } from '../src/cli/command.ts';
import { cli, cliJson, temporaryFolder } from './support/cli.ts';
import { program } from './support/commands-page.ts';
import { root, type ServerProcess, startTidings } from './support/server.ts';
import { until } from './support/until.ts';

// Every code block of the documents is checked here, run by another test, or marked as `text`: people only read that.

interface Block {
  path: string;
  line: number;
  language: string;
  /** The rest of the line that opens the block, such as the file that it belongs to. */
  about: string;
  code: string;
}

async function blocksOf(path: string): Promise<Block[]> {
  const text = await Bun.file(join(root, path)).text();
  return Array.from(
    text.matchAll(/^( *)(```+|~~~+)(\S*) ?([^\n]*)\n(.*?)^\1\2$/gms),
    ({ 1: indent = '', 3: language = '', 4: about = '', 5: code = '', index }) => ({
      ...{ path, language, about },
      line: text.slice(0, index).split('\n').length,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}

const patterns = ['README.md', 'SECURITY.md', 'sdk/README.md', 'docs/**/*.md'];
const found = await Promise.all(patterns.map((each) => Array.fromAsync(new Bun.Glob(each).scan(root))));
const blocks = (await Promise.all(found.flat().sort().map(blocksOf))).flat();

/** Tests that run the blocks of a document in these languages. */
const elsewhere: readonly [path: string, languages: string, test: string][] = [
  ['docs/client.md', 'ts', 'test/sdk/package.test.ts'],
  ['sdk/README.md', 'ts', 'test/sdk/package.test.ts'],
  ['docs/providers.md', 'ts diff', 'test/providers/guide.test.ts'],
  ['docs/proxies.md', 'caddyfile nginx', 'test/e2e/proxies.test.ts'],
  ['docs/public-page.md', 'caddyfile nginx', 'test/e2e/proxies.test.ts'],
];

/** Blocks that others run: their names, and not what they do. */
const tools =
  /^(?:apt|brew|cd|claude|cloudflared|createdb|createuser|curl|docker|echo|export|helm|install|journalctl|kubectl|litestream|npm|npx|openssl|pg_dump|pg_restore|psql|set|sh|sudo|systemctl|tee|umask|source|chown|git|gh|bun|minisign|sha256sum)\b|^[A-Z_0-9]+=|^\(umask /;

const parsed = await program();
const { scripts } = await Bun.file(join(root, 'package.json')).json();

/** The lines of a shell block, without comments, as one each. */
function linesOf(code: string): string[] {
  const lines = code.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines.map((line) => line.replace(/(?:^|\s+)# .*$/, '').trim()).filter((line) => line !== '');
}

const before =
  /^(?:sudo (?:-u \w+ )?|docker exec tidings |[A-Z_]+=\S+ |echo .+ \| |\*\/5 \* \* \* \* )*(?:(?:npx --yes bun@\S+|bun) run )?tidings /;

/** The words after `tidings`, or null for another command. */
function tidingsWords(line: string): string[] | null {
  const [start] = before.exec(line) ?? [];
  if (start === undefined) return null;
  const [command = ''] = line.slice(start.length).split(/ (?:[<>]|\|)/);
  return Array.from(
    command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
    ([, one, two, three]) => one ?? two ?? three ?? '',
  );
}

/** Parses the words as the program would, and runs nothing. */
async function expectParses(words: readonly string[]): Promise<void> {
  const fresh = await program();
  let ran = words[0] === 'help';
  for (const command of commandsOf(fresh)) {
    if (command.commands.length > 0) continue;
    command.action(() => {
      ran = true;
    });
  }
  const plain = words.map((word) => word.replace('…', 'x'));
  await fresh.parseAsync(plain, { from: 'user' }).catch((error) => expect(error, words.join(' ')).toBeNull());
  expect(ran, words.join(' ')).toBe(true);
}

async function checkShell({ code }: Block): Promise<void> {
  const checked = Bun.spawn(['bash', '-n'], { stdin: new Blob([code.replaceAll('…', 'x')]), stderr: 'pipe' });
  expect(await new Response(checked.stderr).text()).toBe('');
  for (const line of linesOf(code)) {
    const words = tidingsWords(line);
    const [, script] = /^(?:npx --yes bun@\S+|bun) run (?!tidings)(\S+)/.exec(line) ?? [];
    if (words !== null) await expectParses(words);
    else if (script !== undefined) expect(Object.keys(scripts)).toContain(script);
    else expect(line).toMatch(tools);
  }
}

const transpiled =
  (loader: 'js' | 'ts' | 'tsx') =>
  ({ code }: Block) =>
    new Bun.Transpiler({ loader }).transformSync(code);

const checks: Readonly<Record<string, (block: Block) => unknown>> = {
  sh: checkShell,
  text: () => undefined,
  json: ({ code }) => JSON.parse(code),
  yaml: ({ code }) => expect(Bun.YAML.parse(code)).toBeObject(),
  ini: ({ code }) => expect(code).toMatch(/^\[\w+\]\n(?:#.*\n|\w+ ?=.+\n|\[\w+\]\n|\n)+$/),
  toml: ({ code }) => Bun.TOML.parse(code),
  js: transpiled('js'),
  ts: transpiled('ts'),
  tsx: transpiled('tsx'),
  html: ({ code }) => expect(code).toMatch(/<(\w+)[^>]*>/),
  mermaid: ({ code }) => expect(code).toStartWith('flowchart '),
  liquid: async ({ code }) => {
    const file = join(sandbox.path, 'body.liquid');
    await Bun.write(file, code);
    const page = await openPage([]);
    await page.run(
      `tidings trigger create --integration int_… --event push --content-type changelog --template ${file}`,
    );
  },
  markdown: ({ code }) => expect(code).toContain('```release-note'),
};

describe.each(blocks.map((block) => [`${block.path}:${block.line}`, block] as const))('%s', (_, block) => {
  const other = elsewhere.find(
    ([path, languages]) => path === block.path && languages.split(' ').includes(block.language),
  );
  test(`is ${other === undefined ? 'right' : `run by ${other[2]}`}`, async () => {
    if (other !== undefined) {
      expect(await Bun.file(join(root, other[2])).text()).toContain(other[0]);
    } else {
      expect(Object.keys(checks), 'an unmarked block, or a language without a check').toContain(
        block.language,
      );
      await checks[block.language]?.(block);
    }
  });
});

const sandbox = temporaryFolder();
const servers: ServerProcess[] = [];
afterAll(async () => {
  for (const server of servers) await server.stop('SIGKILL');
  sandbox.remove();
});

const base = [
  'organization create --name Acme --id acme',
  'integration connect github --organization acme --repository acme/rocket',
];

/** A data folder, where lines of the documents run. `…` in an ID stands for the newest of its kind. */
async function openPage(setup: readonly string[], isServed = false) {
  const dataDir = join(sandbox.path, crypto.randomUUID());
  const server = isServed ? await startTidings(dataDir) : null;
  if (server !== null) servers.push(server);
  const environment = server === null ? {} : { PUBLIC_URL: server.url };
  const json = (...words: string[]) => cliJson(dataDir, words, { environment });
  const ids = new Map<string, string>();
  const organization = ['--organization', 'acme'];
  const newest: Record<string, () => Promise<{ id: string }[]>> = {
    int_: () => json('integration', 'list'),
    trg_: () => json('trigger', 'list'),
    post_: () => json('post', 'list', ...organization, '--status', 'draft'),
    dlv_: () => json('delivery', 'list', ...organization),
    hook_: () => json('hook', 'list'),
    key_: () => json('key', 'list', ...organization),
  };
  async function run(line: string): Promise<void> {
    const words = tidingsWords(line) ?? [];
    const given = await Promise.all(
      words.map(async (word) => {
        const [, kind = ''] = /^([a-z]+_)…$/.exec(word) ?? [];
        if (kind === 'post_')
          await until(
            async () => newest[kind]?.() ?? [],
            (all) => all.length > 0,
          );
        if (kind !== '' && !ids.has(kind)) ids.set(kind, (await newest[kind]?.())?.[0]?.id ?? '');
        return ids.get(kind) ?? (word === 'text.md' ? join(root, 'SECURITY.md') : word);
      }),
    );
    const result = await cli(dataDir, given, { environment });
    expect({ line, ...result }).toMatchObject({ line, exitCode: 0 });
    const [key] = /tdk_\w+/.exec(result.stdout) ?? [];
    if (key !== undefined) ids.set('tdk_', key);
  }
  for (const line of setup.length > 0 || isServed ? setup : base) await run(`tidings ${line}`);
  return { run, server, key: () => ids.get('tdk_') ?? '' };
}

/** Lines that need a provider, a terminal, or the internet: they are only parsed. */
const notHere =
  /--token|--app\b|--poll|integration (?:poll|use-|doctor|missed|repair|add|remove|set-token|rotate)|tidings (?:history|draft|preview|serve|doctor|upgrade) ?|hook test|post suggestion|--url -|FILE…|missing/;

const post = 'post create --organization acme --title Post SECURITY.md';
const trigger = 'trigger create --integration int_… --event release --content-type changelog';

test.each<[page: string, from: string, setup: string[]]>([
  ['README.md', '## Tutorial', ['attention']],
  ['docs/writing.md', '', [...base, post]],
  ['docs/people.md', '', ['user create --email ben@acme.example']],
  ['docs/drafts.md', '## Include earlier', base],
  ['docs/deliveries.md', '', [...base, trigger, 'send github release --integration int_…']],
  ['docs/webhooks.md', '## Send test', base],
  ['docs/operating.md', '## Keep the log', base],
  ['docs/public-page.md', '', base],
])('the commands of %s %s work in their order', async (path, from, setup) => {
  const all = (await blocksOf(path)).filter(({ language }) => language === 'sh');
  const text = await Bun.file(join(root, path)).text();
  const start = text.indexOf(from);
  const lineAt = (index: number) => text.slice(0, index).split('\n').length;
  const [first, last] = [
    lineAt(start),
    lineAt(from === '' ? text.length : `${text}\n## `.indexOf('\n## ', start + 1)),
  ];
  const page = await openPage(setup, true);
  let count = 0;
  for (const { line, code } of all) {
    if (line < first || line > last) continue;
    for (const command of linesOf(code)) {
      const url = /^curl .*"http:\/\/localhost:3000(.+)"$/.exec(command)?.[1];
      if (url !== undefined) {
        const response = await fetch(`${page.server?.url}${url}`, {
          headers: { authorization: `Bearer ${page.key()}` },
        });
        expect(response.status).toBe(200);
        count++;
      } else if (tidingsWords(command) !== null && !notHere.test(command)) {
        await page.run(command);
        count++;
      }
    }
  }
  expect(count).toBeGreaterThan(0);
});

test('the documents have blocks of every checked kind', () => {
  expect(blocks.length).toBeGreaterThan(100);
  expect(commandsOf(parsed).length).toBeGreaterThan(80);
});
