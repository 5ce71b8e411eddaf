import { Command, type Option } from 'commander';
import { settings } from '../config.ts';
import { buildLine, tidings } from '../lib/build.ts';
import { withoutControls } from '../lib/text.ts';
import { addAuditCommands } from './audit.ts';
import { addBackupCommands } from './backup.ts';
import { commandsOf, pathOf } from './command.ts';
import { addCompletionCommand } from './completion.ts';
import type { CliContext } from './context.ts';
import { addDeliveryCommands } from './delivery.ts';
import { examples, helpLayout } from './help.ts';
import { addHistoryCommand } from './history.ts';
import { addHookCommands } from './hook.ts';
import { addIntegrationCommands } from './integration.ts';
import { addKeyCommands } from './key.ts';
import { addMoveCommand } from './move.ts';
import { addDoctorCommand, addHealthcheckCommand, addSweepCommand } from './operate.ts';
import { addOrganizationCommands } from './organization.ts';
import { complain } from './output.ts';
import { addPageCommands } from './page.ts';
import { addPostCommands } from './post.ts';
import { addSendCommand } from './send.ts';
import { addServeCommand } from './serve.ts';
import { addTriggerCommands } from './trigger.ts';
import { addUserCommands } from './user.ts';

/** Longer lines are hard to read. */
const MAX_HELP_WIDTH = 100;

/** All commands. An error in the words of a person ends in `CommanderError`. */
export function buildProgram(context: CliContext): Command {
  const { terminal } = context;
  const { flag, help, default: dataDir } = settings.DATA_DIR;
  const helpWidth = () => (Number.isFinite(terminal.width) ? Math.min(terminal.width, MAX_HELP_WIDTH) : 80);
  const program = new Command('tidings')
    .description('Turns what a team ships into posts that its site can read.')
    .version(buildLine, '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show help')
    .option('--json', 'Print exactly one JSON value')
    .option(flag, `${help} (default: ${dataDir}) [DATA_DIR]`)
    .configureHelp(helpLayout)
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.writeError(text),
      outputError: (text) => complain(terminal, 'error', rephrase(text)),
      getOutHelpWidth: helpWidth,
      getErrHelpWidth: helpWidth,
      getOutHasColors: () => terminal.hasColor,
      getErrHasColors: () => terminal.errorHasColor,
    })
    .exitOverride();
  examples(program, 'serve --demo', 'organization create --name "Acme" --id acme', 'help key create');

  program.commandsGroup('Server:');
  addServeCommand(program, context);
  addDoctorCommand(program, context);
  addHealthcheckCommand(program, context);
  addBackupCommands(program, context);
  addMoveCommand(program, context);
  addSweepCommand(program, context);
  program.commandsGroup('Organizations and people:');
  addOrganizationCommands(program, context);
  addUserCommands(program, context);
  addAuditCommands(program, context);
  program.commandsGroup('Posts:');
  addPostCommands(program, context);
  addPageCommands(program, context);
  addHistoryCommand(program, context);
  addKeyCommands(program, context);
  addHookCommands(program, context);
  program.commandsGroup('Webhooks:');
  addIntegrationCommands(program, context);
  addTriggerCommands(program, context);
  addDeliveryCommands(program, context);
  addSendCommand(program, context);
  program.commandsGroup('Other:');
  addCompletionCommand(program, context);
  for (const command of commandsOf(program)) {
    if (command.commands.length > 0) command.helpCommand('help [command]', 'Show help for a command');
    command.showHelpAfterError(`Run "${[tidings, ...pathOf(command), '--help'].join(' ')}" for usage.`);
  }
  nameTyposFirst(program);
  return program;
}

/** Commander puts a suggestion on a line of its own. */
function rephrase(text: string): string {
  return withoutControls(text)
    .replace(/^error: /, '')
    .replace(/\.?\n\((Did you mean .+\?)\)/, '. $1')
    .trimEnd();
}

/**
 * Checks required options after everything else. Commander checks them first, and reports `--nmae` as a missing `--name`.
 */
function nameTyposFirst(program: Command): void {
  const required = new Map<Command, Option[]>();
  for (const command of commandsOf(program)) {
    const options = command.options.filter(({ mandatory }) => mandatory);
    required.set(command, options);
    for (const option of options) {
      option.mandatory = false;
      option.description += ' (required)';
    }
  }
  program.hook('preAction', (_, command) => {
    const isMissing = (option: Option) => command.getOptionValue(option.attributeName()) === undefined;
    const missing = required.get(command)?.find(isMissing);
    if (missing !== undefined) command.error(`error: required option '${missing.flags}' not specified`);
  });
}
