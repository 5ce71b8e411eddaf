import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  chmodSync,
  constants,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildBinary } from './binary.ts';
import { startPostgres } from './postgres-server.ts';
import { root } from './server.ts';

// Runs the tests twice: all of them on SQLite, then those of stores, and of what decides in a transaction, on PostgreSQL.

/** Folders and files of `test/` whose tests run on every engine: those of stores, and of what decides in a transaction. */
const NEUTRAL = [
  'audit',
  'dashboard/log-search.test.ts',
  'dashboard/posts/search.test.ts',
  'deliveries',
  // The others of its folder open no database.
  'drafts/store.test.ts',
  'history',
  'integrations',
  'keys',
  'media',
  'operate/attention.test.ts',
  'operate/attention-kinds.test.ts',
  'polling',
  'posts',
  'public',
  'rebuild',
  'receiver',
  'roundups',
  'triggers',
  'watch',
  'users',
  'wording/work.test.ts',
];

/** Of these, what no engine can change: pages, parsers, payloads, and other files that reach storage in ways tested elsewhere. */
const SAME_EVERYWHERE = [
  'audit/{actions,provider}',
  'history/{projects,read}',
  'integrations/{connect,doctor,forgejo,killed,linear,linear-changes,recovery-weeks,recovery.property,secrets,words}',
  'keys/unkey*',
  'media/image',
  'polling/{files,gitlab,mix.property,parts}',
  'posts/{eden,import,import-*,import-lines.property}',
  'public/{cards,feeds,look,page,programs,proxy,render-queue}',
  'rebuild/{dashboard,notices}',
  'receiver/{body-variants,clock,full-disk,gitlab,signature-*}',
  'roundups/schedule',
  'triggers/{backlog,failing,hostile,images,linear,linked-issues,match,month,month.property,octokit,paths,unchanged.property}',
  'users/password-*',
];

interface Outcome {
  passed: number;
  failed: number;
  /** Tests that failed, with their file. */
  names: string[];
}

/** Two more than the cores: a worker waits almost half of its time, for processes, time limits and the database. */
const WORKERS = availableParallelism() + 2;

/** Runs `bun test` and prints its output. A run that ends badly without naming a test counts as one failure. */
async function runTests(
  title: string,
  engine: 'sqlite' | 'postgres',
  words: string[],
  environment: Record<string, string>,
): Promise<Outcome> {
  process.stdout.write(`\n━━━ ${title} ━━━\n\n`);
  const timings = completeTimings(engine);
  const tests = spawn(
    process.execPath,
    // Ends with this process, and takes its own workers along.
    [
      // A worker loads the modules once for all of its files.
      ...['--no-orphans', 'test', `--parallel=${WORKERS}`, '--no-isolate', '--timeout', '300000'],
      // The slowest files start first, so that none runs alone at the end.
      `--timings=${timings.path}`,
      ...(process.env.TEST_TIMINGS === 'update' ? ['--update-timings'] : []),
      ...words,
    ],
    {
      cwd: root,
      env: { ...process.env, ...environment, NO_COLOR: '1' },
      stdio: ['ignore', 'inherit', 'pipe'],
    },
  );
  const ended = once(tests, 'exit');
  const outcome: Outcome = { passed: 0, failed: 0, names: [] };
  let file = '';
  /** Bun repeats the failed tests at the end. */
  let isRecap = false;
  for await (const line of createInterface(tests.stderr)) {
    process.stdout.write(`${line}\n`);
    file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1] ?? file;
    if (/^\d+ tests? failed:$/.test(line)) isRecap = true;
    const name = isRecap ? undefined : /^\(fail\) (.*)$/.exec(line)?.[1];
    if (name !== undefined) outcome.names.push(`${title}: ${file}: ${name}`);
    const [, count, kind] = /^ *(\d+) (pass|fail)$/.exec(line) ?? [];
    if (kind === 'pass') outcome.passed = Number(count);
    if (kind === 'fail') outcome.failed = Number(count);
  }
  const [exitCode, signal] = await ended;
  if (process.env.TEST_TIMINGS === 'update') timings.keepSlow();
  if ((exitCode !== 0 || outcome.passed === 0) && outcome.failed === 0) {
    outcome.failed = 1;
    outcome.names.push(
      `${title}: ${outcome.passed} tests passed, but the run ended with ${signal ?? exitCode}`,
    );
  }
  return outcome;
}

