import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, examineConfig, readConfig } from '../src/server/config.ts';
import { settingNames, settingOf } from '../src/server/settings.ts';
import { temporaryFolder } from './support/cli.ts';

test('defaults, with nothing set', () => {
  expect<unknown>(readConfig({}, {})).toEqual({
    host: '127.0.0.1',
    port: 3000,
    hsts: 'subdomains',
    allowNetwork: false,
    dataDir: './data',
    providerApis: {
      github: 'https://api.github.com',
      gitlab: 'https://gitlab.com/api/v4',
      forgejo: 'https://codeberg.org/api/v1',
      linear: 'https://api.linear.app/graphql',
    },
    media: { quotaMb: 1024 },
    plainHosts: new Set(),
    hookPrivateHosts: new Set(),
    organizationCreation: 'owners',
    logLevel: 'info',
    logFormat: 'auto',
  });
});

test('everything from the environment', () => {
  expect(
    readConfig(
      {},
      {
        HOST: '::1',
        PORT: '0',
        PUBLIC_URL: 'https://tidings.example.com/',
        HSTS: 'off',
        NETWORK_FILE_SYSTEM: 'allow',
        DATA_DIR: '/data',
        SECRET_KEY: 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=',
        UNKEY_ROOT_KEY: 'unkey_root',
        UNKEY_API_ID: 'api_1',
        UNKEY_BASE_URL: 'http://localhost:9',
        UNKEY_TIMEOUT_MS: '50',
        GITHUB_API_URL: 'https://github.example.com/api/v3/',
        GITLAB_API_URL: 'https://gitlab.example.com/api/v4/',
        FORGEJO_API_URL: 'https://forgejo.example.com/api/v1/',
        LINEAR_API_URL: 'http://localhost:8/graphql',
        AI_URL: 'http://localhost:11434/v1/',
        AI_MODEL: 'llama3.3',
        AI_KEY: 'sk-secret',
        BACKUP_DIR: 's3://backups/team',
        BACKUP_SCHEDULE: '*/30 * * * *',
        BACKUP_KEEP: '3',
        BACKUP_S3_ENDPOINT: 'http://localhost:9000/',
        BACKUP_S3_REGION: 'eu-central-1',
        BACKUP_S3_ACCESS_KEY_ID: 'id',
        BACKUP_S3_SECRET_ACCESS_KEY: 'secret',
        CLIENT_IP_HEADER: 'X-Forwarded-For',
        ORGANIZATION_CREATION: 'nobody',
        LOG_LEVEL: 'silent',
        LOG_FORMAT: 'json',
        METRICS_TOKEN: 'a-token-of-sixteen',
      },
    ),
  ).toEqual({
    host: '::1',
    port: 0,
    publicUrl: 'https://tidings.example.com',
    hsts: 'off',
    allowNetwork: true,
    dataDir: '/data',
    secretKey: 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=',
    unkey: { rootKey: 'unkey_root', apiId: 'api_1', baseUrl: 'http://localhost:9', timeoutMs: 50 },
    providerApis: {
      github: 'https://github.example.com/api/v3',
      gitlab: 'https://gitlab.example.com/api/v4',
      forgejo: 'https://forgejo.example.com/api/v1',
      linear: 'http://localhost:8/graphql',
    },
    assistant: { url: 'http://localhost:11434/v1', model: 'llama3.3', key: 'sk-secret' },
    backups: { dir: 's3://backups/team', schedule: '*/30 * * * *', keep: 3 },
    s3: {
      endpoint: 'http://localhost:9000',
      region: 'eu-central-1',
      accessKeyId: 'id',
      secretAccessKey: 'secret',
    },
    media: { dir: undefined, s3: undefined, quotaMb: 1024 },
    plainHosts: new Set(),
    hookPrivateHosts: new Set(),
    database: undefined,
    clientIpHeader: 'X-Forwarded-For',
    oidc: undefined,
    organizationCreation: 'nobody',
    logLevel: 'silent',
    logFormat: 'json',
    metricsToken: 'a-token-of-sixteen',
  });
});

