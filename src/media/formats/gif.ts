import { type CountParts, DamagedImage, need, partCounter, type Stripped } from './format.ts';

// GIF: a header, then blocks. Their data is in pieces of up to 255 bytes; an empty piece ends it.

export const isGif = (bytes: Buffer) => /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6));

/** Applications whose extensions browsers obey: how often an animation repeats, and the color profile. */
const KEPT = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012']);

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
      stays = label === 0xf9 || (label === 0xff && KEPT.has(bytes.toString('latin1', at + 3, at + 14)));
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
