import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { randomToken } from '../../lib/ids.ts';
import type { Backup } from './model.ts';

/** What became of the last backups of a data folder. */
export interface LastBackup {
  /** The last that was made and checked, on schedule or by hand. `at`: when it began. */
  success: ({ at: string } & Pick<Backup, 'file' | 'bytes' | 'sha256'>) | null;
  /** Present when a later one, on schedule, failed. */
  failure: { at: string; file: string; error: string } | null;
}

const fileOf = (dataDir: string) => join(dataDir, 'last-backup.json');

/** Reads what is known; nothing when there was no backup, or when the file was damaged. */
export async function lastBackup(dataDir: string): Promise<LastBackup> {
  try {
    return {
      success: null,
      failure: null,
      ...((await Bun.file(fileOf(dataDir)).json()) as Partial<LastBackup>),
    };
  } catch {
    return { success: null, failure: null };
  }
}

/** Remembers a backup that was made. */
export async function recordSuccess(
  dataDir: string,
  { createdAt: at, file, bytes, sha256 }: Backup,
): Promise<void> {
  await write(dataDir, { success: { at, file, bytes, sha256 }, failure: null });
}

/** Remembers a backup that failed, beside the last that did not. */
export async function recordFailure(dataDir: string, at: Date, file: string, error: string): Promise<void> {
  const { success } = await lastBackup(dataDir);
  await write(dataDir, { success, failure: { at: at.toISOString(), file, error } });
}

async function write(dataDir: string, last: LastBackup): Promise<void> {
  const partial = `${fileOf(dataDir)}.${randomToken(4)}`;
  await Bun.write(partial, `${JSON.stringify(last)}\n`, { mode: 0o600 });
  renameSync(partial, fileOf(dataDir));
}
