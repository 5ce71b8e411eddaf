import { recordAudit, withdrawAudit } from '../audit/store.ts';
import { requireValid } from '../lib/validation.ts';
import type { Place, ProviderApi } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { newRepository, requireUnconnected } from './connect.ts';
import {
  deleteHooks,
  getWithHooks,
  insertHooks,
  listHooks,
  markSecretChanged,
  restoreHook,
  updateHook,
} from './hook-store.ts';
import {
  getAdministrable,
  HANDS_OFF_MS,
  type HookNeeds,
  logLeft,
  makeAndPing,
  newHook,
  takeBack,
  unmakeHook,
} from './hooks.ts';
import {
  auditEventOf,
  type ConnectedPlace,
  type Hook,
  type Integration,
  MAX_PLACES,
  type Repository,
  RepositoryName,
  webhookUrl,
} from './model.ts';
import { changeFailed, IntegrationProblem, isProblem } from './problems.ts';
import { deleteIntegration, deleteRepository, insertRepository } from './store.ts';
import { findApi, requireApi } from './token.ts';

// Each change records first that the hook needs work. If the process ends before it is through, the job finishes it.

/** A place that was added. Without `hookId`, a person has to set up its hook. */
export type AddedPlace = Omit<ConnectedPlace, 'hookId' | 'hasPinged'> &
  Partial<Pick<ConnectedPlace, 'hookId' | 'hasPinged'>>;

/**
 * Adds a repository or a team to an integration. With a token, creates its hook at the provider and pings it; adds
 * nothing if that fails. Throws `ProviderProblem`, `ChangeFailed`, and `AppError` 400, 404 and 409.
 */
export async function addPlace(deps: HookNeeds, integrationId: string, name: string): Promise<AddedPlace> {
  const { db, clock } = deps;
  const { integration, hooks } = await db.read((tx) => getWithHooks(tx, integrationId));
  const api = await findApi(deps, integration);
  if (api === null) return addByHand(deps, integration, name);
  const place = await getAdministrable(api, name);
  const startedAt = clock.now();
  if (hooks.some(({ placeId }) => placeId === place.id)) throw addedBefore(integration, place.name);
  requireRoom(hooks.length);

  const { hasRepositories } = providerOf(integration.type);
  const repository = hasRepositories ? requireNewRepository(deps, integration, place) : null;
  const hook = newHook(integrationId, place, repository?.id ?? null, startedAt.getTime() + HANDS_OFF_MS);
  const auditId = await db.write(async (tx) => {
    if (repository !== null) await insertRepository(tx, repository);
    await requireUnconnected(
      tx,
      integration.organizationId,
      [place],
      repository === null ? [] : [repository],
    );
    const isNew = await insertHooks(tx, [hook], startedAt.toISOString());
    if (!isNew) throw addedBefore(integration, place.name);
    return recordAudit(tx, deps, addedEvent(integration, place.name));
  });
  try {
    const [made] = await makeAndPing(deps, api, integration, [hook], startedAt);
    if (made === undefined) throw new Error('makeAndPing returned no place');
    return made;
  } catch (error) {
    const all = await db.read((tx) => listHooks(tx, integrationId));
    const made = all.filter(({ placeId }) => placeId === place.id);
    const left = await takeBack(deps, api, integration, made, error);
    await db.write(async (tx) => {
      await deleteHooks(tx, integrationId, [place.id]);
      if (repository !== null) await deleteRepository(tx, repository.id);
      await withdrawAudit(tx, deps, auditId);
    });
    throw changeFailed(error, { code: 'not_added', left });
  }
}

async function addByHand(deps: HookNeeds, integration: Integration, name: string): Promise<AddedPlace> {
  const { id, type, organizationId } = integration;
  const { hasRepositories, words } = providerOf(type);
  if (!hasRepositories) {
    throw new IntegrationProblem({ code: 'manual_places', type, places: [words.place.many] });
  }
  requireValid(RepositoryName, { repository: name });
  requireRoom(integration.repositories.length);
  const repository = requireNewRepository(deps, integration, { id: name });
  await deps.db.write(async (tx) => {
    await insertRepository(tx, repository);
    await recordAudit(tx, deps, addedEvent(integration, name));
  });
  return {
    place: name,
    repositoryId: repository.id,
    webhookUrl: webhookUrl(deps.publicUrl(), type, organizationId, id, repository.id),
  };
}

function requireNewRepository(
  deps: HookNeeds,
  integration: Integration,
  place: Pick<Place, 'id' | 'providerId'>,
) {
  const name = place.id.toLowerCase();
  const isSame = ({ fullName, providerId }: Repository) =>
    fullName.toLowerCase() === name || (providerId !== null && providerId === place.providerId);
  if (integration.repositories.some(isSame)) throw addedBefore(integration, place.id);
  return newRepository(deps, integration.id, place);
}

function requireRoom(count: number): void {
  if (count >= MAX_PLACES) throw new IntegrationProblem({ code: 'integration_full', max: MAX_PLACES });
}

function addedBefore({ id }: Integration, place: string): IntegrationProblem {
  return new IntegrationProblem({ code: 'place_added_before', integrationId: id, place });
}

function addedEvent(integration: Integration, place: string) {
  return auditEventOf(integration, 'integration.place_added', (name) => `added ${place} to ${name}`);
}

/**
 * Removes a repository or a team, its hook first, and its triggers. If the provider does not delete the hook, `force`
 * removes the place nevertheless; otherwise nothing changes. Resolves to whether a hook may remain at the provider.
 * Throws `ChangeFailed`, and `IntegrationProblem`.
 */
