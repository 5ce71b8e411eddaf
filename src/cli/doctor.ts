import type { Command } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { fetchWithoutRedirects } from '../lib/outgoing.ts';
import type { Result } from '../operate/doctor/check.ts';
import { admit, examine } from '../operate/doctor/examine.ts';
import { addSettings, type CliContext, flagsOf, WorkFailed } from './context.ts';
import { oneLine, print } from './output.ts';

const MARKS = { ok: '✓', warning: '!', failed: '✗' } as const;

/** No line of ours is longer; what others say, such as SQLite, is cut to it. */
const MAX_WIDTH = 400;

export function addDoctorCommand(program: Command, { terminal, environment }: CliContext): void {
  const command = program
    .command('doctor')
    .description('look for what is wrong with the configuration, the data folder and the running server')
    .option(
      '--offline',
      'ask no server but our own and Unkey; otherwise providers are asked, for webhooks and the time',
    )
    .option('--full', 'check every index of the database too, as a backup does; takes longer')
    .option('--key <key>', 'an API key that should work: shows whether Unkey lets the root key verify');
  addSettings(command)
    .addHelpText(
      'after',
      'Nothing is changed. Exit code 1: something failed; 0: nothing did, or only warnings.',
    )
    .action(
      async ({ offline = false, full = false, key }: { offline?: boolean; full?: boolean; key?: string }) => {
        const { patient, close } = admit({
          clock: systemClock,
          fetch: (request) => fetchWithoutRedirects(request),
          flags: flagsOf(command),
          environment,
          isOffline: offline,
          isFull: full,
          key,
        });
        const report = await examine(patient).finally(close);
        print(terminal, command, report, ({ checks }) => checks.map(describe).join('\n'));
        if (!report.ok) throw new WorkFailed();
      },
    );
}

function describe({ name, status, message, advice }: Result): string {
  const line = `${MARKS[status]} ${name}: ${oneLine(message, MAX_WIDTH)}`;
  return advice === undefined ? line : `${line}\n    ${oneLine(advice, MAX_WIDTH)}`;
}
