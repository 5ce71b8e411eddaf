import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Database } from '../../db/engine.ts';
import { type LostFile, lostFiles } from '../../db/failures.ts';
import { findDamageInThread } from '../../db/sqlite/files.ts';
import { tidings } from '../lib/build.ts';
import type { Deps } from '../people/deps.ts';
import { damagedFile, databaseFile } from './data-folder.ts';

/** Less free space than this, in bytes, and the next deliveries may not fit. */
export const MIN_FREE_BYTES = 32 * 1024 * 1024;

/** How long the triggers' job may give no sign of life, in milliseconds. It gives one every second. */
const MAX_SILENT_MS = 60_000;

/** How long another process may write before that is trouble, in milliseconds. Requests wait four seconds at most. */
const MAX_BUSY_MS = 10_000;

/** How many verified deliveries must fail in a row before that is trouble. */
const MAX_FAILED = 3;

/**
 * How long that counts after the last one, in milliseconds. Only a delivery can show that deliveries work again, and a
 * server that is not ready gets none, so it becomes ready for the next one within seconds.
 */
const FAILED_MS = 5_000;

export const STOPPING = 'The server is stopping';

/** The inputs of the readiness check. */
export interface Vitals {
  db: Pick<Database, 'health'>;
  isStopping: () => boolean;
  /** Milliseconds since the triggers' job was last seen at work. */
  silentMs: () => number;
  /** Free space where the database is, in bytes; null when it cannot be told. */
  freeBytes: () => number | null;
  /** See `Metrics`. */
  failedDeliveries: Readonly<{ inARow: number; lastAtMs: number }>;
  /** A check found damage in the database. */
  isDamaged?: () => boolean;
  /** Milliseconds on a clock that never goes back. */
  elapsedMs?: () => number;
}

/**
 * Why the server should get no requests, in words; null when it is ready. Cheap enough for every second: on SQLite it takes
 * and releases the write lock and commits nothing, and on PostgreSQL it commits a change of one row.
 */
export function createReadiness(vitals: Vitals): () => Promise<string | null> {
  const { isDamaged = () => false, elapsedMs = () => performance.now() } = vitals;
  let busySince: number | null = null;

  async function databaseProblem(): Promise<string | null> {
    const code = await vitals.db.health();
    if (code !== 'BUSY') {
      busySince = null;
      if (code === 'STALLED') return 'The disk has not completed a write for over 10 seconds';
      if (code === 'ENOENT') return lostFiles.REPLACED;
      if (code !== null && Object.hasOwn(lostFiles, code)) return lostFiles[code as LostFile];
      if (code === 'EIO')
        return 'The database cannot be written (EIO). Check the disk and restart the server';
      if (code === 'CHECKPOINT')
        return 'The write-ahead log cannot be copied into the database. Check the disk';
      if (code === 'LOCKED') return 'Another program has locked a table of the database';
      if (code === 'ENOSPC') return 'The disk is full';
      return code === null ? null : `The database cannot be written (${code})`;
    }
    // Somebody's command writes: requests wait for it, too.
    busySince ??= elapsedMs();
    return elapsedMs() - busySince > MAX_BUSY_MS
      ? 'Another process has been writing to the database for over 10 seconds'
      : null;
  }

  return async () => {
    if (vitals.isStopping()) return STOPPING;
    const problem = await databaseProblem();
    if (problem !== null) return problem;
    if (isDamaged()) return 'The database is damaged. Restore a backup';
    const free = vitals.freeBytes();
    if (free !== null && free < MIN_FREE_BYTES) return 'The disk is full';
    const { inARow, lastAtMs } = vitals.failedDeliveries;
    if (inARow >= MAX_FAILED && elapsedMs() - lastAtMs <= FAILED_MS) {
      return `The last ${inARow} deliveries failed`;
    }
    if (vitals.silentMs() > MAX_SILENT_MS) return 'The job that writes drafts has not run for over a minute';
    return null;
  };
}

/**
 * Looks for damage in the database in the background, after a stop that was not clean: an old log beside a newer database
 * opens like any other. A file remembers the damage, because the next stop may be clean.
 */
export function checkIntegrity(
  { log, metrics: { registry } }: Pick<Deps, 'log' | 'metrics'>,
  dataDir: string,
): { isDamaged(): boolean; stop(): void } {
  const folder = resolve(dataDir);
  let isDamaged = false;
  let leave: () => void = () => undefined;
  async function check(): Promise<void> {
    const thread = findDamageInThread(databaseFile(folder));
    leave = thread.leave;
    const damage = await thread.found;
    isDamaged = damage !== null;
    registry.gauge(
      'tidings_database_damaged',
      '1 if the check after a stop that was not clean found damage in the database.',
      () => Number(isDamaged),
    );
    if (damage === null) {
      rmSync(damagedFile(folder), { force: true });
      log.info('the database was not closed cleanly, and is intact');
      return;
    }
    log.error({ damage }, `the database is damaged; restore a backup. For details, run: ${tidings} doctor`);
    writeFileSync(damagedFile(folder), `${damage}\n`);
  }
  check().catch((error: unknown) => {
    log.error({ err: error }, 'the database could not be checked after a stop that was not clean');
  });
  return { isDamaged: () => isDamaged, stop: () => leave() };
}
