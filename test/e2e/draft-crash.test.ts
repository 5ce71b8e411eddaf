import { afterAll, expect, test } from 'bun:test';
import { hashOf } from '../../src/drafting/write.ts';
import type { Post } from '../../src/posts/model.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { connectRepository, type Signed } from '../support/fleet.ts';
import { changed } from '../support/payloads.ts';
import { rounds } from '../support/rounds.ts';
import { allRows } from '../support/rows.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const database = openDataFolder(folder.path);
/** Twelve have each moment of death after each number of answers. */
const ROUNDS = rounds(4, 60);
const RELEASES = 3;
const PUSHES = 3;

let server: ServerProcess | undefined;

afterAll(async () => {
  await server?.stop('SIGKILL');
  database.close();
  folder.remove();
});

const json = (...words: string[]) => cliJson(folder.path, words);

/** The deliveries of a round: releases and pushes in turn, an hour apart. */
function payloadsOf(round: number): Signed[] {
  const turns = Array.from({ length: RELEASES + PUSHES }, (_, turn) => turn);
  return turns.map((turn) => {
    const now = new Date(Date.UTC(2026, 0, 1, round * turns.length + turn));
    const event = turn % 2 === 0 ? 'push' : 'release';
    const id = `${event}-${round}-${turn}`;
    const sample = samplePayload('github', event, { repository: 'a/b', now }) ?? {};
    const sha = Bun.SHA1.hash(id, 'hex');
    const commit = { id: sha, message: `feat: ${id}`, timestamp: now.toISOString() };
    const changes =
      event === 'push'
        ? { after: sha, commits: [commit], 'repository.pushed_at': now.getTime() / 1000 }
        : // Without notes it tells of the pushes since the one before.
          { 'release.tag_name': id, 'release.name': `Name of ${id}`, 'release.body': null };
    return { id, event, payload: changed(sample, changes) };
  });
}

test(`kill -9 between acknowledgement and draft, ${ROUNDS} rounds: each draft is there once, and whole`, async () => {
  const hooks = await connectRepository({ json });
  const create = ['trigger', 'create', '--integration', hooks.integrationId, '--event'];
  const releases = (await json(...create, 'release')).id;
  const pushes = (await json(...create, 'push')).id;

  const countPosts = () => Number(database.db.$client.query('SELECT count(*) FROM posts').values()[0]?.[0]);

  let unanswered = 0;
  const acknowledged = new Set<string>();

  /** Delivers one after the other, until the server is gone; after so many answers it is killed. */
  async function deliverUntilKilled(round: number, running: ServerProcess): Promise<void> {
    const killAfter = 1 + (round % (RELEASES + PUSHES));
    let killed: Promise<unknown> | undefined;
    let answers = 0;
    for (const delivery of payloadsOf(round)) {
      const status = await hooks.deliver(running.url, delivery).catch(() => null);
      if (status === null) {
        unanswered++;
        break;
      }
      expect(status).toBe(200);
      acknowledged.add(delivery.id);
      if (++answers === killAfter) killed = momentOfDeath(round).then(() => running.stop('SIGKILL'));
    }
    await killed;
  }

  /** At once, while deliveries are under way; or as soon as one draft, or two, are written. */
  async function momentOfDeath(round: number): Promise<unknown> {
    if (round % 4 === 0) return;
    const before = countPosts();
    const drafts = round % 4 === 2 ? 2 : 1;
    return until(
      async () => countPosts(),
      (count) => count >= before + drafts,
    );
  }

  let withoutDrafts = 0;
  let withSomeDrafts = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const before = countPosts();
    server = await startTidings(folder.path);
    await deliverUntilKilled(round, server);
    if ((await json('trigger', 'runs')).length === 0) continue;
    if (countPosts() === before) withoutDrafts++;
    else withSomeDrafts++;
  }
  // Otherwise no kill came in a delivery, none between an acknowledgement and its drafts, or none among the drafts.
  expect([unanswered, withoutDrafts, withSomeDrafts]).not.toContain(0);

  server = await startTidings(folder.path);
  await until(
    () => json('trigger', 'runs'),
    (runs) => runs.length === 0,
  );
  expect(await server.stop()).toBe(0);

  const words = ['--organization', 'acme', '--limit', '1000'];
  const log: { status: string; referenceId: string }[] = await json('delivery', 'list', ...words);
  expect(log.filter(({ status }) => status !== 'processed')).toEqual([]);
  const processed = new Set(log.map(({ referenceId }) => referenceId));
  expect([...acknowledged].filter((id) => !processed.has(id))).toEqual([]);

  const posts: Post[] = await json('post', 'list', ...words);
  const postsOf = (triggerId: string) =>
    posts.filter(({ sourceMetadata }) => sourceMetadata?.triggerId === triggerId);

  // A draft of each release that the log has, and no other.
  const told = (event: string) => [...processed].filter((id) => id.startsWith(event)).sort();
  expect(told('release').length).toBeGreaterThan(ROUNDS);
  expect(
    postsOf(releases)
      .map(({ title }) => title)
      .sort(),
  ).toEqual(told('release').map((id) => `Name of ${id}`));
  // Each push that the log has in one draft, and no other.
  expect(told('push').length).toBeGreaterThan(ROUNDS);
  const lines = postsOf(pushes).flatMap(({ markdown }) => markdown.match(/push-\d+-\d+/gi) ?? []);
  expect(lines.map((line) => line.toLowerCase()).sort()).toEqual(told('push'));

  // The log makes the same posts when it is read from its beginning, without a crash.
  for (const triggerId of [releases, pushes]) {
    const rehearsed: Post[] = await json('trigger', 'rehearse', triggerId, '--since', '2000-01-01');
    expect(textsOf(postsOf(triggerId))).toEqual(textsOf(rehearsed));
  }

  // Each draft's record exists with its post, and never without it.
  const rows = (await allRows(database.db)).drafts ?? [];
  expect(rows.map(({ post_id, written_hash }) => `${post_id} ${written_hash}`).sort()).toEqual(
    posts.map((post) => `${post.id} ${hashOf(post)}`).sort(),
  );
}, 3_600_000);

function textsOf(posts: readonly Pick<Post, 'title' | 'markdown' | 'content'>[]) {
  return posts
    .map(({ title, markdown, content }) => ({ title, markdown, content }))
    .sort((one, other) => (one.title < other.title ? -1 : 1));
}
