import { crc32 } from 'node:zlib';

/** The bytes are no image that can be used, or it is damaged. */
export class DamagedImage extends Error {
  override readonly name = 'DamagedImage';
}

/** An image without metadata: only what a browser needs to show it, color profile included. */
export interface Stripped {
  bytes: Buffer;
  width: number;
  height: number;
  isAnimated?: boolean;
  /** The EXIF orientation that was removed, if it turned the image. */
  orientation?: number;
}

/** Throws `DamagedImage` unless the bytes from `at` on are there. */
export function need(bytes: Buffer, at: number, length: number): void {
  if (length < 0 || at < 0 || at + length > bytes.length) throw new DamagedImage('it ends too early');
}

/** The frames of a long animation are some thousand parts. Each takes time and memory, and may have 3 bytes in the file. */
const MAX_PARTS = 10_000;

export type CountParts = (parts?: number) => void;

/** Counts the parts of one file. Throws `DamagedImage` when there are too many. */
export function partCounter(max = MAX_PARTS): CountParts {
  let total = 0;
  return (parts = 1) => {
    total += parts;
    if (total > max) throw new DamagedImage('it has too many parts');
  };
}

/** The orientation in EXIF data (a TIFF file); 1 without one. */
function orientationIn(tiff: Buffer): number {
  const order = tiff.toString('latin1', 0, 2);
  if (tiff.length < 8 || (order !== 'II' && order !== 'MM')) return 1;
  const isLittle = order === 'II';
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const start = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (start + 2 > tiff.length) return 1;
  const count = short(start);
  for (let index = 0; index < count; index++) {
    const at = start + 2 + index * 12;
    if (at + 12 > tiff.length) return 1;
    if (short(at) === 0x0112) {
      const value = short(at + 8);
      return value >= 1 && value <= 8 ? value : 1;
    }
  }
  return 1;
}

// GIF: a header, then blocks. Their data is in pieces of up to 255 bytes; an empty piece ends it.

export const isGif = (bytes: Buffer) => /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6));

/** Applications whose extensions browsers obey: how often an animation repeats, and the color profile. */
const GIF_KEPT = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012']);

/** Pieces of data in one file. They have 255 bytes in most files, and 40 in the largest file with so many. */
const MAX_PIECES = 262_144;

