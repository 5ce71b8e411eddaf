import type { Command } from 'commander';
import { connectPolled, useManualWebhook, usePolling, useWebhook } from '../intake/polling/connect.ts';
import { pollNow } from '../intake/polling/poll.ts';
import { connectIntegration, connectWithToken, listPlaces } from '../integrations/connect.ts';
import { describePollInterval, isPollable, listSharing } from '../integrations/poll-store.ts';
import { getIntegration } from '../integrations/store.ts';
import { type ConnectedPlace, describeLocalAddress } from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import { getOrganization } from '../people/organization-store.ts';
import type { Place } from '../providers/api.ts';
import type { IntegrationType } from '../providers/ids.ts';
import { providerOf, providers } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import type { Services } from '../server/services.ts';
import { readToken, type TidingsCommand } from './command.ts';
import { check, fields, lines, type Text, table } from './output.ts';

export const ONCE = 'Copy the secret now. Tidings shows it only once.';

interface ConnectOptions {
  organization: string;
  repository?: string[];
  team?: string[];
  token?: string;
  manual?: true;
  list?: true;
  app?: true;
  poll?: true;
}

export function addConnectCommands(group: TidingsCommand): void {
  const connect = group.sub('connect', 'Connect a provider, with a token or by hand');
  const lineOf = ({ id, hasRepositories }: Provider) =>
    `integration connect ${id} --organization acme${hasRepositories ? ' --repository acme/rocket' : ''}`;
  connect.examples(...providers.map(lineOf));

  for (const provider of providers) {
    const { id, hasRepositories, api, words } = provider;
    const { one, many, pattern } = words.place;
    const command = connect
      .sub(id, `Connect ${words.covers}`)
      .requiredOption('--organization <id>', 'Organization')
      .option(
        `--${hasRepositories ? 'repository' : one} <${pattern.toLowerCase()}...>`,
        hasRepositories
          ? `${many}, as ${pattern} or URL`.replace(/^./, (first) => first.toUpperCase())
          : `Only these ${many} (default: all public ${many})`,
      )
      .hook('preAction', (given) => requireOptions(provider, given.opts(), given))
      .answers(
        (services, options: ConnectOptions) => run(services, provider, options),
        ({ text }) => text,
        ({ json }) => json,
      );
    const line = lineOf(provider);
    const polled = provider.reader === null ? [] : [`${line} --poll`];
    if (provider.reader !== null) {
      command.option('--poll', 'Read events through the API. Needs no webhook and no public URL');
    }
    if (api === null) {
      command.examples(line, ...polled);
      continue;
    }
    command
      .option('--token <token>', api.words.option)
      .option('--manual', 'Print a URL and a secret to paste, without using a token')
      .option('--list', api.words.list);
    if (provider.app !== undefined) {
      command.option('--app', `Print the page of the dashboard that creates a ${provider.app.name}`);
    }
    if (api.words.help !== '') command.note(api.words.help);
    command.examples(
      line,
      ...polled,
      `${line} --token TOKEN`,
      `integration connect ${id} --organization acme --token TOKEN --list`,
    );
  }
}

const namesOf = ({ repository = [], team = [] }: ConnectOptions) => [...repository, ...team];

function wantsList({ hasRepositories }: Provider, options: ConnectOptions): boolean {
  return options.list === true || (hasRepositories && namesOf(options).length === 0);
}

function requireOptions(provider: Provider, options: ConnectOptions, command: Command): void {
  const { name, hasRepositories, words } = provider;
  if (options.manual && options.token !== undefined) {
    command.error('error: --manual and --token cannot be combined');
  }
  if (
    options.app &&
    (options.manual || options.poll || options.token !== undefined || namesOf(options).length > 0)
  ) {
    command.error('error: --app cannot be combined with --token, --manual, --poll and --repository');
  }
  if (options.poll && (options.manual || options.list)) {
    command.error(`error: --poll and --${options.manual ? 'manual' : 'list'} cannot be combined`);
  }
  if (options.poll && namesOf(options).length === 0) {
    command.error("error: required option '--repository <owner/name...>' not specified");
  }
  if (options.token !== undefined || options.app) return;
  if (options.list) command.error('error: --list needs --token');
  if (wantsList(provider, options)) {
    command.error(
      `error: required option '--repository <${words.place.pattern.toLowerCase()}...>' not specified`,
    );
  }
  if (!hasRepositories && namesOf(options).length > 0) {
    const { one, many } = words.place;
    command.error(`error: --${one} needs --token. Without a token, choose ${many} at ${name}`);
  }
}

