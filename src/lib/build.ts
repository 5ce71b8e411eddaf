import manifest from '../../package.json' with { type: 'json' };

// What this program is. `build.ts` puts the commit in the place of the name below when it compiles the binary.

declare const BUILD_COMMIT: string | undefined;

/** The version of `package.json`, such as `0.1.0`. */
export const version: string = manifest.version;

/** Whether this is the compiled binary, which is called `tidings` and has neither Bun nor a checkout around it. */
export const isBinary = typeof BUILD_COMMIT !== 'undefined';

/** `tidings 0.1.0 (425ef65)`: version and commit; `425ef65-dirty` had changes, and a checkout says `source`. */
export const buildLine = `tidings ${version} (${typeof BUILD_COMMIT === 'undefined' ? 'source' : BUILD_COMMIT})`;
