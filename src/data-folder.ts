import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { closeDatabase, type Database, openDatabase } from '../db/client.ts';

/** A data folder that cannot be used. The message names it and says what to do. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/** Opens the folder's database, both made if absent and then for this user alone. Throws `DataFolderError`. */
export function openDataFolder(dataDir: string): Database {
  const folder = resolve(dataDir);
  process.umask(0o077);
  try {
    mkdirSync(folder, { recursive: true });
    return openDatabase(join(folder, 'tidings.db'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DataFolderError(
      `The data folder ${folder} cannot be used: ${reason}. DATA_DIR names another one.`,
      {
        cause: error,
      },
    );
  }
}

export { closeDatabase as closeDataFolder };
