import { withdrawAudit } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/how-to-run.ts';
import { requireValid } from '../lib/validation.ts';
import type { Hook, Place } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import {
  type ConnectedPlace,
  getAdministrable,
  HANDS_OFF_MS,
  type HookNeeds,
  MAX_PLACES,
  makeAndPing,
  newRepository,
  RESTORES,
  requireUnconnected,
  takeBack,
  WITH_FORCE,
  withEnding,
} from './connect.ts';
import { deleteHook, insertHooks, letGo, listHooks, newHook, updateHook } from './hook-store.ts';
import { isProblem, unmakeHook } from './make.ts';
import { type Integration, type IntegrationType, type Repository, RepositoryName } from './model.ts';
import { webhookUrl } from './service.ts';
import { deleteRepository, getIntegration, insertRepository, recordIntegration } from './store.ts';
import { findApi, requireApi, requireToken } from './token.ts';

/** What a token can see, before anything is connected. Throws `ProviderProblem`, and `AppError` 400 for no token. */
export async function listPlaces(
  { openProviderApi }: Pick<HookNeeds, 'openProviderApi'>,
  type: IntegrationType,
  token: string,
): Promise<{ places: Place[]; isCut: boolean }> {
  const api = await openProviderApi(type, requireToken(token));
  return api.listPlaces();
}

/** A place that was added: with `hookId` when Tidings made its hook, without when a person has to. */
export type AddedPlace = Omit<ConnectedPlace, 'hookId' | 'hasPinged'> &
  Partial<Pick<ConnectedPlace, 'hookId' | 'hasPinged'>>;

/**
 * Adds a repository or a team to an integration. With a token its hook is made at the provider and pinged; when that
 * fails nothing is added. Throws `ProviderProblem`, and `AppError` 400, 404 and 409.
 */
export async function addPlace(deps: HookNeeds, integrationId: string, name: string): Promise<AddedPlace> {
  const integration = await getIntegration(deps.db, integrationId);
  const api = await findApi(deps, integration);
  if (api === null) return addByHand(deps, integration, name);
  const place = await getAdministrable(api, name);
  const startedAt = deps.clock.now();
  const createdAt = startedAt.toISOString();
  const hooks = await listHooks(deps.db, integrationId);
  if (hooks.some(({ placeId }) => placeId === place.id)) throw isThere(integration, place.name);
  requireRoom(hooks.length);

  const repository = providerOf(integration.type).hasRepositories
    ? requireNewRepository(deps, integration, place)
    : null;
  const handsOffUntil = startedAt.getTime() + HANDS_OFF_MS;
  const hook = newHook(integrationId, place, repository?.id ?? null, handsOffUntil);
  const added = repository === null ? [] : [repository];
  const auditId = await deps.db.write(() => {
    if (repository !== null) insertRepository(deps.db, repository);
    // Here nobody can come in between.
    requireUnconnected(deps, integration.organizationId, [place], added);
    if (!insertHooks(deps.db, [hook], createdAt)) throw isThere(integration, place.name);
    return recordAdded(deps, integration, place.name);
  });
  try {
    const [made] = await makeAndPing(deps, api, integration, [hook], startedAt);
    if (made === undefined) throw new Error('a hook was made, and is not there');
    return made;
  } catch (error) {
    const made = (await listHooks(deps.db, integrationId)).filter(({ placeId }) => placeId === place.id);
    const left = await takeBack(deps, api, integration, made, error);
    await deps.db.write(async (tx) => {
      deleteHook(deps.db, hook);
      if (repository !== null) deleteRepository(deps.db, repository.id);
      await withdrawAudit(tx, deps, auditId);
    });
    throw withEnding(error, `${left}Nothing was added.`);
  }
}

/**
 * Takes a repository or a team away, its hook first. Its triggers go with it. Throws `ProviderProblem` when the
 * provider does not delete the hook: then nothing changes; `force` removes it all the same. Resolves to whether a hook
 * may have been left at the provider. Throws `AppError` 404, and 409 for the last one and for a token that cannot be read.
 */
