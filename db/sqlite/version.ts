import type { Database as Sqlite } from 'bun:sqlite';

/**
 * Asking for the commits of other processes locks the file for a moment, which takes 2 µs, so the requests of one turn of
 * the event loop share the question. The turn reads what was sent before it began, so no client that has seen a commit
 * gets a response from before it.
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
  let isKnown = false;
  const endTurn = () => {
    isKnown = false;
  };

  return () => {
    if (!areIdle()) return null;
    const present = { own: ownCommits(), foreign };
    if (!isKnown) {
      present.foreign = Number(dataVersion.values()[0]?.[0]);
      isKnown = true;
      setImmediate(endTurn);
    }
    if (present.own !== own || present.foreign !== foreign) version++;
    ({ own, foreign } = present);
    return version;
  };
}
