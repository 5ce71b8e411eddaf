import { changing, organization } from '../../../db/engine.ts';
import { fileResponse, matchesEtag, notModifiedFile } from '../../http/respond.ts';
import { AppError, invalidField, notFound } from '../../lib/app-error.ts';
import type { ByteRange, FileStore } from '../../lib/file-store.ts';
import { cutLine } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { type AuditDeps, quote, recordAudit } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { isAvif, stripAvif } from './formats/avif.ts';
import {
  DamagedImage,
  isGif,
  isJpeg,
  isPng,
  isWebp,
  type Stripped,
  stripGif,
  stripJpeg,
  stripPng,
  stripWebp,
} from './formats/format.ts';
import {
  deleteMedia,
  existingMedia,
  fileNameOf,
  findMedia,
  findMediaByContent,
  type ImageType,
  insertMedia,
  isPublished,
  MAX_ALT,
  MAX_IMAGE_BYTES,
  MAX_NAME,
  MAX_PIXELS,
  MAX_SIDE,
  type Media,
  measureMedia,
  parseFileName,
  updateMedia,
} from './store.ts';

// Images from outside, made safe to serve: whole, bounded, without metadata. Only a photo that EXIF turns is encoded again.

/** Close to lossless: a second loss is hardly visible. */
const TURNED_QUALITY = 92;

const formats: readonly [ImageType, (bytes: Buffer) => boolean, (bytes: Buffer) => Stripped][] = [
  ['image/png', isPng, stripPng],
  ['image/jpeg', isJpeg, stripJpeg],
  ['image/gif', isGif, stripGif],
  ['image/webp', isWebp, stripWebp],
  ['image/avif', isAvif, stripAvif],
];

export interface Image {
  type: ImageType;
  bytes: Buffer;
  width: number;
  height: number;
}

/** Throws `AppError` 400 with the code `not_an_image`, `damaged_image` or `image_too_large`, and 413. */
export async function readImage(given: Uint8Array): Promise<Image> {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  if (bytes.length > MAX_IMAGE_BYTES) {
    throw new AppError(413, `The image is larger than ${MAX_IMAGE_BYTES / 1024 / 1024} MB`, {
      code: 'image_too_large',
    });
  }
  const format = formats.find(([, matches]) => matches(bytes));
  if (format === undefined) {
    throw new AppError(400, 'The file is not a PNG, JPEG, GIF, WebP or AVIF image', { code: 'not_an_image' });
  }
  const [type, , strip] = format;
  try {
    const stripped = strip(bytes);
    requireSize(stripped);
    return { type, ...(await inTurn(() => checked(type, stripped))) };
  } catch (error) {
    if (!(error instanceof DamagedImage)) throw error;
    throw new AppError(400, `The image is damaged: ${error.message}`, {
      code: 'damaged_image',
      cause: error,
    });
  }
}

function requireSize({ width, height }: Pick<Stripped, 'width' | 'height'>): void {
  if (width < 1 || height < 1) throw new DamagedImage('it has no size');
  if (width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS) return;
  throw new AppError(
    400,
    `The image has ${width} × ${height} pixels. The limit is ${MAX_PIXELS / 1_000_000} megapixels and ${MAX_SIDE} pixels on a side`,
    { code: 'image_too_large' },
  );
}

/** Decodes the image once where Bun can: not AVIF on Linux, and of animations only GIF. */
async function checked(type: ImageType, { bytes, width, height, isAnimated, orientation = 1 }: Stripped) {
  if (type === 'image/avif' || (type === 'image/webp' && isAnimated)) return { bytes, width, height };
  try {
    const image = () => new Bun.Image(bytes, { maxPixels: MAX_PIXELS, autoOrient: false });
    if (orientation === 1) {
      await image().resize(1, 1, { filter: 'nearest' }).png().bytes();
      return { bytes, width, height };
    }
    const turned = stripJpeg(
      Buffer.from(await turn(image(), orientation).jpeg({ quality: TURNED_QUALITY }).bytes()),
    );
    return { bytes: turned.bytes, width: turned.width, height: turned.height };
  } catch (error) {
    throw new DamagedImage('its pixels cannot be read', { cause: error });
  }
}

/** EXIF orientations as Bun's steps, which run in this order: rotate, then mirror. */
function turn(image: Bun.Image, orientation: number): Bun.Image {
  if (orientation === 2) return image.flop();
  if (orientation === 3) return image.rotate(180);
  if (orientation === 4) return image.flip();
  if (orientation === 5) return image.rotate(90).flop();
  if (orientation === 6) return image.rotate(90);
  if (orientation === 7) return image.rotate(270).flop();
  return image.rotate(270);
}

let last: Promise<unknown> = Promise.resolve();

/** One at a time: the pixels of the largest image take 200 MB. */
function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const next = last.then(work);
  last = next.catch(() => undefined);
  return next;
}

type Needs = AuditDeps & Pick<Deps, 'ids' | 'media'>;

export interface NewImage {
  organizationId: string;
  bytes: Uint8Array;
  name: string;
  /** Absent: made of the name. */
  alt?: string | undefined;
}

function requireFiles({ media }: Pick<Deps, 'media'>): FileStore {
  if (media.files !== null) return media.files;
  throw new AppError(503, media.whyOff ?? 'Images are off', { code: 'media_off', isRefusal: true });
}

async function fromStore<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    throw new AppError(503, 'Images are not available right now', { cause, headers: { 'retry-after': '5' } });
  }
}

