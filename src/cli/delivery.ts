import { InvalidArgumentError, Option } from 'commander';
import { replayDelivery, type SentDelivery, sendDelivery } from '../intake/receiver/send.ts';
import { getDelivery, listDeliveries } from '../integrations/deliveries/log-store.ts';
import {
  type Delivery,
  type DeliveryStatus,
  deliveryStatuses,
  isReplayable,
} from '../integrations/deliveries/store.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { type IntegrationType, providerOf, providers, sampleEvents, sampleFor } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import type { Services } from '../server/services.ts';
import {
  clockTime,
  limitTo,
  ofEvent,
  ofIntegration,
  pageNumber,
  readOf,
  readText,
  sinceThen,
  sinceWhen,
  type TidingsCommand,
} from './command.ts';
import { type Block, type Cell, fields, status, type Text, table } from './output.ts';
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
  addDeliveryCommand(program);
  addSendCommand(program);
}

function addDeliveryCommand(program: TidingsCommand): void {
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

interface SendOptions {
  integration: string;
  repository?: string;
  delivery?: string;
  payload?: string;
  action?: string;
  twice?: true;
  badSignature?: true;
  url?: string;
}

function addSendCommand(program: TidingsCommand): void {
  const group = program.sub('send', 'Send a signed test delivery to the running server');
  const lineOf = ({ id, exampleEvent }: Provider) => `send ${id} ${exampleEvent} --integration int_…`;
  group.examples(...providers.map(lineOf));
  for (const provider of providers) {
    const command = group
      .sub(provider.id, 'Send a signed delivery: a sample, or your own payload')
      .argument('<event>', `Event: ${sampleEvents(provider.id).join(', ')}; any other with --payload`)
      .requiredOption('--integration <id>', 'Integration that gets the delivery')
      .option('--repository <id>', 'ID of the repository (default: the first of the integration)')
      .option('--delivery <id>', 'Delivery ID (default: a new one)')
      .option('--payload <file>', 'JSON file to send instead of a sample')
      .option('--action <action>', 'Action of the sample, such as edited')
      .option('--twice', 'Send the same delivery twice')
      .option('--bad-signature', 'Sign with a wrong secret')
      .option(
        '--url <url>',
        'Address of the server (default: PUBLIC_URL, or http://localhost:PORT)',
        (url) => {
          if (/^https?:/.test(url) && URL.canParse(url)) return url;
          throw new InvalidArgumentError('It must be a URL, such as http://localhost:3000.');
        },
      )
      .action(async (event: string, options: SendOptions, command: TidingsCommand) => {
        const sent = await command.withServices((services) => send(services, provider.id, event, options));
        const [only] = sent;
        command.print(options.twice ? sent : only, () => sent.flatMap(describeSent));
        const refused = sent.find(({ status }) => status >= 400);
        if (refused !== undefined && !options.badSignature) {
          throw new AppError(
            refused.status,
            `The server rejected the delivery with status ${refused.status}.`,
          );
        }
      });
    const line = lineOf(provider);
    command.examples(line, `${line} --twice`, `${line} --payload payload.json`);
  }
}

async function send(
  services: Services,
  type: IntegrationType,
  event: string,
  options: SendOptions,
): Promise<SentDelivery[]> {
  const { integration, repository, delivery, payload, twice, badSignature = false, url } = options;
  const test = {
    integrationId: integration,
    repositoryId: repository,
    event,
    deliveryId: delivery ?? services.ids.newUuid(),
    body: payload === undefined ? await sampleBody(services, type, event, options) : await readText(payload),
    hasBadSignature: badSignature,
    baseUrl: url?.replace(/\/+$/, '') ?? services.publicUrl(),
  };
  const sent = [await sendDelivery(services, test)];
  if (twice) sent.push(await sendDelivery(services, test));
  return sent;
}

async function sampleBody(
  { db, clock }: Services,
  type: IntegrationType,
  event: string,
  { integration: integrationId, repository: repositoryId, action }: SendOptions,
): Promise<string> {
  const integration = await db.read((tx) => getIntegration(tx, integrationId));
  if (integration.type !== type) {
    const [actual, wanted] = [providerOf(integration.type).name, providerOf(type).name];
    throw new AppError(400, `Integration ${integrationId} is for ${actual}, not ${wanted}.`);
  }
  const sample = sampleFor(integration, event, { now: clock.now(), action, repositoryId });
  if (sample !== null && (action === undefined || sample.action === action)) return JSON.stringify(sample);
  const missing =
    action === undefined
      ? `There is no sample of ${event}, only of ${sampleEvents(type).join(', ')}.`
      : `There is no sample of ${event} with the action ${action}.`;
  throw new AppError(400, `${missing} To send any other payload, add --payload FILE.`, { code: 'no_sample' });
}

function describeSent({ request, status, body, durationMs }: SentDelivery): Block[] {
  const { method, url, event, delivery } = request;
  const style = status < 400 ? 'good' : 'bad';
  return [
    fields({
      Request: `${method} ${url}`,
      Event: event,
      Delivery: delivery,
      Response: { text: `${status} in ${durationMs} ms`, style },
    }),
    JSON.stringify(body, null, 2),
  ];
}
