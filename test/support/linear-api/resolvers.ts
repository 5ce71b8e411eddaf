import { GraphQLError } from 'graphql';
import { listsOf } from './changes.ts';
import { type Paging, pageOf } from './paging.ts';
import { refusals } from './refusal.ts';
import { type NewWebhook, newWebhook, setWebhook, type WebhookSettings } from './webhook-input.ts';
import type { LinearHook, LinearTeam, LinearUser, LinearWorkspace, Scope } from './workspace.ts';

/** The owner of a request's token. */
export interface Caller {
  workspace: LinearWorkspace;
  user: LinearUser;
  scopes: Scope[] | null;
}

interface TeamTest {
  id?: { eq?: string };
  key?: { eqIgnoreCase?: string };
  name?: { eq?: string };
}

/** The operations of the stand-in, for one caller. */
export function rootFor(caller: Caller, takesLocalUrls: boolean) {
  const { workspace, user } = caller;

  const seenTeams = () =>
    workspace.teams.filter((team) => !team.isPrivate || team.memberIds.includes(user.id));

  function getTeam(wanted: string): LinearTeam {
    const team = seenTeams().find(({ id, key }) => id === wanted || key === wanted);
    if (team === undefined) throw refusals.notFound('Team');
    return team;
  }

  function getHook(wanted: string): LinearHook {
    const hook = workspace.hooks.find(({ id }) => id === wanted);
    if (hook === undefined) throw refusals.notFound('Webhook');
    return hook;
  }

  const hookView = ({ teamId, ...hook }: LinearHook) => ({
    ...hook,
    team: workspace.teams.filter(({ id }) => id === teamId).map(teamView)[0] ?? null,
  });

  const readable =
    <Args, Result>(resolve: (args: Args) => Result) =>
    (args: Args) => {
      requireScope(caller, 'read');
      return resolve(args);
    };
  const lists = Object.entries(listsOf(workspace)).map(([name, list]) => [
    name,
    readable((args: Parameters<typeof list>[0]) => {
      if (workspace.lacks.has(name)) throw refusals.featureNotAccessible();
      return list(args);
    }),
  ]);

  return {
    ...Object.fromEntries(lists),
    viewer() {
      requireScope(caller, 'read');
      return user;
    },
    team({ id }: { id: string }) {
      requireScope(caller, 'read');
      return teamView(getTeam(id));
    },
    teams({ filter, ...paging }: Paging & { filter?: { or?: TeamTest[] } | null }) {
      requireScope(caller, 'read');
      return pageOf(seenTeams().filter(matching(filter)).map(teamView), paging);
    },
    webhook({ id }: { id: string }) {
      requireAdmin(caller);
      return hookView(getHook(id));
    },
    webhooks(paging: Paging) {
      requireAdmin(caller);
      return pageOf(workspace.hooks.map(hookView), paging);
    },
    webhookCreate({ input }: { input: NewWebhook }) {
      requireAdmin(caller);
      const hook = newWebhook(workspace, input, seenTeams(), takesLocalUrls);
      return { success: true, lastSyncId: 1, webhook: hookView(hook) };
    },
    webhookUpdate({ id, input }: { id: string; input: WebhookSettings }) {
      requireAdmin(caller);
      const hook = getHook(id);
      setWebhook(workspace, hook, input, takesLocalUrls);
      return { success: true, lastSyncId: 1, webhook: hookView(hook) };
    },
    webhookDelete({ id }: { id: string }) {
      requireAdmin(caller);
      workspace.hooks.splice(workspace.hooks.indexOf(getHook(id)), 1);
      return { success: true, lastSyncId: 1, entityId: id };
    },
  };
}

function requireScope({ scopes }: Caller, scope: Scope): void {
  if (scopes !== null && !scopes.includes(scope)) throw refusals.noScope(scope);
}

/** For webhooks a person must be an admin, and an OAuth token must have the scope. */
function requireAdmin(caller: Caller): void {
  requireScope(caller, 'admin');
  const { admin, owner, app } = caller.user;
  if (!admin && !owner && !app) throw refusals.noAdmin();
}

const teamView = ({ id, key, name, isPrivate }: LinearTeam) => ({ id, key, name, private: isPrivate });

/** Supports only the comparisons that Tidings makes. */
function matching(filter: { or?: TeamTest[] } | null | undefined): (team: LinearTeam) => boolean {
  if (!filter) return () => true;
  if (Object.keys(filter).join() !== 'or' || filter.or === undefined) throw unknownFilter();
  const tests = filter.or.map((test) => {
    const { id, key, name, ...rest } = test;
    if (Object.keys(rest).length > 0) throw unknownFilter();
    if (id?.eq !== undefined && !/^[0-9a-f-]{36}$/.test(id.eq)) {
      throw refusals.badArgument('id must be a UUID.');
    }
    return (team: LinearTeam) =>
      team.id === id?.eq ||
      team.name === name?.eq ||
      team.key.toLowerCase() === key?.eqIgnoreCase?.toLowerCase();
  });
  return (team) => tests.some((passes) => passes(team));
}

const unknownFilter = () => new GraphQLError('The stand-in does not know this filter');
