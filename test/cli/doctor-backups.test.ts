import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setEnabled } from '../../src/integrations/connect.ts';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import { recordFailure, recordSuccess } from '../../src/server/backup/job.ts';
import { examineConfig } from '../../src/server/config.ts';
import type { Check, Finding, Patient } from '../../src/server/doctor/check.ts';
import { contentChecks } from '../../src/server/doctor/contents.ts';
import { temporaryFolder } from '../support/cli.ts';
import { sqliteOf } from '../support/database.ts';
import { createHookWorld, type HookWorld } from '../support/hooks.ts';
import { allRows } from '../support/rows.ts';

const DAY_MS = 86_400_000;

let world: HookWorld;
let folder: ReturnType<typeof temporaryFolder>;

beforeEach(async () => {
  world = await createHookWorld();
  folder = temporaryFolder();
});

afterEach(async () => {
  await world[Symbol.asyncDispose]();
  folder.remove();
});

function patient(environment: Record<string, string> = {}): Patient {
  const { config } = examineConfig(
    {},
    { PUBLIC_URL: world.url, GITHUB_API_URL: world.github.url, ...environment },
  );
  const { db, deps, clock } = world;
  const fetched = (request: Request) => fetch(request);
  const base = {
    db: sqliteOf(db),
    clock,
    fetch: fetched,
    secrets: deps.secrets,
    folder: folder.path,
    config,
  };
  return { ...base, postgres: null, wrongSettings: [], isOffline: false };
}

const look = async (check: Check, about: Patient) => check(about);

describe('backups', () => {
  const backup = (at: Date) => ({
    createdAt: at,
    file: join(folder.path, 'a.backup'),
    bytes: 1,
    sha256: 'x',
    schema: 1,
    tables: {},
    includesKey: false,
    isSigned: true,
    images: { stored: 0, missing: 0, unreadable: 0, examples: [], place: null },
  });
  const record = async (daysAgo: number, isThere = true) => {
    const made = {
      ...backup(world.clock.now()),
      createdAt: new Date(world.clock.now().getTime() - daysAgo * DAY_MS).toISOString(),
    };
    if (isThere) writeFileSync(made.file, '');
    await recordSuccess(folder.path, made);
  };
  const scheduled = { BACKUP_DIR: '/backups' };

  test.each<[string, Record<string, string>, () => Promise<unknown>, string, string]>([
    [
      'none, and none to come',
      {},
      async () => undefined,
      'warning',
      'There is no backup yet, and no schedule is set',
    ],
    ['none yet', scheduled, async () => undefined, 'ok', 'the next follows the schedule 0 3 * * *'],
    ['one of today', scheduled, () => record(0.2), 'ok', 'The last good backup is from'],
    ['none for three days', scheduled, () => record(3), 'warning', 'one was due at'],
    ['one whose file is gone', scheduled, () => record(0.2, false), 'failed', 'a.backup, is gone'],
    ['one by hand', {}, () => record(20), 'ok', 'The last good backup is from'],
    ['an old one by hand', {}, () => record(40), 'warning', 'no schedule is set'],
    [
      'one that failed after one that did not',
      scheduled,
      async () => {
        await record(1);
        await recordFailure(folder.path, world.clock.now(), '/backups/b.backup', 'the disk is full');
      },
      'failed',
      'failed: the disk is full. The last good backup is from',
    ],
  ])('%s', async (_, environment, prepare, status, words) => {
    await prepare();
    const found = await look(contentChecks.backups, patient(environment));
    expect(found?.status).toBe(status as Finding['status']);
    expect(found?.message).toContain(words);
  });
});

describe('providers', () => {
  test('without webhooks that Tidings keeps, or offline, nobody is asked', async () => {
    expect(await look(contentChecks.providers, patient())).toBeNull();
    await world.connect();
    const asked = world.github.requests.length;
    expect(await look(contentChecks.providers, { ...patient(), isOffline: true })).toBeNull();
    expect(world.github.requests).toHaveLength(asked);
  });

  test.each([
    { GITHUB_API_URL: 'github.example.com' },
    { LINEAR_API_URL: 'http://linear.example.com' },
    { PUBLIC_URL: 'example.com' },
  ])('nobody is asked while %p', async (wrong) => {
    await world.connect();
    const asked = world.github.requests.length;
    const found = await look(contentChecks.providers, patient(wrong as Record<string, string>));
    expect(found?.message).toMatch(/^Not checked: .+ is wrong$/);
    expect(world.github.requests).toHaveLength(asked);
  });

  test('passes correct integrations, reports the others, and changes nothing', async () => {
    const id = await world.connect();
    const before = await allRows(world.db);
    expect(await look(contentChecks.providers, patient())).toMatchObject({
      status: 'ok',
      message: 'The webhooks of 1 integration are correct',
    });
    expect(await allRows(world.db)).toEqual(before);
    const disabled = await world.connect('acme/engine');
    await setEnabled(world.deps, disabled, false);
    expect((await look(contentChecks.providers, patient()))?.message).toContain('of 1 integration ');
    world.rocket.hooks.splice(0);
    const found = await look(contentChecks.providers, patient());
    expect(found?.status).toBe('failed');
    expect(found?.message).toStartWith(`${id}: Somebody deleted the webhook`);
    await rotateSecret(world.deps, id);
    expect((await look(contentChecks.providers, patient()))?.status).toBe('ok');
  });

  test('a problem of several integrations is reported once', async () => {
    const ids = [await world.connect('acme/rocket'), await world.connect('acme/engine')];
    world.goAway();
    const { message = '' } = (await look(contentChecks.providers, patient())) ?? {};
    expect(message).toContain(
      `${ids.join(', ')}: ${world.url} cannot be reached from here: nothing answers (`,
    );
    expect(message.match(/cannot be reached/g)).toHaveLength(1);
    expect(message).not.toContain('computer');
  });
});
