import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Database } from '../../../db/engine.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { openDatabase } from '../../../db/sqlite/client.ts';
import { listReleases } from '../../../src/drafting/events.ts';
import { createTrigger } from '../../../src/drafting/triggers/service.ts';
import { AppError } from '../../../src/lib/app-error.ts';
import { importFile } from '../../../src/posts/import/service.ts';
import { type Found, searchPosts } from '../../../src/posts/list-store.ts';
import { contentTypes, postStatuses } from '../../../src/posts/model.ts';
import { createPost, editPost } from '../../../src/posts/service.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import {
  appWithGithub,
  connectLinear,
  githubRequest,
  linearRequest,
  logOf,
} from '../../support/deliveries.ts';
import { postsOf, runAll } from '../../support/drafts.ts';
import { changed } from '../../support/payloads.ts';
import { sharedPostgres } from '../../support/postgres-server.ts';
import { bearer } from '../../support/test-app.ts';

// The same requests to an app on each engine give the same bytes, whatever the texts are.

const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

type World = Awaited<ReturnType<typeof setUp>>;
let worlds: { sqlite: World; postgres: World };
const databases: Database[] = [];

beforeAll(async () => {
  const postgres = await openPostgres(await (await sharedPostgres()).createDatabase(), 'server', {
    poolSize: 4,
    limits: LIMITS,
  });
  const sqlite = openDatabase(':memory:');
  databases.push(postgres, sqlite);
  worlds = { sqlite: await setUp(sqlite), postgres: await setUp(postgres) };
}, 120_000);

afterAll(async () => {
  for (const db of databases) await db.close();
});

async function setUp(db: Database) {
  const { app, connected } = await appWithGithub({ db });
  const linear = await connectLinear(app, 'org_a');
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog', publish: true });
  await createTrigger(app.deps, { integrationId, event: 'push', contentType: 'changelog' });
  return { app, connected, linear, key: await app.addKey('org_a') };
}

/** Does the same with both and expects the same result, which it returns. A refusal is a result, too. */
async function both<Result>(work: (world: World) => Promise<Result>): Promise<Result | AppError> {
  const attempt = async (world: World) => {
    try {
      return await work(world);
    } catch (error) {
      if (error instanceof AppError && error.status < 500) return error;
      throw error;
    }
  };
  const [sqlite, postgres] = [await attempt(worlds.sqlite), await attempt(worlds.postgres)];
  expect(postgres).toEqual(sqlite);
  return sqlite;
}

/** All posts as the API sends them. */
const apiBytes = async ({ app, key }: World): Promise<string> => {
  const path = '/v1/org_a/posts?limit=100&status=published&status=draft';
  const response = await app.request(path, bearer(key));
  return Buffer.from(await response.arrayBuffer()).toString('latin1');
};

/** The log without what takes another time on each run. */
const readLog = async ({ app }: World) =>
  (await logOf(app)).map(({ durationMs: _, headers: __, ...entry }) => entry);

const NUL = '\0';
const odd = {
  NUL: `before${NUL}after`,
  'the escape of NUL': `\uFDD0\uFDD1 \uFDD0\uFDD2 \uFDD0`,
  'a high surrogate alone': 'a\uD800b',
  'a low surrogate alone': 'a\uDC00b',
  'surrogates in the wrong order': '\uDC00\uD800',
  'a text that ends in one': 'end \uD83D',
  CJK: '更新日志：支持深色模式。変更履歴 릴리스',
  emoji: '👩‍👩‍👧‍👦 🚀',
  'quotes and escapes': `"\\u0000" \\ ' " \u2028 \u007f \u0001`,
};

test.each(Object.entries(odd))('%s in a release, as JSON and as its escapes', async (name, text) => {
  const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now: new Date(0) }) ?? {};
  const payload = changed(sample, {
    'release.tag_name': `v1 ${name} ${text}`,
    'release.name': `Name ${text}`,
    'release.body': `Notes: ${text}`,
    'release.target_commitish': `main ${text}`,
    'release.author.login': text,
  });
  const json = JSON.stringify(payload);
  const escaped = json.replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  for (const body of [json, escaped]) {
    const deliver = ({ app, connected }: World) =>
      app.request(...githubRequest(connected, body, { event: 'release', delivery: `${Bun.hash(body)}` }));
    const responses = await both(async (world) => {
      const response = await deliver(world);
      return [response.status, await response.text()];
    });
    expect(responses).toHaveProperty('0', 200);
  }
  await both(({ app }) => runAll(app));
  await both(readLog);
  await both(apiBytes);
});

