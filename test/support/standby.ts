import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type PostgresServer, startPostgres } from './postgres-server.ts';
import { until } from './until.ts';

/** Starts a standby that streams from the primary, which restarts for it. The standby has the same databases. */
export async function startStandby(primary: PostgresServer): Promise<PostgresServer> {
  const standby = await startPostgres();
  await standby.kill('SIGINT');
  // A copy of a server that was shut down is consistent.
  await primary.kill('SIGINT');
  const data = join(standby.socketFolder, 'data');
  rmSync(data, { recursive: true });
  Bun.spawnSync(['cp', '-a', join(primary.socketFolder, 'data'), data]);
  await primary.restart();
  await standby.restart({
    settings: { primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres` },
    files: { 'standby.signal': '' },
  });
  await caughtUp(primary, standby);
  return standby;
}

/** Waits until the standby shows everything that is on the primary. */
export async function caughtUp(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [position] = await query(primary, 'SELECT pg_current_wal_flush_lsn()::text AS lsn');
  await until(
    () => query(standby, `SELECT pg_last_wal_replay_lsn() >= '${position.lsn}' AS is_there`),
    ([row]) => row?.is_there === true,
  );
}

/** Stops showing changes; the standby goes on receiving them. */
export async function pauseReplay(standby: PostgresServer): Promise<void> {
  await query(standby, 'SELECT pg_wal_replay_pause()');
  await until(
    () => query(standby, 'SELECT pg_get_wal_replay_pause_state() AS state'),
    ([row]) => row?.state === 'paused',
  );
}

export async function resumeReplay(standby: PostgresServer): Promise<void> {
  await query(standby, 'SELECT pg_wal_replay_resume()');
}

/** Makes it a primary of its own. */
export async function promote(standby: PostgresServer): Promise<void> {
  await query(standby, 'SELECT pg_promote()');
}

async function query(server: PostgresServer, statement: string) {
  await using connection = new SQL(server.url('postgres'), { max: 1 });
  return await connection.unsafe(statement);
}
