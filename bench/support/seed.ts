import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Storage } from '../../db/engine.ts';
import { connectIntegration } from '../../src/integrations/connect.ts';
import { createLog } from '../../src/lib/log.ts';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { derivedId, randomIds } from '../../src/lib/text.ts';
import { systemClock } from '../../src/lib/time.ts';
import { createUser } from '../../src/people/accounts.ts';
import { SERVER } from '../../src/people/audit.ts';
import type { Deps } from '../../src/people/deps.ts';
import { embeddedKeys, READ_PERMISSION } from '../../src/people/keys/store.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import { beginSession } from '../../src/people/sessions.ts';
import type { Post } from '../../src/posts/model.ts';
import { savePosts } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import type { Body, Load } from './wrk.ts';

export const PUBLISHED = 10_000;
const DRAFTS = 500;

/** Posts in one transaction. */
const BATCH = 500;

const ORGANIZATION = 'org_bench';

/** Posts in a database, and a key that reads them. */
export interface SeededPosts {
  /** The path of the list, and of one published post. */
  list: string;
  post: string;
  headers: { authorization: string };
}

export interface SeededRepository {
  organizationId: string;
  secret: string;
  /** A signed push over and over, each time with a delivery id of its own. */
  pushes: Load;
  /** Different signed pushes, of commits that are new at each call. */
  newPushes(count: number): Load;
}

export interface DataFolder extends SeededRepository {
  path: string;
  databaseFile: string;
  /** The cookie of an owner of the organization with the repository. */
  cookie: string;
}

/** The services that seeding takes, on a storage. */
export function seedingDeps<Given extends Pick<Deps, 'db'>>(storage: Given) {
  const log = createLog('silent', { write: () => undefined });
  const publicUrl = () => '';
  return { ...storage, clock: systemClock, ids: randomIds, actor: SERVER, log, publicUrl };
}

/** Fills a new data folder inside `parent`: a repository, and posts if they are wanted. */
export async function seedFolder(parent: string, name: string): Promise<DataFolder>;
export async function seedFolder(
  parent: string,
  name: string,
  posts: { ascii: boolean },
): Promise<DataFolder & SeededPosts>;
export async function seedFolder(parent: string, name: string, posts?: { ascii: boolean }) {
  const path = join(parent, name);
  const { db, secrets, close } = openDataFolder(path);
  try {
    const repository = await seedRepository({ db, secrets }, 'org_hooks');
    const cookie = await signIn(db, repository.organizationId, 'ann@example.com');
    const seeded = posts === undefined ? {} : await seedPosts(db, posts.ascii);
    return { path, databaseFile: join(path, 'tidings.db'), cookie, ...repository, ...seeded };
  } finally {
    close();
  }
}

/** Adds an owner of an organization. Returns the cookie of their session. */
export async function signIn(db: Storage, organizationId: string, email: string): Promise<string> {
  const deps = seedingDeps({ db });
  const user = await createUser(deps, { email, organizationId });
  return `tidings_session=${await db.write((tx) => beginSession(tx, deps, user))}`;
}

/** A repository, connected by the service's own code, in an organization of its own. */
export async function seedRepository(
  storage: Pick<Deps, 'db' | 'secrets'>,
  organizationId: string,
): Promise<SeededRepository> {
  const deps = seedingDeps(storage);
  await createOrganization(deps, { id: organizationId, name: 'Benchmark', plan: 'free' });
  const { webhookUrl, secret } = await connectIntegration(deps, 'github', organizationId, 'acme/rocket');
  const sample = JSON.stringify(
    samplePayload('github', 'push', { repository: 'acme/rocket', now: systemClock.now() }),
  );
  const head: string = JSON.parse(sample).after;
  const sign = (text: string) => ({
    text,
    headers: { 'x-hub-signature-256': `sha256=${hmacSha256(secret, text)}` },
  });
  const load = (bodies: Body[]): Load => ({
    paths: [webhookUrl],
    headers: { 'content-type': 'application/json', 'x-github-event': 'push' },
    post: { bodies, countingHeader: 'x-github-delivery' },
  });
  const newPush = () => sign(sample.replaceAll(head, randomBytes(20).toString('hex')));
  return {
    organizationId,
    secret,
    pushes: load([sign(sample)]),
    newPushes: (count) => load(Array.from({ length: count }, newPush)),
  };
}

/** Published posts and drafts of about 4 KB of JSON, in an organization of their own. */
async function seedPosts(db: Storage, ascii: boolean): Promise<SeededPosts> {
  const deps = seedingDeps({ db });
  await createOrganization(deps, { id: ORGANIZATION, name: 'Benchmark', plan: 'free' });
  const posts = Array.from({ length: PUBLISHED + DRAFTS }, (_, index) => makePost(index, ascii));
  for (let at = 0; at < posts.length; at += BATCH) await savePosts(db, posts.slice(at, at + BATCH));
  const { key } = await embeddedKeys(deps).createKey({
    organizationId: ORGANIZATION,
    name: 'Benchmark',
    permissions: [READ_PERMISSION],
    expiresAt: null,
  });
  const list = `/v1/${ORGANIZATION}/posts`;
  return { list, post: `${list}/${postIdOf(PUBLISHED / 2)}`, headers: { authorization: `Bearer ${key}` } };
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
