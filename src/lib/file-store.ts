import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './app-error.ts';
import { type ByteRange, openBucket, type S3Access } from './bucket.ts';
import { bringToDisk } from './disk.ts';
import { randomToken } from './text.ts';

// Files by name, which never change once they are written: in a folder, or in a bucket.

export interface FileStore {
  /** The folder, or `s3://bucket/prefix`. */
  readonly place: string;
  readonly isBucket: boolean;
  /** Resolves when the file is whole and on the disk. Replaces nothing halfway. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** The size in bytes; null when there is no such file. */
  size(name: string): Promise<number | null>;
  /** Resolves when the file is open, with its content as it is read. Rejects without a file. */
  read(name: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
  remove(name: string): Promise<void>;
  /** `modifiedAt` is invalid where it is not known. */
  list(): Promise<{ name: string; modifiedAt: Date }[]>;
}

/** `place`: a folder, or `s3://bucket/prefix`, which needs `access`. */
export function openFileStore(place: string, access?: S3Access): FileStore {
  return place.startsWith('s3://') ? bucketStore(place, access) : folderStore(place);
}

/** Files of a killed process, which `list` shows with the others. */
const PARTIAL = '.partial';

function folderStore(folder: string): FileStore {
  return {
    place: folder,
    isBucket: false,
    async write(name, bytes) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const partial = join(folder, `${name}.${randomToken(6)}${PARTIAL}`);
      try {
        const file = await open(partial, 'wx', 0o600);
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(partial, join(folder, name));
        bringToDisk(folder);
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
    },
    async size(name) {
      const stats = await stat(join(folder, name)).catch(nullIfMissing);
      return stats?.isFile() ? stats.size : null;
    },
    async read(name, range) {
      const stream = createReadStream(join(folder, name), range && { start: range.first, end: range.last });
      await once(stream, 'open');
      return closable(stream, () => stream.destroy());
    },
    remove: (name) => rm(join(folder, name), { force: true }),
    async list() {
      const names = (await readdir(folder).catch(nullIfMissing)) ?? [];
      const files = await Promise.all(
        names.map(async (name) => ({ name, stats: await stat(join(folder, name)).catch(nullIfMissing) })),
      );
      return files.flatMap(({ name, stats }) => (stats?.isFile() ? { name, modifiedAt: stats.mtime } : []));
    },
  };
}

/**
 * Closes what the chunks come from also when nobody reads one, as for a client that left meanwhile: an iterator that has
 * not begun ends without its cleanup.
 */
function closable(chunks: AsyncIterable<Uint8Array>, close: () => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = chunks[Symbol.asyncIterator]();
      return {
        next: () => iterator.next(),
        async return() {
          close();
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function nullIfMissing(error: unknown): null {
  if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null;
  throw error;
}

/** Somebody waits for a read: three attempts must end before the server closes the connection, after 30 seconds. */
const READ_STALL_MS = 8_000;

function bucketStore(place: string, access: S3Access | undefined): FileStore {
  if (access === undefined) throw new Error(`${place} needs an access key`);
  const [name = '', ...folders] = place.slice('s3://'.length).split('/').filter(Boolean);
  const bucket = openBucket(name, access);
  const reader = openBucket(name, { ...access, stallMs: access.stallMs ?? READ_STALL_MS });
  const prefix = folders.map((folder) => `${folder}/`).join('');
  return {
    place,
    isBucket: true,
    write: (file, bytes) => bucket.writeBytes(prefix + file, bytes),
    size: (file) => reader.size(prefix + file),
    async read(file, range) {
      const { body, cancel } = await reader.read(prefix + file, range);
      return closable(body, cancel);
    },
    remove: (file) => bucket.remove(prefix + file),
    async list() {
      const entries = await bucket.list(prefix);
      return entries.map(({ key, modifiedAt }) => ({ name: key.slice(prefix.length), modifiedAt }));
    },
  };
}
