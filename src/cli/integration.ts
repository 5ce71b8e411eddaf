import type { Command } from 'commander';
import { setEnabled } from '../integrations/connect.ts';
import { listHooks } from '../integrations/hook-store.ts';
import type { ConnectedPlace, Integration } from '../integrations/model.ts';
import { addPlace, disconnectIntegration, removePlace } from '../integrations/places.ts';
import { ChangeFailed, IntegrationProblem } from '../integrations/problems.ts';
import { repairHooks, rotateSecret } from '../integrations/rotate.ts';
import { getIntegration, listIntegrations } from '../integrations/store.ts';
import { setToken } from '../integrations/token.ts';
import { describeOldSecret } from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import { listProviders, providerOf, providers } from '../providers/index.ts';
import { type CliContext, readToken, withServices } from './context.ts';
import { addConnectCommands, ONCE } from './integration-connect.ts';
import { addDoctorCommands } from './integration-doctor.ts';
import { fields, print, table } from './output.ts';

export function addIntegrationCommands(program: Command, context: CliContext): void {
  const group = program.command('integration').description(`connect ${listProviders('and')}`);
  addConnectCommands(group, context);

  group
    .command('list')
    .description('list the integrations, oldest first')
    .option('--organization <id>', 'only of this organization')
    .action(async ({ organization }: { organization?: string }, command: Command) => {
      const integrations = await withServices(context, command, (services) =>
        listWithPlaces(services, organization),
      );
      print(
        context.terminal,
        command,
        integrations.map(({ integration }) => integration),
        () =>
          integrations.length === 0
            ? `No integration yet. Make one: ${tidings} integration connect ${providers[0]?.id} --organization ID --repository OWNER/NAME`
            : table(
                ['ID', 'TYPE', 'STATUS', 'WEBHOOK', 'ORGANIZATION', 'REPOSITORIES, TEAMS'],
                integrations.map(row),
              ),
      );
    });

  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    group
      .command(name)
      .description(enabled ? 'take deliveries again' : 'refuse deliveries until it is enabled again')
      .argument('<id>', 'the integration')
      .action(async (id: string, _options: object, command: Command) => {
        const integration = await withServices(context, command, (services) =>
          setEnabled(services, id, enabled),
        );
        print(context.terminal, command, integration, () => `${enabled ? 'Enabled' : 'Disabled'}: ${id}`);
      });
  }

  group
    .command('rotate-secret')
    .description('make a new secret and set it at the provider; the old one works for another 24 hours')
    .argument('<id>', 'the integration')
    .option('--now', 'end the old secret at once, because it leaked')
    .action(async (id: string, { now = false }: { now?: boolean }, command: Command) => {
      const { secret, isSetAtProvider, integration } = await withServices(
        context,
        command,
        async (services) => ({
          ...(await rotateSecret(services, id, { now })),
          integration: await services.db.read((tx) => getIntegration(tx, id)),
        }),
      );
      const provider = providerOf(integration.type).name;
      const next = isSetAtProvider
        ? `It is already set at ${provider}: nothing is left to do.`
        : `${ONCE} Set it at ${provider}.`;
      const old = describeOldSecret(integration.type, now, isSetAtProvider);
      print(context.terminal, command, { secret }, () => `${fields({ Secret: secret })}\n\n${next} ${old}`);
    });

  addPlaceCommands(group, context);
  addDoctorCommands(group, context);

  group
    .command('disconnect')
    .description('remove an integration and its webhooks for good; its deliveries stay in the log')
    .argument('<id>', 'the integration')
    .option('--force', 'also when the provider does not delete a webhook')
    .action(async (id: string, { force = false }: { force?: boolean }, command: Command) => {
      const { left } = await withServices(context, command, (services) =>
        disconnectIntegration(services, id, { force }),
      );
      const outcome = { id, deleted: true, ...(left.length === 0 ? {} : { left }) };
      print(context.terminal, command, outcome, () =>
        left.length === 0
          ? `Disconnected: ${id}`
          : `Disconnected: ${id}\nThe webhook was left at ${left.join(', ')}: delete it there by hand.`,
      );
    });
}

