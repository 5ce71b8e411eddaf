import { readFileSync } from 'node:fs';

/** Prefix of a command that keeps servers and load on separate cores. Empty: none. */
export interface Cores {
  server: string[];
  load: string[];
}

/** The first two cores that this process may use, when there are two and `taskset` is there to ask for them. */
export function chooseCores(): Cores {
  const [first, second] = allowedCores();
  if (Bun.which('taskset') === null || first === undefined || second === undefined) {
    return { server: [], load: [] };
  }
  return { server: ['taskset', '-c', String(first)], load: ['taskset', '-c', String(second)] };
}

/** Linux says it as ranges, such as `0-3,8`. Nothing on another system. */
function allowedCores(): number[] {
  let status: string;
  try {
    status = readFileSync('/proc/self/status', 'utf8');
  } catch {
    return [];
  }
  const ranges = status.match(/^Cpus_allowed_list:\s*(\S+)$/m)?.[1]?.split(',') ?? [];
  return ranges.flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
