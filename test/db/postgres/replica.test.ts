import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import type { ReadTx, Storage } from '../../../db/engine.ts';
import { DatabaseUnavailable } from '../../../db/failures.ts';
import { connectPostgres, openPostgres, type PostgresDatabase } from '../../../db/postgres/client.ts';
import { measureDelay, openReplica, readFromReplica } from '../../../db/postgres/replica.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { caughtUp, pauseReplay, promote, resumeReplay, startStandby } from '../../support/standby.ts';
import { until } from '../../support/until.ts';

// A primary, and a standby that streams from it.

const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

let servers: { primary: PostgresServer; standby: PostgresServer };
let primary: PostgresDatabase;
let standby: PostgresDatabase;
/** Of the database on the primary. */
let url: string;

beforeAll(async () => {
  const first = await startPostgres();
  servers = { primary: first, standby: first };
  url = await first.createEmptyDatabase();
  servers.standby = await startStandby(first);
  await (await openPostgres(url)).close();
  primary = await connectPostgres(url, { limits: LIMITS });
  standby = await connectPostgres(onStandby(url), { limits: LIMITS });
}, 300_000);

afterAll(async () => {
  await primary?.close();
  await standby?.close();
  await servers.standby.stop();
  await servers.primary.stop();
});

/** The same database on the standby. */
function onStandby(url: string): string {
  const address = new URL(url);
  address.port = String(servers.standby.port);
  return address.href;
}

let nowMs: number;
let lines: string[];
let reads: ReturnType<typeof readFromReplica>;

beforeEach(async () => {
  await resumeReplay(servers.standby);
  await caughtUp(servers.primary, servers.standby);
  nowMs = 100_000;
  lines = [];
  reads = readFromReplica(primary, standby, { ...tools, readMs: 120_000 });
});

const log = {
  info: (_: object, message: string) => lines.push(message),
  warn: ({ reason }: { reason?: string }, message: string) => lines.push(`${message}: ${reason}`),
};

const tools = { log, elapsedMs: () => nowMs };

const USED = 'the content API reads from the read replica';
const NOT_USED = 'the content API does not read from the read replica';

/** The server that answers. */
const whoAnswers = (storage: Pick<Storage, 'read'>) => storage.read(askName, { single: true });

async function askName(tx: ReadTx): Promise<string> {
  const [[isStandby] = []] = await tx.values<[number]>(sql`SELECT pg_is_in_recovery()`);
  return isStandby === 1 ? 'standby' : 'primary';
}

/** Commits a larger number, so that the position of the primary grows. */
const commit = () =>
  primary.write(async (tx) => {
    await tx.run(sql`UPDATE tidings SET key_fingerprint = coalesce(key_fingerprint, 0) + 1`);
  });

const readNumber = (storage: Pick<Storage, 'read'>) =>
  storage.read(async (tx) => (await tx.values<[number]>(sql`SELECT key_fingerprint FROM tidings`))[0]?.[0], {
    single: true,
  });

