import { afterAll, expect, test } from 'bun:test';
import { openDataFolder } from '../../src/server/data-folder.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { rounds } from '../support/rounds.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const database = openDataFolder(folder.path);
const POSTS = 400;
const ROUNDS = rounds(3, 20);

let server: ServerProcess | undefined;

afterAll(async () => {
  await server?.stop('SIGKILL');
  database.close();
  folder.remove();
});

const json = (...words: string[]) => cliJson(folder.path, words);
const { $client } = database.db;
const count = (query: string) => Number($client.query(query).values()[0]?.[0]);
const countPublished = () => count("SELECT count(*) FROM posts WHERE status = 'published'");

test(`kill -9 while posts are published, ${ROUNDS} rounds: each is published once, and late ones say why`, async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const drafts = Array.from({ length: POSTS }, (_, number) => ({
    id: `p${number}`,
    title: `Post ${number}`,
    markdown: 'Text',
    status: 'draft',
  }));
  const file = `${folder.path}/drafts.json`;
  await Bun.write(file, JSON.stringify(drafts));
  await json('post', 'import', '--organization', 'acme', file);

  // Due two hours ago, while nothing ran.
  const publishAt = Date.now() - 2 * 3_600_000;
  $client.run(
    `INSERT INTO post_schedules (post_id, organization_id, publish_at, time_zone, actor_name, created_at)
     SELECT id, organization_id, ${publishAt}, 'UTC', 'ann@acme.example', created_at FROM posts`,
  );

  let isCut = false;
  for (let round = 0; round < ROUNDS; round++) {
    const before = countPublished();
    server = await startTidings(folder.path);
    await until(
      async () => countPublished(),
      (published) => published > before + round || published === POSTS,
    );
    await server.stop('SIGKILL');
    isCut ||= countPublished() < POSTS;
  }
  // Otherwise no kill came in between.
  expect(isCut).toBe(true);

  server = await startTidings(folder.path);
  await until(
    async () => countPublished(),
    (published) => published === POSTS,
  );
  expect(await server.stop()).toBe(0);
  expect(count('SELECT count(*) FROM post_schedules')).toBe(0);
  const events = $client
    .query("SELECT target_id, summary FROM audit_events WHERE action = 'post.published'")
    .values() as [string, string][];
  expect(events.map(([id]) => id).sort()).toEqual(drafts.map(({ id }) => id).sort());
  for (const [, summary] of events) expect(summary).toEndWith(' 2 h late: Tidings was not running');
}, 3_600_000);
