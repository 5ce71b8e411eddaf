import type { Command } from 'commander';
import type { Connected, Integration } from '../integrations/model.ts';
import { connectIntegration, rotateSecret } from '../integrations/service.ts';
import { deleteIntegration, listIntegrations, setEnabled } from '../integrations/store.ts';
import { type CliContext, withServices } from './context.ts';
import { fields, print, table } from './output.ts';

export function addIntegrationCommands(program: Command, context: CliContext): void {
  const group = program.command('integration').description('connect GitHub and Linear');
  const connect = group.command('connect').description('make a webhook URL and its secret');

  connect
    .command('github')
    .description('for a repository on GitHub')
    .requiredOption('--organization <id>', 'the organization')
    .requiredOption('--repository <owner/name>', 'the repository')
    .action(async (options: { organization: string; repository: string }, command: Command) => {
      const connected = await withServices(context, command, (services) =>
        connectIntegration(services, 'github', options.organization, options.repository),
      );
      print(context.terminal, command, connected, (made) =>
        describeConnected(made, githubSteps(options.repository)),
      );
    });

  connect
    .command('linear')
    .description('for a workspace on Linear')
    .requiredOption('--organization <id>', 'the organization')
    .action(async ({ organization }: { organization: string }, command: Command) => {
      const connected = await withServices(context, command, (services) =>
        connectIntegration(services, 'linear', organization),
      );
      print(context.terminal, command, connected, (made) => describeConnected(made, LINEAR_STEPS));
    });

  group
    .command('list')
    .description('list the integrations, oldest first')
    .option('--organization <id>', 'only of this organization')
    .action(async ({ organization }: { organization?: string }, command: Command) => {
      const integrations = await withServices(context, command, ({ db }) =>
        listIntegrations(db, organization),
      );
      print(context.terminal, command, integrations, (all) =>
        all.length === 0
          ? 'No integration yet. Make one: tidings integration connect github --organization ID --repository OWNER/NAME'
          : table(['ID', 'TYPE', 'STATUS', 'ORGANIZATION', 'REPOSITORIES'], all.map(row)),
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
        const integration = await withServices(context, command, ({ db }) => setEnabled(db, id, enabled));
        print(context.terminal, command, integration, () => `${enabled ? 'Enabled' : 'Disabled'}: ${id}`);
      });
  }

  group
    .command('rotate-secret')
    .description('make a new secret; the old one is taken for another 24 hours')
    .argument('<id>', 'the integration')
    .action(async (id: string, _options: object, command: Command) => {
      const rotated = await withServices(context, command, (services) => rotateSecret(services, id));
      print(
        context.terminal,
        command,
        rotated,
        ({ secret }) => `${fields({ Secret: secret })}\n\n${ONCE} The old one is taken for another 24 hours.`,
      );
    });

  group
    .command('disconnect')
    .description('remove an integration for good; its deliveries stay in the log')
    .argument('<id>', 'the integration')
    .action(async (id: string, _options: object, command: Command) => {
      await withServices(context, command, ({ db }) => deleteIntegration(db, id));
      print(context.terminal, command, { id, deleted: true }, () => `Disconnected: ${id}`);
    });
}

const ONCE = 'Copy the secret now: it is shown this once.';

const LINEAR_STEPS = `At Linear: Settings, API, New webhook. Paste the URL and the secret, and choose Issues, Projects and
Project updates.`;

function githubSteps(repository: string): string {
  return `At https://github.com/${repository}/settings/hooks/new: paste the URL and the secret, choose the content type
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

function row({ id, type, enabled, organizationId, repositories }: Integration): string[] {
  const names = repositories.map(({ fullName }) => fullName).join(', ');
  return [id, type, enabled ? 'enabled' : 'disabled', organizationId, names || '–'];
}
