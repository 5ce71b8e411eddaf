/** @jsxRuntime automatic @jsxImportSource preact */

import { listDeliveries } from '../../deliveries/log-store.ts';
import type { Deps } from '../../deps.ts';
import { listIntegrations } from '../../integrations/store.ts';
import type { ApiKey } from '../../keys/model.ts';
import { AppError } from '../../lib/app-error.ts';
import { contentTypes } from '../../posts/model.ts';
import { tallyPosts } from '../../posts/store.ts';
import { get, type Page, view } from '../page.ts';
import { StartPage } from './start-page.tsx';

/** How far an organization has come. */
export interface Progress {
  /** Null: whoever keeps the keys does not answer just now. */
  hasKey: boolean | null;
  hasCall: boolean | null;
  hasIntegration: boolean;
  hasDelivery: boolean;
  hasPost: boolean;
}

/** The way from an account to a first call and a first delivery. */
export const start: readonly Page[] = [
  get('/dashboard/:organizationId/start', 'member', async (visit) =>
    view(
      'First steps',
      <StartPage visit={visit} progress={await progressOf(visit.deps, visit.organization.id)} />,
    ),
  ),
];

async function progressOf(deps: Deps, organizationId: string): Promise<Progress> {
  const { db } = deps;
  const keys = await listKeysIfPossible(deps, organizationId);
  const deliveries = await listDeliveries(db, organizationId, {}, { limit: 1, page: 1 });
  const statuses = ['draft', 'published'] as const;
  const posts = await tallyPosts(db, organizationId, {
    statuses: [...statuses],
    contentTypes: [...contentTypes],
  });
  return {
    hasKey: keys?.some(({ status }) => status === 'active') ?? null,
    hasCall: keys?.some(({ lastUsedAt }) => lastUsedAt !== null) ?? null,
    hasIntegration: (await listIntegrations(db, organizationId)).length > 0,
    hasDelivery: deliveries.length > 0,
    hasPost: posts.totalItems > 0,
  };
}

/** The other steps do not depend on the keys, and are shown without them. */
async function listKeysIfPossible({ keys, log }: Deps, organizationId: string): Promise<ApiKey[] | null> {
  try {
    return await keys.listKeys(organizationId);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    log.warn({ err: error }, 'the keys could not be listed');
    return null;
  }
}
