import type { S3Access } from './lib/bucket.ts';
import type { OrganizationCreation } from './organizations/model.ts';

// The only reader of the environment. Each variable is also a flag of `serve`, which wins over it.

/** Reads a value from its text; null when it is none. */
type Reader<Value> = (given: string) => Value | null;

const text =
  ({ pattern = '', minLength = 0, maxLength = Number.POSITIVE_INFINITY }): Reader<string> =>
  (given) =>
    given.length >= minLength && given.length <= maxLength && new RegExp(pattern).test(given) ? given : null;

const whole =
  ({ minimum, maximum }: { minimum: number; maximum: number }): Reader<number> =>
  (given) => {
    const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
    return value >= minimum && value <= maximum ? value : null;
  };

const oneOf =
  <Word extends string>(...words: Word[]): Reader<Word> =>
  (given) =>
    words.find((word) => word === given) ?? null;

const HttpUrl = text({ pattern: '^https?://[^\\s/?#]+(/[^\\s?#]*)?$', maxLength: 2048 });

const HostNames = text({
  pattern: '^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(?:, ?(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]))*$',
  maxLength: 2048,
});

interface Setting {
  readonly flag: string;
  readonly read: Reader<string | number>;
  readonly default?: string | number;
  /** Ends the sentence "PORT must be …". */
  readonly expected: string;
  readonly help: string;
}