export async function removePlace(
  deps: HookNeeds,
  integrationId: string,
  name: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ isLeft: boolean }> {
  const integration = await getIntegration(deps.db, integrationId);
  const wanted = name.toLowerCase();
  const repository = integration.repositories.find(
    ({ id, fullName }) => id === name || fullName.toLowerCase() === wanted,
  );
  const hooks = await listHooks(deps.db, integrationId);
  const hook = hooks.find(
    ({ placeId, placeName, repositoryId }) =>
      placeId === name ||
      placeName.toLowerCase() === wanted ||
      (repository !== undefined && repositoryId === repository.id),
  );
  if (repository === undefined && hook === undefined) {
    throw new AppError(
      404,
      `Integration ${integrationId} has no ${name}; "integration list" shows what it has`,
    );
  }
  if (Math.max(hooks.length, integration.repositories.length) === 1) {
    throw new AppError(
      409,
      `${name} is all that ${integrationId} is connected to: ${tidings} integration disconnect ${integrationId}`,
    );
  }
  const api = await findApi(deps, integration);
  const isLeft = hook !== undefined && !(await unmakeInHand(deps, integration, hook, force));
  // One commit: a repository without its hook would never get one again.
  const last = await deps.db.write(() => {
    if (repository !== undefined) deleteRepository(deps.db, repository.id);
    const place = repository?.fullName ?? hook?.placeName ?? name;
    const describe = (integrationName: string) => `removed ${place} from ${integrationName}`;
    void recordIntegration(deps, 'integration.place_removed', integration, describe);
    return hook === undefined ? null : deleteHook(deps.db, hook);
  });
  // The job may have been in the midst of it, and have made it again.
  if (api !== null && hook !== undefined && last !== null && last !== hook.remoteId) {
    await api.deleteHook(hook.placeId, last);
  }
  return { isLeft };
}

/**
 * Deletes the hook at the provider. Should this process end before it is through, the job makes it again. With `force`
 * resolves to false where the provider did not do it.
 */
async function unmakeInHand(
  deps: HookNeeds,
  integration: Integration,
  hook: Hook,
  force: boolean,
): Promise<boolean> {
  const { db, clock } = deps;
  await updateHook(db, hook, { hasPresentSecret: false, retryAt: clock.now().getTime() + HANDS_OFF_MS });
  try {
    await unmakeHook(deps, await requireApi(deps, integration), integration, hook);
    return true;
  } catch (error) {
    if (force) {
      deps.log.warn({ err: error, placeId: hook.placeId }, 'a hook was left at the provider');
      return false;
    }
    // After a failure the hook may be gone all the same: the job then makes it again.
    const mayBeGone = isProblem(error, 'provider-failed');
    await letGo(db, [hook], mayBeGone ? 1 : 0);
    throw withEnding(error, `Nothing was removed. ${mayBeGone ? `${RESTORES} ` : ''}${WITH_FORCE}`);
  }
}

async function addByHand(deps: HookNeeds, integration: Integration, name: string): Promise<AddedPlace> {
  const { id, type, organizationId } = integration;
  const { name: provider, hasRepositories, words } = providerOf(type);
  if (!hasRepositories) {
    throw new AppError(
      409,
      `This webhook was set up by hand at ${provider}, and the ${words.place.many} that it tells of are chosen there`,
    );
  }
  requireValid(RepositoryName, { repository: name });
  requireRoom(integration.repositories.length);
  const repository = requireNewRepository(deps, integration, { id: name });
  await deps.db.write(() => {
    insertRepository(deps.db, repository);
    void recordAdded(deps, integration, name);
  });
  return {
    place: name,
    repositoryId: repository.id,
    webhookUrl: webhookUrl(deps.publicUrl(), type, organizationId, id, repository.id),
  };
}

function recordAdded(deps: HookNeeds, integration: Integration, place: string): Promise<number> {
  const describe = (name: string) => `added ${place} to ${name}`;
  return recordIntegration(deps, 'integration.place_added', integration, describe);
}

function requireNewRepository(
  deps: HookNeeds,
  integration: Integration,
  place: Pick<Place, 'id' | 'providerId'>,
) {
  const name = place.id.toLowerCase();
  const has = ({ fullName, providerId }: Repository) =>
    fullName.toLowerCase() === name || (providerId !== null && providerId === place.providerId);
  if (integration.repositories.some(has)) throw isThere(integration, place.id);
  return newRepository(deps, integration.id, place);
}

function requireRoom(count: number): void {
  if (count >= MAX_PLACES) {
    throw new AppError(409, `An integration holds at most ${MAX_PLACES}: connect another one`);
  }
}

function isThere({ id }: Integration, name: string): AppError {
  return new AppError(409, `Integration ${id} has ${name} already`);
}
