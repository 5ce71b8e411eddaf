import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openDataFolder } from '../../src/server/data-folder.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { startHookReceiver, verified } from '../support/hook-receiver.ts';
import { rounds } from '../support/rounds.ts';
import { root } from '../support/server.ts';

const folder = temporaryFolder();
const receiver = startHookReceiver();
afterAll(() => {
  receiver[Symbol.dispose]();
  folder.remove();
});

const ROUNDS = rounds(8, 100);

const json = (...words: string[]) =>
  cliJson(folder.path, words, { environment: { HOOK_PRIVATE_HOSTS: '127.0.0.1' } });

const start = (round: string) =>
  Bun.spawn([process.execPath, join(root, 'test/support/killed-hooks.ts'), folder.path, round], {
    stdout: 'pipe',
    stderr: 'inherit',
  });

test(`kill -9 while posts are published, ${ROUNDS} rounds: each message arrives, those of a post in order`, async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const words = ['--organization', 'acme', '--name', 'Site', '--url', receiver.at('/hook')];
  const { secret } = await json('hook', 'create', ...words);
  const published = new Set<string>();
  let committed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const child = start(String(round));
    // Killed after a number of commits that grows with the round, so at another moment each time.
    const commits = 6 + (round % 40);
    let seen = 0;
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      const ids = decoder.decode(chunk, { stream: true }).split('\n').filter(Boolean);
      for (const id of ids) published.add(id);
      seen += ids.length;
      if (seen >= commits) child.kill('SIGKILL');
    }
    await child.exited;
    committed += seen;
    expect(child.signalCode).toBe('SIGKILL');
  }
  expect(await start('drain').exited).toBe(0);

  const { db, close } = openDataFolder(folder.path);
  const rows = db.$client
    .query<{ id: string; post_id: string; number: number; state: string }, []>(
      'SELECT id, post_id, number, state FROM hook_messages ORDER BY post_id, number',
    )
    .all();
  close();
  // Each committed post has its messages, and all of them were sent.
  const posts = new Set(rows.map((row) => row.post_id));
  expect([...published].filter((id) => !posts.has(id))).toEqual([]);
  expect(published.size).toBe(5 * ROUNDS);
  expect(rows.length).toBeGreaterThanOrEqual(committed);
  expect(rows.filter(({ state }) => state !== 'sent')).toEqual([]);
  const arrived = receiver.requests.map(({ headers }) => headers['webhook-id'] ?? '');
  expect(rows.filter(({ id }) => !arrived.includes(id))).toEqual([]);

  // A message may arrive twice, and never after a later one of its post.
  const numbers = new Map(rows.map(({ id, number }) => [id, number]));
  const latest = new Map<string, number>();
  for (const request of receiver.requests) {
    const { postId } = verified(secret, request).data as { postId: string };
    const number = numbers.get(request.headers['webhook-id'] ?? '') ?? 0;
    expect(number).toBeGreaterThanOrEqual(latest.get(postId) ?? 1);
    latest.set(postId, number);
  }
}, 3_600_000);
