import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';

// The PostgreSQL server that tests run on.

const countRows = async (url: string) => {
  await using connection = new SQL(url, { max: 1 });
  const [row] = await connection`SELECT count(*) AS rows FROM kept`;
  return Number(row.rows);
};

test('a killed server comes back on the same port with what was committed', async () => {
  await using server = await startPostgres({}, { files: { note: 'a file' } });
  const url = await server.createEmptyDatabase();
  await using connection = new SQL(url, { max: 1 });
  await connection`CREATE TABLE kept (id integer)`;
  await connection`INSERT INTO kept VALUES (1)`;
  const before = server.pid;
  await server.kill('SIGKILL');
  await expect(countRows(url)).rejects.toThrow();
  await server.restart({ settings: { max_connections: '7' } });
  expect(await countRows(url)).toBe(1);
  expect(server.pid).not.toBe(before);
  await using again = new SQL(url, { max: 1 });
  expect((await again`SHOW max_connections`)[0].max_connections).toBe('7');
  await server.dropDatabase(url);
  await expect(countRows(url)).rejects.toThrow('does not exist');
});

test('a paused server gives no response until it resumes', async () => {
  await using server = await startPostgres();
  await using connection = new SQL(await server.createEmptyDatabase(), { max: 1 });
  await connection`SELECT 1`;
  server.pause();
  const query = connection`SELECT 2 AS two`.execute();
  expect(await Promise.race([query, Bun.sleep(200).then(() => 'nothing')])).toBe('nothing');
  server.resume();
  expect((await query)[0].two).toBe(2);
});

test('settings that PostgreSQL refuses fail the start with its reason', async () => {
  await expect(startPostgres({ max_connections: 'many' })).rejects.toThrow('invalid value for parameter');
});

test('the server ends with the process that started it', async () => {
  const script = `
    import { startPostgres } from ${JSON.stringify(join(import.meta.dir, '../../support/postgres-server.ts'))};
    const { pid, socketFolder } = await startPostgres();
    console.log(JSON.stringify({ pid, socketFolder }));
    setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' });
  const { value } = await child.stdout.getReader().read();
  const { pid, socketFolder } = JSON.parse(new TextDecoder().decode(value));
  expect(existsSync(join(socketFolder, 'data'))).toBe(true);
  child.kill('SIGKILL');
  await until(
    () => Promise.resolve(isAlive(pid)),
    (is) => !is,
  );
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
