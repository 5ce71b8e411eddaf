import type { Deps } from '../deps.ts';
import { type Integration, providerNames } from '../integrations/model.ts';
import { findSealedToken } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { MAX_TOKEN_LENGTH, type ProviderApi } from './model.ts';

/** A token as a person pasted it, without the blanks around it. Throws `AppError` 400. */
export function requireToken(text: string): string {
  const token = text.trim();
  if (token.length <= MAX_TOKEN_LENGTH && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new AppError(
    400,
    `The token must be 1 to ${MAX_TOKEN_LENGTH} characters without spaces: paste it as the provider showed it`,
  );
}

export function sealToken({ secrets }: Pick<Deps, 'secrets'>, integrationId: string, token: string): Buffer {
  return secrets.seal(token, contextOf(integrationId));
}

/** The provider's API with the integration's token; null when it has none. Throws `WrongSecretKey`. */
export async function findApi(
  deps: Pick<Deps, 'db' | 'secrets' | 'openProviderApi'>,
  { id, type }: Pick<Integration, 'id' | 'type'>,
): Promise<ProviderApi | null> {
  const sealed = await findSealedToken(deps.db, id);
  if (sealed === null) return null;
  return deps.openProviderApi(type, deps.secrets.open(sealed, contextOf(id)));
}

/** Throws `AppError` 409 when the integration has no token. */
export async function requireApi(
  deps: Pick<Deps, 'db' | 'secrets' | 'openProviderApi'>,
  integration: Pick<Integration, 'id' | 'type'>,
): Promise<ProviderApi> {
  const api = await findApi(deps, integration);
  if (api !== null) return api;
  throw new AppError(
    409,
    `Integration ${integration.id} was connected by hand. With a token of ${providerNames[integration.type]} Tidings can do this itself: tidings integration set-token ${integration.id} --token TOKEN`,
  );
}

function contextOf(integrationId: string): string {
  return `provider token of ${integrationId}`;
}
