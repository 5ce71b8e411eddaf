import { S3Client } from 'bun';
import { codeOf } from './app-error.ts';

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

/** Access to an S3-compatible store. */
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

/** What backups and images need of an S3-compatible store. Failures have the store's code and message. */
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
    /** Uploads the file at `path`, in parts when it is large. */
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
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no response within ${ms / 1000} seconds`)), ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
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
