import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { AppError } from '../../../lib/app-error.ts';
import { cutLine } from '../../../lib/text.ts';
import { type Clock, systemClock } from '../../../lib/time.ts';
import { findProblem } from '../../../lib/validation.ts';
import type {
  AppCredential,
  AppForm,
  AppPages,
  AppRequest,
  AppSupport,
  InstallationChange,
  InstalledRepository,
} from '../../app.ts';
import { ignored, MalformedPayload, type Payload, processed, read } from '../../provider.ts';

/** The site of an API such as `https://api.github.com`, `https://HOST/api/v3` or `https://api.SUB.ghe.com`. */
export function webOf(baseUrl: string): string {
  const { origin, protocol, host } = new URL(baseUrl);
  return /^api\.(github\.com|[^.]+\.ghe\.com)$/.test(host) ? `${protocol}//${host.slice(4)}` : origin;
}

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

const PUBLIC_API = 'https://api.github.com';

/** GitHub's limit. */
const MAX_NAME_LENGTH = 34;

/** The login of an account at GitHub. */
const LOGIN = /^[A-Za-z\d](?:[A-Za-z\d-]{0,37}[A-Za-z\d])?$/;

/** GitHub's form for an App from a manifest: docs.github.com/apps/sharing-github-apps. */
export function registration(
  baseUrl: string | undefined,
  { name, owner, homepageUrl, webhookUrl, createdUrl, installedUrl, state }: AppRequest,
): AppForm {
  if (owner !== null && !LOGIN.test(owner)) {
    throw new AppError(400, 'Enter the name of an organization at GitHub, such as acme.', {
      fields: { owner: 'must be the name of an organization at GitHub, such as acme' },
    });
  }
  const manifest = {
    name: cutLine(name, MAX_NAME_LENGTH),
    url: homepageUrl,
    hook_attributes: { url: webhookUrl, active: true },
    redirect_url: createdUrl,
    setup_url: installedUrl,
    setup_on_update: true,
    public: false,
    default_permissions: { contents: 'read', metadata: 'read', pull_requests: 'read' },
    default_events: ['push', 'pull_request', 'release'],
  };
  const account = owner === null ? '' : `/organizations/${owner}`;
  const action = `${webOf(baseUrl ?? PUBLIC_API)}${account}/settings/apps/new?state=${encodeURIComponent(state)}`;
  return { action, fields: { manifest: JSON.stringify(manifest) } };
}

export function pages(baseUrl: string | undefined, { slug, url }: { slug: string; url: string }): AppPages {
  const site = webOf(baseUrl ?? PUBLIC_API);
  return {
    install: `${site}/apps/${slug}/installations/new`,
    settings: url,
    installations: `${url}/installations`,
    danger: `${url}/advanced`,
  };
}

export function settingsPage(
  baseUrl: string,
  slug: string,
  owner: { login: string; isOrganization: boolean },
) {
  const account = owner.isOrganization ? `/organizations/${owner.login}` : '';
  return `${webOf(baseUrl)}${account}/settings/apps/${slug}`;
}

// Each part loads with its first use, as the API does.
const load = () => import('./api.ts');

export const githubApps: AppSupport = {
  name: 'GitHub App',
  path: 'github-app',
  events: ['installation', 'installation_repositories'],
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

/** GitHub refuses a JWT that is valid for more than ten minutes. */
const LIFETIME_SECONDS = 540;

/** GitHub's clock may be that far behind. */
const DRIFT_SECONDS = 60;

/** A key of 4,096 bits has 3,300 characters. */
const MAX_LENGTH = 20_000;

/** The key in a PEM file, with PKCS #1 as GitHub makes it or PKCS #8; null for anything else. */
export function parsePrivateKey(pem: string): KeyObject | null {
  if (pem.length > MAX_LENGTH) return null;
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' ? key : null;
  } catch {
    return null;
  }
}

/** Signs in as the App: a JWT with RS256. */
export function appToken({ appId, privateKey }: AppCredential, clock: Clock): string {
  const now = Math.floor(clock.now().getTime() / 1000);
  const claims = { iat: now - DRIFT_SECONDS, exp: now + LIFETIME_SECONDS, iss: String(appId) };
  const encoded = [{ alg: 'RS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const content = encoded.join('.');
  return `${content}.${sign('RSA-SHA256', Buffer.from(content), privateKey).toString('base64url')}`;
}

/** Identifies a key without revealing it. */
export function keyHash(privateKey: string): string {
  return createHash('sha256').update(privateKey).digest('base64url');
}
