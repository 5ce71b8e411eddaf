import { rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { Check } from '@sinclair/typebox/value';
import { inspectDatabase, snapshotInto, type TableCounts } from '../../../db/snapshot.ts';
import { randomToken } from '../../lib/ids.ts';
import { keyFingerprint } from '../../lib/secret-box.ts';
import { databaseFile } from '../data-folder.ts';

/** A backup or a restore that cannot be done. The message says why, in one line, and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** A store of backups refused or did not answer. Trying again later may help. */
export class StoreError extends BackupError {}

const Whole = Type.Integer({ minimum: 0 });
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** The first line of a backup, as JSON. */
export const BackupHeader = Type.Object({
  format: Type.Literal('tidings-backup'),
  /** Of the form of the file. */
  version: Type.Literal(1),
  createdAt: Type.String({ maxLength: 32 }),
  /** How many migrations the database has had. */
  schema: Whole,
  tables: Type.Record(Type.String(), Whole),
  /** Of the database, before it was compressed. */
  databaseBytes: Whole,
  databaseSha256: Sha256,
  /** Tells the key that the secrets are encrypted under from others, and nothing about it. 0: there is none yet. */
  keyFingerprint: Type.Integer(),
  /** The key itself, in base64, when that was asked for. */
  key: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })),
});
export type BackupHeader = Static<typeof BackupHeader>;

/** A backup that was made and checked. */
export interface Backup {
  /** A path, or `s3://bucket/key`. */
  file: string;
  bytes: number;
  /** Of the whole file, in hex, as `sha256sum` prints it. */
  sha256: string;
  schema: number;
  /** How many rows each table holds. */
  tables: Record<string, number>;
  createdAt: string;
  includesKey: boolean;
}

// A backup is one file: a line of JSON that says what it is, the database as SQLite wrote it in zstd, and the SHA-256 of
// all that comes before it, in 32 bytes. SQLite's own check does not see a bit that flips within a value; the
// checksum sees any, and a file that was cut short or added to has something else in its last 32 bytes.

const CHECKSUM_BYTES = 32;

/** The first bytes of every header. */
const BEGINNING = Buffer.from('{"format":"tidings-backup",');

/** A header takes less than two kilobytes; what claims to be a longer one is none. */
const MAX_HEADER_BYTES = 64 * 1024;

const CHUNK_BYTES = 1024 * 1024;

/** How much is written before it is brought to the disk: all at once would hold up the commits of the server. */
const SYNC_BYTES = 4 * 1024 * 1024;

/** Facts of a backup whose checksum is right. */
interface BackupFacts {
  header: BackupHeader;
  bytes: number;
  sha256: string;
}

/** Writes a backup of the database file `database` to the new file `file`, through to the disk. A chunk at a time. */
export async function writeBackup(header: BackupHeader, database: string, file: string): Promise<void> {
  await using target = await open(file, 'wx', 0o600);
  const hasher = new Bun.CryptoHasher('sha256');
  let unsynced = 0;
  const write = async (chunk: Uint8Array) => {
    hasher.update(chunk);
    await writeAll(target, chunk);
    unsynced += chunk.length;
    if (unsynced < SYNC_BYTES) return;
    await target.datasync();
    unsynced = 0;
  };
  await write(Buffer.from(`${JSON.stringify(header)}\n`));
  await using source = await open(database, 'r');
  await pipeline(
    Readable.from(chunksOf(source, 0, Number.POSITIVE_INFINITY)),
    createZstdCompress(),
    async (compressed) => {
      for await (const chunk of compressed as AsyncIterable<Uint8Array>) await write(chunk);
    },
  );
  await writeAll(target, hasher.digest());
  await target.sync();
}

/** Reads all of a backup and its checksum. Throws `BackupError` when it is none, or not whole. */
export async function checkBackup(file: string): Promise<BackupFacts> {
  await using source = await open(file, 'r');
  const { size } = await source.stat();
  const beginning = await readAt(source, 0, BEGINNING.length);
  if (!beginning.equals(BEGINNING)) throw new BackupError(`${file} is not a backup of Tidings`);
  const body = new Bun.CryptoHasher('sha256');
  const end = size - CHECKSUM_BYTES;
  for await (const chunk of chunksOf(source, 0, end)) body.update(chunk);
  const checksum = await readAt(source, Math.max(end, 0), CHECKSUM_BYTES);
  const whole = body.copy().update(checksum);
  if (!checksum.equals(body.digest())) {
    throw new BackupError(
      `${file} is damaged: its checksum is wrong, as after a copy that was cut short. Use another backup`,
    );
  }
  return { header: await readHeader(source, file), bytes: size, sha256: whole.digest('hex') };
}

/** Unpacks the database of a backup that was checked, and hands it to `write`, a chunk at a time. Throws `BackupError`. */
export async function unpackDatabase(
  file: string,
  header: BackupHeader,
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  await using source = await open(file, 'r');
  const { size } = await source.stat();
  const start = Buffer.byteLength((await readLine(source)) ?? '') + 1;
  const hasher = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  await pipeline(
    Readable.from(chunksOf(source, start, size - CHECKSUM_BYTES)),
    createZstdDecompress(),
    async (unpacked) => {
      for await (const chunk of unpacked as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        // Before the first byte is written: gigabytes of something else fit into a small file.
        if (bytes === chunk.length && sqliteBytes(chunk) !== header.databaseBytes) throw damaged(file);
        if (bytes > header.databaseBytes) throw damaged(file);
        hasher.update(chunk);
        await write(chunk);
      }
    },
  );
  if (bytes !== header.databaseBytes || hasher.digest('hex') !== header.databaseSha256) {
    throw damaged(file);
  }
}

