import { type CountParts, DamagedImage, need, partCounter, type Stripped } from './format.ts';

// WebP: a RIFF file of chunks, each with a name, a length and data padded to an even length.

export const isWebp = (bytes: Buffer) =>
  bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';

const KEPT = new Set(['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);
const KEPT_IN_FRAME = new Set(['VP8 ', 'VP8L', 'ALPH']);

/** Flags of VP8X that announce EXIF and XMP. */
const METADATA_FLAGS = 0x08 | 0x04;

/** Drops EXIF, XMP and unknown chunks, and what follows the file. Throws `DamagedImage`. */
export function stripWebp(bytes: Buffer): Stripped {
  need(bytes, 0, 12);
  const end = 8 + bytes.readUInt32LE(4);
  need(bytes, 0, end);
  const count = partCounter();
  const chunks = chunksIn(bytes.subarray(12, end), count).filter(({ name }) => KEPT.has(name));
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
