import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '../../src/lib/log.ts';
import { backupJobs, lastBackup } from '../../src/server/backup/job.ts';
import { readConfig } from '../../src/server/config.ts';
import { fillFolder, rowsIn } from '../support/backups.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { fixedClock } from '../support/clock.ts';
import { S3_ACCESS, startS3Server } from '../support/s3-server.ts';
import { until } from '../support/until.ts';

let folder: ReturnType<typeof temporaryFolder>;
let logged: Record<string, unknown>[];

const dataDir = () => join(folder.path, 'data');
const backups = () => join(folder.path, 'backups');
const DAY_MS = 86_400_000;

beforeEach(async () => {
  folder = temporaryFolder();
  logged = [];
  await fillFolder(dataDir());
});

afterEach(() => folder.remove());

function scheduled(environment: Record<string, string>, { stallMs }: { stallMs?: number } = {}) {
  const clock = fixedClock('2026-11-21T03:00:00.000Z');
  const log = createLog('info', { write: (line) => void logged.push(JSON.parse(line)) });
  const config = readConfig({}, { DATA_DIR: dataDir(), BACKUP_DIR: backups(), ...environment });
  if (config.s3 !== undefined) config.s3.stallMs = stallMs;
  /** Called instead of a wait: the clock moves on at once. */
  const waits: number[] = [];
  const hooks = { onWait: () => undefined as unknown };
  const wait = async (ms: number) => {
    waits.push(ms);
    clock.advance(ms);
    hooks.onWait();
  };
  const [job] = backupJobs(config, { clock, log, wait });
  if (job === undefined) throw new Error('there is no job');
  return { job, clock, waits, hooks, run: (signal = new AbortController().signal) => job.run(signal) };
}

test('without BACKUP_DIR there is no job', () => {
  const log = createLog('silent', { write: () => undefined });
  expect(backupJobs(readConfig({}, { BACKUP_KEEP: '3' }), { clock: fixedClock(), log })).toEqual([]);
});

test('its beat is BACKUP_SCHEDULE, each day at 03:00 when that is not set', () => {
  expect(scheduled({}).job.every).toBe('0 3 * * *');
  expect(scheduled({ BACKUP_SCHEDULE: '*/30 * * * *' }).job.every).toBe('*/30 * * * *');
});

test('makes a backup that can be restored, logs it and remembers it', async () => {
  await scheduled({}).run();
  const file = join(backups(), 'tidings-20261121T030000Z-000001.backup');
  expect(readdirSync(backups())).toEqual(['tidings-20261121T030000Z-000001.backup']);
  expect(logged).toMatchObject([{ level: 'info', job: 'backup', file, removed: 0 }]);
  expect(await lastBackup(dataDir())).toMatchObject({
    success: { at: '2026-11-21T03:00:00.000Z', file },
    failure: null,
  });

  const other = join(folder.path, 'other');
  mkdirSync(other);
  cpSync(join(dataDir(), 'secret.key'), join(other, 'secret.key'));
  expect(await cliJson(other, ['restore', file])).toMatchObject({ isVerified: true });
  const { posts } = await rowsIn(other);
  expect(posts).toEqual((await rowsIn(dataDir())).posts);
});

describe('keeps the newest', () => {
  test('in a folder, and removes nothing else', async () => {
    mkdirSync(backups());
    const others = [
      'tidings-20200101T000000Z.backup.bak',
      'tidings-2020.backup',
      'my-tidings-20200101T000000Z.backup',
      'notes.txt',
      'x.abcdef.partial',
    ];
    const leftovers = [
      'tidings-20200101T000000Z.backup.1aBcD2.partial',
      'tidings-20200101T000000Z.backup.1aBcD2.partial-db',
    ];
    for (const name of [...others, ...leftovers, 'tidings-20200101T000000Z.backup'])
      writeFileSync(join(backups(), name), '');
    const { run, clock } = scheduled({ BACKUP_KEEP: '2' });
    for (let day = 0; day < 3; day++) {
      await run();
      clock.advance(DAY_MS);
    }
    expect(readdirSync(backups()).sort()).toEqual(
      [...others, 'tidings-20261122T030000Z-000002.backup', 'tidings-20261123T030000Z-000003.backup'].sort(),
    );
    expect(logged.map(({ removed }) => removed)).toEqual([0, 1, 1]);
  });

  test('by the order in which they were made, when the clock is set back', async () => {
    const { run, clock } = scheduled({ BACKUP_KEEP: '2' });
    await run();
    for (const days of [-400, -30]) {
      clock.advance(days * DAY_MS);
      await run();
      const last = (await lastBackup(dataDir())).success?.file ?? '';
      expect(existsSync(last)).toBe(true);
    }
    expect(readdirSync(backups()).sort()).toEqual([
      'tidings-20250917T030000Z-000003.backup',
      'tidings-20251017T030000Z-000002.backup',
    ]);
  });

  test('in a store', async () => {
    using store = startS3Server();
    store.objects.set('team/other.txt', Buffer.from('x'));
    store.objects.set('tidings-20200101T000000Z.backup', Buffer.from('of another prefix'));
    const { run, clock } = scheduled({
      BACKUP_DIR: 's3://backups/team/',
      BACKUP_KEEP: '2',
      BACKUP_S3_ENDPOINT: store.url,
      ...S3_ACCESS,
    });
    for (let day = 0; day < 4; day++) {
      await run();
      clock.advance(DAY_MS);
    }
    expect([...store.objects.keys()].sort()).toEqual([
      'team/other.txt',
      'team/tidings-20261123T030000Z-000003.backup',
      'team/tidings-20261124T030000Z-000004.backup',
      'tidings-20200101T000000Z.backup',
    ]);
    expect(readdirSync(dataDir()).filter((name) => name.includes('partial'))).toEqual([]);
  });
});

