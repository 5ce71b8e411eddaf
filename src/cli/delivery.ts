import { type Command, Option } from 'commander';
import { getDelivery, listDeliveries } from '../deliveries/log-store.ts';
import { type Delivery, type DeliveryStatus, deliveryStatuses, isReplayable } from '../deliveries/model.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import { replayDelivery } from '../receiver/replay.ts';
import { type CliContext, sinceWhen, timeOrSpan, whole, withServices } from './context.ts';
import { fields, oneLine, print, table } from './output.ts';
import { runNow, stillFailing } from './trigger-runs.ts';

interface ListOptions {
  organization: string;
  integration?: string;
  status?: DeliveryStatus;
  event?: string;
  delivery?: string;
  since?: string;
  limit: number;
  page: number;
}

interface ReplayOptions {
  organization?: string;
  integration?: string;
  event?: string;
  since?: string;
}

export function addDeliveryCommands(program: Command, context: CliContext): void {
  const group = program
    .command('delivery')
    .description('read the log of webhook deliveries, and replay deliveries');

  group
    .command('list')
    .description('list deliveries, newest first')
    .requiredOption('--organization <id>', 'the organization')
    .option('--integration <id>', 'only of this integration')
    .addOption(new Option('--status <status>', 'only with this status').choices(deliveryStatuses))
    .option('--event <name>', "only of this event, by the provider's name for it")
    .option('--delivery <id>', "only with this delivery id of the provider's")
    .option('--since <time>', 'only since then: ISO 8601, or back from now as in 90m, 24h, 30d', timeOrSpan)
    .option('--limit <number>', 'entries per page, 1 to 1000', whole(1, 1000), 50)
    .option('--page <number>', 'page number', whole(1, 1_000_000), 1)
    .action(async ({ organization, ...options }: ListOptions, command: Command) => {
      const entries = await withServices(context, command, (services) =>
        findDeliveries(services, organization, options, options),
      );
      print(context.terminal, command, entries, (all) =>
        all.length === 0
          ? 'No deliveries. Each one appears as soon as it arrives; "send" sends a test delivery.'
          : deliveryTable(all),
      );
    });

  group
    .command('show')
    .description('show one delivery')
    .argument('<id>', "the entry, or the provider's delivery id")
    .action(async (id: string, _options: object, command: Command) => {
      const entry = await withServices(context, command, ({ db }) => db.read((tx) => getDelivery(tx, id)));
      print(context.terminal, command, entry, describeDelivery);
    });

  group
    .command('replay')
    .description('run deliveries again; existing drafts are updated, not duplicated')
    .argument(
      '[id...]',
      "entries of the log, or the provider's delivery ids; default: those that match the filters",
    )
    .option('--organization <id>', 'the organization, when there are no ids')
    .option('--integration <id>', 'only of this integration')
    .option('--event <name>', "only of this event, by the provider's name for it")
    .option('--since <time>', 'only since then: ISO 8601, or back from now as in 90m, 24h, 30d', timeOrSpan)
    .action(async (ids: string[], options: ReplayOptions, command: Command) => {
      if (ids.length === 0 && options.organization === undefined) {
        command.error('error: Say which deliveries: their ids, or --organization ID with filters');
      }
      const [filter] = Object.keys(options);
      if (ids.length > 0 && filter !== undefined) {
        command.error(`error: Name deliveries by their ids or choose them by --${filter}, not both`);
      }
      const { entries, failing } = await withServices(context, command, async (services) => ({
        entries: await replay(services, ids, options),
        failing: (await runNow(services)).length,
      }));
      print(context.terminal, command, entries, (all) =>
        all.length === 0
          ? 'No delivery fits: nothing was run.'
          : `${deliveryTable(all)}\n\nRan ${all.length} again${stillFailing(failing)}.`,
      );
    });
}

/** Deliveries that one command replays: the newest that match. */
const MAX_REPLAYED = 1_000;

/** Replays the named deliveries, or those that match the filters, oldest first. */
async function replay(
  services: Services,
  ids: readonly string[],
  { organization = '', ...options }: ReplayOptions,
): Promise<Delivery[]> {
  const entries: Delivery[] = [];
  for (const delivery of ids.length > 0 ? await named() : await matching()) {
    entries.push(await replayDelivery(services, delivery));
  }
  return entries;

  function named() {
    return services.db.read(async (tx) => {
      const found: Delivery[] = [];
      for (const id of ids) found.push(await getDelivery(tx, id, 'processed'));
      return found;
    });
  }

  async function matching() {
    const filters = { ...options, status: 'processed' } as const;
    const found = await findDeliveries(services, organization, filters, { limit: MAX_REPLAYED, page: 1 });
    return found.filter(isReplayable).reverse();
  }
}

/** Newest first. Throws `AppError` 404 when there is no such organization. */
function findDeliveries(
  { db, clock }: Services,
  organizationId: string,
  { integration, status, event, delivery, since }: Partial<ListOptions>,
  page: { limit: number; page: number },
): Promise<Delivery[]> {
  const filter = {
    integrationId: integration,
    status,
    event,
    anyId: delivery,
    since: since === undefined ? undefined : sinceWhen(since, clock.now()),
  };
  return db.read(async (tx) => {
    await getOrganization(tx, organizationId);
    return listDeliveries(tx, organizationId, filter, page);
  });
}

function deliveryTable(entries: readonly Delivery[]): string {
  return table(['TIME', 'STATUS', 'EVENT', 'WHAT HAPPENED', 'ID'], entries.map(row));
}

function row(entry: Delivery): string[] {
  const { createdAt, status, statusCode, payload, title, count, reason, replayOf, id } = entry;
  const times = replayOf !== null ? ' (replay)' : count > 1 ? ` (${count} times)` : '';
  const why = status === 'ignored' || status === 'failed' ? `: ${reason}` : '';
  return [
    createdAt.slice(0, 19).replace('T', ' '),
    `${status} ${statusCode}`,
    payload.event ?? '–',
    oneLine(`${title}${times}${why}`, 70),
    id,
  ];
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
