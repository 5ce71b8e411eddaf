import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/time.ts';
import { type Language, languages, writeSample } from '../../src/readers/reference/samples/tabs.tsx';
import { temporaryFolder } from '../support/cli.ts';
import { fixedClock } from '../support/clock.ts';
import { connectGithub, connectLinear } from '../support/deliveries.ts';
import { createTestApp } from '../support/test-app.ts';

// Runs the samples of the reference as they stand on the page, in each language that is installed.

/** The ids of the examples in the OpenAPI document. */
const ORGANIZATION = 'org_3Qv8rT5kWn2LxYbZ7cJd4M';
const POST = 'post_3Qv8rT5kWn2LxYbZ7cJd4M';
const TITLE = 'Rocket 2.4: quieter engines';

const PATIENCE_MS = 300_000;

const runners: Record<Language, { needs: string[]; file: string; command: string[] }> = {
  curl: { needs: ['sh', 'curl', 'openssl'], file: 'sample.sh', command: ['sh'] },
  javascript: { needs: [], file: 'sample.mjs', command: [Bun.which('node') ?? process.execPath] },
};

const folder = temporaryFolder();
/** The samples write the time of this machine into their deliveries. */
const clock = { ...fixedClock(), ...systemClock };
const app = createTestApp({ publicUrl: () => server.url.origin, clock });
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch });
const environment: Record<string, string> = {};
let html = '';
let ids: Record<string, string> = {};

beforeAll(async () => {
  await app.addOrganization(ORGANIZATION);
  await app.addPosts(ORGANIZATION, { id: POST, title: TITLE });
  const github = await connectGithub(app, ORGANIZATION);
  const linear = await connectLinear(app, ORGANIZATION);
  environment.TIDINGS_KEY = (await app.addKey(ORGANIZATION)).key;
  environment.GITHUB_SECRET = github.secret;
  environment.LINEAR_SECRET = linear.secret;
  ids = {
    receiveWebhook: github.integrationId,
    receiveWebhookWithoutRepository: linear.integrationId,
    repository: github.repositoryId ?? '',
  };
  html = await (await app.request('/docs')).text();
});

afterAll(async () => {
  await server.stop(true);
  folder.remove();
});

/** A sample as the page has it, with the ids of the connected integrations. */
function sampleOf(operationId: string, language: Language): string {
  const escaped = new RegExp(`<code id="${operationId}-${language}">([^<]*)</code>`).exec(html)?.[1] ?? '';
  const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };
  return escaped
    .replaceAll(/&\w+;/g, (entity) => entities[entity] ?? entity)
    .replaceAll(/int_\w+/g, ids[operationId] ?? '')
    .replaceAll(/repo_\w+/g, ids.repository ?? '')
    .replaceAll('72d3162e-cc78-11e3-81ab-4c9367dc0958', crypto.randomUUID());
}

/** The example body of an endpoint, as the service sends it. */
function bodyOf(operationId: string): string {
  const formatted = new RegExp(`<code id="${operationId}-body">([\\s\\S]*?)</code>`).exec(html)?.[1] ?? '';
  return JSON.stringify(JSON.parse(formatted.replaceAll(/<[^>]+>/g, '').replaceAll('&quot;', '"')));
}

/** Runs code. Returns what it prints. */
async function run(language: Language, code: string, env: Record<string, string> = environment) {
  const { file, command } = runners[language];
  const path = join(folder.path, file);
  await Bun.write(path, code);
  const child = Bun.spawn([...command, path], {
    cwd: folder.path,
    env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, problem] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return (await child.exited) === 0 ? output : `${output}${problem}`;
}

const isInstalled = (language: Language) => runners[language].needs.every((name) => Bun.which(name) !== null);
const all = Object.keys(languages) as Language[];

describe.each(all)('%s', (language) => {
  test.skipIf(!isInstalled(language))(
    'reads the posts of the organization',
    async () => {
      expect(await run(language, sampleOf('listPosts', language))).toContain(TITLE);
      expect(await run(language, sampleOf('getPost', language))).toContain(TITLE);
    },
    PATIENCE_MS,
  );

  test.skipIf(!isInstalled(language))(
    'prints the error of a wrong key',
    async () => {
      const sample = sampleOf('listPosts', language);
      const output = await run(language, sample, { TIDINGS_KEY: 'tdk_wrong' });
      expect(output).toMatch(/INVALID_KEY|401/);
    },
    PATIENCE_MS,
  );

  test.skipIf(!isInstalled(language))(
    'sends deliveries with a valid signature',
    async () => {
      const send = (operationId: string, secret = '') =>
        run(language, sampleOf(operationId, language), { WEBHOOK_SECRET: secret });
      const { GITHUB_SECRET, LINEAR_SECRET } = environment;
      expect(await send('receiveWebhook', GITHUB_SECRET)).toContain('Webhook configured successfully');
      expect(await send('receiveWebhookWithoutRepository', LINEAR_SECRET)).toContain(
        bodyOf('receiveWebhookWithoutRepository'),
      );
      expect(await send('receiveWebhook', 'wrong')).toContain('Invalid webhook signature');
    },
    PATIENCE_MS,
  );

  test.skipIf(!isInstalled(language))(
    'reads what needs no key',
    async () => {
      expect(await run(language, sampleOf('ping', language))).toContain('pong');
      expect(await run(language, sampleOf('ready', language))).toContain('ready');
      // This server does not know the address of its clients.
      expect(await run(language, sampleOf('metrics', language))).toContain('clients on this machine');
    },
    PATIENCE_MS,
  );

  test.skipIf(!isInstalled(language))(
    'sends every character of a URL and a header',
    async () => {
      let received: unknown;
      const echo = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch({ url, headers }) {
          received = { path: new URL(url).pathname, etag: headers.get('if-none-match') };
          return new Response('{}');
        },
      });
      const path = `/it's-$HOME-\`id\`-(x)!`;
      const etag = `"it's $HOME \`id\` \\n %s {} #{x}"`;
      const { href } = new URL(path, echo.url);
      const headers = [['If-None-Match', etag]] as const;
      const code = writeSample(language, { url: href, headers, tokenVariable: null, isJson: false });
      await run(language, code);
      await echo.stop(true);
      expect(received).toEqual({ path: new URL(href).pathname, etag });
    },
    PATIENCE_MS,
  );
});

test('every endpoint has a sample in every language', async () => {
  const { paths } = await (await app.request('/openapi.json')).json();
  for (const methods of Object.values<Record<string, { operationId: string }>>(paths)) {
    for (const { operationId } of Object.values(methods)) {
      for (const language of all) expect(sampleOf(operationId, language)).toContain(server.url.origin);
    }
  }
});
