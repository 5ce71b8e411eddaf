import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { unpackTar } from 'modern-tar';
import manifest from '../package.json' with { type: 'json' };
import { deb, gzip, ociLayout, readDockerfile, sha256, tar } from '../scripts/archives.ts';
import { releaseNotes } from '../scripts/artifacts.ts';
import { differences } from '../scripts/release.ts';
import { glibc, notices, partsOfBinary, sbom } from '../scripts/sbom.ts';
import { temporaryFolder } from './support/cli.ts';
import { root } from './support/server.ts';

// The parts of a release. `bun run release` builds all of it, twice.

const folder = temporaryFolder();
afterAll(() => folder.remove());

const TIME = new Date('2026-01-02T03:04:05Z');
const run = (words: string[], env: Record<string, string> = {}, cwd = folder.path) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(words, {
    cwd,
    env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME, ...env },
  });
  return { exitCode, output: stdout.toString(), problem: stderr.toString() };
};

describe('an archive', () => {
  const entries = [
    { name: 'b/c', body: 'c', mode: 0o755 },
    { name: 'a', body: Buffer.from('a'), owner: 65532 },
    { name: 'b/link', linkname: 'c' },
  ];

  test('has its entries in order, with one time, and the folders above them', async () => {
    const read = await unpackTar(await tar(entries, TIME));
    expect(read.map(({ header: { name, mode, uid, mtime } }) => [name, mode, uid, mtime])).toEqual([
      ['a', 0o644, 65532, TIME],
      ['b/', 0o755, 0, TIME],
      ['b/c', 0o755, 0, TIME],
      ['b/link', 0o777, 0, TIME],
    ]);
  });

  test('has the same bytes whatever the order, the time of day and the file system', async () => {
    const one = gzip(await tar(entries, TIME));
    expect(gzip(await tar(entries.toReversed(), TIME))).toEqual(one);
    // The time and the system in the header of gzip.
    expect([...one.subarray(4, 8)]).toEqual([0, 0, 0, 0]);
  });

  test.skipIf(Bun.which('dpkg-deb') === null)('for Debian is one that dpkg reads', async () => {
    const control = `Package: tidings\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@b.test>\nDescription: x\n`;
    const path = join(folder.path, 'tidings.deb');
    await Bun.write(path, await deb([{ name: 'control', body: control }], entries, TIME));
    expect(run(['dpkg-deb', '--field', path, 'Version']).output).toBe('1.0\n');
    expect(run(['dpkg-deb', '--contents', path]).output).toMatch(/-rwxr-xr-x .* 2026-01-02 .* \.\/b\/c\n/);
  });
});

test('the settings of the image are those of the Dockerfile', async () => {
  const text = await Bun.file(join(root, 'Dockerfile')).text();
  expect(readDockerfile(text, { VERSION: '1.2.3', COMMIT: 'abc' })).toMatchObject({
    Labels: { 'org.opencontainers.image.version': '1.2.3', 'org.opencontainers.image.revision': 'abc' },
    Env: expect.arrayContaining(['HOST=0.0.0.0', 'DATA_DIR=/data', 'BUN_JSC_useFTLJIT=0']),
    User: '65532:65532',
    WorkingDir: '/data',
    Volumes: { '/data': {} },
    ExposedPorts: { '3000/tcp': {} },
    StopSignal: 'SIGTERM',
    Entrypoint: ['tidings'],
    Cmd: ['serve'],
    Healthcheck: { Test: ['CMD', 'tidings', 'healthcheck'], Interval: 30e9, StartPeriod: 10e9, Retries: 3 },
  });
  expect(() => readDockerfile('FROM scratch\nSHELL ["sh"]', {})).toThrow('no reader for SHELL');
});

test('the image layout names each blob by its digest, and an image for each architecture', async () => {
  const files = [{ name: 'usr/local/bin/tidings', body: 'binary' }];
  const images = (['amd64', 'arm64'] as const).map((architecture) => ({ architecture, files }));
  const layout = await ociLayout(images, { Labels: {}, User: '1' }, { tag: '1.0.0', time: TIME });
  const blobs = new Map<string, Uint8Array>();
  for (const { header, data } of await unpackTar(layout)) blobs.set(header.name, data ?? new Uint8Array());
  for (const [name, bytes] of blobs) {
    if (/^blobs\/sha256\/./.test(name)) expect(name).toBe(`blobs/sha256/${sha256(bytes)}`);
  }
  const json = (name: string) => JSON.parse(Buffer.from(blobs.get(name) ?? []).toString());
  const blob = ({ digest }: { digest: string }) => json(`blobs/${digest.replace(':', '/')}`);
  const top = json('index.json').manifests[0];
  expect(top.annotations).toEqual({ 'org.opencontainers.image.ref.name': '1.0.0' });
  const { manifests } = blob(top);
  expect(manifests.map(({ platform }: { platform: object }) => platform)).toEqual([
    { architecture: 'amd64', os: 'linux' },
    { architecture: 'arm64', os: 'linux' },
  ]);
  const { config, layers } = blob(manifests[0]);
  const layer = blobs.get(`blobs/${layers[0].digest.replace(':', '/')}`) ?? new Uint8Array();
  const plain = Bun.gunzipSync(new Uint8Array(layer));
  expect(blob(config)).toMatchObject({
    created: TIME.toISOString(),
    config: { User: '1' },
    rootfs: { diff_ids: [`sha256:${sha256(plain)}`] },
  });
});

