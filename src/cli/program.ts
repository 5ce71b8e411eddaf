import { type Command, CommanderError, type Option } from 'commander';
import { AppError, invalidField } from '../lib/app-error.ts';
import { buildLine, STARTING_JIT_POLICY, tidings } from '../lib/build.ts';
import { ID_PATTERN, ID_RULE, withoutControls } from '../lib/text.ts';
import { ConfigError } from '../server/config.ts';
import { optionOf } from '../server/settings.ts';
import { type CliContext, commandsOf, helpLayout, pathOf, TidingsCommand, WorkFailed } from './command.ts';
import { complain } from './output.ts';

/** Describes the other commands too. */
const COMPLETION = 'completion';

/** Longer lines are hard to read. */
const MAX_HELP_WIDTH = 100;

const SERVER = 'Server:';
const PEOPLE = 'Organizations and people:';
const POSTS = 'Posts:';
const WEBHOOKS = 'Webhooks:';

/**
 * The commands of each file, in the order of the help, below their heading. A file loads when a person runs one of them, or
 * when the program must know all.
 */
const groups: readonly (readonly [
  heading: string,
  names: readonly string[],
  load: () => Promise<{ add: (program: TidingsCommand) => void }>,
])[] = [
  [SERVER, ['serve'], () => import('./serve.ts')],
  [SERVER, ['doctor', 'healthcheck', 'sweep', 'upgrade', 'attention'], () => import('./operate.ts')],
  [SERVER, ['backup', 'restore', 'move'], () => import('./backup.ts')],
  [PEOPLE, ['organization'], () => import('./organization.ts')],
  [PEOPLE, ['user'], () => import('./user.ts')],
  [PEOPLE, ['audit'], () => import('./audit.ts')],
  [POSTS, ['post'], () => import('./post.ts')],
  [POSTS, ['page'], () => import('./page.ts')],
  [POSTS, ['history'], () => import('./history.ts')],
  [POSTS, ['draft', 'preview'], () => import('./draft.ts')],
  [POSTS, ['key'], () => import('./key.ts')],
  [POSTS, ['hook'], () => import('./hook.ts')],
  [WEBHOOKS, ['integration'], () => import('./integration.ts')],
  [WEBHOOKS, ['trigger'], () => import('./trigger.ts')],
  [WEBHOOKS, ['roundup'], () => import('./roundup.ts')],
  [WEBHOOKS, ['delivery', 'send'], () => import('./delivery.ts')],
  ['Other:', [COMPLETION], () => import('./completion.ts')],
];

/**
 * The program with the command that `words` begin with, or with all commands. An error in the words of a person ends in
 * `CommanderError`.
 */
export async function buildProgram(context: CliContext, words: readonly string[] = []): Promise<Command> {
  const { terminal } = context;
  const helpWidth = () => (Number.isFinite(terminal.width) ? Math.min(terminal.width, MAX_HELP_WIDTH) : 80);
  const program = new TidingsCommand('tidings', context)
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
    .exitOverride()
    .examples('serve --demo', 'organization create --name "Acme" --id acme', 'help key create');

  const [name = ''] = words;
  // The binary begins with that of a start. `startServer` sets it back to 1; other commands may run long in any part.
  Bun.unsafe.setJITPolicy(name === 'serve' ? STARTING_JIT_POLICY : 1);
  const only = groups.filter(([, names]) => names.includes(name));
  const needed = only.length === 0 || name === COMPLETION ? groups : only;
  const loaded = await Promise.all(needed.map(async ([heading, , load]) => [heading, await load()] as const));
  for (const [heading, { add }] of loaded) {
    program.commandsGroup(heading);
    add(program);
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
function nameTyposFirst(program: TidingsCommand): void {
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
    requireUsableValues(command);
  });
}

/** Values that cannot be right whatever the data folder has, by what stands for them in the help. */
const forms: readonly (readonly [value: string, form: RegExp, rule: string])[] = [
  [' <id>', new RegExp(ID_PATTERN), ID_RULE],
  [' <token>', /^\s*[\x21-\x7e]{1,512}\s*$/, 'must be 1 to 512 characters without spaces'],
  ['', /\S/, 'must not be empty'],
];

function requireUsableValues(command: Command): void {
  for (const option of command.options) {
    // Providers give deliveries IDs of other forms.
    const isAnyId = option.long === '--delivery';
    const [, form, rule = ''] =
      forms.find(([value]) => option.flags.endsWith(value) && !(isAnyId && value)) ?? [];
    const given: unknown = command.getOptionValue(option.attributeName());
    const isWrong = [given].flat().some((value) => typeof value === 'string' && !form?.test(value));
    if (isWrong) throw invalidField(option.name(), rule);
  }
}

// Exit codes. Misused: an unknown command, a missing option, an invalid setting or value.
const FAILED = 1;
const MISUSED = 2;

/** Codes of errors about what the person typed, not about what the data folder or a provider has. */
const wrongWords = [
  ...['invalid_field', 'invalid_token', 'invalid_template', 'not_applicable', 'publish_unsupported'],
  ...['past_unsupported', 'no_sample'],
];

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
    const isMisused =
      error instanceof ConfigError || (error instanceof AppError && wrongWords.includes(error.code ?? ''));
    return isMisused ? MISUSED : FAILED;
  }
}
