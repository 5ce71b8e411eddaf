import type { Deps } from '../deps.ts';
import type { Integration } from '../integrations/model.ts';
import { revealSecret } from '../integrations/service.ts';
import { type Hook, type HookWish, type ProviderApi, ProviderProblem } from './model.ts';
import { updateHook } from './store.ts';
import { wishFor } from './wish.ts';

type Needs = Pick<Deps, 'db' | 'secrets' | 'publicUrl'>;

/**
 * Makes the provider's hook what it is to be: made when there is none, taken over when there is one with its URL,
 * changed otherwise. Throws `ProviderProblem`; what the provider has by then is known to the database.
 */
export async function makeHook(
  deps: Needs,
  api: ProviderApi,
  integration: Integration,
  hook: Hook,
): Promise<Hook> {
  const wish = await wishFor(deps, integration, hook);
  const remoteId = await putHook(api, hook, wish);
  // Somebody may have rotated the secret meanwhile: then the job sets the newer one.
  const hasPresentSecret = (await revealSecret(deps, integration.id)) === wish.secret;
  const made = { remoteId, events: wish.events, hasPresentSecret };
  const well = { problem: null, retryAt: null, attempts: 0 };
  await updateHook(deps.db, hook, { ...made, ...well });
  return { ...hook, ...made, ...well };
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

export async function findByUrl(api: ProviderApi, placeId: string, url: string): Promise<string | null> {
  const found = (await api.listHooks(placeId)).find((hook) => hook.url === url);
  return found?.id ?? null;
}

export function isProblem(error: unknown, kind: ProviderProblem['kind']): error is ProviderProblem {
  return error instanceof ProviderProblem && error.kind === kind;
}
