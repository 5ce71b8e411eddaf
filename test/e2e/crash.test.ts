import { afterAll, expect, test } from 'bun:test';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { connectRepository, logById, ping } from '../support/fleet.ts';
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

const json = (...words: string[]) => cliJson(folder.path, words);

test(`kill -9 in a stream of deliveries, ${ROUNDS} rounds: none that was acknowledged is lost, none processed twice`, async () => {
  const hooks = await connectRepository({ json });
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
          const status = await hooks.deliver(running.url, ping(id)).catch(() => null);
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
    const log = await logById({ json });
    const lost = [...acknowledged].filter((id) => log.get(id)?.[0]?.status !== 'processed');
    expect(lost).toEqual([]);
  }
  expect(acknowledged.size).toBeGreaterThan(ROUNDS * 10);
  expect(unanswered.size).toBeGreaterThan(0);

  // The provider redelivers everything without a response, and some deliveries that had one.
  server = await startTidings(folder.path);
  const again = [...unanswered, ...[...acknowledged].slice(-100)];
  for (const id of again) expect(await hooks.deliver(server.url, ping(id))).toBe(200);
  const log = await logById({ json });
  const processedOnce = (id: string) =>
    log.get(id)?.filter(({ status }) => status === 'processed').length === 1;
  expect([...acknowledged, ...unanswered].filter((id) => !processedOnce(id))).toEqual([]);
}, 3_600_000);
