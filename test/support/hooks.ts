import { providerApis } from '../../src/hooks/api/open.ts';
import { connectWithToken } from '../../src/hooks/connect.ts';
import type { ComparedDelivery, Hook } from '../../src/hooks/model.ts';
import { listHooks } from '../../src/hooks/store.ts';
import { fixedClock } from './clock.ts';
import { type GithubApi, startGithubApi } from './github-api/server.ts';
import type { StoredRepository } from './github-api/state.ts';
import { createTestApp, type TestApp } from './test-app.ts';

/** Tidings behind a real port, beside a stand-in for GitHub that delivers to it. */
export interface HookWorld extends TestApp, Disposable {
  readonly github: GithubApi;
  /** Where GitHub delivers to. */
  readonly url: string;
  /** Repositories of GitHub that `ann` may administer. */
  readonly rocket: StoredRepository;
  readonly engine: StoredRepository;
  /** A token of hers that may administer webhooks. */
  readonly token: string;
  /** Nobody answers at `url` from now on. */
  goAway(): void;
  comeBack(): void;
  /** What the database keeps of an integration's hooks. */
  hooks(integrationId: string): Promise<Hook[]>;
  /** Connects repositories, `acme/rocket` unless others are named, and returns the integration's id. */
  connect(...repositories: string[]): Promise<string>;
}

export async function createHookWorld({
  allowLocal = true,
}: {
  allowLocal?: boolean;
} = {}): Promise<HookWorld> {
  const clock = fixedClock();
  const github = startGithubApi({ clock, allowLocal });
  const open = providerApis({ github: github.url, linear: 'http://127.0.0.1:9/graphql' });
  const app = createTestApp({ clock, openProviderApi: open, publicUrl: () => url });
  const serve = (port: number) =>
    Bun.serve({ hostname: '127.0.0.1', port, fetch: (request) => app.fetch(request) });
  let server = serve(0);
  const { port } = server;
  const url = `http://127.0.0.1:${port}`;
  const rights = { ann: 'admin', bob: 'write' } as const;
  await app.addOrganization('org_a');
  const token = github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
  return {
    ...app,
    github,
    url,
    token,
    rocket: github.addRepository('acme/rocket', { rights }),
    engine: github.addRepository('acme/engine', { rights }),
    goAway: () => void server.stop(true),
    comeBack() {
      server = serve(port ?? 0);
    },
    hooks: (integrationId) => listHooks(app.db, integrationId),
    async connect(...repositories) {
      const places = repositories.length === 0 ? ['acme/rocket'] : repositories;
      const connected = await connectWithToken(app.deps, {
        type: 'github',
        organizationId: 'org_a',
        token,
        places,
      });
      // GitHub pings by itself, too.
      await github.settled();
      return connected.integrationId;
    },
    [Symbol.dispose]() {
      void server.stop(true);
      github[Symbol.dispose]();
    },
  };
}

/** A release of a repository, as GitHub tells of it. */
export function releaseOf({ name, id }: StoredRepository, tag: string): Record<string, unknown> {
  return {
    action: 'published',
    release: {
      id: 1,
      tag_name: tag,
      name: tag,
      body: `What is new in ${tag}.`,
      draft: false,
      prerelease: false,
      target_commitish: 'main',
      html_url: `https://github.com/${name}/releases/tag/${tag}`,
      published_at: '2026-11-20T12:00:00Z',
      author: { login: 'ann' },
    },
    repository: { id, full_name: name, default_branch: 'main', html_url: `https://github.com/${name}` },
    sender: { login: 'ann' },
  };
}

export const idsOf = (deliveries: readonly ComparedDelivery[]) =>
  deliveries.map(({ deliveryId }) => deliveryId);
