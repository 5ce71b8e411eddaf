import { type Command, Option } from 'commander';
import { getDelivery } from '../deliveries/log-store.ts';
import { threadedComposer } from '../drafts/thread.ts';
import type { Services } from '../main.ts';
import { listRuns, retryRuns, type TriggerRun } from '../triggers/queue-store.ts';
import { previewTrigger, type RehearsedPost, rehearseTrigger } from '../triggers/rehearse.ts';
import { runTriggers } from '../triggers/run.ts';
import { getTrigger } from '../triggers/store.ts';
import { type CliContext, sinceWhen, timeOrSpan, withServices } from './context.ts';
import { repositoryNames } from './integration.ts';
import { oneLine, print, table } from './output.ts';

/** Commands about the runs of triggers, real ones and rehearsed ones. */
export function addRunCommands(group: Command, context: CliContext): void {
  group
    .command('preview')
    .description('show the posts that a delivery makes or changes, without making them')
    .argument('<id>', 'the trigger')
    .requiredOption('--delivery <id>', "the delivery: its entry in the log, or the provider's delivery id")
    .action(async (id: string, { delivery }: { delivery: string }, command: Command) => {
      const posts = await withServices(context, command, (services) =>
        withComposer(async (compose) =>
          previewTrigger(services, compose, id, await getDelivery(services.db, delivery, 'processed')),
        ),
      );
      print(context.terminal, command, posts, describePosts);
    });

  group
    .command('rehearse')
    .description('show the posts that the trigger would have made of the deliveries in the log')
    .argument('<id>', 'the trigger')
    .option('--since <time>', 'since when: ISO 8601, or back from now as in 90m, 24h, 30d', timeOrSpan, '30d')
    .action(async (id: string, { since }: { since: string }, command: Command) => {
      const posts = await withServices(context, command, (services) =>
        withComposer((compose) =>
          rehearseTrigger(services, compose, id, sinceWhen(since, services.clock.now())),
        ),
      );
      print(context.terminal, command, posts, (all) =>
        all.length === 0
          ? `This trigger makes no posts of the deliveries since ${since}.`
          : `${describePosts(all)}\n\n${all.length === 1 ? '1 post' : `${all.length} posts`}. Nothing was changed.`,
      );
    });

  group
    .command('runs')
    .description('list the runs of triggers that wait or were given up')
    .option('--organization <id>', 'only of this organization')
    .addOption(new Option('--status <status>', 'only with this status').choices(['queued', 'failed']))
    .action(async (options: { organization?: string; status?: TriggerRun['status'] }, command: Command) => {
      const { runs, names } = await withServices(context, command, async (services) => ({
        runs: await services.db.read((tx) =>
          listRuns(tx, { organizationId: options.organization, status: options.status }),
        ),
        names: await repositoryNames(services),
      }));
      print(context.terminal, command, runs, (all) =>
        all.length === 0
          ? 'No runs. All drafts are up to date.'
          : table(
              ['QUEUED', 'STATUS', 'NEXT TRY', 'TRIGGER', 'ABOUT', 'WHY'],
              all.map((run) => row(run, names)),
            ),
      );
    });

  group
    .command('retry')
    .description('retry failed and delayed runs now')
    .argument('[id]', 'only of this trigger (default: of all)')
    .action(async (id: string | undefined, _options: object, command: Command) => {
      const result = await withServices(context, command, async (services) => {
        const { db, clock } = services;
        const retried = await db.write(async (tx) => {
          if (id !== undefined) await getTrigger(tx, id);
          return retryRuns(tx, id, clock.now());
        });
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

/** Composes drafts as the server does, in a thread with a time limit. */
async function withComposer<Result>(
  work: (compose: ReturnType<typeof threadedComposer>['compose']) => Promise<Result>,
): Promise<Result> {
  const composer = threadedComposer();
  try {
    return await work(composer.compose);
  } finally {
    composer.close();
  }
}

function describePosts(posts: readonly RehearsedPost[]): string {
  return posts.map(describePost).join(`\n\n${'─'.repeat(72)}\n\n`);
}

function describePost({ title, subject, contentType, status, createdAt, markdown }: RehearsedPost): string {
  const day = createdAt.slice(0, 10);
  return `${oneLine(title, 200)}\n${contentType}, ${status}, ${subject}, ${day}\n\n${markdown}`;
}

/** Does all due runs, with or without a server. Returns the failing runs of all triggers. */
export async function runNow(services: Services): Promise<TriggerRun[]> {
  await withComposer((compose) => runTriggers(services, compose));
  const runs = await services.db.read((tx) => listRuns(tx, {}));
  return runs.filter(({ error }) => error !== null);
}

/** Ends a sentence about runs. */
export function stillFailing(count: number): string {
  return count === 0 ? '; all done' : `; ${count} failing: see "trigger runs"`;
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
