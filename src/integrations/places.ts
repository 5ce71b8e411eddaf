import { organization, type WriteTx } from '../../db/engine.ts';
import type { Deps } from '../people/deps.ts';
import type { Place } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { newPlace, newRepository } from './connect.ts';
import { deleteHooks, getWithHooks, type Hook, insertHooks } from './hook-store.ts';
import { deleteWithHooks, getAdministrable, makeOrUndo, urlOf } from './hooks.ts';
import { listPolls } from './poll-store.ts';
import {
  changeIntegration,
  deleteIntegration,
  deleteRepository,
  insertRepository,
  requireUnconnected,
  updateIntegration,
} from './store.ts';
import { findApi, requireApi } from './token.ts';
import {
  type ConnectedPlace,
  type Integration,
  IntegrationProblem,
  MAX_PLACES,
  placeName,
  recordChange,
  requireRepositoryName,
} from './words.ts';

// Each change records first that the hook needs work. If the process ends before it is through, the job finishes it.

/** A place that was added. Without `hookId`, a person has to set up its hook. */
export type AddedPlace = Omit<ConnectedPlace, 'hookId' | 'hasPinged'> & Partial<ConnectedPlace>;

/**
 * Adds a repository or a team to an integration. With a token, creates its hook at the provider and pings it; adds
 * nothing if that fails. Throws `ProviderProblem`, `ChangeFailed`, and `AppError` 400, 404 and 409.
 */
export async function addPlace(deps: Deps, integrationId: string, text: string): Promise<AddedPlace> {
  const { db, clock } = deps;
  const { integration, hooks } = await db.read((tx) => getWithHooks(tx, integrationId));
  requireChangeable(deps, integration);
  const name = placeName(deps, integration.type, text);
  const api = await findApi(deps, integration);
  if (api === null) return addByHand(deps, integration, name);
  const place = await getAdministrable(api, name);
  if (hooks.some(({ placeId }) => placeId === place.id)) throw addedBefore(integration, place.name);
  requireAddable(integration, hooks.length, place);

  const startedAt = clock.now();
  const { repository, hook } = newPlace(deps, integration, place, startedAt);
  const auditId = await changeIntegration(
    db,
    integrationId,
    async (tx) => {
      await requireUnconnected(tx, integration, [place]);
      if (repository !== null) await insertRepository(tx, repository);
      const isNew = await insertHooks(tx, [hook], startedAt.toISOString());
      if (!isNew) throw addedBefore(integration, place.name);
      return recordChange(tx, deps, integration, 'integration.place_added', `added ${place.name} to`);
    },
    organization(integration.organizationId),
  );
  const undo = async (tx: WriteTx) => {
    await deleteHooks(tx, integrationId, place.id);
    if (repository !== null) await deleteRepository(tx, repository.id);
  };
  const change = { code: 'not_added', startedAt, auditId, undo } as const;
  const [made] = await makeOrUndo({ ...deps, api, integration }, [hook], change);
  if (made === undefined) throw new Error('makeOrUndo returned no place');
  return made;
}

async function addByHand(deps: Deps, integration: Integration, name: string): Promise<AddedPlace> {
  const { type, repositories } = integration;
  const { hasRepositories, words } = providerOf(type);
  if (!hasRepositories) {
    throw new IntegrationProblem({ code: 'manual_places', type, places: [words.place.many] });
  }
  requireRepositoryName(type, name);
  requireAddable(integration, repositories.length, { id: name });
  const repository = newRepository(deps, integration.id, { id: name });
  await changeIntegration(
    deps.db,
    integration.id,
    async (tx) => {
      await insertRepository(tx, repository);
      await recordChange(tx, deps, integration, 'integration.place_added', `added ${name} to`);
    },
    organization(integration.organizationId),
  );
  const repositoryId = repository.id;
  return { place: name, repositoryId, webhookUrl: urlOf(deps, integration, { repositoryId }) };
}

