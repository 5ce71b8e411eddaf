import { join } from 'node:path';
import { S3Client, type S3File } from 'bun';
import { type Backup, BackupError, type S3Access, StoreError } from './model.ts';
import type { Place } from './place.ts';
import { prepareBackup } from './prepare.ts';
import { splitTarget } from './target.ts';

/** Of a multipart upload, in bytes. With two under way, an upload holds some 16 MB. */
const PART_BYTES = 8 * 1024 * 1024;

/** How long a store may stand still, in milliseconds: Bun's own client waits six minutes. */
const STALL_MS = 60_000;

/** A store lists at most 1,000 names at a time. */
const MAX_PAGES = 100;

/**
 * Backups in an S3-compatible store, through Bun's own client. What was uploaded is read back whole and compared by size
 * and SHA-256, as an ETag means something else in each store.
 */
export function s3Place(place: string, access: S3Access | undefined): Place {
  const { client, prefix, told } = openBucket(place, access);
  const urlOf = (name: string) => `${place.replace(/\/+$/, '')}/${name}`;

  return {
    async store(name, source, { force }) {
      const file = urlOf(name);
      const object = client.file(prefix + name);
      if (!force && (await told(file, () => object.exists()))) {
        throw new BackupError(`${file} is there already: --force replaces it`);
      }
      const { path, facts, remove } = await prepareBackup(source, join(source.dataDir, name));
      try {
        await told(file, (onAlive) => upload(path, object, onAlive));
        const stored = await told(file, (onAlive) => digestOf(object, onAlive));
        if (stored.bytes !== facts.bytes || stored.sha256 !== facts.sha256) {
          await told(file, () => object.delete());
          throw new BackupError(`${file} was not stored as it was sent, and was deleted again`);
        }
      } finally {
        remove();
      }
      return { file, ...facts } satisfies Backup;
    },
    list: () => told(place, (onAlive) => listNames(client, prefix, onAlive)),
    async remove(name) {
      await told(urlOf(name), () => client.delete(prefix + name));
    },
  };
}

/** Copies an object into the new file `target`. Throws `BackupError`. */
export async function download(url: string, access: S3Access | undefined, target: string): Promise<void> {
  const { place, name } = splitTarget(url);
  const { client, prefix, told } = openBucket(place, access);
  const writer = Bun.file(target).writer();
  try {
    await told(url, async (onAlive) => {
      for await (const chunk of client.file(prefix + name).stream()) {
        writer.write(chunk);
        await writer.flush();
        onAlive();
      }
    });
  } finally {
    await writer.end();
  }
}

interface Bucket {
  client: S3Client;
  prefix: string;
  /**
   * Asks the store. `onAlive`: call it when something was sent or received. Throws `StoreError`, one line that names
   * `about`, also when the store stands still.
   */
  told<Result>(about: string, ask: (onAlive: () => void) => Promise<Result>): Promise<Result>;
}

function openBucket(place: string, access: S3Access | undefined): Bucket {
  if (access === undefined) {
    throw new BackupError(`${place} needs BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY`);
  }
  const [bucket = '', ...folders] = place.slice('s3://'.length).split('/').filter(Boolean);
  const { endpoint, region, accessKeyId, secretAccessKey, stallMs = STALL_MS } = access;
  const client = new S3Client({
    bucket,
    accessKeyId,
    secretAccessKey,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    retry: 3,
    partSize: PART_BYTES,
    queueSize: 2,
  });
  return {
    client,
    prefix: folders.map((folder) => `${folder}/`).join(''),
    told: (about, ask) => askStore(about, stallMs, ask),
  };
}

async function upload(path: string, object: S3File, onAlive: () => void): Promise<void> {
  const writer = object.writer({ type: 'application/octet-stream' });
  for await (const chunk of Bun.file(path).stream()) {
    writer.write(chunk);
    await writer.flush();
    onAlive();
  }
  await writer.end();
}

async function digestOf(object: S3File, onAlive: () => void): Promise<{ bytes: number; sha256: string }> {
  const hasher = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  for await (const chunk of object.stream()) {
    hasher.update(chunk);
    bytes += chunk.length;
    onAlive();
  }
  return { bytes, sha256: hasher.digest('hex') };
}

async function listNames(client: S3Client, prefix: string, onAlive: () => void): Promise<string[]> {
  const names: string[] = [];
  let continuationToken: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const listed = await client.list({
      prefix,
      ...(continuationToken === undefined ? {} : { continuationToken }),
    });
    onAlive();
    names.push(...(listed.contents ?? []).map(({ key }) => key.slice(prefix.length)));
    continuationToken = listed.isTruncated ? listed.nextContinuationToken : undefined;
    if (continuationToken === undefined) break;
  }
  return names;
}

async function askStore<Result>(
  about: string,
  stallMs: number,
  ask: (onAlive: () => void) => Promise<Result>,
): Promise<Result> {
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const stall = () => reject(new Error(`no answer within ${stallMs / 1000} seconds`));
  let timer = setTimeout(stall, stallMs);
  const onAlive = () => {
    clearTimeout(timer);
    timer = setTimeout(stall, stallMs);
  };
  try {
    return await Promise.race([ask(onAlive), stalled]);
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    const reason = [code, message].filter(Boolean).join(': ');
    throw new StoreError(`${about}: the store refused or could not be reached (${reason})`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
