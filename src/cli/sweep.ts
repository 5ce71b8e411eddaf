import type { Command } from 'commander';
import { planSweep, sweep } from '../operate/jobs.ts';
import { type CliContext, withServices } from './context.ts';
import { isoTime } from './options.ts';
import { print } from './output.ts';

export function addSweepCommand(program: Command, context: CliContext): void {
  program
    .command('sweep')
    .description(
      'remove expired delivery ids, log entries and audit events; the service does it every five minutes',
    )
    .option('--as-of <time>', 'what has expired by then, as ISO 8601 (default: now)', isoTime)
    .option('--dry-run', 'tell what would be removed, and remove nothing')
    .action(async ({ asOf, dryRun }: { asOf?: string; dryRun?: true }, command: Command) => {
      const swept = await withServices(context, command, (services) => {
        const at = asOf === undefined ? services.clock.now() : new Date(asOf);
        return dryRun ? planSweep(services, at) : sweep(services, at);
      });
      print(
        context.terminal,
        command,
        swept,
        ({ deliveryIds, logs }) =>
          `${dryRun ? 'Would remove' : 'Removed'} ${deliveryIds} delivery ids and ${logs} log entries.`,
      );
    });
}