describe('the list of parts', () => {
  test('is valid CycloneDX, has a license for each part, and the same bytes each time', async () => {
    const parts = [...(await partsOfBinary(root)), glibc('2.36-9')];
    const names = parts.map(({ name }) => name);
    for (const name of [
      'elysia',
      'liquidjs',
      '@unkey/api',
      '@fontsource-variable/inter',
      'gemoji',
      'bun',
      'glibc',
    ])
      expect(names).toContain(name);
    expect(names).not.toContain('knip');
    const subject = { name: 'tidings', version: '1.0.0', time: TIME, type: 'container' } as const;
    const text = sbom(subject, parts);
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
    const { components } = JSON.parse(text);
    expect(components).toHaveLength(parts.length);
    expect(components.filter(({ licenses }: { licenses?: object[] }) => !licenses?.length)).toEqual([]);
    expect(sbom(subject, parts.toReversed())).toBe(text);
    const list = notices(parts);
    for (const { name, version } of parts) expect(list).toContain(`\n${name} ${version}\n\nLicense: `);
    expect(list).toContain('SIL OPEN FONT LICENSE');
  });
});

test('the notes are the section of the changelog, as an import reads it', async () => {
  const changelog =
    '# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-02-03\n\n- New\n\n## [1.0.0] - 2026-01-02\n\n- Old\n';
  expect(await releaseNotes(changelog, '1.1.0')).toBe('- New\n');
  expect(releaseNotes(changelog, '1.2.0')).rejects.toThrow('CHANGELOG.md has no section "[1.2.0] - DATE"');
});

test('two builds that differ are told by the names of the files', async () => {
  const [one, two] = ['one', 'two'].map((name) => join(folder.path, name)) as [string, string];
  for (const path of [one, two]) await Bun.write(join(path, 'equal'), 'equal');
  await Bun.write(join(one, 'other'), '1');
  await Bun.write(join(two, 'other'), '2');
  await Bun.write(join(two, 'more'), '');
  expect(await differences(one, two)).toEqual(['more', 'other']);
});

