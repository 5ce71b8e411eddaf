import { type HookWish, ProviderProblem, type RemoteHook } from '../../api.ts';
import { hookOf, hooksOf } from './answers.ts';
import { type GithubClient, hookPathOf, pathOf } from './client.ts';
import { eachPage } from './pages.ts';
import { missing } from './problems.ts';

const PER_PAGE = 100;

/** GitHub takes 20 hooks for each of its seventy-odd events, so that no repository has more. */
const MAX_PAGES = 20;

export async function listHooks(client: GithubClient, placeId: string): Promise<RemoteHook[]> {
  const { octokit, listingMs } = client;
  const asked = client.about(placeId);
  const found: RemoteHook[] = [];
  const route = 'GET /repos/{owner}/{repo}/hooks';
  const pages = octokit.paginate.iterator(route, { ...pathOf(asked), per_page: PER_PAGE });
  const all = await client.askBelow(asked, () =>
    eachPage(pages, { maxPages: MAX_PAGES, listingMs }, ({ data }) => {
      found.push(...hooksOf(placeId, data));
      return true;
    }),
  );
  if (all === null) throw missing.permission(asked);
  if (!all.isCut) return found;
  // Half a list would hide a hook that is there.
  throw new ProviderProblem(
    'provider-failed',
    `GitHub took too long to list the webhooks of ${placeId}. Try again later.`,
  );
}

export async function findHook(
  client: GithubClient,
  placeId: string,
  hookId: string,
): Promise<RemoteHook | null> {
  const asked = client.about(placeId);
  const path = hookPathOf(asked, hookId);
  return client.askBelow(asked, async () => {
    const { data } = await client.octokit.request('GET /repos/{owner}/{repo}/hooks/{hook_id}', path);
    return hookOf(placeId, data);
  });
}

export async function createHook(client: GithubClient, placeId: string, wish: HookWish): Promise<RemoteHook> {
  const asked = client.about(placeId, wish.secret);
  const body = { ...pathOf(asked), name: 'web', ...bodyOf(wish) };
  const hook = await client.askBelow(asked, async () => {
    const { data } = await client.octokit.request('POST /repos/{owner}/{repo}/hooks', body);
    return hookOf(placeId, data);
  });
  if (hook === null) throw missing.permission(asked);
  return hook;
}

export async function changeHook(
  client: GithubClient,
  placeId: string,
  hookId: string,
  wish: HookWish,
): Promise<void> {
  const asked = client.about(placeId, wish.secret);
  const body = { ...hookPathOf(asked, hookId), ...bodyOf(wish) };
  const changed = await client.askBelow(asked, () =>
    client.octokit.request('PATCH /repos/{owner}/{repo}/hooks/{hook_id}', body),
  );
  if (changed === null) throw missing.hook(asked, hookId);
}

export async function deleteHook(client: GithubClient, placeId: string, hookId: string): Promise<void> {
  const asked = client.about(placeId);
  const path = hookPathOf(asked, hookId);
  await client.askBelow(asked, () =>
    client.octokit.request('DELETE /repos/{owner}/{repo}/hooks/{hook_id}', path),
  );
}

export async function pingHook(client: GithubClient, placeId: string, hookId: string): Promise<void> {
  const asked = client.about(placeId);
  const path = hookPathOf(asked, hookId);
  const pinged = await client.askBelow(asked, () =>
    client.octokit.request('POST /repos/{owner}/{repo}/hooks/{hook_id}/pings', path),
  );
  if (pinged === null) throw missing.hook(asked, hookId);
}

/** All of a hook, always: what a change leaves out of `config`, the secret among it, GitHub takes away. */
function bodyOf({ url, secret, events }: HookWish) {
  return {
    active: true,
    events: [...events],
    config: { url, secret, content_type: 'json', insecure_ssl: '0' },
  };
}
