import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Client } from '@modelcontextprotocol/client';
import { sql } from 'drizzle-orm';
import { readPost } from '../../src/posts/store.ts';
import {
  listOpenChanges,
  listSuggestedChanges,
  MAX_SUGGESTIONS_OF_POST,
} from '../../src/posts/suggestions.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { execute } from '../support/database.ts';
import { call, type McpApp, startMcp } from '../support/mcp.ts';

// The tools, as a client of the official SDK sees them over HTTP.

let mcp: McpApp;
let reader: Client;

beforeEach(async () => {
  mcp = await startMcp();
  const { app } = mcp;
  await app.addPosts(
    'org_a',
    { id: 'first', title: 'Quiet engines', markdown: '**Quiet** mode', content: 'Quiet mode' },
    { id: 'draft', title: 'Secret engines', status: 'draft' },
    { id: 'linkedin', title: 'Social engines', contentType: 'linkedin_post' },
    { id: 'last', title: 'Fast engines', content: `Fast ${'x'.repeat(1_000)}` },
  );
  await app.addPosts('org_b', { id: 'theirs', title: 'Their engines' });
  reader = await mcp.connect(await app.addKey('org_a'));
});

afterEach(() => mcp[Symbol.asyncDispose]());

const suggester = async () => mcp.connect(await mcp.app.addKey('org_a', ['api.read', 'posts.suggest']));
const idsOf = ({ posts }: { posts: { id: string }[] }) => posts.map(({ id }) => id);

test('the server says what it is', () => {
  expect(reader.getServerVersion()).toMatchObject({ name: 'tidings', title: 'Tidings' });
  expect(reader.getServerCapabilities()).toEqual({ tools: {} });
  expect(reader.getInstructions()).toContain('published changelog posts');
});

test('a title with bidirectional controls reorders nothing in the text of a result', async () => {
  await mcp.app.addPosts('org_a', { id: 'odd', title: 'one \u202eowt' });
  const { content } = await reader.callTool({ name: 'get_post', arguments: { id: 'odd' } });
  const [first] = content;
  const text = first?.type === 'text' ? first.text : '';
  expect(text).toContain('one \\u202eowt');
  expect(text).not.toContain('\u202e');
  expect(JSON.stringify(JSON.parse(text))).toContain('one \u202eowt');
});

test('a key sees the tools that it may use', async () => {
  const namesFor = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
  expect(await namesFor(reader)).toEqual(['list_posts', 'search_posts', 'get_post']);
  const writer = await suggester();
  expect(await namesFor(writer)).toEqual(['list_posts', 'search_posts', 'get_post', 'suggest_change']);
  const { tools } = await writer.listTools();
  expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, true, true, false]);
});

describe('list_posts', () => {
  test('lists published changelog posts of the organization, newest first', async () => {
    const page = await call(reader, 'list_posts');
    expect(page).toEqual({
      posts: [
        {
          id: 'last',
          title: 'Fast engines',
          createdAt: '2026-01-01T00:04:00.000Z',
          updatedAt: '2026-01-01T00:04:00.000Z',
          excerpt: expect.stringMatching(/^Fast x{200,}…$/),
        },
        expect.objectContaining({ id: 'first', excerpt: 'Quiet mode' }),
      ],
      page: 1,
      nextPage: null,
      totalItems: 2,
    });
    expect(page.posts[0].excerpt.length).toBe(280);
  });

  test('pages', async () => {
    expect(await call(reader, 'list_posts', { limit: 1 })).toMatchObject({ nextPage: 2, totalItems: 2 });
    const second = await call(reader, 'list_posts', { limit: 1, page: 2 });
    expect([idsOf(second), second.nextPage]).toEqual([['first'], null]);
    expect(await call(reader, 'list_posts', { page: 9 })).toMatchObject({ posts: [], nextPage: null });
  });

  test('links to the public page while that is on', async () => {
    await changePublication(mcp.app.deps, 'org_a', { isPageOn: true, slug: 'acme' });
    const { posts } = await call(reader, 'list_posts');
    expect(posts[0].url).toBe(`${mcp.url.origin}/changelog/acme/last`);
  });

  test.each([
    [{ limit: 51 }, 'limit'],
    [{ page: 0 }, 'page'],
    [{ page: 1.5 }, 'page'],
    [{ status: 'draft' }, 'status is not a known field'],
  ])('refuses %p as a result that the agent reads', async (input, message) => {
    expect(await call(reader, 'list_posts', input)).toStartWith(message);
  });
});

describe('search_posts', () => {
  test('finds words of published changelog posts of the organization', async () => {
    expect(idsOf(await call(reader, 'search_posts', { query: 'engines' }))).toEqual(['last', 'first']);
    expect(idsOf(await call(reader, 'search_posts', { query: 'quiet eng' }))).toEqual(['first']);
    expect(await call(reader, 'search_posts', { query: 'secret' })).toMatchObject({
      posts: [],
      totalItems: 0,
    });
    expect(await call(reader, 'search_posts', { query: '"*^( OR' })).toMatchObject({ posts: [] });
  });

  test('pages', async () => {
    const second = await call(reader, 'search_posts', { query: 'engines', limit: 1, page: 2 });
    expect([idsOf(second), second.nextPage, second.totalItems]).toEqual([['first'], null, 2]);
  });

  test('refuses a query without words, and a long one', async () => {
    expect(await call(reader, 'search_posts', {})).toBe('query is missing');
    expect(await call(reader, 'search_posts', { query: ' ' })).toBe('query must not be empty');
    expect(await call(reader, 'search_posts', { query: 'x'.repeat(201) })).toStartWith(
      'query must have at most 200 characters',
    );
  });
});

