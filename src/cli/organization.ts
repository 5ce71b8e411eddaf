import { Argument, Option } from 'commander';
import { tidings } from '../lib/build.ts';
import {
  findOrganization,
  listDeletedOrganizations,
  listOrganizations,
} from '../people/organization-store.ts';
import {
  changeOrganization,
  createOrganization,
  type DeletedOrganization,
  deleteOrganization,
  type Organization,
  Plan,
  restoreOrganization,
} from '../people/organizations.ts';
import { findSlugOwner } from '../readers/public/model.ts';
import type { Services } from '../server/services.ts';
import type { TidingsCommand } from './command.ts';
import { fields, table } from './output.ts';

const plans = Plan.anyOf.map((choice) => choice.const);

export function add(program: TidingsCommand): void {
  const group = program
    .sub('organization', 'Create, list, change and delete organizations')
    .examples('organization create --name "Acme" --id acme', 'organization list');

  group
    .sub('create', 'Create an organization')
    .requiredOption('--name <name>', 'Name that people see')
    .option('--id <id>', 'ID in URLs (default: a new one)')
    .addOption(
      new Option('--plan <plan>', 'Plan: free keeps the delivery log 7 days, pro 30')
        .choices(plans)
        .default('free'),
    )
    .answers(createOrganization, describe)
    .examples('organization create --name "Acme" --id acme', 'organization create --name "Beta" --plan pro');

  group
    .sub('list', 'List the organizations, oldest first, then those in the trash')
    .answers(
      ({ db, clock }) =>
        db.read(async (tx): Promise<(Organization & Partial<DeletedOrganization>)[]> => {
          const deleted = await listDeletedOrganizations(tx, clock.now());
          return [...(await listOrganizations(tx)), ...deleted];
        }),
      (all) => {
        if (all.length === 0)
          return `No organizations yet. Create one: ${tidings} organization create --name "Acme"`;
        const hasTrash = all.some(({ expiresAt }) => expiresAt !== undefined);
        return table(
          ['ID', 'NAME', 'PLAN', 'CREATED', ...(hasTrash ? ['IN TRASH UNTIL'] : [])],
          all.map(({ id, name, plan, createdAt, expiresAt }) => [
            ...[id, name, plan, createdAt.slice(0, 10)],
            ...(hasTrash ? [expiresAt?.slice(0, 10) ?? '-'] : []),
          ]),
          ['NAME'],
        );
      },
    )
    .examples('organization list', 'organization list --json');

  group
    .sub('rename', 'Change the name that people see. The ID stays.')
    .argument('<id>', 'ID of the organization')
    .requiredOption('--name <name>', 'New name')
    .answers(
      (services, id: string, { name }: { name: string }) => changeOrganization(services, id, { name }),
      describe,
    )
    .examples('organization rename acme --name "Acme Rockets"');

  group
    .sub('set-plan', 'Change the plan of an organization')
    .argument('<id>', 'ID of the organization')
    .addArgument(new Argument('<plan>', 'New plan').choices(plans))
    .answers((services, id: string, plan: Plan) => changeOrganization(services, id, { plan }), describe)
    .examples('organization set-plan acme pro');

  group
    .sub('set-approval', 'Choose whether publishing needs a second person')
    .argument('<id>', 'ID of the organization')
    .addArgument(new Argument('<switch>', 'Either on or off').choices(['on', 'off']))
    .answers(
      (services, id: string, state: 'on' | 'off') =>
        changeOrganization(services, id, { needsApproval: state === 'on' }),
      describe,
    )
    .examples('organization set-approval acme on');

  group
    .sub('delete', 'Move an organization to the trash, where it stays for 30 days')
    .argument('<id>', 'ID of the organization, or the slug of its public page')
    .requiredOption('--confirm <name>', 'Name of the organization, to confirm')
    .note(
      'Its API keys, public pages, feeds, webhooks and schedules stop at once, and its members no longer see it. After 30 days, Tidings removes it for good.',
    )
    .answers(
      async (services, given: string, { confirm }: { confirm: string }) =>
        deleteOrganization(services, await idOf(services, given), confirm),
      ({ id, name, expiresAt }) =>
        `Deleted: ${name}. To restore it until ${expiresAt.slice(0, 10)}: ${tidings} organization restore ${id}`,
    )
    .examples('organization delete acme --confirm "Acme"');

  group
    .sub('restore', 'Restore an organization from the trash, with everything it had')
    .argument('<id>', 'ID of the organization, or the slug of its public page')
    .answers(
      async (services, given: string) => restoreOrganization(services, await idOf(services, given)),
      ({ id, name }) => `Restored: ${name} (${id})`,
    )
    .examples('organization restore acme');
}

/** The id, or that of the organization with this slug; also in the trash. */
const idOf = ({ db }: Pick<Services, 'db'>, given: string): Promise<string> =>
  db.read(async (tx) =>
    (await findOrganization(tx, given)) === null ? ((await findSlugOwner(tx, given)) ?? given) : given,
  );

function describe({ id, name, plan, createdAt, needsApproval }: Organization) {
  const approval = needsApproval ? 'needed' : null;
  return fields({ Organization: id, Name: name, Plan: plan, Approval: approval, Created: createdAt });
}
