import { join } from 'node:path';
import { type Bench, BenchError } from './run.ts';
import { type Program, run } from './server.ts';

// A disk of another speed: a library that is loaded before a program's own and replaces its syncs.

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int slowly(const char *name, int file) {
  long ms = atol(getenv("BENCH_SYNC_MS"));
  struct timespec rest = { ms / 1000, ms % 1000 * 1000000L };
  nanosleep(&rest, NULL);
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
`;

/** The program on a disk where each sync takes so many milliseconds longer. Throws `BenchError` where that is not possible. */
export async function onSlowDisk(bench: Bench, program: Program, syncMs: number): Promise<Program> {
  const compiler = ['cc', 'gcc', 'clang'].find((name) => Bun.which(name) !== null);
  if (process.platform !== 'linux' || compiler === undefined) {
    throw new BenchError('this needs Linux and a C compiler. Debian, Ubuntu: apt-get install gcc libc6-dev.');
  }
  const library = join(bench.folder, 'disk.so');
  const source = join(bench.folder, 'disk.c');
  await Bun.write(source, SOURCE);
  await run(bench, [compiler, '-shared', '-fPIC', '-o', library, source, '-ldl']);
  return { ...program, environment: { LD_PRELOAD: library, BENCH_SYNC_MS: String(syncMs) } };
}
