import type { Database as Sqlite } from 'bun:sqlite';

/**
 * Counts the commits of all processes. `header`: of the index of the log, which tells of them without a question (see
 * `wal-index.ts`). The requests of one turn of the event loop cannot share an answer: a turn also serves connections that
 * are opened while it runs, by clients that may have seen a later commit.
 */
export function createVersion(
  sqlite: Sqlite,
  areIdle: () => boolean,
  ownCommits: () => number,
  header: Int32Array | null,
): () => number | null {
  const asked = askSqlite(sqlite, ownCommits);
  const hasChanged = header === null ? asked : watchHeader(header, asked);
  let version = 0;

  return () => {
    try {
      // A closed database throws.
      if (!areIdle() || sqlite.inTransaction) return null;
      if (hasChanged()) version++;
      return version;
    } catch {
      return null;
    }
  };
}

/** Returns whether anything was committed since it was called last. Takes 2 µs, because SQLite locks the file. */
function askSqlite(sqlite: Sqlite, ownCommits: () => number): () => boolean {
  // Changes with the commits of all other connections (sqlite.org/pragma.html#pragma_data_version).
  const dataVersion = sqlite.query('PRAGMA data_version');
  let foreign = Number.NaN;
  let own = Number.NaN;

  return () => {
    const present = { own: ownCommits(), foreign: Number(dataVersion.values()[0]?.[0]) };
    const hasChanged = present.own !== own || present.foreign !== foreign;
    ({ own, foreign } = present);
    return hasChanged;
  };
}

/**
 * The same in 20 ns. Asks SQLite until the header changes for the first time: one that never does would be that of another
 * file. A header that is being written counts as a change, and as another one when it is complete.
 */
function watchHeader(header: Int32Array, asked: () => boolean): () => boolean {
  const known = header.slice();
  let isLive = false;

  return () => {
    let hasChanged = false;
    for (let at = 0; at < header.length; at++) {
      const word = header[at] ?? 0;
      if (word !== known[at]) hasChanged = true;
      known[at] = word;
    }
    isLive ||= hasChanged;
    return isLive ? hasChanged : asked();
  };
}
