import { join } from 'node:path';
import type { Database } from '../../db/engine.ts';
import { openDatabase } from '../../db/sqlite/client.ts';
import { temporaryFolder } from './cli.ts';

export interface Together extends AsyncDisposable {
  /** Each as a process of its own has it. */
  readonly databases: readonly [Database, Database];
}

/** Opens one new database twice, as two processes do. */
export async function openTogether(): Promise<Together> {
  const { path, remove } = temporaryFolder();
  const file = join(path, 'tidings.db');
  const databases = [openDatabase(file, 'server'), openDatabase(file, 'server')] as const;
  return {
    databases,
    async [Symbol.asyncDispose]() {
      for (const db of databases) await db.close();
      remove();
    },
  };
}
