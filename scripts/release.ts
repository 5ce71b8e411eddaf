import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { targets } from '../build.ts';
import manifest from '../package.json' with { type: 'json' };
import client from '../sdk/package.json' with { type: 'json' };
import { audit, isPassed } from '../test/support/audit.ts';
import { sha256 } from './archives.ts';
import { checksums, LIBC_FOLDER, makeArtifacts, releaseNotes, run } from './artifacts.ts';

// `bun run release` makes a release of the commit that is checked out. It builds everything twice, in two new clones, and
// gives up when one byte differs. docs/releasing.md is its manual.

const root = join(import.meta.dir, '..');

interface Options {
  out: string;
  url: string;
  target: string[];
  key?: string;
  checked?: true;
  verify?: string;
  artifacts?: true;
}

const say = (text: string) => process.stdout.write(`${text}\n`);

const command = new Command('release')
  .description('Makes the files of a release of this commit, and compares two builds of each.')
  .addOption(new Option('--target <target...>', 'only these').choices(targets).default(targets, 'all'))
  .option('--out <folder>', 'where they go', join(root, 'dist/release'))
  .option('--url <url>', 'where people will download them', 'https://example.com/tidings')
  .option('--key <file>', 'secret key of minisign (1), which signs SHA256SUMS')
  .option('--checked', 'the commit has passed "bun run check" already')
  .option('--verify <folder>', 'build the files of this release again, and compare')
  .addOption(new Option('--artifacts', 'write the files of this clone').hideHelp())
  .action(async (options: Options) => {
    const out = resolve(options.out);
    if (options.artifacts) await writeArtifacts(out, options);
    else if (options.verify !== undefined) await verify(resolve(options.verify), options.target);
    else await release(out, options);
  });

async function release(out: string, { key, checked, ...options }: Options): Promise<void> {
  await requireReleasable(checked ?? false);
  const first = await buildInClone(options);
  const second = await buildInClone(options, 'HEAD', { TZ: 'Pacific/Auckland', USER: 'somebody' });
  try {
    const differing = await differences(first.files, second.files);
    if (differing.length > 0) throw new Error(`two builds differ: ${differing.join(', ')}`);
    rmSync(out, { recursive: true, force: true });
    cpSync(first.files, out, { recursive: true });
  } finally {
    for (const { remove } of [first, second]) remove();
  }
  if (key !== undefined) {
    const comment = `Tidings ${manifest.version}`;
    const words = ['minisign', '-S', '-s', resolve(key), '-t', comment, '-m', join(out, 'SHA256SUMS')];
    const signed = Bun.spawnSync(words, { stdio: ['inherit', 'inherit', 'inherit'] });
    if (!signed.success) throw new Error('SHA256SUMS is not signed');
  }
  say(await Bun.file(join(out, 'SHA256SUMS')).text());
  say(`${out}: two builds of ${manifest.version} had the same bytes.`);
}

/** Refuses a commit that nobody should get. */
async function requireReleasable(isChecked: boolean): Promise<void> {
  if (run(['git', 'status', '--porcelain']).length > 0) throw new Error('files differ from the commit');
  const changelog = await Bun.file(join(root, 'CHANGELOG.md')).text();
  const [, unreleased = '', version] = /^(.*?)^## \[(\d[^\]]*)\]/ms.exec(changelog) ?? [];
  if (/^[-*] /m.test(unreleased)) throw new Error('CHANGELOG.md has entries without a version');
  for (const [file, found] of [
    ['package.json', manifest.version],
    ['sdk/package.json', client.version],
  ]) {
    if (found !== version) throw new Error(`CHANGELOG.md releases ${version}, but ${file} has ${found}`);
  }
  await releaseNotes(changelog, manifest.version);
  const advisories = await audit();
  say(advisories.text);
  if (!isPassed(advisories, true)) throw new Error('the audit of dependencies did not pass');
  if (isChecked) return;
  const check = Bun.spawnSync([process.execPath, 'run', 'check'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (!check.success) throw new Error('bun run check failed');
}

/** Clones the commit into a new folder, with its dependencies, and lets that clone write its files. */
async function buildInClone(
  { target, url }: Pick<Options, 'target' | 'url'>,
  commit = 'HEAD',
  environment: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-release-'));
  const [clone, files] = [join(folder, 'source'), join(folder, 'files')];
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    run(['git', 'clone', '--quiet', '--no-checkout', root, clone]);
    const id = run(['git', 'rev-parse', commit]).toString().trim();
    run(['git', 'checkout', '--quiet', '--detach', id], { cwd: clone });
    const env = { LIBC_FOLDER: join(root, LIBC_FOLDER), ...environment };
    const bun = (...words: string[]) => run([process.execPath, ...words], { cwd: clone, env });
    bun('install', '--frozen-lockfile');
    const words = ['scripts/release.ts', '--artifacts', '--out', files, '--url', url, '--target', ...target];
    say(`Building ${target.join(', ')} in ${clone}`);
    bun(...words);
    return { files, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

async function writeArtifacts(out: string, { url, target }: Options): Promise<void> {
  const git = (format: string) =>
    run(['git', 'log', '-1', `--format=${format}`])
      .toString()
      .trim();
  await makeArtifacts(
    {
      version: manifest.version,
      commit: git('%H'),
      time: new Date(Number(git('%ct')) * 1000),
      author: git('%an <%ae>'),
      url: url.replace(/\/+$/, ''),
      targets: target,
    },
    out,
  );
}

/** Names of files that one of the folders lacks, or that differ. */
export async function differences(first: string, second: string): Promise<string[]> {
  const [ours = [], theirs = []] = await Promise.all(
    [first, second].map(async (folder) => (await checksums(folder)).trim().split('\n')),
  );
  const lines = new Set(ours).symmetricDifference(new Set(theirs));
  return [...new Set([...lines].map((line) => line.slice(66)))].sort();
}

/** Compares a release with its SHA256SUMS, and with a new build of its commit for the targets. */
async function verify(folder: string, target: string[]): Promise<void> {
  if ((await checksums(folder)) !== (await Bun.file(join(folder, 'SHA256SUMS')).text())) {
    throw new Error(`the files in ${folder} are not those of its SHA256SUMS`);
  }
  const { commit, url, version } = await Bun.file(join(folder, 'version.json')).json();
  const built = await buildInClone({ target, url }, commit);
  try {
    const names = await Array.fromAsync(new Bun.Glob('*').scan(built.files));
    const isWhole = target.length === targets.length;
    // These name or hold the files of all targets.
    const comparable = names.filter(
      (name) => isWhole || !/^(?:SHA256SUMS|install\.sh|tidings\.rb)$|-oci\.tar$/.test(name),
    );
    const sum = async (path: string) => sha256(await Bun.file(path).bytes());
    for (const name of comparable.sort()) {
      if ((await sum(join(folder, name))) !== (await sum(join(built.files, name)))) {
        throw new Error(`${name} is not what ${commit} builds`);
      }
      say(`equal  ${name}`);
    }
    say(`Tidings ${version} is what ${commit} builds.`);
  } finally {
    built.remove();
  }
}

if (import.meta.main) {
  try {
    await command.parseAsync(Bun.argv);
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
