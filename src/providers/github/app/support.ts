import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { findProblem } from '../../../lib/app-error.ts';
import { systemClock } from '../../../lib/time.ts';
import type { AppSupport, InstallationChange, InstalledRepository } from '../../app.ts';
import { ignored, MalformedPayload, type Payload, processed, read } from '../../provider.ts';
import { parsePrivateKey } from './api.ts';
import { pages, registration } from './manifest.ts';

// The events about the installation of an App: docs.github.com/webhooks.

const Repositories = Type.Array(
  Type.Object({
    id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    full_name: Type.String({ pattern: '^[\\w.-]{1,100}/[\\w.-]{1,100}$' }),
  }),
);

const Base = {
  action: Type.String({ minLength: 1 }),
  installation: Type.Object({
    id: Type.Integer({ minimum: 1 }),
    account: Type.Optional(Type.Union([Type.Object({ login: Type.Optional(Type.String()) }), Type.Null()])),
    suspended_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
};

const InstallationEvent = Type.Object({ ...Base, repositories: Type.Optional(Repositories) });
const RepositoriesEvent = Type.Object({
  ...Base,
  repositories_added: Repositories,
  repositories_removed: Repositories,
});

const readChange: AppSupport['readChange'] = (event, payload) => {
  if (event === 'installation') return readInstallation(checked(InstallationEvent, payload));
  if (event === 'installation_repositories') return readRepositories(checked(RepositoriesEvent, payload));
  return null;
};

function readInstallation({ action, installation, repositories = [] }: Static<typeof InstallationEvent>) {
  const { id: installationId, account, suspended_at } = installation;
  const login = read.person(account?.login) ?? 'an account';
  const named = repositories.map(toRepository);
  const data = { account: login, repositories: namesOf(named) };
  const about = (title: string, change: InstallationChange) => ({
    result: processed(title, 'installation', action, data),
    change,
  });
  switch (action) {
    case 'created':
      return about(`App installed on ${login}`, { kind: 'installed', installationId, repositories: named });
    case 'deleted':
      return about(`App uninstalled from ${login}`, { kind: 'uninstalled', installationId });
    case 'suspend':
      return about(`App suspended on ${login}`, {
        kind: 'suspended',
        installationId,
        at: suspended_at ?? null,
      });
    case 'unsuspend':
      return about(`App unsuspended on ${login}`, { kind: 'unsuspended', installationId });
    default:
      return {
        result: ignored(`Installation ${action}`, `Tidings does not use installation ${action}`),
        change: null,
      };
  }
}

function readRepositories(payload: Static<typeof RepositoriesEvent>) {
  const { action, installation } = payload;
  const added = payload.repositories_added.map(toRepository);
  const removed = payload.repositories_removed.map(toRepository);
  const title = [
    ...(added.length > 0 ? [`added ${describe(added)}`] : []),
    ...(removed.length > 0 ? [`removed ${describe(removed)}`] : []),
  ].join(', ');
  const data = { added: namesOf(added), removed: namesOf(removed) };
  return {
    result: processed(`Installation: ${title || 'no change'}`, 'installation_repositories', action, data),
    change: { kind: 'repositories' as const, installationId: installation.id, added, removed },
  };
}

const toRepository = (each: Static<typeof Repositories>[number]): InstalledRepository => ({
  providerId: each.id,
  fullName: each.full_name,
});

const namesOf = (repositories: readonly InstalledRepository[]) =>
  read.names(repositories.map(({ fullName }) => ({ name: fullName })));

const describe = (repositories: readonly InstalledRepository[]) =>
  repositories.length === 1 ? repositories[0]?.fullName : `${repositories.length} repositories`;

function checked<Schema extends typeof InstallationEvent | typeof RepositoriesEvent>(
  schema: Schema,
  payload: Payload,
): Static<Schema> {
  if (Value.Check(schema, payload)) return payload;
  const problem = findProblem(schema, payload);
  throw new MalformedPayload(`${problem?.field} ${problem?.message}`);
}

// Each part loads with its first use, as the API does.
const load = () => import('./api.ts');

/** GitHub Apps, made from a manifest. */
export const githubApps: AppSupport = {
  name: 'GitHub App',
  path: 'github-app',
  registration,
  isPrivateKey: (text) => parsePrivateKey(text) !== null,
  pages,
  create: async (baseUrl, code, options) => (await load()).createApp(baseUrl, code, options),
  open: async (baseUrl, app, options) => (await load()).githubAppApi(baseUrl, app, options),
  openReader: async (baseUrl, app, options) => (await load()).githubAppReader(baseUrl, app, options),
  async token(baseUrl, app) {
    const { installationToken } = await import('./api.ts');
    return installationToken(baseUrl, app, systemClock);
  },
  readChange,
};