function addPlaceCommands(group: Command, context: CliContext): void {
  group
    .command('add')
    .description('connect another repository or team')
    .argument('<id>', 'the integration')
    .argument('<name>', 'OWNER/NAME, or the key of a team')
    .action(async (id: string, name: string, _options: object, command: Command) => {
      const added = await withServices(context, command, (services) => addPlace(services, id, name));
      print(context.terminal, command, { integrationId: id, ...added }, () =>
        added.hookId === undefined
          ? `${fields({ 'Webhook URL': added.webhookUrl })}\n\nSet up its webhook with this URL and the secret of the integration. For a new secret: ${tidings} integration rotate-secret ${id}`
          : describePlace(added as ConnectedPlace),
      );
    });

  group
    .command('remove')
    .description('disconnect one of its repositories or teams, with its webhook and its triggers')
    .argument('<id>', 'the integration')
    .argument('<name>', 'OWNER/NAME, or the key of a team')
    .option('--force', 'also when the provider does not delete the webhook')
    .action(async (id: string, name: string, { force }: { force?: true }, command: Command) => {
      const { isLeft } = await withServices(context, command, (services) =>
        removePlace(services, id, name, { force: force === true }),
      );
      const removed = { integrationId: id, place: name, removed: true, ...(isLeft ? { left: [name] } : {}) };
      print(context.terminal, command, removed, () =>
        isLeft ? `Removed: ${name}\nThe webhook was left there: delete it by hand.` : `Removed: ${name}`,
      );
    });

  group
    .command('set-token')
    .description('let Tidings manage the webhooks: its first token, or a newer one')
    .argument('<id>', 'the integration')
    .requiredOption('--token <token>', 'the token; - reads it from standard input')
    .action(async (id: string, options: { token: string }, command: Command) => {
      const token = await readToken(options.token);
      const places = await withServices(context, command, (services) => setToken(services, id, token));
      print(context.terminal, command, { integrationId: id, places }, () =>
        places.map(describePlace).join('\n'),
      );
    });

  group
    .command('repair')
    .description('set its webhooks at the provider again, whatever was changed there')
    .argument('<id>', 'the integration')
    .action(async (id: string, _options: object, command: Command) => {
      const places = await withServices(context, command, (services) => repairHooks(services, id));
      print(context.terminal, command, { integrationId: id, places }, () =>
        places.map(describePlace).join('\n'),
      );
    });
}

function describePlace({ place, hookId, hasPinged }: ConnectedPlace): string {
  const ping = hasPinged === null ? '' : hasPinged ? '; its ping arrived' : '; its ping has not arrived yet';
  return `${place}: webhook ${hookId} is up to date${ping}.`;
}

interface Listed {
  integration: Integration;
  /** Its repositories or, where Tidings manages a webhook, its teams. */
  names: string[];
}

function listWithPlaces({ db }: Services, organizationId: string | undefined): Promise<Listed[]> {
  return db.read(async (tx) => {
    if (organizationId !== undefined) await getOrganization(tx, organizationId);
    const listed: Listed[] = [];
    for (const integration of await listIntegrations(tx, organizationId)) {
      const { id, type, repositories } = integration;
      const names = providerOf(type).hasRepositories
        ? repositories.map(({ fullName }) => fullName)
        : (await listHooks(tx, id)).map(({ placeName }) => placeName);
      listed.push({ integration, names });
    }
    return listed;
  });
}

function row({ integration, names }: Listed): string[] {
  const { id, type, enabled, organizationId, hasToken } = integration;
  const status = enabled ? 'enabled' : 'disabled';
  return [id, type, status, hasToken ? 'managed' : 'by hand', organizationId, names.join(', ') || '–'];
}

/** The names of connected repositories by their ids. */
export async function repositoryNames({ db }: Pick<Services, 'db'>): Promise<ReadonlyMap<string, string>> {
  const integrations = await db.read((tx) => listIntegrations(tx));
  return new Map(
    integrations.flatMap(({ repositories }) =>
      repositories.map(({ id, fullName }) => [id, fullName] as const),
    ),
  );
}

/** The command or option that helps with a refused change, as the rest of its message; empty without one. */
export function integrationHint(error: unknown): string {
  if (error instanceof ChangeFailed) {
    const canForce = error.outcome.code === 'not_removed' || error.outcome.code === 'not_disconnected';
    return canForce
      ? ' With --force, the webhook stays at the provider until somebody deletes it there.'
      : '';
  }
  if (!(error instanceof IntegrationProblem)) return '';
  const { problem } = error;
  switch (problem.code) {
    case 'place_connected':
      return ` To give it a token: ${setTokenCommand(problem.integrationId)}`;
    case 'no_token':
      return ` To give it one: ${setTokenCommand(problem.integrationId)}`;
    case 'last_place':
      return `: ${tidings} integration disconnect ${problem.integrationId}`;
    case 'unknown_place':
      return '; "integration list" shows what it has';
    default:
      return '';
  }
}

const setTokenCommand = (id: string | number) => `${tidings} integration set-token ${id} --token TOKEN`;