describe.skipIf(Bun.which('git') === null)('a release is refused', () => {
  const clone = join(folder.path, 'clone');
  const release = async (change: (changelog: string) => string, isCommitted = true) => {
    run(['git', 'clone', '--quiet', root, clone]);
    run(['ln', '-s', join(root, 'node_modules'), clone]);
    await Bun.write(join(clone, '.git/info/exclude'), 'node_modules\n');
    const path = join(clone, 'CHANGELOG.md');
    await Bun.write(path, change(await Bun.file(path).text()));
    const git = ['git', '-c', 'user.name=A', '-c', 'user.email=a@b.test', '-C', clone];
    if (isCommitted) run([...git, 'commit', '--quiet', '--all', '--allow-empty', '--message', 'test']);
    const { exitCode, problem } = run([process.execPath, 'scripts/release.ts', '--checked'], {}, clone);
    run(['rm', '-rf', clone]);
    return { exitCode, problem };
  };
  const withoutUnreleased = (text: string) =>
    text.replace(/## \[Unreleased\].*?(?=^## \[)/ms, '## [Unreleased]\n\n');

  test.each<[string, (text: string) => string, boolean, string]>([
    ['of changed files', (text) => `${text}\n`, false, 'files differ from the commit'],
    [
      'with entries that have no version',
      (text) => withoutUnreleased(text).replace('## [Unreleased]\n', '## [Unreleased]\n\n- New\n'),
      true,
      'CHANGELOG.md has entries without a version',
    ],
    [
      'of another version than the package has',
      (text) => withoutUnreleased(text).replace(/^## \[\d[^\]]*\]/m, '## [99.0.0]'),
      true,
      `CHANGELOG.md releases 99.0.0, but package.json has ${manifest.version}`,
    ],
  ])('%s', async (_, change, isCommitted, message) => {
    expect(await release(change, isCommitted)).toEqual({ exitCode: 1, problem: `error: ${message}\n` });
  });
});

describe('the workflows', async () => {
  const names = (await Array.fromAsync(new Bun.Glob('*').scan(join(root, '.github/workflows')))).sort();

  test.each(names)('%s pins what it runs, and gives each job its own rights', async (name) => {
    const text = await Bun.file(join(root, '.github/workflows', name)).text();
    for (const [line] of text.matchAll(/^.*\b(?:uses|container): (?!\.\/).*$/gm))
      expect(line).toMatch(/@[0-9a-f]{40} # v\d|@sha256:[0-9a-f]{64}$/);
    for (const [, version] of text.matchAll(/\bbun@(\S+)/g))
      expect(`bun@${version}`).toBe(manifest.packageManager);
    const { permissions, jobs } = Bun.YAML.parse(text) as {
      permissions: Record<string, string>;
      jobs: Record<string, { permissions?: object; steps?: { run?: string }[] }>;
    };
    expect(Object.values(permissions).filter((right) => right !== 'read')).toEqual([]);
    for (const { permissions: own = permissions, steps = [] } of Object.values(jobs)) {
      // A person who may write runs no command of ours.
      const runs = steps.flatMap(({ run: script }) => script ?? []).join('\n');
      if (Object.values(own).includes('write')) expect(runs).not.toMatch(/bun|npm|node|sh\b/);
      // A value that somebody else chose is no part of a script.
      expect(runs).not.toContain('${{');
    }
  });

  const linter = Bun.which('actionlint');
  test.skipIf(linter === null)('pass actionlint', () => {
    expect(run([linter ?? ''], {}, root)).toEqual({ exitCode: 0, output: '', problem: '' });
  });
});

describe.skipIf(process.platform !== 'linux')('install.sh', () => {
  const prefix = join(folder.path, 'installed');
  const files = join(folder.path, 'files');
  /** As a release has it, with a script instead of the binary. */
  async function publish(): Promise<string> {
    const lines = [];
    for (const target of ['x64', 'x64-baseline', 'x64-musl', 'arm64', 'arm64-musl'].map(
      (name) => `linux-${name}`,
    )) {
      const name = `tidings-1.0.0-${target}`;
      const inside = ['completions/tidings.bash', 'completions/_tidings', 'completions/tidings.fish'];
      const entries = inside.map((path) => ({ name: `${name}/${path}`, body: '' }));
      const binary = { name: `${name}/tidings`, body: '#!/bin/sh\necho "tidings 1.0.0"\n', mode: 0o755 };
      const archive = gzip(await tar([...entries, binary], TIME));
      await Bun.write(join(files, `${name}.tar.gz`), archive);
      lines.push(`${sha256(archive)}  ${name}.tar.gz`);
    }
    const template = await Bun.file(join(root, 'deploy/install.sh')).text();
    const script = join(folder.path, 'install.sh');
    const values = { VERSION: '1.0.0', URL: `file://${files}`, SHA256SUMS: lines.join('\n') };
    await Bun.write(
      script,
      template.replaceAll(/@(\w+)@/g, (_, name: keyof typeof values) => values[name]),
    );
    return script;
  }
  const install = (script: string) => run(['sh', script], { PREFIX: prefix });

  test.skipIf(Bun.which('curl') === null)('installs the binary and the completions', async () => {
    const { exitCode, output } = install(await publish());
    expect(exitCode).toBe(0);
    expect(output).toContain('tidings 1.0.0\n');
    expect(readdirSync(prefix, { recursive: true }).sort()).toContain('bin/tidings');
    expect(readdirSync(join(prefix, 'bin'))).toEqual(['tidings']);
  });

  test.skipIf(Bun.which('curl') === null)(
    'installs nothing of an archive with another checksum',
    async () => {
      const script = await publish();
      for (const name of readdirSync(files)) await Bun.write(join(files, name), 'forged');
      run(['rm', '-rf', prefix]);
      const { exitCode, problem } = install(script);
      expect(exitCode).toBe(1);
      expect(problem).toContain('is damaged or forged. Nothing was installed.');
      expect(readdirSync(prefix, { recursive: true })).toEqual(['bin']);
    },
  );

  test('says who cannot write, and what to do', async () => {
    run(['rm', '-rf', prefix]);
    mkdirSync(prefix);
    await Bun.write(join(prefix, 'bin'), 'a file');
    chmodSync(prefix, 0o755);
    const { exitCode, problem } = install(await publish());
    expect(exitCode).toBe(1);
    expect(problem).toContain(`cannot write to ${prefix}/bin. Run it with sudo, or set PREFIX`);
  });
});
