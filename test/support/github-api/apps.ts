import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import type { Clock } from '../../../src/lib/time.ts';
import { accountView } from './code-views.ts';
import { type Delivery, deliver } from './deliver.ts';
import type { Operation, Result } from './operations.ts';
import { GithubRefusal, refusals } from './refusal.ts';
import type { HookConfig, StoredAttempt, StoredHook, StoredRepository } from './state.ts';
import { attemptPageOf, attemptView, pageOf, repositoryView } from './views.ts';
import { deliverSoon, type World } from './world.ts';

// GitHub Apps: made from a manifest, installed on repositories, and signed in to with a key.

export interface StoredApp {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  /** The login of the account that owns it. */
  readonly owner: string;
  readonly isOrganization: boolean;
  readonly manifest: Manifest;
  /** PEM. Push one to let the App sign in with it, and remove one to end it. */
  readonly publicKeys: string[];
  /** Its webhook, with the attempts. */
  readonly hook: StoredHook;
  installation: StoredInstallation | null;
}

export interface StoredInstallation {
  readonly id: number;
  /** The login; absent for the account that owns the App. */
  readonly account?: string;
  repositoryIds: number[];
  suspendedAt: string | null;
}

export interface Manifest {
  name: string;
  url: string;
  hook_attributes: { url: string; active?: boolean };
  redirect_url: string;
  setup_url: string;
  setup_on_update?: boolean;
  public: boolean;
  default_permissions: Record<string, string>;
  default_events: string[];
}

/** GitHub keeps it until the code is exchanged. */
interface PendingApp {
  app: StoredApp;
  pem: string;
  webhookSecret: string;
  expiresAt: number;
}

export interface Apps {
  readonly list: StoredApp[];
  readonly pending: Map<string, PendingApp>;
}

export const noApps = (): Apps => ({ list: [], pending: new Map() });

const HOUR_MS = 3_600_000;
/** GitHub refuses a JWT that is valid for longer. */
const MAX_JWT_SECONDS = 600;

const seconds = (iso: string) => `${new Date(iso).toISOString().slice(0, 19)}Z`;

/** A key pair as GitHub makes it: the private one in PKCS #1. */
export function makeKeys(): { privateKey: string; publicKey: string } {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
}

/** Makes the App of a manifest, as the button on GitHub's page does. Returns the code for the browser. */
export function createFromManifest(
  { apps, clock }: World,
  manifest: Manifest,
  account: { owner: string; isOrganization: boolean },
): string {
  const id = 1_236_701 + apps.list.length;
  const slug = manifest.name.toLowerCase().replaceAll(/[^a-z\d]+/g, '-');
  const { privateKey, publicKey } = makeKeys();
  const webhookSecret = `whsec_${crypto.randomUUID()}`;
  const at = clock.now().toISOString();
  const hook: StoredHook = {
    id: id * 10,
    config: {
      url: manifest.hook_attributes.url,
      content_type: 'json',
      insecure_ssl: '0',
      secret: webhookSecret,
    },
    events: [...manifest.default_events],
    isActive: manifest.hook_attributes.active ?? true,
    createdAt: at,
    updatedAt: at,
    lastResponse: { code: null, status: 'unused', message: null },
    attempts: [],
  };
  const app = {
    id,
    slug,
    name: manifest.name,
    ...account,
    manifest,
    publicKeys: [publicKey],
    hook,
    installation: null,
  };
  apps.list.push(app);
  const code = crypto.randomUUID().replaceAll('-', '');
  apps.pending.set(code, { app, pem: privateKey, webhookSecret, expiresAt: clock.now().getTime() + HOUR_MS });
  return code;
}

/** Changes the repositories of the installation, or installs the App, as a person does. */
export function install(world: World, app: StoredApp, repositories: readonly StoredRepository[]): void {
  const known = app.installation;
  const ids = repositories.map(({ id }) => id);
  if (known === null) {
    app.installation = {
      id: 52_000_000 + app.id + app.hook.attempts.length,
      repositoryIds: ids,
      suspendedAt: null,
    };
    send(world, app, 'installation', { action: 'created', repositories: repositories.map(shortView) });
    return;
  }
  const named = (some: readonly number[]) =>
    world.repositories.filter(({ id }) => some.includes(id)).map(shortView);
  const added = ids.filter((id) => !known.repositoryIds.includes(id));
  const removed = known.repositoryIds.filter((id) => !ids.includes(id));
  known.repositoryIds = ids;
  for (const [action, changed] of [
    ['added', added],
    ['removed', removed],
  ] as const) {
    if (changed.length === 0) continue;
    send(world, app, 'installation_repositories', {
      action,
      repository_selection: 'selected',
      repositories_added: action === 'added' ? named(added) : [],
      repositories_removed: action === 'removed' ? named(removed) : [],
      requester: null,
    });
  }
}

