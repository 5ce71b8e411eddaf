import { afterAll, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { migrate, migrations } from '../../db/postgres/migrate.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { sharedPostgres } from '../support/postgres-server.ts';
import { root, startTidings } from '../support/server.ts';

// Folders that binaries of releases left behind, opened with this version. `keep-release.ts` lets such a binary make it.

const { path: folders, remove } = temporaryFolder();
afterAll(remove);

interface Kept {
  version: string;
  /** The former PUBLIC_URL. */
  url: string;
  api: { organization: string; key: string; list: object };
  /** The JSON that the binary printed, by the command. */
  answers: Record<string, object>;
  path(name: string): string;
}

const releases = join(root, 'test/fixtures/releases');
const kept = await Promise.all(
  readdirSync(releases).map(async (version): Promise<Kept> => {
    const path = (name: string) => join(releases, version, name);
    const { url, api, ...answers } = await Bun.file(path('answers.json')).json();
    return { version, url, api, answers, path };
  }),
);

/** Restores the backup, which the first command upgrades. */
async function restore({ path }: Kept, dataDir: string): Promise<void> {
  mkdirSync(dataDir);
  copyFileSync(path('secret.key'), join(dataDir, 'secret.key'));
  await cliJson(dataDir, ['restore', path('tidings.backup')]);
}

/** A database with the schema and the rows of that release, which the first command upgrades. */
async function fillPostgres({ path }: Kept): Promise<string> {
  const url = await (await sharedPostgres()).createEmptyDatabase();
  const rows = await Bun.file(path('postgres.sql')).text();
  const [, schema] = /"tidings".*"schema":(\d+)/.exec(rows) ?? [];
  await using connection = new SQL(url, { max: 1 });
  await migrate(connection, migrations.slice(0, Number(schema)));
  // Without triggers and foreign keys.
  await connection.unsafe(`SET session_replication_role = replica; DELETE FROM tidings; ${rows}`);
  return url;
}

async function environmentOn(
  engine: string,
  release: Kept,
  dataDir: string,
): Promise<Record<string, string>> {
  if (engine === 'postgres') {
    const SECRET_KEY = (await Bun.file(release.path('secret.key')).text()).trim();
    return { DATABASE_URL: await fillPostgres(release), SECRET_KEY };
  }
  await restore(release, dataDir);
  return {};
}

describe.each(kept.map((each) => [each.version, each] as const))('what %s wrote', (version, release) => {
  const { answers, api, url: PUBLIC_URL } = release;
  const { organization, key, list } = api;

  test.each(['sqlite', 'postgres'])('is all there after an upgrade on %s', async (engine) => {
    const dataDir = join(folders, `${version} ${engine}`);
    const environment = await environmentOn(engine, release, dataDir);
    for (const [words, answer] of Object.entries(answers)) {
      const now = await cliJson(dataDir, words.split(' '), { environment });
      expect({ [words]: now }).toMatchObject({ [words]: answer });
    }

    const server = await startTidings(dataDir, [], { environment: { ...environment, PUBLIC_URL } });
    try {
      const posts = await fetch(`${server.url}/v1/${organization}/posts?status=draft&status=published`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(await posts.json()).toEqual(list);
      const [image] = /\/media\/img_\w+\.webp/.exec(JSON.stringify(list)) ?? [];
      // The database alone was moved.
      expect((await fetch(server.url + image)).status).toBe(engine === 'sqlite' ? 200 : 404);
      const signedIn = await fetch(`${server.url}/dashboard/~/sign-in`, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ email: 'ann@acme.example', password: 'correct horse battery' }),
        redirect: 'manual',
      });
      expect(signedIn.status).toBe(303);
      const [{ id }] = answers['integration list'] as [{ id: string }];
      const ping = ['send', 'github', 'ping', '--integration', id, '--url', server.url];
      expect(await cliJson(dataDir, ping, { environment })).toMatchObject({ status: 200 });
    } finally {
      await server.stop();
    }
  });
});
