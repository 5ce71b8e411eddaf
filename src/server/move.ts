import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Database, Role } from '../../db/engine.ts';
import { MoveError, PostgresError } from '../../db/failures.ts';
import { type MoveSource, type MoveTarget, moveRows, type Progress } from '../../db/move.ts';
import { readServerTime } from '../../db/postgres/connection.ts';
import { claimKeyFingerprint } from '../../db/postgres/inspect.ts';
import { openPostgresSource, openPostgresTarget } from '../../db/postgres/move.ts';
import { takeLock } from '../../db/sqlite/lock.ts';
import { openSqliteSource, openSqliteTarget } from '../../db/sqlite/move.ts';
import { messageOf } from '../lib/app-error.ts';
import { bringToDisk } from '../lib/disk.ts';
import { type FileStore, openFileStore } from '../lib/file-store.ts';
import type { Logger } from '../lib/log.ts';
import { keyFingerprint, type SecretBox, secretBox } from '../lib/secret-box.ts';
import { parseFileName } from '../posts/media/store.ts';
import type { Config } from './config.ts';
import { databaseFile, lockFile, movingFile, readSecretKey, writeKeyFile } from './data-folder.ts';
import { openSharedClock, type SharedClock } from './elapsed.ts';

export interface MoveOptions {
  /** The folder of the embedded file. */
  dataDir: string;
  /** `DATABASE_URL`, where it is set: then PostgreSQL is the source. */
  databaseUrl?: string | undefined;
  secretKey?: string | undefined;
  /** A `postgres://` URL, or a folder. */
  to: string;
  report: (progress: Progress) => void;
  /** The store of images by MEDIA_DIR. Absent: it is not set. */
  media?: FileStore | undefined;
}

/** The result of a move. */
export interface Moved {
  /** Paths of files, or URLs without user and password. */
  from: string;
  to: string;
  /** Rows by table. */
  tables: Record<string, number>;
  rows: number;
  seconds: number;
  images: MovedImages;
}

/** `copied`: into the bucket. `left`: still in the folder `place` alone, or null where none are. */
interface MovedImages {
  copied: number;
  left: number;
  place: string;
}

const isPostgres = (place: string) => /^postgres(ql)?:\/\//.test(place);

/**
 * Copies the database from the embedded file to PostgreSQL or back, and compares both. Continues a move that was
 * interrupted. The source is only read. Throws `MoveError`.
 */
export async function moveDatabase(options: MoveOptions): Promise<Moved> {
  const { databaseUrl, to } = options;
  const startedAt = performance.now();
  try {
    if (isPostgres(to) === (databaseUrl !== undefined)) {
      throw new MoveError(
        isPostgres(to)
          ? 'DATABASE_URL is set, so PostgreSQL is the source. To move from the data folder, unset it. To move between two PostgreSQL servers, use pg_dump'
          : 'DATABASE_URL is not set, so the data folder is the source. To move from PostgreSQL, set it. To move between two folders, use backup and restore',
      );
    }
    const moved = await (isPostgres(to) ? moveToPostgres(options) : moveToFolder(options, databaseUrl ?? ''));
    const rows = Object.values(moved.tables).reduce((sum, count) => sum + count, 0);
    const images = await moveImages(options, moved.tables.media ?? 0);
    return { ...moved, rows, images, seconds: Math.round(performance.now() - startedAt) / 1_000 };
  } catch (error) {
    if (error instanceof MoveError) throw error;
    if (error instanceof PostgresError) {
      const message = isPostgres(to) ? error.message.replaceAll('DATABASE_URL', '--to') : error.message;
      throw new MoveError(message, { cause: error });
    }
    throw new MoveError(
      `The move stopped: ${messageOf(error).replace(/\.$/, '')}. Run the same command again to continue`,
      { cause: error },
    );
  }
}

/** Copies the files that are in the data folder into the bucket, where MEDIA_DIR names one. */
async function moveImages({ dataDir, to, media }: MoveOptions, rows: number): Promise<MovedImages> {
  const folder = openFileStore(join(resolve(dataDir), 'media'));
  if (rows === 0 || !isPostgres(to)) return { copied: 0, left: 0, place: media?.place ?? folder.place };
  const names = (await folder.list()).map(({ name }) => name).filter((name) => parseFileName(name) !== null);
  if (media?.isBucket !== true) return { copied: 0, left: names.length, place: folder.place };
  const known = new Set((await media.list()).map(({ name }) => name));
  let copied = 0;
  for (const name of names) {
    if (known.has(name)) continue;
    await media.write(name, await Bun.file(join(folder.place, name)).bytes());
    copied++;
  }
  return { copied, left: 0, place: media.place };
}

async function moveToPostgres({ dataDir, secretKey, to, report }: MoveOptions) {
  const folder = resolve(dataDir);
  const file = databaseFile(folder);
  if (!existsSync(file))
    throw new MoveError(`There is no database ${file}. Set DATA_DIR to the folder of the database`);
  return withLock(folder, async () => {
    const source = openSqliteSource(file);
    try {
      requireKey(
        source,
        readSecretKey(folder, secretKey),
        secretKey === undefined ? 'secret.key' : 'SECRET_KEY',
      );
      return await moveTo(source, await openPostgresTarget(to, identityOf(source)), report);
    } finally {
      await source.close();
    }
  });
}

