import { Database as Sqlite } from 'bun:sqlite';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Storage } from '../db/engine.ts';
import { progressBar } from '../src/cli/output.ts';
import { openDataFolder } from '../src/operate/data-folder.ts';
import { contentTypes, type PageSelection, postStatuses } from '../src/posts/model.ts';
import { createPages } from '../src/posts/pages.ts';
import { BenchError } from './support/bench-error.ts';
import { chooseCores } from './support/cores.ts';
import { fillLongList, ORGANIZATION } from './support/long-list.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { startServer, tidings } from './support/server.ts';
import { median } from './support/statistics.ts';
import { table } from './support/table.ts';

// What a page far down a long list costs, for one of the first page of the same list: of every filter and order. No page
// is kept. Processor time in this process, where another connection writes before some of the requests, and time over
// HTTP.

interface Options {
  posts: number;
  rounds: number;
  requests: number;
  json?: true;
}

type Filter = Pick<PageSelection, 'statuses' | 'contentTypes' | 'sort'>;

/** Which pages are asked for, by the number of the last one. */
const pageOf = {
  first: () => 1,
  middle: (last: number) => Math.ceil(last / 2),
  last: (last: number) => last,
  random: (last: number) => 1 + Math.floor(Math.random() * last),
};
type Place = keyof typeof pageOf;
const places = Object.keys(pageOf) as Place[];

/** Microseconds, the median of the rounds. */
type Figures = Record<Place, number>;

const subsets = <Value>(values: readonly Value[]) => [...values.map((value) => [value]), [...values]];

const filters: Filter[] = subsets(postStatuses).flatMap((statuses) =>
  subsets(contentTypes).flatMap((types) =>
    (['desc', 'asc'] as const).map((sort) => ({ statuses, contentTypes: types, sort })),
  ),
);

const LIMIT = 10;

/** By the query of a list. */
const lastPages = new Map<string, number>();

await runBenchmark((defer) =>
  new Command('deep-pages')
    .description('measure what a page far down a long list costs')
    .option('--posts <number>', 'how many posts there are', wholeNumber, 1_000_000)
    .option('--rounds <number>', 'how often everything is measured', wholeNumber, 7)
    .option('--requests <number>', 'how many requests of a kind a round has', wholeNumber, 30)
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      const path = join(await makeTempFolder(defer), 'data');
      const key = await fill(path, options.posts);
      const result = {
        inProcess: await measureInProcess(path, options),
        http: await measureHttp(path, key, options, defer),
      };
      const machine = describeMachine(chooseCores().server.length > 0);
      terminal.write(
        options.json
          ? `${JSON.stringify({ machine, ...options, ...result })}\n`
          : `${machineLine(machine)}\n${options.posts} posts, ${LIMIT} a page, µs, and the share of the first page\n\n${describe(result)}\n`,
      );
    }),
);

async function fill(path: string, posts: number): Promise<string> {
  const bar = progressBar(terminal, 'filling');
  try {
    return await fillLongList(path, posts, bar.show);
  } finally {
    bar.done();
  }
}

async function measureInProcess(path: string, { rounds, requests }: Options) {
  const { db, close } = openDataFolder(path);
  const writer = new Sqlite(join(path, 'tidings.db'), { strict: true });
  writer.run('PRAGMA synchronous = OFF');
  const bar = progressBar(terminal, 'measuring');
  try {
    await readWhole(join(path, 'tidings.db'));
    const figures: { filter: string; quiet: Figures; written: Figures }[] = [];
    for (const [at, filter] of filters.entries()) {
      const ask = await asker(db, filter);
      figures.push({
        filter: nameOf(filter),
        quiet: await compare(rounds, requests, ask),
        written: await compare(rounds, requests, ask, () =>
          writer.run('UPDATE posts SET title = title WHERE rowid IN (1, 2, 5, 47)'),
        ),
      });
      bar.show(at + 1, filters.length);
    }
    return figures;
  } finally {
    bar.done();
    writer.close();
    close();
  }
}

/** Brings the file into the memory of the system: the disk is not measured. */
async function readWhole(file: string): Promise<void> {
  for await (const _ of Bun.file(file).stream());
}

/** Asks for a page of a list. Nothing of it is kept. */
async function asker(db: Pick<Storage, 'read'>, filter: Filter) {
  const render = createPages(db, 0);
  const { body } = await render(ORGANIZATION, { ...filter, limit: LIMIT, page: 1 });
  const { pagination } = JSON.parse(new TextDecoder().decode(body)) as {
    pagination: { totalPages: number };
  };
  return (place: Place) =>
    render(ORGANIZATION, { ...filter, limit: LIMIT, page: pageOf[place](pagination.totalPages) });
}