/** Drops comments, captions and other programs' data, and what follows the end. Throws `DamagedImage`. */
export function stripGif(bytes: Buffer): Stripped {
  need(bytes, 0, 13);
  let at = 13 + tableBytes(bytes[10] ?? 0);
  need(bytes, 0, at);
  const kept = [bytes.subarray(0, at)];
  const size = { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  let frames = 0;
  const count = partCounter();
  const countPieces = partCounter(MAX_PIECES);
  for (;;) {
    count();
    need(bytes, at, 1);
    const kind = bytes[at];
    if (kind === 0x3b) {
      if (frames === 0) throw new DamagedImage('it has no picture');
      kept.push(bytes.subarray(at, at + 1));
      return { bytes: Buffer.concat(kept), ...size, isAnimated: frames > 1 };
    }
    need(bytes, at, 2);
    let end: number;
    let stays = true;
    if (kind === 0x2c) {
      frames++;
      need(bytes, at, 12);
      requireInside(bytes, at, size);
      end = dataEnd(bytes, at + 11 + tableBytes(bytes[at + 9] ?? 0), countPieces);
    } else if (kind === 0x21) {
      end = dataEnd(bytes, at + 2, countPieces);
      const label = bytes[at + 1];
      stays = label === 0xf9 || (label === 0xff && GIF_KEPT.has(bytes.toString('latin1', at + 3, at + 14)));
    } else throw new DamagedImage('it has an unknown block');
    if (stays) kept.push(bytes.subarray(at, end));
    at = end;
  }
}

/** The bytes of the color table that a block's flags announce. */
const tableBytes = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** A browser would take memory for a larger frame. */
function requireInside(
  bytes: Buffer,
  at: number,
  { width, height }: { width: number; height: number },
): void {
  const right = bytes.readUInt16LE(at + 1) + bytes.readUInt16LE(at + 5);
  const bottom = bytes.readUInt16LE(at + 3) + bytes.readUInt16LE(at + 7);
  if (right > width || bottom > height) throw new DamagedImage('a frame is larger than the image');
}

function dataEnd(bytes: Buffer, from: number, count: CountParts): number {
  let at = from;
  for (;;) {
    count();
    need(bytes, at, 1);
    const length = bytes[at] ?? 0;
    at += 1 + length;
    if (length === 0) return at;
  }
}

// JPEG: segments that begin with 0xFF and a marker. Compressed data follows each SOS segment up to the next marker.

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;

export const isJpeg = (bytes: Buffer) => bytes[0] === 0xff && bytes[1] === SOI && bytes[2] === 0xff;

/** Frame headers: SOF0 to SOF15 without DHT, JPG and DAC, which share their range. */
const isFrame = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** Progressive images have about ten. Each makes a decoder walk through all pixels again. */
const MAX_SCANS = 100;

/** 0xFF in compressed data, which has one in 256 bytes: ten times as many as the largest file needs. */
const MAX_MARKS = 400_000;

/** True if the segment changes how the image looks: tables, frames, scans, JFIF, color profile, Adobe's transform. */
function isKept(marker: number, data: Buffer): boolean {
  if (marker === 0xe0) return data.toString('latin1', 0, 5) === 'JFIF\0';
  if (marker === 0xe2) return data.toString('latin1', 0, 12) === 'ICC_PROFILE\0';
  if (marker === 0xee) return data.toString('latin1', 0, 5) === 'Adobe';
  return marker >= 0xc0 && marker < 0xe0;
}

/** Keeps one image, and nothing after its end. Throws `DamagedImage`. */
export function stripJpeg(bytes: Buffer): Stripped {
  const kept: Buffer[] = [bytes.subarray(0, 2)];
  let size: { width: number; height: number } | null = null;
  let orientation = 1;
  let scans = 0;
  const count = partCounter();
  const countMarks = partCounter(MAX_MARKS);
  for (let at = 2; ; ) {
    need(bytes, at, 2);
    if (bytes[at] !== 0xff) throw new DamagedImage('it has data where a segment should begin');
    const marker = bytes[at + 1] ?? 0;
    // A marker may have any number of fill bytes before it.
    count();
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (marker === EOI) {
      if (size === null || scans === 0) throw new DamagedImage('it has no picture');
      kept.push(bytes.subarray(at, at + 2));
      return { bytes: Buffer.concat(kept), ...size, orientation };
    }
    need(bytes, at, 4);
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) throw new DamagedImage('a segment has no length');
    need(bytes, at, length + 2);
    const data = bytes.subarray(at + 4, at + 2 + length);
    let end = at + 2 + length;
    if (isFrame(marker)) {
      need(data, 0, 6);
      size ??= { height: data.readUInt16BE(1), width: data.readUInt16BE(3) };
    }
    if (marker === 0xe1 && data.toString('latin1', 0, 6) === 'Exif\0\0') {
      orientation = orientationIn(data.subarray(6));
    }
    if (marker === SOS) {
      if (++scans > MAX_SCANS) throw new DamagedImage('it has too many scans');
      end = scanEnd(bytes, end, countMarks);
    }
    if (marker === 0xe0 && isKept(marker, data)) kept.push(withoutThumbnail(data));
    else if (isKept(marker, data)) kept.push(bytes.subarray(at, end));
    at = end;
  }
}

/** The position of the next marker: 0xFF before anything but zero and the restart markers. */
function scanEnd(bytes: Buffer, from: number, count: CountParts): number {
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1] ?? 0;
    if (next !== 0 && next !== 0xff && !(next >= 0xd0 && next <= 0xd7)) return at;
    count();
  }
  throw new DamagedImage('it ends too early');
}

/** A JFIF segment may hold a small copy of the image as it was before somebody edited it. */
function withoutThumbnail(data: Buffer): Buffer {
  need(data, 0, 14);
  const head = Buffer.concat([Buffer.from([0xff, 0xe0, 0, 16]), data.subarray(0, 12), Buffer.from([0, 0])]);
  return head;
}

// PNG: a signature, then chunks of length, type, data and checksum.

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** Chunks that change how the image looks. All others are metadata. */
const PNG_KEPT = new Set(
  'IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD pHYs acTL fcTL fdAT'.split(' '),
);

export const isPng = (bytes: Buffer) => bytes.subarray(0, 8).equals(SIGNATURE);

