import {
  closeSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { median } from './numbers.ts';

/** Prefix of a command that keeps servers and load on separate cores. Empty: none. */
export interface Cores {
  server: string[];
  load: string[];
}

/** The first two cores that this process may use, when there are two and `taskset` is there to ask for them. */
export function chooseCores(): Cores {
  // Linux lists them as ranges, such as `0-3,8`.
  const ranges =
    readProc('self', 'status')
      ?.match(/^Cpus_allowed_list:\s*(\S+)$/m)?.[1]
      ?.split(',') ?? [];
  const [one, other] = ranges.flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  if (Bun.which('taskset') === null || one === undefined || other === undefined)
    return { server: [], load: [] };
  return { server: ['taskset', '-c', String(one)], load: ['taskset', '-c', String(other)] };
}

/** The context of the figures, in two lines: the machine with the commit that is measured, and the disk of a folder. */
export function describeMachine(folder: string): string[] {
  const cores = cpus();
  const shared =
    chooseCores().server.length > 0
      ? 'servers on one core, load on another'
      : 'servers and load share the cores';
  const processor = `${cores[0]?.model ?? 'unknown'}, ${cores.length} cores (${shared})`;
  const memory = statfsSync(folder).type === TMPFS ? ' (memory)' : '';
  return [
    `${processor}, ${process.platform} ${release()} ${process.arch}, Bun ${Bun.version}, commit ${readCommit()}.`,
    `Data in ${folder}${memory}, a sync takes ${measureSync(folder).toFixed(2)} ms.`,
  ];
}

/** Type of a tmpfs in Linux, where a sync does nothing. */
const TMPFS = 0x01021994;

/** With a `+` if files differ from it. */
function readCommit(): string {
  const git = (...words: string[]) =>
    Bun.spawnSync(['git', ...words], { cwd: import.meta.dir, stderr: 'ignore' });
  if (Bun.which('git') === null || !git('rev-parse').success) return 'unknown';
  return (
    git('rev-parse', '--short', 'HEAD').stdout.toString().trim() +
    (git('diff', '--quiet', 'HEAD').success ? '' : '+')
  );
}

/** Median time to append 4 KiB to a file and sync it, in milliseconds. */
function measureSync(folder: string): number {
  const path = join(folder, `tidings-sync-${Bun.randomUUIDv7()}`);
  const file = openSync(path, 'w');
  try {
    const block = new Uint8Array(4_096);
    const took = Array.from({ length: 50 }, () => {
      const startedAt = performance.now();
      writeSync(file, block);
      fdatasyncSync(file);
      return performance.now() - startedAt;
    });
    return median(took);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

/** `USER_HZ`, which is 100 wherever Bun runs. */
const TICKS_PER_SECOND = 100;

/** Processor seconds of a process and its children, also those that have ended. NaN on other systems than Linux. */
export function cpuSeconds(pid: number): number {
  const parent = readStat(pid);
  if (parent === null) return Number.NaN;
  let ticks = parent.user + parent.system + parent.endedChildren;
  for (const name of readdirSync('/proc')) {
    const child = /^\d+$/.test(name) ? readStat(name) : null;
    if (child?.parent === pid) ticks += child.user + child.system;
  }
  return ticks / TICKS_PER_SECOND;
}

function readStat(pid: number | string) {
  // The name, in brackets, may hold anything.
  const figures = readProc(pid, 'stat')?.split(') ').at(-1)?.split(' ').map(Number);
  if (figures === undefined) return null;
  const [, parent = 0, , , , , , , , , , user = 0, system = 0, childUser = 0, childSystem = 0] = figures;
  return { parent, user, system, endedChildren: childUser + childSystem };
}

/** Resident memory in bytes: of files that are mapped, such as Bun itself, as much as was touched. NaN as above. */
export function residentBytes(pid: number): number {
  return Number(readProc(pid, 'status')?.match(/^VmRSS:\s*(\d+) kB$/m)?.[1] ?? Number.NaN) * 1024;
}

function readProc(pid: number | string, name: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return null;
  }
}