async function moveToFolder({ secretKey, to, report }: MoveOptions, databaseUrl: string) {
  const folder = resolve(to);
  process.umask(0o077);
  mkdirSync(folder, { recursive: true });
  const other = readdirSync(folder).find((name) => !OWN_FILES.test(name));
  if (other !== undefined) {
    throw new MoveError(
      `The folder ${folder} is not empty: it has ${other}. Choose a new or an empty folder`,
    );
  }
  return withLock(folder, async () => {
    const source = await openPostgresSource(databaseUrl);
    try {
      const key = requireKey(source, readSecretKey(folder, secretKey), 'SECRET_KEY');
      writeKeyFile(folder, key);
      requireKey(source, readSecretKey(folder, undefined), join(folder, 'secret.key'));
      const moved = await moveTo(source, openSqliteTarget(movingFile(folder), identityOf(source)), report);
      bringToDisk(movingFile(folder));
      renameSync(movingFile(folder), databaseFile(folder));
      bringToDisk(folder);
      return { ...moved, to: databaseFile(folder) };
    } finally {
      await source.close();
    }
  });
}

/** Files that a move itself leaves in its target. */
const OWN_FILES = /^(\.?secret\.key.*|tidings\.lock.*|tidings\.db\.moving.*|lost\+found)$/;

async function moveTo(source: MoveSource, target: MoveTarget, report: MoveOptions['report']) {
  try {
    return { from: source.name, to: target.name, tables: await moveRows(source, target, report) };
  } finally {
    await target.close();
  }
}

/** Keeps servers and commands off the folder. */
async function withLock<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const release = takeLock(lockFile(folder), 'restore');
  if (release === null) {
    throw new MoveError(
      `The data folder ${folder} is in use by a server or another command. Stop the server, then run the move`,
    );
  }
  try {
    return await work();
  } finally {
    release();
  }
}

/** Throws unless the key is the one that the source's secrets are encrypted with. */
function requireKey({ name, extras }: MoveSource, key: Buffer | null, origin: string): Buffer {
  if (key === null) {
    throw new MoveError(
      `The key of ${name} is missing: its folder has no secret.key, and SECRET_KEY is not set. Put the key back, or set SECRET_KEY`,
    );
  }
  if (extras.keyFingerprint !== null && extras.keyFingerprint !== keyFingerprint(key)) {
    throw new MoveError(
      `${origin} is not the key that the secrets of ${name} were encrypted with. Set SECRET_KEY to the right key`,
    );
  }
  return key;
}

/** A move continues only from the source with which it began. */
const identityOf = ({ name, extras }: MoveSource): string => `${name}, key ${extras.keyFingerprint}`;

/** The open database, whichever engine it is of. */
export interface OpenDatabase {
  db: Database;
  /** The content API reads posts from it: the read replica while it is fresh, or the database. */
  contentDb: Pick<Database, 'read'>;
  secrets: SecretBox;
  /** The clock that all processes follow. Absent where there is only one. */
  sharedClock?: SharedClock;
  /** The last process did not close the database, so it is checked for damage. */
  isSuspect?: boolean;
  /** Resolves with a failure that only another start can end. */
  failed?: Promise<Error>;
  /** Throws `DataFolderError` after such a failure. */
  close(): Promise<void>;
}

/**
 * Opens the PostgreSQL that all processes share, and upgrades its schema. Throws `PostgresError` when it cannot
 * be reached or used, and when its secrets were encrypted with another key.
 */
export async function openSharedDatabase(
  { url, readUrl, pool }: NonNullable<Config['database']>,
  secretKey: string,
  role: Role,
  { log, process }: { log: Logger; process: string },
): Promise<OpenDatabase> {
  // Loaded only where it is used: a process on the embedded file starts faster without.
  const { openPostgres } = await import('../../db/postgres/client.ts');
  const { openReplica } = await import('../../db/postgres/replica.ts');
  const db = await openPostgres(url, role, { poolSize: pool, process, log });
  try {
    const key = Buffer.from(secretKey, 'base64');
    const fingerprint = keyFingerprint(key);
    if ((await claimKeyFingerprint(db, fingerprint)) !== fingerprint) {
      throw new PostgresError(
        'SECRET_KEY is not the key that the secrets of this database were encrypted with. Set SECRET_KEY to the right key on every process. If it is lost, see "A lost key" in docs/postgresql.md',
      );
    }
    const replica =
      role === 'server' && readUrl !== undefined
        ? await openReplica(db, readUrl, { poolSize: pool, log })
        : null;
    const sharedClock = await openSharedClock({ readNow: () => readServerTime(db), log });
    const close = async () => {
      await replica?.close();
      await db.close();
    };
    return { db, contentDb: replica ?? db, secrets: secretBox(key), sharedClock, close };
  } catch (error) {
    await db.close();
    throw error;
  }
}