/** The settings of backups and of images have these in common. */
const folderOrBucket = {
  read: text({
    minLength: 1,
    maxLength: 4096,
    pattern: '^(?!s3:)|^s3://[^\\s/?#]+(/[^\\s?#]*)?$',
  }),
  expected: 'a folder, or s3://bucket/prefix',
};
const bucket = {
  endpoint: {
    read: text({ pattern: '^https?://[^\\s/?#@]+/?$', maxLength: 2048 }),
    expected: 'an http or https URL without a path',
    help: 'S3-compatible store (default: AWS)',
  },
  region: {
    read: text({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
    expected: 'the name of a region, such as eu-central-1',
    help: 'Region of the bucket',
  },
  accessKeyId: {
    read: text({ minLength: 1, maxLength: 255, pattern: '^\\S+$' }),
    expected: 'the id of an access key',
    help: 'Access key for the bucket',
  },
  secretAccessKey: {
    read: text({ minLength: 1, maxLength: 512, pattern: '^\\S+$' }),
    expected: 'a secret access key',
    help: 'Secret of the access key',
  },
};

/** Each setting with its variable, flag, bounds and words. `serve --help` is made from it. */
export const settings = {
  HOST: {
    flag: '--host <address>',
    read: text({ minLength: 1, maxLength: 255, pattern: '^\\S+$' }),
    default: '127.0.0.1',
    expected: 'an address to listen on, such as 127.0.0.1 or 0.0.0.0',
    help: 'Address to listen on',
  },
  PORT: {
    flag: '--port <number>',
    read: whole({ minimum: 0, maximum: 65535 }),
    default: 3000,
    expected: 'a port number from 0 to 65535 (0 picks a free one)',
    help: 'Port to listen on; 0 picks a free one',
  },
  PUBLIC_URL: {
    flag: '--public-url <url>',
    read: HttpUrl,
    expected: 'an http or https URL, such as https://tidings.example.com',
    help: 'Public address, for links and webhook URLs (default: http://localhost:PORT)',
  },
  DATA_DIR: {
    flag: '--data-dir <folder>',
    read: text({ minLength: 1, maxLength: 4096 }),
    default: './data',
    expected: 'a folder',
    help: 'Folder with the database and the secret key',
  },
  DATABASE_URL: {
    flag: '--database-url <url>',
    read: text({ pattern: '^postgres(ql)?://', maxLength: 4096 }),
    expected: 'a PostgreSQL URL, such as postgres://user:password@db.example.com/tidings?sslmode=verify-full',
    help: 'PostgreSQL instead of the embedded database: postgres://user:password@host/database',
  },
  DATABASE_READ_URL: {
    flag: '--database-read-url <url>',
    read: text({ pattern: '^postgres(ql)?://', maxLength: 4096 }),
    expected: 'the PostgreSQL URL of a read replica',
    help: 'Read replica for the content API, which may lag by up to 10 seconds',
  },
  DATABASE_POOL: {
    flag: '--database-pool <number>',
    read: whole({ minimum: 2, maximum: 100 }),
    default: 10,
    expected: 'a number of connections from 2 to 100',
    help: 'Maximum number of PostgreSQL connections of each process',
  },
  SECRET_KEY: {
    flag: '--secret-key <base64>',
    read: text({ pattern: '^[A-Za-z0-9+/]{43}=$' }),
    expected: '32 bytes in base64, as "openssl rand -base64 32" prints them',
    help: 'Key that encrypts stored secrets (default: secret.key in the data folder, created at the first start; required with DATABASE_URL)',
  },
  UNKEY_ROOT_KEY: {
    flag: '--unkey-root-key <key>',
    read: text({ minLength: 1, maxLength: 512, pattern: '^\\S+$' }),
    expected: 'an Unkey root key',
    help: 'Unkey root key, to verify and manage API keys with Unkey',
  },
  UNKEY_API_ID: {
    flag: '--unkey-api-id <id>',
    read: text({ minLength: 1, maxLength: 255, pattern: '^\\S+$' }),
    expected: 'the id of an Unkey API, such as api_1234',
    help: 'Unkey API for new keys',
  },
  UNKEY_BASE_URL: {
    flag: '--unkey-base-url <url>',
    read: text({ pattern: '^https?://[^\\s/?#]+/?$', maxLength: 2048 }),
    expected: 'an http or https URL without a path',
    help: "Base URL of Unkey (default: Unkey's own)",
  },
  UNKEY_TIMEOUT_MS: {
    flag: '--unkey-timeout-ms <ms>',
    read: whole({ minimum: 1, maximum: 60_000 }),
    default: 800,
    expected: 'a number of milliseconds from 1 to 60000',
    help: 'Timeout for Unkey, in milliseconds; then the API responds with 503',
  },
  GITHUB_API_URL: {
    flag: '--github-api-url <url>',
    read: HttpUrl,
    default: 'https://api.github.com',
    expected: 'an http or https URL, such as https://github.example.com/api/v3',
    help: "GitHub's API; for Enterprise Server, https://HOST/api/v3",
  },
  GITLAB_API_URL: {
    flag: '--gitlab-api-url <url>',
    read: HttpUrl,
    default: 'https://gitlab.com/api/v4',
    expected: 'an http or https URL, such as https://gitlab.example.com/api/v4',
    help: "GitLab's API; for a self-managed GitLab, https://HOST/api/v4",
  },
  FORGEJO_API_URL: {
    flag: '--forgejo-api-url <url>',
    read: HttpUrl,
    default: 'https://codeberg.org/api/v1',
    expected: 'an http or https URL, such as https://forgejo.example.com/api/v1',
    help: 'API of Forgejo or Gitea, https://HOST/api/v1',
  },
  LINEAR_API_URL: {
    flag: '--linear-api-url <url>',
    read: HttpUrl,
    default: 'https://api.linear.app/graphql',
    expected: 'an https URL, such as https://api.linear.app/graphql',
    help: "Linear's GraphQL API",
  },
  ALLOW_HTTP: {
    flag: '--allow-http <hosts>',
    read: HostNames,
    expected: 'host names without ports, separated by commas, such as unkey.internal,minio',
    help: 'Hosts that Tidings may call over plain http; this machine is always allowed, except for images',
  },
  HOOK_PRIVATE_HOSTS: {
    flag: '--hook-private-hosts <hosts>',
    read: HostNames,
    expected: 'host names without ports, separated by commas, such as build.internal',
    help: 'Hosts in a private network that hooks may call, also over plain http (default: none)',
  },
  BACKUP_DIR: {
    flag: '--backup-dir <folder>',
    ...folderOrBucket,
    help: 'Target of scheduled backups: a folder, or s3://bucket/prefix (default: no backups)',
  },
  BACKUP_SCHEDULE: {
    flag: '--backup-schedule <cron>',
    read: text({ minLength: 1, maxLength: 255 }),
    default: '0 3 * * *',
    expected: 'a cron expression, such as "0 3 * * *" for each day at 03:00 UTC',
    help: 'Schedule of backups, as a cron expression in UTC',
  },
  BACKUP_KEEP: {
    flag: '--backup-keep <number>',
    read: whole({ minimum: 1, maximum: 10_000 }),
    default: 7,
    expected: 'a number of backups from 1 to 10000',
    help: 'Number of backups to keep; older ones are deleted',
  },
  BACKUP_S3_ENDPOINT: {
    flag: '--backup-s3-endpoint <url>',
    ...bucket.endpoint,
  },
  BACKUP_S3_REGION: {
    flag: '--backup-s3-region <region>',
    ...bucket.region,
  },
  BACKUP_S3_ACCESS_KEY_ID: {
    flag: '--backup-s3-access-key-id <id>',
    ...bucket.accessKeyId,
  },
  BACKUP_S3_SECRET_ACCESS_KEY: {
    flag: '--backup-s3-secret-access-key <key>',
    ...bucket.secretAccessKey,
  },
  MEDIA_DIR: {
    flag: '--media-dir <folder>',
    ...folderOrBucket,
    help: 'Folder or s3://bucket/prefix for images of posts (default: media in the data folder; with DATABASE_URL it must be s3://…)',
  },
  MEDIA_QUOTA_MB: {
    flag: '--media-quota-mb <number>',
    read: whole({ minimum: 1, maximum: 1_000_000 }),
    default: 1024,
    expected: 'a number of megabytes from 1 to 1000000',
    help: 'Megabytes of images that each organization may store',
  },
  MEDIA_S3_ENDPOINT: {
    flag: '--media-s3-endpoint <url>',
    ...bucket.endpoint,
  },
  MEDIA_S3_REGION: {
    flag: '--media-s3-region <region>',
    ...bucket.region,
  },
  MEDIA_S3_ACCESS_KEY_ID: {
    flag: '--media-s3-access-key-id <id>',
    ...bucket.accessKeyId,
  },
  MEDIA_S3_SECRET_ACCESS_KEY: {
    flag: '--media-s3-secret-access-key <key>',
    ...bucket.secretAccessKey,
  },
  CLIENT_IP_HEADER: {
    flag: '--client-ip-header <name>',
    // `Forwarded` holds more than addresses.
    read: text({ pattern: '^(?![Ff]orwarded$)[A-Za-z][A-Za-z0-9-]{0,63}$' }),
    expected: 'a header that holds an IP address, such as X-Forwarded-For',
    help: "Header in which your proxy sends the client's address (default: the address of the connection)",
  },
  ORGANIZATION_CREATION: {
    flag: '--organization-creation <who>',
    read: oneOf<OrganizationCreation>('owners', 'anyone', 'nobody'),
    default: 'owners',
    expected: 'one of owners, anyone, nobody',
    help: 'Who may create organizations in the dashboard: owners of one, anyone with an account, or nobody',
  },
  LOG_LEVEL: {
    flag: '--log-level <level>',
    read: text({ pattern: '^(?:debug|info|warn|error|silent)$' }),
    default: 'info',
    expected: 'one of debug, info, warn, error, silent',
    help: 'Log level: debug, info, warn, error or silent',
  },
  LOG_FORMAT: {
    flag: '--log-format <format>',
    read: oneOf('auto', 'json', 'pretty'),
    default: 'auto',
    expected: 'one of auto, json, pretty',
    help: 'Log format: json, pretty, or auto (pretty on a terminal)',
  },
  METRICS_TOKEN: {
    flag: '--metrics-token <token>',
    read: text({ minLength: 16, maxLength: 512, pattern: '^[!-~]+$' }),
    expected: 'a token of 16 to 512 characters without spaces, as "openssl rand -hex 32" prints one',
    help: 'Bearer token for /metrics (default: only clients on this machine may read it)',
  },
} as const satisfies Record<string, Setting>;

type SettingName = keyof typeof settings;
type ServiceUrlName = 'UNKEY_BASE_URL' | (typeof PROVIDER_URLS)[number] | `${S3Prefix}_ENDPOINT`;

/** Settings of a bucket begin with it. */
type S3Prefix = 'BACKUP_S3' | 'MEDIA_S3';

/** The settings of the providers' APIs. */
export const PROVIDER_URLS = [
  'GITHUB_API_URL',
  'GITLAB_API_URL',
  'FORGEJO_API_URL',
  'LINEAR_API_URL',
] as const;

/** Errors about these never repeat the value. */
const secretSettings: ReadonlySet<SettingName> = new Set([
  'DATABASE_URL',
  'DATABASE_READ_URL',
  'UNKEY_ROOT_KEY',
  'SECRET_KEY',
  'METRICS_TOKEN',
  'BACKUP_S3_ACCESS_KEY_ID',
  'BACKUP_S3_SECRET_ACCESS_KEY',
  'MEDIA_S3_ACCESS_KEY_ID',
  'MEDIA_S3_SECRET_ACCESS_KEY',
]);

/** A setting's value; undefined only where there is no default. */
type Value<Name extends SettingName> =
  | Exclude<ReturnType<(typeof settings)[Name]['read']>, null>
  | ((typeof settings)[Name] extends { default: unknown } ? never : undefined);

/** The settings as the server uses them; undefined where one is not set and has no default. */
export type Config = { [Name in keyof ExaminedConfig]: Exclude<ExaminedConfig[Name], null> };

/** Null: a setting is wrong, so there is no value. Falling back to a default could send a secret elsewhere. */
export type ExaminedConfig = ReturnType<typeof examineConfig>['config'];

/** A setting that is missing or wrong. The message names the variable and says what it must be. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A setting that is set to the empty string counts as unset, as container tools leave it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The configuration from `flags` (keyed by variable), then the environment, then the defaults.
 * Throws `ConfigError`, with a line for each setting that is wrong.
 */
export function readConfig(flags?: Environment, environment?: Environment): Config {
  const { config, problems } = examineConfig(flags, environment);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config as Config;
}

/** The kind of terminal, such as `xterm-256color`. The terminal sets it, so it is no setting. */
export const terminalName = (): string => Bun.env.TERM ?? '';

/** Reads the same settings without throwing. Every null in `config` has its line in `problems`. */
export function examineConfig(flags: Environment = {}, environment: Environment = Bun.env) {
  const problems: string[] = [];
  const textOf = (name: SettingName) => flags[name] || environment[name] || undefined;

  function read<Name extends SettingName>(name: Name): Value<Name> | null {
    const setting: Setting = settings[name];
    const text = textOf(name);
    if (text === undefined) return setting.default as Value<Name>;
    const value = setting.read(text);
    if (value === null) refuse(name, text);
    return value as Value<Name> | null;
  }

  function refuse(name: SettingName, text: string): void {
    const shown = secretSettings.has(name) ? 'the given value' : JSON.stringify(text.slice(0, 80));
    problems.push(`${name} must be ${settings[name].expected}, not ${shown}`);
  }

  const readHosts = (name: 'ALLOW_HTTP' | 'HOOK_PRIVATE_HOSTS') =>
    new Set((read(name) ?? '').toLowerCase().split(/, ?/).filter(Boolean));
  const plainHosts = readHosts('ALLOW_HTTP');

  /** Reads the URL of another service, without a trailing slash. Plain http would show keys and backups to the network. */
  function readServiceUrl<Name extends ServiceUrlName>(name: Name): Value<Name> | null {
    const url = withoutSlash(read(name));
    if (url === undefined || url === null) return url as Value<Name> | null;
    const { protocol, hostname = '' } = URL.parse(url) ?? {};
    if (protocol === undefined) {
      refuse(name, url);
      return null;
    }
    // Linear's API client refuses any other http URL.
    const isAllowed = name !== 'LINEAR_API_URL' && plainHosts.has(hostname);
    if (protocol === 'https:' || isThisMachine(hostname) || isAllowed) return url;
    const advice = name === 'LINEAR_API_URL' ? '' : `. To allow it, set ALLOW_HTTP=${hostname}`;
    problems.push(`${name} must be an https URL: anyone on the network can read plain http${advice}`);
    return null;
  }

  const secretKey = read('SECRET_KEY');
  const databaseUrl = read('DATABASE_URL');
  const database = { readUrl: read('DATABASE_READ_URL'), pool: read('DATABASE_POOL') };
  if (databaseUrl !== undefined && secretKey === undefined) {
    problems.push(
      'DATABASE_URL needs SECRET_KEY: all processes encrypt with one key. "openssl rand -base64 32" prints one',
    );
  }
  if (databaseUrl === undefined && database.readUrl !== undefined) {
    problems.push('DATABASE_READ_URL needs DATABASE_URL. Set both or neither');
  }
  if (databaseUrl !== undefined && textOf('BACKUP_DIR') !== undefined) {
    problems.push(
      'BACKUP_DIR works only with SQLite. Unset it, and back up PostgreSQL with pg_dump or point-in-time recovery (docs/postgresql.md)',
    );
  }
  const rootKey = read('UNKEY_ROOT_KEY');
  const unkey = {
    apiId: read('UNKEY_API_ID'),
    baseUrl: readServiceUrl('UNKEY_BASE_URL'),
    timeoutMs: read('UNKEY_TIMEOUT_MS'),
  };
  const rootless = (['UNKEY_API_ID', 'UNKEY_BASE_URL', 'UNKEY_TIMEOUT_MS'] as const).filter(
    (name) => rootKey === undefined && textOf(name) !== undefined,
  );
  problems.push(...rootless.map((name) => `${name} needs UNKEY_ROOT_KEY. Set both or neither`));
  const dir = read('BACKUP_DIR');
  const backups = { schedule: read('BACKUP_SCHEDULE'), keep: read('BACKUP_KEEP') };
  // Not for the default: the first look at a schedule takes 7 ms.
  if (textOf('BACKUP_SCHEDULE') !== undefined && backups.schedule !== null && !isCron(backups.schedule)) {
    refuse('BACKUP_SCHEDULE', backups.schedule);
    backups.schedule = null;
  }

  /** The access to a bucket; null when a setting is wrong or one of the keys is missing. */
  function readAccess(settings: S3Prefix, isNeeded: boolean, what: string): S3Access | null | undefined {
    const accessKeyId = read(`${settings}_ACCESS_KEY_ID`);
    const secretAccessKey = read(`${settings}_SECRET_ACCESS_KEY`);
    const store = { endpoint: readServiceUrl(`${settings}_ENDPOINT`), region: read(`${settings}_REGION`) };
    if (accessKeyId !== undefined && secretAccessKey !== undefined) {
      return usable({ settings, ...store, accessKeyId, secretAccessKey });
    }
    if (!isNeeded && accessKeyId === undefined && secretAccessKey === undefined) return undefined;
    problems.push(
      `${settings}_ACCESS_KEY_ID and ${settings}_SECRET_ACCESS_KEY must both be set for ${what} in S3`,
    );
    return null;
  }

  const s3 = readAccess('BACKUP_S3', dir?.startsWith('s3:') === true, 'backups');
  const mediaDir = read('MEDIA_DIR');
  const media = {
    dir: mediaDir,
    s3: readAccess('MEDIA_S3', mediaDir?.startsWith('s3:') === true, 'images'),
    quotaMb: read('MEDIA_QUOTA_MB'),
  };
  const config = {
    host: read('HOST'),
    port: read('PORT'),
    publicUrl: withoutSlash(read('PUBLIC_URL')),
    dataDir: read('DATA_DIR'),
    secretKey,
    /** PostgreSQL; absent: the file in the data folder. */
    database: databaseUrl === undefined ? undefined : usable({ url: databaseUrl, ...database }),
    unkey: rootless.length > 0 ? null : rootKey === undefined ? undefined : usable({ rootKey, ...unkey }),
    providerApis: usable({
      github: readServiceUrl('GITHUB_API_URL'),
      gitlab: readServiceUrl('GITLAB_API_URL'),
      forgejo: readServiceUrl('FORGEJO_API_URL'),
      linear: readServiceUrl('LINEAR_API_URL'),
    }),
    /** Hosts that may be asked over plain http. */
    plainHosts,
    /** Hosts that hooks may call in a private network and over plain http. */
    hookPrivateHosts: readHosts('HOOK_PRIVATE_HOSTS'),
    backups: dir === undefined ? undefined : usable({ dir, ...backups }),
    s3,
    /** Images of posts. */
    media: usable(media),
    clientIpHeader: read('CLIENT_IP_HEADER'),
    organizationCreation: read('ORGANIZATION_CREATION'),
    logLevel: read('LOG_LEVEL'),
    logFormat: read('LOG_FORMAT'),
    metricsToken: read('METRICS_TOKEN'),
  };
  return { config, problems };
}

/** The parts of a group of settings; null when one of them is wrong. */
function usable<Parts extends object>(parts: Parts) {
  type Usable = { [Name in keyof Parts]: Exclude<Parts[Name], null> };
  return Object.values(parts).includes(null) ? null : (parts as Usable);
}

function withoutSlash<Url extends string | null | undefined>(url: Url): Url {
  return (typeof url === 'string' ? url.replace(/\/+$/, '') : url) as Url;
}

/** A host as `URL` spells it: an IPv4 address in any notation comes out as four decimal numbers. */
function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** True for a cron expression that has a next run. */
function isCron(text: string): boolean {
  try {
    return Bun.cron.parse(text) !== null;
  } catch {
    return false;
  }
}
