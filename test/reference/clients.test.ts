import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { WebhookReceived } from '../../src/integrations/deliveries/store.ts';
import { sampleFor } from '../../src/providers/index.ts';
import { temporaryFolder } from '../support/cli.ts';
import { connectGithub, githubRequest } from '../support/deliveries.ts';
import { root } from '../support/server.ts';
import { bearer, createTestApp } from '../support/test-app.ts';

// Two popular generators make clients from the document. Their types must hold for real responses, and the clients must
// read the running app.

const DELIVERY = '72d3162e-cc78-11e3-81ab-4c9367dc0958';

const folder = temporaryFolder();
const app = createTestApp();
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch });
let auth: ReturnType<typeof bearer>;

afterAll(async () => {
  await server.stop(true);
  folder.remove();
});

/** Code of a user of both clients; the type checker reads it, and the tests run it. */
const PROGRAM = `
import createFetchClient from 'openapi-fetch';
import { createClient } from './hey/client';
import * as sdk from './hey/sdk.gen';
import type { ReceiveWebhookWithoutRepositoryData } from './hey/types.gen';
import type { paths } from './schema';

const organizationId = 'org_a';
const status = ['draft' as const, 'published' as const, 'draft' as const];

export function openapiFetch(baseUrl: string, headers: Record<string, string>) {
  const client = createFetchClient<paths>({ baseUrl, headers });
  return {
    async allTitles() {
      const titles: string[] = [];
      for (let page = 1; ; ) {
        const { data, error } = await client.GET('/v1/{organizationId}/posts', {
          params: { path: { organizationId }, query: { status, limit: 2, page } },
        });
        if (error !== undefined) throw new Error(error.error);
        titles.push(...data.posts.map(({ title }) => title));
        if (data.pagination.nextPage === null) return titles;
        page = data.pagination.nextPage;
      }
    },
    async author(postId: string): Promise<unknown> {
      const params = { path: { organizationId, postId } };
      const { data } = await client.GET('/v1/{organizationId}/posts/{postId}', { params });
      return data?.post?.sourceMetadata?.['author'];
    },
    async revalidate(etag: string): Promise<number> {
      const params = { path: { organizationId }, header: { 'If-None-Match': etag } };
      return (await client.GET('/v1/{organizationId}/posts', { params })).response.status;
    },
  };
}

export function heyApi(baseUrl: string, headers: Record<string, string>) {
  const client = createClient({ baseUrl, headers });
  return {
    async allTitles() {
      const titles: string[] = [];
      for (let page = 1; ; ) {
        const { data, error } = await sdk.listPosts({
          client,
          path: { organizationId },
          query: { status, limit: 2, page },
        });
        if (data === undefined) throw new Error(error?.error);
        titles.push(...data.posts.map(({ title }) => title));
        if (data.pagination.nextPage === null) return titles;
        page = data.pagination.nextPage;
      }
    },
    async author(postId: string): Promise<unknown> {
      const { data } = await sdk.getPost({ client, path: { organizationId, postId } });
      return data?.post?.sourceMetadata?.['author'];
    },
    async revalidate(etag: string): Promise<number | undefined> {
      const options = { client, path: { organizationId }, headers: { 'If-None-Match': etag } };
      return (await sdk.listPosts(options)).response?.status;
    },
  };
}

type ShortPath = paths['/api/webhooks/{provider}/{organizationId}/{integrationId}']['post'];
export const linear: ShortPath['parameters']['path']['provider'] &
  ReceiveWebhookWithoutRepositoryData['path']['provider'] = 'linear';
// @ts-expect-error GitHub's path names a repository.
export const first: ShortPath['parameters']['path']['provider'] = 'github';
// @ts-expect-error
export const second: ReceiveWebhookWithoutRepositoryData['path']['provider'] = 'github';
`;

interface Program {
  openapiFetch: OpenClient;
  heyApi: OpenClient;
}

type OpenClient = (
  baseUrl: string,
  headers: Record<string, string>,
) => {
  allTitles(): Promise<string[]>;
  author(postId: string): Promise<unknown>;
  revalidate(etag: string): Promise<number | undefined>;
};

/** Runs a command of Bun's in the checkout. Returns what it printed when it failed. */
async function run(...words: string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, ...words], { cwd: root, stdout: 'pipe', stderr: 'pipe' });
  const output = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return (await child.exited) === 0 ? '' : output.join('');
}

const typeCheck = () => run('--bun', 'tsc', '-p', folder.path);

/** A module that assigns values to a schema's type, as both generators have it. */
function assignments(values: readonly [schema: string, value: unknown][]): string {
  return [
    "import type * as hey from './hey/types.gen';",
    "import type { components } from './schema';",
    ...values.map(
      ([schema, value], index) =>
        `export const value${index} = ${JSON.stringify(value)} satisfies components['schemas']['${schema}'] satisfies hey.${schema};`,
    ),
  ].join('\n');
}

