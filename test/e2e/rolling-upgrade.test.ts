import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { migrations } from '../../db/postgres/migrate.ts';
import { temporaryFolder } from '../support/cli.ts';
import { connectRepository, startFleet } from '../support/fleet.ts';
import { makeNextVersion } from '../support/next-version.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type ServerProcess, startProcess } from '../support/server.ts';
import { until } from '../support/until.ts';

// This version and the next one, side by side on one PostgreSQL.

let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await startPostgres();
}, 300_000);

afterAll(() => postgres?.stop());

/** Starts the version in `folder` beside a fleet of this version. */
function startVersion(folder: string, dataDir: string, environment: Record<string, string>) {
  return startProcess([process.execPath, join(folder, 'src/cli.ts'), 'serve'], { dataDir, environment });
}

test('processes are upgraded one by one, under load, without a failed request', async () => {
  const url = await postgres.createEmptyDatabase();
  const next = makeNextVersion('ALTER TABLE organizations ADD COLUMN note text COLLATE "C"', {
    worksWithThis: true,
  });
  const data = temporaryFolder();
  await using fleet = await startFleet(url, 1);
  const hooks = await connectRepository(fleet);
  const { key } = await fleet.json('key', 'create', '--organization', 'acme', '--name', 'Website');

  const failures: string[] = [];
  const delivered: string[] = [];
  const answers = new Map<ServerProcess, number>();
  /** Clients that wait for an answer of the process. */
  const busy = new Map<ServerProcess, number>();
  let inUse: ServerProcess[] = [...fleet.servers];
  let isOver = false;
  const ask = async (server: ServerProcess, id: string) => {
    const status = await hooks.deliver(server.url, { id, event: 'ping', payload: { zen: id } });
    if (status !== 200) failures.push(`delivery ${id}: ${status}`);
    delivered.push(id);
    const headers = { authorization: `Bearer ${key}` };
    const list = await fetch(`${server.url}/v1/acme/posts`, { headers });
    if (list.status !== 200) failures.push(`list: ${list.status} ${await list.text()}`);
    await list.body?.cancel();
    answers.set(server, (answers.get(server) ?? 0) + 1);
  };
  const clients = Array.from({ length: 4 }, async (_, client) => {
    for (let number = 1; !isOver; number++) {
      const server = inUse[number % inUse.length];
      const id = `upgrade-${client}-${number}`;
      if (server === undefined) throw new Error('no process is in use');
      busy.set(server, (busy.get(server) ?? 0) + 1);
      await ask(server, id).catch((error) => failures.push(`${id}: ${error}`));
      busy.set(server, (busy.get(server) ?? 0) - 1);
    }
  });
  const handle = (server: ServerProcess, more: number) => {
    const enough = (answers.get(server) ?? 0) + more;
    return until(
      async () => answers.get(server) ?? 0,
      (count) => count >= enough,
    );
  };

  const [older] = fleet.servers;
  if (older === undefined) throw new Error('no process runs');
  await handle(older, 20);
  const newer = await startVersion(next, data.path, fleet.environment);
  try {
    inUse = [older, newer];
    await Promise.all([handle(older, 20), handle(newer, 20)]);
    inUse = [newer];
    await until(
      async () => busy.get(older),
      (count) => count === 0,
    );
    expect(await fleet.end(older)).toBe(0);
    await handle(newer, 20);
    isOver = true;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    await using connection = new SQL(url, { max: 1 });
    const [row] = await connection`SELECT schema::int, oldest_compatible::int FROM tidings`;
    expect(row).toEqual({ schema: migrations.length + 1, oldest_compatible: migrations.length });
    const [log] =
      await connection`SELECT count(*)::int, count(DISTINCT reference_id)::int AS ids FROM deliveries`;
    expect(log).toEqual({ count: delivered.length, ids: delivered.length });
    // Back to this version, such as when the new one disappoints.
    const again = await fleet.add();
    expect(await hooks.deliver(again.url, { id: 'back', event: 'ping', payload: {} })).toBe(200);
  } finally {
    isOver = true;
    await newer.stop('SIGKILL');
    data.remove();
    rmSync(next, { recursive: true });
  }
}, 600_000);

test('a schema that needs the next version is refused by this one', async () => {
  const url = await postgres.createEmptyDatabase();
  const next = makeNextVersion('ALTER TABLE organizations ADD COLUMN note text', { worksWithThis: false });
  const data = temporaryFolder();
  const environment = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };
  try {
    const newer = await startVersion(next, data.path, environment);
    expect(await newer.stop()).toBe(0);
    const { length } = migrations;
    await expect(startFleet(url, 1)).rejects.toThrow(
      `The database was upgraded by a newer Tidings (schema ${length + 1}; this version supports ${length}). Start that version or a newer one.`,
    );
  } finally {
    data.remove();
    rmSync(next, { recursive: true });
  }
}, 600_000);
