import { Argument, type Command, Option } from 'commander';
import { tidings } from '../lib/build.ts';
import { listOrganizations } from '../people/organization-store.ts';
import { changeOrganization, createOrganization, type Organization, Plan } from '../people/organizations.ts';
import { answering } from './command.ts';
import type { CliContext } from './context.ts';
import { examples } from './help.ts';
import { fields, table } from './output.ts';

const plans = Plan.anyOf.map((choice) => choice.const);

export function addOrganizationCommands(program: Command, context: CliContext): void {
  const answer = answering(context);
  const group = program.command('organization').description('Create and list organizations');
  examples(group, 'organization create --name "Acme" --id acme', 'organization list');

  const create = group
    .command('create')
    .description('Create an organization')
    .requiredOption('--name <name>', 'Name that people see')
    .option('--id <id>', 'Id in URLs (default: a new one)')
    .addOption(
      new Option('--plan <plan>', 'Plan: free keeps the delivery log 7 days, pro 30')
        .choices(plans)
        .default('free'),
    )
    .action(answer(createOrganization, describe));
  examples(
    create,
    'organization create --name "Acme" --id acme',
    'organization create --name "Beta" --plan pro',
  );

  const list = group
    .command('list')
    .description('List the organizations, oldest first')
    .action(
      answer(
        ({ db }) => db.read(listOrganizations),
        (all) =>
          all.length === 0
            ? `No organizations yet. Create one: ${tidings} organization create --name "Acme"`
            : table(
                ['ID', 'NAME', 'PLAN', 'CREATED'],
                all.map((each) => [each.id, each.name, each.plan, each.createdAt.slice(0, 10)]),
                ['NAME'],
              ),
      ),
    );
  examples(list, 'organization list', 'organization list --json');

  const setPlan = group
    .command('set-plan')
    .description('Change the plan of an organization')
    .argument('<id>', 'Id of the organization')
    .addArgument(new Argument('<plan>', 'New plan').choices(plans))
    .action(
      answer((services, id: string, plan: Plan) => changeOrganization(services, id, { plan }), describe),
    );
  examples(setPlan, 'organization set-plan acme pro');
}

function describe({ id, name, plan, createdAt }: Organization) {
  return fields({ Organization: id, Name: name, Plan: plan, Created: createdAt });
}
