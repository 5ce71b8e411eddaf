import { chmod } from 'node:fs/promises';
import type { Deps } from '../deps.ts';
import { READ_PERMISSION } from '../keys/model.ts';
import { AppError } from '../lib/app-error.ts';
import { derivedId } from '../lib/ids.ts';
import { createOrganization } from '../organizations/service.ts';
import { countOrganizations, findOrganization } from '../organizations/store.ts';
import { toPlainText } from '../posts/plain-text.ts';
import { savePosts } from '../posts/store.ts';
import { demoPosts } from './posts.ts';

const DEMO_ORGANIZATION = 'org_demo';

/** What somebody needs to try the demo. */
export interface Demo {
  organizationId: string;
  organizationName: string;
  key: string;
  /** A published post. */
  postId: string;
}

/**
 * The demo of this data folder, made at first: an organization, a year of posts, and a key. A key is stored
 * only as its hash, so the demo's is also kept in `keyFile` (mode 0600), to be shown again at the next start.
 * Throws `AppError` 409 when the folder holds organizations and none is the demo's.
 */
export async function openDemo(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'keys'>,
  keyFile: string,
): Promise<Demo> {
  const existing = await findOrganization(deps.db, DEMO_ORGANIZATION);
  if (existing === null && (await countOrganizations(deps.db)) > 0) {
    throw new AppError(
      409,
      'The data folder holds organizations already; --demo fills only an empty one (see DATA_DIR)',
    );
  }
  const organization = existing ?? (await createDemo(deps));
  return {
    organizationId: organization.id,
    organizationName: organization.name,
    key: (await readUsableKey(deps, keyFile)) ?? (await createDemoKey(deps, keyFile)),
    postId: postIdOf(demoPosts.findIndex(({ status }) => status === 'published')),
  };
}

/** Lines to read and to paste. */
export function describeDemo(
  { organizationId, organizationName, key, postId }: Demo,
  publicUrl: string,
): string {
  const posts = `${publicUrl}/v1/${organizationId}/posts`;
  const curl = `curl -H "Authorization: Bearer ${key}"`;
  return `
  Organization  ${organizationName} (${organizationId})
  API key       ${key}
  Reference     ${publicUrl}/docs

  The two newest posts:
  ${curl} "${posts}?limit=2"

  Drafts too:
  ${curl} "${posts}?status=draft&status=published"

  One post:
  ${curl} "${posts}/${postId}"

  Stop with Ctrl-C; the data stays for the next start.
`;
}

async function createDemo(deps: Pick<Deps, 'db' | 'clock' | 'ids'>) {
  const organization = await createOrganization(deps, {
    id: DEMO_ORGANIZATION,
    name: 'Acme Rockets',
    plan: 'free',
  });
  const now = deps.clock.now().getTime();
  await savePosts(
    deps.db,
    demoPosts.map(({ daysAgo, ...post }, index) => {
      // A minute apart, so that posts of one day keep their order.
      const createdAt = new Date(now - daysAgo * 86_400_000 - index * 60_000).toISOString();
      return {
        ...post,
        id: postIdOf(index),
        content: toPlainText(post.markdown),
        createdAt,
        updatedAt: createdAt,
        organizationId: DEMO_ORGANIZATION,
      };
    }),
  );
  return organization;
}

function postIdOf(index: number): string {
  return derivedId('post', DEMO_ORGANIZATION, String(index));
}

async function readUsableKey({ keys }: Pick<Deps, 'keys'>, keyFile: string): Promise<string | null> {
  const file = Bun.file(keyFile);
  if (!(await file.exists())) return null;
  const key = (await file.text()).trim();
  const verdict = await keys.verifyKey(key, READ_PERMISSION);
  return verdict.outcome === 'valid' && verdict.organizationId === DEMO_ORGANIZATION ? key : null;
}

async function createDemoKey({ keys }: Pick<Deps, 'keys'>, keyFile: string): Promise<string> {
  const { key } = await keys.createKey({
    organizationId: DEMO_ORGANIZATION,
    name: 'Demo',
    permissions: [READ_PERMISSION],
    expiresAt: null,
  });
  await Bun.write(keyFile, `${key}\n`, { mode: 0o600 });
  await chmod(keyFile, 0o600);
  return key;
}
