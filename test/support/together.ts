import { afterCommit, type Database, type Lease } from '../../db/engine.ts';
import { createSharedDatabase, execute, testEngine } from './database.ts';

/** One new database that two processes have open, on the engine that this run tests. */
export interface Together {
  readonly databases: readonly [Database, Database];
  /** Ends all leases, as if their holders had been frozen for long. */
  endLeases(): Promise<void>;
}

export function openTogether(): Together {
  const shared = createSharedDatabase();
  const databases = [shared.open(), shared.open()] as const;
  return testEngine === 'sqlite'
    ? withSharedLeases(databases)
    : { databases, endLeases: () => execute(databases[0], 'delete from leases') };
}

/** SQLite has no leases between processes, because one server runs on a file: these share some in memory. */
function withSharedLeases([one, other]: readonly [Database, Database]): Together {
  const holders = new Map<string, symbol>();
  const lease = async (names: readonly string[]): Promise<Lease | null> => {
    const name = names.find((each) => !holders.has(each));
    if (name === undefined) return null;
    const holder = Symbol(name);
    holders.set(name, holder);
    const isHeld = () => holders.get(name) === holder;
    const release = () => {
      if (isHeld()) holders.delete(name);
    };
    return {
      name,
      fence: 1,
      isHeld,
      releaseIn: (tx) => afterCommit(tx, release),
      release: async () => release(),
    };
  };
  return {
    databases: [Object.assign(one, { lease }), Object.assign(other, { lease })],
    async endLeases() {
      holders.clear();
    },
  };
}
