import { isBinary } from './build.ts';

/**
 * The start of a command line that a person can paste: the compiled binary is called `tidings`, a checkout runs through
 * Bun, and a checkout without Bun runs through the Bun of npx.
 */
export const tidings: string = howToRun(process.execPath);

function howToRun(bun: string): string {
  if (isBinary) return 'tidings';
  return bun.includes('_npx') ? `npx --yes bun@${Bun.version} run tidings` : 'bun run tidings';
}
