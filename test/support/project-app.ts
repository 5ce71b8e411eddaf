import { createTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { repositoryReaders } from '../../src/providers/index.ts';
import { connectGithub, githubRequest } from './deliveries.ts';
import { postsOf, runAll } from './drafts.ts';
import type { Delivery } from './github-api/deliver.ts';
import { type Happening, type Project, projectOf } from './github-api/project.ts';
import { type GithubApi, type GithubApiOptions, startGithubApi } from './github-api/server.ts';
import { appWithOrganization, type TestApp } from './test-app.ts';

/** A project at GitHub's stand-in, connected by hand: nothing is delivered but what a test sends. */
export interface ProjectApp extends AsyncDisposable {
  app: TestApp;
  api: GithubApi;
  project: Project;
  connected: Connected;
  trigger(given: Partial<NewTrigger>): Promise<{ id: string }>;
  /** Makes things happen, and delivers them. */
  happen(...happenings: Happening[]): Promise<void>;
  deliver(deliveries: readonly Delivery[]): Promise<void>;
  /** Reads the commits of releases, then writes the drafts. */
  run(): Promise<void>;
  /** The changes of each post by its title: the words of its list items. */
  changes(): Promise<Record<string, string[]>>;
}

export async function startProject(
  options: GithubApiOptions & { isPrivate?: boolean } = {},
): Promise<ProjectApp> {
  const { isPrivate = false, ...limits } = options;
  const app = await appWithOrganization({
    organizations: ['org_a', 'org_b'],
    openReader: (type, token) => repositoryReaders({ github: api.url })(type, token),
  });
  const api = startGithubApi({ clock: app.clock, ...limits });
  const repository = api.addRepository('acme/rocket', { isPrivate, rights: { ann: 'admin' } });
  const project = projectOf(repository, app.clock);
  const connected = await connectGithub(app, 'org_a');
  const deliver = async (deliveries: readonly Delivery[]) => {
    for (const { event, payload, guid } of deliveries) {
      const [path, init] = githubRequest(connected, payload, { event, delivery: guid });
      const { status } = await app.request(path, init);
      if (status !== 200) throw new Error(`${event} was answered with ${status}`);
    }
  };
  return {
    ...{ app, api, project, connected, deliver },
    trigger: (given) => {
      const { integrationId } = connected;
      const rule = { integrationId, event: 'release', contentType: 'changelog', ...given } as const;
      return createTrigger(app.deps, rule);
    },
    async happen(...happenings) {
      for (const happening of happenings) await deliver(project.happen(happening));
    },
    async run() {
      // The second pass does the work that the first one queues.
      for (let pass = 0; pass < 2; pass++) {
        await runAll(app);
        app.clock.advance(1_000);
      }
    },
    async changes() {
      return Object.fromEntries(
        (await postsOf(app)).map(({ title, markdown }) => [
          title,
          Array.from(markdown.matchAll(/^- (.*?)(?: \(\[|$)/gm), ([, text = '']) => text),
        ]),
      );
    },
    async [Symbol.asyncDispose]() {
      api[Symbol.dispose]();
      await app.db.close();
    },
  };
}
