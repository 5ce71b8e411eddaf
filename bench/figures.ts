import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { render, table } from '../src/cli/output.ts';
import { makeTempFolder, runCommand, terminal } from './support/run.ts';
import { measureSource } from './support/source-figures.ts';
import { traceRequests } from './support/trace.ts';

// How much code there is, how it is divided, and how many files each kind of request enters. `--root` measures another
// checkout, such as one of an earlier version, with the same script.

interface Options {
  root: string;
  json?: true;
}

await runCommand((defer) =>
  new Command('figures')
    .description('Size and structure of the source, and the files that requests enter')
    .option('--root <path>', 'the checkout to measure', join(import.meta.dir, '..'))
    .option('--json', 'print one JSON value')
    .action(async ({ root, json }: Options) => {
      const checkout = resolve(root);
      const source = await measureSource(checkout);
      const entered = await traceRequests(checkout, await makeTempFolder(defer), defer);
      if (json) {
        terminal.write(`${JSON.stringify({ source, entered })}\n`);
        return;
      }
      const rows: [string, string][] = [
        ['lines of source', String(source.lines)],
        ['files', String(source.files)],
        ['files of 30 lines or fewer', String(source.smallFiles)],
        ['files of more than 400 lines', list(source.largeFiles)],
        ['circles between rooms', list(source.circles.map((circle) => circle.join(' ↔ ')))],
        ['files outside providers/ that name a provider', list(source.namingProviders)],
        ['comments that open with a clause', String(source.riddles)],
        ...Object.entries(entered).map(([name, files]): [string, string] => [
          `files entered: ${name}`,
          String(files.length),
        ]),
      ];
      terminal.write(`${render(terminal, table(['figure', ''], rows))}\n`);
    }),
);

function list(names: readonly string[]): string {
  return names.length === 0 ? '0' : `${names.length}: ${names.join(', ')}`;
}
