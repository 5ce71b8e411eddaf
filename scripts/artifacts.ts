import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackTar } from 'modern-tar';
import manifest from '../package.json' with { type: 'json' };
import { parseChangelog } from '../src/posts/import/changelog.ts';
import { deb, type Entry, gzip, ociLayout, readDockerfile, sha256, tar } from './archives.ts';
import { glibc, notices, partsOfBinary, sbom } from './sbom.ts';

// Makes the files of a release. They depend on the commit, the URL and Bun alone.

export interface Release {
  version: string;
  /** 40 digits. */
  commit: string;
  /** Of the commit; every file of an archive has it. */
  time: Date;
  /** `name <address>` of who made the commit: the maintainer of the Debian package. */
  author: string;
  /** Where the files will be, without a slash at the end. */
  url: string;
  targets: readonly string[];
}

const root = join(import.meta.dir, '..');
const read = (path: string) => Bun.file(join(root, path)).text();

/** The C library of the image: packages of Debian 12, by architecture, with their SHA-256. */
const LIBC = {
  version: '2.36-9+deb12u14',
  amd64: 'ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf',
  arm64: '01f4330719fd4f65580e16ea5a0527f372fca750e8f588d26deaf09f2d3b1cf4',
};

/** Where the packages are kept, so that they are downloaded once. The variable of this name leads clones there. */
export const LIBC_FOLDER = 'dist/debian';

/** The user of the Dockerfile. */
const NONROOT = 65532;

const architectures = { amd64: 'linux-x64', arm64: 'linux-arm64' } as const;
type Architecture = keyof typeof architectures;