type Result = { json: unknown; text: Text };

async function run(
  services: Services,
  provider: Provider<IntegrationType>,
  options: ConnectOptions,
): Promise<Result> {
  const { id: type } = provider;
  if (options.app) return createApp(services, provider, options);
  if (options.poll) return connectByPolling(services, provider, options);
  if (options.token === undefined) return connectByHand(services, provider, options);
  const token = await readToken(options.token);
  if (wantsList(provider, options)) {
    const { places, isCut } = await listPlaces(services, type, token);
    return { json: places, text: describeList(type, places, isCut) };
  }
  const request = { type, organizationId: options.organization, token, places: namesOf(options) };
  const { integrationId, places } = await connectWithToken(services, request);
  const next = places.some(({ hasPinged }) => hasPinged === false)
    ? `Check again in a moment: ${tidings} integration doctor ${integrationId}`
    : nextOf(type, integrationId);
  const { repositoryId, webhookUrl } = places[0] ?? {};
  return {
    // For one place the same keys as when it is connected by hand.
    json: { integrationId, repositoryId, webhookUrl, places },
    text: [describePlaces({ places }), fields({ Integration: integrationId }), next],
  };
}

/** The provider's page needs a browser, and the dashboard knows who the owner is. */
async function createApp(
  { db, publicUrl }: Services,
  { app }: Provider<IntegrationType>,
  { organization }: ConnectOptions,
): Promise<Result> {
  await db.read((tx) => getOrganization(tx, organization));
  const dashboardUrl = `${publicUrl()}/dashboard/${organization}/integrations/${app?.path}/new`;
  return {
    json: { dashboardUrl },
    text: ['Open this page as an owner of the organization, while the server runs:', dashboardUrl],
  };
}

async function connectByPolling(
  services: Services,
  { id: type }: Provider<IntegrationType>,
  options: ConnectOptions,
): Promise<Result> {
  const token = await readToken(options.token);
  const repositories = namesOf(options);
  const connected = await connectPolled(services, {
    ...{ type, organizationId: options.organization, repositories, token },
  });
  const { integrationId, repositoryId, places } = connected;
  const interval = await services.db.read(async (tx) => {
    const integration = await getIntegration(tx, integrationId);
    return describePollInterval(integration, (await listSharing(tx, integration)).length);
  });
  const [first] = places;
  return {
    json: { integrationId, repositoryId, isPolled: true, places },
    text: [
      fields({ Integration: integrationId, Polled: places.map(({ place }) => place).join(', ') }),
      `${interval} The server polls while it runs.`,
      `Polling starts now and skips earlier releases. For older releases: ${tidings} history ${first?.place} --organization ${options.organization}`,
      nextOf(type, integrationId),
    ],
  };
}

async function connectByHand(
  services: Services,
  { id: type, words }: Provider<IntegrationType>,
  { organization, repository = [] }: ConnectOptions,
): Promise<Result> {
  const connected = await connectIntegration(services, type, organization, repository);
  const { repositories, ...single } = connected;
  const { integrationId, repositoryId, webhookUrl, secret } = connected;
  const isOne = repositories.length < 2;
  const urls = repositories.map((each) => [each.repository, each.webhookUrl]);
  const text = [
    fields({
      Integration: integrationId,
      ...(isOne && repositoryId !== undefined && { Repository: repositoryId }),
      ...(isOne && { 'Webhook URL': webhookUrl }),
      Secret: secret,
    }),
    ONCE,
    isOne ? '' : table(['REPOSITORY', 'WEBHOOK URL'], urls),
    words.shortSteps(isOne ? (repositories[0]?.repository ?? null) : null),
    ...warnOfAddress(type, webhookUrl),
    nextOf(type, integrationId),
  ];
  return { json: isOne ? single : connected, text };
}

