import type { Command } from 'commander';
import { getOrganization } from '../organizations/store.ts';
import { createPasswordLink, createUser } from '../users/service.ts';
import { type CliContext, withServices } from './context.ts';
import { fields, print } from './output.ts';

export function addUserCommands(program: Command, context: CliContext): void {
  const group = program.command('user').description('let people into the dashboard');

  group
    .command('create')
    .description('make an account, and a link by which its person chooses a password')
    .requiredOption('--email <address>', 'whose account it is')
    .option('--organization <id>', 'the organization that the person becomes an owner of')
    .action(async ({ email, organization }: { email: string; organization?: string }, command: Command) => {
      const made = await withServices(context, command, async (services) => {
        if (organization !== undefined) await getOrganization(services.db, organization);
        await createUser(services, {
          email,
          ...(organization === undefined ? {} : { organizationId: organization }),
        });
        const { user, path } = await createPasswordLink(services, email);
        return { id: user.id, email: user.email, url: `${services.publicUrl()}${path}` };
      });
      print(context.terminal, command, made, describe);
    });

  group
    .command('reset-password')
    .description('make a link by which a person chooses a new password')
    .requiredOption('--email <address>', 'whose account it is')
    .action(async ({ email }: { email: string }, command: Command) => {
      const reset = await withServices(context, command, async (services) => {
        const { user, path } = await createPasswordLink(services, email);
        return { id: user.id, email: user.email, url: `${services.publicUrl()}${path}` };
      });
      print(context.terminal, command, reset, describe);
    });
}

function describe({ id, email, url }: { id: string; email: string; url: string }): string {
  return `${fields({ User: id, 'E-mail': email, Link: url })}\n\nGive the person this link. It works once, within a day, while the service runs.`;
}
