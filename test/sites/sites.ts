import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { systemClock } from '../../src/lib/time.ts';
import { editPost } from '../../src/posts/service.ts';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import { createHook } from '../../src/readers/hooks/service.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { fixedClock } from '../support/clock.ts';
import { LOCAL_HOSTS } from '../support/hook-receiver.ts';
import { root, startProcess } from '../support/server.ts';
import { createTestApp } from '../support/test-app.ts';

// `bun run test:sites` builds the sites of docs/examples/, as they stand there, with the packages that npm gives a reader
// today. They read a running service, in which the tests publish posts, and whose hooks call them.

const PATIENCE_MS = 300_000;

/** A week: malicious releases are mostly found sooner. */
const MIN_AGE_SECONDS = 604_800;

const folder = join(root, 'dist/sites');
const modules = join(folder, 'node_modules');
const bun = process.execPath;

// Receivers compare the time of a signature with their own.
const app = createTestApp({
  clock: { ...fixedClock(), now: systemClock.now },
  hookPrivateHosts: LOCAL_HOSTS,
});
/** Statuses of the API's responses since the last call of `statuses`. */
let sent: number[] = [];
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const response = await app.fetch(request);
    sent.push(response.status);
    return response;
  },
});
const environment: Record<string, string> = {
  // Finds `npm`, which runs scripts with Bun: the tests need no Node.
  PATH: `${join(folder, 'bin')}:${Bun.env.PATH}`,
  HOME: Bun.env.HOME ?? folder,
  TIDINGS_URL: server.url.origin,
  ASTRO_TELEMETRY_DISABLED: '1',
  NEXT_TELEMETRY_DISABLED: '1',
};
const examples = join(root, 'docs/examples');

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, 'bun.lock'), { force: true });
  cpSync(join(import.meta.dir, 'package.json'), join(folder, 'package.json'));
  await run([bun, 'install', `--minimum-release-age=${MIN_AGE_SECONDS}`], folder);
  await run([bun, 'run', 'sdk'], root);
  rmSync(join(modules, 'tidings'), { recursive: true, force: true });
  cpSync(join(root, 'dist/sdk'), join(modules, 'tidings'), { recursive: true });
  await Bun.write(join(folder, 'bin/npm'), `#!/bin/sh\nexec '${bun}' --bun "$@"\n`);
  chmodSync(join(folder, 'bin/npm'), 0o755);
}, PATIENCE_MS);

afterAll(() => server.stop(true));

