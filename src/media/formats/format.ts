/** The bytes are no image that can be used, or it is damaged. */
export class DamagedImage extends Error {
  override readonly name = 'DamagedImage';
}

/** An image without metadata: only what a browser needs to show it, color profile included. */
export interface Stripped {
  bytes: Buffer;
  width: number;
  height: number;
  /** It has several frames. */
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
export function orientationIn(tiff: Buffer): number {
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
