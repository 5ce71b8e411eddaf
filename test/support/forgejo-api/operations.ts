import { answerHooks } from './hooks.ts';
import { readRepository } from './reading.ts';
import { ForgejoRefusal, refuse, type StoredRepository, type StoredToken, type World } from './state.ts';
import { repositoryView } from './views.ts';

/** The input of an operation. */
export interface Context {
  world: World;
  token: StoredToken | null;
  method: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
}

/** `hasLink`: false for the lists that come with a count alone. */
export type Answer = { status: number; body?: unknown; list?: unknown[]; hasLink?: boolean };

/** The answer to a request below `/api/v1`. Throws `ForgejoRefusal`. */
export async function answer(context: Context, path: string): Promise<Answer> {
  const { world, token } = context;
  if (world.requiresSignIn && token === null) refuse(403, 'Only signed in user is allowed to call APIs.');
  if (path === '/user/repos') return listRepositories(context);
  const [, owner, name, below = ''] = /^\/repos\/([^/]+)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (name === undefined) return refuse(404, 'Not Found');
  const repository = findRepository(context, `${owner}/${name}`, below);
  requireScope(context, [context.method === 'GET' ? 'read:repository' : 'write:repository']);
  if (below === '') {
    return { status: 200, body: repositoryView(world, repository, permissionsOf(context, repository)) };
  }
  if (below.startsWith('/hooks')) return await answerHooks(context, repository, below.slice('/hooks'.length));
  return readRepository(context, repository, below);
}

function listRepositories(context: Context): Answer {
  const { world, token } = context;
  if (token === null) return refuse(401, 'token is required');
  requireScope(context, ['read:user']);
  requireScope(context, ['read:repository']);
  const seen = world.repositories.filter(({ rights }) => rights[token.user] !== undefined);
  return {
    status: 200,
    list: seen.map((each) => repositoryView(world, each, permissionsOf(context, each))),
  };
}

function requireScope({ token }: Context, [scope]: [string]): void {
  if (token === null) return;
  const { scopes } = token;
  const isGiven = scopes.some((each) => each === scope || each === scope.replace('read:', 'write:'));
  if (!isGiven) refuse(403, `token does not have at least one of required scope(s): [${scope}]`);
}

function permissionsOf({ token }: Context, { rights }: StoredRepository) {
  const right = token === null ? undefined : rights[token.user];
  return { admin: right === 'admin', push: right === 'admin' || right === 'write', pull: true };
}

function findRepository({ world, token }: Context, path: string, below: string): StoredRepository {
  const same = (text: string) => text.toLowerCase() === path.toLowerCase();
  const found = world.repositories.find((each) => same(each.path));
  const repository = found ?? world.repositories.find(({ formerPaths }) => formerPaths.some(same));
  const right = token === null ? undefined : repository?.rights[token.user];
  if (repository === undefined || (repository.isPrivate && right === undefined)) {
    return refuse(404, "The target couldn't be found.");
  }
  if (found === undefined) {
    const location = `/api/v1/repos/${repository.path}${below}`;
    throw new ForgejoRefusal(307, 'moved', { location });
  }
  if (repository.isPrivate && token?.scopes.includes('public-only')) {
    return refuse(403, 'token scope is limited to public repos');
  }
  return repository;
}
