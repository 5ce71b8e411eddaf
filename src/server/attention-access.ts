import { and, asc, eq, isNotNull, isNull, lte } from 'drizzle-orm';
import { dialectOf, type ReadTx } from '../../db/engine.ts';
import { apps, hooks, integrations, tokenStates } from '../../db/schema/integrations.ts';
import { listSilent } from '../intake/silence.ts';
import { getIntegration } from '../integrations/store.ts';
import { integrationName } from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import { count } from '../lib/text.ts';
import { DAY_MS, formatInZone } from '../lib/time.ts';
import {
  type Find,
  type FoundItem,
  firstSentence,
  MAX_ITEMS,
  NO_DRAFTS,
  ofIntegration,
  placesOf,
  READ_LATE,
} from '../people/attention.ts';
import { isOfLive } from '../people/organization-store.ts';
import { providerOf } from '../providers/index.ts';

// Items about the access to providers, and about webhooks that say nothing.

/** How long before its end a token is an item, and is urgent, in milliseconds. */
const EXPIRES_MS = 14 * DAY_MS;
const URGENT_MS = 3 * DAY_MS;

const { id, organizationId, enabled, isPolled, type } = integrations;
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
    .where(and(eq(enabled, true), isNotNull(problem), isOfLive(organizationId)))
    .orderBy(asc(problemSince))
    .limit(MAX_ITEMS)
    .all();
  return Array.fromAsync(rows, async (row): Promise<FoundItem> => {
    const { name, provider: _, ...about } = await aboutToken(tx, row);
    const message = `${name}: ${firstSentence(row.problem ?? '')}`;
    return { ...about, kind: 'token_refused', since: row.problemSince, message, effect: NO_ACCESS };
  });
};

export const findExpiringTokens: Find = async (tx, now) => {
  const ahead = (ms: number) => new Date(now.getTime() + ms).toISOString();
  const rows = await selectTokens(tx)
    .where(
      and(eq(enabled, true), isNull(problem), lte(expiresAt, ahead(EXPIRES_MS)), isOfLive(organizationId)),
    )
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
      message: `${name}: the ${provider} token ${when} on ${formatInZone(end, 'UTC')}`,
      effect: `Once it has expired, ${NO_ACCESS}`,
    };
  });
};

export const findSilent: Find = async (tx) => {
  const rows = await listSilent(tx, MAX_ITEMS);
  return Array.fromAsync(rows, async (row): Promise<FoundItem> => {
    const name = row.place === null ? integrationName(await getIntegration(tx, row.id)) : placesOf(row);
    const since = row.since ?? '';
    const gap = `nothing has arrived since ${formatInZone(since, 'UTC')}`;
    return {
      ...ofIntegration(row.organizationId, row.id),
      kind: 'silent',
      since,
      message: row.isProven
        ? `${name}: ${gap}, but the provider has newer changes`
        : `${name}: ${gap}, which is unusually long for it`,
      effect: row.isProven ? NO_DRAFTS : 'If its webhook has stopped, changes there make no drafts.',
    };
  });
};

export const findSuspendedApps: Find = async (tx) => {
  const rows = await tx
    .select({ id, organizationId, type, slug: apps.slug, url: apps.url, since: apps.suspendedAt })
    .from(apps)
    .innerJoin(integrations, eq(id, apps.integrationId))
    .where(and(isNotNull(apps.suspendedAt), eq(enabled, true), isOfLive(organizationId)))
    .limit(MAX_ITEMS)
    .all();
  return rows.map(({ type: of, ...row }) => {
    const { name, app } = providerOf(of);
    return {
      ...ofIntegration(row.organizationId, row.id),
      kind: 'app_suspended',
      since: row.since,
      message: `Somebody suspended the App ${row.slug} at ${name}`,
      effect: `${name} delivers nothing. ${NO_DRAFTS}`,
      action: `Choose the account, and unsuspend the App: ${app?.pages(undefined, row).installations ?? row.url}`,
    };
  });
};

/** Of each integration, its webhooks whose recovery may have this in its JSON. */
async function hooksWith(tx: ReadTx, part: string) {
  const rows = await tx
    .select({ id, organizationId, type, place: hooks.placeName, recovery: hooks.recovery })
    .from(hooks)
    .innerJoin(integrations, eq(id, hooks.integrationId))
    .where(
      and(
        eq(enabled, true),
        eq(isPolled, false),
        dialectOf(tx).contains(hooks.recovery, part),
        isOfLive(organizationId),
      ),
    )
    .orderBy(asc(id), asc(hooks.placeName))
    .limit(MAX_ITEMS)
    .all();
  return Map.groupBy(rows, (row) => row.id)
    .values()
    .flatMap((group) => {
      const [first] = group;
      return first === undefined ? [] : [{ ...first, places: group.length, group }];
    })
    .toArray();
}

export const findSwitchedOff: Find = async (tx) =>
  (await hooksWith(tx, '"isOff":true')).map((row) => {
    const { name } = providerOf(row.type);
    return {
      ...ofIntegration(row.organizationId, row.id),
      kind: 'webhook_off',
      message: `${placesOf(row)}: the webhook is switched off or deleted at ${name}`,
      effect: READ_LATE,
      action: `${tidings} integration repair ${row.id}`,
    };
  });

export const findFailedHeartbeats: Find = async (tx) =>
  (await hooksWith(tx, '"since":"')).flatMap((row) => {
    const failed = row.group.flatMap(({ place, recovery }) => {
      const { problem = null, since = null, redelivered } = recovery?.heartbeat ?? {};
      const what = redelivered == null ? 'ping' : 'delivery';
      return problem === null ? [] : { place, problem, since, what };
    });
    const [first] = failed;
    if (first === undefined) return [];
    return {
      ...ofIntegration(row.organizationId, row.id),
      kind: 'heartbeat_failed',
      since: first.since,
      message: `${placesOf({ place: first.place, places: failed.length })}: the ${first.what} that Tidings asked for did not arrive (${first.problem})`,
      effect: `Deliveries may not arrive either. ${READ_LATE}`,
    };
  });

export const findLost: Find = async (tx) =>
  (await hooksWith(tx, '"lost":[{')).map((row) => {
    const lost = row.group.flatMap(({ recovery }) => recovery?.lost ?? []);
    const since = lost.map(({ deliveredAt }) => deliveredAt).sort()[0] ?? null;
    return {
      ...ofIntegration(row.organizationId, row.id),
      kind: 'deliveries_lost',
      since,
      count: lost.length,
      message: `${placesOf(row)}: ${count(lost.length, 'missed delivery', 'missed deliveries')} cannot be had again (${firstSentence(lost[0]?.reason ?? '')})`,
      effect:
        'Their changes make no drafts: write a post about what readers miss. The item ends after a week.',
      action: `${tidings} integration missed ${row.id}`,
    };
  });
