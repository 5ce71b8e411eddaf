import type { Hsts } from '../http/request.ts';
import { readRules } from '../people/oidc/rules.ts';
import type { OrganizationCreation } from '../people/organizations.ts';

// Each setting is declared once, here: its variable, its flag, its bounds, and the words of help and errors.
// TypeBox is not used, because every start would load it for this alone.

/** Reads a value from its text; null when it is none. */
type Reader<Value> = (given: string) => Value | null;

const text =
  ({ pattern = '', minLength = 0, maxLength = Number.POSITIVE_INFINITY }): Reader<string> =>
  (given) =>
    given.length >= minLength && given.length <= maxLength && new RegExp(pattern).test(given) ? given : null;

const integer =
  (minimum: number, maximum: number): Reader<number> =>
  (given) => {
    const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
    return value >= minimum && value <= maximum ? value : null;
  };

interface Setting {
  /** Stands for the value in the help, as in `--port <number>`. */
  readonly value: string;
  readonly read: Reader<string | number>;
  readonly default?: string | number;
  /** Ends the sentence "PORT must be …". */
  readonly expected: string;
  readonly help: string;
  /** Errors never repeat the value, and `NAME_FILE` may name a file that holds it. */
  readonly isSecret?: true;
  /**
   * The base URL of another service, which gets keys or contents. It needs https, except on this machine and, where `listed`,
   * for the hosts of ALLOW_HTTP.
   */
  readonly plainHttp?: 'listed' | 'never';
  /** A base URL whose slash at the end counts. */
  readonly isExact?: true;
}

const httpUrl = text({ pattern: '^https?://[^\\s/?#]+(/[^\\s?#]*)?$', maxLength: 2048 });

const word = (maxLength: number) => text({ minLength: 1, maxLength, pattern: '^\\S+$' });

const wholeNumber = (what: string, minimum: number, maximum: number) => ({
  read: integer(minimum, maximum),
  expected: `a ${what} from ${minimum} to ${maximum}`,
});

const oneOf = <Name extends string>(...names: Name[]) => ({
  read: (given: string) => names.find((name) => name === given) ?? null,
  expected: `one of ${names.join(', ')}`,
});

const hosts = (example: string) => ({
  value: 'hosts',
  read: text({
    pattern: '^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(?:, ?(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]))*$',
    maxLength: 2048,
  }),
  expected: `host names without ports, separated by commas, such as ${example}`,
});

const postgresUrl = {
  value: 'url',
  read: text({ pattern: '^postgres(ql)?://', maxLength: 4096 }),
  isSecret: true,
} as const;

const folderOrBucket = {
  value: 'folder',
  read: text({
    minLength: 1,
    maxLength: 4096,
    pattern: '^(?!s3:)|^s3://[^\\s/?#]+(/[^\\s?#]*)?$',
  }),
  expected: 'a folder, or s3://bucket/prefix',
};

const providerUrl = (url: string, example: string, help: string) => ({
  value: 'url',
  read: httpUrl,
  default: url,
  expected: `an http or https URL, such as ${example}`,
  help,
  plainHttp: 'listed' as const,
});

