#!/usr/bin/env bun
import { CommanderError } from 'commander';
import { MoveError, PostgresError } from '../db/failures.ts';
import { type CliContext, WorkFailed } from './cli/context.ts';
import { explain } from './cli/hints.ts';
import { integrationHint } from './cli/integration.ts';
import { complain } from './cli/output.ts';
import { buildProgram } from './cli/program.ts';
import { processTerminal } from './cli/terminal.ts';
import { ConfigError } from './config.ts';
import { AppError, codeOf } from './lib/app-error.ts';
import { WrongSecretKey } from './lib/secret-box.ts';
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
    complain(context.terminal, 'error', message);
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
    () => 'The disk is full. Nothing was written. Free up disk space, then run the command again.',
  ],
  [
    /^SQLITE_BUSY/,
    () =>
      'The database is busy: another process has been writing to it for 5 seconds. Run the command again.',
  ],
  [
    /^SQLITE_CORRUPT/,
    (message) =>
      `The database is damaged (${message}). Restore a backup with --force, which keeps the damaged file beside the new one.`,
  ],
  [
    /^EADDRINUSE$/,
    (message) =>
      `Port ${/\d+/.exec(message)?.[0]} is in use. Stop the other process, or set PORT to another port; 0 picks a free one.`,
  ],
  [/^EACCES$/, (message) => `${message} Set PORT to another port; 0 picks a free one.`],
];

if (import.meta.main) {
  process.stdout.on('error', (error) => {
    // The reader closed the pipe, as `head` does.
    if (codeOf(error) !== 'EPIPE') throw error;
  });
  process.exitCode = await runCli(Bun.argv.slice(2), { terminal: processTerminal() });
}
