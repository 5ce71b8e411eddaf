import { type Command, Option } from 'commander';
import type { Services } from '../main.ts';
import type { RunStatus, TriggerRun } from '../triggers/model.ts';
import { runTriggers } from '../triggers/run.ts';
import { getTrigger, listRuns, retryRuns } from '../triggers/store.ts';
import { type CliContext, withServices } from './context.ts';
import { repositoryNames } from './integration.ts';
import { oneLine, print, table } from './output.ts';
import { withComposer } from './trigger-try.ts';

/** Commands about what triggers still have to do, or could not do. */
export function addRunCommands(group: Command, context: CliContext): void {
  group
    .command('runs')
    .description('list what the triggers still have to do, and what they gave up')
    .option('--organization <id>', 'only of this organization')
    .addOption(new Option('--status <status>', 'only with this status').choices(['queued', 'failed']))
    .action(async (options: { organization?: string; status?: RunStatus }, command: Command) => {
      const { runs, names } = await withServices(context, command, async (services) => ({
        runs: await listRuns(services.db, { organizationId: options.organization, status: options.status }),
        names: await repositoryNames(services),
      }));
      print(context.terminal, command, runs, (all) =>
        all.length === 0
          ? 'Nothing to do and nothing given up: every delivery has become what it was to become.'
          : table(
              ['QUEUED', 'STATUS', 'NEXT TRY', 'TRIGGER', 'ABOUT', 'WHY'],
              all.map((run) => row(run, names)),
            ),
      );
    });

  group
    .command('retry')
    .description('run now what failed, was given up or waits')
    .argument('[id]', 'only of this trigger (default: of all)')
    .action(async (id: string | undefined, _options: object, command: Command) => {
      const result = await withServices(context, command, async (services) => {
        if (id !== undefined) await getTrigger(services.db, id);
        const retried = await retryRuns(services.db, id, services.clock.now());
        const failing = await runNow(services);
        return {
          retried,
          failing: failing.filter(({ triggerId }) => id === undefined || triggerId === id).length,
        };
      });
      print(context.terminal, command, result, ({ retried, failing }) =>
        retried === 0 && failing === 0
          ? 'Nothing has failed.'
          : `Retried ${retried}${stillFailing(failing)}.`,
      );
    });
}

/** Does what is due at once, whether or not a server is there to do it. Returns what fails now, of all triggers. */
export async function runNow(services: Services): Promise<TriggerRun[]> {
  await withComposer((compose) => runTriggers(services, compose));
  return (await listRuns(services.db, {})).filter(({ error }) => error !== null);
}

/** The end of a sentence about what was run. */
export function stillFailing(count: number): string {
  return count === 0 ? '; all done' : `; ${count} failing, "trigger runs" tells why`;
}

function row(
  { triggerId, scope, status, attempts, nextAttemptAt, error, queuedAt }: TriggerRun,
  names: ReadonlyMap<string, string>,
): string[] {
  const tries = attempts === 0 ? '' : `, ${attempts === 1 ? 'tried once' : `tried ${attempts} times`}`;
  return [
    clockTime(queuedAt),
    `${status}${tries}`,
    nextAttemptAt === null ? '–' : clockTime(nextAttemptAt),
    triggerId,
    oneLine(
      scope.replace(/^\S+/, (id) => names.get(id) ?? id),
      60,
    ),
    error === null ? '–' : oneLine(error, 200),
  ];
}

function clockTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}