const bucket = {
  ENDPOINT: {
    value: 'url',
    read: text({ pattern: '^https?://[^\\s/?#@]+/?$', maxLength: 2048 }),
    expected: 'an http or https URL without a path',
    help: 'S3-compatible store (default: AWS)',
    plainHttp: 'listed',
  },
  REGION: {
    value: 'region',
    read: text({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
    expected: 'the name of a region, such as eu-central-1',
    help: 'Region of the bucket',
  },
  ACCESS_KEY_ID: {
    value: 'id',
    read: word(255),
    expected: 'the ID of an access key',
    help: 'Access key for the bucket',
    isSecret: true,
  },
  SECRET_ACCESS_KEY: {
    value: 'key',
    read: word(512),
    expected: 'a secret access key',
    help: 'Secret of the access key',
    isSecret: true,
  },
} as const satisfies Record<string, Setting>;

type BucketSettings<Prefix extends S3Prefix> = {
  readonly [Part in keyof typeof bucket as `${Prefix}_${Part}`]: (typeof bucket)[Part];
};

/** Settings of a bucket begin with it. */
export type S3Prefix = 'BACKUP_S3' | 'MEDIA_S3';

const bucketSettings = <Prefix extends S3Prefix>(prefix: Prefix) =>
  Object.fromEntries(
    Object.entries(bucket).map(([part, setting]) => [`${prefix}_${part}`, setting]),
  ) as unknown as BucketSettings<Prefix>;

/** By environment variable, in the order of `serve --help`. A provider's base URL is its type and `_API_URL`. */
export const settings = {
  HOST: {
    value: 'address',
    read: word(255),
    default: '127.0.0.1',
    expected: 'an address to listen on, such as 127.0.0.1 or 0.0.0.0',
    help: 'Address to listen on',
  },
  PORT: {
    value: 'number',
    read: integer(0, 65535),
    default: 3000,
    expected: 'a port number from 0 to 65535 (0 picks a free one)',
    help: 'Port to listen on; 0 picks a free one',
  },
  PUBLIC_URL: {
    value: 'url',
    read: httpUrl,
    expected: 'an http or https URL without a path, such as https://tidings.example.com',
    help: 'Public address, for links and webhook URLs (default: http://localhost:PORT)',
  },
  HSTS: {
    value: 'scope',
    ...oneOf<Hsts>('subdomains', 'host', 'off'),
    default: 'subdomains',
    help: 'Strict-Transport-Security header when PUBLIC_URL is https: for the host and its subdomains, for the host, or off',
  },
  DATA_DIR: {
    value: 'folder',
    read: text({ minLength: 1, maxLength: 4096 }),
    default: './data',
    expected: 'a folder',
    help: 'Folder with the database and the secret key',
  },
  NETWORK_FILE_SYSTEM: {
    value: 'mode',
    ...oneOf<'refuse' | 'allow'>('refuse', 'allow'),
    default: 'refuse',
    help: 'Whether serve may start with DATA_DIR on a network file system, which can lose or damage the database',
  },
  DATABASE_URL: {
    ...postgresUrl,
    expected: 'a PostgreSQL URL, such as postgres://user:password@db.example.com/tidings?sslmode=verify-full',
    help: 'PostgreSQL instead of the embedded database: postgres://user:password@host/database',
  },
  DATABASE_READ_URL: {
    ...postgresUrl,
    expected: 'the PostgreSQL URL of a read replica',
    help: 'Read replica for the content API, which may lag by up to 10 seconds',
  },
  DATABASE_POOL: {
    value: 'number',
    ...wholeNumber('number of connections', 2, 100),
    default: 10,
    help: 'Maximum number of PostgreSQL connections of each process',
  },
  SECRET_KEY: {
    value: 'base64',
    read: text({ pattern: '^[A-Za-z0-9+/]{43}=$' }),
    expected: '32 bytes in base64, as "openssl rand -base64 32" prints them',
    help: 'Key that encrypts stored secrets (default: secret.key in the data folder, created at the first start; required with DATABASE_URL)',
    isSecret: true,
  },
  UNKEY_ROOT_KEY: {
    value: 'key',
    read: word(512),
    expected: 'an Unkey root key',
    help: 'Unkey root key, to verify and manage API keys with Unkey',
    isSecret: true,
  },
  UNKEY_API_ID: {
    value: 'id',
    read: word(255),
    expected: 'the ID of an Unkey API, such as api_1234',
    help: 'Unkey API for new keys',
  },
  UNKEY_BASE_URL: {
    value: 'url',
    read: text({ pattern: '^https?://[^\\s/?#]+/?$', maxLength: 2048 }),
    expected: 'an http or https URL without a path',
    help: "Base URL of Unkey (default: Unkey's own)",
    plainHttp: 'listed',
  },
  UNKEY_TIMEOUT_MS: {
    value: 'ms',
    ...wholeNumber('number of milliseconds', 1, 60_000),
    default: 800,
    help: 'Timeout for Unkey, in milliseconds; then the API responds with 503',
  },
  GITHUB_API_URL: providerUrl(
    'https://api.github.com',
    'https://github.example.com/api/v3',
    "GitHub's API; for Enterprise Server, https://HOST/api/v3",
  ),
  GITLAB_API_URL: providerUrl(
    'https://gitlab.com/api/v4',
    'https://gitlab.example.com/api/v4',
    "GitLab's API; for a self-managed GitLab, https://HOST/api/v4",
  ),
  FORGEJO_API_URL: providerUrl(
    'https://codeberg.org/api/v1',
    'https://forgejo.example.com/api/v1',
    'API of Forgejo or Gitea, https://HOST/api/v1',
  ),
  LINEAR_API_URL: {
    value: 'url',
    read: httpUrl,
    default: 'https://api.linear.app/graphql',
    expected: 'an https URL, such as https://api.linear.app/graphql',
    help: "Linear's GraphQL API",
    plainHttp: 'never',
  },
  ALLOW_HTTP: {
    ...hosts('unkey.internal,minio'),
    help: 'Hosts that Tidings may call over plain http; this machine is always allowed, except for images',
  },
  HOOK_PRIVATE_HOSTS: {
    ...hosts('build.internal'),
    help: 'Hosts in a private network that hooks may call, also over plain http (default: none)',
  },
  AI_URL: {
    value: 'url',
    read: httpUrl,
    expected: 'an http or https URL, such as http://localhost:11434/v1',
    help: 'Base URL of an OpenAI-compatible API that suggests wording for drafts; it may be in a private network (default: no assistant)',
    plainHttp: 'listed',
  },
  AI_MODEL: {
    value: 'name',
    read: word(200),
    expected: 'the name of a model, such as llama3.3',
    help: 'Model for suggestions',
  },
  AI_KEY: {
    value: 'key',
    read: word(512),
    expected: 'an API key',
    help: 'Key for AI_URL (default: none)',
    isSecret: true,
  },
  BACKUP_DIR: {
    ...folderOrBucket,
    help: 'Target of scheduled backups: a folder, or s3://bucket/prefix (default: no backups)',
  },
  BACKUP_SCHEDULE: {
    value: 'cron',
    read: text({ minLength: 1, maxLength: 255 }),
    default: '0 3 * * *',
    expected: 'a cron expression, such as "0 3 * * *" for each day at 03:00 UTC',
    help: 'Schedule of backups, as a cron expression in UTC',
  },
  BACKUP_KEEP: {
    value: 'number',
    ...wholeNumber('number of backups', 1, 10_000),
    default: 7,
    help: 'Number of backups to keep; older ones are deleted',
  },
  ...bucketSettings('BACKUP_S3'),
  MEDIA_DIR: {
    ...folderOrBucket,
    help: 'Folder or s3://bucket/prefix for images of posts (default: media in the data folder; with DATABASE_URL it must be s3://…)',
  },
  MEDIA_QUOTA_MB: {
    value: 'number',
    ...wholeNumber('number of megabytes', 1, 1_000_000),
    default: 1024,
    help: 'Megabytes of images that each organization may store',
  },
  ...bucketSettings('MEDIA_S3'),
  CLIENT_IP_HEADER: {
    value: 'name',
    // `Forwarded` holds more than addresses.
    read: text({ pattern: '^(?![Ff]orwarded$)[A-Za-z][A-Za-z0-9-]{0,63}$' }),
    expected: 'a header that holds an IP address, such as X-Forwarded-For',
    help: "Header in which your proxy sends the client's address (default: the address of the connection)",
  },
  OIDC_ISSUER: {
    value: 'url',
    read: httpUrl,
    expected: 'the https URL of an identity provider, such as https://sso.example.com/realms/acme',
    help: "Issuer URL of your team's identity provider, for sign-in with OpenID Connect (default: none)",
    plainHttp: 'listed',
    isExact: true,
  },
  OIDC_CLIENT_ID: {
    value: 'id',
    read: word(255),
    expected: 'the client ID that the identity provider gave you',
    help: 'Client ID at the identity provider',
  },
  OIDC_CLIENT_SECRET: {
    value: 'secret',
    read: word(1024),
    expected: 'the client secret that the identity provider gave you',
    help: 'Client secret at the identity provider',
    isSecret: true,
  },
  OIDC_NAME: {
    value: 'name',
    read: text({ minLength: 1, maxLength: 60, pattern: '^[^\\p{Cc}]*\\S[^\\p{Cc}]*$' }),
    default: 'single sign-on',
    expected: 'a name of 1 to 60 characters',
    help: 'Name of the identity provider, for the button "Continue with …"',
  },
  OIDC_SCOPES: {
    value: 'scopes',
    read: text({ pattern: '^(?=(?:.* )?openid(?: |$))[!-~]+(?: [!-~]+)*$', maxLength: 512 }),
    default: 'openid email',
    expected: 'scopes separated by spaces, openid among them, such as "openid email groups"',
    help: 'Scopes to ask the identity provider for',
  },
  OIDC_RULES: {
    value: 'json',
    read: (given: string) => (readRules(given) === null ? null : given),
    expected:
      'a JSON list such as [{"domain":"acme.example","organization":"acme","role":"member"}], whose rules have a domain, or a claim and its value',
    help: 'Who may enter which organization: a JSON list of rules (docs/sign-in.md)',
  },
  OIDC_PASSWORDS: {
    value: 'mode',
    ...oneOf<'on' | 'off'>('on', 'off'),
    default: 'on',
    help: 'Whether people may also sign in with a password when there is an identity provider',
  },
  ORGANIZATION_CREATION: {
    value: 'who',
    ...oneOf<OrganizationCreation>('owners', 'anyone', 'nobody'),
    default: 'owners',
    help: 'Who may create organizations in the dashboard: owners of one, anyone with an account, or nobody',
  },
  LOG_LEVEL: {
    value: 'level',
    ...oneOf('debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    help: 'Log level: debug, info, warn, error or silent',
  },
  LOG_FORMAT: {
    value: 'format',
    ...oneOf('auto', 'json', 'pretty'),
    default: 'auto',
    help: 'Log format: json, pretty, or auto (pretty on a terminal)',
  },
  METRICS_TOKEN: {
    value: 'token',
    read: text({ minLength: 16, maxLength: 512, pattern: '^[!-~]+$' }),
    expected: 'a token of 16 to 512 characters without spaces, as "openssl rand -hex 32" prints one',
    help: 'Bearer token for /metrics (default: only clients on this machine may read it)',
    isSecret: true,
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;

export type Value<Name extends SettingName> =
  | Exclude<ReturnType<(typeof settings)[Name]['read']>, null>
  | ((typeof settings)[Name] extends { default: unknown } ? never : undefined);

export const settingNames = Object.keys(settings) as SettingName[];

/** The same setting without the literal types. */
export const settingOf = (name: SettingName): Setting => settings[name];

export function optionOf(name: SettingName, help = settingOf(name).help): [flag: string, help: string] {
  const { value, default: byDefault } = settingOf(name);
  return [
    `${flagOf(name)} <${value}>`,
    `${help}${byDefault === undefined ? '' : ` (default: ${byDefault})`} [${name}]`,
  ];
}

/** The flag that names the file of a secret. */
export const fileOptionOf = (name: SettingName): [flag: string, help: string] => [
  `${flagOf(name)}-file <path>`,
  `File with ${name} [${name}_FILE]`,
];

const flagOf = (name: SettingName) => `--${name.toLowerCase().replaceAll('_', '-')}`;
