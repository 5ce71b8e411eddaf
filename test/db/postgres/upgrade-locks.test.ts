import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { migrate, migrations } from '../../../db/postgres/migrate.ts';
import { sharedPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';

const CHANGE = 'ALTER TABLE organizations ADD COLUMN note text;';

test('a migration that waits for a table lets reads of it pass, and is done once the table is free', async () => {
  const server = await sharedPostgres();
  const url = await server.createEmptyDatabase();
  const connections = Array.from({ length: 4 }, () => new SQL(url, { max: 1 }));
  const [holder, upgrader, reader, observer] = connections as [SQL, SQL, SQL, SQL];
  await migrate(upgrader);

  const held = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const holding = holder.begin(async (tx) => {
    await tx`SELECT count(*) FROM organizations`;
    held.resolve();
    await free.promise;
  });
  await held.promise;
  const upgrading = migrate(upgrader, [...migrations, CHANGE]);
  await until(
    () => observer`SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted`,
    (waiting) => waiting.length > 0,
  );
  // Behind the migration in the queue: this would wait for the holder too.
  expect(await reader`SELECT id FROM organizations`).toBeEmpty();
  free.resolve();
  await holding;
  await upgrading;
  const [row] = await observer`SELECT schema::int FROM tidings`;
  expect(row).toEqual({ schema: migrations.length + 1 });
  await Promise.all(connections.map((each) => each.close()));
  await server.dropDatabase(url);
}, 300_000);
