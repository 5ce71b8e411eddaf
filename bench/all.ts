import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { BenchError } from './support/bench-error.ts';
import { chooseCores } from './support/cores.ts';
import { goalTable, type Row } from './support/goal-table.ts';
import { goals, reasonFor } from './support/goals.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { type Defer, runBenchmark, terminal } from './support/run.ts';
import { describeDisk, diskLine } from './support/sync-time.ts';

// Runs the benchmarks one after the other, holds their figures against the goals, and keeps everything as JSON.

interface Options {
  only?: string[];
  quick: boolean;
  compare?: string;
  pocketbase?: string;
}

interface Bench {
  name: string;
  words?: string[];
  /** For `--quick`. */
  quick?: string[];
}

const benches: readonly Bench[] = [
  { name: 'content-api', quick: ['--rounds', '3'] },
  {
    name: 'webhooks',
    words: ['--rounds', '9', '--seconds', '1'],
    quick: ['--rounds', '3', '--seconds', '1'],
  },
  { name: 'flood' },
  { name: 'slow-disk' },
  { name: 'import-waits', quick: ['--posts', '5000'] },
  { name: 'start', quick: ['--starts', '3'] },
  { name: 'dashboard', quick: ['--entries', '100000', '--posts', '10000', '--requests', '10'] },
  { name: 'engines', quick: ['--rounds', '2'] },
];

/** What a benchmark printed, or why it printed nothing. */
type Outcome = { output: unknown } | { reason: string };

/** Results of a run, as they are kept. */
interface Results {
  benches: Record<string, Outcome>;
}

const TIME_LIMIT_MS = 15 * 60_000;
const RESULTS = join(import.meta.dir, 'results');

const QUICK = 'Measured with `--quick`: fewer rounds and smaller amounts than the goals name.';

await runBenchmark((defer) =>
  new Command('bench')
    .description('measure everything, and compare it with the goals')
    .option('--only <names...>', `of ${benches.map(({ name }) => name).join(', ')}`)
    .option('--quick', 'fewer rounds and smaller amounts', false)
    .option('--compare <file>', 'results of an earlier run to show beside these')
    .option('--pocketbase <path>', 'a PocketBase, instead of building one with Go')
    .action(async (options: Options) => {
      const before = options.compare === undefined ? null : await readResults(options.compare);
      const machine = describeMachine(chooseCores().server.length > 0);
      const disk = describeDisk(tmpdir());
      const startedAt = new Date();
      const results: Record<string, Outcome> = {};
      for (const bench of chooseBenches(options.only)) {
        terminal.writeError(`${bench.name} … `);
        const beganAt = Date.now();
        results[bench.name] = await runBench(bench, options, defer);
        terminal.writeError(`${Math.round((Date.now() - beganAt) / 1000)} s\n`);
      }
      const minutes = Math.round((Date.now() - startedAt.getTime()) / 60_000);
      const file = join(RESULTS, `${startedAt.toISOString().replaceAll(/[:.]/g, '-')}.json`);
      const kept = { startedAt, minutes, quick: options.quick, machine, disk, benches: results };
      await Bun.write(file, `${JSON.stringify(kept, null, 2)}\n`);

      const rows = rowsOf({ benches: results }, before, options.only !== undefined);
      const heading = [
        `${machineLine(machine)}.`,
        `Data in ${diskLine(disk)}.`,
        `${startedAt.toISOString().slice(0, 10)}, ${minutes} minutes.`,
        ...(options.quick ? [QUICK] : []),
      ];
      terminal.write(`${heading.join('\n')}\n\n${goalTable(rows, before !== null)}\n`);
      terminal.writeError(`\nKept in ${file}\n`);
    }),
);

function chooseBenches(only: readonly string[] | undefined): Bench[] {
  if (only === undefined) return [...benches];
  return only.map((wanted) => {
    const found = benches.find(({ name }) => name === wanted);
    if (found === undefined) throw new BenchError(`There is no benchmark "${wanted}".`);
    return found;
  });
}

async function runBench(
  { name, words = [], quick = words }: Bench,
  options: Options,
  defer: Defer,
): Promise<Outcome> {
  const file = Bun.fileURLToPath(import.meta.resolve(`./${name}.ts`));
  if (!existsSync(file)) return { reason: `there is no bench/${name}.ts` };
  const { pocketbase } = options;
  const own = name === 'content-api' && pocketbase !== undefined ? ['--pocketbase', pocketbase] : [];
  const startedAt = Date.now();
  const child = Bun.spawn([process.execPath, file, '--json', ...(options.quick ? quick : words), ...own], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: TIME_LIMIT_MS,
  });
  const forget = defer(async () => {
    child.kill('SIGTERM');
    await child.exited;
  });
  const [output, errors] = await Promise.all([
    Bun.readableStreamToText(child.stdout),
    Bun.readableStreamToText(child.stderr),
  ]);
  const exitCode = await child.exited;
  forget();
  if (exitCode === 0) return { output: JSON.parse(output) as unknown };
  terminal.writeError(errors);
  if (Date.now() - startedAt >= TIME_LIMIT_MS) return { reason: 'it took too long' };
  const [reason = `it exited with ${exitCode}`] = errors.match(/^error: .*$/m) ?? [];
  return { reason };
}

function rowsOf({ benches: now }: Results, before: Results | null, isPartial: boolean): Row[] {
  return goals
    .filter(({ bench }) => !isPartial || now[bench] !== undefined)
    .map((goal) => ({ goal, ...figureOf(goal, now), before: figureIn(goal, before)?.value }));
}

function figureOf(goal: Row['goal'], now: Results['benches']): Pick<Row, 'figure' | 'reason'> {
  const outcome = now[goal.bench];
  if (outcome === undefined) return { figure: null };
  if ('reason' in outcome) return { figure: null, reason: outcome.reason };
  const figure = goal.read(outcome.output);
  return figure === null ? { figure, reason: reasonFor(goal, outcome.output) } : { figure };
}

function figureIn(goal: Row['goal'], results: Results | null) {
  return results === null ? null : figureOf(goal, results.benches).figure;
}

async function readResults(path: string): Promise<Results> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new BenchError(`--compare ${path}: file not found`);
  return (await file.json()) as Results;
}
