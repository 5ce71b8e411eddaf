import { Database } from 'bun:sqlite';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import type { Program } from './server.ts';

// Peers from npm and from Go's module proxy. They are installed once, into `bench/.peers`, which Git ignores.

const FOLDER = Bun.fileURLToPath(import.meta.resolve('../.peers'));
const SOURCES = Bun.fileURLToPath(import.meta.resolve('../peers'));

const PACKAGES = { hono: '4.13.19' };
const POCKETBASE = 'github.com/pocketbase/pocketbase/examples/base@v0.40.4';

/** Hono on Bun with `COUNT(*)`. Throws `BenchError`. */
export async function honoProgram(databaseFile: string): Promise<Program> {
  return { name: 'hono', words: [await placeSource('hono.js'), databaseFile] };
}

/** Builds PocketBase with Go if `path` is absent. Throws `BenchError`. */
export async function pocketbaseExecutable(path: string | undefined): Promise<string> {
  if (path !== undefined) {
    if (await Bun.file(path).exists()) return path;
    throw new BenchError(`--pocketbase ${path}: file not found`);
  }
  const folder = join(FOLDER, 'pocketbase');
  const executable = join(folder, 'base');
  if (await Bun.file(executable).exists()) return executable;
  if (Bun.which('go') === null) {
    throw new BenchError('Go is not installed. Install it, or name a PocketBase with --pocketbase PATH.');
  }
  // The module may need a later Go, which Go fetches.
  const environment = { GOBIN: folder, GOTOOLCHAIN: 'auto' };
  await run(['go', 'install', '-trimpath', '-ldflags=-s -w', POCKETBASE], { cwd: '/', environment });
  return executable;
}

/** Copies a peer to its packages, so that it finds them. */
async function placeSource(name: string): Promise<string> {
  const path = join(await install(), name);
  await copyFile(join(SOURCES, name), path);
  return path;
}

/** The folder with the packages, installed unless they are there already. */
async function install(): Promise<string> {
  const folder = join(FOLDER, 'services');
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: PACKAGES });
  const stamp = Bun.file(join(folder, 'installed.json'));
  if ((await stamp.exists()) && (await stamp.text()) === manifest) return folder;
  await mkdir(folder, { recursive: true });
  await Bun.write(join(folder, 'package.json'), manifest);
  await run([process.execPath, 'install'], { cwd: folder, environment: {} });
  await stamp.write(manifest);
  return folder;
}

/** Runs a command whose output nobody needs. Throws `BenchError` with its last lines if it fails. */
export async function run(
  words: string[],
  { cwd, environment }: { cwd: string; environment: Record<string, string> },
): Promise<void> {
  const child = Bun.spawn(words, {
    cwd,
    env: { ...Bun.env, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors] = await Promise.all([
    Bun.readableStreamToText(child.stdout),
    Bun.readableStreamToText(child.stderr),
  ]);
  if ((await child.exited) === 0) return;
  const last = `${output}\n${errors}`.trim().split('\n').slice(-3).join('\n');
  throw new BenchError(`${words.slice(0, 3).join(' ')} failed:\n${last}`);
}

/** Copies the posts into the table `posts` of another SQLite file, whose columns have the names of the API. */
export function copyPosts(from: string, into: string): void {
  const db = new Database(into);
  try {
    db.run('PRAGMA busy_timeout = 5000');
    db.run('ATTACH ? AS tidings', [from]);
    db.run(`INSERT INTO main.posts
        (id, title, content, markdown, contentType, sourceMetadata, status, createdAt, updatedAt)
      SELECT id, title, content, markdown, content_type, source_metadata, status, created_at, updated_at
      FROM tidings.posts`);
    // The peers' own index for this list.
    db.run('CREATE INDEX IF NOT EXISTS posts_in_order ON posts (status, createdAt, id)');
  } finally {
    db.close();
  }
}
