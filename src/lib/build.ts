import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

/** `build.ts` replaces it when it compiles the binary. */
declare const BUILD_COMMIT: string | undefined;

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

/**
 * Options that JavaScriptCore and Bun read when a process starts. The engine takes the memory of the machine for its own,
 * and collects garbage late where there is much. The size limits nothing, but above four fifths of it the engine collects
 * all the time, which takes as long as all else. Its last compiler (FTL) takes memory and makes nothing faster here. Bun
 * allows 256 requests to other servers at a time, and queues the rest.
 */
const OPTIONS = {
  BUN_JSC_forceRAMSize: '536870912',
  BUN_JSC_useFTLJIT: '0',
  BUN_CONFIG_MAX_HTTP_REQUESTS: '1024',
};

export const maxRequests = Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS) || 256;

const TSCONFIG = '--tsconfig-override';

/** Bun looks for the settings of the source in the working folder alone, and without them compiles pages for React. */
function sourceFlags(): string[] {
  const root = join(import.meta.dir, '../..');
  return isBinary || process.cwd() === root ? [] : [`${TSCONFIG}=${join(root, 'tsconfig.json')}`];
}

/**
 * Starts this program again in the same process with the options that the environment lacks, unless it has all of them.
 * A value of the environment stays. Where the system cannot, as in an emulator of another processor, it goes on without.
 */
export function restartWithEngineOptions(): void {
  const { execve, execArgv } = process;
  const flags = execArgv.join().includes(TSCONFIG) ? [] : sourceFlags();
  const hasAll = Object.keys(OPTIONS).every((name) => process.env[name] !== undefined);
  if (execve === undefined || (hasAll && flags.length === 0)) return;
  // A compiled program adds its own name in front of the words.
  const words = Bun.argv.slice(isBinary ? 2 : 1);
  try {
    execve(process.execPath, [process.argv0, ...execArgv, ...flags, ...words], {
      ...OPTIONS,
      ...process.env,
    });
  } catch {
    // The options save memory. Everything works without them.
  }
}
