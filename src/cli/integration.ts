import type { Command } from 'commander';
import { disconnectIntegration } from '../integrations/disconnect.ts';
import { listHooks } from '../integrations/hook-store.ts';
import { type Integration, providerNames } from '../integrations/model.ts';
import { endedNow, rotateSecret } from '../integrations/rotate.ts';
import { getIntegration, listIntegrations, setEnabled } from '../integrations/store.ts';
import { tidings } from '../lib/how-to-run.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import { listProviders, providerOf, providers } from '../providers/index.ts';
import { type CliContext, withServices } from './context.ts';
import { addConnectCommands, ONCE } from './integration-connect.ts';
import { addDoctorCommands } from './integration-doctor.ts';
import { addPlaceCommands } from './integration-places.ts';
import { fields, print, table } from './output.ts';

export function addIntegrationCommands(program: Command, context: CliContext): void {
  const group = program.command('integration').description(`connect ${listProviders('and')}`);
  addConnectCommands(group, context);

  group
    .command('list')
    .description('list the integrations, oldest first')
    .option('--organization <id>', 'only of this organization')
    .action(async ({ organization }: { organization?: string }, command: Command) => {
      const integrations = await withServices(context, command, async ({ db }) => {
        if (organization !== undefined) await getOrganization(db, organization);
        return withPlaces(db, await listIntegrations(db, organization));
      });
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
          integration: await getIntegration(services.db, id),
        }),
      );
      const provider = providerNames[integration.type];
      const next = isSetAtProvider
        ? `It is set at ${provider} already: nothing is left to do.`
        : `${ONCE} Set it at ${provider}.`;
      const old = now ? endedNow(provider, isSetAtProvider) : 'The old one works for another 24 hours.';
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

interface Listed {
  integration: Integration;
  /** Its repositories, or the places that have a webhook. */
  names: string[];
}

async function withPlaces(db: Services['db'], integrations: readonly Integration[]): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (const integration of integrations) {
    const { id, type, repositories } = integration;
    const names = providerOf(type).hasRepositories
      ? repositories.map(({ fullName }) => fullName)
      : (await listHooks(db, id)).map(({ placeName }) => placeName);
    listed.push({ integration, names });
  }
  return listed;
}

function row({ integration, names }: Listed): string[] {
  const { id, type, enabled, organizationId, hasToken } = integration;
  const status = enabled ? 'enabled' : 'disabled';
  return [id, type, status, hasToken ? 'managed' : 'by hand', organizationId, names.join(', ') || '–'];
}
