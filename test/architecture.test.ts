import { expect, test } from 'bun:test';
import { dirname, join, relative, resolve } from 'node:path';

// The rules of who may know whom. A folder of `src` is a feature unless it is named here.

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
  const paths = await Array.fromAsync(new Bun.Glob('{src,db}/**/*.{ts,tsx}').scan(root));
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

/** Layers from the bottom up: a module imports from its own layer and from those before it. */
const layers: [name: string, contains: (path: string) => boolean][] = [
  ['lib', is('src/lib/**')],
  ['db', is('db/**')],
  ['models', is('src/**/model.ts', 'src/config.ts')],
  ['deps', is('src/deps.ts', 'src/keys/service.ts', 'src/lib/instruments.ts')],
  ['stores', is('src/*/{store,*-store}.ts')],
  [
    'services',
    is(
      'src/{audit,posts,keys,organizations,integrations,webhooks,client,jobs,demo,events,drafts,triggers,users,hooks,uptime,metrics,ready,doctor,backup}/**',
      'src/operate/data-folder.ts',
      'src/operate/secret-key.ts',
    ),
  ],
  ['http', is('src/http/**', 'src/docs/*.tsx', 'src/dashboard/**')],
  ['routes', is('src/*/routes.ts')],
  ['app', is('src/app.ts')],
  ['main', is('src/main.ts')],
  ['cli', is('src/cli.ts', 'src/cli/**')],
];

function layerOf(path: string): number {
  // A route stands in a feature's folder too; the highest layer that claims a file has it.
  const special = layers.findIndex(
    ([name, contains]) => ['models', 'deps', 'stores', 'routes'].includes(name) && contains(path),
  );
  return special === -1 ? layers.findIndex(([, contains]) => contains(path)) : special;
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

test('every file has a place', () => {
  expect(modules.length).toBeGreaterThan(40);
  expect(
    modules.filter(({ path }) => !path.endsWith('.d.ts') && layerOf(path) === -1).map(({ path }) => path),
  ).toEqual([]);
});

test('imports point downwards: cli → main → app → routes → http → services → stores → db → lib', () => {
  const found = violations(({ path }, imported) => {
    const target = layerOf(imported);
    return target > layerOf(path);
  });
  expect(found).toEqual([]);
});

test('only routes, models, http and the app know Elysia', () => {
  const mayKnow = is('src/*/routes.ts', 'src/**/model.ts', 'src/http/**', 'src/app.ts');
  const isElysia = (name: string) => isPackage('elysia')(name) || name.startsWith('@elysiajs/');
  expect(violations(({ path }, imported) => isElysia(imported) && !mayKnow(path))).toEqual([]);
});

test("a feature never imports another's routes", () => {
  expect(
    violations(({ path }, imported) => is('src/*/routes.ts')(imported) && path !== 'src/app.ts'),
  ).toEqual([]);
});

test('only stores know tables and Drizzle', () => {
  const mayKnow = is('src/*/{store,*-store}.ts', 'db/**');
  const isStorage = (name: string) =>
    isPackage('drizzle-orm')(name) || is('db/schema/**')(name) || name === 'bun:sqlite';
  expect(violations(({ path }, imported) => isStorage(imported) && !mayKnow(path))).toEqual([]);
});

test('providers know payloads and signatures, never the database', () => {
  const isProvider = is(
    'src/webhooks/{provider,payload,signature,text,fields,results}.ts',
    'src/webhooks/providers/**',
  );
  const mayKnow = (path: string) => isProvider(path) || is('src/lib/**')(path);
  const isOurs = is('src/**', 'db/**');
  expect(
    violations(({ path }, imported) => isProvider(path) && isOurs(imported) && !mayKnow(imported)),
  ).toEqual([]);
});

test('lib is a leaf', () => {
  expect(
    violations(
      ({ path }, imported) =>
        is('src/lib/**')(path) && is('src/**', 'db/**')(imported) && !is('src/lib/**')(imported),
    ),
  ).toEqual([]);
});

test.each([
  ['the environment is read', /\b(Bun|process|import\.meta)\.env\b/, ['src/config.ts']],
  ['the time is asked', /\bDate\.now\(\)|\bnew Date\(\)/, ['src/lib/clock.ts', 'src/main.ts']],
  ['random ids are made', /\brandomUUID/, ['src/lib/ids.ts', 'src/http/request-log.ts']],
  ['passwords are hashed', /\bBun\.password\b/, ['src/users/password-queue.ts']],
  ['the console is used', /\bconsole\./, []],
  [
    'a command of ours is named as only the binary has it',
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
