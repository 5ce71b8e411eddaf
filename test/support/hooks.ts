import { connectWithToken } from '../../src/integrations/connect.ts';
import { listHooks } from '../../src/integrations/hook-store.ts';
import type { ComparedDelivery } from '../../src/integrations/missed.ts';
import type { Hook } from '../../src/integrations/words.ts';
import type { GithubApi } from './github-api/server.ts';
import type { StoredRepository } from './github-api/state.ts';
import type { LinearApi } from './linear-api/server.ts';
import { startProviderApp } from './provider-app.ts';
import type { TestApp } from './test-app.ts';

/** Tidings behind a real port, beside stand-ins for GitHub and Linear that deliver to it. */
export interface HookWorld extends TestApp, AsyncDisposable {
  readonly github: GithubApi;
  readonly linear: LinearApi;
  /** The URL that providers deliver to. */
  readonly url: string;
  /** Repositories of GitHub that `ann` may administer. */
  readonly rocket: StoredRepository;
  readonly engine: StoredRepository;
  /** A token of hers that may administer webhooks. */
  readonly token: string;
  /** Nobody answers at `url` from now on. */
  goAway(): void;
  comeBack(): void;
  /** The stored hooks of an integration. */
  hooks(integrationId: string): Promise<Hook[]>;
  /** Connects repositories, `acme/rocket` unless others are named, and returns the integration's id. */
  connect(...repositories: string[]): Promise<string>;
}

export async function createHookWorld(): Promise<HookWorld> {
  const started = await startProviderApp();
  const { app, github, linear, publicUrl } = started;
  const rights = { ann: 'admin', bob: 'write' } as const;
  const token = github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
  return {
    ...app,
    github,
    linear,
    url: publicUrl,
    token,
    rocket: github.addRepository('acme/rocket', { rights }),
    engine: github.addRepository('acme/engine', { rights }),
    goAway: started.goAway,
    comeBack: started.comeBack,
    hooks: (integrationId) => app.db.read((tx) => listHooks(tx, integrationId)),
    async connect(...repositories) {
      const places = repositories.length === 0 ? ['acme/rocket'] : repositories;
      const request = { type: 'github', organizationId: 'org_a', token, places } as const;
      const connected = await connectWithToken(app.deps, request);
      // GitHub pings by itself, too.
      await github.settled();
      return connected.integrationId;
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

/** A release of a repository, as GitHub tells of it. */
export function releaseOf(
  { name, id }: Pick<StoredRepository, 'name' | 'id'>,
  tag: string,
): Record<string, unknown> {
  return {
    action: 'published',
    release: {
      id: Bun.hash.crc32(tag),
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

/** Sends deliveries in `lanes` at once, one after the other in each, until `end`. `send` returns their status codes. */
export function startStream(
  lanes: number,
  send: (lane: number, number: number) => Promise<readonly number[]>,
) {
  const answers: number[] = [];
  const inFlight = new Set<Promise<unknown>>();
  let isOver = false;
  const run = async (_: unknown, lane: number) => {
    for (let number = 0; !isOver; number++) {
      const sending = send(lane, number);
      inFlight.add(sending);
      answers.push(...(await sending));
      inFlight.delete(sending);
    }
  };
  const running = Promise.all(Array.from({ length: lanes }, run));
  return {
    /** Waits for the deliveries that are on their way. One may arrive a rotation after it was signed, and not two. */
    settled: () => Promise.all(inFlight),
    /** Returns the status codes of all. */
    async end(): Promise<number[]> {
      isOver = true;
      await running;
      return answers;
    },
  };
}
