import {
  type Integration,
  type IntegrationType,
  type Repository,
  RepositoryName,
} from '../integrations/model.ts';
import { webhookUrl } from '../integrations/service.ts';
import { deleteRepository, getIntegration, insertRepository } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/how-to-run.ts';
import { requireValid } from '../lib/validation.ts';
import {
  type ConnectedPlace,
  getAdministrable,
  HANDS_OFF_MS,
  type HookNeeds,
  MAX_PLACES,
  makeAndPing,
  newRepository,
  takeBack,
  withEnding,
} from './connect.ts';
import type { Place } from './model.ts';
import { deleteHook, insertHooks, listHooks, newHook } from './store.ts';
import { findApi, requireToken } from './token.ts';

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

  const repository = integration.type === 'github' ? requireNewRepository(deps, integration, place.id) : null;
  const hook = {
    ...newHook(integrationId, place, repository?.id ?? null),
    retryAt: startedAt.getTime() + HANDS_OFF_MS,
  };
  await insertRepository(deps.db, repository, () => insertHooks(deps.db, [hook], createdAt));
  try {
    const [added] = await makeAndPing(deps, api, integration, [hook], startedAt);
    if (added === undefined) throw new Error('a hook was made, and is not there');
    return added;
  } catch (error) {
    const made = (await listHooks(deps.db, integrationId)).filter(({ placeId }) => placeId === place.id);
    const left = await takeBack(deps, api, integration, made, error);
    await deleteHook(deps.db, hook);
    if (repository !== null) await deleteRepository(deps.db, repository.id);
    throw withEnding(error, `${left}Nothing was added.`);
  }
}

/**
 * Takes a repository or a team away, its hook first. Its triggers go with it. Throws `ProviderProblem` when the
 * provider does not delete the hook: then nothing changes. Throws `AppError` 404, and 409 for the last one.
 */
export async function removePlace(deps: HookNeeds, integrationId: string, name: string): Promise<void> {
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
  if (api !== null && hook !== undefined && hook.remoteId !== null) {
    await api.deleteHook(hook.placeId, hook.remoteId).catch((error: unknown) => {
      throw withEnding(error, 'Nothing was removed.');
    });
  }
  if (hook !== undefined) await deleteHook(deps.db, hook);
  if (repository !== undefined) await deleteRepository(deps.db, repository.id);
}

async function addByHand(deps: HookNeeds, integration: Integration, name: string): Promise<AddedPlace> {
  const { id, type, organizationId } = integration;
  if (type !== 'github') {
    throw new AppError(
      409,
      'This webhook was set up by hand at Linear, and the teams that it tells of are chosen there',
    );
  }
  requireValid(RepositoryName, { repository: name });
  requireRoom(integration.repositories.length);
  const repository = requireNewRepository(deps, integration, name);
  await insertRepository(deps.db, repository);
  return {
    place: name,
    repositoryId: repository.id,
    webhookUrl: webhookUrl(deps.publicUrl(), type, organizationId, id, repository.id),
  };
}

function requireNewRepository(deps: HookNeeds, integration: Integration, name: string) {
  const has = ({ fullName }: Repository) => fullName.toLowerCase() === name.toLowerCase();
  if (integration.repositories.some(has)) throw isThere(integration, name);
  return newRepository(deps, integration.id, name);
}

function requireRoom(count: number): void {
  if (count >= MAX_PLACES) {
    throw new AppError(409, `An integration holds at most ${MAX_PLACES}: connect another one`);
  }
}

function isThere({ id }: Integration, name: string): AppError {
  return new AppError(409, `Integration ${id} has ${name} already`);
}
