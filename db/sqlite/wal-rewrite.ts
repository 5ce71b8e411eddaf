import { Database as Sqlite } from 'bun:sqlite';
import { closeSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { codeOf } from '../../src/lib/app-error.ts';
import { logOf, reportsPosition } from './connection.ts';

// Brings a log that a former process left behind to the disk. See `wal.ts` for when that is needed.
//
// Linux keeps the pages of a failed sync in memory and marks them as clean (fsync(2)), so they look like part of the file
// until the power fails, and another sync writes none of them. Only a write makes them dirty again.

/** The log's header, and that of a frame, in bytes (sqlite.org/fileformat2.html#the_write_ahead_log). */
const HEADER = 32;
const FRAME_HEADER = 24;

/** The last bit tells the byte order of the checksums. */
const MAGIC = 0x377f0682;

/** How many bytes to read and write at once, about. */
const PIECE = 1024 * 1024;

/**
 * Writes the log of a database over itself, byte by byte the same, and syncs it. Holds the write lock meanwhile. Call it
 * before anything else is written: a checkpoint of a log that is not on the disk can damage the database. Throws when a
 * process keeps a log open of which the disk lost a part.
 */
export function rewriteLog(sqlite: Sqlite): void {
  const log = logOf(sqlite.filename);
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const descriptor = openSync(log, 'r+');
  try {
    sqlite
      .transaction(() => {
        const committed = countCommitted(sqlite);
        const intact = writeOver(descriptor);
        if (intact < committed) {
          throw new Error(
            `the disk lost a part of ${log} (${committed - intact} of ${committed} pages), and another process keeps it open. Stop every process that has it open, such as Litestream, then start again`,
          );
        }
        while (!isSynced(descriptor));
      })
      .immediate();
  } finally {
    closeSync(descriptor);
  }
}

/** False: a signal interrupted it. */
function isSynced(descriptor: number): boolean {
  try {
    fdatasyncSync(descriptor);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EINTR') return false;
    throw error;
  }
}

/** Pages in the log, as all processes see it. SQLite does not tell within a transaction, so another connection asks. */
function countCommitted(sqlite: Sqlite): number {
  if (!reportsPosition(sqlite)) return 0;
  using other = new Sqlite(sqlite.filename, { readwrite: true, create: false, strict: true });
  const [[, pages = 0] = []] = other.query('PRAGMA wal_checkpoint(NOOP)').values() as number[][];
  return pages;
}

/** Writes each intact frame again. Returns their number: like SQLite, it stops at the first one with a wrong checksum. */
function writeOver(descriptor: number): number {
  const header = Buffer.alloc(HEADER);
  readSync(descriptor, header, 0, HEADER, 0);
  const magic = header.readUInt32BE(0);
  const sum = createChecksum((magic & 1) === 1);
  sum.add(header, 0, HEADER - 8);
  if ((magic & ~1) !== MAGIC || !sum.isAt(header, HEADER - 8)) return 0;
  writeAll(descriptor, header, HEADER, 0);
  const size = FRAME_HEADER + header.readUInt32BE(8);
  const salt = header.subarray(16, 24);
  const piece = Buffer.alloc(Math.ceil(PIECE / size) * size);
  let frames = 0;
  for (;;) {
    const offset = HEADER + frames * size;
    const bytes = readSync(descriptor, piece, 0, piece.length, offset);
    let intact = 0;
    for (; intact + size <= bytes; intact += size) {
      if (!piece.subarray(intact + 8, intact + 16).equals(salt)) break;
      sum.add(piece, intact, intact + 8);
      sum.add(piece, intact + FRAME_HEADER, intact + size);
      if (!sum.isAt(piece, intact + 16)) break;
    }
    writeAll(descriptor, piece, intact, offset);
    frames += intact / size;
    if (intact < piece.length) return frames;
  }
}

function writeAll(descriptor: number, bytes: Buffer, length: number, offset: number): void {
  for (let done = 0; done < length; )
    done += writeSync(descriptor, bytes, done, length - done, offset + done);
}

/** The checksum that runs through the log (sqlite.org/fileformat2.html#checksum_algorithm). */
function createChecksum(isBigEndian: boolean) {
  let s0 = 0;
  let s1 = 0;
  return {
    add(bytes: Buffer, start: number, end: number): void {
      const view = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
      for (let at = 0; at < end - start; at += 8) {
        s0 = (s0 + view.getInt32(at, !isBigEndian) + s1) | 0;
        s1 = (s1 + view.getInt32(at + 4, !isBigEndian) + s0) | 0;
      }
    },
    isAt: (bytes: Buffer, at: number) => bytes.readInt32BE(at) === s0 && bytes.readInt32BE(at + 4) === s1,
  };
}
