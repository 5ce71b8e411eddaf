import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Post } from '../../src/posts/model.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { startBalancer } from '../support/balancer.ts';
import {
  connectRepository,
  type Fleet,
  inParallel,
  logById,
  ping,
  type Signed,
  startFleet,
} from '../support/fleet.ts';
import { changed } from '../support/payloads.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { rounds } from '../support/rounds.ts';
import type { ServerProcess } from '../support/server.ts';
import { until } from '../support/until.ts';

// Three processes on one PostgreSQL, with everything real.

const PROCESSES = 3;

let postgres: PostgresServer;
let fleet: Fleet;
let hooks: Awaited<ReturnType<typeof connectRepository>>;

beforeAll(async () => {
  postgres = await startPostgres();
  fleet = await startFleet(await postgres.createDatabase(), PROCESSES);
  hooks = await connectRepository(fleet);
  await fleet.json('trigger', 'create', '--integration', hooks.integrationId, '--event', 'release');
}, 300_000);

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  await postgres?.stop();
});

const statusesOf = (entries: readonly { status: string }[] = []) => entries.map(({ status }) => status);

/** Each of these ids was processed once. Attempts before may have failed, and those after are duplicates. */
async function expectOnce(ids: Iterable<string>): Promise<void> {
  const log = await logById(fleet);
  for (const id of ids) {
    const statuses = statusesOf(log.get(id)).filter((status) => status === 'processed');
    expect({ id, statuses }).toEqual({ id, statuses: ['processed'] });
  }
}

/** Deliveries of GitHub about a release: first that it was published, then an edit of its notes, and so on. */
function releaseDelivery(tag: string, version: number): Signed {
  const sample = samplePayload('github', 'release', { repository: 'a/b', now: new Date(RELEASED_AT) }) ?? {};
  const payload = changed(sample, {
    action: version === 1 ? 'published' : 'edited',
    'release.tag_name': tag,
    'release.name': `Name of ${tag}`,
    'release.body': `Notes of ${tag}, version ${version}.`,
  });
  return { id: `${tag}-${version}`, event: 'release', payload };
}

const RELEASED_AT = Date.UTC(2026, 0, 1);

/** A process that runs. */
const someServer = (): ServerProcess => {
  const server = fleet.servers[Math.floor(Math.random() * fleet.servers.length)];
  if (server === undefined) throw new Error('no process runs');
  return server;
};

/** Delivers as providers do: to another process after a failure, until it is acknowledged. */
async function deliverUntilTaken(delivery: Signed): Promise<void> {
  await until(
    async () => {
      try {
        return await hooks.deliver(someServer().url, delivery);
      } catch {
        return 'no answer';
      }
    },
    (answer) => answer === 200,
  );
}

const SENDS = rounds(900, 6_000);
const IDS = rounds(150, 1_000);

test(`${SENDS} sends of ${IDS} ids over ${PROCESSES} processes: each is processed once`, async () => {
  const sends = Array.from({ length: SENDS }, (_, at) => ping(`claim-${at % IDS}`));
  const answers: number[] = [];
  await inParallel(sends, 48, async (delivery, at) => {
    const server = fleet.servers[at % PROCESSES];
    answers.push(await hooks.deliver(server?.url ?? '', delivery));
  });
  expect(answers.filter((status) => status !== 200)).toEqual([]);
  await expectOnce(sends.map(({ id }) => id));
  const log = await logById(fleet);
  const entries = sends.slice(0, IDS).flatMap(({ id }) => log.get(id) ?? []);
  expect(entries).toHaveLength(SENDS);
}, 600_000);

describe('under load', () => {
  /** Delivers releases and edits of them while `trouble` goes on, and checks what became of them. */
  async function survive(name: string, trouble: () => Promise<void>): Promise<void> {
    const delivered: string[] = [];
    const versions = new Map<string, number>();
    let isOver = false;
    const senders = Array.from({ length: 4 }, async (_, sender) => {
      for (let number = 1; !isOver; number++) {
        const tag = `${name}-${sender}-${number}`;
        for (const version of [1, 2, 3]) {
          const delivery = releaseDelivery(tag, version);
          await deliverUntilTaken(delivery);
          delivered.push(delivery.id);
          versions.set(tag, version);
        }
      }
    });
    await trouble().finally(() => {
      isOver = true;
    });
    await Promise.all(senders);
    await expectOnce(delivered);
    await until(
      () => fleet.json('trigger', 'runs'),
      (runs) => runs.length === 0,
    );
    const posts: Post[] = [];
    for (let page = 1; ; page++) {
      const words = ['--organization', 'acme', '--limit', '1000', '--page', String(page)];
      const found: Post[] = await fleet.json('post', 'list', ...words);
      posts.push(...found);
      if (found.length < 1000) break;
    }
    const own = posts.filter(({ title }) => title.startsWith(`Name of ${name}-`));
    // One draft of each release, with its last version.
    const texts = own.map(({ title, markdown }) => `${title}: ${/version \d+/.exec(markdown)?.[0]}`).sort();
    expect(texts).toEqual(
      Array.from(versions, ([tag, version]) => `Name of ${tag}: version ${version}`).sort(),
    );
  }

  const KILLS = rounds(2, 50);

  test(`${KILLS} times kill -9 of a process: nothing is lost, nothing twice, order is kept`, async () => {
    await survive('kill', async () => {
      for (let round = 0; round < KILLS; round++) {
        await fleet.end(someServer(), 'SIGKILL');
        await fleet.add();
      }
    });
  }, 1_800_000);

  const CRASHES = rounds(2, 10);

  test(`${CRASHES} times kill -9 of the database: nothing is lost, nothing twice, order is kept`, async () => {
    await survive('crash', async () => {
      for (let round = 0; round < CRASHES; round++) {
        await postgres.kill('SIGKILL');
        await postgres.restart();
        await until(
          () => fetch(`${someServer().url}/ready`).then(({ status }) => status),
          (status) => status === 200,
        );
      }
    });
  }, 1_800_000);

  test('a rolling restart without a failed request', async () => {
    const failures: string[] = [];
    let requests = 0;
    let isOver = false;
    using balancer = await startBalancer(() => fleet.servers.map(({ url }) => url));
    const clients = Array.from({ length: 2 }, async (_, client) => {
      for (let number = 1; !isOver; number++) {
        requests++;
        const id = `rolling-${client}-${number}`;
        const status = await hooks.deliver(balancer.url, ping(id)).catch((error) => String(error));
        if (status !== 200) failures.push(`${id}: ${status}`);
      }
    });
    for (const server of [...fleet.servers]) {
      const before = requests;
      const added = await fleet.add();
      await until(
        async () => balancer.ready().includes(added.url),
        (isReady) => isReady,
      );
      expect(await fleet.end(server, 'SIGTERM')).toBe(0);
      await until(
        async () => requests - before,
        (since) => since > 20,
      );
    }
    isOver = true;
    await Promise.all(clients);
    expect(failures).toEqual([]);
  }, 600_000);
});
