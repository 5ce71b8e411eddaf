import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a new folder that a test removes. During the check it is in memory, where no test waits for a disk. */
export const newFolder = (name: string) =>
  mkdtempSync(join(Bun.env.TEST_FOLDERS ?? tmpdir(), `tidings-${name}-`));
