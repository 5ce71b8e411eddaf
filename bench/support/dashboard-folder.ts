import type { SqliteDatabase } from '../../db/sqlite/client.ts';
import { saveDraft } from '../../src/drafting/store.ts';
import { branchScope } from '../../src/drafting/triggers/kinds/branch.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration } from '../../src/integrations/connect.ts';
import { createLog } from '../../src/lib/log.ts';
import { randomIds, randomToken } from '../../src/lib/text.ts';
import { DAY_MS, systemClock } from '../../src/lib/time.ts';
import { SERVER } from '../../src/people/audit.ts';
import { embeddedKeys, READ_PERMISSION } from '../../src/people/keys/store.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import { hashOf } from '../../src/people/passwords.ts';
import { insertMembership, insertSession, insertUser } from '../../src/people/store.ts';
import { savePosts } from '../../src/posts/service.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import { fillLog, fillResults } from './dashboard-log.ts';
import { makePost } from './dashboard-posts.ts';

/** A data folder for the dashboard. */
export interface Amounts {
  entries: number;
  posts: number;
}

/** A large data folder, and the cookie of an owner of its organizations. */
export interface DashboardFolder {
  path: string;
  /** Nine of ten entries, and nearly all posts. */
  large: string;
  /** The rest. */
  small: string;
  integrations: { github: string; linear: string; small: string };
  triggers: { release: string; push: string };
  cookie: string;
}

const SMALL_POSTS = 1_000;
const KEYS = 60;
/** How many posts were drafts of a trigger. */
const DRAFTED = 5_000;
const BATCH = 5_000;

type Deps = ReturnType<typeof depsOf>;

/** Fills a new data folder: two organizations, three integrations, a log and posts. */
export async function fillDashboardFolder(
  path: string,
  amounts: Amounts,
  onProgress: (written: number, total: number) => void,
): Promise<DashboardFolder> {
  const { db, secrets, close } = openDataFolder(path);
  try {
    const deps = depsOf(db, secrets);
    const large = await addOrganization(deps, 'org_large');
    const small = await addOrganization(deps, 'org_small');
    const connect = async (type: 'github' | 'linear', organizationId: string) =>
      (await connectIntegration(deps, type, organizationId, type === 'github' ? 'acme/rocket' : undefined))
        .integrationId;
    const integrations = {
      github: await connect('github', large),
      linear: await connect('linear', large),
      small: await connect('github', small),
    };
    const trigger = async (event: 'release' | 'push') =>
      (
        await createTrigger(deps, {
          integrationId: integrations.github,
          event,
          contentType: 'changelog',
        })
      ).id;
    const triggers = { release: await trigger('release'), push: await trigger('push') };
    const total = amounts.entries + amounts.posts;
    // Nothing is lost that could not be made again: filling need not be safe.
    db.$client.run('PRAGMA synchronous = OFF');
    db.$client.run('PRAGMA cache_size = -500000');
    const sources = [
      { organizationId: large, integrationId: integrations.github, type: 'github' as const, ofTen: 6 },
      { organizationId: large, integrationId: integrations.linear, type: 'linear' as const, ofTen: 3 },
      { organizationId: small, integrationId: integrations.small, type: 'github' as const, ofTen: 1 },
    ];
    fillLog(db, sources, {
      entries: amounts.entries,
      now: systemClock.now(),
      onProgress: (written) => onProgress(written, total),
    });
    fillResults(db, { integrationId: integrations.github, triggerId: triggers.release });
    await addPosts(
      db,
      { large, small, posts: amounts.posts, triggerId: triggers.release, github: integrations.github },
      (written) => onProgress(amounts.entries + written, total),
    );
    const cookie = await signIn(db, [large, small]);
    return { path, large, small, integrations, triggers, cookie };
  } finally {
    close();
  }
}

function depsOf(db: SqliteDatabase, secrets: ReturnType<typeof openDataFolder>['secrets']) {
  return {
    db,
    secrets,
    clock: systemClock,
    ids: randomIds,
    actor: SERVER,
    log: createLog('silent', { write: () => undefined }),
    publicUrl: () => '',
  };
}

async function addOrganization(deps: Deps, id: string): Promise<string> {
  await createOrganization(deps, { id, name: `Benchmark ${id}`, plan: 'pro' });
  const keys = embeddedKeys(deps);
  for (let key = 0; key < KEYS; key++) {
    const name = `Key ${key}`;
    await keys.createKey({ organizationId: id, name, permissions: [READ_PERMISSION], expiresAt: null });
  }
  return id;
}

/** The newest of the large organization's posts were drafts, each of another of its newest deliveries. */
async function addPosts(
  db: SqliteDatabase,
  about: { large: string; small: string; posts: number; triggerId: string; github: string },
  onProgress: (written: number) => void,
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
    const posts = indexes.map((index) =>
      makePost(index >= about.posts - SMALL_POSTS ? about.small : about.large, index, drafted[index]?.id),
    );
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
          source: null,
        });
      }
    });
    onProgress(start + posts.length);
  }
}

/** A person who owns the organizations, and is signed in. */
/** Adds an owner of these organizations. Returns the cookie of their session. */
export async function signIn(db: SqliteDatabase, organizationIds: readonly string[]): Promise<string> {
  const now = systemClock.now();
  const createdAt = now.toISOString();
  const user = { id: randomIds.newId('usr'), email: `${randomIds.newId('ann')}@acme.example`, createdAt };
  const token = randomToken(32);
  await db.write(async (tx) => {
    await insertUser(tx, { ...user, passwordHash: null });
    for (const organizationId of organizationIds) {
      await insertMembership(tx, { userId: user.id, organizationId, role: 'owner', createdAt });
    }
    await insertSession(tx, {
      hash: hashOf(token),
      userId: user.id,
      createdAt,
      lastUsedAt: now.getTime(),
      expiresAt: now.getTime() + 30 * DAY_MS,
    });
  });
  return `tidings_session=${token}`;
}
