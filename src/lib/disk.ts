import { closeSync, fsyncSync, openSync, statfsSync } from 'node:fs';

/** Makes a file, or the new names in a folder, last when the machine stops. */
export function bringToDisk(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

/** How much more fits on the disk that holds the folder, in bytes; null when the system does not report it. */
export function freeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** `12 MB`, `1.5 GB`. */
export function megabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.ceil(bytes / 1e6)} MB`;
}
