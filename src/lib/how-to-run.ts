import { isBinary } from './build.ts';

/**
 * What a person types before a command of ours, so that a hint can be pasted: `tidings` is the compiled binary alone.
 * A checkout runs it through Bun, and one without a Bun of its own through the one that npx keeps in its own folder.
 */
export const tidings: string = howToRun(process.execPath);

function howToRun(bun: string): string {
  if (isBinary) return 'tidings';
  return bun.includes('_npx') ? `npx --yes bun@${Bun.version} run tidings` : 'bun run tidings';
}