/** A handle's `write` may write less than it was given. */
export async function writeAll(target: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let offset = 0; offset < chunk.length; ) {
    offset += (await target.write(chunk, offset, chunk.length - offset)).bytesWritten;
  }
}

/** The size of a database by the header that SQLite writes: page size times pages. Null when it is no database. */
function sqliteBytes(beginning: Uint8Array): number | null {
  const header = Buffer.from(beginning.buffer, beginning.byteOffset, beginning.byteLength);
  if (header.length < 100 || !header.toString('latin1', 0, 16).startsWith('SQLite format 3\0')) return null;
  const pageBytes = header.readUInt16BE(16);
  return (pageBytes === 1 ? 65_536 : pageBytes) * header.readUInt32BE(28);
}

function damaged(file: string): BackupError {
  return new BackupError(
    `${file} is damaged: what it holds is not the database that was backed up. Use another backup`,
  );
}

/** The size and the SHA-256, in hex, of a file. */
async function digestFile(file: string): Promise<{ bytes: number; sha256: string }> {
  await using source = await open(file, 'r');
  const hasher = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  for await (const chunk of chunksOf(source, 0, Number.POSITIVE_INFINITY)) {
    hasher.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hasher.digest('hex') };
}

async function readHeader(source: FileHandle, file: string): Promise<BackupHeader> {
  const header: unknown = JSON.parse((await readLine(source)) ?? 'null');
  if (Check(BackupHeader, header)) return header;
  throw new BackupError(`${file} was made by another version of Tidings, whose backups this one cannot read`);
}

async function readLine(source: FileHandle): Promise<string | null> {
  const beginning = await readAt(source, 0, MAX_HEADER_BYTES);
  const end = beginning.indexOf('\n');
  return end === -1 ? null : beginning.toString('utf8', 0, end);
}

/** At most so many bytes: fewer at the end of the file. */
async function readAt(source: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await source.read(Buffer.alloc(bytes), 0, bytes, position);
  return buffer.subarray(0, bytesRead);
}

async function* chunksOf(source: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position < end; ) {
    const chunk = await readAt(source, position, Math.min(CHUNK_BYTES, end - position));
    if (chunk.length === 0) return;
    position += chunk.length;
    yield chunk;
  }
}

/** The data folder to back up. */
export interface BackupSource {
  dataDir: string;
  createdAt: Date;
  /** The key that the secrets are encrypted under, to be stored in the backup. Absent: it is not. */
  key?: Uint8Array | undefined;
}

/** A backup that is whole and was read again, under a name of its own. `remove` takes away what is left of it. */
interface PreparedBackup {
  path: string;
  facts: Omit<Backup, 'file'>;
  remove(): void;
}

/** Names of a backup's temporary files, which a crash may leave behind. */
export const PARTIAL = /\.[1-9A-HJ-NP-Za-km-z]{4,8}\.partial(-db(-journal)?)?$/;

/**
 * Makes a backup beside `base`, in `….partial` files: a snapshot, checked as a database and against the rows that
 * there were; packed, written through to the disk, read again and compared. Throws `BackupError`.
 */
export async function prepareBackup(source: BackupSource, base: string): Promise<PreparedBackup> {
  const path = `${base}.${randomToken(4)}.partial`;
  const database = `${path}-db`;
  const removeDatabase = () => {
    for (const file of [database, `${database}-journal`]) rmSync(file, { force: true });
  };
  const remove = () => {
    removeDatabase();
    rmSync(path, { force: true });
  };
  try {
    const header = await snapshot(source, database);
    await writeBackup(header, database, path);
    removeDatabase();
    const { header: read, bytes, sha256 } = await checkBackup(path);
    await unpackDatabase(path, read, async () => undefined);
    const { schema, tables, createdAt } = header;
    return {
      path,
      facts: { bytes, sha256, schema, tables, createdAt, includesKey: 'key' in header },
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function snapshot({ dataDir, createdAt, key }: BackupSource, target: string): Promise<BackupHeader> {
  const counted = snapshotInto(databaseFile(dataDir), target);
  const { problem, ...facts } = inspectDatabase(target);
  if (problem !== null) {
    throw new BackupError(`The database is damaged and no backup of it was made: ${problem}`);
  }
  requireSameCounts(counted, facts.tables);
  if (key !== undefined && facts.keyFingerprint !== keyFingerprint(key)) {
    throw new BackupError(
      'The key is not the one that the stored secrets are encrypted with, and no backup was made',
    );
  }
  const { bytes: databaseBytes, sha256: databaseSha256 } = await digestFile(target);
  return {
    format: 'tidings-backup',
    version: 1,
    createdAt: createdAt.toISOString(),
    ...facts,
    databaseBytes,
    databaseSha256,
    ...(key === undefined ? {} : { key: Buffer.from(key).toString('base64') }),
  };
}

function requireSameCounts(counted: TableCounts, copied: TableCounts): void {
  const names = new Set([...Object.keys(counted), ...Object.keys(copied)]);
  const differing = [...names].filter((name) => counted[name] !== copied[name]);
  if (differing.length === 0) return;
  throw new BackupError(
    `The copy of the database has other rows than it in ${differing.join(', ')}; no backup was made`,
  );
}