describe('the settings of an identity provider', () => {
  const rules = '[{"domain":"Acme.example","organization":"acme"}]';
  const all = {
    OIDC_ISSUER: 'https://sso.example.com/o/tidings/',
    OIDC_CLIENT_ID: 'tidings',
    OIDC_CLIENT_SECRET: 'secret',
  };

  test('are read together, and the issuer exactly as it is', () => {
    expect(readConfig({}, { ...all, OIDC_RULES: rules, OIDC_PASSWORDS: 'off' }).oidc).toEqual({
      issuer: 'https://sso.example.com/o/tidings/',
      clientId: 'tidings',
      clientSecret: 'secret',
      name: 'single sign-on',
      scopes: 'openid email',
      rules: [{ organization: 'acme', role: 'member', domain: 'acme.example' }],
      hasPasswords: false,
    });
  });

  test('are refused in part, and over plain http', () => {
    const problemsOf = (environment: Record<string, string>) => examineConfig({}, environment).problems;
    expect(problemsOf({ OIDC_NAME: 'Acme' })).toEqual(['OIDC_NAME needs OIDC_ISSUER. Set both or neither']);
    expect(problemsOf({ OIDC_ISSUER: all.OIDC_ISSUER })).toEqual([
      'OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET. Set all three or none',
    ]);
    expect(problemsOf({ ...all, OIDC_ISSUER: 'http://sso.example.com' })[0]).toStartWith(
      'OIDC_ISSUER must be an https URL',
    );
    expect(problemsOf({ ...all, OIDC_SCOPES: 'email' })[0]).toStartWith('OIDC_SCOPES must be scopes');
  });

  test.each([
    'no JSON',
    '{}',
    '[{}]',
    '[{"organization":"acme"}]',
    '[{"domain":"acme.example"}]',
    '[{"domain":"*.example","organization":"acme"}]',
    '[{"domain":"","organization":"acme"}]',
    '[{"claim":"groups","organization":"acme"}]',
    '[{"value":"x","domain":"acme.example","organization":"acme"}]',
    '[{"domain":"acme.example","organization":"acme","role":"admin"}]',
    '[{"domain":"acme.example","organization":"acme","claims":"groups"}]',
  ])('refuse the rules %s', (text) => {
    expect(examineConfig({}, { ...all, OIDC_RULES: text }).problems[0]).toStartWith(
      'OIDC_RULES must be a JSON list such as',
    );
  });
});

test('the API waits 0.8 seconds for Unkey unless UNKEY_TIMEOUT_MS says otherwise', () => {
  const unkey = { UNKEY_ROOT_KEY: 'unkey_root', UNKEY_API_ID: 'api_1' };
  expect(readConfig({}, unkey).unkey?.timeoutMs).toBe(800);
});

test('the assistant needs a URL and a model, and https unless its host is listed', () => {
  expect(readConfig({}, {}).assistant).toBe(undefined);
  const problemOf = (given: Record<string, string>) => examineConfig({}, given).problems.join();
  expect(problemOf({ AI_URL: 'https://ai.example' })).toBe(
    'AI_URL needs AI_MODEL, the name of a model that it serves',
  );
  expect(problemOf({ AI_KEY: 'sk-secret' })).toBe('AI_MODEL and AI_KEY need AI_URL. Set it, or unset both');
  const local = { AI_URL: 'http://ollama:11434/v1', AI_MODEL: 'llama3.3' };
  expect(problemOf(local)).toContain('AI_URL must be an https URL');
  expect(problemOf(local)).toContain('ALLOW_HTTP=ollama');
  expect(readConfig({}, { ...local, ALLOW_HTTP: 'ollama' }).assistant?.key).toBe(undefined);
  expect(problemOf({ AI_URL: 'https://ai.example', AI_MODEL: 'm', AI_KEY: 'two words' })).not.toContain(
    'two words',
  );
});

