import { timingSafeEqual } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { Check } from '@sinclair/typebox/value';
import { inspectDatabase, listStoredImages, snapshotInto } from '../../../db/sqlite/snapshot.ts';
import { codeOf } from '../../lib/app-error.ts';
import { keyFingerprint } from '../../lib/secret-box.ts';
import { randomToken } from '../../lib/text.ts';
import { startThread } from '../../lib/thread.ts';
import { fileNameOf, type ImageType, parseFileName } from '../../posts/media/store.ts';
import { databaseFile } from '../data-folder.ts';

// Images in a backup follow the database: for each a line of JSON, then its bytes.

/** The images that the rows of a database name, as a backup holds them. */
export interface ImageSource {
  folder: string;
  names: readonly string[];
  bytes: number;
}

/** The folder of images, where MEDIA_DIR is not set. */
export const imageFolder = (dataDir: string) => join(dataDir, 'media');

function imagesOf(database: string, folder: string): ImageSource {
  const rows = listStoredImages(database);
  const names = rows.map(({ id, type }) => fileNameOf({ id, type: type as ImageType }));
  return { folder, names, bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** The entries as they are written. One without a file, or with a file that cannot be read, has no bytes. */
async function* entriesOf({ folder, names }: ImageSource): AsyncGenerator<Uint8Array> {
  for (const name of names) {
    const read = await readFile(join(folder, name)).catch(codeOf);
    // Earlier versions know `missing` alone.
    const entry =
      typeof read === 'string'
        ? { name, missing: true, ...(read !== 'ENOENT' && { error: read || 'unknown error' }) }
        : { name, bytes: read.length, sha256: Bun.SHA256.hash(read, 'hex') };
    yield Buffer.from(`${JSON.stringify(entry)}\n`);
    if (typeof read !== 'string') yield read;
  }
}

/** No image is larger, and no line longer. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_LINE = 1_000;

/** Images without a file that a backup names. */
const MAX_EXAMPLES = 5;

export type TakeImage = (name: string, bytes: Uint8Array) => Promise<void>;

/** Reads the entries from the chunks that follow the database. Throws `BackupError` when they are not as written. */
function entryReader(file: string, take: TakeImage) {
  let rest = Buffer.alloc(0);
  let open: { name: string; bytes: number; sha256: string } | null = null;
  const counts = { stored: 0, missing: 0, unreadable: 0, examples: [] as string[] };
  const damaged = () =>
    new BackupError(
      `${file} is damaged: its images differ from the ones that were backed up. Use another backup`,
    );

  function readEntry(line: string): typeof open {
    let entry: { name?: unknown; bytes?: unknown; sha256?: unknown; missing?: unknown; error?: unknown };
    try {
      entry = JSON.parse(line);
    } catch {
      throw damaged();
    }
    const { name, bytes, sha256, missing, error } = entry;
    if (typeof name !== 'string' || parseFileName(name) === null) throw damaged();
    if (missing === true) {
      counts[error === undefined ? 'missing' : 'unreadable']++;
      if (counts.examples.length < MAX_EXAMPLES)
        counts.examples.push(error === undefined ? name : `${name} (${error})`);
      return null;
    }
    if (typeof bytes !== 'number' || !(bytes >= 0 && bytes <= MAX_BYTES) || typeof sha256 !== 'string')
      throw damaged();
    return { name, bytes, sha256 };
  }

  return {
    counts,
    async add(chunk: Uint8Array): Promise<void> {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        if (open === null) {
          const end = rest.indexOf(10);
          if (end === -1 && rest.length > MAX_LINE) throw damaged();
          if (end === -1) return;
          open = readEntry(rest.toString('utf8', 0, end));
          rest = rest.subarray(end + 1);
        } else {
          if (rest.length < open.bytes) return;
          const bytes = new Uint8Array(rest.subarray(0, open.bytes));
          if (Bun.SHA256.hash(bytes, 'hex') !== open.sha256) throw damaged();
          await take(open.name, bytes);
          counts.stored++;
          rest = rest.subarray(open.bytes);
          open = null;
        }
      }
    },
    end(expected: number): void {
      if (open !== null || rest.length > 0 || counts.stored + counts.missing + counts.unreadable !== expected)
        throw damaged();
    },
  };
}

// A backup is one file: a line of JSON that describes it, the database and the images in zstd, the SHA-256 of everything
// before it, and a MAC of that, in 32 bytes each. SQLite's own check misses a flipped bit within a value; the checksum finds
// any damage or cut, and the MAC any change by somebody without the secret key.

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
  /** Of the form of the file. 3: with a MAC. Without one, 1 has no images, and 2 has some. */
  version: Type.Union([Type.Literal(1), Type.Literal(2), Type.Literal(3)]),
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
  /** It has a MAC. */
  isSigned: boolean;
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

/** Of the checksum, and of the MAC. */
const DIGEST_BYTES = 32;

const trailerBytes = ({ version }: Pick<BackupHeader, 'version'>) =>
  version === 3 ? 2 * DIGEST_BYTES : DIGEST_BYTES;

/** How many images are in the file. */
const imageCount = ({ version, images }: BackupHeader) =>
  version === 1 || images?.place !== undefined ? 0 : (images?.files ?? 0);

/** Bytes that a restore of the images takes. */
export const imageBytes = (header: BackupHeader) =>
  imageCount(header) === 0 ? 0 : (header.images?.bytes ?? 0);

/** The MAC of a backup with this checksum, under a key that is derived from the secret key. */
function macOf(checksum: Uint8Array, key: Uint8Array): Buffer {
  const derived = new Bun.CryptoHasher('sha256', key).update('tidings backup').digest();
  return new Bun.CryptoHasher('sha256', derived).update(checksum).digest();
}

/** The start of every header. */
const BEGINNING = '{"format":"tidings-backup",';

/** A header takes less than two kilobytes. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Half of the time of the usual level, for as few bytes. */
const QUICK = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** How much to write before a sync: syncing everything at once would hold up the commits of the server. */
const SYNC_BYTES = 4 * 1024 * 1024;

/**
 * Writes a backup of the database file `database` to the new file `file`, through to the disk. `key`: the secret key, for
 * version 3.
 */
export async function writeBackup(
  header: BackupHeader,
  database: string,
  file: string,
  { images, key }: { images?: ImageSource | undefined; key?: Uint8Array | undefined } = {},
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
  await pipeline(content, createZstdCompress(QUICK), async (compressed) => {
    for await (const chunk of compressed as AsyncIterable<Uint8Array>) await write(chunk);
  });
  const checksum = hasher.digest();
  await writeAll(target, checksum);
  if (key !== undefined) await writeAll(target, macOf(checksum, key));
  await target.sync();
}

/**
 * Reads all of a backup and its checksum. `isSignedWith` compares its MAC. Throws `BackupError`, about `name`, when it is
 * none, or not whole.
 */
export async function checkBackup(file: string, name = file) {
  const source = Bun.file(file);
  if ((await source.slice(0, BEGINNING.length).text()) !== BEGINNING) {
    throw new BackupError(`${name} is not a Tidings backup`);
  }
  const header = parseHeader(await readLine(source));
  const end = Math.max(source.size - trailerBytes(header ?? { version: 1 }), 0);
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of source.slice(0, end).stream()) hasher.update(chunk);
  const trailer = Buffer.from(await source.slice(end).bytes());
  const checksum = trailer.subarray(0, DIGEST_BYTES);
  const mac = trailer.subarray(DIGEST_BYTES);
  const sha256 = hasher.copy().update(trailer).digest('hex');
  if (!checksum.equals(hasher.digest())) {
    throw new BackupError(
      `${name} is damaged or incomplete: its checksum does not match. Use another backup`,
    );
  }
  if (header === null) {
    throw new BackupError(
      `${name} has a format that this version of Tidings cannot read. Restore it with the version that made it`,
    );
  }
  const isSignedWith = (key: Uint8Array) => {
    const expected = macOf(checksum, key);
    return mac.length === expected.length && timingSafeEqual(mac, expected);
  };
  return { header, bytes: source.size, sha256, isSignedWith };
}

