import type { Command } from 'commander';
import { type ConnectedHooks, connectByHand, connectWithToken, listPlaces } from '../integrations/connect.ts';
import { isLocal } from '../integrations/doctor.ts';
import type { Connected } from '../integrations/model.ts';
import { tidings } from '../lib/build.ts';
import type { Services } from '../main.ts';
import type { Place } from '../providers/api.ts';
import { type IntegrationType, providerOf, providers } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import { type CliContext, readToken, withServices } from './context.ts';
import { fields, print, table } from './output.ts';

export const ONCE = 'Copy the secret now: it is shown this once.';

interface ConnectOptions {
  organization: string;
  repository?: string[];
  team?: string[];
  token?: string;
  list?: true;
}

export function addConnectCommands(group: Command, context: CliContext): void {
  const connect = group.command('connect').description('connect a provider, with a token or by hand');

  for (const provider of providers) {
    const { id, hasRepositories, api, words } = provider;
    const { one, many, pattern } = words.place;
    const command = connect
      .command(id)
      .description(words.covers)
      .requiredOption('--organization <id>', 'the organization')
      .option(
        `--${one} <${pattern.toLowerCase()}...>`,
        hasRepositories ? `one ${one}, or several` : `only these ${many} (default: all public ${many})`,
      )
      .action((options: ConnectOptions, command: Command) => run(provider, options, command, context));
    if (api === null) continue;
    command
      .option('--token <token>', api.words.option)
      .option('--manual', 'print the URL and secret to paste, as without a token')
      .option('--list', api.words.list)
      .addHelpText('after', api.words.help);
  }
}

async function run(
  provider: Provider<IntegrationType>,
  options: ConnectOptions & { manual?: true },
  command: Command,
  context: CliContext,
): Promise<void> {
  const { organization, repository = [], team = [] } = options;
  const names = [...repository, ...team];
  const { id: type, name, hasRepositories, words } = provider;
  if (options.manual && options.token !== undefined) {
    command.error('error: --manual connects without a token: leave one of the two out');
  }
  const wantsList = options.list === true || (hasRepositories && names.length === 0);
  if (options.token === undefined) {
    if (options.list) command.error('error: --list needs a --token to list for');
    if (wantsList) command.error("error: required option '--repository <owner/name...>' not specified");
    if (!hasRepositories && names.length > 0) {
      const { one, many } = words.place;
      command.error(`error: --${one} needs a --token: by hand, ${many} are chosen at ${name}`);
    }
    await connectManually(provider, organization, names, command, context);
    return;
  }
  const token = await readToken(options.token);
  await withServices(context, command, async (services) => {
    if (wantsList) return showPlaces(services, type, token, command, context);
    const connected = await connectWithToken(services, {
      type,
      organizationId: organization,
      token,
      places: names,
    });
    print(context.terminal, command, jsonOf(connected), () => describeManaged(type, connected));
  });
}

async function connectManually(
  { id: type, words }: Provider<IntegrationType>,
  organizationId: string,
  repositories: string[],
  command: Command,
  context: CliContext,
): Promise<void> {
  const connected = await withServices(context, command, (services) =>
    connectByHand(services, type, organizationId, repositories),
  );
  const { repositories: several, ...single } = connected;
  const [first] = several;
  const steps =
    several.length > 1
      ? `${table(
          ['REPOSITORY', 'WEBHOOK URL'],
          several.map(({ repository, webhookUrl }) => [repository, webhookUrl]),
        )}\n\n${words.shortSteps(null)}`
      : words.shortSteps(first?.repository ?? null);
  print(context.terminal, command, several.length > 1 ? connected : single, (made) =>
    [
      describeConnected(made, steps),
      ...warnOfAddress(type, made.webhookUrl),
      nextOf(type, made.integrationId),
    ].join('\n\n'),
  );
}

async function showPlaces(
  services: Services,
  type: IntegrationType,
  token: string,
  command: Command,
  { terminal }: CliContext,
): Promise<void> {
  const { places, isCut } = await listPlaces(services, type, token);
  print(terminal, command, places, () => describePlaces(type, places, isCut));
}

function describePlaces(type: IntegrationType, places: readonly Place[], isCut: boolean): string {
  const { one: noun, pattern } = providerOf(type).words.place;
  if (places.length === 0) return `The token can see no ${noun}.`;
  const rows = places.map(({ name, canAdminister }) => [name, canAdminister ? 'yes' : 'no']);
  const more = isCut ? '\nThere are more than are listed here.' : '';
  return `${table([noun.toUpperCase(), 'CAN BE CONNECTED'], rows)}${more}\n\nName those that you want: --${noun} ${pattern}`;
}

/** For one place the same keys as when it is connected by hand. */
function jsonOf({ integrationId, places }: ConnectedHooks) {
  const [first] = places;
  return {
    integrationId,
    ...(first?.repositoryId === undefined ? {} : { repositoryId: first.repositoryId }),
    webhookUrl: first?.webhookUrl,
    places,
  };
}

/** Without a trigger, deliveries are taken and nothing is written. */
function nextOf(type: IntegrationType, integrationId: string): string {
  const [event] = Object.keys(providerOf(type).triggerEvents);
  return `Next, choose what becomes a draft, such as:
${tidings} trigger create --integration ${integrationId} --event ${event} --content-type changelog`;
}

function describeManaged(type: IntegrationType, { integrationId, places }: ConnectedHooks): string {
  const lines = places.map(({ place, hookId, hasPinged }) => {
    const ping =
      hasPinged === null ? '' : hasPinged ? ', and its ping arrived' : ', and its ping has not arrived yet';
    return `Connected ${place}: webhook ${hookId} was made${ping}.`;
  });
  const isWaiting = places.some(({ hasPinged }) => hasPinged === false);
  return [
    ...lines,
    '',
    fields({ Integration: integrationId }),
    '',
    isWaiting
      ? `Look again in a moment: ${tidings} integration doctor ${integrationId}`
      : nextOf(type, integrationId),
  ].join('\n');
}

/** Warns of a webhook URL that the provider cannot reach. */
function warnOfAddress(type: IntegrationType, webhookUrl: string): string[] {
  if (!isLocal(webhookUrl)) return [];
  return [
    `${providerOf(type).name} delivers to public addresses alone, and ${new URL(webhookUrl).host} is none: set PUBLIC_URL to the one that the
service has, and paste a URL that begins with that.`,
  ];
}

function describeConnected(
  { integrationId, repositoryId, webhookUrl, secret }: Connected,
  steps: string,
): string {
  const description = fields({
    Integration: integrationId,
    ...(repositoryId === undefined ? {} : { Repository: repositoryId }),
    'Webhook URL': webhookUrl,
    Secret: secret,
  });
  return `${description}\n\n${ONCE}\n${steps}`;
}
