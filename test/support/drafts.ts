import { expect } from 'bun:test';
import { composeDraft } from '../../src/drafting/compose.ts';
import type { Compose } from '../../src/drafting/store.ts';
import { readRanges } from '../../src/drafting/triggers/ranges.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import { createTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { contentTypes, type Post } from '../../src/posts/model.ts';
import { listPostPage } from '../../src/posts/store.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { githubRequest, logOf } from './deliveries.ts';
import { changed } from './payloads.ts';
import type { TestApp } from './test-app.ts';

/** Drafts as the server makes them, but for the thread. */
export const compose: Compose = async (recipe, material) => composeDraft(recipe, material);

/** Does all that the triggers have to do now. Returns how many runs that were. */
export async function runAll(app: TestApp): Promise<number> {
  await readRanges(app.deps);
  return runTriggers(app.deps, compose);
}

/** Every post of an organization, newest first. */
export async function postsOf(app: TestApp, organizationId = 'org_a'): Promise<Post[]> {
  const selection = { statuses: ['draft' as const, 'published' as const], contentTypes: [...contentTypes] };
  const { posts } = await app.db.read((tx) =>
    listPostPage(tx, organizationId, {
      ...selection,
      limit: 1000,
      page: 1,
      sort: 'desc',
    }),
  );
  return posts;
}

/** Runs the triggers. Returns all posts without ids and without the times at which they were written. */
export async function textsOf(app: TestApp): Promise<string[]> {
  await runAll(app);
  const posts = (await postsOf(app)).map(({ id: _, createdAt: __, updatedAt: ___, ...post }) => {
    const { deliveryId: ____, ...sourceMetadata } = { ...post.sourceMetadata };
    return { ...post, sourceMetadata };
  });
  return posts.map((post) => JSON.stringify(post)).sort();
}

/** The titles of all posts, each with the words of its list items. */
export async function toldBy(app: TestApp): Promise<Record<string, string[]>> {
  return Object.fromEntries(
    (await postsOf(app)).map(({ title, markdown }) => [
      title,
      Array.from(markdown.matchAll(/^- (.*?) \(/gm), ([, text = '']) => text),
    ]),
  );
}

/** Creates a trigger of the connected repository; a changelog unless `more` says otherwise. */
export function createTriggerFor(
  app: TestApp,
  { integrationId }: Connected,
  event: string,
  more: Partial<NewTrigger> = {},
) {
  return createTrigger(app.deps, { integrationId, event, contentType: 'changelog', ...more });
}

/** Sends a sample a minute later. Returns the id of its log entry. The triggers have not run yet. */
export async function deliverSample(
  app: TestApp,
  connected: Connected,
  event: string,
  changes: Record<string, unknown> = {},
): Promise<string> {
  app.clock.advance(60_000);
  const sample = samplePayload('github', event, { repository: 'acme/rocket', now: app.clock.now() });
  const request = githubRequest(connected, changed(sample ?? {}, changes), { event });
  expect((await app.request(...request)).status).toBe(200);
  return (await logOf(app))[0]?.id ?? '';
}
