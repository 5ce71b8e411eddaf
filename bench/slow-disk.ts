import { join } from 'node:path';
import { Command } from 'commander';
import { progressBar } from '../src/cli/output.ts';
import { openDataFolder } from '../src/server/data-folder.ts';
import { chooseCores } from './support/cores.ts';
import { makeDisks } from './support/disk.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder, type SeededPosts, seedPosts } from './support/seed.ts';
import { type Program, type Server, startServer, tidings } from './support/server.ts';
import { median, quantile } from './support/statistics.ts';
import { table } from './support/table.ts';
import { timeWhile } from './support/waits.ts';
import { seedRepository } from './support/webhook-folder.ts';
import type { Load } from './support/wrk.ts';

// How long requests wait while deliveries arrive, on this disk and on one where each sync takes 250 ms longer.

interface Options {
  delay: number;
  rounds: number;
  seconds: number;
  json?: true;
}

interface Subject {
  server: Server;
  posts: SeededPosts;
  pushes: Load;
  /** Milliseconds by kind of request. */
  took: Record<Kind, number[]>;
}

const KINDS = ['ping', 'list', 'delivery'] as const;
type Kind = (typeof KINDS)[number];

const DELIVERY_EVERY_MS = 50;

await runBenchmark((defer) =>
  new Command('slow-disk')
    .description('measure how long requests wait for a slow disk')
    .option('--delay <ms>', 'how much longer each sync takes', wholeNumber, 250)
    .option('--rounds <number>', 'how often each disk is measured', wholeNumber, 5)
    .option('--seconds <number>', 'how long each time', wholeNumber, 2)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ delay, rounds, seconds, json }: Options) => {
      const folder = await makeTempFolder(defer);
      const disks = await makeDisks(folder);
      const fast = await start(folder, 'fast', (program) => program, defer);
      const slow = await start(folder, 'slow', (program) => disks.slow(program, 'slow', delay), defer);
      const bar = progressBar(terminal, 'measuring');
      for (let round = 0; round < rounds; round++) {
        for (const [at, subject] of [fast, slow].entries()) {
          await measure(subject, seconds * 1_000, defer);
          bar.show(round * 2 + at + 1, rounds * 2);
        }
      }
      bar.done();
      const figures = KINDS.map((kind) => ({
        kind,
        fast: summarize(fast.took[kind]),
        slow: summarize(slow.took[kind]),
        ratio: median(slow.took[kind]) / median(fast.took[kind]),
      }));
      const machine = describeMachine(false);
      terminal.write(
        json
          ? `${JSON.stringify({ machine, delay, rounds, seconds, figures })}\n`
          : `${machineLine(machine)}\nMilliseconds while a delivery arrives every ${DELIVERY_EVERY_MS} ms; median, 99 %, longest\n\n${describe(figures, delay)}\n`,
      );
    }),
);

async function start(
  folder: string,
  name: string,
  on: (program: Program) => Program,
  defer: Defer,
): Promise<Subject> {
  const path = join(folder, name);
  const { db, secrets, close } = openDataFolder(path);
  const posts = await seedPosts(db, { ascii: true });
  const { pushes } = await seedRepository({ db, secrets }, 'org_hooks');
  close();
  const logFile = join(folder, `${name}.log`);
  const server = await startServer(on(tidings(path)), { core: chooseCores().server, logFile, defer });
  return { server, posts, pushes, took: { ping: [], list: [], delivery: [] } };
}

async function measure({ server, posts, pushes, took }: Subject, ms: number, defer: Defer): Promise<void> {
  const list = {
    url: `${server.url}/v1/${posts.organizationId}/posts`,
    headers: { authorization: `Bearer ${posts.key}` },
  };
  const deliver = async () => void took.delivery.push(...(await deliverFor(server, pushes, ms)));
  took.ping.push(...(await timeWhile({ url: `${server.url}/ping`, headers: {} }, defer, deliver)));
  took.list.push(...(await timeWhile(list, defer, deliver)));
}

/** Sends deliveries at a fixed rate, however long each takes. */
async function deliverFor(server: Server, { paths, headers, post }: Load, ms: number): Promise<number[]> {
  const [body] = post?.bodies ?? [];
  if (post === undefined || body === undefined) return [];
  const sent: Promise<number>[] = [];
  for (let at = 0; at < ms; at += DELIVERY_EVERY_MS) {
    const startedAt = performance.now();
    const response = fetch(`${server.url}${paths[0]}`, {
      method: 'POST',
      headers: { ...headers, ...body.headers, [post.countingHeader]: Bun.randomUUIDv7() },
      body: body.text,
    });
    sent.push(response.then((answer) => answer.bytes()).then(() => performance.now() - startedAt));
    await Bun.sleep(DELIVERY_EVERY_MS);
  }
  return Promise.all(sent);
}

function summarize(took: readonly number[]) {
  return {
    requests: took.length,
    medianMs: median(took),
    p99Ms: quantile(took, 0.99),
    longestMs: quantile(took, 1),
  };
}

function describe(
  figures: readonly { kind: Kind; fast: Summary; slow: Summary; ratio: number }[],
  delay: number,
): string {
  const cell = ({ medianMs, p99Ms, longestMs }: Summary) =>
    [medianMs, p99Ms, longestMs].map((ms) => ms.toFixed(2)).join('  ');
  return table(
    ['', 'THIS DISK', `SYNCS ${delay} MS LONGER`, 'RATIO OF MEDIANS'],
    figures.map(({ kind, fast, slow, ratio }) => [kind, cell(fast), cell(slow), ratio.toFixed(2)]),
  );
}

type Summary = ReturnType<typeof summarize>;
