import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listStoredImages } from '../../../db/sqlite/snapshot.ts';
import { codeOf } from '../../lib/app-error.ts';
import { fileNameOf, type ImageType, parseFileName } from '../../media/model.ts';
import { BackupError } from './archive.ts';

// Images in a backup follow the database: for each a line of JSON, then its bytes.

/** The images that the rows of a database name, as a backup holds them. */
export interface ImageSource {
  folder: string;
  names: readonly string[];
  bytes: number;
}

/** The folder of images, where MEDIA_DIR is not set. */
export const imageFolder = (dataDir: string) => join(dataDir, 'media');

export function imagesOf(database: string, folder: string): ImageSource {
  const rows = listStoredImages(database);
  const names = rows.map(({ id, type }) => fileNameOf({ id, type: type as ImageType }));
  return { folder, names, bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** The entries as they are written. One without a file, or with a file that cannot be read, has no bytes. */
export async function* entriesOf({ folder, names }: ImageSource): AsyncGenerator<Uint8Array> {
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
export function entryReader(file: string, take: TakeImage) {
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
