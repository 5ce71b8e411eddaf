import { Argument, type Command, Option } from 'commander';
import { tidings } from '../lib/build.ts';
import { type Organization, Plan } from '../organizations/model.ts';
import { changeOrganization, createOrganization } from '../organizations/service.ts';
import { listOrganizations } from '../organizations/store.ts';
import { answering } from './command.ts';
import type { CliContext } from './context.ts';
import { fields, oneLine, table } from './output.ts';

const plans = Plan.anyOf.map((choice) => choice.const);

export function addOrganizationCommands(program: Command, context: CliContext): void {
  const answer = answering(context);
  const group = program.command('organization').description('create and list organizations');

  group
    .command('create')
    .description('create an organization')
    .requiredOption('--name <name>', 'what people call it')
    .option('--id <id>', 'its id in URLs (default: a new one)')
    .addOption(
      new Option('--plan <plan>', 'how long its delivery log is kept').choices(plans).default('free'),
    )
    .action(answer(createOrganization, describe));

  group
    .command('list')
    .description('list the organizations, oldest first')
    .action(
      answer(
        ({ db }) => db.read(listOrganizations),
        (all) =>
          all.length === 0
            ? `No organizations yet. Create one: ${tidings} organization create --name "Acme"`
            : table(
                ['ID', 'NAME', 'PLAN', 'CREATED'],
                all.map((each) => [each.id, oneLine(each.name), each.plan, each.createdAt.slice(0, 10)]),
              ),
      ),
    );

  group
    .command('set-plan')
    .description('change the plan of an organization')
    .argument('<id>', 'the organization')
    .addArgument(new Argument('<plan>', 'its new plan').choices(plans))
    .action(
      answer((services, id: string, plan: Plan) => changeOrganization(services, id, { plan }), describe),
    );
}

function describe({ id, name, plan, createdAt }: Organization): string {
  return fields({ Organization: id, Name: oneLine(name), Plan: plan, Created: createdAt });
}
