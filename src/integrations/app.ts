import { requireStillAllowed } from '../../db/checked.ts';
import { changing, organization, type WriteTx } from '../../db/engine.ts';
import { type AuditContext, SERVER } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { getOrganization } from '../people/organization-store.ts';
import { APP_HOOK, type InstallationChange, type InstalledRepository, isAppApi } from '../providers/app.ts';
import { type IntegrationType, providerOf } from '../providers/index.ts';
import { addInstalled, findSealedApp, insertApp, removeInstalled, updateApp } from './app-store.ts';
import { insertHooks, updateHook } from './hook-store.ts';
import { newHook } from './hooks.ts';
import {
  changeIntegration,
  getIntegration,
  type Integration,
  insertIntegration,
  sealSecret,
} from './store.ts';
import { requireApi, sealAppKey } from './token.ts';
import { IntegrationProblem, recordChange } from './words.ts';

// Integrations that are Apps at their provider. The provider chooses the App's webhook secret, and a person chooses the
// repositories where the App is installed.

/** How the provider's Apps work, and the URL of its API. Throws `IntegrationProblem` `no_apps`. */
export function requireApps({ providerUrls }: Pick<Deps, 'providerUrls'>, type: IntegrationType) {
  const { app } = providerOf(type);
  const url = providerUrls?.[type];
  if (app === undefined || url === undefined) throw new IntegrationProblem({ code: 'no_apps', type });
  return { app, url };
}

/**
 * Exchanges the code of a new App, and connects it as an integration with this id, which the App's webhook names. Throws
 * `ProviderProblem`, `IntegrationProblem`, and `AppError` 404 for an unknown organization.
 */
export async function connectApp(
  deps: Deps,
  request: { type: IntegrationType; organizationId: string; integrationId: string; code: string },
): Promise<void> {
  const { db, clock, log } = deps;
  const { type, organizationId, integrationId: id } = request;
  const { app: support, url } = requireApps(deps, type);
  await db.read((tx) => getOrganization(tx, organizationId));
  // Nothing can delete an App at the provider but a person there.
  await requireStillAllowed(db);
  const { privateKey, webhookSecret, ...app } = await support.create(url, request.code, {});
  const createdAt = clock.now().toISOString();
  const secret = sealSecret(deps, id, webhookSecret);
  const row = { id, organizationId, type, enabled: true, secret, createdAt };
  const hook = {
    // Without events: the job compares those of the manifest with what the triggers need.
    ...newHook(id, { id: APP_HOOK, name: app.slug }, null, clock.now()),
    ...{ remoteId: APP_HOOK, hasPresentSecret: true, retryAt: null },
  };
  try {
    await db.write(
      async (tx) => {
        await insertIntegration(tx, row, []);
        const sealed = sealAppKey(deps, id, privateKey);
        const rest = { installationId: null, suspendedAt: null, createdAt };
        await insertApp(tx, { ...app, integrationId: id, privateKey: sealed, ...rest });
        await insertHooks(tx, [hook], createdAt);
        await recordChange(tx, deps, { ...row, repositories: [] }, 'integration.connected', 'connected');
      },
      changing(organization(row.organizationId)),
    );
  } catch (error) {
    log.error(
      { err: error, app: app.url },
      'an App was created at the provider, and its key is lost: delete it there',
    );
    throw error;
  }
}

/** The contents of the installation, after its state was read at the provider. */
export interface Installed {
  isInstalled: boolean;
  isSuspended: boolean;
  added: string[];
  removed: string[];
  /** Other integrations of the organization have these. */
  skipped: string[];
}

/**
 * Reads the installation at the provider, with its repositories. Deletes the repositories that it no longer has, with
 * their triggers; none if the provider names no repository at all, or only some. `ofOwner`: takes no new installation of
 * another account, and changes nothing if there is none. Throws `ProviderProblem`, and `IntegrationProblem`.
 */
export async function syncInstallation(deps: Deps, id: string, { ofOwner = false } = {}): Promise<Installed> {
  const integration = await deps.db.read((tx) => getIntegration(tx, id));
  const api = await requireApi(deps, integration);
  if (!isAppApi(api)) throw new IntegrationProblem({ code: 'no_apps', type: integration.type });
  const found = await api.findInstallation({ ofOwner });
  const { id: installationId = null, suspendedAt = null } = found ?? {};
  if (found !== null || !ofOwner)
    await changeIntegration(deps.db, id, (tx) => updateApp(tx, id, { installationId, suspendedAt }));
  const state = { isInstalled: found !== null, isSuspended: suspendedAt !== null };
  // A suspended App may not read, and its repositories come back with it.
  if (found === null || suspendedAt !== null) return { ...state, added: [], removed: [], skipped: [] };
  const { places, isCut } = await (await requireApi(deps, integration)).listPlaces();
  const installed = places.flatMap(({ providerId, name }) =>
    providerId === undefined ? [] : [{ providerId, fullName: name }],
  );
  const changed = await changeIntegration(
    deps.db,
    id,
    async (tx) => {
      // An installation has at least one repository: don't delete all triggers because of an empty list.
      const isDoubtful = isCut || installed.length === 0;
      const removed = isDoubtful ? [] : await removeInstalled(tx, id, installed, { isKept: true });
      const { added, skipped } = await addInstalled(tx, integration, installed, deps);
      await recordRepositories(tx, deps, integration, added, removed);
      return { added, removed, skipped };
    },
    organization(integration.organizationId),
  );
  return { ...state, ...changed };
}

