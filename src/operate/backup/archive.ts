import { rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { Check } from '@sinclair/typebox/value';
import { inspectDatabase, snapshotInto } from '../../../db/sqlite/snapshot.ts';
import { keyFingerprint } from '../../lib/secret-box.ts';
import { randomToken } from '../../lib/text.ts';
import { databaseFile } from '../data-folder.ts';
import { entriesOf, entryReader, type ImageSource, imageFolder, imagesOf, type TakeImage } from './images.ts';

// A backup is one file: a line of JSON that describes it, the database and the images in zstd, and the SHA-256 of
// everything before it, in 32 bytes. SQLite's own check misses a flipped bit within a value; the checksum finds any damage or cut.

/** A backup or a restore that cannot be done. The message says why, in one line, and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** A store of backups refused or did not answer. Trying again later may help. */
export class StoreError extends BackupError {}

const Whole = Type.Integer({ minimum: 0 });

/** The first line of a backup, as JSON. */
export const BackupHeader = Type.Object({
  format: Type.Literal('tidings-backup'),
  /** Of the form of the file. */
  /** 1: without images, as earlier versions wrote them. */
  version: Type.Union([Type.Literal(1), Type.Literal(2)]),
  createdAt: Type.String({ maxLength: 32 }),
  /** The number of applied migrations. */
  schema: Whole,
  /** Rows in each table. */
  tables: Type.Record(Type.String(), Whole),
  /** Of the database, before it was compressed. */
  databaseBytes: Whole,
  databaseSha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** Of the key that encrypts the secrets (see `keyFingerprint`); 0 before the first start. */
  keyFingerprint: Type.Integer(),
  /** Images of posts. `place`: the bucket that has them instead of the backup. */
  images: Type.Optional(Type.Object({ files: Whole, bytes: Whole, place: Type.Optional(Type.String()) })),
  /** The key itself, in base64, when that was asked for. */
  key: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })),
});
export type BackupHeader = Static<typeof BackupHeader>;

/** A backup that was made and checked. `file`: a path, or `s3://bucket/key`. `sha256`: as `sha256sum` prints it. */
export interface Backup extends Pick<BackupHeader, 'schema' | 'tables' | 'createdAt'> {
  file: string;
  bytes: number;
  sha256: string;
  includesKey: boolean;
  images: BackupImages;
}

/**
 * `missing`: rows without a file. `unreadable`: files that could not be read. `examples`: the names of some of both.
 * `place`: the bucket that has the images, which the backup leaves out.
 */
export interface BackupImages {
  stored: number;
  missing: number;
  unreadable: number;
  examples: string[];
  place: string | null;
}

const CHECKSUM_BYTES = 32;

/** The start of every header. */
const BEGINNING = '{"format":"tidings-backup",';

/** A header takes less than two kilobytes. */
const MAX_HEADER_BYTES = 64 * 1024;

/** How much to write before a sync: syncing everything at once would hold up the commits of the server. */
const SYNC_BYTES = 4 * 1024 * 1024;

/** Writes a backup of the database file `database` to the new file `file`, through to the disk. */
export async function writeBackup(
  header: BackupHeader,
  database: string,
  file: string,
  images?: ImageSource,
): Promise<void> {
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
  const content = async function* () {
    yield* Bun.file(database).stream();
    if (images !== undefined) yield* entriesOf(images);
  };
  await pipeline(content, createZstdCompress(), async (compressed) => {
    for await (const chunk of compressed as AsyncIterable<Uint8Array>) await write(chunk);
  });
  await writeAll(target, hasher.digest());
  await target.sync();
}

/** Reads all of a backup and its checksum. Throws `BackupError`, about `name`, when it is none, or not whole. */
export async function checkBackup(file: string, name = file) {
  const source = Bun.file(file);
  const end = Math.max(source.size - CHECKSUM_BYTES, 0);
  if ((await source.slice(0, BEGINNING.length).text()) !== BEGINNING) {
    throw new BackupError(`${name} is not a Tidings backup`);
  }
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of source.slice(0, end).stream()) hasher.update(chunk);
  const checksum = Buffer.from(await source.slice(end).bytes());
  const whole = hasher.copy().update(checksum);
  if (!checksum.equals(hasher.digest())) {
    throw new BackupError(
      `${name} is damaged or incomplete: its checksum does not match. Use another backup`,
    );
  }
  const header: unknown = JSON.parse(await readLine(source));
  if (!Check(BackupHeader, header)) {
    throw new BackupError(
      `${name} has a format that this version of Tidings cannot read. Restore it with the version that made it`,
    );
  }
  return { header, bytes: source.size, sha256: whole.digest('hex') };
}

/**
 * Unpacks a backup that was checked: hands its database to `write`, a chunk at a time, and each image to `take`. Throws
 * `BackupError`.
 */
