import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/how-to-run.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { MAX_TOKEN_LENGTH, type ProviderApi } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import type { Integration } from './model.ts';
import { findSealedToken } from './store.ts';

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

/**
 * The provider's API with the integration's token; null when it has none, or one that cannot be read any more because
 * the secret key was lost.
 */
export async function findApi(
  deps: Pick<Deps, 'db' | 'secrets' | 'openProviderApi'>,
  { id, type }: Pick<Integration, 'id' | 'type'>,
): Promise<ProviderApi | null> {
  const sealed = await findSealedToken(deps.db, id);
  if (sealed === null) return null;
  const token = openedOrNull(deps, sealed, id);
  return token === null ? null : deps.openProviderApi(type, token);
}

function openedOrNull({ secrets }: Pick<Deps, 'secrets'>, sealed: Buffer, id: string): string | null {
  try {
    return secrets.open(sealed, contextOf(id));
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}

/** Throws `AppError` 409 when the integration has no token that can be read. */
export async function requireApi(
  deps: Pick<Deps, 'db' | 'secrets' | 'openProviderApi'>,
  integration: Pick<Integration, 'id' | 'type'>,
): Promise<ProviderApi> {
  const api = await findApi(deps, integration);
  if (api !== null) return api;
  const provider = providerOf(integration.type);
  if (provider.api === null) {
    throw new AppError(409, `Tidings cannot manage webhooks at ${provider.name}: set them up there by hand`);
  }
  throw new AppError(
    409,
    `Integration ${integration.id} was connected by hand, or its token cannot be read. With a token of ${provider.name} Tidings can do this itself: ${tidings} integration set-token ${integration.id} --token TOKEN`,
  );
}

function contextOf(integrationId: string): string {
  return `provider token of ${integrationId}`;
}