test('images in a bucket need its keys, and their secrets are never repeated', () => {
  const { config, problems } = examineConfig(
    {},
    { MEDIA_DIR: 's3://images/team', MEDIA_S3_ACCESS_KEY_ID: 'id' },
  );
  expect(config.media).toBe(null);
  expect(problems).toEqual([
    'MEDIA_S3_ACCESS_KEY_ID and MEDIA_S3_SECRET_ACCESS_KEY must both be set for images in S3',
  ]);
  const keys = { MEDIA_S3_ACCESS_KEY_ID: 'id', MEDIA_S3_SECRET_ACCESS_KEY: 'secret' };
  expect(readConfig({}, { MEDIA_DIR: 's3://images', ...keys, MEDIA_QUOTA_MB: '5' }).media).toEqual({
    dir: 's3://images',
    s3: {
      endpoint: undefined,
      region: undefined,
      accessKeyId: 'id',
      secretAccessKey: 'secret',
    },
    quotaMb: 5,
  });
  expect(examineConfig({}, { MEDIA_S3_SECRET_ACCESS_KEY: 'has space' }).problems.join()).not.toContain(
    'has space',
  );
});

describe('PostgreSQL', () => {
  const SECRET_KEY = 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=';
  const url = 'postgres://tidings:hunter2@db.example.com/tidings';

  test('with a secret key', () => {
    const given = { DATABASE_URL: url, DATABASE_READ_URL: `${url}2`, DATABASE_POOL: '20', SECRET_KEY };
    expect(readConfig({}, given).database).toEqual({ url, readUrl: `${url}2`, pool: 20 });
    expect(readConfig({}, { DATABASE_URL: url, SECRET_KEY }).database).toMatchObject({ url, pool: 10 });
  });

  test.each<[string, Record<string, string>, string]>([
    ['without one', { DATABASE_URL: url }, 'DATABASE_URL needs SECRET_KEY'],
    ['a replica alone', { DATABASE_READ_URL: url }, 'DATABASE_READ_URL needs DATABASE_URL'],
    [
      'with backups of the file',
      { DATABASE_URL: url, SECRET_KEY, BACKUP_DIR: '/b' },
      'Unset it, and back up',
    ],
    ['of another kind', { DATABASE_URL: 'mysql://hunter2@db' }, 'DATABASE_URL must be a PostgreSQL URL'],
    ['too small a pool', { DATABASE_URL: url, SECRET_KEY, DATABASE_POOL: '1' }, 'DATABASE_POOL must be'],
  ])('is refused %s, without its password', (_, environment, message) => {
    const { problems } = examineConfig({}, environment);
    expect(problems.join()).toContain(message);
    expect(problems.join()).not.toContain('hunter2');
  });
});

test('a folder for backups is enough', () => {
  const { backups, s3 } = readConfig({}, { BACKUP_DIR: '/backups' });
  expect({ backups, s3 }).toEqual({
    backups: { dir: '/backups', schedule: '0 3 * * *', keep: 7 },
    s3: undefined,
  });
});

test('flags win over the environment; what is empty is unset', () => {
  expect(
    readConfig({ PORT: '1', HOST: undefined }, { PORT: '2', HOST: '0.0.0.0', LOG_LEVEL: '' }),
  ).toMatchObject({
    port: 1,
    host: '0.0.0.0',
    logLevel: 'info',
  });
});

