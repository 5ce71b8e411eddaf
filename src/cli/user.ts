import { type Command, Option } from 'commander';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import {
  addToOrganization,
  createUser,
  deleteAccount,
  disableAccount,
  enableAccount,
  listAccounts,
} from '../users/accounts.ts';
import { createPasswordLink } from '../users/links.ts';
import { type Account, Role } from '../users/model.ts';
import { type CliContext, withServices } from './context.ts';
import { fields, oneLine, print, table } from './output.ts';

/** The next command to run, by the code of a failure. */
const nextSteps: Readonly<Record<string, (error: AppError) => string>> = {
  user_not_found: ({ message }) => `${message}; "user list" shows those there are`,
  user_exists: ({ message }) => `${message}; "user reset-password" lets them in again`,
  user_disabled: ({ message }) => `${message}; "user enable" lets them in again`,
  last_owner: ({ details: { email, organizations } }) =>
    `${email} is the last owner of ${[organizations].flat().join(', ')}. Make another owner with "user add", or use --force`,
};

export function addUserCommands(program: Command, context: CliContext): void {
  const group = program.command('user').description('manage the accounts of people who use the dashboard');

  async function run<Result>(
    command: Command,
    work: (services: Services) => Promise<Result>,
    words: typeof nextSteps = nextSteps,
  ): Promise<Result> {
    try {
      return await withServices(context, command, work);
    } catch (error) {
      const say = error instanceof AppError ? words[error.code ?? ''] : undefined;
      throw say === undefined ? error : new AppError((error as AppError).status, say(error as AppError));
    }
  }

  async function createLink(services: Services, email: string) {
    const { user, path } = await createPasswordLink(services, email);
    return { id: user.id, email: user.email, url: `${services.publicUrl()}${path}` };
  }

  group
    .command('create')
    .description('make an account, and a link by which its person chooses a password')
    .requiredOption('--email <address>', 'whose account it is')
    .option('--organization <id>', 'the organization that the person becomes an owner of')
    .action(async ({ email, organization }: { email: string; organization?: string }, command: Command) => {
      const created = await run(command, async (services) => {
        if (organization !== undefined) await getOrganization(services.db, organization);
        await createUser(services, { email, organizationId: organization });
        return createLink(services, email);
      });
      print(context.terminal, command, created, describe);
    });

  group
    .command('reset-password')
    .description('make a link by which a person chooses a new password')
    .requiredOption('--email <address>', 'whose account it is')
    .action(async ({ email }: { email: string }, command: Command) => {
      const link = await run(command, (services) => createLink(services, email), {
        ...nextSteps,
        user_not_found: ({ message }) => `${message}; "user create" makes one`,
      });
      print(context.terminal, command, link, describe);
    });

  group
    .command('list')
    .description('list accounts with their organizations')
    .option('--organization <id>', 'only people of this organization')
    .action(async ({ organization }: { organization?: string }, command: Command) => {
      const accounts = await run(command, (services) => listAccounts(services, organization));
      print(context.terminal, command, accounts, (all) =>
        all.length === 0
          ? `No accounts yet. Create one: ${tidings} user create --email EMAIL --organization ID`
          : table(['E-MAIL', 'STATUS', 'CREATED', 'ORGANIZATIONS'], all.map(row)),
      );
    });

  group
    .command('add')
    .description('add a person to an organization, or make a member an owner')
    .argument('<email>', 'whose account it is')
    .requiredOption('--organization <id>', 'the organization')
    .addOption(new Option('--role <role>', 'what they may do').choices(roles).default('member'))
    .action(async (email: string, options: { organization: string; role: Role }, command: Command) => {
      const account = await run(command, (services) =>
        addToOrganization(services, email, options.organization, options.role),
      );
      print(context.terminal, command, account, () => `Added: ${account.email} to ${options.organization}`);
    });

  group
    .command('disable')
    .description('sign a person out everywhere, and refuse further sign-ins')
    .argument('<email>', 'whose account it is')
    .option('--force', 'even if they are the last owner of an organization')
    .action(async (email: string, options: { force?: true }, command: Command) => {
      const account = await run(command, (services) => disableAccount(services, email, options));
      print(context.terminal, command, account, () => `Disabled: ${account.email}`);
    });

  group
    .command('enable')
    .description('let a disabled person sign in again')
    .argument('<email>', 'whose account it is')
    .action(async (email: string, _options: object, command: Command) => {
      const account = await run(command, (services) => enableAccount(services, email));
      print(context.terminal, command, account, () => `Enabled: ${account.email}`);
    });

  group
    .command('delete')
    .description('delete an account for good; what the person wrote stays')
    .argument('<email>', 'whose account it is')
    .option('--force', 'even if they are the last owner of an organization')
    .action(async (email: string, options: { force?: true }, command: Command) => {
      const { id, email: address } = await run(command, (services) =>
        deleteAccount(services, email, options),
      );
      const deleted = { id, email: address, deleted: true };
      print(context.terminal, command, deleted, () => `Deleted: ${address}`);
    });
}

const roles = Role.anyOf.map((choice) => choice.const);

function row({ email, disabledAt, createdAt, organizations }: Account): string[] {
  const places = organizations.map(({ organizationId, role }) => `${organizationId} (${role})`).join(', ');
  return [oneLine(email), disabledAt === null ? 'active' : 'disabled', createdAt.slice(0, 10), places || '–'];
}

function describe({ id, email, url }: { id: string; email: string; url: string }): string {
  return `${fields({ User: id, 'E-mail': email, Link: url })}\n\nGive the person this link. It works once, within a day, while the service runs.`;
}
