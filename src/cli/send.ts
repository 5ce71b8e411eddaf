import { type Command, Option } from 'commander';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import type { Services } from '../main.ts';
import { type IntegrationType, providers, sampleEvents, sampleFor } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import { type SentDelivery, sendDelivery } from '../receiver/send.ts';
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
      .addOption(
        new Option('--url <url>', 'where the service is (default: PUBLIC_URL, or http://localhost:PORT)'),
      )
      .action(async (event: string, options: SendOptions, command: Command) => {
        const sent = await withServices(context, command, (services) =>
          send(services, provider, event, options),
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
  provider: Provider<IntegrationType>,
  event: string,
  { integration, repository, delivery, payload, action, twice, badSignature, url }: SendOptions,
): Promise<SentDelivery[]> {
  const body =
    payload === undefined
      ? await sampleBody(services, provider, event, { integration, repository, action })
      : await readPayload(payload);
  const test = {
    integrationId: integration,
    repositoryId: repository,
    event,
    deliveryId: delivery ?? services.ids.newUuid(),
    body,
    hasBadSignature: badSignature ?? false,
    baseUrl: url?.replace(/\/+$/, '') ?? services.publicUrl(),
  };
  const sent = [await sendDelivery(services, test)];
  if (twice) sent.push(await sendDelivery(services, test));
  return sent;
}

async function sampleBody(
  { db, clock }: Services,
  provider: Provider<IntegrationType>,
  event: string,
  {
    integration: integrationId,
    repository,
    action,
  }: { integration: string; repository: string | undefined; action: string | undefined },
): Promise<string> {
  const integration = await db.read((tx) => getIntegration(tx, integrationId));
  if (integration.type !== provider.id) {
    throw new AppError(
      400,
      `Integration ${integrationId} is one of ${integration.type}, not of ${provider.id}`,
    );
  }
  const sample = sampleFor(integration, event, { now: clock.now(), action, repositoryId: repository });
  if (sample !== null && (action === undefined || sample.action === action)) return JSON.stringify(sample);
  if (sample !== null || action !== undefined) {
    throw new AppError(
      400,
      `There is no sample of ${event} with the action ${action}; --payload FILE sends anything.`,
    );
  }
  throw new AppError(
    400,
    `There is no sample of ${event}. There are ${sampleEvents(provider.id).join(', ')}; --payload FILE sends anything.`,
  );
}

async function readPayload(path: string): Promise<string> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new AppError(400, `${path}: no such file`);
  return file.text();
}

function describe({ request, status, body, durationMs }: SentDelivery): string {
  const { method, url, event, delivery } = request;
  return `${method} ${url}\n${event}, delivery ${delivery}\n\n${status} in ${durationMs} ms\n${JSON.stringify(body, null, 2)}`;
}
