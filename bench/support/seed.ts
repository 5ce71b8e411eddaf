import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Storage } from '../../db/engine.ts';
import { createLog } from '../../src/lib/log.ts';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { derivedId, randomIds } from '../../src/lib/text.ts';
import { systemClock } from '../../src/lib/time.ts';
import { SERVER } from '../../src/people/audit.ts';
import { embeddedKeys, READ_PERMISSION } from '../../src/people/keys/store.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import type { Post } from '../../src/posts/model.ts';
import { savePosts } from '../../src/posts/service.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import type { Defer } from './run.ts';

export const PUBLISHED = 10_000;
const DRAFTS = 500;

/** Posts in one transaction. */
const BATCH = 500;

const ORGANIZATION = 'org_bench';

/** Posts in a database, written by the service's own code. */
export interface SeededPosts {
  organizationId: string;
  /** The id of a published post. */
  postId: string;
  key: string;
}

export interface DataFolder extends SeededPosts {
  path: string;
  databaseFile: string;
}

/** A folder of its own for this run; taken away at the end. */
export async function makeTempFolder(defer: Defer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-bench-'));
  defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Fills a new data folder inside `parent`. */
export async function seedDataFolder(parent: string, { ascii }: { ascii: boolean }): Promise<DataFolder> {
  const path = join(parent, 'data');
  const { db, close } = openDataFolder(path);
  try {
    return { path, databaseFile: join(path, 'tidings.db'), ...(await seedPosts(db, { ascii })) };
  } finally {
    close();
  }
}

/** Published posts and drafts of about 4 KB of JSON, in an organization of their own. */
export async function seedPosts(db: Storage, { ascii }: { ascii: boolean }): Promise<SeededPosts> {
  const deps = {
    db,
    clock: systemClock,
    ids: randomIds,
    actor: SERVER,
    log: createLog('silent', { write: () => undefined }),
  };
  await createOrganization(deps, { id: ORGANIZATION, name: 'Benchmark', plan: 'free' });
  const posts = Array.from({ length: PUBLISHED + DRAFTS }, (_, index) => makePost(index, ascii));
  for (let at = 0; at < posts.length; at += BATCH) await savePosts(db, posts.slice(at, at + BATCH));
  const { key } = await embeddedKeys(deps).createKey({
    organizationId: ORGANIZATION,
    name: 'Benchmark',
    permissions: [READ_PERMISSION],
    expiresAt: null,
  });
  return { organizationId: ORGANIZATION, postId: postIdOf(PUBLISHED / 2), key };
}

/** Every 21st is a draft, so that drafts lie between the posts of a page. A post is a minute older than the last. */
function makePost(index: number, ascii: boolean): Post & { organizationId: string } {
  const isPlain = ascii || index % 5 !== 4;
  const markdown = makeMarkdown(index, isPlain);
  const at = new Date(Date.UTC(2026, 0, 1) - index * 60_000).toISOString();
  return {
    id: postIdOf(index),
    organizationId: ORGANIZATION,
    title: `Rocket 4.${index}: quieter engines`,
    markdown,
    content: toPlainText(markdown),
    contentType: index % 5 === 4 ? 'linkedin_post' : 'changelog',
    status: index % ((PUBLISHED + DRAFTS) / DRAFTS) === 1 ? 'draft' : 'published',
    sourceMetadata:
      index % 7 === 6
        ? null
        : { author: 'ann', version: `4.${index}`, platform: 'github', repository: 'acme/rocket' },
    createdAt: at,
    updatedAt: at,
  };
}

/** A fifth of the posts is not plain, as people write: a string with one such letter costs JavaScript twice the room. */
function makeMarkdown(index: number, isPlain: boolean): string {
  const items = Array.from(
    { length: 24 },
    (_, item) =>
      `- \`rocket plan --step ${item}\` says **"why"** a launch of pad ${index} waits for the wind\n`,
  );
  return `### Added${isPlain ? '' : ' – it’s here 🚀'}\n\n${items.join('')}`;
}

function postIdOf(index: number): string {
  return derivedId('post', ORGANIZATION, String(index));
}
