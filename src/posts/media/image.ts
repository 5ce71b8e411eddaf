import { AppError } from '../../lib/app-error.ts';
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
import { type ImageType, MAX_IMAGE_BYTES, MAX_PIXELS, MAX_SIDE } from './store.ts';

// Images from outside, made safe to serve: known by their content, whole, of a bounded size, and without metadata. The
// pixels stay as they are, except in a photo that its EXIF data turns: that is turned and encoded again.

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
