import { MoveError, PostgresError } from '../../db/failures.ts';
import { AppError, codeOf } from '../lib/app-error.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { BackupError } from '../server/backup/archive.ts';
import { ConfigError } from '../server/config.ts';
import { DataFolderError } from '../server/data-folder.ts';
import { explain } from './hints.ts';
import { integrationHint } from './integration.ts';

/** Words for the person; undefined for an unexpected error. */
export function messageOf(error: unknown): string | undefined {
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
    /^(EIO|SQLITE_IOERR)/,
    (message) =>
      `The disk failed (${message}). Check the disk, and whether the work was done, then run the command again.`,
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
