import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import { freePort, hello, type Program, pocketbase, raw, tidings, tidingsBinary } from './server.ts';

/** A server whose start is measured. */
export interface Contender {
  program: Program;
  /** The path of its smallest answer. */
  ping: string;
  /** True if it serves the posts of the data folder. */
  hasPosts: boolean;
  /** Only of Tidings, which takes deliveries: the same on the folder that they fill. */
  flooded?: Program;
}

/** Those that are measured, ours first, on the data folders. Builds the binary into `folder`. Throws `BenchError`. */
export function contenders(
  folder: string,
  { posts, flooded }: { posts: string; flooded: string },
  pocketbasePath?: string,
): Contender[] {
  const peer = { ping: '/ping', hasPosts: true };
  const binary = buildBinary(folder);
  return [
    { program: atOneUrl(tidings(posts)), ...peer, flooded: atOneUrl(tidings(flooded)) },
    {
      program: atOneUrl(tidingsBinary(binary, posts)),
      ...peer,
      flooded: atOneUrl(tidingsBinary(binary, flooded)),
    },
    { program: raw(join(posts, 'tidings.db')), ...peer },
    { program: hello, ...peer },
    ...(pocketbasePath === undefined ? [] : [pocketbaseOf(pocketbasePath, join(folder, 'pocketbase'))]),
  ];
}

/** Each start has another port. With another URL, too, it would look for the addresses of images in all posts. */
const atOneUrl = (program: Program): Program => ({
  ...program,
  words: [...program.words, '--public-url', 'http://localhost:3000'],
});

function buildBinary(folder: string): string {
  const script = Bun.fileURLToPath(import.meta.resolve('../../build.ts'));
  const { success, stderr } = Bun.spawnSync([process.execPath, script, '--outdir', folder], {
    stderr: 'pipe',
  });
  if (!success) throw new BenchError(`The binary was not built:\n${stderr.toString()}`);
  return join(folder, 'tidings');
}

/** It makes its tables at its first start, which does not count. */
function pocketbaseOf(path: string, dataDir: string): Contender {
  if (!existsSync(path)) throw new BenchError(`--pocketbase ${path}: there is no such file`);
  return { program: pocketbase(path, dataDir, freePort()), ping: '/api/health', hasPosts: false };
}
