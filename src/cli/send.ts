import { InvalidArgumentError } from 'commander';
import { type SentDelivery, sendDelivery } from '../intake/receiver/send.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { type IntegrationType, providerOf, providers, sampleEvents, sampleFor } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import type { Services } from '../server/services.ts';
import { readText, type TidingsCommand } from './command.ts';
import { type Block, fields } from './output.ts';

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

export function add(program: TidingsCommand): void {
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
        command.print(options.twice ? sent : only, () => sent.flatMap(describe));
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

function describe({ request, status, body, durationMs }: SentDelivery): Block[] {
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
