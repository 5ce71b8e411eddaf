import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import type { Program } from './server.ts';

// Disks of another speed: a library that is loaded before a program's own and replaces its syncs.

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int slowly(const char *name, int file) {
  long ms = atol(getenv("BENCH_SYNC_MS"));
  if (ms < 0) return 0;
  struct timespec rest = { ms / 1000, ms % 1000 * 1000000L };
  nanosleep(&rest, NULL);
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
`;

/** Compiles the library into `folder`. Throws `BenchError` where that is not possible. */
export async function makeDisks(folder: string) {
  const compiler = ['cc', 'gcc', 'clang'].find((name) => Bun.which(name) !== null);
  if (process.platform !== 'linux' || compiler === undefined) {
    throw new BenchError('this needs Linux and a C compiler. Debian, Ubuntu: apt-get install gcc libc6-dev.');
  }
  const library = join(folder, 'disk.so');
  const source = join(folder, 'disk.c');
  await Bun.write(source, SOURCE);
  const { success, stderr } = Bun.spawnSync([compiler, '-shared', '-fPIC', '-o', library, source, '-ldl']);
  if (!success) throw new BenchError(`${compiler} failed:\n${stderr.toString()}`);
  const on = (program: Program, name: string, syncMs: number): Program => ({
    ...program,
    name,
    environment: { LD_PRELOAD: library, BENCH_SYNC_MS: String(syncMs) },
  });
  return {
    /** The program on a disk where each sync takes so many milliseconds longer. */
    slow: (program: Program, name: string, syncMs: number) => on(program, name, syncMs),
    /** The program without syncs: the least that durability can cost. */
    unsynced: (program: Program, name: string) => on(program, name, -1),
  };
}