/** Processor time of a request for each kind of page, in turn. */
async function compare(
  rounds: number,
  requests: number,
  ask: (place: Place) => Promise<unknown>,
  before: () => unknown = () => undefined,
): Promise<Figures> {
  const took = samples();
  for (let round = 0; round <= rounds; round++) {
    for (const place of places) {
      let used = 0;
      for (let request = 0; request < requests; request++) {
        before();
        const start = process.cpuUsage();
        await ask(place);
        const { user, system } = process.cpuUsage(start);
        used += user + system;
      }
      // The first round prepares statements.
      if (round > 0) took[place].push(used / requests);
    }
  }
  return medians(took);
}

/** Time of requests that the server has not had before, one after the other. */
async function measureHttp(path: string, key: string, { rounds }: Options, defer: Defer): Promise<Figures> {
  const took = samples();
  const bar = progressBar(terminal, 'asking');
  try {
    for (let round = 0; round < rounds; round++) {
      const logFile = join(path, 'server.log');
      const server = await startServer(tidings(path), { core: chooseCores().server, logFile, defer });
      const list = new URL(`/v1/${ORGANIZATION}/posts`, server.url);
      const ask = (place: Place, filter: Filter, limit: number) =>
        askOverHttp(list, key, place, filter, limit);
      // Other page sizes are other pages.
      for (let limit = 40; limit < 52; limit++)
        for (const filter of filters) for (const place of places) await ask(place, filter, limit);
      for (let limit = LIMIT - 4; limit <= LIMIT + 4; limit++)
        for (const filter of filters)
          for (const place of places) took[place].push(await ask(place, filter, limit));
      await server.stop();
      bar.show(round + 1, rounds);
    }
  } finally {
    bar.done();
  }
  return medians(took);
}

/** Returns microseconds. */
async function askOverHttp(
  list: URL,
  key: string,
  place: Place,
  { statuses, contentTypes: types, sort }: Filter,
  limit: number,
): Promise<number> {
  const query = new URLSearchParams([
    ...statuses.map((status) => ['status', status]),
    ...types.map((type) => ['contentType', type]),
    ['sort', sort],
    ['limit', String(limit)],
  ]);
  const last = lastPages.get(String(query)) ?? 1;
  const page = pageOf[place](last);
  const startedAt = performance.now();
  const response = await fetch(`${list}?${query}&page=${page}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const body = await response.json();
  const took = performance.now() - startedAt;
  if (!response.ok) throw new BenchError(`${response.status} at ${list}?${query}`);
  lastPages.set(String(query), body.pagination.totalPages);
  return took * 1_000;
}

function samples(): Record<Place, number[]> {
  return { first: [], middle: [], last: [], random: [] };
}

function medians(took: Record<Place, number[]>): Figures {
  return {
    first: median(took.first),
    middle: median(took.middle),
    last: median(took.last),
    random: median(took.random),
  };
}

function nameOf({ statuses, contentTypes: types, sort }: Filter): string {
  return `${statuses}, ${types}, ${sort}`;
}

function describe({
  inProcess,
  http,
}: {
  inProcess: { filter: string; quiet: Figures; written: Figures }[];
  http: Figures;
}) {
  const cells = (figures: Figures) =>
    places.map((place) =>
      `${figures[place].toFixed(0)} · ${(figures[place] / figures.first).toFixed(2)}`.padStart(12),
    );
  const rows = inProcess.flatMap(({ filter, quiet, written }) => [
    [filter, ...cells(quiet)],
    ['  after a write', ...cells(written)],
  ]);
  const head = places.map((place) => place.toUpperCase().padStart(12));
  const worst = (kind: 'quiet' | 'written', place: Place) =>
    Math.max(...inProcess.map((each) => each[kind][place] / each[kind].first)).toFixed(2);
  return [
    table(['PROCESSOR TIME', ...head], rows),
    '',
    table(['TIME OVER HTTP', ...head], [['all filters', ...cells(http)]]),
    '',
    `Worst of all filters: middle ${worst('quiet', 'middle')}, random ${worst('quiet', 'random')}; after a write ${worst('written', 'middle')} and ${worst('written', 'random')}.`,
  ].join('\n');
}
