import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { randomToken } from '../lib/ids.ts';
import { SECRET_KEY_BYTES } from '../lib/secret-box.ts';

const keyFile = (folder: string) => join(folder, 'secret.key');

/**
 * The key of the folder: `secretKey` (32 bytes in base64) where that is set, else the file's, or null when there is
 * neither. Throws when the file holds no key.
 */
export function readSecretKey(folder: string, secretKey: string | undefined): Buffer | null {
  const text = secretKey ?? readKeyFile(folder);
  if (text === null) return null;
  const key = Buffer.from(text, 'base64');
  if (key.length !== SECRET_KEY_BYTES) throw new Error('secret.key does not hold 32 bytes in base64');
  return key;
}

/** A new key, for a folder that has none. */
export function newSecretKey(): Buffer {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_KEY_BYTES)));
}

/**
 * Puts the key file in place, for this user alone, and through to the disk before it has its name: a machine that
 * stops, or a disk that is full, leaves no half of a key. Does nothing when there is one: of two processes that start
 * at once, one makes the key and both read it.
 */
export function writeKeyFile(folder: string, key: Buffer): void {
  const partial = join(folder, `.secret.key.${randomToken(4)}`);
  try {
    const file = openSync(partial, 'wx', 0o600);
    try {
      writeSync(file, `${key.toString('base64')}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    linkSync(partial, keyFile(folder));
    syncFolder(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Makes new names in the folder last when the machine stops. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

function readKeyFile(folder: string): string | null {
  try {
    return readFileSync(keyFile(folder), 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