describe('a store in trouble is asked again until the next backup is due', () => {
  const stored = (url: string) => ({
    BACKUP_DIR: 's3://backups',
    BACKUP_S3_ENDPOINT: url,
    ...S3_ACCESS,
  });

  test('503 at the first request, twice', async () => {
    using store = startS3Server();
    const { run, waits, hooks } = scheduled(stored(store.url));
    store.fault = 'is unavailable';
    hooks.onWait = () => {
      if (waits.length === 2) store.fault = null;
    };
    await run();
    expect(waits).toEqual([10_000, 60_000]);
    expect([...store.objects.keys()]).toEqual(['tidings-20261121T030110Z-000001.backup']);
    expect(await lastBackup(dataDir())).toMatchObject({ failure: null });
  });

  test('it never comes back', async () => {
    using store = startS3Server();
    store.fault = 'is unavailable';
    const { run, clock, waits } = scheduled({ ...stored(store.url), BACKUP_SCHEDULE: '0 * * * *' });
    expect(await run().catch(String)).toContain('the store rejected the request or could not be reached');
    expect(clock.now().toISOString() < '2026-11-21T04:00:00.000Z').toBe(true);
    expect(waits).toEqual([10_000, 60_000, 300_000, 900_000, 900_000, 900_000]);
    expect(await lastBackup(dataDir())).toMatchObject({
      success: null,
      failure: { error: expect.stringContaining('the store rejected') },
    });
  });

  test('it does not answer: the attempt fails after stallMs', async () => {
    using store = startS3Server();
    store.fault = 'never answers uploads';
    const { run, waits, hooks } = scheduled(stored(store.url), { stallMs: 3_000 });
    hooks.onWait = () => {
      store.fault = null;
    };
    await run();
    expect(waits).toEqual([10_000]);
    expect(logged[0]).toMatchObject({
      level: 'warn',
      err: { message: expect.stringContaining('no response within 3 seconds') },
    });
    expect(store.objects.size).toBe(1);
  });
});

describe('one that fails', () => {
  test('removes none of those before, and is remembered beside the last that did not', async () => {
    const { run, clock } = scheduled({ BACKUP_KEEP: '1' });
    await run();
    clock.advance(DAY_MS);
    writeFileSync(join(dataDir(), 'tidings.db'), 'garbage');
    expect(await run().catch(String)).toContain('The backup was not made: file is not a database');
    expect(readdirSync(backups())).toEqual(['tidings-20261121T030000Z-000001.backup']);
    expect(await lastBackup(dataDir())).toMatchObject({
      success: { at: '2026-11-21T03:00:00.000Z' },
      failure: {
        at: '2026-11-22T03:00:00.000Z',
        file: join(backups(), 'tidings-20261122T030000Z-000002.backup'),
        error: 'The backup was not made: file is not a database',
      },
    });
  });

  test('because the service stops is no failure, and nobody waits for it', async () => {
    using store = startS3Server();
    store.fault = 'never answers uploads';
    const abort = new AbortController();
    const { run } = scheduled({
      BACKUP_DIR: 's3://backups/team',
      BACKUP_S3_ENDPOINT: store.url,
      ...S3_ACCESS,
    });
    const running = run(abort.signal);
    await until(
      async () => store.requests,
      (requests) => requests.some((each) => each.startsWith('PUT')),
    );
    abort.abort();
    await running;
    expect(logged).toMatchObject([
      { level: 'info', msg: 'the backup was canceled because the server is stopping' },
    ]);
    expect(readdirSync(dataDir()).filter((name) => name.includes('partial'))).toEqual([]);
    expect(await lastBackup(dataDir())).toEqual({ success: null, failure: null });
  });
});