/** Runs a command. Returns its output. Fails the test when the command fails. */
async function run(command: readonly string[], cwd: string, more: Record<string, string> = {}) {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...environment, ...more },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const output = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const text = output.join('');
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}\n${text}`);
  return text;
}

function statuses(): number[] {
  const before = sent;
  sent = [];
  return before;
}

/** What a site has before the example: the fields of its package, and files. */
interface Starter {
  fields: Record<string, unknown>;
  files?: Record<string, string>;
}

const astroStarter: Starter = {
  fields: { type: 'module', scripts: { build: 'astro build', astro: 'astro' } },
};

const eleventyStarter: Starter = { fields: { type: 'commonjs', scripts: { build: 'eleventy' } } };

const nextStarter: Starter = {
  fields: { type: 'module', scripts: { build: 'next build' } },
  files: {
    // Next.js would read the settings of the repository around it.
    'jsconfig.json': '{}',
    'next.config.mjs': `export default { turbopack: { root: ${JSON.stringify(folder)} } };`,
    'app/layout.jsx': 'export default ({ children }) => (<html lang="en"><body>{children}</body></html>);\n',
  },
};

const hugoStarter: Starter = {
  fields: {},
  files: {
    'hugo.toml': "baseURL = 'https://example.com/'\nbuildFuture = true\n",
    'layouts/_default/list.html':
      '{{ range .RegularPages.ByDate.Reverse }}<a href="{{ .RelPermalink }}">{{ .Title }}</a> {{ .Date.Format "2006-01-02" }}\n{{ end }}',
    'layouts/_default/single.html': '<h1>{{ .Title }}</h1>{{ .Content }}',
  },
};

/** Writes the files of an example and `rebuild.mjs` to a folder with this starter. */
async function writeSite(name: string, example: string, starter: Starter): Promise<string> {
  const site = join(folder, name);
  rmSync(site, { recursive: true, force: true });
  cpSync(join(examples, example), site, { recursive: true });
  cpSync(join(examples, 'rebuild.mjs'), join(site, 'rebuild.mjs'));
  for (const [path, text] of Object.entries(starter.files ?? {})) await Bun.write(join(site, path), text);
  await Bun.write(join(site, 'package.json'), JSON.stringify({ name, ...starter.fields }));
  return site;
}

/** A new organization with a post in Markdown, and what a site needs to read it. */
async function organizationOf(name: string) {
  const organizationId = `org_${name}`;
  await app.addOrganization(organizationId);
  const first = `${name}-first`;
  await app.addPosts(organizationId, { id: first, title: 'First post', markdown: 'It is **quiet**.' });
  const { key } = await app.addKey(organizationId);
  return { organizationId, first, variables: { TIDINGS_ORGANIZATION: organizationId, TIDINGS_KEY: key } };
}

/** How soon a published post must be on the site, in milliseconds. */
const MAX_REBUILD_MS = 10_000;

/**
 * Adds a hook of an organization, and sends its messages until it is disposed. The hook exists before the site has its
 * secret, so a small server between both gets the site's address later.
 */
async function hookOf(organizationId: string) {
  let site = '';
  const relay = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch({ method, headers, body }) {
      // A message may arrive when the test has ended its site.
      return await fetch(site, { method, headers, body }).catch(() => new Response(null, { status: 502 }));
    },
  });
  const hook = await createHook(app.deps, {
    organizationId,
    name: 'Site',
    kind: 'signed',
    url: relay.url.href,
  });
  const send = createHookSender(app.deps);
  let sending: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    sending = sending.then(() => send());
  }, 100);
  return {
    variables: { TIDINGS_HOOK_SECRET: hook.secret ?? '' },
    callsAt(url: string) {
      site = url;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sending;
      await relay.stop(true);
    },
  };
}

/** A request that somebody else signed. */
function forgedRequest(): RequestInit {
  const forger = new Webhook(Buffer.from('not the secret of the hook').toString('base64'));
  const now = new Date();
  const body = JSON.stringify({ type: 'post.published', timestamp: now.toISOString(), data: {} });
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'msg_forged',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': forger.sign('msg_forged', now, body),
  };
  return { method: 'POST', headers, body };
}

/** Publishes a draft, and waits until a text has its title. Prints how long that took. */
async function showsPublished(
  what: string,
  organizationId: string,
  read: () => Promise<string>,
): Promise<void> {
  const id = `${organizationId}-hooked`;
  await app.addPosts(organizationId, { id, title: 'Published by hook', status: 'draft' });
  const start = performance.now();
  await editPost(app.deps, id, { status: 'published' });
  const elapsedMs = await appears(what, read, 'Published by hook', start);
  process.stdout.write(`${what}: ${(elapsedMs / 1_000).toFixed(1)} s after the post was published\n`);
  expect(elapsedMs).toBeLessThan(MAX_REBUILD_MS);
}

/** Returns the milliseconds since `start`. */
async function appears(
  what: string,
  read: () => Promise<string>,
  expected: string,
  start = performance.now(),
) {
  while (!(await read()).includes(expected)) {
    if (performance.now() - start > 60_000) throw new Error(`${what} does not have ${expected}`);
    await Bun.sleep(50);
  }
  return performance.now() - start;
}

const textOf = async (...path: string[]) => {
  const file = Bun.file(join(...path));
  return (await file.exists()) ? file.text() : '';
};

/** Starts the service of the example, publishes a post, and waits for the page of the rebuilt site. */
async function rebuildsByHook(site: string, organizationId: string, variables: object, page: string) {
  await using hook = await hookOf(organizationId);
  const rebuilder = await startProcess([bun, 'rebuild.mjs'], {
    dataDir: site,
    cwd: site,
    environment: { ...environment, ...variables, ...hook.variables },
  });
  try {
    hook.callsAt(rebuilder.url);
    expect((await fetch(rebuilder.url, forgedRequest())).status).toBe(401);
    expect((await fetch(rebuilder.url, { method: 'POST', body: 'x'.repeat(70_000) })).status).toBe(401);
    expect(statuses()).toEqual([]);
    await showsPublished(page, organizationId, () => textOf(site, page));
  } finally {
    await rebuilder.stop();
  }
}

describe('Astro', () => {
  test(
    'builds the site, skips unchanged posts, and removes those that are gone',
    async () => {
      const site = await writeSite('astro', 'astro', astroStarter);
      const { organizationId, first, variables } = await organizationOf('astro');
      const dotEnv = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
      await Bun.write(join(site, '.env'), dotEnv.join(''));
      const build = () => run(['npm', 'run', 'build'], site);

      expect(await build()).toContain('1 posts: 1 new or changed, 0 removed');
      expect(await textOf(site, `dist/changelog/${first}/index.html`)).toContain('<strong>quiet</strong>');
      expect(statuses()).toEqual([200]);

      expect(await build()).toContain('1 posts, unchanged (304)');
      expect(statuses()).toEqual([304]);
      expect(await textOf(site, `dist/changelog/${first}/index.html`)).toContain('<strong>quiet</strong>');

      await app.addPosts(organizationId, {
        id: 'astro-second',
        title: 'Second post',
        sourceMetadata: { author: 'ann' },
      });
      expect(await build()).toContain('2 posts: 1 new or changed, 0 removed');
      await app.addPosts(organizationId, { id: first, status: 'draft' });
      expect(await build()).toContain('1 posts: 0 new or changed, 1 removed');
      expect(await textOf(site, 'dist/changelog/index.html')).not.toContain('First post');
      expect(existsSync(join(site, `dist/changelog/${first}`))).toBe(false);
      expect(statuses()).toEqual([200, 200]);

      await rebuildsByHook(site, organizationId, variables, 'dist/changelog/index.html');
    },
    PATIENCE_MS,
  );

  test(
    'reads several pages, and only those that changed',
    async () => {
      const site = await writeSite('astro-pages', 'astro', astroStarter);
      const { organizationId, first, variables } = await organizationOf('astro_pages');
      const numbers = Array.from({ length: 249 }, (_, index) => index + 1);
      await app.addPosts(organizationId, ...numbers.map((number) => ({ id: `n${number}` })));
      const build = () => run(['npm', 'run', 'build'], site, variables);
      expect(await build()).toContain('250 posts: 250 new or changed, 0 removed');
      const oldest = { id: first, title: 'Edited', createdAt: '2026-01-01T00:00:00.000Z' };
      await app.addPosts(organizationId, oldest);
      statuses();
      await build();
      await app.addPosts(organizationId, { ...oldest, title: 'Edited again' });
      statuses();
      expect(await build()).toContain('250 posts: 1 new or changed, 0 removed');
      expect(statuses()).toEqual([304, 304, 200, 304, 304, 304]);
    },
    PATIENCE_MS,
  );

  test(
    'has its types without a key, in which `astro check` finds no error, and is not built',
    async () => {
      const site = await writeSite('astro-types', 'astro', astroStarter);
      const tsconfig = { extends: 'astro/tsconfigs/strict', include: ['.astro/types.d.ts', '**/*'] };
      await Bun.write(join(site, 'tsconfig.json'), JSON.stringify({ ...tsconfig, exclude: ['dist'] }));
      statuses();
      for (const variables of [{}, { TIDINGS_KEY: '' }]) {
        for (const command of ['sync', 'check']) {
          const output = await run(['npm', 'run', 'astro', command], site, variables);
          expect(output).toContain('No API key: types without posts');
          if (command === 'check') expect(output).toMatch(/\b0 errors/);
        }
        await expect(run(['npm', 'run', 'build'], site, variables)).rejects.toThrow('`key` is not set');
      }
      expect(statuses()).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    "the loader has the types of Astro's, and entries have those of the schema",
    async () => {
      const site = join(folder, 'astro');
      const compilerOptions = { skipLibCheck: true, noEmit: true };
      const include = ['.astro/types.d.ts', 'src/content.config.ts', 'program.ts'];
      const config = { extends: 'astro/tsconfigs/strict', compilerOptions, include };
      await Bun.write(join(site, 'tsconfig.json'), JSON.stringify(config));
      const program = (use: string) => `
      import type { Loader } from 'astro/loaders';
      import { getCollection } from 'astro:content';
      import { tidingsLoader } from 'tidings/astro';
      export const loader: Loader = tidingsLoader({ baseUrl: '', organizationId: '', key: '' });
      const [post] = await getCollection('changelog');
      export const used = post?.data.${use};
    `;
      await Bun.write(join(site, 'program.ts'), program('createdAt.getTime()'));
      const tsc = [bun, '--bun', join(root, 'node_modules/.bin/tsc'), '-p', site];
      expect(await run(tsc, root)).toBe('');
      await Bun.write(join(site, 'program.ts'), program('createdAt.length'));
      await expect(run(tsc, root)).rejects.toThrow("Property 'length' does not exist on type 'Date'");
    },
    PATIENCE_MS,
  );

  test(
    'a build fails while Tidings refuses, and keeps the posts',
    async () => {
      const site = join(folder, 'astro');
      const { variables } = await organizationOf('astro_refused');
      const refused = run(['npm', 'run', 'build'], site, { ...variables, TIDINGS_KEY: 'tdk_unknown' });
      await expect(refused).rejects.toThrow('INVALID_KEY');
      expect(await textOf(site, 'dist/changelog/index.html')).toContain('Published by hook');
    },
    PATIENCE_MS,
  );
});

test(
  'Eleventy builds the site, downloads nothing on 304, and rebuilds by the hook',
  async () => {
    const site = await writeSite('eleventy', 'eleventy', eleventyStarter);
    const { organizationId, first, variables } = await organizationOf('eleventy');
    const build = () => run(['npm', 'run', 'build'], site, variables);
    statuses();
    await build();
    expect(await textOf(site, `_site/changelog/${first}/index.html`)).toContain('It is **quiet**.');
    await build();
    expect(statuses()).toEqual([200, 304]);
    expect(await textOf(site, '_site/changelog/index.html')).toContain('First post');
    await rebuildsByHook(site, organizationId, variables, '_site/changelog/index.html');
    expect(await textOf(site, `_site/changelog/${organizationId}-hooked/index.html`)).toContain(
      'Published by hook',
    );
  },
  PATIENCE_MS,
);

test(
  'Next.js serves static pages, and renews them when a signed hook arrives',
  async () => {
    const site = await writeSite('next', 'nextjs', nextStarter);
    const { organizationId, first, variables } = await organizationOf('next');
    await using hook = await hookOf(organizationId);
    await run(['npm', 'run', 'build'], site, variables);
    const next = Bun.spawn(
      [bun, '--bun', join(modules, '.bin/next'), 'start', '--port', '0', '--hostname', '127.0.0.1'],
      {
        cwd: site,
        env: { ...environment, ...variables, ...hook.variables },
        stdout: 'pipe',
        stderr: 'inherit',
      },
    );
    try {
      const url = await addressOf(next.stdout);
      const read = async (path: string) => (await fetch(`${url}${path}`)).text();
      expect(await read('/changelog')).toContain('First post');
      expect(await read(`/changelog/${first}`)).toContain('It is **quiet**.');
      statuses();
      await read('/changelog');
      expect(statuses()).toEqual([]);

      const endpoint = `${url}/api/tidings`;
      hook.callsAt(endpoint);
      expect((await fetch(endpoint, forgedRequest())).status).toBe(401);
      await showsPublished('/changelog', organizationId, () => read('/changelog'));
      expect(await read(`/changelog/${organizationId}-hooked`)).toContain('Published by hook');
      expect((await fetch(`${url}/changelog/none`)).status).toBe(404);

      await editPost(app.deps, first, { status: 'draft' });
      await appears(
        `/changelog/${first}`,
        async () => String((await fetch(`${url}/changelog/${first}`)).status),
        '404',
      );
    } finally {
      next.kill();
      await next.exited;
    }
  },
  PATIENCE_MS,
);

/** The URL that `next start` prints. */
async function addressOf(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    const [, url] = /Local: +(http:\S+)/.exec(text) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`Next.js did not start: ${text}`);
}

test(
  'Hugo gets each post as a file with dates, and the posts of the last build go',
  async () => {
    const site = await writeSite('hugo', 'hugo', hugoStarter);
    const { organizationId, first, variables } = await organizationOf('hugo');
    const dates = { createdAt: '2026-02-03T04:05:06.000Z', updatedAt: '2099-01-01T00:00:00.000Z' };
    const posts = [
      { id: 'index', title: 'A "quoted" & <b>', markdown: 'Run `{{< ref >}}` and {{% x', ...dates },
      { id: 'later', title: 'Later', createdAt: '2098-01-01T00:00:00.000Z' },
    ];
    await app.addPosts(organizationId, ...posts);
    const write = () => run([bun, 'posts.mjs'], site, variables);
    await write();
    const [, front = '', body] = (await textOf(site, 'content/changelog/post-index.md')).split(
      /^(\{\n.*?\n\})\n/ms,
    );
    expect(JSON.parse(front)).toEqual({
      title: posts[0]?.title,
      date: dates.createdAt,
      lastmod: dates.updatedAt,
      url: '/changelog/index/',
    });
    expect(body).toContain('Run `{{\u2060< ref >}}` and {{\u2060% x');
    if (Bun.which('hugo') === null) {
      process.stdout.write('Hugo is not installed: the files were not built\n');
    } else {
      await run(['hugo'], site);
      const list = await textOf(site, 'public/changelog/index.html');
      expect([...list.matchAll(/href="([^"]+)".*(\d{4}-\d\d-\d\d)/g)].map(([, ...found]) => found)).toEqual(
        expect.arrayContaining([
          ['/changelog/later/', '2098-01-01'],
          ['/changelog/index/', '2026-02-03'],
        ]),
      );
      expect(await textOf(site, `public/changelog/${first}/index.html`)).toContain('<strong>quiet</strong>');
    }
    await app.addPosts(organizationId, { id: first, status: 'draft' });
    await write();
    expect(existsSync(join(site, `content/changelog/post-${first}.md`))).toBe(false);
  },
  PATIENCE_MS,
);

test('rss-parser reads the titles of the JSON feed', async () => {
  const { organizationId } = await organizationOf('titles');
  await changePublication(app.deps, organizationId, { slug: 'titles', isFeedOn: true });
  const titles = [
    'Fixes & improvements',
    'Use <Button> & List<string>',
    'Escape &amp; and &lt;b&gt;',
    ']]> <b>end</b>',
  ];
  await app.addPosts(organizationId, ...titles.map((title, index) => ({ id: `title${index}`, title })));
  const url = new URL('/changelog/titles/', server.url);
  const json = (await (await fetch(new URL('feed.json', url))).json()) as { items: { title: string }[] };
  await Bun.write(
    join(folder, 'titles.mjs'),
    `import Parser from 'rss-parser';
     const { items } = await new Parser().parseURL(process.argv[2]);
     console.log(JSON.stringify(items.map(({ title }) => title)));`,
  );
  const read = JSON.parse(await run([bun, 'titles.mjs', new URL('feed.rss', url).href], folder));
  expect(read).toEqual(json.items.map(({ title }) => title));
  expect(read).toEqual(expect.arrayContaining(titles));
});

test.each(['fetch', 'axios'])(
  'the client that Orval generates for %s compiles',
  async (client) => {
    const site = join(folder, `orval-${client}`);
    rmSync(site, { recursive: true, force: true });
    await Bun.write(
      join(site, 'openapi.json'),
      await (await fetch(new URL('/openapi.json', server.url))).text(),
    );
    const output = { target: './client.ts', client };
    await Bun.write(
      join(site, 'orval.config.mjs'),
      `export default ${JSON.stringify({ tidings: { input: './openapi.json', output } })};`,
    );
    await run([bun, '--bun', join(modules, '.bin/orval'), '--config', './orval.config.mjs'], site);
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: 'es2022',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2022', 'dom', 'dom.iterable'],
      types: [],
    };
    await Bun.write(join(site, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts'] }));
    expect(await run([bun, '--bun', join(root, 'node_modules/.bin/tsc'), '-p', site], root)).toBe('');
  },
  PATIENCE_MS,
);
