import { librariesOf } from '../../test/support/binary.ts';

/**
 * The files of the image that the Dockerfile makes of this binary, uncompressed: it is built on `scratch`, so it has the
 * binary and the libraries that `ldd` names, which are this machine's here. Null where there is no `ldd`.
 */
export function imageBytes(binary: string): number | null {
  if (process.platform !== 'linux') return null;
  return [binary, ...librariesOf(binary)].reduce((sum, path) => sum + Bun.file(path).size, 0);
}