export async function removePlace(
  deps: HookNeeds,
  integrationId: string,
  name: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ isLeft: boolean }> {
  const { db, clock } = deps;
  const { integration, hooks } = await db.read((tx) => getWithHooks(tx, integrationId));
  const { repository, hook } = findPlace(integration, hooks, name);
  if (repository === undefined && hook === undefined) {
    throw new IntegrationProblem({ code: 'unknown_place', integrationId, place: name });
  }
  if (Math.max(hooks.length, integration.repositories.length) === 1) {
    throw new IntegrationProblem({ code: 'last_place', integrationId, place: name });
  }
  let api: ProviderApi | null = null;
  let isLeft = false;
  if (hook !== undefined) {
    const retryAt = clock.now().getTime() + HANDS_OFF_MS;
    await db.write((tx) => updateHook(tx, hook, { hasPresentSecret: false, retryAt }));
    try {
      api = await requireApi(deps, integration);
      await unmakeHook(deps, api, integration, hook);
    } catch (error) {
      if (!force) {
        const mayBeGone = isProblem(error, 'provider-failed');
        await restoreHooks(deps, [hook], mayBeGone ? 1 : 0);
        throw changeFailed(error, { code: 'not_removed', mayBeGone });
      }
      logLeft(deps, hook, error);
      isLeft = true;
    }
  }
  // One commit: a repository without its hook would never get one again.
  const deleted = await db.write(async (tx) => {
    const deleted = hook === undefined ? [] : await deleteHooks(tx, integrationId, [hook.placeId]);
    if (repository !== undefined) await deleteRepository(tx, repository.id);
    const place = repository?.fullName ?? hook?.placeName ?? name;
    const describe = (integrationName: string) => `removed ${place} from ${integrationName}`;
    await recordAudit(tx, deps, auditEventOf(integration, 'integration.place_removed', describe));
    return deleted;
  });
  if (api !== null) {
    for (const { placeId, remoteId } of recreated(deleted, hooks)) await api.deleteHook(placeId, remoteId);
  }
  return { isLeft };
}

function findPlace({ repositories }: Integration, hooks: readonly Hook[], name: string) {
  const wanted = name.toLowerCase();
  const repository = repositories.find(
    ({ id, fullName }) => id === name || fullName.toLowerCase() === wanted,
  );
  const hook = hooks.find(
    ({ placeId, placeName, repositoryId }) =>
      placeId === name ||
      placeName.toLowerCase() === wanted ||
      (repository !== undefined && repositoryId === repository.id),
  );
  return { repository, hook };
}

/** Hooks that the job created while this change was deleting them. */
function recreated(deleted: readonly Hook[], before: readonly Hook[]): (Hook & { remoteId: string })[] {
  const known = new Set(before.map(({ remoteId }) => remoteId));
  return deleted.flatMap((hook) => {
    const { remoteId } = hook;
    return remoteId === null || known.has(remoteId) ? [] : [{ ...hook, remoteId }];
  });
}

/**
 * Restores the state of hooks before a deletion was tried. The first `changedCount` of them may be gone at the
 * provider: the job sets those again.
 */
async function restoreHooks(
  { db }: Pick<HookNeeds, 'db'>,
  hooks: readonly Hook[],
  changedCount: number,
): Promise<void> {
  await db.write(async (tx) => {
    for (const [index, hook] of hooks.entries()) {
      await (index < changedCount ? updateHook(tx, hook, { retryAt: null }) : restoreHook(tx, hook));
    }
  });
}

/**
 * Deletes the hooks at the provider, then the integration. If the provider does not delete one, `force` disconnects
 * nevertheless; otherwise the integration stays, and the job creates the deleted hooks again. Resolves to the names of
 * the places where a hook remains, also because the token cannot be decrypted. Throws `ChangeFailed`, and
 * `IntegrationProblem` `integration_not_found`.
 */
export async function disconnectIntegration(
  deps: HookNeeds,
  id: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ left: string[] }> {
  const { db, clock } = deps;
  const { integration, hooks } = await db.read((tx) => getWithHooks(tx, id));
  const api = await findApi(deps, integration);
  await db.write((tx) => markSecretChanged(tx, id, clock.now().getTime() + HANDS_OFF_MS));
  const left: string[] = [];
  for (const [index, hook] of hooks.entries()) {
    try {
      if (api !== null) await unmakeHook(deps, api, integration, hook);
      else if (hook.remoteId !== null) left.push(hook.placeName);
    } catch (error) {
      // A hook that was never made, at a place that is gone, needs no force.
      if (hook.remoteId === null && isProblem(error, 'place-not-found')) continue;
      if (!force) {
        const mayBeGone = isProblem(error, 'provider-failed') ? hook.placeName : null;
        await restoreHooks(deps, hooks, mayBeGone === null ? index : index + 1);
        const deleted = hooks.slice(0, index).map(({ placeName }) => placeName);
        throw changeFailed(error, { code: 'not_disconnected', deleted, mayBeGone });
      }
      logLeft(deps, hook, error);
      left.push(hook.placeName);
    }
  }
  const deleted = await db.write(async (tx) => {
    const deleted = await deleteHooks(tx, id);
    await deleteIntegration(tx, id);
    const describe = (name: string) => `disconnected ${name}`;
    await recordAudit(tx, deps, auditEventOf(integration, 'integration.disconnected', describe));
    return deleted;
  });
  for (const hook of recreated(deleted, hooks)) {
    try {
      if (api !== null) await unmakeHook(deps, api, integration, hook);
    } catch (error) {
      logLeft(deps, hook, error);
      left.push(hook.placeName);
    }
  }
  return { left };
}
