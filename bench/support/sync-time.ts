import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { median } from './statistics.ts';

/** A folder's disk. */
export interface Disk {
  folder: string;
  /** True if the folder is in memory, where a sync does nothing. */
  isMemory: boolean;
  /** Median time to append 4 KiB to a file and sync it, in milliseconds. */
  syncMs: number;
}

const TIMES = 50;
/** Type of a tmpfs in Linux. */
const TMPFS = 0x01021994;

export function describeDisk(folder: string): Disk {
  return { folder, isMemory: statfsSync(folder).type === TMPFS, syncMs: measureSync(folder) };
}

export function diskLine({ folder, isMemory, syncMs }: Disk): string {
  return `${folder}${isMemory ? ' (memory)' : ''}, a sync takes ${syncMs.toFixed(2)} ms`;
}

function measureSync(folder: string): number {
  const path = join(folder, `tidings-sync-${Bun.randomUUIDv7()}`);
  const file = openSync(path, 'w');
  try {
    const block = new Uint8Array(4_096);
    const took = Array.from({ length: TIMES }, () => {
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
