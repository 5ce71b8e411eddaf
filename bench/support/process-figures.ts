import { readdirSync, readFileSync } from 'node:fs';

// Figures of a process from Linux. Null on other systems.

/** `USER_HZ`, which is 100 wherever Bun runs. */
const TICKS_PER_SECOND = 100;

/** Processor time that all its threads have used, in seconds. */
export function cpuSeconds(pid: number): number | null {
  const figures = readStat(pid);
  return figures === null ? null : (figures.user + figures.system) / TICKS_PER_SECOND;
}

/** The same for a process with its children, also those that have ended. */
export function cpuSecondsOfTree(pid: number): number | null {
  const parent = readStat(pid);
  if (parent === null) return null;
  let ticks = parent.user + parent.system + parent.endedChildren;
  for (const name of readdirSync('/proc')) {
    const child = /^\d+$/.test(name) ? readStat(Number(name)) : null;
    if (child?.parent === pid) ticks += child.user + child.system;
  }
  return ticks / TICKS_PER_SECOND;
}

function readStat(pid: number) {
  // The name, in brackets, may hold anything.
  const figures = readProc(pid, 'stat')?.split(') ').at(-1)?.split(' ').map(Number);
  if (figures === undefined) return null;
  const [, parent = 0, , , , , , , , , , user = 0, system = 0, childUser = 0, childSystem = 0] = figures;
  return { parent, user, system, endedChildren: childUser + childSystem };
}

/** Memory that is resident, in bytes: files that are mapped, such as Bun itself, count as far as they are touched. */
export function residentBytes(pid: number): number | null {
  const kilobytes = readProc(pid, 'status')?.match(/^VmRSS:\s*(\d+) kB$/m)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

function readProc(pid: number, name: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return null;
  }
}
