import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from './connection.ts';

// DATABASE_URL as libpq reads it (postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS).

/** An address that cannot be used. The message names the parameter and says what to do, without any password. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

export interface Address {
  readonly name: string;
  readonly isLocal: boolean;
  readonly sslMode: SslMode;
  /** To be tried one after the other: `sslmode` may allow connections with and without TLS. */
  readonly ways: readonly ConnectionOptions[];
  readonly connectMs: number | null;
}

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

const PARAMETERS = [
  'application_name',
  'channel_binding',
  'connect_timeout',
  'dbname',
  'host',
  'options',
  'password',
  'port',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'user',
] as const;
type Parameters = Partial<Record<(typeof PARAMETERS)[number], string>>;

export function parseAddress(text: string): Address {
  const given = readParameters(text);
  const host = given.host ?? 'localhost';
  const port = readNumber('port', given.port ?? '5432', 1, 65_535);
  const username = given.user ?? userInfo().username;
  const database = given.dbname ?? username;
  const socket = host.startsWith('/') ? join(host, `.s.PGSQL.${port}`) : null;
  const connection = {
    application_name: given.application_name ?? 'tidings',
    ...(given.options === undefined ? {} : { options: given.options }),
  };
  const base = {
    username,
    database,
    ...(given.password === undefined ? {} : { password: given.password }),
    ...(socket === null ? { hostname: host, port } : { path: socket }),
    channelBinding: oneOf('channel_binding', given.channel_binding ?? 'prefer', [
      'disable',
      'prefer',
      'require',
    ]),
    connection,
  };
  const timeout = given.connect_timeout && readNumber('connect_timeout', given.connect_timeout, 0, 2_147_483);
  return {
    isLocal: socket !== null || /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host),
    sslMode: readSslMode(given),
    name: `${socket ?? `${host}:${port}`}/${database}`,
    ways: (socket === null ? tlsWays(given) : [PLAIN]).map(
      (way) => ({ ...base, ...way }) as ConnectionOptions,
    ),
    connectMs: timeout ? timeout * 1_000 : null,
  };
}

const FORM = /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^@/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;
const HOST = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/;

function readParameters(text: string): Parameters {
  const [isOfForm, user = '', password = '', hosts = '', database = '', query = ''] = FORM.exec(text) ?? [];
  const given: Parameters = {};
  const set = (name: keyof Parameters, value: string) => {
    const decoded = decode(name, value);
    if (decoded !== '') given[name] = decoded;
  };
  for (const pair of query.split('&').filter(Boolean)) {
    const [name = '', ...value] = pair.split('=');
    const known = PARAMETERS.find((each) => each === name);
    if (known === undefined) {
      throw new AddressError(`Tidings does not know the parameter "${name}". Remove it from the URL`);
    }
    set(known, value.join('='));
  }
  if (`${hosts}${given.host}`.includes(',')) {
    throw new AddressError('it has several hosts. Use one, such as the address of a proxy or load balancer');
  }
  const [isHost, host = '', port = ''] = HOST.exec(hosts) ?? [];
  // A "@" after the host is one of the password: it must appear in no message.
  if (isOfForm === undefined || isHost === undefined || database.includes('@')) {
    throw new AddressError(
      'it does not have the form postgres://user:password@host:port/database. The characters @, /, ? and % in a password must be percent-encoded',
    );
  }
  set('user', user);
  set('password', password);
  set('host', host.replace(/^\[(.*)\]$/, '$1'));
  set('port', port);
  set('dbname', database);
  return given;
}

function decode(name: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new AddressError(`its ${name} is not percent-encoded correctly`);
  }
}

function readNumber(name: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < min || number > max)
    throw new AddressError(`its parameter "${name}" must be a number from ${min} to ${max}`);
  return number;
}

function oneOf<Value extends string>(name: string, text: string, values: readonly Value[]): Value {
  const value = values.find((each) => each === text);
  if (value === undefined)
    throw new AddressError(`its parameter "${name}" must be one of ${values.join(', ')}`);
  return value;
}

const PLAIN = { tls: false };

function readSslMode({ sslmode }: Parameters): SslMode {
  return oneOf('sslmode', sslmode ?? 'prefer', SSL_MODES);
}

function tlsWays(given: Parameters): Record<string, unknown>[] {
  const mode = readSslMode(given);
  if (mode === 'disable') return [PLAIN];
  const root = given.sslrootcert;
  if (mode === 'verify-ca' && (root === undefined || root === 'system')) {
    throw new AddressError(
      'sslmode=verify-ca needs the parameter "sslrootcert" with the file of your certificate authority. For a public authority, use verify-full',
    );
  }
  if ((given.sslcert === undefined) !== (given.sslkey === undefined))
    throw new AddressError('the parameters "sslcert" and "sslkey" belong together. Set both or neither');
  const files = {
    ...(root === undefined || root === 'system' ? {} : { ca: readFile('sslrootcert', root) }),
    ...(given.sslcert === undefined ? {} : { cert: readFile('sslcert', given.sslcert) }),
    ...(given.sslkey === undefined ? {} : { key: readFile('sslkey', given.sslkey) }),
  };
  const secure = (verified: SslMode) => ({
    // Bun takes the mode from a URL alone.
    url: `postgres://localhost/?sslmode=${verified}`,
    ...(Object.keys(files).length === 0 ? {} : { tls: files }),
  });
  switch (mode) {
    case 'allow':
      return [PLAIN, secure('require')];
    case 'prefer':
      return [secure('require'), PLAIN];
    case 'require':
      // As in libpq, a root certificate is checked in this mode too.
      return [secure(root === 'system' ? 'verify-full' : root === undefined ? 'require' : 'verify-ca')];
    default:
      return [secure(mode)];
  }
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new AddressError(`the file of its parameter "${name}" cannot be read: ${path}`);
  }
}
