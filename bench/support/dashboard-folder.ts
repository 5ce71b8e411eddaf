import type { SqliteDatabase } from '../../db/sqlite/client.ts';
import { saveDraft } from '../../src/drafting/store.ts';
import { branchScope } from '../../src/drafting/triggers/kinds/branch.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration } from '../../src/integrations/connect.ts';
import { embeddedKeys, READ_PERMISSION } from '../../src/people/keys/store.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import { savePosts } from '../../src/posts/service.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import { fillLog, fillResults } from './dashboard-log.ts';
import { makePost } from './dashboard-posts.ts';
import { seedingDeps, signIn } from './seed.ts';

/** A large data folder, and the cookie of an owner of its organization. */
export interface DashboardFolder {
  path: string;
  organizationId: string;
  integrations: { github: string; linear: string };
  triggers: { release: string; push: string };
  cookie: string;
}

const KEYS = 60;
/** How many posts were drafts of a trigger. */
const DRAFTED = 5_000;
const BATCH = 5_000;

/** Fills a new data folder: two integrations, a log and posts. */
export async function fillDashboardFolder(
  path: string,
  amounts: { entries: number; posts: number },
): Promise<DashboardFolder> {
  const { db, secrets, close } = openDataFolder(path);
  try {
    const deps = seedingDeps({ db, secrets });
    const { id: organizationId } = await createOrganization(deps, {
      id: 'org_large',
      name: 'Benchmark',
      plan: 'pro',
    });
    const keys = embeddedKeys(deps);
    const key = { organizationId, permissions: [READ_PERMISSION], expiresAt: null };
    for (let count = 0; count < KEYS; count++) await keys.createKey({ ...key, name: `Key ${count}` });
    const github = await connectIntegration(deps, 'github', organizationId, 'acme/rocket');
    const linear = await connectIntegration(deps, 'linear', organizationId);
    const integrations = { github: github.integrationId, linear: linear.integrationId };
    const trigger = async (event: 'release' | 'push') =>
      (await createTrigger(deps, { integrationId: integrations.github, event, contentType: 'changelog' })).id;
    const triggers = { release: await trigger('release'), push: await trigger('push') };
    // Nothing is lost that could not be made again: filling need not be safe.
    db.$client.run('PRAGMA synchronous = OFF');
    db.$client.run('PRAGMA cache_size = -500000');
    fillLog(db, { organizationId, ...integrations }, amounts.entries);
    fillResults(db, { integrationId: integrations.github, triggerId: triggers.release });
    await addPosts(db, {
      organizationId,
      posts: amounts.posts,
      triggerId: triggers.release,
      ...integrations,
    });
    const cookie = await signIn(db, organizationId, 'ann@example.com');
    return { path, organizationId, integrations, triggers, cookie };
  } finally {
    close();
  }
}

/** The newest posts were drafts, each of another of the newest deliveries. */
async function addPosts(
  db: SqliteDatabase,
  about: { organizationId: string; posts: number; triggerId: string; github: string },
): Promise<void> {
  const drafted = db.$client
    .query<{ id: string; eventKey: string }, [string, number]>(
      `SELECT reference_id AS id,
        event || ' ' || coalesce(data ->> '$.after', data ->> '$.number', data ->> '$.tagName') AS eventKey
      FROM deliveries WHERE integration_id = ? AND status = 'processed'
      ORDER BY created_at DESC LIMIT ?`,
    )
    .all(about.github, DRAFTED);
  for (let start = 0; start < about.posts; start += BATCH) {
    const indexes = Array.from({ length: Math.min(BATCH, about.posts - start) }, (_, index) => start + index);
    const posts = indexes.map((index) => makePost(about.organizationId, index, drafted[index]?.id));
    await savePosts(db, posts);
    await db.write(async (tx) => {
      for (const [at, { id, createdAt }] of posts.entries()) {
        const event = drafted[start + at];
        if (event === undefined) break;
        await saveDraft(tx, {
          triggerId: about.triggerId,
          scope: branchScope(null, 'main'),
          subject: id,
          postId: id,
          writtenHash: '',
          eventKeys: [event.eventKey],
          until: createdAt,
          suggestion: null,
          suggestedAt: null,
          dismissedHash: null,
          leftOut: [],
          source: null,
        });
      }
    });
  }
}
