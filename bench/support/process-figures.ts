import { readFileSync } from 'node:fs';

// Figures of a process from Linux. Null on other systems.

/** `USER_HZ`, which is 100 wherever Bun runs. */
const TICKS_PER_SECOND = 100;

/** Processor time that all its threads have used, in seconds. */
export function cpuSeconds(pid: number): number | null {
  // The name, in brackets, may hold anything; user and system time are the 12th and 13th figure after it.
  const figures = readProc(pid, 'stat')?.split(') ').at(-1)?.split(' ');
  return figures === undefined ? null : (Number(figures[11]) + Number(figures[12])) / TICKS_PER_SECOND;
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
