import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from './cli.ts';

// A disk that fails for one process, and loses its power. See `disk-faults.c`.

/** Skips tests that need a C compiler without one. */
export const canBreakDisk = process.platform === 'linux' && Bun.which('cc') !== null;

const built = temporaryFolder();
process.on('exit', built.remove);

function library(): string {
  const path = join(built.path, 'disk-faults.so');
  if (existsSync(path)) return path;
  const source = join(import.meta.dir, 'disk-faults.c');
  const { exitCode, stderr } = Bun.spawnSync(['cc', '-shared', '-fPIC', '-O1', '-o', path, source]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return path;
}

type Call = 'fsync' | 'pwrite';
type File = 'tidings.db' | 'tidings.db-wal';
type Errno = keyof typeof constants.errno;

export function breakableDisk(folder: string) {
  mkdirSync(folder, { recursive: true });
  const path = (kind: string, file: string) => join(folder, `${kind} ${file}`);
  return {
    /** For processes whose calls may fail. */
    environment: { LD_PRELOAD: library(), DISK_FAULTS: folder },
    /** The next calls on a file of the database fail; without `times`, all until `mend`. */
    fail: (call: Call, file: File, error: Errno, times = -1) =>
      writeFileSync(path(call, file), `${constants.errno[error]} ${times}`),
    mend: (call: Call, file: File) => rmSync(path(call, file), { force: true }),
    /** Copies what the disk has of the database to a data folder. End all processes before. */
    losePower(dataDir: string): void {
      mkdirSync(dataDir, { recursive: true });
      for (const file of ['tidings.db', 'tidings.db-wal']) {
        if (existsSync(path('disk', file))) copyFileSync(path('disk', file), join(dataDir, file));
      }
    },
  };
}
