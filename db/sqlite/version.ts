import type { Database as Sqlite } from 'bun:sqlite';

/**
 * Asks for the commits of other processes each time, which locks the file for a moment and takes 2 µs. The requests of one
 * turn of the event loop cannot share the question: a turn also serves connections that are opened while it runs, by
 * clients that may have seen a later commit.
 */
export function createVersion(
  sqlite: Sqlite,
  areIdle: () => boolean,
  ownCommits: () => number,
): () => number | null {
  // Changes with the commits of all other connections (sqlite.org/pragma.html#pragma_data_version).
  const dataVersion = sqlite.query('PRAGMA data_version');
  let version = 0;
  let foreign = Number.NaN;
  let own = Number.NaN;

  return () => {
    if (!areIdle()) return null;
    try {
      const present = { own: ownCommits(), foreign: Number(dataVersion.values()[0]?.[0]) };
      if (present.own !== own || present.foreign !== foreign) version++;
      ({ own, foreign } = present);
      return version;
    } catch {
      return null;
    }
  };
}