describe('get_post', () => {
  test('returns the whole text', async () => {
    expect(await call(reader, 'get_post', { id: 'first' })).toEqual({
      id: 'first',
      title: 'Quiet engines',
      markdown: '**Quiet** mode',
      createdAt: '2026-01-01T00:01:00.000Z',
      updatedAt: '2026-01-01T00:01:00.000Z',
    });
  });

  test.each(['none', 'draft', 'linkedin', 'theirs'])('says the same for %s as for no post', async (id) => {
    expect(await call(reader, 'get_post', { id })).toBe('No such post');
  });

  test('refuses an id that no post has', async () => {
    expect(await call(reader, 'get_post', { id: '../x' })).toStartWith('id must match');
  });
});

describe('suggest_change', () => {
  test('stores a suggestion under the name of the key, and changes nothing', async () => {
    const writer = await suggester();
    const before = await mcp.app.db.read((tx) => readPost(tx, 'first'));
    const change = { id: 'first', markdown: 'Quieter', note: 'Shorter' };
    expect(await call(writer, 'suggest_change', change)).toEqual({ received: true });
    expect(await call(writer, 'suggest_change', change)).toEqual({ received: true });
    expect(await mcp.app.db.read((tx) => listSuggestedChanges(tx, 'first'))).toMatchObject([
      { keyName: 'Test', title: null, markdown: 'Quieter', note: 'Shorter' },
    ]);
    expect(await mcp.app.db.read((tx) => readPost(tx, 'first'))).toEqual(before);
  });

  test('takes any post of the organization, and reveals nothing about a draft', async () => {
    const writer = await suggester();
    const stored = await mcp.app.db.read((tx) => readPost(tx, 'draft'));
    for (const id of ['draft', 'linkedin']) {
      expect(await call(writer, 'suggest_change', { id, title: 'New' })).toEqual({ received: true });
    }
    // A guess of the text is not confirmed.
    const guess = { id: 'draft', title: stored?.title, markdown: stored?.markdown };
    expect(await call(writer, 'suggest_change', guess)).toEqual({ received: true });
    const open = await mcp.app.db.read((tx) => listOpenChanges(tx, { organizationId: 'org_a' }));
    expect(open.map(({ postId }) => postId).sort()).toEqual(['draft', 'linkedin']);
  });

  test.each(['none', 'theirs'])('says the same for %s as for no post', async (id) => {
    expect(await call(await suggester(), 'suggest_change', { id, title: 'x' })).toBe('No such post');
    expect(await mcp.app.db.read((tx) => listOpenChanges(tx, { organizationId: 'org_b' }))).toEqual([]);
  });

  test('is refused without the permission posts.suggest', async () => {
    expect(await call(reader, 'suggest_change', { id: 'first', title: 'x' })).toBe(
      'This API key cannot suggest changes. It lacks the permission posts.suggest',
    );
    expect(await mcp.app.db.read((tx) => listOpenChanges(tx, { organizationId: 'org_a' }))).toEqual([]);
  });

  test('is refused for the same text, and above the limit', async () => {
    const writer = await suggester();
    const same = { id: 'first', title: 'Quiet engines' };
    expect(await call(writer, 'suggest_change', same)).toBe(
      'The post already has this title and text. Nothing was stored',
    );
    for (let n = 0; n < MAX_SUGGESTIONS_OF_POST; n++) {
      await call(writer, 'suggest_change', { id: 'first', title: `Title ${n}` });
    }
    expect(await call(writer, 'suggest_change', { id: 'first', title: 'One more' })).toStartWith(
      'This post has 10 open suggestions.',
    );
  });
});

test('a connected client is refused once the endpoint is off, and once its key is revoked', async () => {
  const refusal = () => reader.listTools().then(String, ({ message }: Error) => message);
  expect(await refusal()).toBe('[object Object]');
  await changePublication(mcp.app.deps, 'org_a', { isMcpOn: false });
  expect(await refusal()).toContain('the endpoint for agents is off');
  await changePublication(mcp.app.deps, 'org_a', { isMcpOn: true });
  expect(await refusal()).toBe('[object Object]');
  const [key] = await mcp.app.deps.keys.listKeys('org_a');
  await mcp.app.deps.keys.revokeKey(key?.id ?? '');
  expect(await refusal()).toContain('INVALID_KEY');
});

test('a failure of ours is a 500 without details, and in the log', async () => {
  await execute(mcp.app.db, sql`alter table post_suggestions rename to gone`);
  const key = await mcp.app.addKey('org_a', ['api.read', 'posts.suggest']);
  const params = { name: 'suggest_change', arguments: { id: 'first', title: 'New' } };
  const response = await mcp.post(
    key,
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  );
  expect([response.status, await response.json()]).toEqual([500, { error: 'Internal server error' }]);
  const requestId = response.headers.get('x-request-id');
  expect(mcp.app.logged).toContainEqual(expect.objectContaining({ requestId, msg: 'request failed' }));
});
