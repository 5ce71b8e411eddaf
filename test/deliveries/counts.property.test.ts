import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countDays, forecastLog } from '../../src/deliveries/count-store.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../src/deliveries/model.ts';
import {
  countDelivery,
  deleteExpiredDeliveries,
  deletePastCounts,
  insertDelivery,
  type NewDelivery,
} from '../../src/deliveries/store.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { createSharedDatabase, valuesOf } from '../support/database.ts';
import { rounds } from '../support/rounds.ts';

// What SQL triggers count, against counting a plain list.

const START = Date.UTC(2026, 10, 1, 22);
const DAYS = 12;

type Command =
  | { kind: 'insert'; at: number; status: DeliveryStatus; integration: number; retentionDays: number }
  /** One more arrival behind an entry adds none. */
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
  const entry: NewDelivery = {
    id: `dlv_${++made}`,
    organizationId,
    integrationId: `${organizationId}_${integration}`,
    integrationType: 'github',
    repositoryId: null,
    title: '',
    status,
    reason: null,
    statusCode: 200,
    referenceId: null,
    payload: { event: null, action: null, data: null },
    count: 1,
    bodyHash: null,
    sameBodyAs: null,
    replayOf: null,
    isPolled: false,
    headers: null,
    durationMs: 0,
    retentionDays,
    createdAt: new Date(at).toISOString(),
  };
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
            if (entry !== undefined)
              await db.write((tx) => countDelivery(tx, entry, new Date(entry.createdAt)));
          } else {
            const asOf = new Date(command.at);
            await db.write((tx) => deleteExpiredDeliveries(tx, asOf, 10_000));
            await db.write((tx) => deletePastCounts(tx, asOf, 10_000));
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
              expect(counts[status] ?? 0).toBe(onDay.filter((each) => each.status === status).length);
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

test('counts are deleted once all entries of their day have expired, whatever their retention', async () => {
  const db = createSharedDatabase().open();
  const days = () =>
    valuesOf(db, 'select distinct day from delivery_counts order by day').then((rows) => rows.flat());
  for (const day of [0, 1]) {
    const command = {
      kind: 'insert',
      at: START + day * DAY_MS,
      status: 'processed',
      integration: 0,
    } as const;
    const { entry, now } = entryOf('org_a', { ...command, retentionDays: 30 });
    await db.write((tx) => insertDelivery(tx, entry, now));
  }
  const sweepAt = async (asOf: number) => {
    await db.write((tx) => deleteExpiredDeliveries(tx, new Date(asOf), 100));
    return db.write((tx) => deletePastCounts(tx, new Date(asOf), 100));
  };
  expect(await sweepAt(START + 29 * DAY_MS)).toBe(0);
  expect(await days()).toEqual(['2026-11-01', '2026-11-02']);
  expect(await sweepAt(START + 32 * DAY_MS)).toBe(1);
  expect(await days()).toEqual(['2026-11-02']);
  expect(await sweepAt(START + 33 * DAY_MS)).toBe(1);
  expect(await days()).toEqual([]);
});
