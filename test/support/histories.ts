import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import { createTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import type { Post } from '../../src/posts/model.ts';
import { appWithGithub, githubRequest } from './deliveries.ts';
import { postsOf, runAll } from './drafts.ts';
import type { TestApp } from './test-app.ts';

/** The triggers that these histories are run through, by the names that these tests give them. */
export const triggers = {
  'release-changelog': { event: 'release', contentType: 'changelog' },
  'release-linkedin': { event: 'release', contentType: 'linkedin_post' },
  'push-changelog': { event: 'push', contentType: 'changelog' },
  'pull-request-changelog': { event: 'pull_request', contentType: 'changelog' },
  'stable-release-changelog': { event: 'release', contentType: 'changelog', filters: { prereleases: false } },
  'push-since-v-tag-changelog': { event: 'push', contentType: 'changelog', filters: { tag: ['v*'] } },
} satisfies Record<string, Omit<NewTrigger, 'integrationId'>>;

/** The text of a draft, without its id and times. */
export type Draft = Omit<Post, 'id' | 'updatedAt' | 'sourceMetadata'> & {
  trigger: string;
  sourceMetadata: Record<string, unknown>;
};

export interface Repository {
  app: TestApp;
  /** Throws unless it is answered with 200. */
  deliver(told: Telling): Promise<void>;
  /** Every draft, in an order that follows from what they say. */
  drafts(): Promise<Draft[]>;
}

/** A delivery of something that happened. */
export interface Telling {
  event: string;
  deliveryId: string;
  payload: unknown;
}

/** A repository with all those triggers, on a database of its own. */
export async function createRepository(fullName = 'acme/rocket'): Promise<Repository> {
  const { app, connected } = await appWithGithub({ repository: fullName });
  const names = new Map<unknown, string>();
  for (const [name, given] of Object.entries(triggers)) {
    const { id } = await createTrigger(app.deps, { integrationId: connected.integrationId, ...given });
    names.set(id, name);
  }
  return {
    app,
    async deliver({ event, deliveryId, payload }) {
      const [path, init] = githubRequest(connected, payload, { event, delivery: deliveryId });
      const { status } = await app.deps.fetch(new Request(`http://localhost${path}`, init));
      if (status !== 200) throw new Error(`delivery ${deliveryId} was answered with ${status}`);
    },
    async drafts() {
      const posts = await postsOf(app);
      return posts
        .map(({ id: _, updatedAt: __, sourceMetadata, ...post }) => {
          const { triggerId, ...metadata } = sourceMetadata ?? {};
          return { trigger: names.get(triggerId) ?? '', ...post, sourceMetadata: metadata };
        })
        .map((draft) => [JSON.stringify(draft), draft] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([, draft]) => draft);
    },
  };
}

/** The drafts that come of tellings, one after the other, with the triggers run at the end. */
export async function draftsOf(tellings: readonly Telling[], fullName?: string): Promise<Draft[]> {
  const repository = await createRepository(fullName);
  for (const telling of tellings) await repository.deliver(telling);
  await runAll(repository.app);
  const [left] = await repository.app.db.read((tx) => listRuns(tx, {}));
  if (left !== undefined) throw new Error(`${left.scope} of trigger ${left.triggerId}: ${left.error}`);
  return repository.drafts();
}
