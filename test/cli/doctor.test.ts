import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/time.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { startTidings } from '../support/server.ts';
import { holdDeadAddress } from '../support/unkey/faults.ts';
import { API_ID, OTHER_API_ID, permissionOn, ROOT_KEY, startUnkeyServer } from '../support/unkey-server.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const dataDir = () => join(folder.path, 'data');
const json = (...words: string[]) => cliJson(dataDir(), words);

interface Report {
  ok: boolean;
  checks: { name: string; status: string; message: string; advice?: string }[];
}

/** Runs doctor without requests to other machines. */
async function examine(environment: Record<string, string> = {}, ...words: string[]) {
  const { exitCode, stdout, stderr } = await cli(dataDir(), ['doctor', '--offline', '--json', ...words], {
    environment: { PORT: '0', ...environment },
  });
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as Report;
  expect(report.ok).toBe(report.checks.every(({ status }) => status !== 'failed'));
  expect(exitCode).toBe(report.ok ? 0 : 1);
  const named = (name: string) => report.checks.find((each) => each.name === name);
  return { exitCode, report, named, statusOf: (name: string) => named(name)?.status };
}

async function healthy() {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  await json('key', 'create', '--organization', 'acme', '--name', 'A');
  return json('integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b');
}

const PUBLIC = { PUBLIC_URL: 'https://tidings.example.com', BACKUP_DIR: '/backups' };

/** Changes the database behind everybody's back. */
function tamper(sql: string): void {
  using db = new Sqlite(join(dataDir(), 'tidings.db'));
  db.run(sql);
}

/** Every file and folder below, with what would tell a change. */
function snapshot(path: string): Record<string, string> {
  const all = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((each) => join(path, each));
  return Object.fromEntries(
    [path, ...all].map((each) => {
      const { mode, mtimeMs, size } = statSync(each);
      const content = statSync(each).isFile() ? Bun.hash(readFileSync(each)).toString() : '';
      return [each, [mode, mtimeMs, size, content].join()];
    }),
  );
}

