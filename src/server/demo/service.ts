import { chmod, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Database } from '../../../db/engine.ts';
import { listRuns } from '../../drafting/triggers/queue-store.ts';
import { createTrigger } from '../../drafting/triggers/service.ts';
import { sendDelivery } from '../../intake/receiver/send.ts';
import { connectIntegration } from '../../integrations/connect.ts';
import { getDelivery } from '../../integrations/deliveries/log-store.ts';
import { listIntegrations } from '../../integrations/store.ts';
import { AppError } from '../../lib/app-error.ts';
import { tidings } from '../../lib/build.ts';
import { texts } from '../../lib/markdown/texts.ts';
import { derivedId } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import { READ_PERMISSION } from '../../people/keys/store.ts';
import { countOrganizations, findOrganization, isDeleted } from '../../people/organization-store.ts';
import { createOrganization, DEMO_ORGANIZATION, restoreOrganization } from '../../people/organizations.ts';
import { contentTypes, type Post } from '../../posts/model.ts';
import { savePosts } from '../../posts/service.ts';
import { listPostPage } from '../../posts/store.ts';
import { providerOf, samplePayload } from '../../providers/index.ts';
import { publicAddresses } from '../../readers/public/model.ts';
import { changePublication, readPublication } from '../../readers/public/service.ts';
import posts from './posts.json' with { type: 'json' };

const DEMO_PROVIDER = 'github';

const DEMO_REPOSITORY = 'acme/rocket';

/** Its public page. */
const demoPage = {
  isPageOn: true,
  isFeedOn: true,
  description: 'What is new in Rocket, release by release.',
  accentColor: '#b3402a',
  links: [{ label: 'Source code', url: `https://github.com/${DEMO_REPOSITORY}` }],
};

/** A year of a small team's posts, newest first, each so many days old when the demo is made. */
const demoPosts: readonly DemoPost[] = posts as DemoPost[];

type DemoPost = Pick<Post, 'title' | 'markdown' | 'contentType' | 'sourceMetadata'> & { daysAgo: number };

const demoTriggers = [
  { event: 'release', contentType: 'changelog' },
  { event: 'release', contentType: 'linkedin_post' },
  { event: 'push', contentType: 'changelog' },
] as const;

const DRAFTS_MS = 5_000;

type Demo = Awaited<ReturnType<typeof openDemo>>;
type DemoDelivery = Awaited<ReturnType<typeof sendDemoDelivery>>;

/**
 * Opens the demo of this database, and creates it first: an organization, a year of posts, a key, and a connected
 * repository whose webhook nobody set up. The database holds only the key's hash, so `keyFile` (mode 0600) keeps the key
 * for the next start. Restores a demo in the trash. Throws `AppError` 409 when the database holds organizations and none is the demo's.
 */
export async function openDemo(
  deps: Omit<Deps, 'fetch'> & { db: Pick<Database, 'engine'> },
  keyFile: string,
) {
  const { db } = deps;
  const { present, isInTrash, others } = await db.read(async (tx) => ({
    present: await findOrganization(tx, DEMO_ORGANIZATION),
    isInTrash: await isDeleted(tx, DEMO_ORGANIZATION),
    others: await countOrganizations(tx),
  }));
  // A person who starts the demo wants to see it.
  const existing = isInTrash ? await restoreOrganization(deps, DEMO_ORGANIZATION) : present;
  if (existing === null && others > 0) {
    const [place, setting] =
      db.engine === 'sqlite' ? ['data folder', 'DATA_DIR'] : ['database', 'DATABASE_URL'];
    throw new AppError(
      409,
      `The ${place} already has organizations. To use --demo, set ${setting} to an empty one`,
    );
  }
  return {
    organization: existing ?? (await createDemo(deps)),
    publication: await db.read((tx) => readPublication(tx, DEMO_ORGANIZATION)),
    key: (await readUsableKey(deps, keyFile)) ?? (await createDemoKey(deps, keyFile)),
    integrationId: await findOrConnectIntegration(deps),
  };
}

/** Lines to read and to paste. */
export function describeDemo({ organization, publication, key }: Demo, publicUrl: string): string {
  const { id, name } = organization;
  const { page } = publicAddresses(publication, publicUrl);
  const list = `${publicUrl}/v1/${id}/posts`;
  const curl = `curl -H "Authorization: Bearer ${key}"`;
  return `
  Organization  ${name} (${id})
  API key       ${key}
  Reference     ${publicUrl}/docs
${page === null ? '' : `  Public page   ${page}\n`}
  The two newest posts:
  ${curl} "${list}?limit=2"

  Drafts too:
  ${curl} "${list}?status=draft&status=published"

  One post:
  ${curl} "${list}/${postIdOf(0)}"
`;
}

