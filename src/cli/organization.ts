import { Argument, Option } from 'commander';
import { tidings } from '../lib/build.ts';
import { listOrganizations } from '../people/organization-store.ts';
import { changeOrganization, createOrganization, type Organization, Plan } from '../people/organizations.ts';
import type { TidingsCommand } from './command.ts';
import { fields, table } from './output.ts';

const plans = Plan.anyOf.map((choice) => choice.const);

export function add(program: TidingsCommand): void {
  const group = program
    .sub('organization', 'Create, list and change organizations')
    .examples('organization create --name "Acme" --id acme', 'organization list');

  group
    .sub('create', 'Create an organization')
    .requiredOption('--name <name>', 'Name that people see')
    .option('--id <id>', 'Id in URLs (default: a new one)')
    .addOption(
      new Option('--plan <plan>', 'Plan: free keeps the delivery log 7 days, pro 30')
        .choices(plans)
        .default('free'),
    )
    .answers(createOrganization, describe)
    .examples('organization create --name "Acme" --id acme', 'organization create --name "Beta" --plan pro');

  group
    .sub('list', 'List the organizations, oldest first')
    .answers(
      ({ db }) => db.read(listOrganizations),
      (all) =>
        all.length === 0
          ? `No organizations yet. Create one: ${tidings} organization create --name "Acme"`
          : table(
              ['ID', 'NAME', 'PLAN', 'CREATED'],
              all.map((each) => [each.id, each.name, each.plan, each.createdAt.slice(0, 10)]),
              ['NAME'],
            ),
    )
    .examples('organization list', 'organization list --json');

  group
    .sub('rename', 'Change the name that people see. The id stays.')
    .argument('<id>', 'Id of the organization')
    .requiredOption('--name <name>', 'New name')
    .answers(
      (services, id: string, { name }: { name: string }) => changeOrganization(services, id, { name }),
      describe,
    )
    .examples('organization rename acme --name "Acme Rockets"');

  group
    .sub('set-plan', 'Change the plan of an organization')
    .argument('<id>', 'Id of the organization')
    .addArgument(new Argument('<plan>', 'New plan').choices(plans))
    .answers((services, id: string, plan: Plan) => changeOrganization(services, id, { plan }), describe)
    .examples('organization set-plan acme pro');
}

function describe({ id, name, plan, createdAt }: Organization) {
  return fields({ Organization: id, Name: name, Plan: plan, Created: createdAt });
}
