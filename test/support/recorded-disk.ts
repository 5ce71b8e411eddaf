import {
  appendFileSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

// A disk whose power is cut. `disk-recorder.c` records what processes ask of it. A cut leaves:
// - of each 512-byte sector, the state that was synced last or any state since;
// - of the names in the folder, those at its last sync, with any of the changes since;
// - of a page whose sync failed, any of its states: Linux takes it as written, so later syncs skip it until it changes again.
// Reads always find the last write. Linux may also forget a page whose sync failed, which is not simulated.

const SECTOR = 512;
const PAGE = 4_096;

/** True where calls can be recorded. */
export const canRecord = process.platform === 'linux' && Bun.which('cc') !== null;

export type Random = () => number;

/** Numbers from 0 to 1, the same for a seed (Mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `M` is a mark of the test, whose JSON is in `data`. The other kinds are those of `disk-recorder.c`. */
export interface DiskRecord {
  kind: 'W' | 'T' | 'B' | 'E' | 'O' | 'U' | 'R' | 'L' | 'M';
  isOk: boolean;
  thread: bigint;
  inode: bigint;
  offset: number;
  name: string;
  data: Buffer;
}

const HEAD = 32;

/** Records what processes with `environment` do in `folder`. The recorder's own files go to `workshop`. */
export function createRecorder(workshop: string, folder: string) {
  const library = join(workshop, 'disk-recorder.so');
  const [file, faultsFile] = [join(workshop, 'records'), join(workshop, 'faults')];
  const source = join(import.meta.dir, 'disk-recorder.c');
  const { success, stderr } = Bun.spawnSync(['cc', '-shared', '-fPIC', '-O1', '-o', library, source]);
  if (!success) throw new Error(stderr.toString());
  writeFileSync(file, '');
  writeFileSync(faultsFile, new Uint8Array(8));
  const faults = openSync(faultsFile, 'r+');
  const setCounter = (index: number, value: number) =>
    void writeSync(faults, new Uint8Array(new Int32Array([value]).buffer), 0, 4, index * 4);
  const present = filesIn(folder);

  return {
    environment: { LD_PRELOAD: library, RECORD_FOLDER: folder, RECORD_FILE: file, FAULTS_FILE: faultsFile },
    /** The disk as it was when the recording began. */
    newDisk: () => createDisk(folder, present),
    mark(value: object): void {
      const data = Buffer.from(JSON.stringify(value));
      const head = Buffer.alloc(HEAD);
      head.writeUInt32LE(HEAD + data.length);
      head.write('M', 4);
      appendFileSync(file, Buffer.concat([head, data]));
    },
    failLogSyncs: (count: number) => setCounter(0, count),
    /** The process that makes the last of so many records dies with it. 0: none does. */
    dieAfter: (records: number) => setCounter(1, records),
    records: () => readRecords(readFileSync(file)),
  };
}

function readRecords(bytes: Buffer): DiskRecord[] {
  const records: DiskRecord[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    const nameEnd = at + HEAD + bytes.readUInt16LE(at + 6);
    records.push({
      kind: String.fromCharCode(bytes[at + 4] ?? 0) as DiskRecord['kind'],
      isOk: bytes[at + 5] === 1,
      thread: bytes.readBigUInt64LE(at + 8),
      inode: bytes.readBigUInt64LE(at + 16),
      offset: Number(bytes.readBigUInt64LE(at + 24)),
      name: bytes.toString('utf8', at + HEAD, nameEnd),
      data: bytes.subarray(nameEnd, at + length),
    });
    at += length;
  }
  return records;
}

/** Bytes of a page that were written, or null for zeros from `start` to the end of the page, as of a file that was cut. */
interface Change {
  at: number;
  start: number;
  bytes: Buffer | null;
}

/** A part of a page that was not synced. `lost`: in a sync that failed, so that no later one writes it. */
interface Page {
  state: 'dirty' | 'writing' | 'lost';
  changes: Change[];
}

interface File {
  /** The bytes that were synced; those after `durableSize` are zero. */
  durable: Buffer;
  durableSize: number;
  /** By page number. */
  pages: Map<number, Page>;
  /** Since the last sync. `isCut`: it became shorter. */
  sizes: { at: number; size: number; isCut: boolean }[];
}

type Names = Map<string, File>;

interface NameChange {
  at: number;
  folder: string;
  apply(names: Names): void;
}

/** Keeps changes that were not synced at a power cut: none, all, or a random choice for each. */
type Choice = 'none' | 'all' | Random;

/** The files of a folder. */
const filesIn = (folder: string) =>
  readdirSync(folder).map((name) => {
    const path = join(folder, name);
    return { path, inode: statSync(path, { bigint: true }).ino, content: readFileSync(path) };
  });

/** A disk that has these files of the folder. */
function createDisk(folder: string, present: ReturnType<typeof filesIn>) {
  const files = new Map<bigint, File>();
  const names: Names = new Map();
  for (const { path, inode, content } of present) {
    const file = newFile(Buffer.from(content));
    names.set(path, file);
    files.set(inode, file);
  }
  const durableNames: Names = new Map(names);
  let nameChanges: NameChange[] = [];
  const syncs = new Map<bigint, { at: number; pages: [number, Page][] }>();
  let now = 0;

  function fileOf(inode: bigint): File {
    const file = files.get(inode) ?? newFile();
    files.set(inode, file);
    return file;
  }

  function changeNames(path: string, apply: NameChange['apply']): void {
    apply(names);
    nameChanges.push({ at: now, folder: dirname(path), apply });
  }

  function setName(path: string, file: File): void {
    if (names.get(path) !== file) changeNames(path, (all) => void all.set(path, file));
  }

  function rename(from: string, to: string, file: File): void {
    changeNames(to, (all) => {
      all.delete(from);
      all.set(to, file);
    });
  }

  function write(file: File, start: number, bytes: Buffer): void {
    const end = start + bytes.length;
    for (let from = start; from < end; ) {
      const number = Math.floor(from / PAGE);
      const to = Math.min((number + 1) * PAGE, end);
      const page = file.pages.get(number) ?? { state: 'dirty', changes: [] };
      page.state = 'dirty';
      page.changes.push({ at: now, start: from, bytes: bytes.subarray(from - start, to - start) });
      file.pages.set(number, page);
      from = to;
    }
    if (end > sizeOf(file)) file.sizes.push({ at: now, size: end, isCut: false });
  }

  function resize(file: File, size: number): void {
    for (const [number, { changes }] of file.pages) {
      const start = Math.max(size, number * PAGE);
      if (start < (number + 1) * PAGE) changes.push({ at: now, start, bytes: null });
    }
    file.sizes.push({ at: now, size, isCut: size < sizeOf(file) });
  }

  function beginSync({ inode, thread, name }: DiskRecord): void {
    const file = name === folder ? newFile() : fileOf(inode);
    if (name !== folder && !name.endsWith(' (deleted)')) setName(name, file);
    // It also waits for the pages that another sync is writing.
    const pages = [...file.pages].filter(([, { state }]) => state !== 'lost');
    for (const [, page] of pages) page.state = 'writing';
    syncs.set(thread, { at: now, pages });
  }

  function endSync({ inode, thread, name, isOk }: DiskRecord): void {
    const sync = syncs.get(thread);
    if (sync === undefined) throw new Error(`a sync of ${name} ends that never began`);
    syncs.delete(thread);
    if (!isOk) {
      for (const [, page] of sync.pages) if (page.state === 'writing') page.state = 'lost';
      return;
    }
    const isCovered = ({ at }: { at: number }) => at < sync.at;
    if (name === folder) {
      for (const change of nameChanges) if (isCovered(change)) change.apply(durableNames);
      nameChanges = nameChanges.filter((change) => !isCovered(change));
    } else bringToDisk(fileOf(inode), sync.pages, isCovered);
  }

  return {
    apply(record: DiskRecord): void {
      const { kind, inode, offset, name, data } = record;
      now++;
      if (kind === 'W') write(fileOf(inode), offset, data);
      if (kind === 'T') resize(fileOf(inode), offset);
      if (kind === 'B') beginSync(record);
      if (kind === 'E') endSync(record);
      // A new file may have the inode of one that was deleted.
      if (kind === 'O' && names.get(name) !== files.get(inode)) files.delete(inode);
      if (kind === 'O' || kind === 'L') setName(name, fileOf(inode));
      if (kind === 'R') rename(data.toString(), name, fileOf(inode));
      if (kind === 'U') changeNames(name, (all) => void all.delete(name));
    },
    /** The files after a power cut, by path. `choose` is asked for the names, and then for each file. */
    after(choose: () => Choice): Map<string, Buffer> {
      const choice = choose();
      const left: Names = new Map(durableNames);
      for (const change of nameChanges)
        if (choice === 'all' || (choice !== 'none' && choice() < 0.5)) change.apply(left);
      return new Map(Array.from(left, ([path, file]) => [path, contentAfter(file, choose())]));
    },
  };
}

const newFile = (durable: Buffer = Buffer.alloc(0)): File => ({
  durable,
  durableSize: durable.length,
  pages: new Map(),
  sizes: [],
});

const sizeOf = ({ durableSize, sizes }: File): number => sizes.at(-1)?.size ?? durableSize;

function bringToDisk(file: File, pages: [number, Page][], isCovered: (change: { at: number }) => boolean) {
  for (const { size } of file.sizes.filter(isCovered)) {
    if (size < file.durableSize) file.durable.fill(0, size, file.durableSize);
    if (size > file.durable.length) {
      const grown = Buffer.alloc(size * 2);
      file.durable.copy(grown);
      file.durable = grown;
    }
    file.durableSize = size;
  }
  file.sizes = file.sizes.filter((each) => !isCovered(each));
  for (const [number, page] of pages) {
    if (page.state === 'lost') continue;
    for (const change of page.changes)
      if (isCovered(change))
        overlay(file.durable, change, number * PAGE, Math.min((number + 1) * PAGE, file.durableSize));
    page.changes = page.changes.filter((change) => !isCovered(change));
    if (page.changes.length === 0 && file.pages.get(number) === page) file.pages.delete(number);
  }
}

/** Applies the part of a change that lies between two places of the file. */
function overlay(content: Buffer, { start, bytes }: Change, from: number, to: number): void {
  const end = bytes === null ? to : Math.min(start + bytes.length, to);
  const begin = Math.max(start, from);
  if (begin >= end) return;
  if (bytes === null) content.fill(0, begin, end);
  else bytes.copy(content, begin, begin - start, end - start);
}

function contentAfter(file: File, choice: Choice): Buffer {
  /** A whole number below `count`. */
  const pick = (count: number) =>
    choice === 'none' ? 0 : choice === 'all' ? count - 1 : Math.floor(choice() * count);
  // File systems keep the order in which a file was cut and then written again.
  const cuts = file.sizes.filter(({ isCut }) => isCut);
  const done = pick(cuts.length + 1);
  const next = cuts[done]?.at ?? Number.POSITIVE_INFINITY;
  const sizes = file.sizes.filter(({ at }) => at < next);
  const first = done === 0 ? 0 : sizes.findIndex((each) => each === cuts[done - 1]) + 1;
  const size = sizes[first + pick(sizes.length - first + 1) - 1]?.size ?? file.durableSize;
  const whole = Math.min(file.durableSize, size, ...cuts.slice(0, done).map((each) => each.size));
  const content = Buffer.alloc(size);
  file.durable.copy(content, 0, 0, whole);

  const cutAt = cuts[done - 1]?.at ?? 0;
  /** How likely the last state is; the same for all, so that a cut may leave nearly everything or nearly nothing. */
  const luck = choice === 'none' || choice === 'all' ? 1 : choice();
  const step = pick(2) === 0 ? SECTOR : PAGE;
  for (const [number, { changes }] of file.pages) {
    const usable = changes.filter(({ at }) => at < next);
    const needed = usable.findLastIndex(({ at, bytes }) => at <= cutAt && bytes === null) + 1;
    const end = Math.min((number + 1) * PAGE, size);
    for (let from = number * PAGE; from < end; from += step) {
      const count = needed + pick(usable.length - needed + 1);
      const isLast = choice !== 'none' && choice !== 'all' && choice() < luck;
      for (const change of usable.slice(0, isLast ? usable.length : count))
        overlay(content, change, from, Math.min(from + step, end));
    }
  }
  return content;
}
