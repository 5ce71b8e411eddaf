import type { Command } from 'commander';
import { type ConnectedHooks, connectByHand, connectWithToken, listPlaces } from '../integrations/connect.ts';
import { isLocal } from '../integrations/doctor.ts';
import { type Connected, type IntegrationType, providerNames } from '../integrations/model.ts';
import { tidings } from '../lib/how-to-run.ts';
import type { Services } from '../main.ts';
import type { Place } from '../providers/api.ts';
import { type CliContext, withServices } from './context.ts';
import { readToken } from './options.ts';
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

  connect
    .command('github')
    .description('repositories on GitHub')
    .requiredOption('--organization <id>', 'the organization')
    .option('--repository <owner/name...>', 'one repository, or several')
    .option(
      '--token <token>',
      'a token that may administer their webhooks, which are then made; - reads it from standard input',
    )
    .option('--manual', 'print the URL and secret to paste, as without a token')
    .option('--list', 'list the repositories that the token can administer, and connect nothing')
    .addHelpText('after', GITHUB_TOKEN_HELP)
    .action((options: ConnectOptions, command: Command) => run('github', options, command, context));

  connect
    .command('linear')
    .description('a workspace on Linear')
    .requiredOption('--organization <id>', 'the organization')
    .option('--team <key...>', 'only these teams (default: all public teams)')
    .option(
      '--token <token>',
      "an API key of one of the workspace's admins, with which the webhook is made; - reads it from standard input",
    )
    .option('--manual', 'print the URL and secret to paste, as without a token')
    .option('--list', 'list the teams that the token can see, and connect nothing')
    .action((options: ConnectOptions, command: Command) => run('linear', options, command, context));
}

const GITHUB_TOKEN_HELP = `
The token: fine-grained with the repository permission "Webhooks: read and write", or classic with the scope
admin:repo_hook. With a token and without --repository, what it can administer is listed.`;

async function run(
  type: IntegrationType,
  options: ConnectOptions & { manual?: true },
  command: Command,
  context: CliContext,
): Promise<void> {
  const { organization, repository = [], team = [] } = options;
  const names = [...repository, ...team];
  if (options.manual && options.token !== undefined) {
    command.error('error: --manual connects without a token: leave one of the two out');
  }
  const wantsList = options.list === true || (type === 'github' && names.length === 0);
  if (options.token === undefined) {
    if (options.list) command.error('error: --list needs a --token to list for');
    if (wantsList) command.error("error: required option '--repository <owner/name...>' not specified");
    if (team.length > 0) command.error('error: --team needs a --token: by hand, teams are chosen at Linear');
    await connectManually(type, organization, names, command, context);
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
  type: IntegrationType,
  organizationId: string,
  repositories: string[],
  command: Command,
  context: CliContext,
): Promise<void> {
  const connected = await withServices(context, command, (services) =>
    connectByHand(services, type, organizationId, repositories),
  );
  const { repositories: several, ...single } = connected;
  const steps = type === 'linear' ? LINEAR_STEPS : githubSteps(several);
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
  const found = await listPlaces(services, type, token);
  print(terminal, command, found.places, (places) => describePlaces(type, places, found.isCut));
}

function describePlaces(type: IntegrationType, places: readonly Place[], isCut: boolean): string {
  const noun = type === 'github' ? 'repository' : 'team';
  if (places.length === 0) return `The token can see no ${noun}.`;
  const rows = places.map(({ name, canAdminister }) => [name, canAdminister ? 'yes' : 'no']);
  const more = isCut ? '\nThere are more than are listed here.' : '';
  return `${table([noun.toUpperCase(), 'CAN BE CONNECTED'], rows)}${more}\n\nName those that you want: --${noun} ${type === 'github' ? 'OWNER/NAME' : 'KEY'}`;
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
  const event = type === 'github' ? 'release' : 'issue';
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

/** What is pasted at the provider works only where the provider can reach it. */
function warnOfAddress(type: IntegrationType, webhookUrl: string): string[] {
  if (!isLocal(webhookUrl)) return [];
  return [
    `${providerNames[type]} delivers to public addresses alone, and ${new URL(webhookUrl).host} is none: set PUBLIC_URL to the one that the
service has, and paste a URL that begins with that.`,
  ];
}

const LINEAR_STEPS = `At Linear: Settings, API, New webhook. Paste the URL and the secret, and choose Issues, Projects and
Project updates.`;

function githubSteps(repositories: readonly { repository: string; webhookUrl: string }[]): string {
  const [first] = repositories;
  if (repositories.length === 1 && first !== undefined) {
    return `At https://github.com/${first.repository}/settings/hooks/new: paste the URL and the secret, choose the content type
application/json, and the events that you want.`;
  }
  const rows = repositories.map(({ repository, webhookUrl }) => [repository, webhookUrl]);
  return `${table(['REPOSITORY', 'WEBHOOK URL'], rows)}

At each one, under Settings, Webhooks, Add webhook: paste its URL and the secret, choose the content type
application/json, and the events that you want.`;
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