export function suspend(world: World, app: StoredApp, isSuspended: boolean): void {
  if (app.installation === null) throw new Error('the App is not installed');
  app.installation.suspendedAt = isSuspended ? world.clock.now().toISOString() : null;
  send(world, app, 'installation', { action: isSuspended ? 'suspend' : 'unsuspend', repositories: [] });
}

export function uninstall(world: World, app: StoredApp): void {
  send(world, app, 'installation', { action: 'deleted', repositories: [] });
  app.installation = null;
}

/** An event about a repository to each App that is installed on it. */
export function emitToApps(world: World, repository: StoredRepository, delivery: Delivery) {
  const receiving = world.apps.list.filter(
    ({ hook, installation }) =>
      hook.isActive &&
      hook.events.includes(delivery.event) &&
      installation?.suspendedAt === null &&
      installation.repositoryIds.includes(repository.id),
  );
  return receiving.map((app) => {
    const payload = { ...delivery.payload, installation: { id: app.installation?.id, node_id: 'MDIz' } };
    return deliver(app, app.hook, { ...delivery, payload }, world.clock);
  });
}

function send(world: World, app: StoredApp, event: string, payload: Record<string, unknown>): void {
  const installation = installationView(world, app);
  const sender = accountView(app.isOrganization ? 'ann' : app.owner);
  const delivery = {
    event,
    payload: { ...payload, installation, sender },
    guid: crypto.randomUUID(),
    isRedelivery: false,
  };
  deliverSoon(world, app, app.hook, delivery);
}

function shortView({ id, name, isPrivate }: StoredRepository) {
  return { id, node_id: `R_${id}`, name: name.split('/')[1], full_name: name, private: isPrivate };
}

function appView({ id, slug, name, owner, isOrganization, manifest, hook }: StoredApp) {
  return {
    id,
    slug,
    client_id: `Iv23li${id}`,
    node_id: `A_${id}`,
    owner: ownerView({ owner, isOrganization }),
    name,
    description: '',
    external_url: manifest.url,
    html_url: `https://github.com/apps/${slug}`,
    created_at: seconds(hook.createdAt),
    updated_at: seconds(hook.updatedAt),
    permissions: manifest.default_permissions,
    events: hook.events,
  };
}

const ownerView = ({ owner, isOrganization }: Pick<StoredApp, 'owner' | 'isOrganization'>) => ({
  ...accountView(owner),
  id: 583_231,
  type: isOrganization ? 'Organization' : 'User',
});

function installationView(world: World, app: StoredApp) {
  const { installation, slug, id: app_id, owner, isOrganization, manifest, hook } = app;
  if (installation === null) throw new Error('the App is not installed');
  const { id, suspendedAt } = installation;
  const other = installation.account;
  const account = { ...ownerView(app), ...(other !== undefined && { ...accountView(other), id: 99 }) };
  const below = isOrganization ? `/organizations/${owner}` : '';
  return {
    id,
    account,
    repository_selection: 'selected',
    access_tokens_url: `${world.url}/app/installations/${id}/access_tokens`,
    repositories_url: `${world.url}/installation/repositories`,
    html_url: `https://github.com${below}/settings/installations/${id}`,
    app_id,
    app_slug: slug,
    target_id: account.id,
    target_type: account.type,
    permissions: manifest.default_permissions,
    events: hook.events,
    created_at: seconds(hook.createdAt),
    updated_at: seconds(hook.updatedAt),
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: suspendedAt === null ? null : accountView('ann'),
    suspended_at: suspendedAt && seconds(suspendedAt),
  };
}

export interface AppContext {
  world: World;
  app: StoredApp;
  url: URL;
  params: Record<string, string>;
  body: unknown;
}

const configView = ({ secret, ...config }: HookConfig) => ({
  ...config,
  ...(secret !== undefined && { secret: '********' }),
});

function installationOf({ app, params }: AppContext): StoredInstallation {
  const { installation } = app;
  if (installation === null || String(installation.id) !== params.installation_id) throw refusals.notFound();
  return installation;
}

