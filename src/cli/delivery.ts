import { type Command, InvalidArgumentError, Option } from 'commander';
import { DAY_MS, parseTime } from '../lib/time.ts';
import { getOrganization } from '../organizations/store.ts';
import { type Delivery, type DeliveryStatus, deliveryStatuses } from '../webhooks/model.ts';
import { getDelivery, listDeliveries } from '../webhooks/store.ts';
import { type CliContext, withServices } from './context.ts';
import { whole } from './options.ts';
import { fields, oneLine, print, table } from './output.ts';

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

export function addDeliveryCommands(program: Command, context: CliContext): void {
  const group = program.command('delivery').description('read the log of webhook deliveries');

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
          ? 'No deliveries here. What GitHub and Linear send appears as soon as it arrives; "send" sends a test.'
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
}

function row({ createdAt, status, statusCode, payload, title, count, reason, id }: Delivery): string[] {
  const times = count > 1 ? ` (${count} times)` : '';
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
    ...(entry.reason === null ? {} : { Why: oneLine(entry.reason, 300) }),
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

const SPAN = /^(\d{1,5})([mhd])$/;
const SPAN_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: DAY_MS };

function timeOrSpan(text: string): string {
  if (SPAN.test(text) || parseTime(text) !== null) return text;
  throw new InvalidArgumentError('It must be an ISO 8601 time, or a span such as 90m, 24h or 30d.');
}

function sinceWhen(text: string, now: Date): Date {
  const [, amount = '0', unit = ''] = SPAN.exec(text) ?? [];
  return parseTime(text) ?? new Date(now.getTime() - Number(amount) * (SPAN_MS[unit] ?? 0));
}
