import type { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { importFormats } from '../posts/import/service.ts';

/** The rest of a message, by the code of its error. */
const hints: Readonly<Record<string, string>> = {
  delivery_not_replayable: ' Ask the provider to redeliver it.',
  service_unreachable: ` Start the service ("${tidings} serve"), or say where it is with --url.`,
};

/** The message of a failed command, with the command or flag that helps. */
export function explain({ code, message, details }: AppError): string {
  if (code === 'organization_not_found' && details.isEmpty === true) {
    return `${message}; this data folder holds none yet. "organization create" makes one; --data-dir names another folder`;
  }
  if (code === 'no_posts') return `${message} (see --format)`;
  if (code === 'unknown_format') return `${message}; say --format ${importFormats.join('|')}`;
  if (code === 'undated_version') return `${message}, or give --date for the versions that have none.`;
  const [, missing] = /^(\w+)_not_found$/.exec(code ?? '') ?? [];
  if (missing !== undefined) return `${message}; "${missing} list" shows those there are`;
  if (code === 'unkey_refused' && details.status === 404) return `${message} Run "${tidings} doctor".`;
  return `${message}${hints[code ?? ''] ?? ''}`;
}
