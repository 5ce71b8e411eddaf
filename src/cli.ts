#!/usr/bin/env bun
import { Command, CommanderError, Help, type Option } from 'commander';
import { addAuditCommands } from './cli/audit.ts';
import { addBackupCommands } from './cli/backup.ts';
import { type CliContext, WorkFailed } from './cli/context.ts';
import { addDeliveryCommands } from './cli/delivery.ts';
import { addDoctorCommand } from './cli/doctor.ts';
import { addHealthcheckCommand } from './cli/healthcheck.ts';
import { addIntegrationCommands } from './cli/integration.ts';
import { addKeyCommands } from './cli/key.ts';
import { addOrganizationCommands } from './cli/organization.ts';
import { addPostCommands } from './cli/post.ts';
import { addSendCommand } from './cli/send.ts';
import { addServeCommand } from './cli/serve.ts';
import { addSweepCommand } from './cli/sweep.ts';
import { describeSystemTrouble } from './cli/system-trouble.ts';
import { addTriggerCommands } from './cli/trigger.ts';
import { addUserCommands } from './cli/user.ts';
import { ConfigError, settings } from './config.ts';
import { AppError } from './lib/app-error.ts';
import { buildLine } from './lib/build.ts';
import { withoutControls } from './lib/controls.ts';
import { tidings } from './lib/how-to-run.ts';
import { WrongSecretKey } from './lib/secret-box.ts';
import { BackupError } from './operate/backup/model.ts';
import { DataFolderError } from './operate/data-folder.ts';

/** The work failed. */
const FAILED = 1;
/** The words were wrong: an unknown command, a missing option, a value that a setting does not take. */
const MISUSED = 2;

/** Commands that help with an `AppError`, by its code: the rest of its message. */
const hints: Readonly<Record<string, string>> = {
  delivery_not_found: '; "delivery list" shows those there are',
  delivery_not_replayable: ' Ask the provider to redeliver it.',
  service_unreachable: ` Start the service ("${tidings} serve"), or say where it is with --url.`,
};

/** What a person can mend, told in one line. */
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
    if (error instanceof AppError) {
      return fail(context, `${error.message}${hints[error.code ?? ''] ?? ''}`, FAILED);
    }
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

/** Whether it is an error of the system with one of these codes. */
function hasCode(error: unknown, ...codes: string[]): error is Error {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

if (import.meta.main) {
  process.stdout.on('error', (error) => {
    // Whoever reads has read enough, as `head` does.
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