/** Milliseconds: files that take longer stand in `test/support/timings/`, and the others take about so long. */
const SLOW_MS = 8_000;
const FAST_MS = 3_000;

interface Timings {
  version: 1;
  /** Milliseconds. */
  files: Record<string, number>;
}

/** A file in which Bun finds a time for each test file: those without one would start before the slowest. */
function completeTimings(engine: string) {
  const path = join(workshop, `${engine}.json`);
  const slowest = join(import.meta.dir, `timings/${engine}.json`);
  const read = (from: string): Timings => JSON.parse(readFileSync(from, 'utf8'));
  const all = [...new Bun.Glob('test/**/*.test.ts').scanSync(root)].map((file) => [file, FAST_MS] as const);
  const files = { ...Object.fromEntries(all), ...read(slowest).files };
  writeFileSync(path, JSON.stringify({ version: 1, files } satisfies Timings));
  return {
    path,
    keepSlow() {
      const slow = Object.entries(read(path).files).filter(([, duration]) => duration > SLOW_MS);
      const kept = Object.fromEntries(slow.sort(([, one], [, other]) => other - one));
      writeFileSync(slowest, `${JSON.stringify({ version: 1, files: kept } satisfies Timings, null, 2)}\n`);
    },
  };
}

/** Bytes: more than twice what the tests need at once, most of it for databases. */
const ENOUGH_MEMORY = 3 * 1024 ** 3;

/** Makes a folder in memory, where no test waits for a disk, if that has room and lets programs run; else on the disk. */
function makeWorkshop(): string {
  const folder = mkdtempSync(join(hasRoom('/dev/shm') ? '/dev/shm' : tmpdir(), 'tidings-check-'));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o711);
  return folder;
}

/** Only Linux has such a folder, and containers make it small and refuse to run programs there. */
function hasRoom(folder: string): boolean {
  const program = join(folder, `tidings-check-${process.pid}`);
  try {
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(program, '', { mode: 0o700 });
    accessSync(program, constants.X_OK);
    return bavail * bsize > ENOUGH_MEMORY;
  } catch {
    return false;
  } finally {
    rmSync(program, { force: true });
  }
}

const workshop = makeWorkshop();
process.once('exit', () => rmSync(workshop, { recursive: true, force: true }));
process.env.TEST_FOLDERS = workshop;
await using server = await startPostgres();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // Bun ends the tests with this process.
  process.once(signal, () => void server.stop().finally(() => process.exit(1)));
}
const environment = {
  TEST_POSTGRES_URL: server.url('postgres'),
  // Tests start it hundreds of times, for a fifth of the time from source.
  TEST_BINARY: buildBinary(workshop),
};
const paths = NEUTRAL.map((path) => `test/${path}`);
const ignored = SAME_EVERYWHERE.map((path) => `--path-ignore-patterns=test/${path}.test.ts`);
const outcomes = [
  await runTests('SQLite', 'sqlite', [], environment),
  await runTests('PostgreSQL', 'postgres', [...ignored, ...paths], {
    ...environment,
    TEST_ENGINE: 'postgres',
  }),
];
const sum = (count: (outcome: Outcome) => number) => outcomes.map(count).reduce((a, b) => a + b);
const names = outcomes.flatMap((outcome) => outcome.names);
process.stdout.write(`\n━━━ Both engines ━━━\n\n`);
for (const name of names) process.stdout.write(`(fail) ${name}\n`);
process.stdout.write(` ${sum(({ passed }) => passed)} pass\n ${sum(({ failed }) => failed)} fail\n`);
if (names.length > 0) process.exitCode = 1;