/** The operations that an App signs in to with its key. */
export const appOperations: Record<string, (context: AppContext) => Result> = {
  'GET /app': ({ app }) => ({ status: 200, body: appView(app) }),
  'GET /app/installations': ({ world, app }) => ({
    status: 200,
    body: app.installation === null ? [] : [installationView(world, app)],
  }),
  'DELETE /app/installations/{installation_id}'(context) {
    installationOf(context);
    uninstall(context.world, context.app);
    return { status: 204 };
  },
  'POST /app/installations/{installation_id}/access_tokens'(context) {
    const { world, app } = context;
    const installation = installationOf(context);
    if (installation.suspendedAt !== null)
      throw new GithubRefusal(403, 'This installation has been suspended');
    const token = `ghs_${crypto.randomUUID().replaceAll('-', '')}`;
    const expiresAt = world.clock.now().getTime() + HOUR_MS;
    const { contents, pull_requests } = app.manifest.default_permissions as Record<string, 'read'>;
    const permissions = { ...(contents && { contents }), ...(pull_requests && { pull_requests }) };
    world.tokens.set(token, { user: `${app.slug}[bot]`, permissions, installation, expiresAt });
    return {
      status: 201,
      body: {
        token,
        expires_at: seconds(new Date(expiresAt).toISOString()),
        permissions: app.manifest.default_permissions,
        repository_selection: 'selected',
      },
    };
  },
  'GET /app/hook/config': ({ app }) => ({ status: 200, body: configView(app.hook.config) }),
  'PATCH /app/hook/config'({ app, body }) {
    Object.assign(app.hook.config, body);
    return { status: 200, body: configView(app.hook.config) };
  },
  'GET /app/hook/deliveries'({ app, url }) {
    const { items, headers } = attemptPageOf(app.hook.attempts, url);
    const view = (attempt: StoredAttempt) => ({
      ...attemptView({ id: 0 }, attempt),
      installation_id: app.installation?.id ?? null,
      repository_id: (attempt.payload.repository as { id?: number } | undefined)?.id ?? null,
    });
    return { status: 200, body: items.map(view), headers };
  },
  'POST /app/hook/deliveries/{delivery_id}/attempts'({ world, app, params }) {
    const attempt = app.hook.attempts.find(({ id }) => String(id) === params.delivery_id);
    if (attempt === undefined) throw refusals.notFound();
    const { event, payload, guid } = attempt;
    deliverSoon(world, app, app.hook, { event, payload, guid, isRedelivery: true });
    return { status: 202, body: {} };
  },
};

/** The App of a JWT. Throws GitHub's 401. */
export function appOf(authorization: string | null, { apps, clock }: World): StoredApp {
  const [head = '', claims = '', signature = ''] = (authorization ?? '').replace(/^bearer /i, '').split('.');
  const refuse = (message: string) => new GithubRefusal(401, message);
  const { iss, iat, exp } = partOf(claims);
  const app = apps.list.find(({ id }) => String(id) === iss);
  if (app === undefined) throw refuse("'Issuer' claim ('iss') must be an Integer");
  const signed = Buffer.from(`${head}.${claims}`);
  const isSigned = app.publicKeys.some((key) =>
    verify('RSA-SHA256', signed, createPublicKey(key), Buffer.from(signature, 'base64url')),
  );
  if (partOf(head).alg !== 'RS256' || !isSigned) throw refuse('A JSON web token could not be decoded');
  const now = Math.floor(clock.now().getTime() / 1000);
  if (Number(exp) > now + MAX_JWT_SECONDS)
    throw refuse("'Expiration time' claim ('exp') is too far in the future");
  if (!(Number(exp) > now && Number(iat) <= now))
    throw refuse("'Expiration time' claim ('exp') must be a numeric value");
  return app;
}

function partOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return {};
  }
}

export const CONVERSION = 'POST /app-manifests/{code}/conversions';

/** Anybody may call it: the code is the secret. It works once, for an hour. */
export function convert({ apps, clock }: World, code: string): Result {
  const pending = apps.pending.get(code);
  apps.pending.delete(code);
  if (pending === undefined || pending.expiresAt <= clock.now().getTime()) throw refusals.notFound();
  const { app, pem, webhookSecret } = pending;
  const secrets = { client_secret: `cs_${crypto.randomUUID()}`, webhook_secret: webhookSecret, pem };
  return { status: 201, body: { ...appView(app), ...secrets } };
}

/** Operations of an App as its installation, with a token. */
export const installationOperations: Record<string, Operation> = {
  'GET /installation/repositories': {
    access: null,
    run({ token, url, world }) {
      const { installation } = token;
      if (installation === undefined) throw refusals.noPermission();
      const own = world.repositories.filter(({ id }) => installation.repositoryIds.includes(id));
      const { items, headers } = pageOf(own, url);
      const repositories = items.map((each) => repositoryView(each, token.user));
      return {
        status: 200,
        body: { total_count: own.length, repository_selection: 'selected', repositories },
        headers,
      };
    },
  },
};

/** GitHub deletes a token after an hour. */
export function dropEnded(world: { tokens: World['tokens']; clock: Clock }): void {
  const now = world.clock.now().getTime();
  for (const [value, { expiresAt }] of world.tokens) {
    if (expiresAt !== undefined && expiresAt <= now) world.tokens.delete(value);
  }
}
