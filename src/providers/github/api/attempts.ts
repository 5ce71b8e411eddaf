import type { RemoteAttempt } from '../../api.ts';
import { attemptsOf } from './answers.ts';
import { type GithubClient, hookPathOf } from './client.ts';
import { eachPage } from './pages.ts';
import { missing } from './problems.ts';

const PER_PAGE = 100;
const MAX_PAGES = 20;

/** The attempts of a hook since then, newest first, at most 2000. GitHub keeps them for some days only. */
export async function listAttempts(
  client: GithubClient,
  placeId: string,
  hookId: string,
  since: Date,
): Promise<{ attempts: RemoteAttempt[]; isCut: boolean }> {
  const { octokit, listingMs } = client;
  const asked = client.about(placeId);
  const from = since.toISOString();
  const attempts: RemoteAttempt[] = [];
  const route = 'GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries';
  const pages = octokit.paginate.iterator(route, { ...hookPathOf(asked, hookId), per_page: PER_PAGE });
  const all = await client.askBelow(asked, () =>
    eachPage(pages, { maxPages: MAX_PAGES, listingMs }, ({ data }) => {
      const page = attemptsOf(data);
      const wanted = page.filter(({ deliveredAt }) => deliveredAt >= from);
      attempts.push(...wanted);
      return wanted.length === page.length;
    }),
  );
  if (all === null) throw missing.hook(asked, hookId);
  return { attempts, isCut: all.isCut };
}

/** GitHub sends it again a moment later, as a new attempt of the same delivery. */
export async function redeliver(
  client: GithubClient,
  placeId: string,
  hookId: string,
  attemptId: string,
): Promise<void> {
  const asked = client.about(placeId);
  // Not a literal: Octokit's types want a number for the attempt, and its id has more digits than a number can hold.
  const route: string = 'POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts';
  const path = { ...hookPathOf(asked, hookId), delivery_id: attemptId };
  const sent = await client.askBelow(asked, () => client.octokit.request(route, path));
  if (sent === null) throw missing.attempt(asked, attemptId);
}
