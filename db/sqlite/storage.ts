import type { Database as Sqlite } from 'bun:sqlite';
import { type SQL, sql } from 'drizzle-orm';
import { freeTurns } from '../../src/lib/time.ts';
import {
  afterCommit,
  type Dialect,
  type Lease,
  listVariable,
  type PostSearch,
  type ReadOptions,
  type ReadTx,
  type Storage,
  setDialect,
  type WriteTx,
} from '../engine.ts';
import { posts } from '../schema/posts.ts';
import type { Drizzle } from './connection.ts';
import type { Files } from './files.ts';
import type { Wal } from './wal.ts';
import { createTurns, createWriteQueue, type FailureLatch } from './write-queue.ts';

export function createSearch(sqlite: Sqlite): Dialect['searchPosts'] {
  // Lists the words of the index. It stores nothing, and needs no index until it is read.
  sqlite.run("CREATE VIRTUAL TABLE temp.post_words USING fts5vocab(main, post_search, 'row')");
  return searchPosts;
}

function searchPosts({ words, isUnfinished, limit, ...about }: PostSearch): SQL {
  const unfinished = isUnfinished ? words.at(-1) : undefined;
  const finished = unfinished === undefined ? words : words.slice(0, -1);
  const texts = finished.map((word) => ` AND {title content search_words} : ${quoted(word)}`).join('');
  const known = `{about} : (${aboutMatch(about)})${texts}`;
  const match =
    unfinished === undefined
      ? sql`${known}`
      : sql`${known} || ' AND {title content search_words} : ' || ${unfinishedMatch(unfinished)}`;
  return sql`
    with found as materialized (
      select rowid as number from post_search
      where post_search match ${match}
      order by rowid desc limit ${limit}
    )
    select posts.id from found
    join post_numbers on post_numbers.number = found.number
    join posts on posts.id = post_numbers.post_id
    order by posts.created_at desc, posts.id desc`;
}

/** Matches the words that the index keeps beside each text: the organization, the status and the type. */
function aboutMatch({
  organizationId,
  statuses,
  contentTypes,
}: Pick<PostSearch, 'organizationId' | 'statuses' | 'contentTypes'>): string {
  const all = [quoted(Buffer.from(organizationId).toString('hex'))];
  for (const values of [statuses, contentTypes])
    if (values !== null) all.push(`(${values.map(quoted).join(' OR ')})`);
  return all.join(' AND ');
}

/** More words than this take longer to list than to find by their beginning. */
const MAX_LISTED = 50;

/** The index keeps one or two of these words for each post, so FTS5 reads all posts to list them. */
const ABOUT_WORDS = [...posts.status.enumValues, ...posts.contentType.enumValues];

/**
 * Matches words that begin with this. FTS5 reads all posts with such words before it returns the first, but with a list
 * of the words it stops at the limit. Words of other letters are stored without accents, so only FTS5 knows their form.
 */
function unfinishedMatch(word: string): SQL {
  const beginning = `${quoted(word)} *`;
  if (!/^[a-z0-9]+$/i.test(word)) return sql`${beginning}`;
  const from = word.toLowerCase();
  if (ABOUT_WORDS.some((each) => each.startsWith(from))) return sql`${beginning}`;
  const to = from.slice(0, -1) + String.fromCharCode(from.charCodeAt(from.length - 1) + 1);
  return sql`(
    select case when count(*) between 1 and ${MAX_LISTED}
      then '(' || group_concat('"' || term || '"', ' OR ') || ')' else ${beginning} end
    from (select term from temp.post_words where term >= ${from} and term < ${to} limit ${MAX_LISTED + 1}))`;
}

function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}

/**
 * Counts the commits of all processes. The requests of one turn of the event loop cannot share an answer: a turn also serves
 * connections that are opened while it runs, by clients that may have seen a later commit. `header`: see `mapHeader`. To ask
 * SQLite takes 2 to 13 microseconds, because it locks the file.
 */
