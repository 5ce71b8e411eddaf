import { Command, CommanderError, type Option } from 'commander';
import { buildLine, STARTING_JIT_POLICY, tidings } from '../lib/build.ts';
import { withoutControls } from '../lib/text.ts';
import { ConfigError } from '../server/config.ts';
import { optionOf } from '../server/settings.ts';
import { commandsOf, pathOf } from './command.ts';
import { type CliContext, WorkFailed } from './context.ts';
import { examples, helpLayout } from './help.ts';
import { complain } from './output.ts';

/** Longer lines are hard to read. */
const MAX_HELP_WIDTH = 100;

/** Commands of one file, which loads when a person runs one of them, or when the program must know all. */
interface Group {
  /** In the help of the program. */
  heading: string;
  names: readonly string[];
  load: () => Promise<(program: Command, context: CliContext) => void>;
  /** It describes the other commands too. */
  needsAll?: true;
}

const SERVER = 'Server:';
const PEOPLE = 'Organizations and people:';
const POSTS = 'Posts:';
const WEBHOOKS = 'Webhooks:';

/** In the order of the help. */
const groups: readonly Group[] = [
  { heading: SERVER, names: ['serve'], load: async () => (await import('./serve.ts')).addServeCommand },
  {
    heading: SERVER,
    names: ['doctor', 'healthcheck'],
    load: async () => {
      const { addDoctorCommand, addHealthcheckCommand } = await import('./operate.ts');
      return (...to) => {
        addDoctorCommand(...to);
        addHealthcheckCommand(...to);
      };
    },
  },
  {
    heading: SERVER,
    names: ['backup', 'restore'],
    load: async () => (await import('./backup.ts')).addBackupCommands,
  },
  { heading: SERVER, names: ['move'], load: async () => (await import('./move.ts')).addMoveCommand },
  { heading: SERVER, names: ['sweep'], load: async () => (await import('./operate.ts')).addSweepCommand },
  {
    heading: PEOPLE,
    names: ['organization'],
    load: async () => (await import('./organization.ts')).addOrganizationCommands,
  },
  { heading: PEOPLE, names: ['user'], load: async () => (await import('./user.ts')).addUserCommands },
  { heading: PEOPLE, names: ['audit'], load: async () => (await import('./audit.ts')).addAuditCommands },
  { heading: POSTS, names: ['post'], load: async () => (await import('./post.ts')).addPostCommands },
  { heading: POSTS, names: ['page'], load: async () => (await import('./page.ts')).addPageCommands },
  { heading: POSTS, names: ['history'], load: async () => (await import('./history.ts')).addHistoryCommand },
  { heading: POSTS, names: ['key'], load: async () => (await import('./key.ts')).addKeyCommands },
  { heading: POSTS, names: ['hook'], load: async () => (await import('./hook.ts')).addHookCommands },
  {
    heading: WEBHOOKS,
    names: ['integration'],
    load: async () => (await import('./integration.ts')).addIntegrationCommands,
  },
  {
    heading: WEBHOOKS,
    names: ['trigger'],
    load: async () => (await import('./trigger.ts')).addTriggerCommands,
  },
  {
    heading: WEBHOOKS,
    names: ['delivery'],
    load: async () => (await import('./delivery.ts')).addDeliveryCommands,
  },
  { heading: WEBHOOKS, names: ['send'], load: async () => (await import('./send.ts')).addSendCommand },
  {
    heading: 'Other:',
    names: ['completion'],
    load: async () => (await import('./completion.ts')).addCompletionCommand,
    needsAll: true,
  },
];

/**
 * The program with the command that `words` begin with, or with all commands. An error in the words of a person ends in
 * `CommanderError`.
 */
export async function buildProgram(context: CliContext, words: readonly string[] = []): Promise<Command> {
  const { terminal } = context;
  const helpWidth = () => (Number.isFinite(terminal.width) ? Math.min(terminal.width, MAX_HELP_WIDTH) : 80);
  const program = new Command('tidings')
    .description('Turns what a team ships into posts that its site can read.')
    .version(buildLine, '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show help')
    .option('--json', 'Print exactly one JSON value')
    .option(...optionOf('DATA_DIR'))
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

  const only = groups.find(({ names }) => names.includes(words[0] ?? ''));
  // The binary begins with that of a start. `startServer` sets it back to 1; other commands may run long in any part.
  Bun.unsafe.setJITPolicy(only?.names.includes('serve') ? STARTING_JIT_POLICY : 1);
  const needed = only === undefined || only.needsAll ? groups : [only];
  const loaded = await Promise.all(needed.map(async ({ heading, load }) => ({ heading, add: await load() })));
  for (const { heading, add } of loaded) {
    program.commandsGroup(heading);
    add(program, context);
  }
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

// Exit codes. Misused: an unknown command, a missing option, an invalid setting.
const FAILED = 1;
const MISUSED = 2;

export async function runCli(words: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = await buildProgram(context, words);
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    if (error instanceof WorkFailed) return FAILED;
    // It knows the errors of every command, so it loads only for one.
    const { messageOf } = await import('./failure.ts');
    const message = messageOf(error);
    if (message === undefined) throw error;
    complain(context.terminal, 'error', message);
    return error instanceof ConfigError ? MISUSED : FAILED;
  }
}
