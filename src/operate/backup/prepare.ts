import { rmSync } from 'node:fs';
import { inspectDatabase, snapshotInto, type TableCounts } from '../../../db/snapshot.ts';
import { randomToken } from '../../lib/ids.ts';
import { keyFingerprint } from '../../lib/secret-box.ts';
import { databaseFile } from '../data-folder.ts';
import { checkBackup, digestFile, unpackDatabase, writeBackup } from './format.ts';
import { type Backup, BackupError, type BackupHeader } from './model.ts';

/** What is backed up, and what is told of it. */
export interface BackupSource {
  dataDir: string;
  createdAt: Date;
  /** The key that the secrets are encrypted under, to be stored in the backup. Absent: it is not. */
  key?: Uint8Array | undefined;
}

/** A backup that is whole and was read again, under a name of its own. `remove` takes away what is left of it. */
export interface PreparedBackup {
  path: string;
  facts: Omit<Backup, 'file'>;
  remove(): void;
}

/** What the unfinished files of a backup are called, which a crash may leave behind. */
export const PARTIAL = /\.[1-9A-HJ-NP-Za-km-z]{4,8}\.partial(-db(-journal)?)?$/;

/**
 * Makes a backup beside `base`, in `….partial` files: a snapshot, checked as a database and against the rows that
 * there were; packed, written through to the disk, read again and compared. Throws `BackupError`.
 */
export async function prepareBackup(source: BackupSource, base: string): Promise<PreparedBackup> {
  const path = `${base}.${randomToken(4)}.partial`;
  const database = `${path}-db`;
  const removeDatabase = () => {
    for (const file of [database, `${database}-journal`]) rmSync(file, { force: true });
  };
  const remove = () => {
    removeDatabase();
    rmSync(path, { force: true });
  };
  try {
    const header = await snapshot(source, database);
    await writeBackup(header, database, path);
    removeDatabase();
    const { header: read, bytes, sha256 } = await checkBackup(path);
    await unpackDatabase(path, read, async () => undefined);
    const { schema, tables, createdAt } = header;
    return {
      path,
      facts: { bytes, sha256, schema, tables, createdAt, includesKey: 'key' in header },
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function snapshot({ dataDir, createdAt, key }: BackupSource, target: string): Promise<BackupHeader> {
  const counted = snapshotInto(databaseFile(dataDir), target);
  const { problem, ...facts } = inspectDatabase(target);
  if (problem !== null) {
    throw new BackupError(`The database is damaged and no backup of it was made: ${problem}`);
  }
  requireSameCounts(counted, facts.tables);
  if (key !== undefined && facts.keyFingerprint !== keyFingerprint(key)) {
    throw new BackupError(
      'The key is not the one that the stored secrets are encrypted with, and no backup was made',
    );
  }
  const { bytes: databaseBytes, sha256: databaseSha256 } = await digestFile(target);
  return {
    format: 'tidings-backup',
    version: 1,
    createdAt: createdAt.toISOString(),
    ...facts,
    databaseBytes,
    databaseSha256,
    ...(key === undefined ? {} : { key: Buffer.from(key).toString('base64') }),
  };
}

function requireSameCounts(counted: TableCounts, copied: TableCounts): void {
  const names = new Set([...Object.keys(counted), ...Object.keys(copied)]);
  const differing = [...names].filter((name) => counted[name] !== copied[name]);
  if (differing.length === 0) return;
  throw new BackupError(
    `The copy of the database has other rows than it in ${differing.join(', ')}; no backup was made`,
  );
}