/** Throws for an App, whose repositories a person chooses at the provider. */
function requireChangeable({ providerUrls }: Pick<Deps, 'providerUrls'>, { type, app }: Integration): void {
  const support = providerOf(type).app;
  if (app === null || support === undefined) return;
  const url = support.pages(providerUrls?.[type], app).install;
  throw new IntegrationProblem({ code: 'app_places', url });
}

/** Throws unless the integration lacks the repository, under any name, and has `count` places at most. */
export function requireAddable(
  integration: Integration,
  count: number,
  place: Pick<Place, 'id' | 'providerId'>,
): void {
  const isSame = ({ fullName, providerId }: Integration['repositories'][number]) =>
    fullName.toLowerCase() === place.id.toLowerCase() ||
    (providerId !== null && providerId === place.providerId);
  if (integration.repositories.some(isSame)) throw addedBefore(integration, place.id);
  if (count >= MAX_PLACES) throw new IntegrationProblem({ code: 'integration_full', max: MAX_PLACES });
}

function addedBefore({ id }: Integration, place: string): IntegrationProblem {
  return new IntegrationProblem({ code: 'place_added_before', integrationId: id, place });
}

/**
 * Removes a repository or a team, its hook first, and its triggers. If the provider does not delete the hook, `force`
 * removes the place nevertheless; otherwise nothing changes. Resolves to whether a hook may remain at the provider.
 * Throws `ChangeFailed`, and `IntegrationProblem`.
 */
export async function removePlace(
  deps: Deps,
  integrationId: string,
  name: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ isLeft: boolean }> {
  const { integration, hooks } = await deps.db.read((tx) => getWithHooks(tx, integrationId));
  requireChangeable(deps, integration);
  const { repository, hook } = findPlace(integration, hooks, placeName(deps, integration.type, name));
  const place = repository?.fullName ?? hook?.placeName;
  const isLast = Math.max(hooks.length, integration.repositories.length) === 1;
  if (place === undefined || isLast) {
    const code = place === undefined ? 'unknown_place' : 'last_place';
    throw new IntegrationProblem({ code, integrationId, place: name });
  }
  const api =
    hook === undefined || force ? await findApi(deps, integration) : await requireApi(deps, integration);
  const left = await deleteWithHooks(deps, api, integration, hook === undefined ? [] : [hook], {
    force,
    outcome: (_, mayBeGone) => ({ code: 'not_removed', mayBeGone: mayBeGone !== null }),
    // One commit: a repository without its hook would never get one again.
    async forget(tx) {
      const deleted = hook === undefined ? [] : await deleteHooks(tx, integrationId, hook.placeId);
      if (repository !== undefined) await deleteRepository(tx, repository.id);
      // The webhooks of the others have taken over.
      if (integration.isPolled && (await listPolls(tx, integrationId)).length === 0) {
        await updateIntegration(tx, integrationId, { isPolled: false });
      }
      await recordChange(tx, deps, integration, 'integration.place_removed', `removed ${place} from`);
      return deleted;
    },
  });
  return { isLeft: left.length > 0 };
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

/**
 * Deletes the hooks at the provider, then the integration. If the provider does not delete one, `force` disconnects
 * nevertheless; otherwise the integration stays, and the job creates the deleted hooks again. Resolves to the names of
 * the places where a hook remains, also because the token cannot be decrypted. Throws `ChangeFailed`, and
 * `IntegrationProblem` `integration_not_found`.
 */
export async function disconnectIntegration(
  deps: Deps,
  id: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ left: string[] }> {
  const { integration, hooks } = await deps.db.read((tx) => getWithHooks(tx, id));
  const left = await deleteWithHooks(deps, await findApi(deps, integration), integration, hooks, {
    force,
    outcome: (deleted, mayBeGone) => ({ code: 'not_disconnected', deleted, mayBeGone }),
    async forget(tx) {
      const deleted = await deleteHooks(tx, id);
      await deleteIntegration(tx, id);
      await recordChange(tx, deps, integration, 'integration.disconnected', 'disconnected');
      return deleted;
    },
  });
  return { left };
}
