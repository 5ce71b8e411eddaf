import { join } from 'node:path';
import type { Database, Lease } from '../../db/engine.ts';
import { openDatabase } from '../../db/sqlite/client.ts';
import { temporaryFolder } from './cli.ts';
import { createSharedDatabase, execute, testEngine } from './database.ts';

/** One new database that two processes have open, on the engine that this run tests. */
export interface Together extends AsyncDisposable {
  readonly databases: readonly [Database, Database];
  /** Ends all leases, as if their holders had been frozen for long. */
  endLeases(): Promise<void>;
}

export function openTogether(): Promise<Together> {
  return testEngine === 'sqlite' ? openFile() : openServer();
}

async function openServer(): Promise<Together> {
  const { open } = createSharedDatabase();
  const databases = [open(), open()] as const;
  return {
    databases,
    endLeases: () => execute(databases[0], 'delete from leases'),
    async [Symbol.asyncDispose]() {
      for (const db of databases) await db.close();
    },
  };
}

/** SQLite has no leases between processes, because one server runs on a file: these share some in memory. */
async function openFile(): Promise<Together> {
  const { path, remove } = temporaryFolder();
  const holders = new Map<string, symbol>();
  const lease = async (names: readonly string[]): Promise<Lease | null> => {
    const name = names.find((each) => !holders.has(each));
    if (name === undefined) return null;
    const holder = Symbol(name);
    holders.set(name, holder);
    const isHeld = () => holders.get(name) === holder;
    return {
      name,
      fence: 1,
      isHeld,
      async release() {
        if (isHeld()) holders.delete(name);
      },
    };
  };
  const open = () => Object.assign(openDatabase(join(path, 'tidings.db'), 'server'), { lease });
  const databases = [open(), open()] as const;
  return {
    databases,
    async endLeases() {
      holders.clear();
    },
    async [Symbol.asyncDispose]() {
      for (const db of databases) await db.close();
      remove();
    },
  };
}