type ChangeNeeds = Pick<Deps, 'ids' | 'clock' | 'log'>;

/**
 * Applies what a verified delivery says about the installation. Anybody can install an App that its owner made public:
 * while the App has an installation, others change nothing.
 */
export async function applyChange(
  tx: WriteTx,
  deps: ChangeNeeds,
  integration: Pick<Integration, 'id' | 'organizationId' | 'type'>,
  change: InstallationChange,
): Promise<void> {
  const { id } = integration;
  const { installationId } = change;
  const known = (await findSealedApp(tx, id))?.installationId ?? null;
  if (known !== null && known !== installationId) return;
  // The events about the installation may arrive in any order, and it may be that of another account.
  if (known === null && change.kind !== 'installed') return requestLook(tx, id);
  switch (change.kind) {
    case 'installed':
      await updateApp(tx, id, { installationId, suspendedAt: null });
      return addAndRemove(tx, deps, integration, change.repositories, []);
    case 'uninstalled':
      // The repositories stay, with their triggers, for when it is installed again.
      await updateApp(tx, id, { installationId: null, suspendedAt: null });
      // It may have been installed again already.
      return requestLook(tx, id);
    case 'suspended':
      return updateApp(tx, id, { suspendedAt: change.at ?? deps.clock.now().toISOString() });
    case 'unsuspended':
      return updateApp(tx, id, { suspendedAt: null });
    case 'repositories':
      return addAndRemove(tx, deps, integration, change.added, change.removed);
  }
}

/** Makes the job `sync-hooks` look for the installation, with its wait after a failure. */
const requestLook = (tx: WriteTx, integrationId: string) =>
  updateHook(tx, { integrationId, placeId: APP_HOOK }, { events: [] });

async function addAndRemove(
  tx: WriteTx,
  deps: ChangeNeeds,
  integration: Pick<Integration, 'id' | 'organizationId' | 'type'>,
  installed: readonly InstalledRepository[],
  gone: readonly InstalledRepository[],
): Promise<void> {
  const removed = await removeInstalled(tx, integration.id, gone);
  const { added } = await addInstalled(tx, integration, installed, deps);
  // A delivery of the provider makes the change, not a person here.
  await recordRepositories(tx, { ...deps, actor: SERVER }, integration, added, removed);
}

async function recordRepositories(
  tx: WriteTx,
  deps: AuditContext,
  integration: Pick<Integration, 'id' | 'organizationId' | 'type'>,
  added: readonly string[],
  removed: readonly string[],
): Promise<void> {
  const about = { ...integration, repositories: [] };
  if (added.length > 0) {
    await recordChange(tx, deps, about, 'integration.place_added', `added ${firstOf(added)} to`);
  }
  if (removed.length > 0) {
    await recordChange(tx, deps, about, 'integration.place_removed', `removed ${firstOf(removed)} from`);
  }
}

const firstOf = ([first, ...others]: readonly string[]) =>
  others.length === 0 ? first : `${first} and ${others.length} more`;

/** Replaces the App's private key, after a check that the provider knows it. Throws `ProviderProblem`, `IntegrationProblem`. */
export async function replaceAppKey(deps: Deps, id: string, pem: string): Promise<void> {
  const { db } = deps;
  const integration = await db.read((tx) => getIntegration(tx, id));
  const { app } = requireApps(deps, integration.type);
  const privateKey = pem.trim();
  if (!app.isPrivateKey(privateKey)) throw new IntegrationProblem({ code: 'invalid_key' });
  const known = await db.read((tx) => findSealedApp(tx, id));
  if (known === null) throw new IntegrationProblem({ code: 'no_apps', type: integration.type });
  const api = await deps.openProviderApi(integration.type, { ...known, privateKey });
  await api.findHook(APP_HOOK, APP_HOOK);
  await changeIntegration(db, id, async (tx) => {
    await updateApp(tx, id, { privateKey: sealAppKey(deps, id, privateKey) });
    await recordChange(tx, deps, integration, 'token.set', 'replaced the App key of');
  });
}
