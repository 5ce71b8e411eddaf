import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { type Hook, type HookWish, type ProviderApi, ProviderProblem } from '../providers/api.ts';
import { recordMade } from './hook-store.ts';
import type { Integration } from './model.ts';
import { getReceivingIntegration } from './store.ts';
import { urlOf, wishFor } from './wish.ts';

type Needs = Pick<Deps, 'db' | 'secrets' | 'publicUrl'>;

/**
 * Makes the provider's hook what it is to be: made when there is none, taken over when there is one with its URL,
 * changed otherwise. Throws `ProviderProblem`; what the provider has by then is known to the database. Throws `AppError`
 * 404 and 409 when it was disconnected meanwhile: then none is left there.
 */
export async function makeHook(
  deps: Needs,
  api: ProviderApi,
  integration: Integration,
  hook: Hook,
): Promise<Hook> {
  // Read before the wish: when the secret is rotated in between, the job sets the newer one once more.
  const { secret } = await getReceivingIntegration(deps.db, integration.id);
  const wish = await wishFor(deps, integration, hook);
  const remoteId = await putHook(api, hook, wish);
  const made = await recordMade(deps.db, hook, { remoteId, events: wish.events, secret });
  if (made !== null) return made;
  await api.deleteHook(hook.placeId, remoteId);
  throw new AppError(409, `${hook.placeName} was disconnected meanwhile, and its webhook was deleted again`);
}

/** Deletes the provider's hook, also one that was made and never noted. Throws `ProviderProblem`. */
export async function unmakeHook(
  deps: Pick<Deps, 'publicUrl'>,
  api: ProviderApi,
  integration: Integration,
  hook: Hook,
): Promise<void> {
  const { placeId, remoteId } = hook;
  const id = remoteId ?? (await findByUrl(api, placeId, urlOf(deps, integration, hook)));
  if (id === null) return;
  try {
    await api.deleteHook(placeId, id);
  } catch (error) {
    // A provider that fails may have deleted it all the same: look before saying that it did not.
    if (!isProblem(error, 'provider-failed') || !(await isGone(api, placeId, id))) throw error;
  }
}

/** False when the provider does not say, either. */
async function isGone(api: ProviderApi, placeId: string, id: string): Promise<boolean> {
  try {
    return (await api.listHooks(placeId)).every((hook) => hook.id !== id);
  } catch {
    return false;
  }
}

/** The id of the hook that now is as wished. */
async function putHook(api: ProviderApi, { placeId, remoteId }: Hook, wish: HookWish): Promise<string> {
  const known = remoteId ?? (await findByUrl(api, placeId, wish.url));
  if (known !== null) {
    try {
      await api.changeHook(placeId, known, wish);
      return known;
    } catch (error) {
      // Somebody deleted it at the provider: it is made anew.
      if (!isProblem(error, 'hook-not-found')) throw error;
    }
  }
  try {
    return (await api.createHook(placeId, wish)).id;
  } catch (error) {
    const existing = isProblem(error, 'hook-exists') ? await findByUrl(api, placeId, wish.url) : null;
    if (existing === null) throw error;
    await api.changeHook(placeId, existing, wish);
    return existing;
  }
}

async function findByUrl(api: ProviderApi, placeId: string, url: string): Promise<string | null> {
  const found = (await api.listHooks(placeId)).find((hook) => hook.url === url);
  return found?.id ?? null;
}

export function isProblem(error: unknown, kind: ProviderProblem['kind']): error is ProviderProblem {
  return error instanceof ProviderProblem && error.kind === kind;
}
