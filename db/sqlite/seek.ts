import type { Database as Sqlite } from 'bun:sqlite';
import type { Dialect } from '../engine.ts';

/** Characters of `created_at` in the start of a block. */
const DATE_LENGTH = 24;

/** Sorts after every start of a block. */
const END = '~';

/** Bounds the memory: about 4 MB. The blocks of a million posts are 16,000 rows for each filter. */
const MAX_KEPT_ROWS = 32_768;

/** The number of posts of a list in a block, or in a run of blocks. */
type Row = [start: string, count: number];

interface KeptList {
  version: string;
  /** By the start of their range and their level. */
  ranges: Map<string, Row[]>;
}

/**
 * Finds posts by `post_blocks`: the sum of sums that the position lies in, then the sum, then the block. Reads about 90
 * rows for a million posts, and keeps them for as long as the version of the list stays the same.
 */
export function createSeek(sqlite: Sqlite, maxKeptRows = MAX_KEPT_ROWS): NonNullable<Dialect['seekPost']> {
  const kept = new Map<string, KeptList>();
  let keptRows = 0;

  return ({ organizationId, statuses, contentTypes, version }, position) => {
    const groups = statuses.flatMap((status) => contentTypes.map((type) => `"${status}_${type}"`));
    const columns = groups.join(' + ');
    const { ranges } = keptList(`${organizationId} ${columns}`, version);
    let range = { start: '', end: END, skip: position };
    for (const level of [3, 2, 1]) {
      const key = `${level} ${range.start}`;
      const rows = ranges.get(key) ?? readRows(organizationId, level, range, columns);
      if (!ranges.has(key)) keptRows += rows.length;
      ranges.set(key, rows);
      range = find(rows, range);
    }
    return {
      createdAt: range.start.slice(0, DATE_LENGTH),
      id: range.start.slice(DATE_LENGTH),
      skip: range.skip,
    };
  };

  function keptList(key: string, version: string): KeptList {
    if (keptRows > maxKeptRows) {
      kept.clear();
      keptRows = 0;
    }
    const list = kept.get(key);
    if (list?.version === version) return list;
    for (const rows of list?.ranges.values() ?? []) keptRows -= rows.length;
    const fresh = { version, ranges: new Map<string, Row[]>() };
    kept.set(key, fresh);
    return fresh;
  }

  function readRows(organizationId: string, level: number, { start, end }: Range, columns: string): Row[] {
    const query = sqlite.query<unknown, [string, number, string, string]>(
      `SELECT start, ${columns} FROM post_blocks
       WHERE organization_id = +? AND level = +? AND start >= +? AND start < +? ORDER BY start`,
    );
    return query.values(organizationId, level, start, end) as Row[];
  }
}

interface Range {
  start: string;
  end: string;
  /** Posts before the wanted one. */
  skip: number;
}

/** The part of a range that holds the position; the last one for a position past the end. */
function find(rows: readonly Row[], range: Range): Range {
  let { start, skip } = range;
  for (const [at, [first, count]] of rows.entries()) {
    start = first;
    if (skip < count) return { start, end: rows[at + 1]?.[0] ?? range.end, skip };
    if (at < rows.length - 1) skip -= count;
  }
  return { start, end: range.end, skip };
}