function describeList(type: IntegrationType, places: readonly Place[], isCut: boolean): Text {
  const { one: noun, pattern } = providerOf(type).words.place;
  if (places.length === 0) return `The token cannot see any ${noun}.`;
  const rows = places.map(({ name, canAdminister }) => [name, canAdminister ? 'yes' : 'no']);
  return [
    table([noun.toUpperCase(), 'CAN BE CONNECTED'], rows),
    isCut ? 'The list is not complete.' : '',
    `Connect with --${noun} ${pattern}`,
  ];
}

/** Without a trigger, deliveries make no drafts. */
function nextOf(type: IntegrationType, integrationId: string): string {
  const [event] = Object.keys(providerOf(type).triggerEvents);
  return `Next, choose which events become drafts:
${tidings} trigger create --integration ${integrationId} --event ${event} --content-type changelog`;
}

/** Warns of a webhook URL that the provider cannot reach. */
function warnOfAddress(type: IntegrationType, webhookUrl: string): string[] {
  const warning = describeLocalAddress(type, webhookUrl);
  if (warning === null) return [];
  return [isPollable(type) ? `${warning} Or connect with --poll, which needs no public URL.` : warning];
}

/** The results of connecting places, or of setting their webhooks again. */
export function describePlaces({ places }: { places: readonly Partial<ConnectedPlace>[] }): string {
  const lines = places.map(({ place, hookId, hasPinged }) => {
    const ping = hasPinged === null ? '' : `; its ping ${hasPinged ? 'arrived' : 'has not arrived yet'}`;
    return `${place}: webhook ${hookId} is up to date${ping}.`;
  });
  return lines.join('\n');
}

export function addPollingCommands(group: TidingsCommand): void {
  const command = group.about('integration');

  command('poll', 'Poll the repositories of a polled integration now')
    .answers(
      (services, id: string) => pollNow(services, id),
      (polled) =>
        lines(
          polled.map(({ repository, news, problem }) =>
            check(
              problem === null ? 'ok' : 'failed',
              `${repository}: ${problem ?? (news === 0 ? 'nothing new' : `${news} new`)}`,
            ),
          ),
        ),
      (polled) => polled,
      (polled) => polled.some(({ problem }) => problem !== null),
    )
    .examples('integration poll int_…');

  command(
    'use-webhook',
    'Change from polling to a webhook. Polling goes on until the webhook has delivered, so nothing is lost',
  )
    .option(
      '--token <token>',
      'Token that may create the webhook (default: the stored one); - reads it from standard input',
    )
    .option('--manual', 'Print a URL and a secret to paste')
    .hook('preAction', (given) => {
      const { token, manual } = given.opts();
      if (token !== undefined && manual) given.error('error: --manual and --token cannot be combined');
    })
    .answers(
      async (services, integrationId: string, options: { token?: string; manual?: true }) => {
        if (options.manual) return { integrationId, ...(await useManualWebhook(services, integrationId)) };
        const token = await readToken(options.token);
        return { integrationId, places: await useWebhook(services, integrationId, { token }) };
      },
      (result) => {
        const end = 'Tidings polls until the first delivery has arrived, and once more.';
        if (result.places !== undefined) return [describePlaces(result), end];
        const urls = result.urls.map(({ repository, webhookUrl }) => [repository, webhookUrl]);
        return [fields({ Secret: result.secret }), ONCE, table(['REPOSITORY', 'WEBHOOK URL'], urls), end];
      },
    )
    .examples(
      'integration use-webhook int_…',
      'integration use-webhook int_… --token - < token.txt',
      'integration use-webhook int_… --manual',
    );

  command(
    'use-polling',
    'Change from a webhook to polling. The webhook is deleted after another round, so nothing is lost',
  )
    .answers(
      async (services, integrationId: string) => ({
        integrationId,
        ...(await usePolling(services, integrationId)),
      }),
      ({ integrationId, places, byHand }) => [
        `Polled from now on: ${places.join(', ')}.`,
        byHand.length === 0
          ? `Tidings deletes the webhooks after the next round. To check: ${tidings} integration doctor ${integrationId}`
          : `Delete the webhooks of ${byHand.join(', ')} by hand. Until then, nothing is drafted twice.`,
      ],
    )
    .examples('integration use-polling int_…');
}
