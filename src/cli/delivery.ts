import { type Command, Option } from 'commander';
import { type DeliveryFilter, getDelivery, listDeliveries } from '../deliveries/log-store.ts';
import { type Delivery, type DeliveryStatus, deliveryStatuses } from '../deliveries/model.ts';
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
    .description('read the log of webhook deliveries, and run them again');

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
      const entries = await withServices(context, command, async ({ db, clock }) => {
        await getOrganization(db, organization);
        const filter = {
          integrationId: options.integration,
          status: options.status,
          event: options.event,
          referenceId: options.delivery,
          since: options.since === undefined ? undefined : sinceWhen(options.since, clock.now()),
        };
        return listDeliveries(db, organization, filter, options);
      });
      print(context.terminal, command, entries, (all) =>
        all.length === 0
          ? 'No deliveries here. Deliveries appear as soon as they arrive; "send" sends a test.'
          : table(['TIME', 'STATUS', 'EVENT', 'WHAT HAPPENED', 'ID'], all.map(row)),
      );
    });

  group
    .command('show')
    .description('show one delivery')
    .argument('<id>', "the entry, or the provider's delivery id")
    .action(async (id: string, _options: object, command: Command) => {
      const entry = await withServices(context, command, ({ db }) => getDelivery(db, id));
      print(context.terminal, command, entry, describeDelivery);
    });

  group
    .command('replay')
    .description('run deliveries again; what they made already is brought up to date, not doubled')
    .argument(
      '[id...]',
      "entries of the log, or the provider's delivery ids; without any, those that fit the filters",
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
          : `${table(['TIME', 'STATUS', 'EVENT', 'WHAT HAPPENED', 'ID'], all.map(row))}\n\nRan ${all.length} again${stillFailing(failing)}.`,
      );
    });
}

/** The named deliveries, or the processed ones that fit the filters, oldest first. */
async function replay(
  services: Services,
  ids: readonly string[],
  options: ReplayOptions,
): Promise<Delivery[]> {
  const { db } = services;
  const found =
    ids.length > 0
      ? await Promise.all(ids.map((id) => getDelivery(db, id, 'processed')))
      : await findReplayable(services, options);
  const entries: Delivery[] = [];
  for (const delivery of found) entries.push(await replayDelivery(services, delivery));
  return entries;
}

async function findReplayable({ db, clock }: Services, options: ReplayOptions): Promise<Delivery[]> {
  const { organization = '', integration, event, since } = options;
  await getOrganization(db, organization);
  const filter: DeliveryFilter = {
    integrationId: integration,
    event,
    status: 'processed',
    since: since === undefined ? undefined : sinceWhen(since, clock.now()),
  };
  const found = await listDeliveries(db, organization, filter, { limit: MAX_REPLAYED, page: 1 });
  // A ping tells nothing, and a replay is in the log beside what it ran again.
  return found.filter(({ payload, replayOf }) => payload.data !== null && replayOf === null).reverse();
}

/** How many deliveries one command runs again: the newest that fit. */
const MAX_REPLAYED = 1_000;

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
