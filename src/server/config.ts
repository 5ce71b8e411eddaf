import { readFileSync } from 'node:fs';
import { codeOf } from '../lib/app-error.ts';
import { thisUser } from '../lib/disk.ts';
import type { S3Access } from '../lib/file-store.ts';
import { readRules } from '../people/oidc/rules.ts';
import { type S3Prefix, type SettingName, settingNames, settingOf, type Value } from './settings.ts';

// The only reader of the environment. Each variable is also a flag of `serve`, which wins over it. A secret may be in a file
// instead, which `NAME_FILE` names, as containers and systemd pass them.

type ProviderUrl = Extract<SettingName, `${string}_API_URL`>;

export const PROVIDER_URLS = settingNames.filter((name): name is ProviderUrl => name.endsWith('_API_URL'));

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
  const textOf = (name: SettingName | `${SettingName}_FILE`) => flags[name] || environment[name] || undefined;

  function read<Name extends SettingName>(name: Name): Value<Name> | null {
    const { read: readText, default: byDefault, plainHttp, isSecret } = settingOf(name);
    // A flag wins over the environment, whichever of the two names it has.
    const from = flags[name] || flags[`${name}_FILE`] ? flags : environment;
    const file = isSecret && from[`${name}_FILE`];
    if (file) return from[name] ? refuseBoth(name) : (readSecret(name, file) as Value<Name> | null);
    const text = textOf(name);
    if (text === undefined) return byDefault as Value<Name>;
    const value = readText(text);
    if (value === null) return refuse(name, text);
    return plainHttp === undefined ? (value as Value<Name>) : readServiceUrl(name, text, plainHttp);
  }

  function refuseBoth(name: SettingName): null {
    problems.push(`${name} and ${name}_FILE are both set. Unset one of them`);
    return null;
  }

  function readSecret(name: SettingName, file: string): unknown {
    try {
      const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      return settingOf(name).read(text) ?? refuse(name, text, `the content of ${file}`);
    } catch (error) {
      problems.push(`${name}_FILE: ${thisUser()} cannot read ${file} (${codeOf(error)})`);
      return null;
    }
  }

  function refuse(
    name: SettingName,
    text: string,
    shown = settingOf(name).isSecret ? 'the given value' : JSON.stringify(text.slice(0, 80)),
  ): null {
    problems.push(`${name} must be ${settingOf(name).expected}, not ${shown}`);
    return null;
  }

  /** Pages and cookies are made for the root of a host. */
  function readPublicUrl(): string | null | undefined {
    const url = withoutSlash(read('PUBLIC_URL'));
    const { pathname = '/', host } = (url && URL.parse(url)) || {};
    if (pathname === '/') return url;
    problems.push(
      `PUBLIC_URL must have no path, not ${JSON.stringify(pathname.slice(0, 80))}. Give Tidings a host name of its own, such as tidings.${host}, and its proxy the lines in docs/proxies.md`,
    );
    return null;
  }

  /** The URL of another service, without a trailing slash. Plain http would show keys and backups to the network. */
  function readServiceUrl<Name extends SettingName>(name: Name, text: string, plainHttp: 'listed' | 'never') {
    const url = settingOf(name).isExact ? text : withoutSlash(text);
    const { protocol, hostname = '' } = URL.parse(url) ?? {};
    if (protocol === undefined) return refuse(name, url);
    const isAllowed = plainHttp === 'listed' && plainHosts.has(hostname);
    if (protocol === 'https:' || isThisMachine(hostname) || isAllowed) return url as Value<Name>;
    const advice = plainHttp === 'listed' ? `. To allow it, set ALLOW_HTTP=${hostname}` : '';
    problems.push(`${name} must be an https URL: anyone on the network can read plain http${advice}`);
    return null;
  }

  const readHosts = (name: 'ALLOW_HTTP' | 'HOOK_PRIVATE_HOSTS') =>
    new Set((read(name) ?? '').toLowerCase().split(/, ?/).filter(Boolean));
  const plainHosts = readHosts('ALLOW_HTTP');

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
    baseUrl: read('UNKEY_BASE_URL'),
    timeoutMs: read('UNKEY_TIMEOUT_MS'),
  };
  const rootless = (['UNKEY_API_ID', 'UNKEY_BASE_URL', 'UNKEY_TIMEOUT_MS'] as const).filter(
    (name) => rootKey === undefined && textOf(name) !== undefined,
  );
  problems.push(...rootless.map((name) => `${name} needs UNKEY_ROOT_KEY. Set both or neither`));
  const issuer = read('OIDC_ISSUER');
  const oidc = {
    clientId: read('OIDC_CLIENT_ID'),
    clientSecret: read('OIDC_CLIENT_SECRET'),
    name: read('OIDC_NAME'),
    scopes: read('OIDC_SCOPES'),
    rules: readRules(read('OIDC_RULES') ?? '[]'),
    hasPasswords: read('OIDC_PASSWORDS') === 'on',
  };
  const issuerless = settingNames.filter(
    (name) =>
      name.startsWith('OIDC_') &&
      issuer === undefined &&
      (textOf(name) ?? textOf(`${name}_FILE`)) !== undefined,
  );
  problems.push(...issuerless.map((name) => `${name} needs OIDC_ISSUER. Set both or neither`));
  if (issuer !== undefined && (oidc.clientId === undefined || oidc.clientSecret === undefined)) {
    problems.push('OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET. Set all three or none');
  }
  const aiUrl = read('AI_URL');
  const ai = { model: read('AI_MODEL') ?? null, key: read('AI_KEY') };
  if (aiUrl === undefined && (ai.model !== null || ai.key !== undefined))
    problems.push('AI_MODEL and AI_KEY need AI_URL. Set it, or unset both');
  if (aiUrl !== undefined && textOf('AI_MODEL') === undefined)
    problems.push('AI_URL needs AI_MODEL, the name of a model that it serves');
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
    const store = { endpoint: read(`${settings}_ENDPOINT`), region: read(`${settings}_REGION`) };
    if (accessKeyId !== undefined && secretAccessKey !== undefined) {
      return usable({ ...store, accessKeyId, secretAccessKey });
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
    publicUrl: readPublicUrl(),
    hsts: read('HSTS'),
    allowNetwork: read('NETWORK_FILE_SYSTEM') === 'allow',
    dataDir: read('DATA_DIR'),
    secretKey,
    /** PostgreSQL; absent: the file in the data folder. */
    database: databaseUrl === undefined ? undefined : usable({ url: databaseUrl, ...database }),
    unkey: rootless.length > 0 ? null : rootKey === undefined ? undefined : usable({ rootKey, ...unkey }),
    /** By type of provider. */
    providerApis: usable(
      Object.fromEntries(
        PROVIDER_URLS.map((name) => [name.slice(0, -'_API_URL'.length).toLowerCase(), read(name)]),
      ),
    ),
    plainHosts,
    /** Hosts that hooks may call in a private network and over plain http. */
    hookPrivateHosts: readHosts('HOOK_PRIVATE_HOSTS'),
    assistant: aiUrl === undefined ? undefined : usable({ url: aiUrl, ...ai }),
    backups: dir === undefined ? undefined : usable({ dir, ...backups }),
    s3,
    /** Images of posts. */
    media: usable(media),
    clientIpHeader: read('CLIENT_IP_HEADER'),
    /** Sign-in through an identity provider. */
    oidc:
      issuerless.length > 0
        ? null
        : issuer === undefined
          ? undefined
          : usable({
              issuer,
              ...oidc,
              clientId: oidc.clientId ?? null,
              clientSecret: oidc.clientSecret ?? null,
            }),
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
