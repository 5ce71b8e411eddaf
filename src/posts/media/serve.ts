import { fileResponse, matchesEtag, notModifiedFile } from '../../http/respond.ts';
import { AppError } from '../../lib/app-error.ts';
import type { ByteRange } from '../../lib/file-store.ts';
import type { Deps } from '../../people/deps.ts';
import { fromStore } from './service.ts';
import { isPublished, parseFileName } from './store.ts';

/** Throws `AppError` 404, also for an image without a row or of an organization in the trash, 416 and 503. */
export function imageServer({ db, media: { files } }: Pick<Deps, 'db' | 'media'>) {
  return async function serveImage(request: Request, name: string): Promise<Response> {
    const file = parseFileName(name);
    if (file === null || files === null) throw new AppError(404, 'Not found');
    // The id stands for one content, and is as good a tag as a hash of it.
    const etag = `"${file.id}"`;
    const isKnown = await db.read((tx) => isPublished(tx, file.id), { single: true });
    const size = isKnown ? await fromStore(files.size(name)) : null;
    if (size === null) throw new AppError(404, 'Not found');
    if (matchesEtag(request.headers.get('if-none-match'), etag)) return notModifiedFile(etag);
    const range = rangeOf(request.headers, etag, size);
    if (range === 'outside') {
      throw new AppError(416, 'Range not satisfiable', { headers: { 'content-range': `bytes */${size}` } });
    }
    const body =
      request.method === 'HEAD' ? blank(size) : await fromStore(files.read(name, range ?? undefined));
    return fileResponse(body, { type: file.type, etag, size, range });
  };
}

const BLANK = new Uint8Array(64 * 1024);

/** Elysia answers HEAD by counting the bytes that GET would send: count these instead of the file's. */
async function* blank(size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; left -= BLANK.length) yield BLANK.subarray(0, Math.min(left, BLANK.length));
}

/** The one range that is asked for; null for the whole file. A range of another version counts as none. */
function rangeOf(headers: Headers, etag: string, size: number): ByteRange | 'outside' | null {
  const [, start, end] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.get('range') ?? '') ?? [];
  const condition = headers.get('if-range');
  if (
    start === undefined ||
    end === undefined ||
    start + end === '' ||
    (condition !== null && condition !== etag)
  ) {
    return null;
  }
  const first = start === '' ? Math.max(0, size - Number(end)) : Number(start);
  const last = start === '' || end === '' ? size - 1 : Math.min(Number(end), size - 1);
  if (start !== '' && end !== '' && Number(end) < first) return null;
  return first >= size || last < first ? 'outside' : { first, last };
}
