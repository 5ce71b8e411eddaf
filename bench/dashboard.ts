import { join } from 'node:path';
import { Command } from 'commander';
import { progressBar } from '../src/cli/output.ts';
import { chooseCores } from './support/cores.ts';
import { type DashboardFolder, fillDashboardFolder } from './support/dashboard-folder.ts';
import { type DashboardPage, dashboardPages, rehearsals } from './support/dashboard-pages.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { type RehearsalFigures, timeRehearsal } from './support/rehearsals.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { startServer, tidings } from './support/server.ts';
import { median, quantile } from './support/statistics.ts';
import { table } from './support/table.ts';
import { type Asked, timeRequests, timeWhile } from './support/waits.ts';
import { type FirstView, weighFirstView } from './support/weigh.ts';

// How long the pages of the dashboard take when there is a great deal to show, each opened several times, one request
// after the other; and how long other requests wait meanwhile, as pages are made on the thread that serves them all.

interface Options {
  entries: number;
  posts: number;
  requests: number;
  json?: true;
}

/** In milliseconds. */
interface PageFigures {
  page: string;
  firstMs: number;
  medianMs: number;
  p95Ms: number;
  /** The longest that a `/ping` took while the page was opened again and again. */
  longestPingMs: number;
}

/** The limit of every page. */
const LIMIT_MS = 30;

/** The limit of the first post of a rehearsal. */
const RESULT_LIMIT_MS = 300;

const REHEARSALS = 5;

await runBenchmark((defer) =>
  new Command('dashboard')
    .description('measure how long the pages of the dashboard take with a great deal to show')
    .option('--entries <number>', 'how many entries the log has', wholeNumber, 1_000_000)
    .option('--posts <number>', 'how many posts there are', wholeNumber, 100_000)
    .option('--requests <number>', 'how often each page is opened', wholeNumber, 30)
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      const folder = await fill(options, defer);
      const result = await measure(folder, options.requests, defer);
      const machine = describeMachine(chooseCores().server.length > 0);
      const { entries, posts, requests } = options;
      terminal.write(
        options.json
          ? `${JSON.stringify({ machine, entries, posts, requests, limitMs: LIMIT_MS, resultLimitMs: RESULT_LIMIT_MS, ...result })}\n`
          : `${machineLine(machine)}\n${entries} log entries, ${posts} posts, each page opened ${requests} times\n\n${describe(result)}\n`,
      );
    }),
);

async function fill({ entries, posts }: Options, defer: Defer): Promise<DashboardFolder> {
  const path = join(await makeTempFolder(defer), 'data');
  const bar = progressBar(terminal, 'filling');
  try {
    return await fillDashboardFolder(path, { entries, posts }, bar.show);
  } finally {
    bar.done();
  }
}

async function measure(folder: DashboardFolder, requests: number, defer: Defer) {
  const pages = dashboardPages(folder);
  const logFile = join(folder.path, 'server.log');
  const server = await startServer(tidings(folder.path), { core: chooseCores().server, logFile, defer });
  const headers = { cookie: folder.cookie };
  const ping = { url: `${server.url}/ping`, headers: {} };
  const bar = progressBar(terminal, 'measuring');
  const figures: PageFigures[] = [];
  try {
    const quietPings = await timeWhile(ping, defer, () => Bun.sleep(2_000));
    for (const page of pages) {
      figures.push(await measurePage(page, { url: server.url + page.path, headers }, ping));
      bar.show(figures.length, pages.length);
    }
    const rehearsed: RehearsalFigures[] = [];
    for (const page of rehearsals(folder))
      rehearsed.push(await timeRehearsal(page, { url: server.url + page.path, headers }, REHEARSALS));
    const firstView = await weighFirstView(server.url, pages[0] as DashboardPage, headers);
    return {
      quietPingMs: { median: median(quietPings), longest: quantile(quietPings, 1) },
      figures,
      rehearsed,
      firstView,
    };
  } finally {
    bar.done();
    await server.stop();
  }

  async function measurePage({ name }: DashboardPage, asked: Asked, ping: Asked): Promise<PageFigures> {
    // The very first one is told apart: it finds nothing prepared, nor in SQLite's memory.
    const [firstMs = Number.NaN, ...took] = await timeRequests(asked, requests + 1, defer);
    const pings = await timeWhile(ping, defer, () => timeRequests(asked, requests, defer));
    return {
      page: name,
      firstMs,
      medianMs: median(took),
      p95Ms: quantile(took, 0.95),
      longestPingMs: quantile(pings, 1),
    };
  }
}

function describe({
  quietPingMs,
  figures,
  rehearsed,
  firstView,
}: Awaited<ReturnType<typeof measure>>): string {
  const cells = (each: PageFigures) =>
    [
      each.firstMs.toFixed(1),
      each.medianMs.toFixed(1),
      each.p95Ms.toFixed(1),
      `${((each.p95Ms / LIMIT_MS) * 100).toFixed(0)} %`,
      each.longestPingMs.toFixed(1),
    ].map((cell) => cell.padStart(9));
  const head = ['FIRST MS', 'MEDIAN MS', '95 % MS', `OF ${LIMIT_MS} MS`, 'PING MS'].map((cell) =>
    cell.padStart(9),
  );
  const over = figures.filter(({ p95Ms }) => p95Ms > LIMIT_MS).map(({ page }) => page);
  return [
    table(
      ['PAGE', ...head],
      figures.map((each) => [each.page, ...cells(each)]),
    ),
    '',
    `A ping of a quiet server takes ${quietPingMs.median.toFixed(2)} ms, ${quietPingMs.longest.toFixed(1)} ms at most.`,
    over.length === 0 ? `No page takes longer than ${LIMIT_MS} ms.` : `Too slow: ${over.join(', ')}`,
    '',
    describeRehearsals(rehearsed),
    '',
    describeFirstView(firstView),
  ].join('\n');
}

function describeRehearsals(rehearsed: readonly RehearsalFigures[]): string {
  const rows = rehearsed.map(({ page, firstByteMs, firstResultMs, totalMs }) => [
    page,
    ...[firstByteMs, firstResultMs, totalMs].map((ms) => ms.toFixed(0).padStart(9)),
    firstResultMs > RESULT_LIMIT_MS ? `over ${RESULT_LIMIT_MS} ms` : '',
  ]);
  return table(['REHEARSAL', 'FIRST BYTE', 'FIRST POST', '      ALL', ''], rows);
}

function describeFirstView(parts: FirstView): string {
  const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1).padStart(9);
  const rows = parts.map(({ name, plain, sent }) => [name, kilobytes(plain), kilobytes(sent)]);
  const sum = (pick: (part: FirstView[number]) => number) => parts.reduce((all, part) => all + pick(part), 0);
  const total = ['together', kilobytes(sum(({ plain }) => plain)), kilobytes(sum(({ sent }) => sent))];
  return table(['FIRST VIEW OF THE LOG', '    PLAIN KB', '    SENT KB'], [...rows, total]);
}
