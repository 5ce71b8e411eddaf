import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { startGithubApi } from '../support/github-api/server.ts';
import { startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

test('a provider that does not answer does not keep the server from stopping', async () => {
  const dataDir = join(folder.path, 'data');
  using github = startGithubApi();
  github.addRepository('acme/rocket', { rights: { ann: 'admin' } });
  const token = github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
  const environment = { GITHUB_API_URL: github.url };
  const server = await startTidings(dataDir, [], { environment });
  const run = (...words: string[]) =>
    cliJson(dataDir, words, { environment: { ...environment, PUBLIC_URL: server.url } });
  await run('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const connect = ['connect', 'github', '--organization', 'acme', '--repository', 'acme/rocket'];
  const { integrationId } = await run('integration', ...connect, '--token', token);
  await github.settled();

  const asked = github.requests.length;
  github.failNext('never answers');
  const trigger = ['--integration', integrationId, '--event', 'pull_request', '--content-type', 'changelog'];
  await run('trigger', 'create', ...trigger);
  await until(
    async () => github.requests.length,
    (count) => count > asked,
  );
  expect(await server.stop()).toBe(0);
  // It was left, not waited for: a request that ran out of time would stand there as a problem.
  const sqlite = new Sqlite(join(dataDir, 'tidings.db'), { readonly: true });
  expect(sqlite.query('SELECT problem, attempts FROM hooks').all()).toEqual([{ problem: null, attempts: 0 }]);
  sqlite.close();
}, 300_000);