export async function unpackDatabase(
  file: string,
  header: BackupHeader,
  write: (chunk: Uint8Array) => Promise<void>,
  take: TakeImage = async () => undefined,
): Promise<Omit<BackupImages, 'place'>> {
  const source = Bun.file(file);
  const start = Buffer.byteLength(await readLine(source)) + 1;
  const damaged = () =>
    new BackupError(
      `${file} is damaged: its database differs from the one that was backed up. Use another backup`,
    );
  const hasher = new Bun.CryptoHasher('sha256');
  const entries = entryReader(file, take);
  let bytes = 0;
  await pipeline(
    source.slice(start, source.size - CHECKSUM_BYTES).stream(),
    createZstdDecompress(),
    async (unpacked) => {
      for await (const all of unpacked as AsyncIterable<Uint8Array>) {
        // Before the first byte is written: gigabytes of something else fit into a small file.
        if (bytes === 0 && sqliteBytes(all) !== header.databaseBytes) throw damaged();
        const chunk = all.subarray(0, header.databaseBytes - bytes);
        const rest = all.subarray(chunk.length);
        if (rest.length > 0 && header.version === 1) throw damaged();
        bytes += chunk.length;
        hasher.update(chunk);
        if (chunk.length > 0) await write(chunk);
        if (rest.length > 0) await entries.add(rest);
      }
    },
  );
  if (bytes !== header.databaseBytes || hasher.digest('hex') !== header.databaseSha256) throw damaged();
  entries.end(header.version === 1 ? 0 : (header.images?.files ?? 0));
  return entries.counts;
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

/** The size and the SHA-256, in hex, of a file or a download. */
export async function digestOf(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ bytes: number; sha256: string }> {
  const hasher = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    hasher.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hasher.digest('hex') };
}

/** The header; `null` when there is no line, which is no header either. */
async function readLine(source: Blob): Promise<string> {
  const beginning = await source.slice(0, MAX_HEADER_BYTES).text();
  return /^.*(?=\n)/.exec(beginning)?.[0] ?? 'null';
}

/** The data folder to back up. */
export interface BackupSource {
  dataDir: string;
  createdAt: Date;
  /** Where the images are: a folder, or `s3://…`, which the backup leaves out. Absent: in the data folder. */
  media?: string | undefined;
  /** The key of the secrets, to store in the backup. */
  key?: Uint8Array | undefined;
}

/** Names of a backup's temporary files, which a crash may leave behind. */
export const PARTIAL = /\.[1-9A-HJ-NP-Za-km-z]{4,8}\.partial(-db(-journal)?)?$/;

/**
 * Makes a backup beside `base`, in `….partial` files: a snapshot, checked as a database and against the rows that
 * there were; packed, written through to the disk, read again and compared. `remove` removes these files. Throws
 * `BackupError`.
 */
export async function prepareBackup(source: BackupSource, base: string) {
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
    const described = await snapshot(source, database);
    const { images, header } = withImages(source, described, database);
    await writeBackup(header, database, path, images);
    removeDatabase();
    const { header: read, bytes, sha256 } = await checkBackup(path);
    const counts = await unpackDatabase(path, read, async () => undefined);
    const { schema, tables, createdAt } = header;
    const stored = { ...counts, place: header.images?.place ?? null };
    const facts = { bytes, sha256, schema, tables, createdAt, includesKey: 'key' in header, images: stored };
    return { path, facts, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Without images the backup stays one that earlier versions can read. */
function withImages(
  { dataDir, media }: BackupSource,
  header: BackupHeader,
  database: string,
): { header: BackupHeader; images: ImageSource | undefined } {
  const images = imagesOf(database, media ?? imageFolder(dataDir));
  const { names, bytes } = images;
  if (names.length === 0) return { header, images: undefined };
  const files = names.length;
  if (media?.startsWith('s3://')) {
    return { header: { ...header, images: { files, bytes, place: media } }, images: undefined };
  }
  return { header: { ...header, version: 2 as const, images: { files, bytes } }, images };
}

async function snapshot({ dataDir, createdAt, key }: BackupSource, target: string): Promise<BackupHeader> {
  const counted = snapshotInto(databaseFile(dataDir), target);
  const { problem, ...facts } = inspectDatabase(target);
  if (problem !== null) {
    throw new BackupError(`The backup was not made, because the database is damaged: ${problem}`);
  }
  const differing = Object.keys(counted).filter((name) => counted[name] !== facts.tables[name]);
  if (differing.length > 0) {
    throw new BackupError(
      `The backup was not made, because the copy has a different number of rows in ${differing.join(', ')}`,
    );
  }
  if (key !== undefined && facts.keyFingerprint !== keyFingerprint(key)) {
    throw new BackupError(
      'The backup was not made, because the stored secrets are encrypted with another key',
    );
  }
  const { bytes: databaseBytes, sha256: databaseSha256 } = await digestOf(Bun.file(target).stream());
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
