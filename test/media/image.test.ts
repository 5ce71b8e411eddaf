import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { AppError } from '../../src/lib/app-error.ts';
import { readImage } from '../../src/posts/media/service.ts';
import { MAX_IMAGE_BYTES } from '../../src/posts/media/store.ts';
import { expectLinear } from '../support/growth.ts';

const fixture = (name: string) => readFileSync(join(import.meta.dir, '../fixtures/images', name));

const names = [
  'photo.jpg',
  'rotated.jpg',
  'progressive.jpg',
  'photo.png',
  'photo.webp',
  'photo.avif',
  'anim.gif',
  'anim.webp',
];

/** The refusal of these bytes. */
async function refusalOf(bytes: Uint8Array): Promise<{ status: number; code: string | undefined }> {
  try {
    await readImage(bytes);
  } catch (error) {
    if (error instanceof AppError) return { status: error.status, code: error.code };
    throw error;
  }
  throw new Error('the image was accepted');
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const bytes = Buffer.alloc(body.length + 8);
  bytes.writeUInt32BE(data.length);
  body.copy(bytes, 4);
  bytes.writeUInt32BE(crc32(body), body.length + 4);
  return bytes;
}

/** A PNG of this size, whose pixels are `data`. */
function png(width: number, height: number, data: Uint8Array): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', new Uint8Array()),
  ]);
}

/** The gray values of an image that Bun decodes, as a small PNG of it. */
const pixels = (bytes: Uint8Array) => new Bun.Image(bytes).resize(8, 8).png().bytes();

describe('metadata', () => {
  test.each(names)('%s loses what names a person or a place', async (name) => {
    const given = fixture(name);
    const { bytes, type, width, height } = await readImage(given);
    expect({ width, height }).toEqual(
      name === 'rotated.jpg' ? { width: 24, height: 40 } : { width: 40, height: 24 },
    );
    expect(type).toBe(`image/${name.replace(/^.*\./, '').replace('jpg', 'jpeg')}` as typeof type);
    const text = bytes.toString('latin1');
    for (const secret of ['Secret Person', 'ACME Cam', 'tidings-private-marker', 'xmpmeta']) {
      expect(text).not.toContain(secret);
    }
    expect(text).not.toMatch(/Exif\0\0|eXIf|EXIF|XMP |Exif/);
    // Nothing changes a second time.
    expect((await readImage(bytes)).bytes.equals(bytes)).toBe(true);
  });

  test('the fixtures hold such data before', () => {
    const marked = names.filter((name) => fixture(name).toString('latin1').includes('Secret Person'));
    expect(marked).toEqual([
      'photo.jpg',
      'rotated.jpg',
      'progressive.jpg',
      'photo.png',
      'photo.webp',
      'photo.avif',
      'anim.webp',
    ]);
  });

  test.each([
    ['photo.jpg', 'ICC_PROFILE\0'],
    ['photo.png', 'iCCP'],
    ['photo.webp', 'ICCP'],
  ])('%s keeps its color profile', async (name, marker) => {
    expect((await readImage(fixture(name))).bytes.includes(marker)).toBe(true);
  });

  test.each(['photo.jpg', 'progressive.jpg', 'photo.png', 'photo.webp', 'anim.gif'])(
    '%s keeps its pixels',
    async (name) => {
      const { bytes } = await readImage(fixture(name));
      expect(await pixels(bytes)).toEqual(await pixels(fixture(name)));
    },
  );

  test('a photo that its metadata turns is turned', async () => {
    const { bytes } = await readImage(fixture('rotated.jpg'));
    // The orientation is gone, so a reader that ignores it shows the same image.
    const upright = await new Bun.Image(bytes, { autoOrient: false }).metadata();
    expect([upright.width, upright.height]).toEqual([24, 40]);
    const corner = async (image: Uint8Array) =>
      new Bun.Image(image).resize(2, 2, { filter: 'box' }).png().bytes();
    expect(Buffer.from(await corner(bytes)).length).toBe(
      Buffer.from(await corner(fixture('rotated.jpg'))).length,
    );
  });

  test.each([
    ['anim.gif', '\x21\xf9\x04', 3],
    ['anim.webp', 'ANMF', 3],
  ])('%s stays animated', async (name, marker, frames) => {
    const text = (await readImage(fixture(name))).bytes.toString('latin1');
    expect(text.split(marker).length - 1).toBe(frames);
    expect(text).toContain(name === 'anim.gif' ? 'NETSCAPE2.0' : 'ANIM');
  });
});

