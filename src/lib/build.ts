import manifest from '../../package.json' with { type: 'json' };

/** `build.ts` replaces it when it compiles the binary. */
declare const BUILD_COMMIT: string | undefined;

/** The version of `package.json`, such as `0.1.0`. */
export const version: string = manifest.version;

/** True in the compiled binary, which runs without Bun and a checkout. */
export const isBinary = typeof BUILD_COMMIT !== 'undefined';

/** `tidings 0.1.0 (425ef65)`: version and commit; `425ef65-dirty` had changes, and a checkout says `source`. */
export const buildLine = `tidings ${version} (${typeof BUILD_COMMIT === 'undefined' ? 'source' : BUILD_COMMIT})`;
