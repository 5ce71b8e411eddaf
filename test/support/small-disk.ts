import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { program, type ServerProcess, startProcess } from './server.ts';

// A disk of a few megabytes, or one that cannot be written to, for one server alone: a mount in a namespace of its own, which
// ends with the process. Only who may mount can do that.

/** True if this user may mount. Otherwise tests that need it are skipped. */
export const mayMount =
  Bun.which('unshare') !== null &&
  Bun.spawnSync(['unshare', '-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).success;

/** Starts a server whose data folder is a mount that holds what `seed` does. */
export async function startOnMount(
  dataDir: string,
  seed: string,
  {
    size = '4m',
    writable = true,
    writableDatabase = true,
    reserve = '',
  }: { size?: string; writable?: boolean; writableDatabase?: boolean; reserve?: string } = {},
): Promise<ServerProcess> {
  const script = [
    `mount -t tmpfs -o mode=700,size=${size} tmpfs "$DATA_DIR"`,
    'cp -a "$SEED/." "$DATA_DIR"',
    ...(reserve === '' ? [] : [`{ head -c ${reserve} /dev/zero > "$DATA_DIR/fill" 2> /dev/null || true; }`]),
    ...(writable ? [] : ['mount -o remount,ro "$DATA_DIR"']),
    ...(writableDatabase
      ? []
      : [
          'mount --bind "$DATA_DIR/tidings.db" "$DATA_DIR/tidings.db"',
          'mount -o remount,bind,ro "$DATA_DIR/tidings.db"',
        ]),
    'exec "$@"',
  ].join(' && ');
  const serve = [...program, 'serve'];
  return startProcess(['unshare', '-m', 'sh', '-c', script, 'sh', ...serve], {
    dataDir,
    environment: { SEED: seed },
  });
}

/** Runs one command on a mount of four megabytes that holds what `seed` does. `after` gets a copy of what it leaves. */
export function commandOnMount(
  seed: string,
  words: readonly string[],
  after?: string,
): { exitCode: number; stderr: string } {
  const run = after === undefined ? 'exec "$@"' : '{ "$@"; code=$?; cp -a /mnt/. "$AFTER"; exit $code; }';
  const script = `mount -t tmpfs -o size=4m tmpfs /mnt && cp -a "$SEED/." /mnt && ${run}`;
  const command = [...program, ...words];
  const { exitCode, stderr } = Bun.spawnSync(['unshare', '-m', 'sh', '-c', script, 'sh', ...command], {
    env: { PATH: process.env.PATH, SEED: seed, AFTER: after, DATA_DIR: '/mnt', LOG_LEVEL: 'silent' },
    stderr: 'pipe',
  });
  return { exitCode, stderr: stderr.toString() };
}

/** The folder as the server sees it. */
export const insideOf = (server: ServerProcess, dataDir: string) => `/proc/${server.pid}/root${dataDir}`;

/** Takes all the room that is left. Returns what gives it back. */
export function fillUp(folder: string): () => void {
  const path = join(folder, 'fill');
  const file = openSync(path, 'w');
  try {
    for (const chunk of [65536, 4096, 1]) {
      for (;;) if (!wrote(file, chunk)) break;
    }
  } finally {
    closeSync(file);
  }
  return () => rmSync(path);
}

function wrote(file: number, bytes: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(bytes)) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
