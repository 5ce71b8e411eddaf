import { join } from 'node:path';
import { type Bucket, openBucket } from './bucket.ts';
import { type Backup, BackupError, type S3Access, StoreError } from './model.ts';
import type { Place } from './place.ts';
import { prepareBackup } from './prepare.ts';
import { splitTarget } from './target.ts';

/**
 * Backups in an S3-compatible store. What was uploaded is read back whole and compared by size and SHA-256, as an ETag
 * means something else in each store.
 */
export function s3Place(place: string, access: S3Access | undefined): Place {
  const { bucket, prefix } = openPrefix(place, access);
  const urlOf = (name: string) => `${place.replace(/\/+$/, '')}/${name}`;

  return {
    async store(name, source, { force }) {
      const file = urlOf(name);
      const key = prefix + name;
      if (!force && (await told(file, () => bucket.exists(key)))) {
        throw new BackupError(`${file} is there already: --force replaces it`);
      }
      const { path, facts, remove } = await prepareBackup(source, join(source.dataDir, name));
      try {
        await told(file, () => bucket.write(key, path));
        const stored = await told(file, () => digestOf(bucket, key));
        if (stored.bytes !== facts.bytes || stored.sha256 !== facts.sha256) {
          await told(file, () => bucket.remove(key));
          throw new BackupError(`${file} was not stored as it was sent, and was deleted again`);
        }
      } finally {
        remove();
      }
      return { file, ...facts } satisfies Backup;
    },
    async list() {
      const keys = await told(place, () => bucket.list(prefix));
      return keys.map((key) => key.slice(prefix.length));
    },
    async remove(name) {
      await told(urlOf(name), () => bucket.remove(prefix + name));
    },
  };
}

/** Copies an object into the new file `target`, after `requireSpace` for its size. Throws `BackupError`. */
export async function download(
  url: string,
  access: S3Access | undefined,
  target: string,
  requireSpace: (bytes: number) => void,
): Promise<void> {
  const { place, name } = splitTarget(url);
  const { bucket, prefix } = openPrefix(place, access);
  const { bytes, body } = await told(url, () => bucket.read(prefix + name));
  try {
    requireSpace(bytes);
  } catch (error) {
    await body.return();
    throw error;
  }
  const writer = Bun.file(target).writer();
  try {
    await told(url, async () => {
      for await (const chunk of body) {
        writer.write(chunk);
        await writer.flush();
      }
    });
  } finally {
    await writer.end();
  }
}

function openPrefix(place: string, access: S3Access | undefined): { bucket: Bucket; prefix: string } {
  if (access === undefined) {
    throw new BackupError(`${place} needs BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY`);
  }
  const [name = '', ...folders] = place.slice('s3://'.length).split('/').filter(Boolean);
  return { bucket: openBucket(name, access), prefix: folders.map((folder) => `${folder}/`).join('') };
}

async function digestOf(bucket: Bucket, key: string): Promise<{ bytes: number; sha256: string }> {
  const hasher = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  for await (const chunk of (await bucket.read(key)).body) {
    hasher.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hasher.digest('hex') };
}

/** An error of the store, as one line that names what it was about. */
async function told<Result>(about: string, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    const reason = [code, message].filter(Boolean).join(': ');
    throw new StoreError(`${about}: the store refused or could not be reached (${reason})`, { cause: error });
  }
}
