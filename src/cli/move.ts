import { dirname, join } from 'node:path';
import type { Progress } from '../../db/move.ts';
import { openFileStore } from '../lib/file-store.ts';
import { count } from '../lib/text.ts';
import type { Moved } from '../server/move.ts';
import type { TidingsCommand } from './command.ts';
import { progressOf, type Terminal, type Text } from './output.ts';

export function add(program: TidingsCommand): void {
  program
    .sub('move', 'Copy the database to PostgreSQL, or back to a data folder. Stop the server first.')
    .requiredOption(
      '--to <target>',
      'postgres:// URL of an empty database; with DATABASE_URL set, an empty folder',
    )
    .action(async ({ to }: { to: string }, command: TidingsCommand) => {
      const { dataDir, secretKey, database, media } = command.folderConfig();
      const isQuiet = command.optsWithGlobals().json === true;
      const progress = isQuiet ? null : showProgress(command.context.terminal);
      // Loaded only where it is used: other commands start faster without.
      const { moveDatabase } = await import('../server/move.ts');
      const moved = await moveDatabase({
        dataDir,
        databaseUrl: database?.url,
        secretKey,
        to,
        media: media.dir === undefined ? undefined : openFileStore(media.dir, media.s3),
        report: (step) => progress?.show(step),
      }).finally(() => progress?.clear());
      command.print(moved, (done) => describeMove(done, secretKey));
    })
    .note(
      'Compares all rows of both sides at the end and never changes the source. To continue an interrupted move, run the same command again.',
    )
    .examples('move --to postgres://tidings:PASSWORD@db.example.com/tidings?sslmode=verify-full');
}

const LABELS: Record<Progress['step'], string> = { copy: 'Copying', compare: 'Comparing' };

/** A bar for each step on a terminal, and otherwise a line for each tenth. */
function showProgress(terminal: Terminal) {
  const bar = progressOf(terminal);
  let shown = '';
  return {
    show({ step, done, total }: Progress): void {
      bar.show(`${LABELS[step]}: ${done} of ${total} rows`, { done, of: total });
      const tenths = Math.floor((done / total) * 10);
      if (terminal.isInteractive || tenths === 0 || shown === `${step} ${tenths}`) return;
      shown = `${step} ${tenths}`;
      terminal.writeError(`${LABELS[step]}: ${tenths * 10} %, ${done} of ${total} rows\n`);
    },
    clear: bar.clear,
  };
}

function describeMove({ from, to, rows, seconds, images }: Moved, secretKey: string | undefined): Text {
  const key =
    secretKey === undefined
      ? `the content of ${join(dirname(from), 'secret.key')}`
      : 'the key that you used here';
  const next = to.startsWith('postgres:')
    ? `Next: start every process with DATABASE_URL set to the new database, and SECRET_KEY set to ${key}.`
    : `Next: unset DATABASE_URL, and set DATA_DIR to ${dirname(to)}. Its secret.key holds the key.`;
  return [
    `Moved ${rows} rows from ${from} to ${to} in ${seconds} s. Both sides match.`,
    describeImages(images, to),
    next,
    'The source was not changed. Keep it until you trust the target.',
  ];
}

function describeImages({ copied, left, place }: Moved['images'], to: string): string {
  if (copied > 0) return `Copied ${count(copied, 'image')} to ${place}.`;
  if (left === 0 || !to.startsWith('postgres:')) return '';
  return `${count(left, 'image')} in ${place} ${left === 1 ? 'was' : 'were'} not moved. Copy the files to a bucket, and set MEDIA_DIR to s3://bucket/prefix.`;
}
