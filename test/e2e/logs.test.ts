import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/time.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { inTurn, type Planted, requestsWith } from '../support/planted.ts';
import { startTidings } from '../support/server.ts';
import { API_ID, startUnkeyServer } from '../support/unkey-server.ts';

// A real server at its most talkative, asked for everything in every way, with a secret wherever one can be. For more
// lines: LOG_LINES=100000 bun test test/e2e/logs.test.ts

/** How many lines each run logs at least. */
const LINES = Number(Bun.env.LOG_LINES ?? 600);
const DEADLINE_MS = 120_000 + LINES * 5;

const SECRET_KEY = Buffer.from('planted-secret-key-of-32-bytes!!').toString('base64');
const METRICS_TOKEN = 'planted-metrics-token-8Zx2';
const ROOT_KEY = 'unkey_planted_root_key_5Gh7';

let folder: ReturnType<typeof temporaryFolder>;

beforeAll(() => {
  folder = temporaryFolder();
});

afterAll(() => folder.remove());

/** The secrets that a text holds, by name. */
function found(text: string, secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(secrets)
    .filter(([, secret]) => text.includes(secret))
    .map(([name]) => name);
}

/** Everything in the folder, byte by byte. */
function contentsOf(path: string): string {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(files.length).toBeGreaterThan(0);
  return files.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1')).join('\n');
}

/** A running server with an organization, a key, integrations and a person, and all that is secret about them. */
async function start(dataDir: string, unkey: Record<string, string>) {
  const environment = { SECRET_KEY, METRICS_TOKEN, LOG_LEVEL: 'debug', ...unkey };
  const server = await startTidings(dataDir, [], { environment, until: 'token=' });
  const json = (...words: string[]) => cliJson(dataDir, words, { environment: { SECRET_KEY, ...unkey } });
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const { key } = await json('key', 'create', '--organization', 'acme', '--name', 'A');
  const github = await json(
    'integration',
    'connect',
    'github',
    '--organization',
    'acme',
    '--repository',
    'a/b',
  );
  const linear = await json('integration', 'connect', 'linear', '--organization', 'acme');
  await json(
    'trigger',
    'create',
    '--integration',
    github.integrationId,
    '--event',
    'release',
    '--content-type',
    'changelog',
  );
  const setupToken = /token=(\S+)/.exec(server.stdout())?.[1] ?? '';
  const { url } = await json('user', 'create', '--email', 'ann@acme.example', '--organization', 'acme');
  const planted: Planted = {
    url: server.url,
    key,
    github: { path: new URL(github.webhookUrl).pathname, secret: github.secret },
    linear: { path: new URL(linear.webhookUrl).pathname, secret: linear.secret },
    passwordToken: new URL(url).searchParams.get('token') ?? '',
    setupToken,
    metricsToken: METRICS_TOKEN,
    session: '',
    password: 'planted-password-Qw3rty',
    wrongPassword: 'planted-wrong-password-9',
    strangeKey: 'tdk_plantedStrangeKey4Jk8s2Lm',
    strangeCookie: 'planted-strange-cookie-1Ab',
    refusedBody: 'planted-body-of-a-refused-delivery',
    inviteToken: '',
  };
  return { server, planted };
}

const isUnkey = [false, true];

test.each(isUnkey)(
  'a full run logs and stores no secret (keys at Unkey: %p)',
  async (atUnkey) => {
    using unkey = startUnkeyServer({ clock: systemClock, rootKey: ROOT_KEY });
    const dataDir = join(folder.path, atUnkey ? 'unkey' : 'embedded');
    const settings: Record<string, string> = atUnkey
      ? {
          UNKEY_ROOT_KEY: ROOT_KEY,
          UNKEY_API_ID: API_ID,
          UNKEY_BASE_URL: unkey.url,
          UNKEY_TIMEOUT_MS: '10000',
        }
      : {};
    const { server, planted } = await start(dataDir, settings);
    try {
      const requests = await requestsWith(planted);
      await inTurn(requests, LINES);

      // Now everything fails: tables are gone, and Unkey talks nonsense.
      const db = new Database(join(dataDir, 'tidings.db'));
      db.run('PRAGMA busy_timeout = 5000');
      for (const table of ['sessions', 'post_counts', 'delivery_claims', 'api_keys']) {
        db.run(`ALTER TABLE ${table} RENAME TO ${table}_gone`);
      }
      db.close();
      const statuses = await inTurn(requests, requests.length);
      expect(statuses).toContain(500);
      if (atUnkey) {
        for (const fault of [
          'answers 500',
          'answers broken JSON',
          'answers 403: the root key may not verify',
        ] as const) {
          unkey.fault = fault;
          expect(await inTurn(requests, requests.length)).toContain(503);
        }
      }
    } finally {
      expect(await server.stop()).toBe(0);
    }

    const { url: _, github, linear, key, strangeKey, ...others } = planted;
    const secrets = {
      ...others,
      // The first characters of a key are shown, to tell keys apart.
      key: key.slice(8),
      strangeKey: strangeKey.slice(8),
      githubSecret: github.secret,
      linearSecret: linear.secret,
      SECRET_KEY,
      rootKey: ROOT_KEY,
    };
    for (const [name, secret] of Object.entries(secrets)) expect(secret.length, name).toBeGreaterThan(11);
    // A check that finds nothing must be able to find something.
    expect(found(JSON.stringify(secrets), secrets)).toEqual(Object.keys(secrets));

    const log = await server.stderr();
    const lines = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.length).toBeGreaterThanOrEqual(LINES);
    const levels = new Set(lines.map(({ level }) => level));
    expect([...levels].sort()).toEqual(['debug', 'error', 'info', 'warn']);
    expect(lines.some(({ msg, err }) => msg === 'request failed' && err.stack.includes('at '))).toBe(true);
    expect(found(log, secrets)).toEqual([]);

    // The setup link is told on standard output: that is what it is for.
    const { setupToken, ...told } = secrets;
    expect(found(server.stdout(), told)).toEqual([]);
    expect(server.stdout()).toContain(setupToken);
    expect(found(contentsOf(dataDir), secrets)).toEqual([]);
  },
  DEADLINE_MS,
);
