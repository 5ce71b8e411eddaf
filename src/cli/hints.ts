import type { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { importFormats } from '../posts/import/service.ts';

/** What follows the message, by the code of the error. */
const hints: Readonly<Record<string, string>> = {
  delivery_not_replayable: ' Ask the provider to redeliver it.',
  service_unreachable: ` Start the service ("${tidings} serve"), or say where it is with --url.`,
  no_posts: ' (see --format)',
  unknown_format: `; say --format ${importFormats.join('|')}`,
  undated_version: ', or give --date for the versions that have none.',
  user_exists: '; "user reset-password" lets them in again',
  user_disabled: '; "user enable" lets them in again',
  last_owner: ' Use "user add", or --force.',
};

export function explain({ code = '', message, details }: AppError): string {
  if (code === 'organization_not_found' && details.isEmpty === true) {
    return `${message}; this data folder has no organizations yet. "organization create" makes one; --data-dir names another folder`;
  }
  if (code === 'unkey_refused' && details.status === 404) return `${message} Run "${tidings} doctor".`;
  const [, missing] = /^(\w+)_not_found$/.exec(code) ?? [];
  const hint = missing === undefined ? hints[code] : `; "${missing} list" shows those there are`;
  return `${message}${hint ?? ''}`;
}