/** Sends the running service a signed release of the demo's repository, and waits up to 5 s for its drafts. */
export async function sendDemoDelivery(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'fetch'>,
  { integrationId }: Demo,
  baseUrl: string,
) {
  const { db, clock, ids } = deps;
  const options = { repository: DEMO_REPOSITORY, now: clock.now() };
  const body = JSON.stringify(samplePayload(DEMO_PROVIDER, 'release', options));
  const deliveryId = ids.newUuid();
  const sent = await sendDelivery(deps, { integrationId, event: 'release', deliveryId, body, baseUrl });
  const waitsUntil = performance.now() + DRAFTS_MS;
  const owner = { organizationId: DEMO_ORGANIZATION };
  while (performance.now() < waitsUntil && (await db.read((tx) => listRuns(tx, owner))).length > 0) {
    await Bun.sleep(50);
  }
  const selection = { statuses: ['draft' as const], contentTypes: [...contentTypes] };
  const page = { limit: 5, page: 1, sort: 'desc' as const };
  return db.read(async (tx) => {
    const { posts: drafts } = await listPostPage(tx, DEMO_ORGANIZATION, { ...selection, ...page });
    return { sent, entry: await getDelivery(tx, deliveryId), drafts };
  });
}

/** The delivery, its entry in the log, and how to send another. */
export function describeDemoDelivery({ sent, entry, drafts }: DemoDelivery, baseUrl: string): string {
  const elsewhere = baseUrl === 'http://localhost:3000' ? '' : ` --url ${baseUrl}`;
  return `
  Tidings sent a delivery, signed as by ${providerOf(DEMO_PROVIDER).name}, to
  ${sent.request.url}
  and got ${sent.status} in ${sent.durationMs} ms. The log entry:

  ${entry.title}: ${entry.status}, delivery ${entry.referenceId}
${describeDrafts(drafts)}
  The log:          ${tidings} delivery list --organization ${entry.organizationId}
  Another delivery: ${tidings} send ${DEMO_PROVIDER} push --integration ${entry.integrationId}${elsewhere}

  Drafts of the past releases of your own project:
  ${tidings} history OWNER/NAME --organization ${entry.organizationId}

  Stop with Ctrl-C. The next start keeps the data.
`;
}

function describeDrafts(drafts: readonly Post[]): string {
  const first = drafts.find(({ contentType }) => contentType === 'changelog');
  if (first === undefined) return '';
  const titles = drafts.map(({ title, contentType }) => `  ${title} (${contentType})`).join('\n');
  return `
  Drafts to review:

${titles}

  Read one:         ${tidings} post show ${first.id}
  Publish it:       ${tidings} post publish ${first.id}`;
}

async function createDemo(deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'log' | 'actor'>) {
  const demo = { id: DEMO_ORGANIZATION, name: 'Acme Rockets', plan: 'free' } as const;
  const organization = await createOrganization(deps, demo);
  const now = deps.clock.now().getTime();
  const written = await Promise.all(
    demoPosts.map(async ({ daysAgo, ...post }, index) => {
      // A minute apart, so that posts of one day keep their order.
      const createdAt = new Date(now - daysAgo * DAY_MS - index * 60_000).toISOString();
      return {
        ...post,
        status: 'published' as const,
        id: postIdOf(index),
        content: await texts.plain(post.markdown),
        createdAt,
        updatedAt: createdAt,
        organizationId: DEMO_ORGANIZATION,
      };
    }),
  );
  await savePosts(deps.db, written);
  await changePublication(deps, DEMO_ORGANIZATION, demoPage);
  return organization;
}

async function findOrConnectIntegration(deps: Omit<Deps, 'fetch' | 'keys'>): Promise<string> {
  const [existing] = await deps.db.read((tx) => listIntegrations(tx, DEMO_ORGANIZATION));
  if (existing !== undefined) return existing.id;
  const { integrationId } = await connectIntegration(deps, DEMO_PROVIDER, DEMO_ORGANIZATION, DEMO_REPOSITORY);
  for (const trigger of demoTriggers) await createTrigger(deps, { integrationId, ...trigger });
  return integrationId;
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

async function createDemoKey({ keys, log }: Pick<Deps, 'keys' | 'log'>, keyFile: string): Promise<string> {
  const { key, warning } = await keys.createKey({
    organizationId: DEMO_ORGANIZATION,
    name: 'Demo',
    permissions: [READ_PERMISSION],
    expiresAt: null,
  });
  if (warning !== undefined) log.warn(warning, 'the API may refuse the key of the demo');
  await mkdir(dirname(keyFile), { recursive: true, mode: 0o700 });
  await Bun.write(keyFile, `${key}\n`, { mode: 0o600 });
  await chmod(keyFile, 0o600);
  return key;
}
