import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../lib/app-error.ts';
import { bringToDisk } from '../lib/disk.ts';
import { SECRET_KEY_BYTES } from '../lib/secret-box.ts';
import { randomToken } from '../lib/text.ts';

const keyFile = (folder: string) => join(folder, 'secret.key');

/**
 * The key of the folder: `secretKey` (32 bytes in base64) where that is set, else the file's, or null when there is
 * neither. Throws when the file holds no key.
 */
export function readSecretKey(folder: string, secretKey: string | undefined): Buffer | null {
  const text = secretKey ?? readKeyFile(folder);
  if (text === null) return null;
  const key = Buffer.from(text, 'base64');
  if (key.length !== SECRET_KEY_BYTES) throw new Error('secret.key does not contain 32 bytes in base64');
  return key;
}

/**
 * Puts the key file in place, for this user alone. It is on the disk before it has its name, so a crash or a full disk
 * leaves no half of a key. Keeps one that is there: of two processes that start at once, both read the first's.
 */
export function writeKeyFile(folder: string, key: Buffer): void {
  const partial = join(folder, `.secret.key.${randomToken(4)}`);
  try {
    writeFileSync(partial, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    bringToDisk(partial);
    linkSync(partial, keyFile(folder));
    bringToDisk(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}

function readKeyFile(folder: string): string | null {
  try {
    return readFileSync(keyFile(folder), 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
