import { Option } from 'commander';
import { replayDelivery } from '../intake/receiver/replay.ts';
import { getDelivery, listDeliveries } from '../integrations/deliveries/log-store.ts';
import {
  type Delivery,
  type DeliveryStatus,
  deliveryStatuses,
  isReplayable,
} from '../integrations/deliveries/store.ts';
import { tidings } from '../lib/build.ts';
import type { Services } from '../server/services.ts';
import {
  clockTime,
  limitTo,
  ofEvent,
  ofIntegration,
  pageNumber,
  readOf,
  sinceThen,
  sinceWhen,
  type TidingsCommand,
} from './command.ts';
import { type Cell, fields, status, type Text, table } from './output.ts';
import { runNow, stillFailing } from './trigger-runs.ts';

interface Filters {
  organization: string;
  integration?: string;
  status?: DeliveryStatus;
  event?: string;
  delivery?: string;
  since?: string;
  via?: 'webhook' | 'polling';
}

export function add(program: TidingsCommand): void {
  const group = program
    .sub('delivery', 'Show the log of webhook deliveries, and replay them')
    .examples('delivery list --organization acme --since 24h', 'delivery replay dlv_…');

  group
    .sub('list', 'List deliveries, newest first')
    .requiredOption('--organization <id>', 'Organization')
    .addOption(ofIntegration)
    .addOption(new Option('--status <status>', 'Only this status').choices(deliveryStatuses))
    .addOption(ofEvent)
    .option('--delivery <id>', "Only this delivery ID, the provider's")
    .addOption(new Option('--via <way>', 'Only what arrived this way').choices(['webhook', 'polling']))
    .addOption(sinceThen)
    .addOption(limitTo('Entries per page'))
    .addOption(pageNumber)
    .answers(findDeliveries, (entries) =>
      entries.length === 0
        ? `No deliveries found. To send a test delivery, see ${tidings} send --help`
        : deliveryTable(entries),
    )
    .examples(
      'delivery list --organization acme --since 24h',
      'delivery list --organization acme --status rejected',
    );

  group
    .sub('show', 'Show one delivery')
    .argument('<id>', "ID of the log entry, or the provider's delivery ID")
    .answers(({ db }, id: string) => db.read((tx) => getDelivery(tx, id)), describeDelivery)
    .examples('delivery show dlv_…', 'delivery show 72d3162e-cc78-11e3-81ab-4c9367dc0958');

  group
    .sub('replay', 'Replay deliveries. Existing drafts are updated, not duplicated.')
    .argument(
      '[id...]',
      "IDs of log entries, or the provider's delivery IDs (default: all that match the filters)",
    )
    .option('--organization <id>', 'Organization, when no IDs are given')
    .addOption(ofIntegration)
    .addOption(ofEvent)
    .addOption(sinceThen)
    .hook('preAction', (given) => {
      const [filter] = Object.keys(given.opts());
      if (given.args.length === 0 && given.opts().organization === undefined) {
        given.error('error: no deliveries chosen. Add their IDs, or --organization ID and filters');
      }
      if (given.args.length > 0 && filter !== undefined) {
        given.error(`error: IDs and --${filter} cannot be combined`);
      }
    })
    .answers(
      async (services, ids: string[], options: Filters) => ({
        entries: await replay(services, ids, options),
        failing: await runNow(services),
      }),
      ({ entries, failing }) =>
        entries.length === 0
          ? 'No deliveries match. Nothing was replayed.'
          : [deliveryTable(entries), `Replayed ${entries.length}${stillFailing(failing)}.`],
      ({ entries }) => entries,
    )
    .examples('delivery replay dlv_…', 'delivery replay --organization acme --event release --since 7d');
}

const MAX_REPLAYED = 1_000;

/** Replays the named deliveries, or those that match the filters, oldest first. */
async function replay(services: Services, ids: readonly string[], options: Filters): Promise<Delivery[]> {
  const filters = { ...options, status: 'processed', limit: MAX_REPLAYED, page: 1 } as const;
  const chosen =
    ids.length > 0
      ? await services.db.read((tx) => Array.fromAsync(ids, (id) => getDelivery(tx, id, 'processed')))
      : (await findDeliveries(services, filters)).filter(isReplayable).reverse();
  return Array.fromAsync(chosen, (delivery) => replayDelivery(services, delivery));
}

/** Newest first. Throws `AppError` 404 when there is no such organization. */
function findDeliveries(services: Services, options: Filters & { limit: number; page: number }) {
  const { organization, integration, status, event, delivery, since, via, limit, page } = options;
  const filter = {
    integrationId: integration,
    status,
    event,
    anyId: delivery,
    isPolled: via === undefined ? undefined : via === 'polling',
    since: since === undefined ? undefined : sinceWhen(since, services.clock.now()),
  };
  return readOf(services, organization, (tx) => listDeliveries(tx, organization, filter, { limit, page }));
}

function deliveryTable(entries: readonly Delivery[]) {
  return table(['TIME', 'STATUS', 'EVENT', 'TITLE', 'ID'], entries.map(row), ['TITLE', 'EVENT']);
}

function row(entry: Delivery): Cell[] {
  const { createdAt, statusCode, payload, count, reason, replayOf, isPolled, id } = entry;
  const times =
    replayOf !== null ? ' (replay)' : isPolled ? ' (polled)' : count > 1 ? ` (${count} times)` : '';
  const why = entry.status === 'ignored' || entry.status === 'failed' ? `: ${reason}` : '';
  const state = status(entry.status, statusCode < 400 ? entry.status : `${entry.status} ${statusCode}`);
  return [clockTime(createdAt), state, payload.event ?? '–', `${entry.title}${times}${why}`, id];
}

function describeDelivery(entry: Delivery): Text {
  const description = fields({
    Delivery: entry.id,
    Title: entry.title,
    Status: status(
      entry.status,
      entry.isPolled
        ? `${entry.status}, polled`
        : `${entry.status}, answered ${entry.statusCode} in ${entry.durationMs} ms`,
    ),
    ...(entry.reason === null ? {} : { Reason: entry.reason }),
    ...(entry.replayOf === null ? {} : { 'Replay of': entry.replayOf }),
    ...(entry.count > 1 ? { Arrivals: String(entry.count) } : {}),
    Event: [entry.payload.event, entry.payload.action].filter((part) => part !== null).join(', ') || null,
    'Delivery ID': entry.referenceId,
    ...(entry.sameBodyAs === null ? {} : { 'Same body as': entry.sameBodyAs }),
    Integration: `${entry.integrationId} (${entry.integrationType})`,
    Received: entry.createdAt,
    Kept: `${entry.retentionDays} days`,
  });
  const { data } = entry.payload;
  return [description, data === null ? '' : JSON.stringify(data, null, 2)];
}
