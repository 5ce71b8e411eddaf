import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderError, openDataFolder } from '../src/data-folder.ts';
import { WrongSecretKey } from '../src/lib/secret-box.ts';
import { temporaryFolder } from './support/cli.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const SECRET_KEY = Buffer.alloc(32, 5).toString('base64');
const keyFile = () => join(folder.path, 'secret.key');

function sealedBy(options?: Parameters<typeof openDataFolder>[1]): Buffer {
  const { secrets, close } = openDataFolder(folder.path, options);
  const sealed = secrets.seal('a secret', 'context');
  close();
  return sealed;
}

function opened(sealed: Buffer, options?: Parameters<typeof openDataFolder>[1]): string {
  const { secrets, close } = openDataFolder(folder.path, options);
  try {
    return secrets.open(sealed, 'context');
  } finally {
    close();
  }
}

test('the first start makes a key file, which later ones use', () => {
  const sealed = sealedBy();
  expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  expect(Buffer.from(readFileSync(keyFile(), 'utf8'), 'base64')).toHaveLength(32);
  expect(opened(sealed)).toBe('a secret');
});

test('SECRET_KEY stands instead of the file', () => {
  const sealed = sealedBy({ secretKey: SECRET_KEY });
  expect(existsSync(keyFile())).toBe(false);
  expect(opened(sealed, { secretKey: SECRET_KEY })).toBe('a secret');
  expect(() => opened(sealed)).toThrow(WrongSecretKey);
});

test('a key file that holds no key is refused by name', async () => {
  await Bun.write(keyFile(), 'not a key\n');
  expect(() => openDataFolder(folder.path)).toThrow(DataFolderError);
  expect(() => openDataFolder(folder.path)).toThrow('secret.key does not hold 32 bytes in base64');
});

test('a folder that is a file is refused by name', async () => {
  const path = join(folder.path, 'file');
  await Bun.write(path, '');
  expect(() => openDataFolder(path)).toThrow(`The data folder ${path} cannot be used: `);
  expect(() => openDataFolder(path)).toThrow('DATA_DIR names another one.');
});