/** Keeps the chunks that a browser draws, and nothing after the last. Throws `DamagedImage`. */
export function stripPng(bytes: Buffer): Stripped {
  const kept: Buffer[] = [SIGNATURE];
  let size: { width: number; height: number } | null = null;
  let isAnimated = false;
  const count = partCounter();
  for (let at = 8; ; ) {
    count();
    need(bytes, at, 12);
    const length = bytes.readUInt32BE(at);
    need(bytes, at, length + 12);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const chunk = bytes.subarray(at, at + length + 12);
    if (crc32(chunk.subarray(4, length + 8)) !== chunk.readUInt32BE(length + 8)) {
      throw new DamagedImage(`its part ${JSON.stringify(type)} has a wrong checksum`);
    }
    if ((size === null) !== (type === 'IHDR')) throw new DamagedImage('its parts are out of order');
    if (type === 'IHDR') {
      if (length !== 13) throw new DamagedImage('its header has a wrong size');
      size = { width: chunk.readUInt32BE(8), height: chunk.readUInt32BE(12) };
    }
    isAnimated ||= type === 'acTL';
    if (PNG_KEPT.has(type)) kept.push(chunk);
    if (type === 'IEND' && size !== null) return { bytes: Buffer.concat(kept), ...size, isAnimated };
    at += length + 12;
  }
}

// WebP: a RIFF file of chunks, each with a name, a length and data padded to an even length.

export const isWebp = (bytes: Buffer) =>
  bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';

const WEBP_KEPT = new Set(['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);
const KEPT_IN_FRAME = new Set(['VP8 ', 'VP8L', 'ALPH']);

/** Flags of VP8X that announce EXIF and XMP. */
const METADATA_FLAGS = 0x08 | 0x04;

/** Drops EXIF, XMP and unknown chunks, and what follows the file. Throws `DamagedImage`. */
export function stripWebp(bytes: Buffer): Stripped {
  need(bytes, 0, 12);
  const end = 8 + bytes.readUInt32LE(4);
  need(bytes, 0, end);
  const count = partCounter();
  const chunks = chunksIn(bytes.subarray(12, end), count).filter(({ name }) => WEBP_KEPT.has(name));
  const frames = chunks.filter(({ name }) => name === 'ANMF');
  const picture = chunks.find(({ name }) => name === 'VP8 ' || name === 'VP8L');
  const extended = chunks.find(({ name }) => name === 'VP8X');
  if (picture === undefined && frames.length === 0) throw new DamagedImage('it has no picture');
  const size = extended ? canvasOf(extended.data) : sizeOf(picture);
  const written = chunks.flatMap(({ name, data }) => write(name, clean(name, data, count)));
  const body = Buffer.concat([Buffer.from('WEBP'), ...written]);
  return {
    bytes: Buffer.concat([Buffer.from('RIFF'), uint32(body.length), body]),
    ...size,
    isAnimated: frames.length > 0,
  };
}

interface Chunk {
  name: string;
  data: Buffer;
}

function chunksIn(bytes: Buffer, count: CountParts): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 0; at < bytes.length; ) {
    count();
    need(bytes, at, 8);
    const length = bytes.readUInt32LE(at + 4);
    need(bytes, at + 8, length);
    chunks.push({
      name: bytes.toString('latin1', at, at + 4),
      data: bytes.subarray(at + 8, at + 8 + length),
    });
    at += 8 + length + (length % 2);
  }
  return chunks;
}

function clean(name: string, data: Buffer, count: CountParts): Buffer {
  if (name === 'VP8X') {
    const flags = (data[0] ?? 0) & ~METADATA_FLAGS;
    return Buffer.concat([Buffer.from([flags]), data.subarray(1, 10)]);
  }
  if (name !== 'ANMF') return data;
  need(data, 0, 16);
  const inner = chunksIn(data.subarray(16), count).filter((chunk) => KEPT_IN_FRAME.has(chunk.name));
  return Buffer.concat([data.subarray(0, 16), ...inner.flatMap((chunk) => write(chunk.name, chunk.data))]);
}

function write(name: string, data: Buffer): Buffer[] {
  return [Buffer.from(name, 'latin1'), uint32(data.length), data, Buffer.alloc(data.length % 2)];
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function canvasOf(data: Buffer) {
  need(data, 0, 10);
  return { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 };
}

function sizeOf(picture: Chunk | undefined) {
  const { name, data } = picture ?? { name: '', data: Buffer.alloc(0) };
  need(data, 0, 10);
  if (name === 'VP8 ') return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
  const bits = data.readUInt32LE(1);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
