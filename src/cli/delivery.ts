import { type Command, Option } from 'commander';
import { getDelivery, listDeliveries } from '../deliveries/log-store.ts';
import { type Delivery, type DeliveryStatus, deliveryStatuses, isReplayable } from '../deliveries/model.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import { replayDelivery } from '../receiver/replay.ts';
import { answering, clockTime, limitTo, ofEvent, ofIntegration, pageNumber, sinceThen } from './command.ts';
import { type CliContext, sinceWhen } from './context.ts';
import { fields, oneLine, table } from './output.ts';
import { runNow, stillFailing } from './trigger-runs.ts';

interface Filters {
  organization: string;
  integration?: string;
  status?: DeliveryStatus;
  event?: string;
  delivery?: string;
  since?: string;
}

export function addDeliveryCommands(program: Command, context: CliContext): void {
  const answer = answering(context);
  const group = program
    .command('delivery')
    .description('read the log of webhook deliveries, and replay deliveries');

  group
    .command('list')
    .description('list deliveries, newest first')
    .requiredOption('--organization <id>', 'the organization')
    .addOption(ofIntegration)
    .addOption(new Option('--status <status>', 'only with this status').choices(deliveryStatuses))
    .addOption(ofEvent)
    .option('--delivery <id>', "only with this delivery id of the provider's")
    .addOption(sinceThen)
    .addOption(limitTo('entries per page'))
    .addOption(pageNumber)
    .action(
      answer(findDeliveries, (entries) =>
        entries.length === 0
          ? 'No deliveries. Each one appears as soon as it arrives; "send" sends a test delivery.'
          : deliveryTable(entries),
      ),
    );

  group
    .command('show')
    .description('show one delivery')
    .argument('<id>', "the entry, or the provider's delivery id")
    .action(answer(({ db }, id: string) => db.read((tx) => getDelivery(tx, id)), describeDelivery));

  group
    .command('replay')
    .description('run deliveries again; existing drafts are updated, not duplicated')
    .argument(
      '[id...]',
      "entries of the log, or the provider's delivery ids; default: those that match the filters",
    )
    .option('--organization <id>', 'the organization, when there are no ids')
    .addOption(ofIntegration)
    .addOption(ofEvent)
    .addOption(sinceThen)
    .hook('preAction', (given) => {
      const [filter] = Object.keys(given.opts());
      if (given.args.length === 0 && given.opts().organization === undefined) {
        given.error('error: Say which deliveries: their ids, or --organization ID with filters');
      }
      if (given.args.length > 0 && filter !== undefined) {
        given.error(`error: Name deliveries by their ids or choose them by --${filter}, not both`);
      }
    })
    .action(
      answer(
        async (services, ids: string[], options: Filters) => ({
          entries: await replay(services, ids, options),
          failing: await runNow(services),
        }),
        ({ entries, failing }) =>
          entries.length === 0
            ? 'No delivery fits: nothing was run.'
            : `${deliveryTable(entries)}\n\nRan ${entries.length} again${stillFailing(failing)}.`,
        ({ entries }) => entries,
      ),
    );
}

/** Deliveries that one command replays: the newest that match. */
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
function findDeliveries({ db, clock }: Services, options: Filters & { limit: number; page: number }) {
  const { organization, integration, status, event, delivery, since, limit, page } = options;
  const filter = {
    integrationId: integration,
    status,
    event,
    anyId: delivery,
    since: since === undefined ? undefined : sinceWhen(since, clock.now()),
  };
  return db.read(async (tx) => {
    await getOrganization(tx, organization);
    return listDeliveries(tx, organization, filter, { limit, page });
  });
}

function deliveryTable(entries: readonly Delivery[]): string {
  return table(['TIME', 'STATUS', 'EVENT', 'WHAT HAPPENED', 'ID'], entries.map(row));
}

function row(entry: Delivery): string[] {
  const { createdAt, status, statusCode, payload, title, count, reason, replayOf, id } = entry;
  const times = replayOf !== null ? ' (replay)' : count > 1 ? ` (${count} times)` : '';
  const why = status === 'ignored' || status === 'failed' ? `: ${reason}` : '';
  const what = oneLine(`${title}${times}${why}`, 70);
  return [clockTime(createdAt), `${status} ${statusCode}`, payload.event ?? '–', what, id];
}

function describeDelivery(entry: Delivery): string {
  const description = fields({
    Delivery: entry.id,
    What: oneLine(entry.title, 200),
    Status: `${entry.status}, answered ${entry.statusCode} in ${entry.durationMs} ms`,
    ...(entry.reason === null ? {} : { Why: oneLine(entry.reason, 600) }),
    ...(entry.replayOf === null ? {} : { 'Replay of': entry.replayOf }),
    ...(entry.count > 1 ? { Arrivals: String(entry.count) } : {}),
    Event: [entry.payload.event, entry.payload.action].filter((part) => part !== null).join(', ') || null,
    'Delivery id': entry.referenceId,
    ...(entry.sameBodyAs === null ? {} : { 'Same body as': entry.sameBodyAs }),
    Integration: `${entry.integrationId} (${entry.integrationType})`,
    Received: entry.createdAt,
    Kept: `${entry.retentionDays} days`,
  });
  const { data } = entry.payload;
  return data === null ? description : `${description}\n\n${JSON.stringify(data, null, 2)}`;
}
