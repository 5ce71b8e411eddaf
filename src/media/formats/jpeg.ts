import { type CountParts, DamagedImage, need, orientationIn, partCounter, type Stripped } from './format.ts';

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

/** Whether the segment changes how the image looks: tables, frames, scans, JFIF, color profile, Adobe's transform. */
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
