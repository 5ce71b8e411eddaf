import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { readConfig } from '../config.ts';
import { tidings } from '../lib/build.ts';
import { openFileStore } from '../lib/file-store.ts';
import { systemClock } from '../lib/time.ts';
import { type Backup, BackupError } from '../operate/backup/archive.ts';
import { exportKey, makeBackup } from '../operate/backup/make.ts';
import { type Restored, restoreBackup } from '../operate/backup/restore.ts';
import { readSecretKey } from '../operate/secret-key.ts';
import { type CliContext, flagsOf } from './context.ts';
import { fields, print } from './output.ts';

// Neither opens the services: a backup must be possible without the key, and a restore without a database.

const EMBEDDED = 'the embedded file, but DATABASE_URL is set. For PostgreSQL, use';

const TARGET = 'a path, or s3://bucket/key (see the BACKUP_S3_… settings of serve)';

export function addBackupCommands(program: Command, context: CliContext): void {
  program
    .command('backup')
    .description('write a checked copy of the database to one file; the service may be running')
    .argument('<file>', TARGET)
    .option('--force', 'replace the file if it is there')
    .option('--with-key', 'store the secret key in it too: whoever has the file can then read the secrets')
    .addOption(
      new Option('--key-only', 'write the secret key alone; works with PostgreSQL too').conflicts('withKey'),
    )
    .action(async (file: string, { force = false, withKey = false, keyOnly = false }, command: Command) => {
      const { dataDir, secretKey, s3, database, media } = configOf(context, command);
      if (database !== undefined && !keyOnly) {
        throw new BackupError(
          `This command backs up ${EMBEDDED} pg_dump or point-in-time recovery (docs/postgresql.md). "${tidings} backup --key-only FILE" writes the secret key, which belongs to the backup`,
        );
      }
      process.umask(0o077);
      const key = withKey || keyOnly ? readSecretKey(dataDir, secretKey) : undefined;
      if (key === null) {
        const missing = `SECRET_KEY is not set, and ${dataDir} has no secret.key`;
        throw new BackupError(`There is no key to store: ${missing}`);
      }
      if (keyOnly && key !== undefined) {
        exportKey(dataDir, key, file, { force });
        print(context.terminal, command, { file: resolve(file) }, describeKey);
        return;
      }
      const source = { dataDir, createdAt: systemClock.now(), key, media: media.dir };
      const backup = await makeBackup(source, file, { force, s3 });
      print(context.terminal, command, backup, describeBackup);
    });

  program
    .command('restore')
    .description('put a backup into the data folder; the service must be stopped')
    .argument('<file>', TARGET)
    .option('--force', 'put it in the place of the database that is there, which is kept beside it')
    .option('--new-key', 'go on without the key of the backup; every integration then needs a new secret')
    .action(async (file: string, { force = false, newKey = false }, command: Command) => {
      const { dataDir, secretKey, s3, database, media } = configOf(context, command);
      if (database !== undefined) {
        throw new BackupError(
          `This command restores ${EMBEDDED} pg_restore or point-in-time recovery (docs/postgresql.md)`,
        );
      }
      process.umask(0o077);
      const files = media.dir === undefined ? undefined : openFileStore(media.dir, media.s3);
      const target = { dataDir, file, secretKey, s3, media: files, now: systemClock.now() };
      const restored = await restoreBackup({ ...target, force, newKey });
      print(context.terminal, command, restored, describeRestored);
    });
}

function configOf({ environment }: CliContext, command: Command) {
  const config = readConfig({ DATA_DIR: flagsOf(command).DATA_DIR }, environment);
  return { ...config, dataDir: resolve(config.dataDir) };
}

function describeBackup({ file, bytes, sha256, includesKey, ...contents }: Backup): string {
  const facts = { File: file, Bytes: String(bytes), 'SHA-256': sha256, ...factsOf(contents) };
  return `${fields(facts)}\n${
    includesKey
      ? 'The secret key is in it: keep it as you keep the key.'
      : 'The secret key is not in it: keep secret.key, or SECRET_KEY, somewhere else too. Without it, stored secrets cannot be read.'
  }`;
}

function describeKey({ file }: { file: string }): string {
  return `The secret key is in ${file}. It opens the secrets of each backup: keep it apart from them.`;
}

const KEY_WORDS: Record<Restored['key'], string> = {
  same: 'The folder has the key that its secrets are encrypted with.',
  restored: 'The key was in the backup, and is in secret.key again.',
  other:
    'Its secrets cannot be read any more: give every integration a new one with "integration rotate-secret".',
  none: 'There are no secrets in it.',
};

function describeRestored({ dataDir, keptAs, key, ...contents }: Restored): string {
  const facts = { Folder: dataDir, ...factsOf(contents), 'Former database': keptAs };
  return `${fields(facts)}\n${KEY_WORDS[key]}`;
}

/** Counts rows as people do: those of the search's own tables are made from the others. */
function factsOf({
  schema,
  tables,
  createdAt,
  images,
}: Pick<Backup, 'schema' | 'tables' | 'createdAt' | 'images'>) {
  const counts = Object.entries(tables).filter(([name]) => !name.startsWith('post_search'));
  const rows = counts.reduce((total, [, count]) => total + count, 0);
  return { Schema: String(schema), Rows: String(rows), Images: imagesIn(images), Made: createdAt };
}

/** Null for a backup without images. */
function imagesIn({ stored, missing, place }: Backup['images']): string | null {
  if (place !== null) return `not included: they are in ${place}`;
  if (stored + missing === 0) return null;
  return missing === 0 ? String(stored) : `${stored}, and ${missing} whose file is missing`;
}
