import { expect, test } from 'bun:test';
import { dirname, join, relative, resolve } from 'node:path';

// The map in docs/contributing.md, held against the code.

const root = resolve(import.meta.dir, '..');

interface Module {
  /** Relative to the root, such as `src/posts/store.ts`. */
  path: string;
  text: string;
  /** Files of ours, relative to the root, and packages by name. */
  imports: string[];
}

/** Every import and re-export of a file, those of types alone included. */
function importsOf(path: string, text: string): string[] {
  return Array.from(text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g), ([, specifier = '']) =>
    specifier.startsWith('.') ? relative(root, join(root, dirname(path), specifier)) : specifier,
  );
}

async function readModules(): Promise<Module[]> {
  const paths = await Array.fromAsync(new Bun.Glob('{src,db,sdk}/**/*.{ts,tsx}').scan(root));
  return Promise.all(
    paths.sort().map(async (path) => {
      const text = await Bun.file(join(root, path)).text();
      return { path, text, imports: importsOf(path, text) };
    }),
  );
}

const modules = await readModules();

const is =
  (...patterns: string[]) =>
  (path: string) =>
    patterns.some((pattern) => new Bun.Glob(pattern).match(path));
const isPackage = (name: string) => (specifier: string) =>
  specifier === name || specifier.startsWith(`${name}/`);

/**
 * The rooms, from the bottom up. A room imports only from rooms above it in this list, so there is no circle.
 * A folder of `src` is a room, as are `db` and `sdk`.
 */
const rooms = [
  'sdk',
  'lib',
  'db',
  'providers',
  'people',
  'http',
  'posts',
  'integrations',
  'drafting',
  'intake',
  'readers',
  'dashboard',
  'server',
  'cli',
];

function roomOf(path: string): string {
  const [top = '', room = ''] = path.split('/');
  return top === 'src' ? room.replace(/\.ts$/, '') : top;
}

function violations(rule: (module: Module, imported: string) => boolean): string[] {
  return modules.flatMap((module) =>
    module.imports
      .filter((imported) => rule(module, imported))
      .map((imported) => `${module.path} imports ${imported}`),
  );
}

test('the reader of imports sees them all', () => {
  const text = `import a, { type B } from './b.ts';\nimport type { C } from '../c.ts';\nexport * from 'd';\nimport 'e/f';\nawait import('./g.ts');\nimport {\n  h,\n} from './h.ts';`;
  expect(importsOf('src/x/a.ts', text)).toEqual([
    'src/x/b.ts',
    'src/c.ts',
    'd',
    'e/f',
    'src/x/g.ts',
    'src/x/h.ts',
  ]);
});

test('every file stands in a room, and every room holds files', () => {
  expect(Array.from(new Set(modules.map(({ path }) => roomOf(path)))).sort()).toEqual([...rooms].sort());
});

test('a room imports only rooms below it', () => {
  const found = modules.flatMap(({ path, imports }) =>
    imports
      .filter(is('{src,db,sdk}/**'))
      .filter((imported) => rooms.indexOf(roomOf(imported)) > rooms.indexOf(roomOf(path)))
      .map((imported) => `${path} -> ${imported}`),
  );
  expect(found).toEqual([]);
});

test('the rooms stand in nine layers', () => {
  const layers = new Map<string, number>();
  for (const room of rooms) {
    const below = modules
      .filter(({ path }) => roomOf(path) === room)
      .flatMap(({ imports }) => imports.filter(is('{src,db}/**')).map(roomOf));
    layers.set(room, 1 + Math.max(0, ...below.map((name) => (name === room ? 0 : (layers.get(name) ?? 0)))));
  }
  expect(layers.get('cli')).toBe(9);
});

