import { expect, test } from 'bun:test';
import { temporaryFolder } from '../support/cli.ts';
import { sharedPostgres } from '../support/postgres-server.ts';
import { startTidings } from '../support/server.ts';
import { startTcpProxy, through } from '../support/tcp-proxy.ts';

test('SIGTERM ends a server whose database does not answer with 0, before its last writes', async () => {
  const url = await (await sharedPostgres()).createDatabase();
  await using proxy = await startTcpProxy({ port: Number(new URL(url).port) });
  const folder = temporaryFolder();
  const server = await startTidings(folder.path, [], {
    environment: {
      DATABASE_URL: through(proxy, url),
      SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    },
  });
  proxy.isSilent = true;
  expect(await server.stop('SIGTERM')).toBe(0);
  expect(await server.stderr()).toContain('before its last writes');
  folder.remove();
}, 120_000);