export function createVersion(
  sqlite: Sqlite,
  areIdle: () => boolean,
  ownCommits: () => number,
  header: Int32Array | null,
): () => number | null {
  // Changes with the commits of all other connections (sqlite.org/pragma.html#pragma_data_version).
  const dataVersion = sqlite.query('PRAGMA data_version');
  const ask = () => Int32Array.of(Number(dataVersion.values()[0]?.[0]));
  const known = new Int32Array(header?.length ?? 1);
  let knownOwn = Number.NaN;
  let version = 0;

  return () => {
    try {
      // A closed database throws.
      if (!areIdle() || sqlite.inTransaction) return null;
      const own = ownCommits();
      let hasChanged = own !== knownOwn;
      knownOwn = own;
      const words = header ?? ask();
      for (let at = 0; at < words.length; at++) {
        // Read once: another process may be writing it.
        const word = words[at] ?? 0;
        if (word !== known[at]) hasChanged = true;
        known[at] = word;
      }
      if (hasChanged) version++;
      return version;
    } catch {
      return null;
    }
  };
}

// `read` and `write` on one SQLite connection. Every statement is synchronous, so a body runs to its end without letting
// a timer or a request in between.

/** Reads and writes take turns on one connection: a second one's page cache would be emptied by each commit. */
export function createStorage(
  connection: Drizzle,
  { wal, files, latch }: { wal: Wal | null; files: Files; latch: FailureLatch },
): Omit<Storage, 'pace'> {
  // Statements of SQLite are done when they return; to the stores they are promises, as those of any engine.
  const tx = connection as unknown as WriteTx;
  setDialect(tx, {
    rowKey: sql`rowid`,
    postKey: sql`rowid`,
    listed: (values) => sql`(select value from json_each(${listVariable(values, JSON.stringify)}))`,
    keepRows: sql``,
    contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
    searchPosts: createSearch(connection.$client),
  });
  const turns = createTurns();
  const { $client } = connection;
  const begin = $client.query('BEGIN');
  const rollback = $client.query('ROLLBACK');
  /** Reads, and questions about the version, which save a read. */
  let reads = 0;

  let othersHadTurns = Promise.resolve();
  /** Requests of one moment would otherwise hold the thread for all of their long reads. */
  function afterOthers(): Promise<void> {
    const mine = othersHadTurns;
    othersHadTurns = mine.then(freeTurns);
    return mine;
  }

  /** Hot path: every request of the content API reads twice. */
  async function read<Result>(
    work: (tx: ReadTx) => Result | Promise<Result>,
    { single = false, isLong = false }: ReadOptions = {},
  ): Promise<Result> {
    reads++;
    if (isLong) await afterOthers();
    // Its statement is done when `work` returns.
    if (single && turns.areIdle()) return work(tx);
    const turn = turns.enter();
    if (turn !== null) await turn;
    try {
      if (single) return await work(tx);
      begin.run();
      try {
        return await work(tx);
      } finally {
        if ($client.inTransaction) rollback.run();
      }
    } finally {
      turns.leave();
    }
  }

  const { write, commits } = createWriteQueue(connection, turns, {
    wal,
    files,
    latch,
    countReads: () => reads,
  });
  const currentVersion = createVersion($client, turns.areIdle, commits, wal?.header ?? null);

  function version(): number | null {
    reads++;
    return currentVersion();
  }

  return { read, write, version };
}

/** Leases within this process. There is one server on a file at a time, so it need not tell others of them. */
export function createLeases(): (names: readonly string[]) => Promise<Lease | null> {
  const held = new Set<string>();
  let fence = 0;
  return async (names) => {
    const name = names.find((each) => !held.has(each));
    if (name === undefined) return null;
    held.add(name);
    let isHeld = true;
    const release = () => {
      if (isHeld) held.delete(name);
      isHeld = false;
    };
    return {
      name,
      fence: ++fence,
      isHeld: () => isHeld,
      releaseIn: (tx) => afterCommit(tx, release),
      release: async () => release(),
    };
  };
}
