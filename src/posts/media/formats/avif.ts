import { type CountParts, DamagedImage, need, partCounter, type Stripped } from './format.ts';

// Positions in the file are stored in it, so metadata is overwritten in place instead of removed.

export function isAvif(bytes: Buffer): boolean {
  if (bytes.length < 16 || bytes.toString('latin1', 4, 8) !== 'ftyp') return false;
  const brands = bytes.toString('latin1', 8, Math.min(bytes.readUInt32BE(0), bytes.length, 256));
  return /avi[fs]/.test(brands);
}

interface Box {
  type: string;
  /** Positions in the file: of the box, and of its content. */
  from: number;
  content: number;
  to: number;
}

/** Overwrites EXIF, XMP and private boxes with zeros, and drops what follows the last box. Throws `DamagedImage`. */
export function stripAvif(given: Buffer): Stripped {
  const bytes = Buffer.from(given);
  const count = partCounter();
  const boxes = boxesIn(bytes, 0, bytes.length, count);
  const meta = boxes.find(({ type }) => type === 'meta');
  if (meta === undefined) throw new DamagedImage('it has no description');
  const inner = boxesIn(bytes, meta.content + 4, meta.to, count);
  const size = sizeIn(bytes, inner, count);
  const metadata = metadataItems(bytes, inner, count);
  const data = inner.find(({ type }) => type === 'idat');
  let left = bytes.length;
  for (const { from, to } of extentsOf(bytes, inner, metadata, data, count)) {
    need(bytes, from, to - from);
    // Those that overlap would take minutes.
    left -= to - from;
    if (left < 0) throw new DamagedImage('its list of contents is wrong');
    bytes.fill(0, from, to);
  }
  const tracks = boxes.filter(({ type }) => type === 'moov').flatMap((box) => descendants(bytes, box, count));
  for (const box of [...boxes, ...inner, ...tracks]) if (PRIVATE.has(box.type)) empty(bytes, box);
  return { bytes, ...size, isAnimated: tracks.length > 0 };
}

const PRIVATE = new Set(['uuid', 'udta', 'free', 'skip']);

function empty(bytes: Buffer, { from, content, to }: Box): void {
  bytes.write('free', from + 4, 'latin1');
  bytes.fill(0, content, to);
}

function boxesIn(bytes: Buffer, start: number, end: number, count: CountParts): Box[] {
  const boxes: Box[] = [];
  for (let from = start; from < end; ) {
    count();
    need(bytes, from, 8);
    const short = bytes.readUInt32BE(from);
    const type = bytes.toString('latin1', from + 4, from + 8);
    if (short === 1) need(bytes, from, 16);
    const length = short === 1 ? Number(bytes.readBigUInt64BE(from + 8)) : short === 0 ? end - from : short;
    const head = short === 1 ? 16 : 8;
    if (length < head || from + length > end || !/^[\x20-\x7e]{4}$/.test(type)) {
      throw new DamagedImage('one of its parts has a wrong size');
    }
    boxes.push({ type, from, content: from + head, to: from + length });
    from += length;
  }
  return boxes;
}

const CONTAINERS = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);

function descendants(bytes: Buffer, box: Box, count: CountParts, depth = 0): Box[] {
  if (!CONTAINERS.has(box.type)) return [box];
  if (depth > CONTAINERS.size) throw new DamagedImage('its parts are nested too deeply');
  return boxesIn(bytes, box.content, box.to, count).flatMap((each) => [
    each,
    ...descendants(bytes, each, count, depth + 1),
  ]);
}

function sizeIn(bytes: Buffer, meta: readonly Box[], count: CountParts) {
  const properties = meta
    .filter(({ type }) => type === 'iprp')
    .flatMap(({ content, to }) => boxesIn(bytes, content, to, count))
    .filter(({ type }) => type === 'ipco')
    .flatMap(({ content, to }) => boxesIn(bytes, content, to, count));
  let [width, height] = [0, 0];
  let isTurned = false;
  for (const { type, content } of properties) {
    if (type === 'ispe') {
      need(bytes, content, 12);
      const [across, down] = [bytes.readUInt32BE(content + 4), bytes.readUInt32BE(content + 8)];
      if (across * down > width * height) [width, height] = [across, down];
    }
    if (type === 'irot') isTurned = ((bytes[content] ?? 0) & 1) === 1;
  }
  if (width * height === 0) throw new DamagedImage('it has no size');
  return isTurned ? { width: height, height: width } : { width, height };
}

/** The ids of items that hold EXIF or XMP. They get a type that no reader knows. */
function metadataItems(bytes: Buffer, meta: readonly Box[], count: CountParts): ReadonlySet<number> {
  const found = new Set<number>();
  const list = meta.find(({ type }) => type === 'iinf');
  if (list === undefined) return found;
  need(bytes, list.content, 8);
  const countBytes = bytes[list.content] === 0 ? 2 : 4;
  for (const { type, content, to } of boxesIn(bytes, list.content + 4 + countBytes, list.to, count)) {
    if (type !== 'infe') continue;
    need(bytes, content, 14);
    const idBytes = (bytes[content] ?? 0) >= 3 ? 4 : 2;
    const at = content + 4 + idBytes + 2;
    need(bytes, at, 4);
    if (!['Exif', 'mime', 'uri '].includes(bytes.toString('latin1', at, at + 4))) continue;
    found.add(bytes.readUIntBE(content + 4, idBytes));
    bytes.write('none', at, 'latin1');
    bytes.fill(0, at + 4, to);
  }
  return found;
}

function extentsOf(
  bytes: Buffer,
  meta: readonly Box[],
  items: ReadonlySet<number>,
  data: Box | undefined,
  countParts: CountParts,
) {
  const extents: { from: number; to: number }[] = [];
  const box = meta.find(({ type }) => type === 'iloc');
  if (box === undefined || items.size === 0) return extents;
  let at = box.content;
  const take = (length: number) => {
    need(bytes, at, length);
    if (at + length > box.to) throw new DamagedImage('one of its parts has a wrong size');
    const value =
      length === 0 ? 0 : length === 8 ? Number(bytes.readBigUInt64BE(at)) : bytes.readUIntBE(at, length);
    at += length;
    return value;
  };
  const version = take(1);
  at += 3;
  const sizes = take(2);
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15] as const;
  const indexBytes = version === 0 ? 0 : sizes & 15;
  if (![offsetBytes, lengthBytes, baseBytes, indexBytes].every((each) => [0, 4, 8].includes(each))) {
    throw new DamagedImage('its list of contents is wrong');
  }
  const count = take(version < 2 ? 2 : 4);
  for (let index = 0; index < count; index++) {
    const id = take(version < 2 ? 2 : 4);
    const method = version === 0 ? 0 : take(2) & 15;
    take(2);
    const base = take(baseBytes) + (method === 1 ? (data?.content ?? 0) : 0);
    const parts = take(2);
    // A part may take no bytes in the list, so the file's size is no bound.
    countParts(parts);
    for (let part = 0; part < parts; part++) {
      take(indexBytes);
      const from = base + take(offsetBytes);
      const length = take(lengthBytes);
      if (items.has(id)) extents.push({ from, to: from + length });
    }
  }
  return extents;
}
