import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Storage } from '../../db/engine.ts';
import {
  type CountKey,
  countDays,
  FIRST_COUNT,
  foldPastCounts,
  forecastLog,
} from '../../src/integrations/deliveries/count-store.ts';
import {
  countDelivery,
  type DeliveryStatus,
  deleteExpiredDeliveries,
  deliveryStatuses,
  insertDelivery,
  type NewDelivery,
} from '../../src/integrations/deliveries/store.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { createSharedDatabase, valuesOf } from '../support/database.ts';
import { logEntry } from '../support/deliveries.ts';
import { rounds } from '../support/rounds.ts';

// Compares the counts of SQL triggers with those of a plain list.

const START = Date.UTC(2026, 10, 1, 22);
const DAYS = 12;

type Command =
  | { kind: 'insert'; at: number; status: DeliveryStatus; integration: number; retentionDays: number }
  /** One more arrival behind an entry. */
  | { kind: 'repeat'; index: number }
  | { kind: 'expire'; at: number };

/** Hours from the start, so that some entries stand on either side of midnight. */
const anyTime = fc.nat(DAYS * 24).map((hours) => START + hours * 3_600_000);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      at: anyTime,
      status: fc.constantFrom(...deliveryStatuses),
      integration: fc.nat(1),
      retentionDays: fc.constantFrom(7, 30),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat' as const), index: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const), at: anyTime }) },
);

let made = 0;

function entryOf(
  organizationId: string,
  { at, status, integration, retentionDays }: Command & { kind: 'insert' },
) {
  const entry = logEntry({
    id: `dlv_${++made}`,
    organizationId,
    integrationId: `${organizationId}_${integration}`,
    status,
    retentionDays,
    createdAt: new Date(at).toISOString(),
  });
  return { entry, now: new Date(at) };
}

const isOnDay = (day: string) => (each: { createdAt: string }) => each.createdAt.startsWith(day);

test('the numbers of the log are those of its entries, whichever process writes or deletes them', async () => {
  const shared = createSharedDatabase();
  const processes = [shared.open(), shared.open()];
  const reader = shared.open();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ process: fc.nat(1), command }), { maxLength: 40 }),
      async (commands) => {
        const organizationId = `org_${++made}`;
        let log: NewDelivery[] = [];
        for (const { process, command } of commands) {
          const db = processes[process] ?? reader;
          if (command.kind === 'insert') {
            const { entry, now } = entryOf(organizationId, command);
            await db.write((tx) => insertDelivery(tx, entry, now));
            log.push(entry);
          } else if (command.kind === 'repeat') {
            const entry = log[command.index];
            if (entry !== undefined) {
              await db.write((tx) => countDelivery(tx, entry, new Date(entry.createdAt)));
              log[command.index] = { ...entry, count: entry.count + 1 };
            }
          } else {
            const asOf = new Date(command.at);
            await db.write((tx) => deleteExpiredDeliveries(tx, asOf, 10_000));
            await foldAll(db, asOf);
            log = log.filter(
              ({ createdAt, retentionDays }) =>
                Date.parse(createdAt) + retentionDays * DAY_MS > asOf.getTime(),
            );
          }
        }
        const now = new Date(START + DAYS * DAY_MS);
        for (const integration of [0, 1]) {
          const id = `${organizationId}_${integration}`;
          const own = log.filter(({ integrationId }) => integrationId === id);
          const days = await reader.read((tx) => countDays(tx, { id, organizationId }, now, DAYS + 1));
          expect(days.map(({ day }) => day)).toEqual(
            Array.from({ length: DAYS + 1 }, (_, at) =>
              new Date(START + at * DAY_MS).toISOString().slice(0, 10),
            ),
          );
          for (const { day, counts } of days) {
            const onDay = own.filter(isOnDay(day));
            for (const status of deliveryStatuses)
              expect(counts[status] ?? 0).toBe(
                onDay.filter((each) => each.status === status).reduce((sum, each) => sum + each.count, 0),
              );
          }
        }
        const { entries, oldest } = await reader.read((tx) => forecastLog(tx, organizationId, now));
        expect({ entries, oldest }).toEqual({
          entries: log.length,
          oldest: log.map(({ createdAt }) => createdAt).sort()[0] ?? null,
        });
      },
    ),
    { numRuns: rounds(40, 400) },
  );
});

/** In steps so small that a step may end between two rows of a day. */
async function foldAll(db: Storage, asOf: Date): Promise<void> {
  let after: CountKey | null = FIRST_COUNT;
  while (after !== null) {
    const from: CountKey = after;
    after = await db.write((tx) => foldPastCounts(tx, asOf, from, 2));
  }
}

test('a past day keeps one row, and none once all of its entries have expired, whatever their retention', async () => {
  const shared = createSharedDatabase();
  const connections = Array.from({ length: 4 }, () => shared.open());
  const [db = shared.open()] = connections;
  const rows = () =>
    valuesOf<[string, number]>(
      db,
      'select day, entries from delivery_counts order by day, organization_id, integration_id, status, shard',
    );
  const insertFrom = async (each: Storage, at: number, retentionDays: number) => {
    const { entry, now } = entryOf('org_a', {
      kind: 'insert',
      at,
      status: 'processed',
      integration: 0,
      retentionDays,
    });
    await each.write((tx) => insertDelivery(tx, entry, now));
  };
  // The first day ends two hours after the start.
  for (const day of [0, 2]) {
    for (const each of connections) await insertFrom(each, START + day * DAY_MS, day === 0 ? 7 : 30);
  }
  const sumOf = async (day: string) =>
    (await rows()).filter((row) => row[0] === day).reduce((sum, [, entries]) => sum + entries, 0);
  const sweepAt = async (asOf: number, by: Storage) => {
    await by.write((tx) => deleteExpiredDeliveries(tx, new Date(asOf), 100));
    await foldAll(db, new Date(asOf));
  };
  await sweepAt(START + 1.5 * DAY_MS, db);
  expect(await sumOf('2026-11-01')).toBe(4);
  await sweepAt(START + 2.5 * DAY_MS, db);
  expect((await rows()).filter(([day]) => day === '2026-11-01')).toEqual([['2026-11-01', 4]]);
  expect(await sumOf('2026-11-03')).toBe(4);
  // Another connection counts down in a row of its own.
  await sweepAt(START + 7 * DAY_MS, connections[3] ?? db);
  expect(await rows()).toEqual([['2026-11-03', 4]]);
  await sweepAt(START + 32 * DAY_MS, connections[2] ?? db);
  expect(await rows()).toEqual([]);
});
