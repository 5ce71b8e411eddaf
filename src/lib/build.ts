import manifest from '../../package.json' with { type: 'json' };

/** `build.ts` replaces it when it compiles the binary. */
declare const BUILD_COMMIT: string | undefined;

/** The version of `package.json`, such as `0.1.0`. */
export const version: string = manifest.version;

/** True in the compiled binary, which runs without Bun and a checkout. */
const isBinary = typeof BUILD_COMMIT !== 'undefined';

/** `tidings 0.1.0 (425ef65)`: version and commit; `425ef65-dirty` had changes, and a checkout says `source`. */
export const buildLine = `tidings ${version} (${typeof BUILD_COMMIT === 'undefined' ? 'source' : BUILD_COMMIT})`;

/** How many times as often as usual code must run before it is compiled while the server starts: most of that runs once. */
export const STARTING_JIT_POLICY = 8;

/**
 * The start of a command line that a person can paste: the compiled binary is called `tidings`, a checkout runs through
 * Bun, and a checkout without Bun runs through the Bun of npx.
 */
export const tidings: string = howToRun(process.execPath);

function howToRun(bun: string): string {
  if (isBinary) return 'tidings';
  return bun.includes('_npx') ? `npx --yes bun@${Bun.version} run tidings` : 'bun run tidings';
}