beforeAll(async () => {
  await app.addOrganization('org_a');
  await app.addPosts(
    'org_a',
    { id: 'p1', sourceMetadata: { author: 'ann', labels: ['a'], build: { number: 7 } } },
    { id: 'p2', contentType: 'linkedin_post' },
    { id: 'p3', status: 'draft', sourceMetadata: {} },
  );
  auth = bearer(await app.addKey('org_a'));

  const documentFile = join(folder.path, 'openapi.json');
  await Bun.write(documentFile, await (await app.request('/openapi.json')).text());
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'ESNext',
    module: 'Preserve',
    moduleResolution: 'bundler',
    lib: ['ESNext', 'DOM'],
    types: [],
    skipLibCheck: true,
  };
  await Bun.write(join(folder.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await Bun.write(join(folder.path, 'program.ts'), PROGRAM);
  symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'));
  expect(await run(join(root, 'test/support/generate-clients.ts'), documentFile, folder.path)).toBe('');
}, 120_000);

/** Real responses, each with the name of its schema. */
async function responses(): Promise<[schema: string, value: unknown][]> {
  const connected = await connectGithub(app, 'org_a');
  const integration = { type: 'github' as const, repositories: [] };
  const deliver = (event: string, delivery: string, changes = {}) => {
    const payload = sampleFor(integration, event, { now: app.clock.now() });
    return githubRequest(connected, { ...payload, ...changes }, { event, delivery });
  };
  const requests: [schema: string, path: string, init?: RequestInit][] = [
    ['PostList', '/v1/org_a/posts?status=draft&status=published', auth],
    ['PostList', '/v1/org_a/posts?limit=1', auth],
    ['PostList', '/v1/org_a/posts?limit=1&page=2', auth],
    ['PostList', '/v1/org_a/posts?page=99', auth],
    ['PostResult', '/v1/org_a/posts/p1', auth],
    ['PostResult', '/v1/org_a/posts/none', auth],
    ['Error', '/v1/org_a/posts'],
    ['Error', '/v1/org_a/posts?limit=0', auth],
    ['WebhookReceived', ...deliver('release', DELIVERY)],
    ['WebhookReceived', ...deliver('ping', `${DELIVERY}-ping`)],
    ['WebhookReceived', ...deliver('release', DELIVERY)],
    ['WebhookReceived', ...deliver('release', `${DELIVERY}-2`, { action: 'deleted' })],
  ];
  const values: [string, unknown][] = [];
  for (const [schema, path, init] of requests) {
    values.push([schema, await (await app.request(path, init)).json()]);
  }
  return values;
}

test('real responses have the generated types, and the examples are such responses', async () => {
  const values = await responses();
  await Bun.write(join(folder.path, 'responses.ts'), assignments(values));
  expect(await typeCheck()).toBe('');

  const received = values.flatMap(([schema, value]) => (schema === 'WebhookReceived' ? [value] : []));
  const shapes = received.map(shapeOf);
  for (const example of WebhookReceived.examples) expect(shapes).toContainEqual(shapeOf(example));
  const messages = received.map((value) => (value as { message: string }).message);
  expect(messages).toEqual(
    expect.arrayContaining(WebhookReceived.examples.map(({ message }: { message: string }) => message)),
  );
}, 60_000);

/** The keys of a value, all the way down. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shapeOf(each)]));
}

test('the type checker refuses responses that the document does not allow', async () => {
  const file = join(folder.path, 'responses.ts');
  const pagination = {
    limit: 10,
    currentPage: 1,
    nextPage: '2',
    previousPage: null,
    totalPages: 1,
    totalItems: 0,
  };
  const values = assignments([
    ['PostList', { posts: [], pagination }],
    ['PostResult', { post: null, extra: true }],
  ]);
  await Bun.write(file, values);
  const output = await typeCheck();
  expect(output).toContain('responses.ts(3,');
  expect(output).toContain('responses.ts(4,');
}, 60_000);

describe.each(['openapiFetch', 'heyApi'] as const)('the client %s', (name) => {
  test('reads every page, free-form objects, and a 304', async () => {
    const program: Program = await import(join(folder.path, 'program.ts'));
    const client = program[name](server.url.origin, auth.headers);
    expect(await client.allTitles()).toEqual(['Post 3', 'Post 2', 'Post 1']);
    expect(await client.author('p1')).toBe('ann');
    expect(await client.author('none')).toBeUndefined();
    const response = await app.request('/v1/org_a/posts', auth);
    expect(await client.revalidate(response.headers.get('etag') ?? '')).toBe(304);
    expect(await client.revalidate('"another"')).toBe(200);
  });

  test('gets the message of a refusal', async () => {
    const program: Program = await import(join(folder.path, 'program.ts'));
    const client = program[name](server.url.origin, bearer('tdk_x').headers);
    await expect(client.allTitles()).rejects.toThrow('INVALID_KEY');
  });
});
