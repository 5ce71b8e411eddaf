import { packTar } from 'modern-tar';

// Writes archives whose bytes depend on nothing but what they hold: names in order, one time, one owner.

export interface Entry {
  /** Without a slash at the beginning. */
  name: string;
  /** Absent: a folder, or a link. */
  body?: string | Uint8Array;
  linkname?: string;
  mode?: number;
  /** The numeric id of user and group; default root. */
  owner?: number;
}

/** A tar archive of the entries and the folders above them. */
export async function tar(entries: readonly Entry[], mtime: Date): Promise<Uint8Array> {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  for (const { name } of entries) {
    const parts = name.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/');
      if (!byName.has(folder)) byName.set(folder, { name: folder });
    }
  }
  const sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return packTar(
    sorted.map(({ name, body, linkname, mode, owner = 0 }) => {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      const owned = { mtime, uid: owner, gid: owner };
      if (linkname !== undefined) {
        return { header: { ...owned, name, size: 0, type: 'symlink', linkname, mode: 0o777 } };
      }
      if (bytes === undefined) {
        return { header: { ...owned, name: `${name}/`, size: 0, type: 'directory', mode: mode ?? 0o755 } };
      }
      return { header: { ...owned, name, size: bytes.length, mode: mode ?? 0o644 }, body: bytes };
    }),
  );
}

/** By libdeflate: zlib's bytes depend on the processor. */
export const gzip = (bytes: Uint8Array): Uint8Array =>
  Bun.gzipSync(new Uint8Array(bytes), { library: 'libdeflate', level: 6 });

export const sha256 = (bytes: string | Uint8Array): string =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

/** A Debian package: see deb(5). `control` are the files of the package manager, `data` those of the package. */
export async function deb(
  control: readonly Entry[],
  data: readonly Entry[],
  time: Date,
): Promise<Uint8Array> {
  const dotted = (entries: readonly Entry[]) =>
    entries.map((entry) => ({ ...entry, name: `./${entry.name}` }));
  const members: [string, Uint8Array][] = [
    ['debian-binary', Buffer.from('2.0\n')],
    ['control.tar.gz', gzip(await tar(dotted(control), time))],
    ['data.tar.gz', gzip(await tar(dotted(data), time))],
  ];
  const seconds = String(time.getTime() / 1000);
  return Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...members.flatMap(([name, bytes]) => [
      Buffer.from(
        `${name.padEnd(16)}${seconds.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`,
      ),
      bytes,
      Buffer.from(bytes.length % 2 === 0 ? '' : '\n'),
    ]),
  ]);
}

interface Image {
  architecture: 'amd64' | 'arm64';
  files: readonly Entry[];
}

/** What a container runs: `config` of the OCI image specification. */
export type ImageConfig = Record<string, unknown> & { Labels: Record<string, string> };

/** An OCI image layout, as a tar archive: one image of one layer for each architecture, under the tag. */
export async function ociLayout(
  images: readonly Image[],
  config: ImageConfig,
  { tag, time }: { tag: string; time: Date },
): Promise<Uint8Array> {
  const blobs: Entry[] = [];
  const created = time.toISOString();
  const store = (type: string, bytes: Uint8Array) => {
    blobs.push({ name: `blobs/sha256/${sha256(bytes)}`, body: bytes });
    return {
      mediaType: `application/vnd.oci.image.${type}`,
      digest: `sha256:${sha256(bytes)}`,
      size: bytes.length,
    };
  };
  const storeJson = (type: string, value: object) =>
    store(`${type}+json`, Buffer.from(JSON.stringify(value)));
  const index = (manifests: object[]) => ({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests,
  });
  const manifests: object[] = [];
  for (const { architecture, files } of images) {
    const layer = await tar(files, time);
    const platform = { architecture, os: 'linux' };
    const manifest = {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: storeJson('config.v1', {
        created,
        ...platform,
        config,
        rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
        history: [{ created, created_by: 'scripts/release.ts' }],
      }),
      layers: [store('layer.v1.tar+gzip', gzip(layer))],
      annotations: config.Labels,
    };
    manifests.push({ ...storeJson('manifest.v1', manifest), platform });
  }
  const annotations = { 'org.opencontainers.image.ref.name': tag };
  const top = index([{ ...storeJson('index.v1', index(manifests)), annotations }]);
  return tar(
    [
      ...blobs,
      { name: 'oci-layout', body: '{"imageLayoutVersion":"1.0.0"}' },
      { name: 'index.json', body: JSON.stringify(top) },
    ],
    time,
  );
}

/**
 * The settings of the image as the last stage of a Dockerfile writes them. `values` replace its build arguments. Throws for
 * an instruction that it does not know.
 */
export function readDockerfile(text: string, values: Readonly<Record<string, string>>): ImageConfig {
  const lines = text
    .replaceAll(/\\\n\s*/g, '')
    .replaceAll(/\$(\w+)/g, (_, name: string) => values[name] ?? '')
    .split('\n');
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')) + 1);
  const config: ImageConfig = { Labels: {} };
  const pairs = (words: string) =>
    Array.from(words.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g), ([, name = '', quoted, bare = '']) => [
      name,
      quoted ?? bare,
    ]);
  const read: Record<string, (words: string) => void> = {
    COPY: () => undefined,
    ARG: () => undefined,
    LABEL: (words) => Object.assign(config.Labels, Object.fromEntries(pairs(words))),
    ENV: (words) => {
      const before = Array.isArray(config.Env) ? config.Env : [];
      config.Env = [...before, ...pairs(words).map((pair) => pair.join('='))];
    },
    WORKDIR: (words) => {
      config.WorkingDir = words;
    },
    VOLUME: (words) => {
      config.Volumes = { [words]: {} };
    },
    EXPOSE: (words) => {
      config.ExposedPorts = { [`${words}/tcp`]: {} };
    },
    USER: (words) => {
      config.User = words;
    },
    STOPSIGNAL: (words) => {
      config.StopSignal = words;
    },
    ENTRYPOINT: (words) => {
      config.Entrypoint = JSON.parse(words);
    },
    CMD: (words) => {
      config.Cmd = JSON.parse(words);
    },
    HEALTHCHECK: (words) => {
      const option = (name: string) => Number(new RegExp(`--${name}=(\\d+)`).exec(words)?.[1]);
      const nanoseconds = (name: string) => option(name) * 1e9;
      config.Healthcheck = {
        Test: ['CMD', ...JSON.parse(words.slice(words.indexOf('[')))],
        Interval: nanoseconds('interval'),
        Timeout: nanoseconds('timeout'),
        StartPeriod: nanoseconds('start-period'),
        Retries: option('retries'),
      };
    },
  };
  for (const line of stage.filter((each) => /^[A-Z]/.test(each))) {
    const [, instruction = '', words = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
    const reader = read[instruction];
    if (reader === undefined) throw new Error(`Dockerfile: no reader for ${instruction}`);
    reader(words);
  }
  return config;
}