/** The file first, then its row. The same content is stored once. Throws as `readImage`, and `AppError` 413 and 503. */
export async function addImage(
  deps: Needs,
  { organizationId, name: given, ...image }: NewImage,
): Promise<Media> {
  const files = requireFiles(deps);
  const { db, clock, ids, actor } = deps;
  // Before the work: a full organization costs little.
  await db.read(async (tx) => requireQuota(deps, (await measureMedia(tx, organizationId)).bytes, 0));
  const { type, bytes, width, height } = await readImage(image.bytes);
  const sha256 = Buffer.from(Bun.SHA256.hash(bytes) as Uint8Array);
  const known = await db.read((tx) => findMediaByContent(tx, organizationId, sha256));
  if (known !== null) return known;
  const name = cutLine(given, MAX_NAME) || 'image';
  const row: Media = {
    id: ids.newId('img'),
    organizationId,
    type,
    bytes: bytes.length,
    width,
    height,
    name,
    alt: cutLine(image.alt ?? altOf(name), MAX_ALT),
    actorName: actor.name,
    createdAt: clock.now().toISOString(),
  };
  const file = fileNameOf(row);
  await fromStore(files.write(file, bytes));
  let stored: Media | null;
  try {
    stored = await db.write(
      async (tx) => {
        requireQuota(deps, (await measureMedia(tx, organizationId)).bytes, row.bytes);
        const isNew = await insertMedia(tx, { ...row, sha256 });
        return isNew ? row : findMediaByContent(tx, organizationId, sha256);
      },
      changing(mediaOf(organizationId)),
    );
  } catch (error) {
    await files.remove(file).catch(() => undefined);
    throw error;
  }
  // Somebody sent the same image at the same time.
  if (stored?.id !== row.id) await files.remove(file).catch(() => undefined);
  return stored ?? row;
}

const mediaOf = (organizationId: string) => `media ${organizationId}`;

function requireQuota({ media }: Pick<Deps, 'media'>, used: number, more: number): void {
  if (used + Math.max(more, 1) <= media.quotaBytes) return;
  const quota = Math.round(media.quotaBytes / 1024 / 1024);
  throw new AppError(413, `The organization reached its limit of ${quota} MB of images. Delete some first`, {
    code: 'media_quota',
  });
}

/** Words of a file name: `quiet-mode_2.png` becomes `quiet mode 2`. */
function altOf(name: string): string {
  return name
    .replace(/\.[A-Za-z0-9]{1,5}$/, '')
    .replaceAll(/[\s_-]+/g, ' ')
    .trim();
}

/** Throws `AppError` 404, also for another organization's image. */
export async function getImage(
  { db }: Pick<Deps, 'db'>,
  organizationId: string,
  mediaId: string,
): Promise<Media> {
  const found = await db.read((tx) => findMedia(tx, mediaId));
  if (found?.organizationId !== organizationId) throw notFound('image', mediaId);
  return found;
}

/** For new uses; posts keep theirs. `check` may throw, in the transaction that writes. Throws `AppError` 400 and 404. */
export async function describeImage(
  deps: Pick<Deps, 'db'>,
  { organizationId, id, alt }: { organizationId: string; id: string; alt: string },
  check?: (stored: Media) => void,
): Promise<void> {
  const { organizationId: owner } = await getImage(deps, organizationId, id);
  const text = alt.trim();
  if (text.length > MAX_ALT) throw invalidField('alt', `must have at most ${MAX_ALT} characters`);
  await deps.db.write(
    async (tx) => {
      const stored = await findMedia(tx, id);
      if (stored === null) throw notFound('image', id);
      check?.(stored);
      await updateMedia(tx, id, { alt: cutLine(text, MAX_ALT) });
    },
    changing(mediaOf(owner)),
  );
}

/** Deletes the row, then the file. Posts that show it lose it. Throws `AppError` 404 and 503 `media_off`. */
export async function removeImage(deps: Needs, organizationId: string, mediaId: string): Promise<Media> {
  const files = requireFiles(deps);
  const image = await getImage(deps, organizationId, mediaId);
  await deps.db.write(
    async (tx) => {
      await deleteMedia(tx, mediaId);
      await recordAudit(tx, deps, {
        organizationId,
        action: 'image.deleted',
        target: { type: 'image', id: mediaId },
        summary: `deleted the image ${quote(image.name)}`,
      });
      // The settings of the public page may name it.
    },
    changing(mediaOf(organizationId), organization(organizationId)),
  );
  await fromStore(files.remove(fileNameOf(image)));
  return image;
}

const BATCH = 500;

/** Files that a crash or a failed deletion left behind. One younger than a day may get its row yet. Returns how many. */
export async function sweepFiles(
  { db, media: { files } }: Pick<Deps, 'db' | 'media'>,
  asOf: Date,
  signal?: AbortSignal,
): Promise<number> {
  if (files === null) return 0;
  const before = asOf.getTime() - DAY_MS;
  const old = (await files.list()).filter(({ modifiedAt }) => modifiedAt.getTime() < before);
  let removed = 0;
  for (let start = 0; start < old.length && signal?.aborted !== true; start += BATCH) {
    const batch = old.slice(start, start + BATCH).flatMap(({ name }) => {
      // Nothing else in the folder or bucket is ours to remove.
      const file = parseFileName(name.replace(/\.[1-9A-HJ-NP-Za-km-z]+\.partial$/, ''));
      return file === null ? [] : [{ ...file, name }];
    });
    const known = await db.read((tx) =>
      existingMedia(
        tx,
        batch.map(({ id }) => id),
      ),
    );
    for (const { id, name } of batch) {
      if (known.has(id) && !name.endsWith('.partial')) continue;
      await files.remove(name);
      removed++;
    }
  }
  return removed;
}

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