describe('a wrong value is refused by the name of its variable', () => {
  test.each([
    ['PORT', '65536', 'PORT must be a port number from 0 to 65535 (0 picks a free one), not "65536"'],
    ['PORT', '-1', 'PORT must be'],
    ['PORT', '80.5', 'PORT must be'],
    ['PORT', 'http', 'PORT must be'],
    ['HOST', 'a b', 'HOST must be an address'],
    ['PUBLIC_URL', 'tidings.example.com', 'PUBLIC_URL must be an http or https URL'],
    ['PUBLIC_URL', 'javascript:alert(1)', 'PUBLIC_URL must be'],
    [
      'PUBLIC_URL',
      'https://example.com:8443/tidings/',
      'PUBLIC_URL must have no path, not "/tidings". Give Tidings a host name of its own, such as tidings.example.com:8443, and its proxy the lines in docs/proxies.md',
    ],
    ['PUBLIC_URL', 'https://x.test/?a', 'PUBLIC_URL must be'],
    ['UNKEY_TIMEOUT_MS', '0', 'UNKEY_TIMEOUT_MS must be a number of milliseconds from 1 to 60000, not "0"'],
    ['UNKEY_BASE_URL', 'https://x.test/v2', 'UNKEY_BASE_URL must be an http or https URL without a path'],
    ['GITHUB_API_URL', 'github.example.com', 'GITHUB_API_URL must be an http or https URL'],
    ['GITLAB_API_URL', 'gitlab.example.com', 'GITLAB_API_URL must be an http or https URL'],
    ['FORGEJO_API_URL', 'forgejo.example.com', 'FORGEJO_API_URL must be an http or https URL'],
    ['ALLOW_HTTP', 'http://minio', 'ALLOW_HTTP must be host names without ports, separated by commas'],
    ['ALLOW_HTTP', 'minio:9000', 'ALLOW_HTTP must be'],
    ['ALLOW_HTTP', '*', 'ALLOW_HTTP must be'],
    ['LOG_FORMAT', 'text', 'LOG_FORMAT must be one of auto, json, pretty, not "text"'],
    ['BACKUP_SCHEDULE', 'daily', 'BACKUP_SCHEDULE must be a cron expression, such as "0 3 * * *"'],
    ['BACKUP_SCHEDULE', '0 25 * * *', 'BACKUP_SCHEDULE must be'],
    ['BACKUP_SCHEDULE', '0 0 31 2 *', 'BACKUP_SCHEDULE must be'],
    ['BACKUP_KEEP', '0', 'BACKUP_KEEP must be a number of backups from 1 to 10000, not "0"'],
    ['BACKUP_DIR', 's3://', 'BACKUP_DIR must be a folder, or s3://bucket/prefix'],
    ['BACKUP_DIR', 's3:backups', 'BACKUP_DIR must be'],
    [
      'BACKUP_DIR',
      's3://backups',
      'BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY must both be set',
    ],
    ['BACKUP_S3_ACCESS_KEY_ID', 'id', 'BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY must both'],
    [
      'BACKUP_S3_ENDPOINT',
      'localhost:9000',
      'BACKUP_S3_ENDPOINT must be an http or https URL without a path',
    ],
    ['BACKUP_S3_ENDPOINT', 'https://user:pw@x.test', 'BACKUP_S3_ENDPOINT must be'],
    ['BACKUP_S3_REGION', 'eu central', 'BACKUP_S3_REGION must be the name of a region'],
    ['CLIENT_IP_HEADER', 'X Forwarded', 'CLIENT_IP_HEADER must be a header that holds an IP address'],
    ['CLIENT_IP_HEADER', 'Forwarded', 'CLIENT_IP_HEADER must be'],
    ['LOG_LEVEL', 'verbose', 'LOG_LEVEL must be one of debug, info, warn, error, silent, not "verbose"'],
  ])('%s=%s', (name, value, message) => {
    expect(() => readConfig({}, { [name]: value })).toThrow(message);
  });

  test('all of them at once, and a secret is not repeated', () => {
    const wrong = {
      PORT: 'x',
      LOG_LEVEL: 'y',
      UNKEY_ROOT_KEY: 'se cret',
      SECRET_KEY: 'too short',
      METRICS_TOKEN: 'guess',
      BACKUP_S3_ACCESS_KEY_ID: 'my id',
      BACKUP_S3_SECRET_ACCESS_KEY: 'my secret',
    };
    expect(() => readConfig({}, wrong)).toThrow(ConfigError);
    try {
      readConfig({}, wrong);
    } catch (error) {
      const { message } = error as Error;
      expect(message.split('\n')).toHaveLength(7);
      expect(message).not.toMatch(/se cret|too short|guess|my id|my secret/);
    }
  });
});