test('Markdown is parsed in one place, which bounds each text', () => {
  const parses = /Bun\.markdown\.\w+\(|from '@lezer\/markdown'/;
  const found = modules.filter(({ path, text }) => path.startsWith('src/') && parses.test(text));
  expect(found.map(({ path }) => path)).toEqual(['src/lib/markdown/parse.ts']);
});

test('Markdown of any length is read in a thread', () => {
  const reads = /\b(?:toPlainText|renderMarkdown|safeMarkdown)\b/;
  const found = modules.filter(({ path, text }) => path.startsWith('src/') && reads.test(text));
  // The folder itself, whose excerpts are short, and what composes drafts in their thread.
  const isFine = is(
    'src/lib/markdown/*',
    'src/drafting/{compose,template,variables}.ts',
    'src/drafting/changes/{notes,titles}.ts',
  );
  expect(found.filter(({ path }) => !isFine(path)).map(({ path }) => path)).toEqual([]);
  const enters = violations(
    ({ path }, imported) => imported === 'src/drafting/compose.ts' && path !== 'src/drafting/thread-main.ts',
  );
  expect(enters).toEqual([]);
});

test('text about times is made in one place', async () => {
  const scripts = await Array.fromAsync(new Bun.Glob('src/**/*.client.js').scan(root), async (path) => ({
    path,
    text: await Bun.file(join(root, path)).text(),
  }));
  const formats = /Intl\.DateTimeFormat|toLocale(?:Date|Time)String|toLocaleString\((?!'en'\))|toUTCString/;
  const isFormatting = ({ path, text }: Pick<Module, 'path' | 'text'>) =>
    formats.test(text) || (path.startsWith('src/dashboard/') && /\.slice\(0, 1[069]\)/.test(text));
  const formatting = [...modules, ...scripts].filter(isFormatting).map(({ path }) => path);
  expect(formatting.sort()).toEqual([
    // Only reads the browser's zone.
    'src/dashboard/client/dialogs.client.js',
    // Writes as `formatTime` does.
    'src/dashboard/client/unsaved.client.js',
    // The directives of the filter `date` in templates.
    'src/drafting/template.ts',
    // In the language of the site around it.
    'src/readers/public/widget/widget.client.js',
  ]);
});

test('the published client stands alone: it imports nothing of the server, and the server nothing of it', () => {
  const isOwn = is('sdk/**');
  const mayImport = (name: string) => isOwn(name) || isPackage('astro')(name);
  expect(violations(({ path }, imported) => (isOwn(path) ? !mayImport(imported) : isOwn(imported)))).toEqual(
    [],
  );
});

/** Imports of values when a module loads: no types, and nothing that is imported later. */
function valuesOf(path: string): string[] {
  const { text = '' } = modules.find((module) => module.path === path) ?? {};
  const values = text.matchAll(/^(?:import|export)(?! type\b)([^;']*?\bfrom )?'([^']+)'/gm);
  return importsOf(path, Array.from(values, ([, , specifier]) => `import '${specifier}'`).join(';'));
}

/** The modules and packages that load with these modules. */
function loadedWith(...entries: readonly string[]): string[] {
  const loaded = new Set<string>();
  const load = (path: string) => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const imported of valuesOf(path)) load(imported);
  };
  for (const path of entries) load(path);
  return [...loaded];
}

test('a start loads what every server needs, and leaves the rest to its first use', () => {
  const loaded = loadedWith('src/cli.ts', 'src/cli/serve.ts');
  expect(loaded).toContain('db/sqlite/storage.ts');
  // The dashboard, and the large libraries: a server that nobody visits needs no memory for them.
  const isLate = (path: string) =>
    is(
      'src/{dashboard,intake/history,intake/polling,readers/agents,readers/reference}/**',
      'src/readers/public/**/routes.ts',
      'src/**/*.tsx',
    )(path) ||
    ['preact', 'liquidjs', 'feedsmith', '@modelcontextprotocol', '@unkey'].some((name) =>
      path.startsWith(name),
    );
  expect(loaded.filter(isLate)).toEqual([]);
});

test('a command loads no parser, schema compiler, or template engine of others', () => {
  const heavy = ['@lezer', 'elysia', 'typebox', '@sinclair', 'gemoji', 'liquidjs', 'jsonc-parser'];
  const loaded = loadedWith('src/cli.ts', 'src/cli/program.ts');
  expect(loaded).toContain('src/cli/output.ts');
  expect(loaded.filter((path) => heavy.some((name) => path.startsWith(name)))).toEqual([]);
});

test('only routes, models, http and the app know Elysia', () => {
  const mayKnow = is('src/**/*routes.ts', 'src/**/model.ts', 'src/http/**', 'src/server/app.ts');
  const isElysia = (name: string) => isPackage('elysia')(name) || name.startsWith('@elysiajs/');
  expect(violations(({ path }, imported) => isElysia(imported) && !mayKnow(path))).toEqual([]);
});

test("a feature never imports another's routes", () => {
  expect(
    violations(({ path }, imported) => is('src/**/routes.ts')(imported) && path !== 'src/server/app.ts'),
  ).toEqual([]);
});

test('only what stores things knows tables and Drizzle', () => {
  const rooms = 'people,posts,integrations,drafting,intake,readers,server';
  // Routes and pages of these rooms know none either.
  const mayKnow = (path: string) =>
    is(`src/{${rooms}}/**/*.ts`, 'db/**')(path) && !path.endsWith('routes.ts');
  const isStorage = (name: string) =>
    isPackage('drizzle-orm')(name) || is('db/schema/**')(name) || name === 'bun:sqlite';
  expect(violations(({ path }, imported) => isStorage(imported) && !mayKnow(path))).toEqual([]);
});

test('no file needs one that needs it', () => {
  const needs = new Map(modules.map(({ path }) => [path, valuesOf(path)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, way: readonly string[]) => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' -> '));
    if (way.includes(path) || done.has(path)) return;
    for (const next of needs.get(path) ?? []) walk(next, [...way, path]);
    done.add(path);
  };
  for (const path of needs.keys()) walk(path, []);
  expect(circles).toEqual([]);
});

test('only data names a provider outside of src/providers', () => {
  // Not counting packages of GitHub.
  const namesProvider = (text: string) => /(?<!'@)github|gitlab|linear|forgejo/i.test(text);
  expect(
    modules
      .filter(({ path, text }) => !path.startsWith('src/providers/') && namesProvider(text))
      .map(({ path }) => path),
  ).toEqual([
    'db/schema/integrations.ts',
    'src/drafting/links.ts',
    'src/integrations/deliveries/store.ts',
    'src/lib/markdown/emoji-table.ts',
    'src/lib/markdown/extensions.ts',
    'src/posts/model.ts',
    'src/server/demo/service.ts',
    'src/server/settings.ts',
  ]);
});

/** Writes code that does these things. */
const samples = 'src/readers/reference/samples/tabs.tsx';

test.each([
  [
    'the environment is read',
    /\b(Bun|process|import\.meta)\.env\b/,
    ['src/server/config.ts', 'src/lib/build.ts', samples],
  ],
  [
    'the time is asked',
    /\bDate\.now\(\)|\bnew Date\(\)/,
    ['src/lib/time.ts', 'src/server/start.ts', 'sdk/request.ts', samples],
  ],
  ['random ids are made', /\brandomUUID/, ['src/http/request.ts', 'src/lib/text.ts']],
  ['passwords are hashed', /\bBun\.password\b/, ['src/people/passwords.ts']],
  ['CORS headers are set', /access-control-/i, ['src/readers/public/feeds/routes.ts']],
  ['the console is used', /\bconsole\./, [samples]],
  [
    'a command is named as only the binary has it',
    /\btidings (?!run )[a-z-]+ (?:[a-z-]+ )?(?:--|ID\b)|"tidings /,
    [],
  ],
])('only where it is meant to be, %s', (_, pattern, allowed) => {
  expect(
    modules
      .filter(({ text }) => pattern.test(withoutComments(text)))
      .map(({ path }) => path)
      .sort(),
  ).toEqual([...allowed].sort());
});

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}