describe('refusals', () => {
  test.each(names)('%s is refused when it was cut', async (name) => {
    const given = fixture(name);
    for (const share of [0.99, 0.7, 0.4]) {
      const cut = given.subarray(0, Math.floor(given.length * share));
      expect(await refusalOf(cut)).toEqual({ status: 400, code: 'damaged_image' });
    }
  });

  test.each([
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['HTML', '<!doctype html><script>alert(1)</script>'],
    ['nothing', ''],
    ['PDF', '%PDF-1.7'],
    ['a HEIC photo', '\0\0\0\x18ftypheic\0\0\0\0mif1heic'],
    ['a bitmap', 'BM\0\0\0\0'],
  ])('%s is no image', async (_, text) => {
    expect(await refusalOf(Buffer.from(text, 'latin1'))).toEqual({ status: 400, code: 'not_an_image' });
  });

  test.each(names)('%s loses another file that was put behind it', async (name) => {
    const script = Buffer.from('<script>alert(document.domain)</script>PK\x03\x04');
    const joined = Buffer.concat([fixture(name), script]);
    const outcome = await readImage(joined).catch((error: AppError) => error.code);
    // AVIF has no end of its own: what is no box is damage.
    if (name === 'photo.avif') expect(outcome).toBe('damaged_image');
    else expect((outcome as { bytes: Buffer }).bytes.includes('<script>')).toBe(false);
  });

  test('a small file that claims a huge canvas is refused before it is decoded', async () => {
    expect(await refusalOf(png(60_000, 60_000, deflateSync(Buffer.alloc(10))))).toEqual({
      status: 400,
      code: 'image_too_large',
    });
    expect(await refusalOf(png(20_000, 1, deflateSync(Buffer.alloc(20_001))))).toMatchObject({
      code: 'image_too_large',
    });
  });

  test('a file whose data unpacks to more than its canvas is bounded by the canvas', async () => {
    const bomb = deflateSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 });
    const result = await readImage(png(10, 10, bomb)).catch((error: AppError) => error.code);
    expect(typeof result === 'string' ? result : (result as { width: number }).width).toBeOneOf([
      10,
      'damaged_image',
    ]);
  });

  test('a file over 10 MB is refused', async () => {
    expect(await refusalOf(Buffer.alloc(MAX_IMAGE_BYTES + 1))).toEqual({
      status: 413,
      code: 'image_too_large',
    });
  });

  test('a flipped byte in a PNG is found', async () => {
    const bytes = Buffer.from(fixture('photo.png'));
    const at = bytes.length - 40;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    expect(await refusalOf(bytes)).toEqual({ status: 400, code: 'damaged_image' });
  });

  describe('an AVIF image that is small and would take a server minutes', () => {
    test('a list of contents whose parts take no bytes', async () => {
      // An image may have a million items.
      const item = Buffer.from([0, 2, 0, 0, 0xff, 0xff]);
      const bytes = avif({ sizes: [0, 0], items: Array(100).fill(item) });
      expect(await refusalOf(bytes)).toEqual({ status: 400, code: 'damaged_image' });
    });

    test('metadata whose parts overlap', async () => {
      const whole = Buffer.from([0, 0, 0, 0, 0, 0, 0, 100]);
      const item = Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 10]), ...Array(10).fill(whole)]);
      expect(await refusalOf(avif({ sizes: [0x44, 0], items: [item] }))).toEqual({
        status: 400,
        code: 'damaged_image',
      });
    });

    test.each([1_000, 100_000])('%d boxes inside of each other', async (depth) => {
      const nested = Buffer.alloc(depth * 8);
      for (let at = 0; at < depth; at++) {
        nested.writeUInt32BE((depth - at) * 8, at * 8);
        nested.write('moov', at * 8 + 4);
      }
      expect(await refusalOf(Buffer.concat([avif({ sizes: [0, 0], items: [] }), nested]))).toEqual({
        status: 400,
        code: 'damaged_image',
      });
    });
  });

  describe('a file of a million tiny parts, before they take memory', () => {
    const repeat = (part: readonly number[], count: number) =>
      Buffer.alloc(part.length * count, Buffer.from(part));
    const bytesOf = (text: string) => [...Buffer.from(text, 'latin1')];
    const COUNT = 800_000;

    const emptyChunk = [...chunk('IDAT', new Uint8Array())];
    const whole = png(1, 1, deflateSync(Buffer.alloc(2)));
    const webp = (...chunks: Buffer[]) => {
      const body = Buffer.concat([Buffer.from('WEBP'), ...chunks]);
      const head = Buffer.from('RIFF0000');
      head.writeUInt32LE(body.length, 4);
      return Buffer.concat([head, body]);
    };
    const emptyPictures = (count: number) => repeat(bytesOf('VP8L\0\0\0\0'), count);
    const canvas = Buffer.from('VP8X\u000a\0\0\0\u0002\0\0\0\0\0\0\0\0\0', 'latin1');
    const frame = Buffer.concat([Buffer.from('ANMF'), Buffer.alloc(4 + 16), emptyPictures(1_000)]);
    frame.writeUInt32LE(frame.length - 8, 4);

    const animation = fixture('anim.gif');
    const gif = animation.subarray(0, animation.indexOf(Buffer.from([0x21, 0xf9])));
    const jpeg = fixture('photo.jpg');
    const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]));
    const inScan = scan + 2 + jpeg.readUInt16BE(scan + 2);
    const inData = (part: readonly number[], count: number) =>
      Buffer.concat([jpeg.subarray(0, inScan), repeat(part, count), jpeg.subarray(inScan)]);
    const shapes: Record<string, (count: number) => Buffer> = {
      PNG: (count) => Buffer.concat([whole.subarray(0, 33), repeat(emptyChunk, count), whole.subarray(33)]),
      WebP: (count) => webp(emptyPictures(count)),
      'WebP with frames': (count) => webp(canvas, ...Array<Buffer>(Math.ceil(count / 1_000)).fill(frame)),
      GIF: (count) => Buffer.concat([gif, repeat([0x21, 0xf9, 0], count)]),
      'GIF of pieces': (count) => Buffer.concat([gif, Buffer.from([0x21, 0xfe]), repeat([1, 1], count)]),
      JPEG: (count) => Buffer.concat([Buffer.from([0xff, 0xd8]), repeat([0xff, 0xdb, 0, 2], count)]),
      'JPEG of fill bytes': (count) => Buffer.concat([Buffer.from([0xff, 0xd8]), repeat([0xff], count)]),
      'JPEG of fill bytes before a part': (count) =>
        Buffer.concat([jpeg.subarray(0, scan), repeat([0xff], count), jpeg.subarray(scan)]),
      'JPEG data of marks': (count) => inData([0xff, 0], count),
      'JPEG data of restarts': (count) => inData([0xff, 0xd0], count),
      'JPEG data of fill bytes': (count) => inData([0xff], count),
      AVIF: (count) =>
        Buffer.concat([avif({ sizes: [0, 0], items: [] }), repeat(bytesOf('\0\0\0\u0008free'), count)]),
    };

    test.each(Object.entries(shapes))('%s', async (name, make) => {
      const refusal = await readImage(make(COUNT)).catch((error: AppError) => error);
      expect(refusal).toMatchObject({ status: 400, message: 'The image is damaged: it has too many parts' });
      await expectLinear(name, make, (bytes) => readImage(bytes).catch(() => null), { most: COUNT });
    });

    test('a photo with the marks of its restarts is no such file', async () => {
      expect((await readImage(inData([0xff, 0], 1))).type).toBe('image/jpeg');
    });

    test('a long animation is no such file', async () => {
      const given = fixture('anim.gif');
      const first = given.indexOf(Buffer.from([0x21, 0xf9]));
      const frames = given.subarray(first, given.length - 1);
      const long = Buffer.concat([
        given.subarray(0, first),
        ...Array(1_000).fill(frames),
        given.subarray(-1),
      ]);
      expect((await readImage(long)).bytes.length).toBeGreaterThan(frames.length * 900);
    });
  });

  test('a small JPEG image with thousands of scans is refused before it is decoded', async () => {
    const given = fixture('progressive.jpg');
    const last = given.lastIndexOf(Buffer.from([0xff, 0xda]));
    const scan = given.subarray(last, given.lastIndexOf(Buffer.from([0xff, 0xd9])));
    const bytes = Buffer.concat([given.subarray(0, last), ...Array(1_000).fill(scan), given.subarray(last)]);
    expect(await refusalOf(bytes)).toEqual({ status: 400, code: 'damaged_image' });
  });
});

function box(type: string, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8);
  head.write(type, 4);
  return Buffer.concat([head, body]);
}

/** An AVIF file without pixels, whose item 1 holds EXIF data. `sizes`: those of the fields of `items`. */
function avif({ sizes, items }: { sizes: readonly [number, number]; items: readonly Buffer[] }): Buffer {
  const zeros = (length: number) => Buffer.alloc(length);
  const size = box('ispe', zeros(4), Buffer.from([0, 0, 0, 9, 0, 0, 0, 9]));
  const info = box('infe', Buffer.from([2, 0, 0, 0, 0, 1, 0, 0]), Buffer.from('Exif'), zeros(4));
  const count = Buffer.from([items.length >> 8, items.length & 0xff]);
  return Buffer.concat([
    box('ftyp', Buffer.from('avif\0\0\0\0avif')),
    box(
      'meta',
      zeros(4),
      box('iprp', box('ipco', size)),
      box('iinf', zeros(4), Buffer.from([0, 1]), info),
      box('iloc', zeros(4), Buffer.from(sizes), count, ...items),
    ),
  ]);
}