describe('a secret in a file', () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  const inFile = (content: string) => {
    const path = join(folder.path, 'secret');
    writeFileSync(path, content);
    return path;
  };
  const problemsOf = (environment: Record<string, string>, flags = {}) =>
    examineConfig(flags, environment).problems;

  test.each(settingNames.filter((name) => settingOf(name).isSecret))('%s_FILE names it', (name) => {
    const file = inFile('wrong value\n');
    const [problem = ''] = problemsOf({ [`${name}_FILE`]: file });
    expect(problem).toBe(`${name} must be ${settingOf(name).expected}, not the content of ${file}`);
    const both = problemsOf({ [name]: 'x', [`${name}_FILE`]: file });
    expect(both).toContain(`${name} and ${name}_FILE are both set. Unset one of them`);
    expect(both.filter((each) => each.startsWith(`${name} must be`))).toEqual([]);
    const [unreadable = ''] = problemsOf({ [`${name}_FILE`]: join(folder.path, 'none') });
    expect(unreadable).toMatch(
      new RegExp(`^${name}_FILE: user \\S+( \\(\\d+\\))? cannot read ${folder.path}/none \\(ENOENT\\)$`),
    );
  });

  test('one line break at its end is no part of it', () => {
    const token = 'a-token-of-sixteen';
    for (const content of [token, `${token}\n`, `${token}\r\n`]) {
      expect(readConfig({}, { METRICS_TOKEN_FILE: inFile(content) }).metricsToken).toBe(token);
    }
    for (const content of ['', '\n', `${token}\n\n`, ` ${token}`]) {
      expect(problemsOf({ METRICS_TOKEN_FILE: inFile(content) })).toHaveLength(1);
    }
  });

  test('a flag wins over the environment, whichever of the two names it has', () => {
    const [first, second] = ['the-first-token-of-all', 'the-second-token-of-all'];
    const file = inFile(second);
    const flag = (flags: Record<string, string>) =>
      readConfig(flags, { METRICS_TOKEN: first, METRICS_TOKEN_FILE: '' }).metricsToken;
    expect(flag({})).toBe(first);
    expect(flag({ METRICS_TOKEN_FILE: file })).toBe(second);
    expect(readConfig({ METRICS_TOKEN: first }, { METRICS_TOKEN_FILE: file }).metricsToken).toBe(first);
  });

  test('a folder is named, and has no value', () => {
    const path = join(folder.path, 'folder');
    mkdirSync(path);
    const { config, problems } = examineConfig({}, { SECRET_KEY_FILE: path });
    expect(problems).toEqual([expect.stringContaining(`cannot read ${path} (EISDIR)`)]);
    expect(config.secretKey).toBe(null);
  });
});

describe('a setting of Unkey without UNKEY_ROOT_KEY', () => {
  test.each([
    ['UNKEY_API_ID', 'api_1'],
    ['UNKEY_BASE_URL', 'https://unkey.example.com'],
    ['UNKEY_TIMEOUT_MS', '800'],
  ])('%s is refused', (name, value) => {
    expect(() => readConfig({}, { [name]: value })).toThrow(
      `${name} needs UNKEY_ROOT_KEY. Set both or neither`,
    );
    expect(readConfig({}, { [name]: value, UNKEY_ROOT_KEY: 'unkey_root' }).unkey).toBeDefined();
    expect(readConfig({}, { [name]: '', UNKEY_ROOT_KEY: '' }).unkey).toBeUndefined();
  });
});

