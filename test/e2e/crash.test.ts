import { afterAll, expect, test } from 'bun:test';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { rounds } from '../support/rounds.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';

const folder = temporaryFolder();
const ROUNDS = rounds(8, 60);
const SENDERS = 8;

let server: ServerProcess | undefined;

afterAll(async () => {
  await server?.stop('SIGKILL');
  folder.remove();
});

interface Entry {
  referenceId: string;
  status: string;
}

const json = (...words: string[]) => cliJson(folder.path, words);

/** Every entry of the log, by delivery id. */
async function readLog(): Promise<Map<string, Entry[]>> {
  const entries: Entry[] = [];
  for (let page = 1; ; page++) {
    const found: Entry[] = await json(
      'delivery',
      'list',
      '--organization',
      'acme',
      '--limit',
      '1000',
      '--page',
      String(page),
    );
    entries.push(...found);
    if (found.length < 1000) return Map.groupBy(entries, ({ referenceId }) => referenceId);
  }
}

test(`kill -9 in a stream of deliveries, ${ROUNDS} rounds: none that was acknowledged is lost, none processed twice`, async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const { secret, webhookUrl } = await json(
    'integration',
    'connect',
    'github',
    '--organization',
    'acme',
    '--repository',
    'a/b',
  );
  const path = new URL(webhookUrl).pathname;

  async function deliver(url: string, id: string): Promise<number> {
    const body = JSON.stringify({ zen: id });
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'ping',
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${hmacSha256(secret, body)}`,
    };
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body })).status;
  }

  const acknowledged = new Set<string>();
  const unanswered = new Set<string>();

  /** Delivers until the server is gone. Dies after so many answers, each round after another number of them. */
  async function streamUntilKilled(round: number, running: ServerProcess): Promise<void> {
    let answers = 0;
    const killAfter = 10 + ((round * 37) % 90);
    await Promise.all(
      Array.from({ length: SENDERS }, async (_, sender) => {
        for (let n = 0; ; n++) {
          const id = `r${round}-s${sender}-${n}`;
          unanswered.add(id);
          const status = await deliver(running.url, id).catch(() => null);
          if (status === null) return;
          expect(status).toBe(200);
          acknowledged.add(id);
          unanswered.delete(id);
          if (++answers === killAfter) void running.stop('SIGKILL');
        }
      }),
    );
  }

  for (let round = 0; round < ROUNDS; round++) {
    server = await startTidings(folder.path);
    await streamUntilKilled(round, server);
    const log = await readLog();
    const lost = [...acknowledged].filter((id) => log.get(id)?.[0]?.status !== 'processed');
    expect(lost).toEqual([]);
  }
  expect(acknowledged.size).toBeGreaterThan(ROUNDS * 10);
  expect(unanswered.size).toBeGreaterThan(0);

  // The provider redelivers everything without a response, and some deliveries that had one.
  server = await startTidings(folder.path);
  const again = [...unanswered, ...[...acknowledged].slice(-100)];
  for (const id of again) expect(await deliver(server.url, id)).toBe(200);
  const log = await readLog();
  const processedOnce = (id: string) =>
    log.get(id)?.filter(({ status }) => status === 'processed').length === 1;
  expect([...acknowledged, ...unanswered].filter((id) => !processedOnce(id))).toEqual([]);
}, 3_600_000);