/** Null for a line that is no header of a version that is known. */
function parseHeader(line: string): BackupHeader | null {
  try {
    const header: unknown = JSON.parse(line);
    return Check(BackupHeader, header) ? header : null;
  } catch {
    return null;
  }
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
    source.slice(start, source.size - trailerBytes(header)).stream(),
    createZstdDecompress(),
    async (unpacked) => {
      for await (const all of unpacked as AsyncIterable<Uint8Array>) {
        // Before the first byte is written: gigabytes of something else fit into a small file.
        if (bytes === 0 && sqliteBytes(all) !== header.databaseBytes) throw damaged();
        const chunk = all.subarray(0, header.databaseBytes - bytes);
        const rest = all.subarray(chunk.length);
        if (rest.length > 0 && imageCount(header) === 0) throw damaged();
        bytes += chunk.length;
        hasher.update(chunk);
        if (chunk.length > 0) await write(chunk);
        if (rest.length > 0) await entries.add(rest);
      }
    },
  );
  if (bytes !== header.databaseBytes || hasher.digest('hex') !== header.databaseSha256) throw damaged();
  entries.end(imageCount(header));
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
export async function digestOf(chunks: AsyncIterable<Uint8Array>) {
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
  /** The place of images: a folder, or `s3://…`, which the backup leaves out. Absent: in the data folder. */
  media?: string | undefined;
  /** The secret key, for the MAC. Absent, and where the secrets have another key: the backup has no MAC. */
  key?: Uint8Array | undefined;
  withKey?: boolean | undefined;
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
    const isSigned = header.version === 3;
    await writeBackup(header, database, path, { images, key: isSigned ? source.key : undefined });
    removeDatabase();
    const { header: read, bytes, sha256 } = await checkBackup(path);
    const counts = await unpackDatabase(path, read, async () => undefined);
    const { schema, tables, createdAt } = header;
    const stored = { ...counts, place: header.images?.place ?? null };
    const facts = { bytes, sha256, schema, tables, createdAt, isSigned, images: stored };
    return { path, facts: { ...facts, includesKey: 'key' in header }, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

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
  const version = header.version === 1 ? 2 : header.version;
  return { header: { ...header, version, images: { files, bytes } }, images };
}

const SYNC_THREAD = new URL('./sync-thread.ts', import.meta.url);

/**
 * Has `file` brought to the disk while `write` writes it: gigabytes at once would hold up the commits of a server. Without
 * the thread it is only written faster.
 */
async function inPieces<Result>(file: string, write: () => Result): Promise<Result> {
  const { worker } = startThread(SYNC_THREAD, 'The backup was not made');
  try {
    await new Promise((resolve) => {
      worker.onmessage = resolve;
      worker.onerror = resolve;
      worker.postMessage(file);
    });
    return write();
  } finally {
    worker.terminate();
  }
}

async function snapshot(
  { dataDir, createdAt, key, withKey = false }: BackupSource,
  target: string,
): Promise<BackupHeader> {
  const counted = await inPieces(target, () => snapshotInto(databaseFile(dataDir), target));
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
  const isRightKey = key !== undefined && facts.keyFingerprint === keyFingerprint(key);
  if (withKey && !isRightKey) {
    throw new BackupError(
      'The backup was not made, because the stored secrets are encrypted with another key',
    );
  }
  const { bytes: databaseBytes, sha256: databaseSha256 } = await digestOf(Bun.file(target).stream());
  return {
    format: 'tidings-backup',
    version: isRightKey ? 3 : 1,
    createdAt: createdAt.toISOString(),
    ...facts,
    databaseBytes,
    databaseSha256,
    ...(withKey && isRightKey ? { key: Buffer.from(key).toString('base64') } : {}),
  };
}
