import { GraphQLError } from 'graphql';
import type { LinearEvent } from './deliver.ts';
import { type Paging, pageOf } from './paging.ts';
import type { LinearWorkspace } from './workspace.ts';

// The lists of what changed. What a webhook delivers as ids and plain lists, the API has as objects and pages of them.

type Fields = Record<string, unknown>;
type Listed = Fields & { id: string };

/** The objects that exist, as the data of its last webhook, by its type. */
export type Things = Map<string, Map<string, Listed>>;

/** Changes what the API lists. */
export function remember({ things }: LinearWorkspace, { type, action, data, actor }: LinearEvent): void {
  const ofType = things.get(type) ?? new Map<string, Listed>();
  things.set(type, ofType);
  const id = String(data.id);
  const trashed = action === 'remove' ? true : null;
  ofType.set(id, { ...ofType.get(id), ...data, id, trashed, actor: actor ?? null });
}

const EMPTY = { description: '', content: null, priority: 0, previousIdentifiers: [] };

const pagesOf = (name: string, value: unknown) => ({
  [name]: (paging: Paging) => pageOf(value as Listed[], paging),
});

/** The resolvers of the lists, as one caller sees them. */
export function listsOf({ things, teams }: LinearWorkspace) {
  const teamWith = (id: unknown) => {
    const team = teams.find((each) => each.id === id);
    return team && { ...team, private: team.isPrivate, visibility: team.isPrivate ? 'private' : 'public' };
  };
  const teamsWith = (ids: unknown) => (Array.isArray(ids) ? ids : []).flatMap((id) => teamWith(id) ?? []);
  const find = (type: string, id: unknown) => things.get(type)?.get(String(id));

  const views: Record<string, (data: Listed) => Fields> = {
    Issue: ({ labels = [], actor, teamId }) => ({
      ...pagesOf('labels', labels),
      ...pagesOf('history', [{ id: 'newest', actor, botActor: null }]),
      team: teamWith(teamId),
    }),
    Attachment: ({ issueId }) => ({ issue: { id: issueId, team: teamWith(find('Issue', issueId)?.teamId) } }),
    Project: ({ teamIds }) => ({ accessibleTeams: teamsWith(teamIds) }),
    ProjectUpdate: ({ project }) => {
      const { id } = project as Listed;
      return {
        project: { ...(project as Listed), accessibleTeams: teamsWith(find('Project', id)?.teamIds) },
      };
    },
    InitiativeUpdate: ({ initiative }) => ({
      initiative: { visibility: 'public', ...(initiative as Listed) },
    }),
    Release: ({ pipeline, issues = [] }) => ({
      pipeline: { teams: [], ...(pipeline as Listed) },
      ...pagesOf('issues', issues),
    }),
    ReleaseNote: ({ content, lastReleaseId, pipeline }) => ({
      documentContent: { content },
      lastRelease: lastReleaseId ? { id: lastReleaseId } : null,
      pipeline: { teams: [], ...(pipeline as Listed) },
    }),
  };

  const list =
    (type: string) =>
    ({ filter, orderBy = 'createdAt', includeArchived = false, ...paging }: ListArguments) => {
      const all = [...(things.get(type)?.values() ?? [])]
        .filter(({ trashed }) => includeArchived || trashed !== true)
        .map((data) => ({ ...EMPTY, ...data, ...views[type]?.(data) }) as Listed)
        .filter((node) => passes(filter ?? {}, node))
        .sort((a, b) => (String(a[orderBy]) < String(b[orderBy]) ? 1 : -1));
      return pageOf(all, paging);
    };

  return {
    issues: list('Issue'),
    attachments: list('Attachment'),
    projects: list('Project'),
    projectUpdates: list('ProjectUpdate'),
    initiativeUpdates: list('InitiativeUpdate'),
    releases: list('Release'),
    releaseNotes: list('ReleaseNote'),
  };
}

interface ListArguments extends Paging {
  filter?: Fields | null;
  orderBy?: 'createdAt' | 'updatedAt';
  includeArchived?: boolean;
}

/** Supports only the comparisons that Tidings makes. */
function passes(filter: Fields, value: unknown): boolean {
  const tests = Object.entries(filter).map(([name, test]) => {
    const inside = test as Fields;
    switch (name) {
      case 'or':
        return (test as Fields[]).some((each) => passes(each, value));
      case 'some':
        return (value as unknown[]).some((each) => passes(inside, each));
      case 'length':
        return passes(inside, (value as unknown[]).length);
      case 'eq':
        return value === test;
      case 'gte':
        return String(value) >= String(test);
      case 'contains':
        return String(value).includes(String(test));
      case 'and':
      case 'in':
      case 'lt':
      case 'neq':
        throw new GraphQLError('The stand-in does not know this filter');
      default:
        return passes(inside, (value as Fields | undefined)?.[name]);
    }
  });
  return tests.every(Boolean);
}
