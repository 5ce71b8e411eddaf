import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { version } from '../../package.json';
import { launchBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/cli.ts';
import { root } from '../support/server.ts';
import { createTestApp } from '../support/test-app.ts';

// The package as npm would get it: its shape, its types in a program of a user, and the client in Node and in a browser.

const PATIENCE_MS = 120_000;
const folder = temporaryFolder();
const installed = join(folder.path, 'node_modules/tidings');
let tarball = new Uint8Array();

const app = createTestApp();
const PAGE = `<!doctype html><title>Client</title><script type="importmap">
{ "imports": { "tidings/client": "/package/client.js" } }</script>`;
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  routes: {
    '/': new Response(PAGE, { headers: { 'content-type': 'text/html' } }),
    '/package/:file': ({ params }) => new Response(Bun.file(join(installed, params.file))),
    '/moved/*': () => new Response(null, { status: 307, headers: { location: '/stolen' } }),
  },
  fetch: app.fetch,
});
let key = '';

async function run(command: readonly string[], cwd: string, environment: Record<string, string> = {}) {
  const child = Bun.spawn([...command], {
    cwd,
    env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, problem] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { isOk: (await child.exited) === 0, output, problem };
}

const bun = (...words: string[]) => run([process.execPath, ...words], root);

beforeAll(async () => {
  const built = await bun('run', 'sdk');
  if (!built.isOk) throw new Error(built.output + built.problem);
  tarball = await Bun.file(join(root, `dist/tidings-${version}.tgz`)).bytes();
  for (const [path, file] of await new Bun.Archive(tarball).files()) {
    await Bun.write(join(installed, path.replace(/^package\//, '')), file);
  }

  await app.addOrganization('org_a');
  await app.addPosts('org_a', { id: 'p1' }, { id: 'p2' }, { id: 'p3' });
  ({ key } = await app.addKey('org_a'));
}, PATIENCE_MS);

afterAll(async () => {
  await server.stop(true);
  folder.remove();
});

test('the tarball holds the modules, their types, the license and the manual, and nothing else', async () => {
  const files = await Array.fromAsync(new Bun.Glob('**').scan(installed));
  expect(files.sort()).toEqual(
    [
      'LICENSE',
      'README.md',
      'package.json',
      ...['astro', 'client', 'model', 'pages', 'request'].flatMap((name) => [`${name}.d.ts`, `${name}.js`]),
    ].sort(),
  );
});

test('it needs no other package, and has the version of the server', async () => {
  const found = await Bun.file(join(installed, 'package.json')).json();
  const { dependencies, peerDependenciesMeta } = found;
  expect([dependencies, peerDependenciesMeta]).toEqual([undefined, { astro: { optional: true } }]);
  expect(found.version).toBe(version);
  expect(await Bun.file(join(root, 'docs/client.md')).text()).toContain(`dist/tidings-${version}.tgz`);
});

test('publint and Are the Types Wrong find nothing', async () => {
  const { messages } = await publint({ pack: { tarball: tarball.slice().buffer }, level: 'suggestion' });
  expect(messages.map(({ code }) => code)).toEqual([]);
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (result.types === false) throw new Error('The package has no types.');
  // The package is ESM only, as Astro is: `require()` and the resolution of Node 10 do not apply.
  const modern = result.problems.filter(
    (problem) => !('resolutionKind' in problem) || ['node16-esm', 'bundler'].includes(problem.resolutionKind),
  );
  expect(modern).toEqual([]);
});

const PROGRAM = `
import { createClient, TidingsError, type Post } from 'tidings/client';
const env: Record<string, string | undefined> = {};
const tidings = createClient({ baseUrl: 'https://tidings.example.com', organizationId: 'acme', key: env['KEY'] });
export async function titles(signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  for await (const { title } of tidings.posts({ contentType: 'changelog', status: ['draft'] }, { signal })) {
    found.push(title);
  }
  return found;
}
export async function author(id: string): Promise<unknown> {
  const post: Post | null = await tidings.getPost(id);
  return post?.sourceMetadata?.['author'];
}
export const statusOf = (error: unknown): number => (error instanceof TidingsError ? error.status : 0);
`;

test.each(['bundler', 'nodenext'])(
  'its types work in a strict program with the resolution %s',
  async (resolution) => {
    const cwd = join(folder.path, resolution);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'ES2023',
      lib: ['ES2023', 'DOM'],
      module: resolution === 'bundler' ? 'preserve' : 'nodenext',
      moduleResolution: resolution,
      types: [],
      // Reads the published types too.
      skipLibCheck: false,
    };
    await Bun.write(join(cwd, 'package.json'), '{ "type": "module" }');
    await Bun.write(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    await Bun.write(join(cwd, 'program.ts'), PROGRAM);
    expect(await bun('--bun', 'tsc', '-p', cwd)).toMatchObject({ isOk: true, output: '' });
    await Bun.write(
      join(cwd, 'wrong.ts'),
      PROGRAM.replace("['draft']", "['archived']").replace('{ title }', '{ name: title }'),
    );
    const { output } = await bun('--bun', 'tsc', '-p', cwd);
    expect(output.match(/error TS\d+/g)).toHaveLength(2);
    expect(output).toContain('wrong.ts');
  },
);

test('the samples of the documents have valid types', async () => {
  const cwd = join(folder.path, 'samples');
  const compilerOptions = { strict: true, noEmit: true, target: 'ES2023', lib: ['ES2023', 'DOM'], types: [] };
  const samples = await Promise.all(
    ['docs/client.md', 'sdk/README.md'].map(async (path) => {
      const [beforeAstro = ''] = (await Bun.file(join(root, path)).text()).split(/^.*Astro.*$/m);
      const blocks = Array.from(beforeAstro.matchAll(/^```ts\n(.*?)^```$/gms), ([, code]) => code);
      expect(blocks.length).toBeGreaterThan(0);
      return blocks.join('\n');
    }),
  );
  const environment = 'declare const process: { env: Record<string, string | undefined> };\n';
  for (const [index, code] of samples.entries()) {
    await Bun.write(join(cwd, `sample${index}.ts`), environment + code);
  }
  await Bun.write(join(cwd, 'package.json'), '{ "type": "module" }');
  await Bun.write(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  expect(await bun('--bun', 'tsc', '-p', cwd)).toMatchObject({ isOk: true, output: '' });
});

/** Runs as it stands in each runtime. Returns what it found. */
const SCRIPT = `
  const { createClient } = await import('tidings/client');
  const create = (options) => createClient({ organizationId: 'org_a', key, baseUrl, sleep: async () => {}, ...options });
  const tidings = create({});
  const ids = [];
  for await (const { id } of tidings.posts({ limit: 2 })) ids.push(id);
  await tidings.listPosts({ limit: 2, page: 1 });
  const problem = (promise) => promise.then(() => 'none', ({ status, message }) => status + ' ' + message);
  const controller = new AbortController();
  const waiting = create({ key: 'tdk_x', sleep: undefined, baseUrl: 'http://127.0.0.1:1' }).listPosts({}, { signal: controller.signal })
    .catch(({ message }) => message);
  setTimeout(() => controller.abort(new Error('canceled')), 1);
  const found = {
    ids,
    title: (await tidings.getPost('p1')).title,
    none: await tidings.getPost('none'),
    refused: await problem(create({ key: 'tdk_unknown' }).listPosts()),
    moved: (await problem(create({ baseUrl: baseUrl + '/moved' }).listPosts())).slice(0, 24),
    canceled: await waiting,
  };
`;
const expected = (movedStatus: number) => ({
  ids: ['p3', 'p2', 'p1'],
  title: 'Post 1',
  none: null,
  refused: '401 INVALID_KEY',
  moved: `${movedStatus} The server redirects`,
  canceled: 'canceled',
});

test.each([
  ['Bun', process.execPath],
  ['Node', Bun.which('node')],
])(
  'the client works in %s',
  async (runtime, program) => {
    if (program === null) {
      process.stdout.write(`Skipped: ${runtime} is not installed.\n`);
      return;
    }
    const file = join(folder.path, `${runtime}.mjs`);
    await Bun.write(
      file,
      `const { key, baseUrl } = process.env;\n${SCRIPT}\nprocess.stdout.write(JSON.stringify(found));`,
    );
    const { output, problem } = await run([program, file], folder.path, { key, baseUrl: server.url.origin });
    expect(problem).toBe('');
    expect(JSON.parse(output)).toEqual(expected(307));
  },
  PATIENCE_MS,
);

test(
  'the client works in Chromium, on a page of the same origin',
  async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(server.url.href);
      const found = await page.evaluate(
        `(async (key, baseUrl) => {${SCRIPT} return found;})(${JSON.stringify(key)}, location.origin)`,
      );
      // The browser hides the status of a redirect.
      expect(found).toEqual(expected(302));
    } finally {
      await browser.close();
    }
  },
  PATIENCE_MS,
);
