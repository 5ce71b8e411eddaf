import type { Place } from '../../api.ts';
import { repositoriesOf, toPlace } from './answers.ts';
import type { GithubClient } from './client.ts';
import { eachPage } from './pages.ts';

const PER_PAGE = 100;

/** A thousand repositories: more than a person wants to choose from. Any other can be named. */
const MAX_PAGES = 10;

/** The repositories of the token, without archived ones; when there are too many, those last pushed to. */
export async function listPlaces(client: GithubClient): Promise<{ places: Place[]; isCut: boolean }> {
  const { octokit, listingMs } = client;
  const repositories: ReturnType<typeof repositoriesOf> = [];
  let isPartial = false;
  const pages = octokit.paginate.iterator('GET /user/repos', {
    affiliation: 'owner,collaborator,organization_member',
    sort: 'pushed',
    per_page: PER_PAGE,
  });
  const { isCut } = await client.ask(client.about(null), () =>
    eachPage(pages, { maxPages: MAX_PAGES, listingMs }, ({ data, headers }) => {
      repositories.push(...repositoriesOf(data));
      // GitHub leaves out organizations that want single sign-on, and says so in this header only.
      isPartial ||= 'x-github-sso' in headers;
      return true;
    }),
  );
  // What is pushed to while pages are read can come twice.
  const places = new Map(
    repositories.filter(({ archived }) => archived !== true).map((each) => [each.full_name, toPlace(each)]),
  );
  return { places: [...places.values()].sort(byRightThenName), isCut: isCut || isPartial };
}

/** A repository by its name. One that was renamed comes under its new name. */
export async function getPlace(client: GithubClient, name: string): Promise<Place> {
  return toPlace(await client.getRepository(client.about(name.trim())));
}

function byRightThenName(a: Place, b: Place): number {
  return Number(b.canAdminister) - Number(a.canAdminister) || (a.name < b.name ? -1 : 1);
}
