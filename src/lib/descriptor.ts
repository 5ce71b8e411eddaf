import { fstatSync, statSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import { codeOf } from './app-error.ts';

// Standard output and standard error by their descriptors. The streams of Node, which `process.stdout` makes, load as
// slowly as the database.

/** Writes all of `text` before it returns, so that the last lines before a crash are written. Waits for a slow reader. */
export function writeWhole(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') throw error;
      Bun.sleepSync(1);
    }
  }
}

/** Whether it is a terminal. */
export async function isTerminal(descriptor: number): Promise<boolean> {
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isCharacterDevice() || stats.rdev === statSync(devNull).rdev) return false;
  } catch {
    // It is closed.
    return false;
  }
  return (await import('node:tty')).isatty(descriptor);
}
