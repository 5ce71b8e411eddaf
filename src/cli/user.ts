import { Option } from 'commander';
import { tidings } from '../lib/build.ts';
import { count } from '../lib/text.ts';
import {
  addToOrganization,
  createUser,
  deleteAccount,
  disableAccount,
  enableAccount,
  listAccounts,
} from '../people/accounts.ts';
import { createPasswordLink } from '../people/links.ts';
import { roleNoun } from '../people/members.ts';
import { resetPasskeys } from '../people/passkeys/service.ts';
import { type Account, Role } from '../people/permission.ts';
import type { Services } from '../server/services.ts';
import { ofOrganization, readOf, type TidingsCommand } from './command.ts';
import { type Cell, fields, status, type Text, table } from './output.ts';

const roles = Role.anyOf.map((choice) => choice.const);

export function add(program: TidingsCommand): void {
  const group = program
    .sub('user', 'Manage accounts for the dashboard')
    .examples('user create --email ann@acme.example --organization acme', 'user list');
  const command = (name: string, description: string) =>
    group.command(name).description(description).argument('<email>', 'Email address of the account');

  group
    .sub('create', 'Create an account, and a link to choose its password')
    .requiredOption('--email <address>', 'Email address of the account')
    .option('--organization <id>', 'Organization that the person will own')
    .answers(async (services, { email, organization }: { email: string; organization?: string }) => {
      await readOf(services, organization, async () => undefined);
      await createUser(services, { email, organizationId: organization });
      return createLink(services, { email });
    }, describeLink)
    .examples('user create --email ann@acme.example --organization acme');

  group
    .sub('reset-password', 'Create a link to choose a new password')
    .requiredOption('--email <address>', 'Email address of the account')
    .answers(createLink, describeLink)
    .examples('user reset-password --email ann@acme.example');

  group
    .sub('list', 'List accounts with their organizations')
    .addOption(ofOrganization)
    .answers(
      (services, { organization }: { organization?: string }) => listAccounts(services, organization),
      (all) =>
        all.length === 0
          ? `No accounts yet. Create one: ${tidings} user create --email EMAIL --organization ID`
          : table(['EMAIL', 'STATUS', 'CREATED', 'ORGANIZATIONS'], all.map(row), ['ORGANIZATIONS']),
    )
    .examples('user list', 'user list --organization acme');

  command('add', 'Add a person to an organization, or give a member a role that may do more')
    .requiredOption('--organization <id>', 'Organization')
    .addOption(
      new Option('--role <role>', 'Role: a writer writes drafts, a member also publishes, an owner manages')
        .choices(roles)
        .default('member'),
    )
    .answers(
      (services, email: string, { organization, role }: { organization: string; role: Role }) =>
        addToOrganization(services, email, organization, role),
      (account, _, wanted) => describeAdded(account, wanted),
    )
    .examples(
      'user add ben@acme.example --organization acme',
      'user add ben@acme.example --organization acme --role owner',
    );

  command('disable', 'Disable an account and end its sessions')
    .option(...force)
    .answers(disableAccount, ({ email }) => `Disabled: ${email}`)
    .examples('user disable ben@acme.example');

  command('enable', 'Enable a disabled account')
    .answers(enableAccount, ({ email }) => `Enabled: ${email}`)
    .examples('user enable ben@acme.example');

  command(
    'reset-passkeys',
    'Remove the passkeys and recovery codes of a person who lost them, and end the sessions',
  )
    .answers(resetPasskeys, ({ email, removed }) => `Removed: ${count(removed, 'passkey')} of ${email}`)
    .examples('user reset-passkeys ben@acme.example');

  command('delete', 'Delete an account for good. Its posts stay.')
    .option(...force)
    .answers(
      async (services, account: string, options: { force?: boolean }) => {
        const { id, email } = await deleteAccount(services, account, options);
        return { id, email, deleted: true };
      },
      ({ email }) => `Deleted: ${email}`,
    )
    .examples('user delete ben@acme.example');
}

const force = ['--force', 'Continue even for the last owner of an organization'] as const;

function describeAdded(
  { email, organizations }: Account,
  { organization, role }: { organization: string; role: Role },
): string {
  const present = organizations.find(({ organizationId }) => organizationId === organization)?.role ?? role;
  if (present === role) return `Added: ${email} to ${organization}`;
  return `Nothing changed: ${email} is already ${roleNoun(present)} of ${organization}. An owner can change that in the dashboard, on the page Members.`;
}

async function createLink(services: Services, { email: address }: { email: string }) {
  const { user, path } = await createPasswordLink(services, address);
  return { id: user.id, email: user.email, url: `${services.publicUrl()}${path}` };
}

function row({ email, disabledAt, createdAt, organizations }: Account): Cell[] {
  const places = organizations.map(({ organizationId, role }) => `${organizationId} (${role})`).join(', ');
  const state = status(disabledAt === null ? 'active' : 'disabled');
  return [email, state, createdAt.slice(0, 10), places || '–'];
}

function describeLink({ id, email, url }: Awaited<ReturnType<typeof createLink>>): Text {
  return [
    fields({ User: id, Email: email, Link: url }),
    'Send the link to the person. It works once and expires in 24 hours. The server must be running.',
  ];
}
