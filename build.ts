import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BunPlugin } from 'bun';
import { Command, InvalidArgumentError, Option } from 'commander';
import { STARTING_JIT_POLICY } from './src/lib/build.ts';

// Makes the binary: `bun run build` for this machine, `bun run build --all` for every one that we build for.
// Whatever the program reads at run time is a module or a text import, so all of it is inside.

/** What a binary can be made for: Bun's own name for it without `bun-`, and the end of the binary's name. */
export const targets = [
  'linux-x64',
  'linux-x64-baseline',
  'linux-x64-musl',
  'linux-arm64',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
] as const;
export type Target = (typeof targets)[number];

/** A thread is an entry point too. It is looked for beside the first, so all of them go into one folder. */
export const entryPoints = [
  'src/cli.ts',
  'db/sqlite/checkpoint-thread.ts',
  'src/drafting/thread-main.ts',
  'src/lib/markdown/texts-thread.ts',
  'src/server/backup/backup-thread.ts',
  'src/server/backup/sync-thread.ts',
  'src/readers/public/card-thread.ts',
];

interface Options {
  all?: true;
  target?: Target[];
  outdir: string;
  commit?: string;
}

const root = import.meta.dir;
// Source maps name files as they are found from here, and one commit should give the same bytes wherever it is built.
const startedIn = process.cwd();
if (import.meta.main) process.chdir(root);

const command = new Command('build')
  .description('Makes dist/tidings, the binary for this machine, or dist/tidings-TARGET for others.')
  .option('--all', 'for every target')
  .addOption(new Option('--target <target...>', 'for these').choices(targets))
  .option('--outdir <folder>', 'where it goes', join(root, 'dist'))
  .option('--commit <id>', 'the commit that --version prints, where git has none', readCommit)
  .action(async ({ all, target, outdir, commit: given }: Options) => {
    // A container's build passes an empty one when it was given none.
    const commit = given || commitHere();
    const wanted = all ? targets : (target ?? [null]);
    const failed: string[] = [];
    for (const one of wanted) {
      try {
        process.stdout.write(`${await build(one, resolve(startedIn, outdir), commit)}\n`);
      } catch (error) {
        failed.push(one ?? 'this machine');
        process.stderr.write(`error: not built for ${one ?? 'this machine'}: ${reasonOf(error)}\n`);
      }
    }
    if (failed.length > 0) process.exitCode = 1;
  });

/** The renderer of images takes 4 MB, or 1.5 MB compressed. `card-draw.ts` unpacks it. */
const compressWasm: BunPlugin = {
  name: 'compress-wasm',
  setup(builder) {
    builder.onLoad({ filter: /\.wasm$/ }, async ({ path }) => ({
      contents: Bun.zstdCompressSync(await Bun.file(path).bytes(), { level: 19 }),
      loader: 'file',
    }));
  },
};

/** Makes one binary, with its checksum beside it, and says so. Null: for the machine that this runs on. */
async function build(target: Target | null, outdir: string, commit: string): Promise<string> {
  const name = target === null ? 'tidings' : `tidings-${target}`;
  mkdirSync(outdir, { recursive: true });
  // What Bun leaves beside the binary (source maps, which are inside too) goes with this folder.
  const folder = mkdtempSync(join(outdir, '.build-'));
  try {
    await Bun.build({
      entrypoints: entryPoints.map((path) => join(root, path)),
      plugins: [compressWasm],
      naming: '[name].[ext]',
      root,
      format: 'esm',
      // What is imported only when it is needed, such as Unkey's SDK, stays a part of its own.
      splitting: true,
      minify: true,
      bytecode: true,
      // Functions deeper inside others are compiled when they are called: 5 MB less, for 4 ms more of a start.
      bytecodeDepth: 1,
      // Two megabytes, for which a stack in the log names our files and lines.
      sourcemap: 'linked',
      define: { BUILD_COMMIT: JSON.stringify(commit) },
      compile: {
        ...(target === null ? {} : { target: `bun-${target}` }),
        outfile: join(folder, name),
        // `program.ts` changes it for all commands but `serve`.
        jitPolicy: STARTING_JIT_POLICY,
        // A binary is started in any folder; what lies there is not meant for it.
        autoloadDotenv: false,
        autoloadBunfig: false,
      },
    });
    const bytes = await Bun.file(join(folder, name)).bytes();
    const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
    renameSync(join(folder, name), join(outdir, name));
    await Bun.write(join(outdir, `${name}.sha256`), `${sha256}  ${name}\n`);
    return `${join(outdir, name)}  ${(bytes.length / 1e6).toFixed(1)} MB`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Seven digits of the commit that is checked out, with `-dirty` when files differ from it; `unknown` without git. */
function commitHere(): string {
  const commit = git('rev-parse', 'HEAD');
  // A copy without its history may lie in somebody else's repository.
  if (commit === null || git('rev-parse', '--show-prefix') !== '') return 'unknown';
  return `${commit.slice(0, 7)}${git('status', '--porcelain') === '' ? '' : '-dirty'}`;
}

function git(...words: string[]): string | null {
  if (Bun.which('git') === null) return null;
  const { success, stdout } = Bun.spawnSync(['git', ...words], { cwd: root, stderr: 'ignore' });
  return success ? stdout.toString().trim() : null;
}

function readCommit(text: string): string {
  if (text === '') return '';
  const [, digits, dirty = ''] = /^([0-9a-f]{7})[0-9a-f]{0,33}(-dirty)?$/.exec(text) ?? [];
  if (digits === undefined) throw new InvalidArgumentError('It must be 7 to 40 hexadecimal digits.');
  return digits + dirty;
}

/** Bun gathers what went wrong; most often another machine's Bun could not be had from the npm registry. */
function reasonOf(error: unknown): string {
  const errors = error instanceof AggregateError ? error.errors : [error];
  return errors.map((one) => (one instanceof Error ? one.message : String(one))).join('; ') || String(error);
}

if (import.meta.main) await command.parseAsync(Bun.argv);