/** Runs a command in the checkout and returns its output. Throws with its errors when it fails. */
export function run(
  words: readonly string[],
  { cwd = root, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Buffer {
  const { success, stdout, stderr } = Bun.spawnSync([...words], { cwd, env: { ...Bun.env, ...env } });
  if (!success) throw new Error(`${words.join(' ')}: ${stderr.toString().trim()}`);
  return stdout;
}

/** The text of a version of the changelog, as an import reads it. Throws when there is none. */
export async function releaseNotes(changelog: string, version: string): Promise<string> {
  const { records, problems = [] } = await parseChangelog({ name: 'CHANGELOG.md', text: changelog });
  if (problems[0] !== undefined) throw problems[0];
  const { fields } = records.find(({ fields: { title } }) => title === version) ?? {};
  if (fields === undefined) throw new Error(`CHANGELOG.md has no section "[${version}] - DATE"`);
  return `${String(fields.markdown).trim()}\n`;
}

/** Writes all files of the release into the folder, SHA256SUMS last. */
export async function makeArtifacts(release: Release, out: string): Promise<void> {
  const { version, commit, time, url, targets } = release;
  mkdirSync(out, { recursive: true });
  const write = (name: string, content: string | Uint8Array) => Bun.write(join(out, name), content);
  const binaries = mkdtempSync(join(tmpdir(), 'tidings-binaries-'));
  try {
    run([process.execPath, 'build.ts', '--outdir', binaries, '--commit', commit, '--target', ...targets]);
    const parts = await partsOfBinary(root);
    const binary = (target: string) => Bun.file(join(binaries, `tidings-${target}`)).bytes();
    const shared = await sharedFiles(notices(parts));

    for (const target of targets) {
      const name = `tidings-${version}-${target}`;
      const files = [{ name: 'tidings', body: await binary(target), mode: 0o755 }, ...shared];
      const entries = files.map((file) => ({ ...file, name: `${name}/${file.name}` }));
      await write(`${name}.tar.gz`, gzip(await tar(entries, time)));
    }
    const built = Object.entries(architectures).filter(([, target]) => targets.includes(target)) as [
      Architecture,
      string,
    ][];
    for (const [architecture, target] of built) {
      const body = await binary(target);
      await write(
        `tidings_${version}_${architecture}.deb`,
        await debianPackage(release, architecture, body, shared),
      );
    }
    const images = await Promise.all(
      built.map(async ([architecture, target]) => ({
        architecture,
        files: [...(await imageFiles(architecture)), binaryAt('usr/local/bin/tidings', await binary(target))],
      })),
    );
    if (images.length > 0) {
      const config = readDockerfile(await read('Dockerfile'), { COMMIT: commit, VERSION: version });
      await write(`tidings-${version}-oci.tar`, await ociLayout(images, config, { tag: version, time }));
    }

    const subject = { name: 'tidings', version, time };
    await write(`tidings-${version}.cdx.json`, sbom({ ...subject, type: 'application' }, parts));
    const inImage = [...parts, glibc(LIBC.version)];
    await write(`tidings-${version}-image.cdx.json`, sbom({ ...subject, type: 'container' }, inImage));
    await write('THIRD-PARTY-NOTICES.txt', notices(parts));
    run([process.execPath, 'run', 'sdk']);
    // The modes in it are those that the umask left.
    const packed = Bun.gunzipSync(await Bun.file(join(root, `dist/tidings-${version}.tgz`)).bytes());
    const files = (await unpackTar(packed)).map(({ header: { name }, data }) => ({ name, body: data ?? '' }));
    await write(`tidings-client-${version}.tgz`, gzip(await tar(files, time)));
    await write('RELEASE-NOTES.md', await releaseNotes(await read('CHANGELOG.md'), version));
    await write('version.json', `${JSON.stringify({ version, commit, releasedAt: time, url })}\n`);

    const archives = (await checksums(out)).split('\n').filter((line) => line.endsWith('.tar.gz'));
    const script = (await read('deploy/install.sh'))
      .replaceAll('@VERSION@', version)
      .replaceAll('@URL@', url)
      .replaceAll('@SHA256SUMS@', archives.join('\n'));
    await write('install.sh', script);
    chmodSync(join(out, 'install.sh'), 0o755);
    await write('tidings.rb', formula(release, archives));
    await write('SHA256SUMS', await checksums(out));
  } finally {
    rmSync(binaries, { recursive: true, force: true });
  }
}

/** A line for each file, as `sha256sum` writes them. */
export async function checksums(folder: string): Promise<string> {
  const names = await Array.fromAsync(new Bun.Glob('*').scan(folder));
  const lines = names
    .filter((name) => !name.startsWith('SHA256SUMS'))
    .sort()
    .map(async (name) => `${sha256(await Bun.file(join(folder, name)).bytes())}  ${name}\n`);
  return (await Promise.all(lines)).join('');
}

const binaryAt = (name: string, body: Uint8Array): Entry => ({ name, body, mode: 0o755 });

/** What lies beside the binary in each archive. */
async function sharedFiles(thirdParty: string): Promise<(Entry & { body: string })[]> {
  const completion = (shell: string) => run([process.execPath, 'src/cli.ts', 'completion', shell]).toString();
  const deploy = await Array.fromAsync(new Bun.Glob('*').scan(join(root, 'deploy')));
  return [
    { name: 'LICENSE', body: await read('LICENSE') },
    { name: 'THIRD-PARTY-NOTICES.txt', body: thirdParty },
    { name: 'CHANGELOG.md', body: await read('CHANGELOG.md') },
    { name: 'completions/tidings.bash', body: completion('bash') },
    { name: 'completions/_tidings', body: completion('zsh') },
    { name: 'completions/tidings.fish', body: completion('fish') },
    ...(await Promise.all(
      deploy
        .filter((name) => name !== 'install.sh')
        .map(async (name) => ({ name: `deploy/${name}`, body: await read(`deploy/${name}`) })),
    )),
  ];
}

/** The C library that the binary is linked with, and the data folder. */
async function imageFiles(architecture: Architecture): Promise<Entry[]> {
  const folder = Bun.env.LIBC_FOLDER ?? join(root, LIBC_FOLDER);
  const path = join(folder, `libc6_${LIBC.version}_${architecture}.deb`);
  if (!(await Bun.file(path).exists())) download(folder, architecture);
  if (sha256(await Bun.file(path).bytes()) !== LIBC[architecture]) {
    throw new Error(`${path} has another SHA-256 than scripts/artifacts.ts expects`);
  }
  const entries = await unpackTar(run(['dpkg-deb', '--fsys-tarfile', path]));
  const isNeeded = (name: string) => /\/(?:ld-linux[^/]*|lib(?:c|m|dl|pthread))\.so\.\d$/.test(name);
  return [
    ...entries
      .filter(({ header }) => isNeeded(header.name))
      .map(({ header: { name, linkname, mode }, data }): Entry => {
        const plain = name.replace(/^\.\//, '');
        return data === undefined || data.length === 0
          ? { name: plain, linkname: linkname ?? '' }
          : { name: plain, body: data, mode: mode ?? 0o755 };
      }),
    { name: 'data', mode: 0o755, owner: NONROOT },
  ];
}

/** Downloads the package with a configuration of its own, which knows the other architecture and needs no rights. */
function download(folder: string, architecture: Architecture): void {
  const state = mkdtempSync(join(tmpdir(), 'tidings-apt-'));
  try {
    for (const name of ['lists/partial', 'archives/partial'])
      mkdirSync(join(state, name), { recursive: true });
    mkdirSync(folder, { recursive: true });
    const options = {
      'Dir::State': state,
      'Dir::State::status': '/dev/null',
      'Dir::Cache': state,
      'APT::Architecture': architecture,
      'APT::Architectures': architecture,
      'APT::Sandbox::User': '',
    };
    const words = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    run(['apt-get', ...words, 'update']);
    run(['apt-get', ...words, 'download', `libc6=${LIBC.version}`], { cwd: folder });
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

async function debianPackage(
  { version, time, author }: Release,
  architecture: Architecture,
  binary: Uint8Array,
  shared: readonly (Entry & { body: string })[],
): Promise<Uint8Array> {
  const textOf = (name: string) => shared.find((entry) => entry.name === name)?.body ?? '';
  const gzipped = (text: string) => gzip(Buffer.from(text));
  const date = time.toUTCString().replace('GMT', '+0000');
  const documents = {
    copyright: `${textOf('LICENSE')}\nFor the work of others, see THIRD-PARTY-NOTICES.txt.gz.\n`,
    'THIRD-PARTY-NOTICES.txt.gz': gzipped(textOf('THIRD-PARTY-NOTICES.txt')),
    'CHANGELOG.md.gz': gzipped(textOf('CHANGELOG.md')),
    'changelog.gz': gzipped(
      `tidings (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${author}  ${date}\n`,
    ),
  };
  const unit = textOf('deploy/tidings.service').replaceAll('/usr/local/bin/', '/usr/bin/');
  const data: Entry[] = [
    binaryAt('usr/bin/tidings', binary),
    { name: 'usr/lib/systemd/system/tidings.service', body: unit },
    { name: 'etc/tidings.env', body: await read('deploy/debian/tidings.env'), mode: 0o600 },
    { name: 'usr/share/bash-completion/completions/tidings', body: textOf('completions/tidings.bash') },
    { name: 'usr/share/zsh/vendor-completions/_tidings', body: textOf('completions/_tidings') },
    { name: 'usr/share/fish/vendor_completions.d/tidings.fish', body: textOf('completions/tidings.fish') },
    ...Object.entries(documents).map(([name, body]) => ({ name: `usr/share/doc/tidings/${name}`, body })),
  ];
  const kilobytes = data.map(({ body = '' }) => Math.ceil(body.length / 1024));
  const control = `Package: tidings
Version: ${version}
Architecture: ${architecture}
Maintainer: ${author}
Installed-Size: ${kilobytes.reduce((sum, each) => sum + each, 0)}
Depends: libc6 (>= 2.17), passwd
Section: web
Priority: optional
Description: turns what a team ships into posts that its site can read
 Signed webhooks of GitHub, GitLab, Forgejo and Linear come in. Tidings drafts
 posts of them, which people edit and publish. A site reads them through a
 small, read-only API.
`;
  const scripts = await Promise.all(
    ['postinst', 'prerm', 'postrm'].map(async (name) => ({
      name,
      body: await read(`deploy/debian/${name}`),
      mode: 0o755,
    })),
  );
  return deb(
    [{ name: 'control', body: control }, { name: 'conffiles', body: '/etc/tidings.env\n' }, ...scripts],
    data,
    time,
  );
}

function formula({ version, url }: Release, archives: readonly string[]): string {
  const download = (target: string) => {
    const [sum = '', name = ''] =
      archives.find((line) => line.endsWith(`-${target}.tar.gz`))?.split('  ') ?? [];
    return `      url "${url}/${name}"\n      sha256 "${sum}"`;
  };
  const system = (name: string, prefix: string) => `  on_${name} do
    on_arm do
${download(`${prefix}-arm64`)}
    end
    on_intel do
${download(`${prefix}-x64`)}
    end
  end
`;
  // Homebrew allows 80 characters.
  const [summary] = manifest.description.split(':');
  return `class Tidings < Formula
  desc "${summary}"
  homepage "${url}"
  version "${version}"
  license "MIT"

${system('macos', 'darwin')}
${system('linux', 'linux')}
  def install
    # Bun leaves the signature of its own binary on this one, and macOS may refuse it.
    system "codesign", "--force", "--sign", "-", "tidings" if OS.mac? && Hardware::CPU.intel?
    bin.install "tidings"
    bash_completion.install "completions/tidings.bash" => "tidings"
    zsh_completion.install "completions/_tidings"
    fish_completion.install "completions/tidings.fish"
    doc.install "THIRD-PARTY-NOTICES.txt", "deploy"
  end

  service do
    run [opt_bin/"tidings", "serve"]
    environment_variables DATA_DIR: var/"tidings"
    keep_alive true
    log_path var/"log/tidings.log"
    error_log_path var/"log/tidings.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tidings --version")
  end
end
`;
}
