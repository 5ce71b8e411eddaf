import { afterAll, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { findDamage, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import { messageOf } from '../../src/lib/app-error.ts';
import { lazily } from '../../src/lib/bounded-map.ts';
import { createApp } from '../../src/server/app.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';
import { temporaryFolder } from '../support/cli.ts';
import { compose } from '../support/drafts.ts';
import { canRecord, type DiskRecord, randomOf } from '../support/recorded-disk.ts';
import {
  type History,
  type Hooks,
  type Mark,
  newDelivery,
  recordHistory,
} from '../support/recorded-history.ts';
import { rounds } from '../support/rounds.ts';

// The power fails at any moment of a recorded history. In what the disk has left, the database code finds everything that
// was acknowledged, once.

const CUTS = rounds(50, 2_000);

/** How many cuts a history has. */
const CUTS_EACH = 25;

/** One history in so many begins with an empty folder, the others with what a cut left of the one before. */
const CHAIN = 4;

/** After one cut in so many, the server also continues its work. */
const WHOLE = 8;

const seed = Math.floor(Math.random() * 2 ** 32);
const random = randomOf(seed);
const workshop = temporaryFolder();

afterAll(() => workshop.remove());

const newFolder = (name: string) => mkdtempSync(join(workshop.path, `${name}-`));

/** The values that each key may have. `isNeeded`: one was acknowledged. */
type Expected = Map<string, { isNeeded: boolean; values: string[] }>;

function note(expected: Expected, { event, key, value }: Mark): void {
  const { isNeeded, values } = expected.get(key) ?? { isNeeded: false, values: [] };
  if (event === 'attempt') expected.set(key, { isNeeded, values: [...values, value] });
  else expected.set(key, { isNeeded: true, values: values.slice(values.lastIndexOf(value)) });
}

const ACTUAL = `
  select 'delivery ' || reference_id, iif(sum(status = 'processed') = 1, 'processed', group_concat(status))
  from deliveries group by 1
  union all select 'post ' || title, group_concat(status || ' ' || substr(markdown, 1, instr(markdown, ' ') - 1))
  from posts where title like 'Post %' group by 1
  union all select 'trigger ' || event, iif(enabled, 'enabled', 'disabled') from triggers`;

const PROCESSED = "select reference_id from deliveries where status = 'processed'";
const DRAFTS = `select title from posts where title like 'release-%'`;
const PER_DAY =
  'select organization_id, integration_id, day, status, sum(entries) from delivery_counts group by 1, 2, 3, 4';
const OF_DELIVERIES = `
  select organization_id, integration_id, substr(created_at, 1, 10), status, count(*)
  from deliveries group by 1, 2, 3, 4`;
const PER_STATUS = `
  select organization_id, status, content_type, count from post_counts where count <> 0`;
const OF_POSTS = `select organization_id, status, content_type, count(*) from posts group by 1, 2, 3`;

/** Rows that must not exist. */
const CONTRADICTIONS = {
  'processed without a claim': `${PROCESSED} except select delivery_id from delivery_claims`,
  'claimed and not processed': `select delivery_id from delivery_claims except ${PROCESSED}`,
  'more than one draft': `${DRAFTS} group by 1 having count(*) > 1`,
  'a draft without a delivery': `${DRAFTS} except ${PROCESSED}`,
  'neither a draft nor a run': `
    select * from (${PROCESSED} and event = 'release' except ${DRAFTS})
    where not exists (select 1 from trigger_runs)`,
  'a draft record without a post': 'select post_id from drafts except select id from posts',
  'too many deliveries counted': `${PER_DAY} except ${OF_DELIVERIES}`,
  'too few deliveries counted': `${OF_DELIVERIES} except ${PER_DAY}`,
  'too many posts counted': `${PER_STATUS} except ${OF_POSTS}`,
  'too few posts counted': `${OF_POSTS} except ${PER_STATUS}`,
};

function contradictions({ $client }: SqliteDatabase): string[] {
  return Object.entries(CONTRADICTIONS).flatMap(([problem, query]) => {
    const rows = $client.query(query).values();
    return rows.length === 0 ? [] : [`${problem}: ${JSON.stringify(rows.slice(0, 5))}`];
  });
}

function findProblems(db: SqliteDatabase, expected: Expected): string[] {
  const { damage, orphans } = findDamage(db, 5, true);
  if (damage.length > 0 || orphans > 0) return [...damage, `${orphans} orphans`];
  // Throws when the index differs from the posts (sqlite.org/fts5.html#the_integrity_check_command).
  db.$client.run("INSERT INTO post_search (post_search, rank) VALUES ('integrity-check', 1)");
  const actual = new Map(db.$client.query(ACTUAL).values() as [string, string][]);
  const wrong = [...expected].filter(([key, { isNeeded, values }]) => {
    const value = actual.get(key);
    return value === undefined ? isNeeded : !values.includes(value);
  });
  return [
    ...wrong.map(([key, { values }]) => `${key} is ${actual.get(key)}, not ${values}`).slice(0, 5),
    ...[...actual.keys()].filter((key) => !expected.has(key)).map((key) => `nobody asked for ${key}`),
    ...contradictions(db),
  ];
}

/** The server processes a delivery again, a new one, and makes all drafts. */
async function continueWork(
  services: Awaited<ReturnType<typeof openServices>> & { db: SqliteDatabase },
  hooks: Hooks,
): Promise<string[]> {
  const { db } = services;
  const app = createApp({ ...services, compose, organizationCreation: 'owners' });
  await using server = Bun.serve({ port: 0, fetch: app.fetch });
  const deliveries = [newDelivery('release'), newDelivery('ping')];
  const statuses: number[] = [];
  for (const delivery of [...deliveries, ...deliveries])
    statuses.push(await hooks.deliver(server.url.origin, delivery));
  while ((await runTriggers(services, compose)) > 0);
  const rest = db.$client.query(`select * from trigger_runs`).values();
  const isDone = rest.length === 0 && statuses.every((status) => status === 200);
  return [...contradictions(db), ...(isDone ? [] : [`answers ${statuses}, runs ${JSON.stringify(rest)}`])];
}

/** Finds the faults of files that a cut left. */
async function inspect(files: Map<string, Buffer>, expected: Expected, hooks?: Hooks): Promise<string[]> {
  const folder = newFolder('cut');
  putFiles(folder, files);
  try {
    const services = await openServices(readConfig({}, { DATA_DIR: folder, LOG_LEVEL: 'silent' }), 'server');
    const db = services.db as SqliteDatabase;
    try {
      const problems = findProblems(db, expected);
      return problems.length > 0 || hooks === undefined
        ? problems
        : await continueWork({ ...services, db }, hooks);
    } finally {
      await services.close();
    }
  } catch (error) {
    return [messageOf(error)];
  }
}

function putFiles(folder: string, files: Map<string, Buffer>): void {
  for (const [path, content] of files) writeFileSync(join(folder, basename(path)), content, { mode: 0o600 });
}

const byNumber = (one: number, other: number) => one - other;

/** Positions of cuts, in order: anywhere, and near events other than writes, such as a sync or a new name. */
function positionsIn({ records }: History, count: number): number[] {
  const rare = records.flatMap(({ kind }, at) => (kind === 'W' || kind === 'M' ? [] : [at]));
  return Array.from({ length: count }, (_, cut) => {
    const near = rare[Math.floor(random() * rare.length)] ?? 0;
    const at = cut % 2 === 0 ? random() * records.length : near + random() * 3;
    return Math.min(Math.floor(at), records.length - 1);
  }).sort(byNumber);
}

/** Of what was not synced, nothing is left, or everything, or any part. */
function choose() {
  const luck = random();
  return luck < 0.1 ? 'none' : luck < 0.2 ? 'all' : random;
}

interface Cut {
  at: number;
  files: Map<string, Buffer>;
  expected: Expected;
}

/** Cuts the power at these positions. `isLost`: records that have no effect, as if the disk had ignored them. */
function* cut(
  { newDisk, records }: History,
  positions: readonly number[],
  before: Expected = new Map(),
  isLost?: (record: DiskRecord) => boolean,
): Generator<Cut> {
  const disk = newDisk();
  const expected: Expected = new Map(before);
  let next = 0;
  for (const [at, record] of records.entries()) {
    if (record.kind === 'M') note(expected, JSON.parse(record.data.toString()));
    else if (isLost?.(record) !== true) disk.apply(record);
    for (; positions[next] === at; next++)
      yield { at, files: disk.after(isLost === undefined ? choose : () => random), expected };
  }
}

/** Files of the folder that differ from what was recorded. The `-shm` file is memory. */
function unrecorded({ folder, newDisk, records }: History): string[] {
  const disk = newDisk();
  for (const each of records) if (each.kind !== 'M') disk.apply(each);
  const files = disk.after(() => 'all');
  const names = new Set([...readdirSync(folder), ...[...files.keys()].map((path) => basename(path))]);
  return [...names].filter((name) => {
    const path = join(folder, name);
    return !name.endsWith('-shm') && !(existsSync(path) && files.get(path)?.equals(readFileSync(path)));
  });
}

/** The files of a cut, for a history that begins with them. */
type Start = Cut & { hooks: Hooks };

const record = (start?: Start) => {
  const folder = newFolder('history');
  if (start !== undefined) putFiles(folder, start.files);
  return recordHistory(folder, newFolder('recorder'), random, start?.hooks);
};

const recordFirst = lazily(() => record());

test.skipIf(!canRecord)(
  `${CUTS} power cuts lose nothing that was acknowledged (needs Linux and cc)`,
  async () => {
    let start: Start | undefined;
    for (let done = 0; done < CUTS; done += CUTS_EACH) {
      if ((done / CUTS_EACH) % CHAIN === 0) start = undefined;
      const history = done === 0 ? await recordFirst() : await record(start);
      expect(unrecorded(history)).toEqual([]);
      const { records, hooks } = history;
      const cuts = cut(history, positionsIn(history, CUTS_EACH), start?.expected);
      let number = 0;
      for (const { at, files, expected } of cuts) {
        const isSetUp = expected.get('trigger release')?.isNeeded === true;
        const isWhole = ++number % WHOLE === 0 && isSetUp;
        const problems = await inspect(files, expected, isWhole ? hooks : undefined);
        const { kind, name } = records[at] ?? {};
        expect({ at: `${at} of ${records.length}, ${kind} ${name}`, seed, problems }).toMatchObject({
          problems: [],
        });
        if (isSetUp && random() < 0.3) start = { at, files, expected: new Map(expected), hooks };
      }
    }
  },
  3_600_000,
);

test.skipIf(!canRecord)(
  'what is acknowledged after a sync that failed beside a reader survives a power cut (needs Linux and cc)',
  async () => {
    const history = await recordFirst();
    const failedAt = history.records.findLastIndex(({ kind, isOk }) => kind === 'E' && !isOk);
    const answers = history.records.flatMap(({ kind, data }, at) =>
      at > failedAt && kind === 'M' && data.includes('"acknowledgement"') ? [at] : [],
    );
    expect([failedAt > 0, answers.length > 5]).toEqual([true, true]);
    const found: string[][] = [];
    for (const { files, expected } of cut(history, answers.slice(-5)))
      found.push(await inspect(files, expected));
    expect({ seed, found }).toEqual({ seed, found: found.map(() => []) });
  },
  3_600_000,
);

test.skipIf(!canRecord)(
  'a disk that ignores the syncs of the log is found out by at least nine of ten cuts (needs Linux and cc)',
  async () => {
    const history = await recordFirst();
    const isLogSync = ({ kind, name }: DiskRecord) => (kind === 'B' || kind === 'E') && name.endsWith('-wal');
    const answers = history.records.flatMap(({ kind, data }, at) =>
      kind === 'M' && data.includes('"acknowledgement","key":"delivery') ? [at] : [],
    );
    const positions = Array.from({ length: 10 }, () => answers[Math.floor(random() * answers.length)] ?? 0);
    let found = 0;
    for (const { files, expected } of cut(history, positions.sort(byNumber), undefined, isLogSync))
      if ((await inspect(files, expected)).length > 0) found++;
    expect(found).toBeGreaterThanOrEqual(9);
  },
  3_600_000,
);
