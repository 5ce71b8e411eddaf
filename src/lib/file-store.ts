import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { S3Client } from 'bun';
import { codeOf } from './app-error.ts';
import { bringToDisk } from './disk.ts';
import { randomToken } from './text.ts';
import { within } from './time.ts';

/** Size of a part of a multipart upload, in bytes. One part is in memory at a time. */
const PART_BYTES = 8 * 1024 * 1024;

/** A store lists at most 1,000 names a page. */
const MAX_PAGES = 1_000;

const ATTEMPTS = 3;
const PAUSE_MS = 200;

/** Codes of what may pass in a moment. A response to HEAD has no code. */
const PASSING = new Set(
  'SlowDown ServiceUnavailable InternalError UnknownError ConnectionRefused ConnectionClosed'.split(' '),
);

/** How long the store may stand still, in milliseconds. */
const STALL_MS = 60_000;

export interface S3Access {
  /** Absent: AWS. */
  endpoint?: string | undefined;
  region?: string | undefined;
  accessKeyId: string;
  secretAccessKey: string;
  /** How long the store may send and take nothing, in milliseconds. Absent: a minute. */
  stallMs?: number | undefined;
}

/** Bytes of an object, first and last. */
export interface ByteRange {
  first: number;
  last: number;
}

/** `modifiedAt` is invalid when the store does not say it. */
export interface BucketEntry {
  key: string;
  modifiedAt: Date;
}

export type Bucket = ReturnType<typeof openBucket>;

/** An S3-compatible store, for backups and images. Failures have the store's code and message. */
export function openBucket(
  name: string,
  { stallMs = STALL_MS, accessKeyId, secretAccessKey, ...at }: S3Access,
) {
  // Bun's client takes what it is not given from AWS's own variables in the environment.
  const { endpoint = `https://s3.${at.region ?? 'us-east-1'}.amazonaws.com` } = at;
  const { region = regionIn(new URL(endpoint)) } = at;
  const place = { bucket: name, endpoint, region };
  const client = new S3Client({ ...place, accessKeyId, secretAccessKey, retry: ATTEMPTS - 1 });

  return {
    /** The size of an object; null when there is none. */
    async size(key: string): Promise<number | null> {
      try {
        return (await again(() => unlessStalled(stallMs, client.stat(key)))).size;
      } catch (error) {
        if (codeOf(error) === 'NoSuchKey') return null;
        // The response to HEAD has no body that tells why.
        if (codeOf(error) === 'UnknownError')
          await unlessStalled(stallMs, client.file(key).slice(0, 1).bytes());
        throw error;
      }
    },
    /** Resolves when the first bytes of an object are there. Throws when nothing comes for `stallMs`. */
    async read(key: string, range?: ByteRange) {
      const file = client.file(key);
      const part = range === undefined ? file : file.slice(range.first, range.last + 1);
      return again(async () => {
        const reader = part.stream().getReader();
        const next = () => unlessStalled(stallMs, reader.read());
        const cancel = () => void reader.cancel().catch(() => undefined);
        const first = await next().catch((error) => {
          cancel();
          throw error;
        });
        return { body: chunksOf(first, next, cancel), cancel };
      });
    },
    async write(key: string, path: string): Promise<void> {
      const writer = client.file(key).writer({ partSize: PART_BYTES, queueSize: 1, retry: ATTEMPTS - 1 });
      for await (const chunk of Bun.file(path).stream()) {
        writer.write(chunk);
        await unlessStalled(stallMs, Promise.resolve(writer.flush()));
      }
      await unlessStalled(stallMs, Promise.resolve(writer.end()));
    },
    /** Uploads a small object. */
    async writeBytes(key: string, bytes: Uint8Array): Promise<void> {
      await again(() => unlessStalled(stallMs, client.write(key, bytes)));
    },
    async list(prefix: string): Promise<BucketEntry[]> {
      const entries: BucketEntry[] = [];
      let continuationToken: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const query = { prefix, ...(continuationToken !== undefined && { continuationToken }) };
        const listed = await again(() => unlessStalled(stallMs, client.list(query)));
        const { contents = [], isTruncated, nextContinuationToken } = listed;
        for (const { key, lastModified } of contents) {
          entries.push({ key, modifiedAt: new Date(lastModified ?? Number.NaN) });
        }
        if (isTruncated !== true || nextContinuationToken === undefined) break;
        continuationToken = nextContinuationToken;
      }
      return entries;
    },
    async remove(key: string): Promise<void> {
      await again(() => unlessStalled(stallMs, client.delete(key)));
    },
  };
}

/** Such as `eu-west-1`, where the name of a host tells. */
function regionIn({ hostname }: URL): string {
  const named = /^s3[.-]([\w-]+)\.(?:amazonaws|backblazeb2)\.com$/.exec(hostname)?.[1];
  return named ?? (hostname.endsWith('.amazonaws.com') ? 'us-east-1' : 'auto');
}

/** Rejects when `work` takes longer than the store may stand still. */
function unlessStalled<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return within(ms, work, () => new Error(`no response within ${ms / 1000} seconds`));
}

type Chunk = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;

async function* chunksOf(first: Chunk, next: () => Promise<Chunk>, cancel: () => void) {
  try {
    for (let chunk = first; !chunk.done; chunk = await next()) yield chunk.value;
  } finally {
    cancel();
  }
}

/** Sends a request that the store rejects as overloaded, or that does not reach it, up to three times. */
async function again<Result>(send: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      if (attempt === ATTEMPTS || !PASSING.has(codeOf(error))) throw error;
      await Bun.sleep(attempt * PAUSE_MS);
    }
  }
}

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

/** The bucket and the prefix of names in `s3://bucket/prefix`. */
export function splitPlace(place: string): { name: string; prefix: string } {
  const [name = '', ...folders] = place.slice('s3://'.length).split('/').filter(Boolean);
  return { name, prefix: folders.map((folder) => `${folder}/`).join('') };
}

function bucketStore(place: string, access: S3Access | undefined): FileStore {
  if (access === undefined) throw new Error(`${place} needs an access key`);
  const { name, prefix } = splitPlace(place);
  const bucket = openBucket(name, access);
  const reader = openBucket(name, { ...access, stallMs: access.stallMs ?? READ_STALL_MS });
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
