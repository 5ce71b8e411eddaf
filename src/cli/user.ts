import { type Command, Option } from 'commander';
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
import { answering } from './command.ts';
import type { CliContext } from './context.ts';
import { fields, oneLine, table } from './output.ts';

const roles = Role.anyOf.map((choice) => choice.const);

export function addUserCommands(program: Command, context: CliContext): void {
  const answer = answering(context);
  const group = program.command('user').description('manage the accounts of people who use the dashboard');

  group
    .command('create')
    .description('create an account, and a link to choose its password')
    .requiredOption('--email <address>', 'the email address of the account')
    .option('--organization <id>', 'the organization that the person becomes an owner of')
    .action(
      answer(async (services, { email, organization }: { email: string; organization?: string }) => {
        if (organization !== undefined) await services.db.read((tx) => getOrganization(tx, organization));
        await createUser(services, { email, organizationId: organization });
        return createLink(services, { email });
      }, describeLink),
    );

  group
    .command('reset-password')
    .description('create a link to choose a new password')
    .requiredOption('--email <address>', 'the email address of the account')
    .action(answer(createLink, describeLink));

  group
    .command('list')
    .description('list accounts with their organizations')
    .option('--organization <id>', 'only people of this organization')
    .action(
      answer(
        (services, { organization }: { organization?: string }) => listAccounts(services, organization),
        (all) =>
          all.length === 0
            ? `No accounts yet. Create one: ${tidings} user create --email EMAIL --organization ID`
            : table(['EMAIL', 'STATUS', 'CREATED', 'ORGANIZATIONS'], all.map(row)),
      ),
    );

  group
    .command('add')
    .description('add a person to an organization, or make a member an owner')
    .argument('<email>', 'the account')
    .requiredOption('--organization <id>', 'the organization')
    .addOption(new Option('--role <role>', 'what they may do').choices(roles).default('member'))
    .action(
      answer(
        (services, email: string, { organization, role }: { organization: string; role: Role }) =>
          addToOrganization(services, email, organization, role),
        (account, _, { organization }) => `Added: ${account.email} to ${organization}`,
      ),
    );

  group
    .command('disable')
    .description('sign a person out everywhere, and refuse further sign-ins')
    .argument('<email>', 'the account')
    .option('--force', 'even if they are the last owner of an organization')
    .action(answer(disableAccount, ({ email }) => `Disabled: ${email}`));

  group
    .command('enable')
    .description('let a disabled person sign in again')
    .argument('<email>', 'the account')
    .action(answer(enableAccount, ({ email }) => `Enabled: ${email}`));

  group
    .command('delete')
    .description('delete an account for good; what the person wrote stays')
    .argument('<email>', 'the account')
    .option('--force', 'even if they are the last owner of an organization')
    .action(
      answer(
        async (services, account: string, options: { force?: boolean }) => {
          const { id, email } = await deleteAccount(services, account, options);
          return { id, email, deleted: true };
        },
        ({ email }) => `Deleted: ${email}`,
      ),
    );
}

async function createLink(services: Services, { email: address }: { email: string }) {
  const { user, path } = await createPasswordLink(services, address);
  return { id: user.id, email: user.email, url: `${services.publicUrl()}${path}` };
}

function row({ email, disabledAt, createdAt, organizations }: Account): string[] {
  const places = organizations.map(({ organizationId, role }) => `${organizationId} (${role})`).join(', ');
  return [oneLine(email), disabledAt === null ? 'active' : 'disabled', createdAt.slice(0, 10), places || '–'];
}

function describeLink({ id, email, url }: Awaited<ReturnType<typeof createLink>>): string {
  return `${fields({ User: id, Email: email, Link: url })}\n\nGive the person this link. It works once, within a day, while the service runs.`;
}
