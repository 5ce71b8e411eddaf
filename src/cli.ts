#!/usr/bin/env bun
import { Command, CommanderError, Help, type Option } from 'commander';
import { MoveError, PostgresError } from '../db/failures.ts';
import { addAuditCommands } from './cli/audit.ts';
import { addBackupCommands } from './cli/backup.ts';
import { type CliContext, WorkFailed } from './cli/context.ts';
import { addDeliveryCommands } from './cli/delivery.ts';
import { explain } from './cli/hints.ts';
import { addIntegrationCommands, integrationHint } from './cli/integration.ts';
import { addKeyCommands } from './cli/key.ts';
import { addMoveCommand } from './cli/move.ts';
import { addDoctorCommand, addHealthcheckCommand, addSweepCommand } from './cli/operate.ts';
import { addOrganizationCommands } from './cli/organization.ts';
import { addPostCommands } from './cli/post.ts';
import { addSendCommand } from './cli/send.ts';
import { addServeCommand } from './cli/serve.ts';
import { addTriggerCommands } from './cli/trigger.ts';
import { addUserCommands } from './cli/user.ts';
import { ConfigError, settings } from './config.ts';
import { AppError } from './lib/app-error.ts';
import { buildLine } from './lib/build.ts';
import { WrongSecretKey } from './lib/secret-box.ts';
import { withoutControls } from './lib/text.ts';
import { BackupError } from './operate/backup/archive.ts';
import { DataFolderError } from './operate/data-folder.ts';

// Exit codes. Misused: an unknown command, a missing option, an invalid setting.
const FAILED = 1;
const MISUSED = 2;

export async function runCli(words: readonly string[], context: CliContext): Promise<number> {
  try {
    await buildProgram(context).parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    if (error instanceof WorkFailed) return FAILED;
    const message = messageOf(error);
    if (message === undefined) throw error;
    context.terminal.writeError(`error: ${withoutControls(message)}\n`);
    return error instanceof ConfigError ? MISUSED : FAILED;
  }
}

/** What to tell the person; undefined for an unexpected error. */
function messageOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof AppError) return `${explain(error)}${integrationHint(error)}`;
  if (plainErrors.some((kind) => error instanceof kind)) return error.message;
  const [, advice] = systemErrors.find(([codes]) => codes.test(codeOf(error))) ?? [];
  return advice?.(error.message);
}

/** Errors whose message says what to do. */
const plainErrors = [ConfigError, BackupError, DataFolderError, MoveError, PostgresError, WrongSecretKey];

const systemErrors: readonly [codes: RegExp, advice: (message: string) => string][] = [
  [
    /^(ENOSPC|SQLITE_FULL)$/,
    () => 'The disk is full and nothing was written. Make room, and run the command again',
  ],
  [
    /^SQLITE_BUSY/,
    () => 'The database is busy: another process has been writing to it for 5 seconds. Run the command again',
  ],
  [
    /^SQLITE_CORRUPT/,
    (message) =>
      `The database is damaged (${message}). Restore a backup with --force, which keeps the damaged file beside the new one`,
  ],
  [/^(EADDRINUSE|EACCES)$/, (message) => `${message} PORT names another port; 0 picks a free one.`],
];

function codeOf(error: object): string {
  return 'code' in error ? String(error.code) : '';
}

function buildProgram(context: CliContext): Command {
  const { terminal } = context;
  const program = new Command('tidings')
    .description('Turns what a team ships into posts that its site can read.')
    .version(buildLine)
    .option('--json', 'print exactly one JSON value')
    .option(
      settings.DATA_DIR.flag,
      `${settings.DATA_DIR.help} (default: ${settings.DATA_DIR.default}) [DATA_DIR]`,
    )
    .configureHelp({ showGlobalOptions: true, optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.writeError(withoutControls(text)),
    })
    .showHelpAfterError('(add --help to see what it takes)')
    .exitOverride();
  addServeCommand(program, context);
  addHealthcheckCommand(program, context);
  addOrganizationCommands(program, context);
  addKeyCommands(program, context);
  addPostCommands(program, context);
  addIntegrationCommands(program, context);
  addTriggerCommands(program, context);
  addDeliveryCommands(program, context);
  addSendCommand(program, context);
  addUserCommands(program, context);
  addAuditCommands(program, context);
  addSweepCommand(program, context);
  addDoctorCommand(program, context);
  addBackupCommands(program, context);
  addMoveCommand(program, context);
  return program;
}

/** Commander's help does not mark required options. */
function describeOption(option: Option): string {
  const description = Help.prototype.optionDescription(option);
  return option.mandatory ? `${description} (required)` : description;
}

if (import.meta.main) {
  process.stdout.on('error', (error) => {
    // The reader closed the pipe, as `head` does.
    if (codeOf(error) !== 'EPIPE') throw error;
  });
  process.exitCode = await runCli(Bun.argv.slice(2), {
    terminal: {
      write: (text) => void process.stdout.write(text),
      writeError: (text) => void process.stderr.write(text),
      isInteractive: process.stderr.isTTY === true,
    },
  });
}
