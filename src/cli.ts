#!/usr/bin/env bun
import { Command, CommanderError, Help, type Option } from 'commander';
import { addAuditCommands } from './cli/audit.ts';
import { addBackupCommands } from './cli/backup.ts';
import { type CliContext, WorkFailed } from './cli/context.ts';
import { addDeliveryCommands } from './cli/delivery.ts';
import { explain } from './cli/hints.ts';
import { addIntegrationCommands, integrationHint } from './cli/integration.ts';
import { addKeyCommands } from './cli/key.ts';
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

/** The work failed. */
const FAILED = 1;
/** The words were wrong: an unknown command, a missing option, a value that a setting does not take. */
const MISUSED = 2;

/** Errors that a person can fix, as one line. */
const mendable = [BackupError, DataFolderError, WrongSecretKey];

/** Runs one command. Returns the exit code; never throws for what a person can mend. */
export async function runCli(words: readonly string[], context: CliContext): Promise<number> {
  try {
    await buildProgram(context).parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    if (error instanceof WorkFailed) return FAILED;
    if (error instanceof ConfigError) return fail(context, error.message, MISUSED);
    if (error instanceof AppError) return fail(context, `${explain(error)}${integrationHint(error)}`, FAILED);
    if (mendable.some((kind) => error instanceof kind))
      return fail(context, (error as Error).message, FAILED);
    const trouble = describeSystemTrouble(error);
    if (trouble !== null) return fail(context, trouble, FAILED);
    if (hasCode(error, 'EADDRINUSE', 'EACCES')) {
      return fail(context, `${error.message} PORT names another port; 0 picks a free one.`, FAILED);
    }
    throw error;
  }
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
  return program;
}

/** Commander does not tell in its help which options a command cannot do without. */
function describeOption(option: Option): string {
  const description = Help.prototype.optionDescription(option);
  return option.mandatory ? `${description} (required)` : description;
}

function fail({ terminal }: CliContext, message: string, exitCode: number): number {
  terminal.writeError(`error: ${withoutControls(message)}\n`);
  return exitCode;
}

/** True for a system error with one of these codes. */
function hasCode(error: unknown, ...codes: string[]): error is Error {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

if (import.meta.main) {
  process.stdout.on('error', (error) => {
    // The reader closed the pipe, as `head` does.
    if (!hasCode(error, 'EPIPE')) throw error;
  });
  process.exitCode = await runCli(Bun.argv.slice(2), {
    terminal: {
      write: (text) => void process.stdout.write(text),
      writeError: (text) => void process.stderr.write(text),
      isInteractive: process.stderr.isTTY === true,
    },
  });
}

/**
 * The system's error as a line that says what to do: a full disk, a database that somebody else
 * keeps busy, or a damaged one. Null for every other error.
 */
function describeSystemTrouble(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOSPC' || code === 'SQLITE_FULL') {
    return 'The disk is full, and what was to be written is not there. Make room, and run the command again';
  }
  if (code.startsWith('SQLITE_BUSY')) {
    return 'The database is busy: another process has been writing to it for 5 seconds. Run the command again';
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return 'The database is damaged (database disk image is malformed). Restore a backup with --force, which keeps the file as it is beside the new one';
  }
  return null;
}
