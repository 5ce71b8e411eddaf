import type { Command } from 'commander';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import type { Services } from '../main.ts';
import { type IntegrationType, providers, sampleEvents, sampleFor } from '../providers/index.ts';
import { type SentDelivery, sendDelivery } from '../receiver/send.ts';
import { readText } from './command.ts';
import { type CliContext, withServices } from './context.ts';
import { print } from './output.ts';

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

export function addSendCommand(program: Command, context: CliContext): void {
  const group = program.command('send').description('send a signed test delivery to the running service');
  for (const provider of providers) {
    group
      .command(provider.id)
      .description(`a delivery as ${provider.name} sends it`)
      .argument('<event>', `the event: ${sampleEvents(provider.id).join(', ')}; any other with --payload`)
      .requiredOption('--integration <id>', 'the integration that it is for')
      .option('--repository <id>', "the repository (default: the integration's first)")
      .option('--delivery <id>', 'the delivery id (default: a new one)')
      .option('--payload <file>', 'the JSON to send instead of a sample')
      .option('--action <action>', 'the action of the sample, such as edited of release')
      .option('--twice', 'send the same delivery twice')
      .option('--bad-signature', 'sign with another secret')
      .option('--url <url>', 'where the service is (default: PUBLIC_URL, or http://localhost:PORT)')
      .action(async (event: string, options: SendOptions, command: Command) => {
        const sent = await withServices(context, command, (services) =>
          send(services, provider.id, event, options),
        );
        const [only] = sent;
        print(context.terminal, command, options.twice ? sent : only, () => sent.map(describe).join('\n\n'));
        const refused = sent.find(({ status }) => status >= 400);
        if (refused !== undefined && !options.badSignature) {
          throw new AppError(refused.status, `The delivery was refused with ${refused.status}`);
        }
      });
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
    throw new AppError(400, `Integration ${integrationId} is one of ${integration.type}, not of ${type}`);
  }
  const sample = sampleFor(integration, event, { now: clock.now(), action, repositoryId });
  if (sample !== null && (action === undefined || sample.action === action)) return JSON.stringify(sample);
  const missing =
    action === undefined
      ? `There is no sample of ${event}. There are ${sampleEvents(type).join(', ')}`
      : `There is no sample of ${event} with the action ${action}`;
  throw new AppError(400, `${missing}; --payload FILE sends anything.`);
}

function describe({ request, status, body, durationMs }: SentDelivery): string {
  const { method, url, event, delivery } = request;
  return `${method} ${url}\n${event}, delivery ${delivery}\n\n${status} in ${durationMs} ms\n${JSON.stringify(body, null, 2)}`;
}