test('a healthy folder is all well, and not a byte of it changes', async () => {
  await healthy();
  const before = snapshot(folder.path);
  const { report } = await examine(PUBLIC);
  expect(report.checks.filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(report.checks.map(({ name }) => name)).toEqual([
    'settings',
    'public url',
    'data folder',
    'database file',
    'secret.key',
    'disk',
    'integrity',
    'schema',
    'stored secrets',
    'clock and log',
    'keys',
    'sweep',
    'triggers',
    'deliveries',
    'backups',
    'server',
  ]);
  expect(snapshot(folder.path)).toEqual(before);
});

test('prints a line for each check, with a mark, and advice for each problem', async () => {
  await healthy();
  chmodSync(dataDir(), 0o755);
  const { exitCode, stdout } = await cli(dataDir(), ['doctor', '--offline'], {
    environment: { PORT: '0', ...PUBLIC },
  });
  expect(exitCode).toBe(0);
  expect(stdout).toContain('✓ settings: All settings are valid\n✓ public url');
  expect(stdout).toContain(
    `! data folder: ${dataDir()} can be read or written by other users (mode 755)\n    chmod 700 ${dataDir()}\n`,
  );
});

test('a missing folder is reported, not created', async () => {
  const { named, report } = await examine();
  expect(named('data folder')).toMatchObject({
    status: 'failed',
    message: `The folder ${dataDir()} does not exist`,
  });
  expect(report.checks.map(({ name }) => name)).toEqual(['settings', 'data folder', 'server']);
  expect(existsSync(dataDir())).toBe(false);
});

test('an empty folder stays empty', async () => {
  mkdirSync(dataDir(), { mode: 0o700 });
  expect((await examine()).statusOf('database file')).toBe('failed');
  expect(readdirSync(dataDir())).toEqual([]);
});

describe('configuration', () => {
  test('each setting that is wrong is named, and no secret shown', async () => {
    await healthy();
    const wrong = { LOG_LEVEL: 'loud', METRICS_TOKEN: 'planted', UNKEY_TIMEOUT_MS: 'x' };
    const { named } = await examine(wrong);
    expect(named('settings')?.status).toBe('failed');
    for (const name of Object.keys(wrong)) expect(named('settings')?.message).toContain(name);
    expect(named('settings')?.message).not.toContain('planted');
    expect(named('integrity')?.status).toBe('ok');
  });

  test.each([
    [{ UNKEY_ROOT_KEY: ROOT_KEY, UNKEY_BASE_URL: 'unkey.example.com' }, ['unkey', 'clock and others']],
    [{ UNKEY_API_ID: API_ID }, ['unkey', 'clock and others']],
    [{ SECRET_KEY: 'short' }, ['stored secrets', 'secret.key']],
    [{ PUBLIC_URL: 'example.com' }, ['public url']],
    [{ BACKUP_SCHEDULE: 'daily', BACKUP_DIR: '/backups' }, ['backups']],
    [{ PORT: 'http' }, ['server']],
  ])('no check judges by the default of a setting that is wrong: %p', async (wrong, names) => {
    await healthy();
    const { report, statusOf } = await examine({ ...PUBLIC, ...wrong } as Record<string, string>);
    expect(statusOf('settings')).toBe('failed');
    const unchecked = report.checks.filter(({ message }) => message.startsWith('Not checked: '));
    expect(unchecked.map(({ name }) => name).sort()).toEqual(names.toSorted());
    expect(unchecked.every(({ status }) => status === 'warning')).toBe(true);
  });

  test.each([
    { UNKEY_ROOT_KEY: ROOT_KEY, UNKEY_BASE_URL: 'unkey.example.com' },
    { UNKEY_ROOT_KEY: ROOT_KEY, UNKEY_TIMEOUT_MS: 'x' },
    { UNKEY_ROOT_KEY: 'a b', UNKEY_API_ID: API_ID },
    { GITHUB_API_URL: 'github.example.com' },
    { LINEAR_API_URL: 'http://linear.example.com' },
  ])('nothing is sent while %p', async (wrong) => {
    await healthy();
    const sent: string[] = [];
    const fetched = spyOn(globalThis, 'fetch').mockImplementation((async (request: Request | string) => {
      sent.push(typeof request === 'string' ? request : request.url);
      throw new Error('refused by the test');
    }) as unknown as typeof fetch);
    try {
      const environment = { PORT: '0', ...(wrong as Record<string, string>) };
      expect((await cli(dataDir(), ['doctor', '--json'], { environment })).exitCode).toBe(1);
    } finally {
      fetched.mockRestore();
    }
    expect(sent).toEqual([]);
  });

  test('a data folder that is wrong is not searched for in the default one', async () => {
    const { statusOf, named } = await examine({ DATA_DIR: 'x'.repeat(5000) });
    expect(named('data folder')?.message).toBe('Not checked: DATA_DIR is wrong');
    expect(statusOf('integrity')).toBeUndefined();
  });

  test.each([
    [{}, 'warning'],
    [{ PUBLIC_URL: 'http://localhost:3000' }, 'warning'],
    [{ PUBLIC_URL: 'https://127.0.0.1' }, 'warning'],
    [{ PUBLIC_URL: 'http://tidings.example.com' }, 'warning'],
    [PUBLIC, 'ok'],
  ])('with integrations %p is %s', async (environment: Record<string, string>, status) => {
    await healthy();
    expect((await examine(environment)).statusOf('public url')).toBe(status);
  });

  test('without integrations any address will do', async () => {
    await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
    expect((await examine()).statusOf('public url')).toBe('ok');
  });
});

describe('files', () => {
  test.each([
    ['data folder', '', 0o750, 'warning', 'chmod 700'],
    ['database file', 'tidings.db', 0o644, 'warning', 'chmod 600'],
    ['secret.key', 'secret.key', 0o640, 'failed', 'chmod 600'],
  ])('%s that others can read', async (name, file, mode, status, advice) => {
    await healthy();
    chmodSync(join(dataDir(), file), mode);
    const { named } = await examine(PUBLIC);
    expect(named(name)).toMatchObject({ status });
    expect(named(name)?.advice).toStartWith(advice);
    expect(named(name)?.message).toContain(`mode ${mode.toString(8)}`);
  });

  test('a file where the folder should be', async () => {
    writeFileSync(dataDir(), '');
    expect((await examine()).named('data folder')?.message).toBe(`${dataDir()} is not a folder`);
  });
});

describe('the database', () => {
  test('that is none', async () => {
    await healthy();
    writeFileSync(
      join(dataDir(), 'tidings.db'),
      'this is no database, and it is long enough to be read as one',
    );
    const { named, statusOf } = await examine();
    expect(named('database')?.message).toEndWith('cannot be opened: file is not a database');
    expect(statusOf('integrity')).toBeUndefined();
    expect(statusOf('secret.key')).toBe('ok');
  });

  test('that is damaged', async () => {
    await healthy();
    const path = join(dataDir(), 'tidings.db');
    const bytes = readFileSync(path);
    // The pages after the first, which says what is where.
    bytes.fill(0x5a, 3 * 4096, 8 * 4096);
    writeFileSync(path, bytes);
    const { named, report } = await examine();
    expect(named('integrity')?.status).toBe('failed');
    expect(report.checks.length).toBeGreaterThan(10);
  });

  test('with an index that lacks a row: only the full check finds it, as a backup does', async () => {
    await healthy();
    const path = join(dataDir(), 'tidings.db');
    const sqlite = new Sqlite(path);
    sqlite.run('CREATE TABLE probe (value TEXT)');
    sqlite.run('CREATE INDEX probe_by_value ON probe (value)');
    sqlite.run("INSERT INTO probe VALUES ('a needle in the index')");
    sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
    const [[root = 0] = []] = sqlite
      .query("SELECT rootpage FROM sqlite_schema WHERE name = 'probe_by_value'")
      .values() as number[][];
    sqlite.close();
    const bytes = readFileSync(path);
    const page = bytes.subarray((root - 1) * 4096, root * 4096);
    page.write('b', page.indexOf('a needle'));
    writeFileSync(path, bytes);
    expect((await examine()).statusOf('integrity')).toBe('ok');
    const { named } = await examine({}, '--full');
    expect(named('integrity')?.status).toBe('failed');
    expect(named('integrity')?.message).toContain('probe_by_value');
    expect((await cli(dataDir(), ['backup', join(folder.path, 'a.backup')])).exitCode).toBe(1);
  });

  test('with rows that refer to nothing', async () => {
    await healthy();
    tamper('PRAGMA foreign_keys = OFF');
    tamper("DELETE FROM organizations WHERE id = 'acme'");
    expect((await examine()).named('integrity')?.message).toMatch(
      /^\d+ rows in the database refer to missing rows/,
    );
  });

  test.each([
    [1, 'warning'],
    [999, 'failed'],
  ])('of schema %i', async (version, status) => {
    await healthy();
    tamper(`PRAGMA user_version = ${version}`);
    expect((await examine()).statusOf('schema')).toBe(status);
  });

  test('without the tables: each check fails by itself', async () => {
    await healthy();
    for (const table of ['deliveries', 'trigger_runs', 'api_keys'])
      tamper(`ALTER TABLE ${table} RENAME TO x${table}`);
    const { named, statusOf } = await examine(PUBLIC);
    for (const name of ['clock and log', 'sweep', 'triggers', 'keys', 'deliveries']) {
      expect(named(name)?.message, name).toStartWith('This could not be checked: ');
    }
    expect(statusOf('schema')).toBe('ok');
  });
});

describe('stored secrets', () => {
  const OTHER = Buffer.alloc(32, 1).toString('base64');

  test('under another key', async () => {
    const { integrationId } = await healthy();
    const { named } = await examine({ SECRET_KEY: OTHER });
    expect(named('stored secrets')).toMatchObject({ status: 'failed' });
    expect(named('stored secrets')?.message).toContain(integrationId);
    expect(named('secret.key')?.message).toEndWith('but SECRET_KEY is used instead');
  });

  test.each(['', 'not a key'])('with the key file %j', async (content) => {
    await healthy();
    writeFileSync(join(dataDir(), 'secret.key'), content);
    expect((await examine()).statusOf('stored secrets')).toBe('failed');
  });

  test('without a key there must be none', async () => {
    await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
    writeFileSync(join(dataDir(), 'secret.key'), '');
    expect((await examine()).statusOf('stored secrets')).toBe('ok');
  });
});

/** A delivery in the log, as it would be. */
function addDelivery(
  integrationId: string,
  id: string,
  status: string,
  createdAt: Date,
  expiresAt = 9e15,
): void {
  tamper(`INSERT INTO deliveries (id, organization_id, integration_id, integration_type, title, status, status_code,
    reason, count, duration_ms, retention_days, created_at, expires_at) VALUES ('${id}', 'acme', '${integrationId}',
    'github', 'T', '${status}', 401, 'Because', 1, 1, 7, '${createdAt.toISOString()}', ${expiresAt})`);
}

const ago = (ms: number) => new Date(systemClock.now().getTime() - ms);
const HOUR_MS = 3_600_000;

describe('the clock', () => {
  test.each([
    [-HOUR_MS, 'failed'],
    [1000, 'ok'],
  ])('when the newest delivery is %i ms old', async (ageMs, status) => {
    const { integrationId } = await healthy();
    addDelivery(integrationId, 'dlv_1', 'processed', ago(ageMs));
    expect((await examine()).statusOf('clock and log')).toBe(status);
  });

  test.each([
    [0, 'ok'],
    [20_000, 'warning'],
    [-HOUR_MS, 'failed'],
  ])('when another server differs by %i ms', async (ms, status) => {
    using other = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response('{}', { headers: { date: ago(ms).toUTCString() } }),
    });
    const { statusOf } = await examine({ UNKEY_ROOT_KEY: ROOT_KEY, UNKEY_BASE_URL: other.url.origin });
    expect(statusOf('clock and others')).toBe(status);
  });
});

