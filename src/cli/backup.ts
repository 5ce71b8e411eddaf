import { dirname, join, resolve } from 'node:path';
import { Option } from 'commander';
import type { Progress } from '../../db/move.ts';
import { tidings } from '../lib/build.ts';
import { openFileStore } from '../lib/file-store.ts';
import { count } from '../lib/text.ts';
import { systemClock } from '../lib/time.ts';
import { type Backup, BackupError } from '../server/backup/archive.ts';
import { exportKey, makeBackup } from '../server/backup/job.ts';
import { type Restored, restoreBackup } from '../server/backup/restore.ts';
import { readSecretKey } from '../server/data-folder.ts';
import type { Moved } from '../server/move.ts';
import type { TidingsCommand } from './command.ts';
import { fields, progressOf, type Terminal, type Text } from './output.ts';

// Backups, restores, and moves. None opens the services: a backup must be possible without the key, and a restore
// without a database.

const EMBEDDED = 'the SQLite database, but DATABASE_URL is set. For PostgreSQL, use';

const FILE = 'A path, or s3://bucket/key (see the BACKUP_S3_… settings of serve)';

export function add(program: TidingsCommand): void {
  addBackupCommand(program);
  addRestoreCommand(program);
  addMoveCommand(program);
}

function addBackupCommand(program: TidingsCommand): void {
  program
    .sub('backup', 'Back up the database to one file. The server can keep running.')
    .argument('<file>', FILE)
    .option('--force', 'Replace an existing file')
    .option('--with-key', 'Include the secret key. Anyone with the file can then read the secrets.')
    .addOption(
      new Option('--key-only', 'Write only the secret key. Works with PostgreSQL too.').conflicts('withKey'),
    )
    .action(
      async (file: string, { force = false, withKey = false, keyOnly = false }, command: TidingsCommand) => {
        const { dataDir, secretKey, s3, database, media } = configOf(command);
        if (database !== undefined && !keyOnly) {
          throw new BackupError(
            `This command backs up ${EMBEDDED} pg_dump or point-in-time recovery (docs/postgresql.md). "${tidings} backup --key-only FILE" writes the secret key, which you also need`,
          );
        }
        process.umask(0o077);
        const isKeyNeeded = withKey || keyOnly;
        const key = isKeyNeeded ? readSecretKey(dataDir, secretKey) : findSecretKey(dataDir, secretKey);
        if (key === null && isKeyNeeded) {
          const missing = `SECRET_KEY is not set, and ${dataDir} has no secret.key`;
          throw new BackupError(`There is no key to back up: ${missing}`);
        }
        if (keyOnly && key !== null) {
          exportKey(dataDir, key, file, { force });
          command.print({ file: resolve(file) }, describeKey);
          return;
        }
        const source = {
          dataDir,
          createdAt: systemClock.now(),
          key: key ?? undefined,
          withKey,
          media: media.dir,
        };
        const backup = await makeBackup(source, file, { force, s3 });
        command.print(backup, describeBackup);
      },
    )
    .examples(
      'backup tidings.backup',
      'backup s3://backups/tidings.backup --force',
      'backup --key-only tidings.key',
    );
}

function addRestoreCommand(program: TidingsCommand): void {
  program
    .sub('restore', 'Restore a backup into the data folder. Stop the server first.')
    .argument('<file>', FILE)
    .option('--force', 'Replace the existing database and keep it beside the new one')
    .option('--new-key', 'Continue without the key of the backup. Every integration then needs a new secret.')
    .option(
      '--unverified',
      'Restore only the rows of a backup from another server or an earlier version. Use it only if you trust the file.',
    )
    .action(
      async (
        file: string,
        { force = false, newKey = false, unverified = false },
        command: TidingsCommand,
      ) => {
        const { dataDir, secretKey, s3, database, media } = configOf(command);
        if (database !== undefined) {
          throw new BackupError(
            `This command restores ${EMBEDDED} pg_restore or point-in-time recovery (docs/postgresql.md)`,
          );
        }
        process.umask(0o077);
        const files = media.dir === undefined ? undefined : openFileStore(media.dir, media.s3);
        const target = { dataDir, file, secretKey, s3, media: files, now: systemClock.now() };
        const restored = await restoreBackup({ ...target, force, newKey, unverified });
        command.print(restored, describeRestored);
      },
    )
    .examples('restore tidings.backup', 'restore s3://backups/tidings.backup --force');
}

function configOf(command: TidingsCommand) {
  const config = command.folderConfig();
  return { ...config, dataDir: resolve(config.dataDir) };
}

/** Null also for an invalid key file: a backup must be possible without the key. */
function findSecretKey(dataDir: string, secretKey: string | undefined): Buffer | null {
  try {
    return readSecretKey(dataDir, secretKey);
  } catch {
    return null;
  }
}

function describeBackup({ file, bytes, sha256, includesKey, isSigned, ...contents }: Backup): Text {
  return [
    fields({ File: file, Bytes: String(bytes), 'SHA-256': sha256, ...factsOf(contents) }),
    includesKey
      ? 'The backup includes the secret key. Store it as safely as the key.'
      : 'The backup does not include the secret key. Store secret.key, or SECRET_KEY, in another safe place: without it, nobody can read the stored secrets.',
    ...(isSigned
      ? []
      : ['The backup is not signed, because its key is not here. A restore needs --unverified.']),
  ];
}

function describeKey({ file }: { file: string }): string {
  return `The secret key is in ${file}. It decrypts the secrets of every backup: store it apart from them.`;
}

const KEY_WORDS: Record<Restored['key'], string> = {
  same: 'The data folder has the right secret key.',
  restored: 'The backup included the secret key. It is in secret.key again.',
  other:
    'The stored secrets can no longer be read. Give every integration a new secret with "integration rotate-secret", set its token again with "integration set-token", and delete and create the hooks, whose addresses are secrets.',
  none: 'The backup has no stored secrets.',
};

function describeRestored({ dataDir, keptAs, isVerified, key, ...contents }: Restored): Text {
  return [
    fields({ Folder: dataDir, ...factsOf(contents), 'Former database': keptAs }),
    KEY_WORDS[key],
    ...(isVerified ? [] : ['The backup was not verified. Tidings rebuilt the database from its rows.']),
  ];
}

/** Leaves out the search index, whose rows are made from the others. */
function factsOf({
  schema,
  tables,
  createdAt,
  images,
}: Pick<Backup, 'schema' | 'tables' | 'createdAt' | 'images'>) {
  const counts = Object.entries(tables).filter(([name]) => !name.startsWith('post_search'));
  const rows = counts.reduce((total, [, count]) => total + count, 0);
  return { Schema: String(schema), Rows: String(rows), Images: imagesIn(images), Created: createdAt };
}

/** Null for a backup without images. */
function imagesIn({ stored, missing, unreadable, examples, place }: Backup['images']): string | null {
  if (place !== null) return `not included: they are in ${place}`;
  if (stored + missing + unreadable === 0) return null;
  const left = [missing > 0 && `${missing} missing`, unreadable > 0 && `${unreadable} unreadable`];
  if (missing + unreadable === 0) return String(stored);
  return `${stored}; not included: ${left.filter(Boolean).join(', ')} (${examples.join(', ')})`;
}

function addMoveCommand(program: TidingsCommand): void {
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
