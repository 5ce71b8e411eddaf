import { sql } from 'drizzle-orm';
import { freeTurns } from '../../src/lib/time.ts';
import {
  listVariable,
  type ReadOptions,
  type ReadTx,
  type Storage,
  setDialect,
  type WriteTx,
} from '../engine.ts';
import type { Drizzle } from './connection.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { Files } from './files.ts';
import { createSearch } from './search.ts';
import { createTurns } from './turns.ts';
import { createVersion } from './version.ts';
import type { Wal } from './wal.ts';
import { createWriteQueue } from './write-queue.ts';

// `read` and `write` on one SQLite connection. Every statement is synchronous, so a body runs to its end without letting
// a timer or a request in between.

/**
 * Reads and writes take turns on one connection: a second one would read through a page cache of its own, which each
 * commit empties.
 */
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
