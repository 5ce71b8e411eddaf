import { crc32 } from 'node:zlib';
import { DamagedImage, need, partCounter, type Stripped } from './format.ts';

// PNG: a signature, then chunks of length, type, data and checksum.

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** Chunks that change how the image looks. All others are metadata. */
const KEPT = new Set(
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
    if (KEPT.has(type)) kept.push(chunk);
    if (type === 'IEND' && size !== null) return { bytes: Buffer.concat(kept), ...size, isAnimated };
    at += length + 12;
  }
}
