import { afterEach, beforeEach, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Post } from '../../src/posts/model.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { curlLines } from '../support/curl.ts';
import { root, type ServerProcess, startProcess } from '../support/server.ts';

let folder: ReturnType<typeof temporaryFolder>;
let server: ServerProcess | undefined;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  await server?.stop('SIGKILL');
  folder.remove();
});

const dataDir = () => join(folder.path, 'data');

async function quickstart(): Promise<ServerProcess> {
  await server?.stop();
  // Without the install: it is what brought this test here, and would ask the registry.
  const { scripts } = await Bun.file(join(root, 'package.json')).json();
  const words = String(scripts.quickstart).split('&& bun ')[1]?.split(' ') ?? [];
  server = await startProcess([process.execPath, ...words], {
    dataDir: dataDir(),
    until: 'Set up the dashboard',
  });
  return server;
}

test('prints an organization, a key, and curl lines that work when pasted', async () => {
  const { url } = await quickstart();
  const text = server?.stdout() ?? '';
  expect(text).toStartWith(`Listening on ${url}\n`);
  expect(text).toMatch(/Organization +Acme Rockets \(org_demo\)/);
  expect(text).toMatch(/API key +tdk_\w{40,}/);
  // The link that a person needs next is the last line.
  expect(text).toMatch(/ Stop with Ctrl-C\..*\n\nSet up the dashboard: \S+\/setup\?token=\w+\n$/);

  const [newest, drafts, one] = curlLines(text);
  const ask = async (
    { url, headers }: { url: string; headers: Record<string, string> } = { url: '', headers: {} },
  ) => {
    const response = await fetch(url, { headers });
    expect(response.status).toBe(200);
    return response.json();
  };
  expect(await ask(newest)).toMatchObject({
    posts: [{ title: 'Rocket 2.3.1: a steadier gauge', status: 'published' }, {}],
    pagination: { totalItems: 8 },
  });
  expect(await ask(drafts)).toMatchObject({
    posts: [{ status: 'draft' }, { status: 'draft' }, {}, {}, {}, {}, {}, {}, {}, {}],
    pagination: { totalItems: 10 },
  });
  // It ends with a signed delivery, and what the log holds of it.
  expect(text).toMatch(/and got 200 in [\d.]+ ms/);
  const log = await cliJson(dataDir(), ['delivery', 'list', '--organization', 'org_demo']);
  expect(log).toMatchObject([{ status: 'processed', payload: { event: 'release', action: 'published' } }]);
  expect(text).toContain(`${log[0].title}: processed, delivery ${log[0].referenceId}`);

  expect(await ask(one)).toMatchObject({ post: { title: 'Rocket 2.3.1: a steadier gauge' } });

  // Which has become two drafts.
  for (const type of ['changelog', 'linkedin_post']) {
    expect(text).toContain(`Rocket 2.4.0: quieter engines (${type})`);
  }
  const id = /post publish (post_\w+)/.exec(text)?.[1] ?? '';
  expect(await cliJson(dataDir(), ['post', 'show', id])).toMatchObject({
    status: 'draft',
    contentType: 'changelog',
  });
});

test('starting again keeps the data and shows the same key', async () => {
  const keyOf = (text: string) => /tdk_\w+/.exec(text)?.[0];
  const first = keyOf((await quickstart()).stdout());
  expect(statSync(join(dataDir(), 'demo.key')).mode & 0o777).toBe(0o600);
  // A draft is of the newest delivery that told of its release, and each start sends one.
  const posts = async () =>
    (await cliJson(dataDir(), ['post', 'list', '--organization', 'org_demo'])).map(
      ({ id, title, markdown, status }: Post) => ({ id, title, markdown, status }),
    );
  const [{ id }] = await posts();
  await cli(dataDir(), ['post', 'delete', id]);
  const before = await posts();
  expect(keyOf((await quickstart()).stdout())).toBe(first as string);
  expect(await posts()).toEqual(before);
});

test('the first start prints what to try, and no log of how the demo was made', async () => {
  const first = await quickstart();
  await first.stop();
  const logged = (await first.stderr()).split('\n').filter((line) => line.startsWith('{'));
  expect(logged.map((line) => JSON.parse(line).msg)).toEqual(['stopping']);
});

test('a demo key that was revoked is replaced', async () => {
  await quickstart();
  const [{ id }] = await cliJson(dataDir(), ['key', 'list', '--organization', 'org_demo']);
  await cli(dataDir(), ['key', 'revoke', id]);
  const [newest] = curlLines((await quickstart()).stdout());
  expect((await fetch(newest?.url ?? '', { headers: newest?.headers ?? {} })).status).toBe(200);
});

test('a folder that holds real organizations gets no demo', async () => {
  await cli(dataDir(), ['organization', 'create', '--name', 'Real']);
  const failure = await quickstart().catch((error: Error) => error);
  expect((failure as Error).message).toBe(
    'ended with 1: error: The data folder already has organizations. To use --demo, set DATA_DIR to an empty one\n',
  );
  const organizations = await cliJson(dataDir(), ['organization', 'list']);
  expect(organizations).toHaveLength(1);
});
