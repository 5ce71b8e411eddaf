import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { contentApi } from './content-api.ts';
import { dashboard } from './dashboard.ts';
import { drafts } from './drafts.ts';
import { engines } from './engines.ts';
import { flood } from './flood.ts';
import { importWaits } from './import-waits.ts';
import { slowDisk } from './slow-disk.ts';
import { start } from './start.ts';
import { describeMachine } from './support/machine.ts';
import {
  BenchError,
  type Benchmark,
  type Figure,
  runBenchmark,
  runCommand,
  terminal,
} from './support/run.ts';
import { goalTable, type Row } from './support/table.ts';
import { webhooks } from './webhooks.ts';

// Runs the benchmarks one after the other, holds their figures against the goals, and keeps everything as JSON.

const benchmarks: Readonly<Record<string, Benchmark>> = {
  'content-api': contentApi,
  webhooks,
  flood,
  'slow-disk': slowDisk,
  'import-waits': importWaits,
  start,
  dashboard,
  drafts,
  engines,
};

interface Options {
  only?: string[];
  quick: boolean;
  compare?: string;
  pocketbase?: string;
}

/** As they are kept: the name of a goal, and its figure or the reason why there is none. */
type Results = Record<string, Figure | string>;

const RESULTS = join(import.meta.dir, 'results');

const QUICK = 'Measured with `--quick`: fewer rounds and smaller amounts than the goals name.';

await runCommand((defer) =>
  new Command('bench')
    .description('measure everything, and compare it with the goals')
    .option('--only <names...>', `of ${Object.keys(benchmarks).join(', ')}`)
    .option('--quick', 'fewer rounds and smaller amounts', false)
    .option('--compare <file>', 'results of an earlier run to show beside these')
    .option('--pocketbase <path>', 'a PocketBase, instead of building one with Go')
    .action(async ({ only = Object.keys(benchmarks), quick, compare, pocketbase }: Options) => {
      const before = compare === undefined ? null : await readResults(compare);
      const startedAt = new Date();
      const rows: Row[] = [];
      for (const name of only) {
        const chosen = benchmarks[name];
        if (chosen === undefined) throw new BenchError(`There is no benchmark "${name}".`);
        terminal.writeError(`${name} … `);
        const beganAt = Date.now();
        const found = await runBenchmark(chosen, { isQuick: quick, pocketbase }, defer);
        terminal.writeError(`${Math.round((Date.now() - beganAt) / 1000)} s\n`);
        for (const [key, goal] of Object.entries(chosen.goals))
          rows.push({ goal, found: found[key] ?? 'it was not measured', before: valueIn(before, goal.name) });
      }
      const minutes = Math.round((Date.now() - startedAt.getTime()) / 60_000);
      const heading = [
        ...describeMachine(tmpdir()),
        `${startedAt.toISOString().slice(0, 10)}, ${minutes} minutes.`,
        ...(quick ? [QUICK] : []),
      ];
      const results: Results = Object.fromEntries(rows.map(({ goal, found }) => [goal.name, found]));
      const file = join(RESULTS, `${startedAt.toISOString().replaceAll(/[:.]/g, '-')}.json`);
      await Bun.write(file, `${JSON.stringify({ heading, results }, null, 2)}\n`);
      terminal.write(`${heading.join('\n')}\n\n${goalTable(rows, before !== null)}\n`);
      terminal.writeError(`\nKept in ${file}\n`);
    }),
);

async function readResults(path: string): Promise<Results> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new BenchError(`--compare ${path}: file not found`);
  return ((await file.json()) as { results: Results }).results;
}

function valueIn(results: Results | null, name: string): number | undefined {
  const found = results?.[name];
  return typeof found === 'object' ? found.value : undefined;
}