describe('a setting that cannot be used has no value, not its default', () => {
  const base = { UNKEY_ROOT_KEY: 'unkey_root', BACKUP_DIR: '/backups' };
  test.each([
    [{ HOST: 'a b' }, { host: null }],
    [{ PORT: 'http' }, { port: null }],
    [{ PUBLIC_URL: 'example.com' }, { publicUrl: null }],
    [{ PUBLIC_URL: 'https://example.com/tidings' }, { publicUrl: null }],
    [{ DATA_DIR: 'x'.repeat(5000) }, { dataDir: null }],
    [{ SECRET_KEY: 'short' }, { secretKey: null }],
    [{ UNKEY_ROOT_KEY: 'a b' }, { unkey: null }],
    [{ UNKEY_BASE_URL: 'unkey.example.com' }, { unkey: null }],
    [{ UNKEY_API_ID: 'a b' }, { unkey: null }],
    [{ UNKEY_TIMEOUT_MS: 'x' }, { unkey: null }],
    [{ UNKEY_ROOT_KEY: '', UNKEY_API_ID: 'api_1' }, { unkey: null }],
    [{ GITHUB_API_URL: 'example.com' }, { providerApis: null }],
    [{ GITLAB_API_URL: 'example.com' }, { providerApis: null }],
    [{ FORGEJO_API_URL: 'example.com' }, { providerApis: null }],
    [{ LINEAR_API_URL: 'example.com' }, { providerApis: null }],
    [{ BACKUP_DIR: 's3:' }, { backups: null }],
    [{ BACKUP_SCHEDULE: 'daily' }, { backups: null }],
    [{ BACKUP_KEEP: '0' }, { backups: null }],
    [{ BACKUP_S3_ACCESS_KEY_ID: 'id' }, { s3: null }],
    [
      { BACKUP_S3_ACCESS_KEY_ID: 'id', BACKUP_S3_SECRET_ACCESS_KEY: 's', BACKUP_S3_ENDPOINT: 'x' },
      { s3: null },
    ],
    [{ LOG_LEVEL: 'loud' }, { logLevel: null }],
    [{ LOG_FORMAT: 'text' }, { logFormat: null }],
    [{ METRICS_TOKEN: 'short' }, { metricsToken: null }],
  ])('%p', (wrong, expected) => {
    const { config, problems } = examineConfig({}, { ...base, ...wrong } as Record<string, string>);
    expect(problems).toHaveLength(1);
    expect(config).toEqual({ ...readConfig({}, base), ...expected } as typeof config);
  });
});

describe('plain http to another machine', () => {
  const services = [
    'UNKEY_BASE_URL',
    'GITHUB_API_URL',
    'GITLAB_API_URL',
    'FORGEJO_API_URL',
    'LINEAR_API_URL',
    'BACKUP_S3_ENDPOINT',
  ];
  const problemOf = (environment: Record<string, string>) =>
    examineConfig({}, { UNKEY_ROOT_KEY: 'k', ...environment }).problems;
  const refusal = (name: string, host: string) =>
    `${name} must be an https URL: anyone on the network can read plain http. To allow it, set ALLOW_HTTP=${host}`;

  test.each(services)('%s needs https, except on this machine', (name) => {
    for (const host of [
      'other.example.com',
      'localhost.example.com',
      'localhost@other',
      '10.0.0.1',
      '[::2]',
    ]) {
      expect(problemOf({ [name]: `http://${host}` })).toEqual([expect.stringContaining(name)]);
      expect(problemOf({ [name]: `https://${host.replace('localhost@', '')}` })).toEqual([]);
    }
    for (const host of ['localhost', '127.0.0.1:9000', '127.9.9.9', '[::1]:9000']) {
      expect(problemOf({ [name]: `http://${host}` })).toEqual([]);
    }
  });

  test.each(services)('%s names the host to allow, and has no value', (name) => {
    const { config, problems } = examineConfig({}, { UNKEY_ROOT_KEY: 'k', [name]: 'http://Minio:9000' });
    const full = refusal(name, 'minio');
    expect(problems).toEqual([name === 'LINEAR_API_URL' ? full.slice(0, full.indexOf('. To allow')) : full]);
    expect(JSON.stringify(config)).not.toMatch(/minio/i);
  });

  test('ALLOW_HTTP allows the hosts it lists for every service but Linear, whose SDK refuses', () => {
    const environment = (host: string) =>
      Object.fromEntries(services.map((name) => [name, `http://${host}`]));
    const ALLOW_HTTP = 'unkey.internal, Minio,[fd00::1]';
    for (const host of ['unkey.internal', 'minio:9000', 'MINIO', '[fd00::1]']) {
      expect(problemOf({ ...environment(host), ALLOW_HTTP })).toEqual([
        expect.stringContaining('LINEAR_API_URL must be an https URL'),
      ]);
    }
    for (const host of ['internal', 'a.minio', 'minio.example.com', '[fd00::2]']) {
      expect(problemOf({ ...environment(host), ALLOW_HTTP })).toHaveLength(6);
    }
    expect(readConfig({ ALLOW_HTTP: 'minio' }, { GITHUB_API_URL: 'http://minio' }).providerApis.github).toBe(
      'http://minio',
    );
  });
});