test.each(Object.entries(odd))('%s in an issue, a post of the editor and an edit', async (_, text) => {
  const sample = samplePayload('linear', 'Issue', { now: new Date('2026-11-20T12:00:00Z') }) ?? {};
  const payload = changed(sample, { 'data.title': text, 'data.description': text, 'data.id': `id ${text}` });
  const status = await both(async ({ app, linear }) => {
    const request = linearRequest(linear, payload, { event: 'Issue', delivery: `issue-${Bun.hash(text)}` });
    return (await app.request(...request)).status;
  });
  expect(status).toBe(200);
  await both(readLog);
  await both(({ app }) =>
    createPost(app.deps, 'org_a', {
      title: `Title ${text}`,
      markdown: `Text **${text}**`,
      contentType: 'changelog',
    }),
  );
  await both(async ({ app }) => {
    const [post] = await postsOf(app);
    return editPost(app.deps, post?.id ?? '', { markdown: `${text} ${text}`, status: 'published' });
  });
  await both(apiBytes);
});

test.each(Object.entries(odd))('%s in an import, with source metadata', async (name, text) => {
  const record = {
    id: `imported_${Bun.hash(text)}`,
    title: `Imported ${name}`,
    markdown: text,
    createdAt: '2026-01-01T00:00:00.000Z',
  };
  const sourceMetadata = { [text]: [text, { nested: text }, 1.5e3, null] };
  for (const given of [record, { ...record, sourceMetadata, title: text, content: text }]) {
    await both(({ app }) =>
      importFile(
        app.deps,
        { name: 'posts.json', text: JSON.stringify([given]) },
        { organizationId: 'org_a', status: 'published', contentType: 'changelog' },
      ),
    );
  }
  await both(apiBytes);
});

const queries = [
  'after',
  'before',
  '更新日志',
  '支持',
  '変更履歴',
  '릴리',
  'name',
  NUL,
  `after${NUL}`,
  '\uD800',
  'a\uD800b',
  '\uFDD0',
  '🚀',
  '"',
  "'",
  '\\',
  'u0000',
  '*',
  '%',
];

const search =
  (query: string) =>
  async ({ app }: World) => {
    const page = { statuses: [...postStatuses], contentTypes: [...contentTypes], limit: 100, page: 1 };
    const found: Found = await app.db.read((tx) => searchPosts(tx, 'org_a', query, page));
    return found.posts.map(({ id }) => id);
  };

test.each(queries)('a search for %j finds the same posts', async (query) => {
  await both(search(query));
});

describe('long names', () => {
  /** Nothing that PostgreSQL could compress until it fits. */
  const noise = (length: number) =>
    Array.from({ length }, (_, at) =>
      String.fromCharCode(0x4e00 + Number(Bun.hash(`${length} ${at}`) % 20_000n)),
    ).join('');

  test.each([255, 1_000, 30_000])('a tag and a branch of %d characters make a draft', async (length) => {
    const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now: new Date(0) }) ?? {};
    const payload = changed(sample, {
      'release.tag_name': noise(length),
      'release.name': `Long ${length}`,
      'release.target_commitish': noise(length + 1),
    });
    const deliver = async ({ app, connected }: World) =>
      (
        await app.request(
          ...githubRequest(connected, payload, { event: 'release', delivery: `long-${length}` }),
        )
      ).status;
    expect(await both(deliver)).toBe(200);
    await both(({ app }) => runAll(app));
    const titles = await both(async ({ app }) => (await postsOf(app)).map(({ title }) => title));
    expect(titles).toContain(`Long ${length}`);
    await both(({ app, connected }) =>
      app.db.read((tx) => listReleases(tx, connected.integrationId, [connected.repositoryId ?? ''])),
    );
    await both(readLog);
  });

  test.each([255, 30_000])('a branch of %d characters is pushed', async (length) => {
    const sample = samplePayload('github', 'push', { repository: 'acme/rocket', now: new Date(0) }) ?? {};
    const payload = changed(sample, { ref: `refs/heads/${noise(length)}`, after: noise(length + 2) });
    const deliver = async ({ app, connected }: World) =>
      (await app.request(...githubRequest(connected, payload, { event: 'push', delivery: `push-${length}` })))
        .status;
    expect(await both(deliver)).toBe(200);
    await both(({ app }) => runAll(app));
    await both(readLog);
  });

  test('the id of an issue', async () => {
    const sample = samplePayload('linear', 'Issue', { now: new Date('2026-11-20T12:00:00Z') }) ?? {};
    const payload = changed(sample, { 'data.id': noise(5_000), 'data.identifier': noise(5_001) });
    const deliver = async ({ app, linear }: World) =>
      (await app.request(...linearRequest(linear, payload, { event: 'Issue' }))).status;
    expect(await both(deliver)).toBe(200);
  });

  test('a delivery id or an event name that is too long is refused', async () => {
    for (const options of [{ delivery: 'd'.repeat(3_000) }, { event: 'e'.repeat(3_000) }]) {
      const deliver = async ({ app, connected }: World) =>
        (await app.request(...githubRequest(connected, { zen: 'x' }, options))).status;
      expect(await both(deliver)).toBe(400);
    }
  });

  test('a post of one endless word is found by the beginning of its title', async () => {
    const word = noise(20_000);
    await both(({ app }) =>
      createPost(app.deps, 'org_a', { title: word.slice(0, 400), markdown: word, contentType: 'changelog' }),
    );
    expect(await both(search(word.slice(0, 100)))).toHaveLength(1);
    await both(apiBytes);
  });
});
