import { mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { closeDatabase, type Database, openDatabase, type Role } from '../db/client.ts';
import { SECRET_KEY_BYTES, type SecretBox, secretBox } from './lib/secret-box.ts';

/** A data folder that cannot be used. The message names it and says what to do. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

export interface DataFolder {
  readonly db: Database;
  readonly secrets: SecretBox;
  /** Moves everything into the one file and lets go of it. */
  close(): void;
}

/**
 * Opens the folder's database and secret key, all made if absent and then for this user alone.
 * `secretKey`, 32 bytes in base64, stands instead of the key file. A command waits for another process's write, a
 * server must not stand still for one. Throws `DataFolderError`.
 */
export function openDataFolder(
  dataDir: string,
  { secretKey, role = 'command' }: { secretKey?: string | undefined; role?: Role } = {},
): DataFolder {
  const folder = resolve(dataDir);
  process.umask(0o077);
  try {
    mkdirSync(folder, { recursive: true });
    const key = Buffer.from(secretKey ?? readOrMakeKey(join(folder, 'secret.key')), 'base64');
    if (key.length !== SECRET_KEY_BYTES) throw new Error('secret.key does not hold 32 bytes in base64');
    const db = openDatabase(join(folder, 'tidings.db'), role);
    return { db, secrets: secretBox(key), close: () => closeDatabase(db) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DataFolderError(
      `The data folder ${folder} cannot be used: ${reason}. DATA_DIR names another one.`,
      { cause: error },
    );
  }
}

/** How much more fits on the disk that holds the folder, in bytes; null when it cannot be told. */
export function freeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** The folder's key, or the one that stands instead of it, in bytes; null when there is none that could be one. */
export function readSecretKey(folder: string, secretKey: string | undefined): Uint8Array | null {
  try {
    const text = secretKey ?? readFileSync(join(folder, 'secret.key'), 'utf8').trim();
    const key = Buffer.from(text, 'base64');
    return key.length === SECRET_KEY_BYTES ? key : null;
  } catch {
    return null;
  }
}

function readOrMakeKey(path: string): string {
  try {
    // Fails when the file is there: of two processes that start at once, one makes the key and both read it.
    writeFileSync(
      path,
      `${Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_KEY_BYTES))).toString('base64')}\n`,
      {
        flag: 'wx',
        mode: 0o600,
      },
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
