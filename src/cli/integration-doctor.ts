import type { Command } from 'commander';
import { diagnose } from '../integrations/doctor.ts';
import { findMissed, MAX_REDELIVERED, redeliverMissed } from '../integrations/missed.ts';
import { tidings } from '../lib/how-to-run.ts';
import type { Check, ComparedDelivery } from '../providers/api.ts';
import { type CliContext, WorkFailed, withServices } from './context.ts';
import { oneLine, print, table } from './output.ts';

/** Problems of an integration, and missed deliveries. */
export function addDoctorCommands(group: Command, context: CliContext): void {
  group
    .command('doctor')
    .description('look at all that its deliveries depend on, and say what to do')
    .argument('<id>', 'the integration')
    .action(async (id: string, _options: object, command: Command) => {
      const diagnosis = await withServices(context, command, (services) => diagnose(services, id));
      print(context.terminal, command, diagnosis, ({ checks }) => checks.map(describe).join('\n'));
      if (!diagnosis.ok) throw new WorkFailed();
    });

  group
    .command('missed')
    .description("compare the provider's list of deliveries of the last three days with the log")
    .argument('<id>', 'the integration')
    .option('--redeliver [delivery-id...]', 'ask the provider to send these again, or all that are missing')
    .action(async (id: string, { redeliver }: { redeliver?: true | string[] }, command: Command) => {
      if (redeliver === undefined) {
        const found = await withServices(context, command, (services) => findMissed(services, id));
        print(context.terminal, command, found, ({ missed, counts, isCut, untold }) =>
          [
            `${counts.arrived} arrived, ${counts.failed} failed, ${counts['never-arrived']} never arrived.`,
            ...(missed.length === 0 ? [] : ['', missedTable(missed), '', AGAIN(id)]),
            ...untold.map(({ place, reason }) => `\nOf ${place} nothing is known: ${reason}`),
            ...(isCut ? ['', 'The provider lists more, and older ones.'] : []),
          ].join('\n'),
        );
        return;
      }
      const wanted = redeliver === true ? 'all' : redeliver;
      const results = await withServices(context, command, (services) =>
        redeliverMissed(services, id, wanted),
      );
      print(context.terminal, command, results, (all) =>
        all.length === 0
          ? 'No delivery is missing.'
          : all
              .map(({ deliveryId, problem }) => `${deliveryId}: ${problem ?? 'sent again'}`)
              .concat(
                all.length < MAX_REDELIVERED ? [] : ['There may be more: ask again once these have come.'],
              )
              .join('\n'),
      );
      if (results.some(({ isAsked }) => !isAsked)) throw new WorkFailed();
    });
}

const AGAIN = (id: string) => `To have them sent again: ${tidings} integration missed ${id} --redeliver`;

const MARKS = { ok: '✓', warning: '!', failed: '✗' } as const;

function describe({ name, place, status, message, advice, missed }: Check): string {
  const subject = place === undefined ? name : `${name} (${place})`;
  return [
    `${MARKS[status]} ${subject}: ${message}`,
    ...(advice === undefined ? [] : [`    ${advice}`]),
    ...(missed === undefined ? [] : ['', missedTable(missed.slice(0, 20)), '']),
  ].join('\n');
}

function missedTable(missed: readonly ComparedDelivery[]): string {
  return table(
    ['DELIVERY', 'DELIVERED', 'EVENT', 'WHAT BECAME OF IT', 'WHY'],
    missed.map(({ deliveryId, deliveredAt, event, action, fate, reason }) => [
      deliveryId,
      deliveredAt,
      action === null ? event : `${event} ${action}`,
      fate === 'failed' ? 'failed' : 'never arrived',
      oneLine(reason ?? ''),
    ]),
  );
}
