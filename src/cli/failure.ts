import { MoveError, PostgresError } from '../../db/failures.ts';
import { AppError, codeOf } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { importFormats } from '../posts/import/records.ts';
import { BackupError } from '../server/backup/archive.ts';
import { ConfigError } from '../server/config.ts';
import { DataFolderError } from '../server/data-folder.ts';
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

/** Advice after the message, by the code of the error. */
const hints: Readonly<Record<string, string>> = {
  organization_exists: 'Choose another --id.',
  organization_not_in_trash: '"organization list" lists those that are.',
  service_unreachable: `Start the server ("${tidings} serve"), or set its address with --url.`,
  no_posts: 'Another format? Set --format.',
  unknown_format: `Set --format to ${importFormats.join(', ')}.`,
  undated_version: 'Or set --date for versions without a date.',
  user_exists: '"user reset-password" creates a link to sign in again.',
  user_disabled: '"user enable" lets them sign in again.',
  user_not_found: '"user list" lists all users.',
  hook_disabled: '"hook enable" enables it.',
  too_many_hooks: '"hook list" lists them.',
  approval_needed:
    'A person asks for approval in the dashboard, another one approves. To skip it: --without-approval.',
  last_owner: 'Use "user add", or --force.',
};

/** The names of fields whose option is called otherwise. */
const names: Readonly<Record<string, string>> = {
  organizationId: '--organization',
  permissions: '--permission',
  expiresAt: '--expires',
  publishAt: '--at',
  titleTemplate: '--title',
  bodyTemplate: '--template',
  // `integration add` takes it as an argument.
  repository: 'Repository',
  // So does `draft`.
  range: 'Range',
};

/** The message of an error in the words of the command line. */
export function explain(error: AppError): string {
  const message = plainMessage(error);
  const hint = hintOf(error);
  if (hint === undefined) return message;
  return `${message}${/[.?!]$/.test(message) ? '' : '.'} ${hint}`;
}

function plainMessage({ code, message, fields }: AppError): string {
  const [[field = '', problem] = []] = Object.entries(fields);
  return code === 'invalid_field' && problem !== undefined ? `${optionNamed(field)} ${problem}` : message;
}

/** The option for a field such as `contentType` or `permissions.0`. */
function optionNamed(path: string): string {
  const [field = ''] = path.split('.');
  return names[field] ?? `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function hintOf({ code = '', details }: AppError): string | undefined {
  if (code === 'organization_not_found' && details.isDeleted === true) {
    return `It is in the trash. "organization restore ${details.id}" restores it.`;
  }
  if (code === 'organization_not_found' && details.isEmpty === true) {
    return 'This data folder has no organizations yet. "organization create" creates one. --data-dir selects another folder.';
  }
  if (code === 'unkey_refused' && details.status === 404) return `Run "${tidings} doctor".`;
  const [, missing] =
    /^(key|organization|post|integration|trigger|delivery|hook)_not_found$/.exec(code) ?? [];
  return hints[code] ?? (missing && `"${missing} list" lists those that exist.`);
}
