import type { Command } from 'commander';
import { setEnabled } from '../integrations/connect.ts';
import { listHooks } from '../integrations/hook-store.ts';
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
import { aboutOne, answering } from './command.ts';
import { type CliContext, readToken } from './context.ts';
import { addConnectCommands, describePlaces, ONCE } from './integration-connect.ts';
import { addDoctorCommands } from './integration-doctor.ts';
import { fields, table } from './output.ts';

export function addIntegrationCommands(program: Command, context: CliContext): void {
  const answer = answering(context);
  const group = program.command('integration').description(`connect ${listProviders('and')}`);
  const command = aboutOne(group, 'the integration');
  addConnectCommands(group, context);

  group
    .command('list')
    .description('list the integrations, oldest first')
    .option('--organization <id>', 'only of this organization')
    .action(
      answer(listWithPlaces, describeList, (listed) =>
        listed.map(({ names: _, ...integration }) => integration),
      ),
    );

  command('enable', 'accept deliveries again').action(
    answer(
      (services, id: string) => setEnabled(services, id, true),
      ({ id }) => `Enabled: ${id}`,
    ),
  );
  command('disable', 'refuse deliveries until you enable it again').action(
    answer(
      (services, id: string) => setEnabled(services, id, false),
      ({ id }) => `Disabled: ${id}`,
    ),
  );

  command(
    'rotate-secret',
    'create a new secret and set it at the provider; the old one works for another 24 hours',
  )
    .option('--now', 'end the old secret at once, after a leak')
    .action(
      answer(
        async (services, id: string, options: { now?: boolean }) => ({
          ...(await rotateSecret(services, id, options)),
          type: (await services.db.read((tx) => getIntegration(tx, id))).type,
        }),
        ({ secret, isSetAtProvider, type }, _, { now = false }) => {
          const provider = providerOf(type).name;
          const next = isSetAtProvider
            ? `It is already set at ${provider}.`
            : `${ONCE} Set it at ${provider}.`;
          return `${fields({ Secret: secret })}\n\n${next} ${describeOldSecret(type, now, isSetAtProvider)}`;
        },
        ({ secret }) => ({ secret }),
      ),
    );

  command('add', 'connect another repository or team')
    .argument('<name>', 'OWNER/NAME, or the key of a team')
    .action(
      answer(
        async (services, integrationId: string, name: string) => ({
          integrationId,
          ...(await addPlace(services, integrationId, name)),
        }),
        ({ integrationId, ...added }) =>
          added.hookId === undefined
            ? `${fields({ 'Webhook URL': added.webhookUrl })}\n\nSet up its webhook with this URL and the secret of the integration. For a new secret: ${tidings} integration rotate-secret ${integrationId}`
            : describePlaces({ places: [added] }),
      ),
    );

  command('remove', 'disconnect one of its repositories or teams, with its webhook and its triggers')
    .argument('<name>', 'OWNER/NAME, or the key of a team')
    .option('--force', 'even if the provider does not delete the webhook')
    .action(
      answer(
        async (services, integrationId: string, place: string, options: { force?: boolean }) => {
          const { isLeft } = await removePlace(services, integrationId, place, options);
          return { integrationId, place, removed: true, ...(isLeft && { left: [place] }) };
        },
        ({ place, left }) =>
          `Removed: ${place}${left === undefined ? '' : '\nThe webhook was left there: delete it by hand.'}`,
      ),
    );

  command('set-token', 'let Tidings manage the webhooks: its first token, or a newer one')
    .requiredOption('--token <token>', 'the token; - reads it from standard input')
    .action(
      answer(
        async (services, integrationId: string, { token }: { token: string }) => ({
          integrationId,
          places: await setToken(services, integrationId, await readToken(token)),
        }),
        describePlaces,
      ),
    );

  command('repair', 'set up its webhooks at the provider again').action(
    answer(
      async (services, integrationId: string) => ({
        integrationId,
        places: await repairHooks(services, integrationId),
      }),
      describePlaces,
    ),
  );

  addDoctorCommands(group, context);

  command('disconnect', 'remove an integration and its webhooks for good; its deliveries stay in the log')
    .option('--force', 'even if the provider does not delete a webhook')
    .action(
      answer(
        async (services, id: string, options: { force?: boolean }) => {
          const { left } = await disconnectIntegration(services, id, options);
          return { id, deleted: true, ...(left.length > 0 && { left }) };
        },
        ({ id, left = [] }) =>
          left.length === 0
            ? `Disconnected: ${id}`
            : `Disconnected: ${id}\nThe webhook was left at ${left.join(', ')}: delete it there by hand.`,
      ),
    );
}

/** With the names of its repositories or, where Tidings manages a webhook, of its teams. */
function listWithPlaces({ db }: Services, { organization }: { organization?: string }) {
  return db.read(async (tx) => {
    if (organization !== undefined) await getOrganization(tx, organization);
    return Array.fromAsync(await listIntegrations(tx, organization), async (integration) => {
      const { id, type, repositories } = integration;
      const names = providerOf(type).hasRepositories
        ? repositories.map(({ fullName }) => fullName)
        : (await listHooks(tx, id)).map(({ placeName }) => placeName);
      return { ...integration, names };
    });
  });
}

function describeList(listed: Awaited<ReturnType<typeof listWithPlaces>>): string {
  if (listed.length === 0) {
    return `No integrations yet. Connect one: ${tidings} integration connect ${providers[0]?.id} --organization ID --repository OWNER/NAME`;
  }
  return table(
    ['ID', 'TYPE', 'STATUS', 'WEBHOOK', 'ORGANIZATION', 'REPOSITORIES, TEAMS'],
    listed.map(({ id, type, enabled, organizationId, hasToken, names }) => [
      id,
      type,
      enabled ? 'enabled' : 'disabled',
      hasToken ? 'managed' : 'by hand',
      organizationId,
      names.join(', ') || '–',
    ]),
  );
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
    return canForce ? ' With --force, the webhook stays at the provider until somebody deletes it.' : '';
  }
  if (!(error instanceof IntegrationProblem)) return '';
  const { problem } = error;
  switch (problem.code) {
    case 'place_connected':
    case 'no_token':
      return ` To give it a token: ${tidings} integration set-token ${problem.integrationId} --token TOKEN`;
    case 'last_place':
      return `: ${tidings} integration disconnect ${problem.integrationId}`;
    case 'unknown_place':
      return '; "integration list" shows what it has';
    default:
      return '';
  }
}
