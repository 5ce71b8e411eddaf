import { Argument, type Command, Option } from 'commander';
import { tidings } from '../lib/build.ts';
import { type Organization, Plan } from '../organizations/model.ts';
import { changeOrganization, createOrganization } from '../organizations/service.ts';
import { listOrganizations } from '../organizations/store.ts';
import { type CliContext, withServices } from './context.ts';
import { fields, oneLine, print, table } from './output.ts';

const plans = Plan.anyOf.map((choice) => choice.const);

export function addOrganizationCommands(program: Command, context: CliContext): void {
  const group = program.command('organization').description('make and list organizations');

  group
    .command('create')
    .description('make an organization')
    .requiredOption('--name <name>', 'what people call it')
    .option('--id <id>', 'its id in URLs (default: a new one)')
    .addOption(
      new Option('--plan <plan>', 'how long its delivery log is kept').choices(plans).default('free'),
    )
    .action(async ({ name, id, plan }: { name: string; id?: string; plan: Plan }, command: Command) => {
      const organization = await withServices(context, command, (services) =>
        createOrganization(services, { name, plan, ...(id === undefined ? {} : { id }) }),
      );
      print(context.terminal, command, organization, describe);
    });

  group
    .command('list')
    .description('list the organizations, oldest first')
    .action(async (_options: object, command: Command) => {
      const organizations = await withServices(context, command, ({ db }) => db.read(listOrganizations));
      print(context.terminal, command, organizations, (all) =>
        all.length === 0
          ? `No organization yet. Make one: ${tidings} organization create --name "Acme"`
          : table(
              ['ID', 'NAME', 'PLAN', 'CREATED'],
              all.map((each) => [each.id, oneLine(each.name), each.plan, each.createdAt.slice(0, 10)]),
            ),
      );
    });

  group
    .command('set-plan')
    .description('change the plan of an organization')
    .argument('<id>', 'the organization')
    .addArgument(new Argument('<plan>', 'its new plan').choices(plans))
    .action(async (id: string, plan: Plan, _options: object, command: Command) => {
      const organization = await withServices(context, command, (services) =>
        changeOrganization(services, id, { plan }),
      );
      print(context.terminal, command, organization, describe);
    });
}

function describe({ id, name, plan, createdAt }: Organization): string {
  return fields({ Organization: id, Name: oneLine(name), Plan: plan, Created: createdAt });
}