describe('a replica', () => {
  test('is read from after the first check, and not before', async () => {
    expect(await whoAnswers(reads)).toBe('primary');
    // The first reads of a new database may write what they learn about its rows.
    await caughtUp(servers.primary, servers.standby);
    await reads.check();
    expect(await whoAnswers(reads)).toBe('standby');
    expect(lines).toEqual([USED]);
  });

  test('is read from for 8 seconds after the time that it is known to show, also between failed checks', async () => {
    await reads.check();
    nowMs += 8_000;
    expect(await whoAnswers(reads)).toBe('standby');
    nowMs += 1;
    expect(await whoAnswers(reads)).toBe('primary');
  });

  test('that falls behind is left when it no longer shows what the primary had 8 seconds ago, and comes back', async () => {
    await reads.check();
    await pauseReplay(servers.standby);
    await commit();
    for (let second = 1; second <= 8; second++) {
      nowMs += 1_000;
      await reads.check();
      expect(await whoAnswers(reads)).toBe('standby');
    }
    nowMs += 1_000;
    await reads.check();
    await reads.check();
    expect(await whoAnswers(reads)).toBe('primary');
    await resumeReplay(servers.standby);
    await caughtUp(servers.primary, servers.standby);
    await reads.check();
    expect(await whoAnswers(reads)).toBe('standby');
    expect(lines).toEqual([USED, `${NOT_USED}: it is more than 8 seconds behind`, USED]);
  });

  test('of an idle primary stays fresh', async () => {
    for (let second = 0; second < 20; second++) {
      await reads.check();
      expect(await whoAnswers(reads)).toBe('standby');
      nowMs += 1_000;
    }
  });

  test('never shows less than what was committed 10 seconds before the read', async () => {
    await reads.check();
    await pauseReplay(servers.standby);
    await commit();
    const committed = await readNumber(primary);
    expect(committed).toBeNumber();
    nowMs += 10_000;
    await reads.check();
    expect(await readNumber(reads)).toBe(committed);
  });

  test('that is another database, another server or a primary is not read from', async () => {
    await using other = await startPostgres();
    const foreign = 'it is not a replica of this database, or it did not follow a failover';
    const strangers: [string, string][] = [
      [onStandby(servers.primary.url('postgres')), foreign],
      [other.url('postgres'), 'it is not a standby'],
    ];
    for (const [address, reason] of strangers) {
      const stranger = await connectPostgres(address, { limits: LIMITS });
      lines = [];
      const both = readFromReplica(primary, stranger, { ...tools, readMs: 120_000 });
      await both.check();
      expect(await whoAnswers(both)).toBe('primary');
      expect(lines).toEqual([`${NOT_USED}: ${reason}`]);
      await expect(measureDelay(primary, stranger, 1_000)).rejects.toThrow(reason);
      await stranger.close();
    }
  }, 120_000);

  test('that fails a read leaves it to the primary', async () => {
    const failing: Pick<Storage, 'read'> = {
      read: (work, options) =>
        work === (askName as unknown) ? Promise.reject(new Error('canceled')) : standby.read(work, options),
    };
    const both = readFromReplica(primary, failing, { ...tools, readMs: 120_000 });
    await both.check();
    expect(await whoAnswers(both)).toBe('primary');
  });

  test('that is gone is not asked again until a check finds it', async () => {
    let isAway = false;
    let asked = 0;
    const away: Pick<Storage, 'read'> = {
      async read(work, options) {
        asked++;
        if (isAway) throw new DatabaseUnavailable(new Error('connection refused'));
        return standby.read(work, options);
      },
    };
    const both = readFromReplica(primary, away, { ...tools, readMs: 120_000 });
    await both.check();
    isAway = true;
    asked = 0;
    expect(await whoAnswers(both)).toBe('primary');
    expect(await whoAnswers(both)).toBe('primary');
    expect(asked).toBe(1);
    await both.check();
    isAway = false;
    await both.check();
    expect(await whoAnswers(both)).toBe('standby');
    expect(lines).toEqual([USED, `${NOT_USED}: it cannot be reached: The database is not available`, USED]);
  });

  test('that hangs delays a read by a second, and then none', async () => {
    reads = readFromReplica(primary, standby, tools);
    await reads.check();
    servers.standby.pause();
    try {
      expect(await whoAnswers(reads)).toBe('primary');
      const hanging = reads.check();
      await reads.check();
      expect(await whoAnswers(reads)).toBe('primary');
      servers.standby.resume();
      await hanging;
      expect(await whoAnswers(reads)).toBe('standby');
    } finally {
      servers.standby.resume();
    }
  }, 120_000);
});

test('a delay is measured, and bounded', async () => {
  expect(await measureDelay(primary, standby, 60_000)).toBeNumber();
  await pauseReplay(servers.standby);
  await commit();
  expect(await measureDelay(primary, standby, 0)).toBeNull();
});

describe('DATABASE_READ_URL', () => {
  test('that is malformed is refused', async () => {
    const opened = openReplica(primary, 'postgres://a,b/tidings', { poolSize: 2, log });
    await expect(opened).rejects.toThrow('DATABASE_READ_URL cannot be used: it has several hosts');
  });

  test('is used once its server runs, and left when that is promoted', async () => {
    await servers.standby.kill('SIGINT');
    const replica = await openReplica(primary, onStandby(url), { poolSize: 2, log });
    expect(await whoAnswers(replica)).toBe('primary');
    await servers.standby.restart();
    await until(
      () => whoAnswers(replica),
      (name) => name === 'standby',
    );
    await promote(servers.standby);
    await until(
      async () => lines.at(-1),
      (line) => line === `${NOT_USED}: it is not a standby`,
    );
    expect(await whoAnswers(replica)).toBe('primary');
    await replica.close();
  }, 300_000);
});
