import { open } from 'node:fs/promises';
import { codeOf } from '../../lib/app-error.ts';

// The thread that `archive.ts` starts: it brings a file to the disk while SQLite writes it.

declare const self: Worker;

/** So little is written in this time that syncing it delays no commit of a server, in milliseconds. */
const PAUSE_MS = 30;

self.onmessage = async ({ data: path }: MessageEvent<string>) => {
  self.postMessage('ready');
  for (;;) {
    try {
      await using file = await open(path, 'r');
      for (;;) {
        await file.datasync();
        await Bun.sleep(PAUSE_MS);
      }
    } catch (error) {
      // SQLite has not begun. Any other failure is its to report.
      if (codeOf(error) !== 'ENOENT') return;
      await Bun.sleep(PAUSE_MS);
    }
  }
};
