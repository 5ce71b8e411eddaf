import { and, asc, eq, isNotNull, isNull, lte } from 'drizzle-orm';
import type { ReadTx } from '../../db/engine.ts';
import { apps, integrations, tokenStates } from '../../db/schema/integrations.ts';
import { listSilent } from '../intake/watch/silence-store.ts';
import { getIntegration } from '../integrations/store.ts';
import { integrationName } from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import { DAY_MS } from '../lib/time.ts';
import type { FoundItem } from '../people/attention.ts';
import { providerOf } from '../providers/index.ts';
import {
  type Find,
  firstSentence,
  MAX_ITEMS,
  NO_DRAFTS,
  ofIntegration,
  placesOf,
} from './attention-items.ts';

// Items about the access to providers, and about webhooks that say nothing.

/** How long before its end a token is an item, and is urgent, in milliseconds. */
const EXPIRES_MS = 14 * DAY_MS;
const URGENT_MS = 3 * DAY_MS;

const { id, organizationId, enabled, type } = integrations;
const { problem, problemSince, expiresAt } = tokenStates;

const selectTokens = (tx: ReadTx) =>
  tx
    .select({ id, organizationId, type, problem, problemSince, expiresAt })
    .from(tokenStates)
    .innerJoin(integrations, eq(id, tokenStates.integrationId));

/** A token acts for its integration: a person makes another one at the provider, and gives it to Tidings. */
async function aboutToken(
  tx: ReadTx,
  row: { id: string; organizationId: string; type: (typeof type)['_']['data'] },
) {
  return {
    ...ofIntegration(row.organizationId, row.id),
    action: `${tidings} integration set-token ${row.id} --token TOKEN`,
    name: integrationName(await getIntegration(tx, row.id)),
    provider: providerOf(row.type).name,
  };
}

const NO_ACCESS =
  'Tidings cannot repair webhooks, request missed deliveries, or read the commits of releases.';

export const findRefusedTokens: Find = async (tx) => {
  const rows = await selectTokens(tx)
    .where(and(eq(enabled, true), isNotNull(problem)))
    .orderBy(asc(problemSince))
    .limit(MAX_ITEMS)
    .all();
  return Array.fromAsync(rows, async (row): Promise<FoundItem> => {
    const { name, provider: _, ...about } = await aboutToken(tx, row);
    const message = `${name}: ${firstSentence(row.problem ?? '')}`;
    return { ...about, kind: 'token_refused', since: row.problemSince, count: 1, message, effect: NO_ACCESS };
  });
};

export const findExpiringTokens: Find = async (tx, now) => {
  const ahead = (ms: number) => new Date(now.getTime() + ms).toISOString();
  const rows = await selectTokens(tx)
    .where(and(eq(enabled, true), isNull(problem), lte(expiresAt, ahead(EXPIRES_MS))))
    .orderBy(asc(expiresAt))
    .limit(MAX_ITEMS)
    .all();
  return Array.fromAsync(rows, async (row): Promise<FoundItem> => {
    const { name, provider, ...about } = await aboutToken(tx, row);
    const end = row.expiresAt ?? '';
    const when = end <= ahead(0) ? 'expired' : end <= ahead(URGENT_MS) ? 'expires within 3 days,' : 'expires';
    return {
      ...about,
      kind: 'token_expires',
      since: new Date(Date.parse(end) - EXPIRES_MS).toISOString(),
      count: 1,
      message: `${name}: the ${provider} token ${when} on ${end.slice(0, 10)}`,
      effect: `From then on, ${NO_ACCESS}`,
    };
  });
};

export const findSilent: Find = async (tx) => {
  const rows = await listSilent(tx, MAX_ITEMS);
  return Array.fromAsync(rows, async (row): Promise<FoundItem> => {
    const name = row.place === null ? integrationName(await getIntegration(tx, row.id)) : placesOf(row);
    const since = row.since ?? '';
    const gap = `nothing has arrived since ${since.slice(0, 10)}`;
    return {
      ...ofIntegration(row.organizationId, row.id),
      kind: 'silent',
      since,
      count: row.places,
      message: row.isProven
        ? `${name}: ${gap}, but the provider has newer changes`
        : `${name}: ${gap}, which is unusually long for it`,
      effect: row.isProven ? NO_DRAFTS : 'If its webhook has stopped, changes there make no drafts.',
    };
  });
};

export const findSuspendedApps: Find = async (tx) => {
  const rows = await tx
    .select({ id, organizationId, slug: apps.slug, since: apps.suspendedAt })
    .from(apps)
    .innerJoin(integrations, eq(id, apps.integrationId))
    .where(and(isNotNull(apps.suspendedAt), eq(enabled, true)))
    .limit(MAX_ITEMS)
    .all();
  return rows.map((row) => ({
    ...ofIntegration(row.organizationId, row.id),
    kind: 'app_suspended',
    since: row.since,
    count: 1,
    message: `The installation of the App ${row.slug} is suspended`,
    effect: NO_DRAFTS,
  }));
};