describe('Unkey', () => {
  const settings = (url: string, more: Record<string, string> = {}) => ({
    UNKEY_ROOT_KEY: ROOT_KEY,
    UNKEY_API_ID: API_ID,
    UNKEY_BASE_URL: url,
    ...more,
  });

  const NEEDED = ['verify_key', 'create_key', 'read_key', 'update_key', 'delete_key', 'read_api']
    .map((action) => `api.${API_ID}.${action}`)
    .join(', ');

  /** A key that was not made by Tidings. */
  async function createForeignKey(url: string, fields: object): Promise<string> {
    const response = await fetch(`${url}/v2/keys.createKey`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ROOT_KEY}` },
      body: JSON.stringify(fields),
    });
    return ((await response.json()) as { data: { key: string } }).data.key;
  }

  test('that has no such API, for a root key that may look at every API', async () => {
    using unkey = startUnkeyServer({ clock: systemClock });
    unkey.permissions.add(permissionOn('read_api', '*'));
    const { named } = await examine(settings(unkey.url, { UNKEY_API_ID: 'api_other' }));
    expect(named('unkey')?.message).toBe("Unkey has no API api_other in the root key's workspace");
  });

  async function withKey() {
    const unkey = startUnkeyServer({ clock: systemClock });
    await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
    const environment = settings(unkey.url);
    const words = ['key', 'create', '--organization', 'acme', '--name', 'A'];
    const { key } = await cliJson(dataDir(), words, { environment });
    return { unkey, environment, key: key as string };
  }

  test('that works, without a key and with one that is good', async () => {
    const { unkey, environment, key } = await withKey();
    using _ = unkey;
    expect((await examine(environment)).named('unkey')).toMatchObject({ status: 'ok' });
    const { named } = await examine(environment, '--key', key);
    expect(named('unkey')?.message).toBe('Unkey verifies the given key: VALID. The API accepts it');
    expect(named('keys')).toBeUndefined();
  });

  test('whose root key may not verify is distinguished from an unknown key', async () => {
    const { unkey, environment, key } = await withKey();
    using _ = unkey;
    expect((await examine(environment, '--key', 'tdk_nobodys')).statusOf('unkey')).toBe('warning');
    unkey.permissions.delete(permissionOn('verify_key'));
    const { named, report } = await examine(environment, '--key', key);
    expect(named('unkey')?.status).toBe('failed');
    expect(named('unkey')?.advice).toBe(`Give the root key these permissions at Unkey: ${NEEDED}`);
    expect(JSON.stringify(report)).not.toContain(key);
  });

  test.each([
    ['read_api', `it lacks api.${API_ID}.read_api, or UNKEY_API_ID is wrong`],
    ['read_key', `it lacks api.${API_ID}.read_key`],
  ] as const)('whose root key lacks %s, which Unkey masks as a missing API', async (action, message) => {
    const { unkey, environment } = await withKey();
    using _ = unkey;
    unkey.permissions.delete(permissionOn(action));
    const { named } = await examine(environment);
    expect(named('unkey')?.status).toBe('failed');
    expect(named('unkey')?.message).toBe(`The root key may not list keys: ${message}`);
    expect(named('unkey')?.advice).toContain(NEEDED);
  });

  test('whose root key has permissions on every API', async () => {
    const { unkey, environment, key } = await withKey();
    using _ = unkey;
    unkey.permissions.add(permissionOn('read_api', '*'));
    for (const words of [[], ['--key', key]]) {
      const { named } = await examine(environment, ...words);
      expect(named('unkey')?.status).toBe('warning');
      expect(named('unkey')?.message).toStartWith('The root key has permissions on every API');
      expect(named('unkey')?.advice).toBe(`Limit the root key at Unkey to ${NEEDED}`);
    }
  });

  test('whose root key verifies a key of another API', async () => {
    const { unkey, environment } = await withKey();
    using _ = unkey;
    for (const action of ['create_key', 'verify_key'] as const) {
      unkey.permissions.add(permissionOn(action, OTHER_API_ID));
    }
    const key = await createForeignKey(unkey.url, {
      ...{ apiId: OTHER_API_ID, externalId: 'acme', permissions: ['api.read'] },
    });
    const { named } = await examine(environment, '--key', key);
    expect(named('unkey')?.status).toBe('warning');
    expect(named('unkey')?.message).toStartWith(`The given key is not a key of ${API_ID}, and passes`);
    expect(named('unkey')?.advice).toBe(`Limit the root key at Unkey to ${NEEDED}`);
  });

  test.each([
    ['DISABLED', '401 INVALID_KEY'],
    ['EXPIRED', '401 INVALID_KEY'],
    ['USAGE_EXCEEDED', '429'],
    ['RATE_LIMITED', '429'],
    ['INSUFFICIENT_PERMISSIONS', '403 Forbidden'],
    ['FORBIDDEN', '403 Forbidden'],
    ['A_CODE_OF_TOMORROW', '401 INVALID_KEY'],
  ])('that answers %s for the given key: the API answers %s', async (code, answer) => {
    const { unkey, environment, key } = await withKey();
    using _ = unkey;
    unkey.answerNext({ valid: false, code });
    const { named } = await examine(environment, '--key', key);
    expect(named('unkey')?.status).toBe('failed');
    expect(named('unkey')?.message).toBe(
      `Unkey answers ${code} for the given key, so the API answers ${answer}`,
    );
    expect(named('unkey')?.advice).toBeString();
  });

  test.each([
    [{ permissions: [] }, 'so the API answers 403 Forbidden'],
    [{ externalId: 'gone' }, 'has the external ID gone, which is no organization here'],
    [{ externalId: undefined }, 'has no external ID'],
  ])('with a key that the API answers 403: %p', async (fields, message) => {
    const { unkey, environment } = await withKey();
    using _ = unkey;
    const key = await createForeignKey(unkey.url, {
      ...{ apiId: API_ID, externalId: 'acme', permissions: ['api.read'] },
      ...fields,
    });
    const { named } = await examine(environment, '--key', key);
    expect(named('unkey')?.status).toBe('failed');
    expect(named('unkey')?.message).toContain(message);
  });

  test.each([
    [{ UNKEY_ROOT_KEY: 'unkey_wrong' }, 'failed', 'Unkey does not know the root key'],
    [{ UNKEY_API_ID: 'api_other' }, 'failed', 'it lacks api.api_other.read_api, or UNKEY_API_ID is wrong'],
    [{ UNKEY_API_ID: '' }, 'warning', 'UNKEY_API_ID is not set'],
  ])('with %p', async (more: Record<string, string>, status, message) => {
    using unkey = startUnkeyServer({ clock: systemClock });
    const { named, report } = await examine(settings(unkey.url, more));
    expect(named('unkey')?.status).toBe(status);
    expect(named('unkey')?.message).toContain(message);
    expect(JSON.stringify(report)).not.toContain('unkey_wrong');
  });

  test.each([
    ['answers 500', 'it answered 500'],
    ['answers 502 with a page', 'it answered 502'],
    ['answers broken JSON', 'Unkey failed to'],
    ['answers 403: the root key may not verify', 'The root key may not verify keys'],
  ] as const)('that %s', async (fault, message) => {
    using unkey = startUnkeyServer({ clock: systemClock });
    unkey.fault = fault;
    const { named } = await examine(settings(unkey.url));
    expect(named('unkey')?.status).toBe('failed');
    expect(named('unkey')?.message).toContain(message);
  });

  test('that is not there', async () => {
    using dead = await holdDeadAddress();
    const { named, statusOf } = await examine(settings(dead.url));
    expect(named('unkey')?.message).toStartWith('Unkey failed to verify keys');
    expect(statusOf('clock and others')).toBe('ok');
  });
});

describe('work', () => {
  test('expired rows that nobody removes', async () => {
    const { integrationId } = await healthy();
    addDelivery(integrationId, 'dlv_1', 'processed', ago(HOUR_MS), ago(HOUR_MS / 2).getTime());
    expect((await examine()).statusOf('sweep')).toBe('ok');
    addDelivery(integrationId, 'dlv_2', 'processed', ago(HOUR_MS), ago(2 * HOUR_MS).getTime());
    const { named } = await examine();
    expect(named('sweep')?.status).toBe('warning');
    expect(named('sweep')?.message).toStartWith('0 delivery IDs, 1 log entries, and 0 sessions expired');
  });

  test.each([
    ['queued', 0, 'ok', '1 draft in the queue'],
    ['queued', HOUR_MS, 'warning', '1 draft in the queue, the oldest since'],
    ['failed', 0, 'warning', 'a/b: 1 draft failed after several attempts'],
  ])('a draft that is %s since %i ms', async (state, ageMs, status, message) => {
    const { integrationId } = await healthy();
    const { id } = await json(
      ...[
        'trigger',
        'create',
        '--integration',
        integrationId,
        '--event',
        'release',
        '--content-type',
        'changelog',
      ],
    );
    tamper(`INSERT INTO trigger_runs (trigger_id, scope, since, revision, status, attempts, due_at, delivery_id, queued_at)
      VALUES ('${id}', 's', '', 1, '${state}', 0, 0, 'd', '${ago(ageMs).toISOString()}')`);
    const { named } = await examine();
    expect(named('triggers')?.status).toBe(status);
    expect(named('triggers')?.message).toStartWith(message);
  });
});

describe('deliveries', () => {
  test.each<[string, string[], string]>([
    ['all refused', ['rejected', 'rejected', 'failed'], 'warning'],
    ['refused before, and not now', ['rejected', 'rejected', 'rejected', 'ignored'], 'ok'],
  ])('%s', async (_, statuses, status) => {
    const { integrationId } = await healthy();
    for (const [at, each] of statuses.entries())
      addDelivery(integrationId, `dlv_${at}`, each, ago(9000 - at));
    const { named } = await examine();
    expect(named('deliveries')?.status).toBe(status);
    if (status === 'warning')
      expect(named('deliveries')?.message).toContain('a/b: the last 3 deliveries were not accepted');
  });

  test('none since an integration was connected', async () => {
    const { integrationId } = await healthy();
    expect((await examine()).statusOf('deliveries')).toBe('ok');
    tamper(`UPDATE integrations SET created_at = '${ago(2 * 24 * HOUR_MS).toISOString()}'`);
    expect((await examine()).named('deliveries')?.message).toBe('a/b: no delivery has arrived yet');
    await json('integration', 'disable', integrationId);
    expect((await examine()).statusOf('deliveries')).toBe('ok');
  });
});

describe('the server', () => {
  test('that runs is asked, and its database looked at meanwhile', async () => {
    await healthy();
    const server = await startTidings(dataDir());
    try {
      const { named, report } = await examine({ ...PUBLIC, PORT: new URL(server.url).port });
      expect(named('server')).toEqual({
        name: 'server',
        status: 'ok',
        message: `The server at ${server.url} is ready`,
      });
      expect(report.checks.filter(({ status }) => status !== 'ok')).toEqual([]);
    } finally {
      await server.stop();
    }
  }, 300_000);

  test('that was killed left a log, which is read too, and stays', async () => {
    await healthy();
    const copy = join(folder.path, 'copy');
    mkdirSync(copy, { mode: 0o700 });
    const db = new Sqlite(join(dataDir(), 'tidings.db'));
    db.run("UPDATE api_keys SET revoked_at = '2026-01-01T00:00:00.000Z'");
    for (const file of readdirSync(dataDir())) copyFileSync(join(dataDir(), file), join(copy, file));
    db.close();
    const wal = readFileSync(join(copy, 'tidings.db-wal'));
    expect(wal.length).toBeGreaterThan(0);
    const { named } = await examine({ DATA_DIR: copy });
    expect(named('keys')?.message).toBe('1 API key in the database; 1 of them expired or revoked');
    expect(readFileSync(join(copy, 'tidings.db-wal'))).toEqual(wal);
  });

  test.each<[string, (path: string) => Response, string, string]>([
    ['is another program', () => new Response('Hello'), 'failed', 'is not Tidings'],
    [
      'is not ready',
      (path) =>
        path === '/ping'
          ? new Response('pong')
          : Response.json({ error: 'The disk is full' }, { status: 503 }),
      'failed',
      'is not ready: The disk is full',
    ],
  ])('that %s', async (_, answer, status, message) => {
    using other = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => answer(new URL(url).pathname),
    });
    const { named } = await examine({ PORT: String(other.port), HOST: '0.0.0.0' });
    expect(named('server')?.status).toBe(status);
    expect(named('server')?.message).toContain(message);
  });

  test('that does not run', async () => {
    using dead = await holdDeadAddress();
    expect((await examine({ PORT: new URL(dead.url).port })).statusOf('server')).toBe('warning');
  });
});

test('a failing job and a stopped server are the same in doctor and attention', async () => {
  await healthy();
  const run = (aliveAt: Date) =>
    tamper(`INSERT OR REPLACE INTO server_runs (id, public_url, started_at, alive_at)
      VALUES ('run', 'http://localhost', '2026-01-01T00:00:00.000Z', '${aliveAt.toISOString()}')`);
  const both = async () => {
    const { stdout } = await cli(dataDir(), ['attention', '--json']);
    const listed = (JSON.parse(stdout) as { id: string; message: string; since: string }[]).map(
      ({ id, message, since }) => ({ id, message, since }),
    );
    return { listed, jobs: (await examine()).named('jobs') };
  };
  const tenMinutesAgo = new Date(systemClock.now().getTime() - 600_000);
  const since = tenMinutesAgo.toISOString();
  const message = 'The job sweep has failed 3 times in a row (no such table)';
  tamper(`INSERT INTO attention (id, kind, subject, since, count, message, effect, action)
    VALUES ('job_failing:sweep', 'job_failing', 'sweep', '${since}', 3, '${message}', 'It waits.', 'Look at the log')`);

  run(systemClock.now());
  const running = await both();
  expect(running.listed).toEqual([{ id: 'job_failing:sweep', message, since }]);
  expect(running.jobs).toMatchObject({ status: 'warning', message });

  run(tenMinutesAgo);
  const stopped = await both();
  expect(stopped.listed).toEqual([{ id: 'server_stopped:server', message: 'No server runs', since }]);
  expect(stopped.jobs).toMatchObject({ status: 'warning', message: 'No server runs' });
});
