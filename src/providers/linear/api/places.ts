import { ALL_PUBLIC_TEAMS, type Place, type ProviderApi, ProviderProblem } from '../../api.ts';
import type { LinearCaller } from './client.ts';
import { allPages } from './pages.ts';
import { type Team, teamsQuery, type Viewer } from './queries.ts';

/** At most so many teams are listed. */
const MAX_TEAMS = 1000;

/** Longer names are not looked for: Linear's are far shorter. */
const MAX_NAME_LENGTH = 255;

const ALL_PUBLIC_TEAMS_NAME = 'All public teams';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The places of a Linear workspace: its teams, and all public ones as one. */
export function linearPlaces(linear: LinearCaller): Pick<ProviderApi, 'listPlaces' | 'getPlace'> {
  return {
    async listPlaces() {
      let canAdminister = false;
      const { nodes, isCut } = await allPages(MAX_TEAMS, async (page) => {
        const { viewer, teams } = await linear.ask(teamsQuery, page);
        canAdminister = mayAdminister(viewer);
        return teams;
      });
      const places = nodes
        .map((team) => placeOf(team, canAdminister))
        .sort((one, other) => one.name.localeCompare(other.name, 'en'));
      return { places: [allPublicTeams(canAdminister), ...places], isCut };
    },

    async getPlace(idOrName) {
      const wanted = idOrName.trim();
      if (wanted === '' || wanted.length > MAX_NAME_LENGTH) throw noSuchTeam(wanted);
      const isAll = [ALL_PUBLIC_TEAMS, ALL_PUBLIC_TEAMS_NAME.toLowerCase()].includes(wanted.toLowerCase());
      const variables = isAll ? { first: 1 } : { first: 250, filter: filterFor(wanted) };
      const { viewer, teams } = await linear.ask(teamsQuery, variables);
      if (isAll) return allPublicTeams(mayAdminister(viewer));
      return placeOf(theOne(wanted, teams.nodes), mayAdminister(viewer));
    },
  };
}

/**
 * Whether Linear lets the token make webhooks, as far as it tells. The user of an OAuth application is no admin, and
 * whether it has the scope shows only when it is tried.
 */
const mayAdminister = ({ admin, owner, app }: Viewer) => admin || owner || app;

/** On one line: anybody in the workspace may have named it. */
const labelOf = ({ name, key }: Team) => `${name} (${key})`.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 300);

const placeOf = (team: Team, canAdminister: boolean): Place => ({
  id: team.id,
  name: labelOf(team),
  canAdminister,
});

const allPublicTeams = (canAdminister: boolean): Place => ({
  id: ALL_PUBLIC_TEAMS,
  name: ALL_PUBLIC_TEAMS_NAME,
  canAdminister,
});

/** Asks for the few teams that may be meant, so that workspaces of any size answer in one request. */
function filterFor(wanted: string) {
  const key = /\(([^()]+)\)$/.exec(wanted)?.[1];
  return {
    or: [
      { key: { eqIgnoreCase: wanted } },
      { name: { eq: wanted } },
      ...(key === undefined ? [] : [{ key: { eqIgnoreCase: key } }]),
      // Linear refuses an id that is none.
      ...(UUID.test(wanted) ? [{ id: { eq: wanted.toLowerCase() } }] : []),
    ],
  };
}

/** An id or a whole label means one team; a key or a name may mean several. */
function theOne(wanted: string, teams: readonly Team[]): Team {
  const lower = wanted.toLowerCase();
  const exact = teams.find((team) => team.id === lower || labelOf(team) === wanted);
  if (exact !== undefined) return exact;
  const [team, ...others] = teams.filter(({ key, name }) => key.toLowerCase() === lower || name === wanted);
  if (team === undefined) throw noSuchTeam(wanted);
  if (others.length === 0) return team;
  const labels = [team, ...others].map(labelOf).sort().join(', ');
  throw new ProviderProblem(
    'place-not-found',
    `More than one team at Linear goes by ${wanted}: ${labels}. Give one of these in full.`,
  );
}

function noSuchTeam(wanted: string): ProviderProblem {
  const named = wanted === '' || wanted.length > MAX_NAME_LENGTH ? 'of that name' : wanted;
  return new ProviderProblem(
    'place-not-found',
    `The token sees no team ${named} at Linear. Give a team's key, such as ENG, its name or its id, or ${ALL_PUBLIC_TEAMS}.`,
  );
}
