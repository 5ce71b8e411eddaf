import { dlopen, toArrayBuffer } from 'bun:ffi';
import { fstatSync, openSync, statSync } from 'node:fs';

// The header of the index of the write-ahead log, the `-shm` file. Every commit of any process writes it: by it SQLite itself
// tells, before each read, whether its snapshot is old (sqlite.org/walformat.html, 2.1).

/** The header without its second copy. */
const HEADER_BYTES = 48;

/** The first word of a header. */
const FORMAT = 3_007_000;

/** musl takes the name for its own. */
const LIBRARY = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6';

// The same on Linux and macOS.
const PROT_READ = 1;
const MAP_SHARED = 1;

/**
 * Maps the header into memory, for reading only; null where that is impossible. It stays mapped until the process ends. Call
 * this while SQLite reads the same log: then nobody may delete or cut the file.
 */
export function mapHeader(logFile: string): Int32Array | null {
  try {
    const file = logFile.replace(/-wal$/, '-shm');
    // Never closed, also not after a failure: POSIX would drop the locks that SQLite has on the file, and the next process
    // would believe that it is alone.
    const descriptor = openSync(file, 'r');
    const { ino, size } = fstatSync(descriptor);
    if (ino !== statSync(file).ino || size < HEADER_BYTES) return null;
    const address = mmap(descriptor);
    // A failure is -1 without a sign, which is no safe number.
    if (typeof address !== 'number') return null;
    const header = new Int32Array(toArrayBuffer(address, 0, HEADER_BYTES));
    return header[0] === FORMAT ? header : null;
  } catch {
    return null;
  }
}

function mmap(descriptor: number) {
  const { symbols } = dlopen(LIBRARY, {
    mmap: { args: ['ptr', 'u64', 'i32', 'i32', 'i32', 'i64'], returns: 'ptr' },
  });
  return symbols.mmap(null, HEADER_BYTES, PROT_READ, MAP_SHARED, descriptor, 0);
}
