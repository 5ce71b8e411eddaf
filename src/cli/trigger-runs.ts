import { type Command, Option } from 'commander';
import { getDelivery } from '../deliveries/log-store.ts';
import type { Compose } from '../drafts/model.ts';
import { threadedComposer } from '../drafts/thread.ts';
import type { Services } from '../main.ts';
import { listRuns, retryRuns, type TriggerRun } from '../triggers/queue-store.ts';
import { previewTrigger, type RehearsedPost, rehearseTrigger } from '../triggers/rehearse.ts';
import { runTriggers } from '../triggers/run.ts';
import { getTrigger } from '../triggers/store.ts';
import { aboutOne, answering, clockTime, ofOrganization } from './command.ts';
import { type CliContext, sinceWhen, timeOrSpan } from './context.ts';
import { repositoryNames } from './integration.ts';
import { oneLine, table } from './output.ts';

/** Commands about the runs of triggers, real ones and rehearsed ones. */
export function addRunCommands(group: Command, context: CliContext): void {
  const command = aboutOne(group, 'the trigger');
  const answer = answering(context);

  command('preview', 'show the posts that a delivery makes or changes, without making them')
    .requiredOption('--delivery <id>', "the delivery: its entry in the log, or the provider's delivery id")
    .action(
      answer(async (services, id: string, options: { delivery: string }) => {
        const delivery = await services.db.read((tx) => getDelivery(tx, options.delivery, 'processed'));
        return withComposer((compose) => previewTrigger(services, compose, id, delivery));
      }, describePosts),
    );

  command('rehearse', 'show the posts that the trigger would have made of the deliveries in the log')
    .option('--since <time>', 'since when: ISO 8601, or back from now as in 90m, 24h, 30d', timeOrSpan, '30d')
    .action(
      answer(
        (services, id: string, { since }: { since: string }) =>
          withComposer((compose) =>
            rehearseTrigger(services, compose, id, sinceWhen(since, services.clock.now())),
          ),
        (posts, _, { since }) =>
          posts.length === 0
            ? `This trigger makes no posts of the deliveries since ${since}.`
            : `${describePosts(posts)}\n\n${posts.length === 1 ? '1 post' : `${posts.length} posts`}. Nothing was changed.`,
      ),
    );

  group
    .command('runs')
    .description('list the runs of triggers that wait or were given up')
    .addOption(ofOrganization)
    .addOption(new Option('--status <status>', 'only with this status').choices(['queued', 'failed']))
    .action(
      answer(
        async (
          services,
          { organization, status }: { organization?: string; status?: TriggerRun['status'] },
        ) => ({
          runs: await services.db.read((tx) => listRuns(tx, { organizationId: organization, status })),
          names: await repositoryNames(services),
        }),
        ({ runs, names }) =>
          runs.length === 0
            ? 'No runs. All drafts are up to date.'
            : table(
                ['QUEUED', 'STATUS', 'NEXT TRY', 'TRIGGER', 'ABOUT', 'WHY'],
                runs.map((run) => row(run, names)),
              ),
        ({ runs }) => runs,
      ),
    );

  group
    .command('retry')
    .description('retry failed and delayed runs now')
    .argument('[id]', 'only of this trigger (default: of all)')
    .action(
      answer(
        async (services, id: string | undefined) => {
          const retried = await services.db.write(async (tx) => {
            if (id !== undefined) await getTrigger(tx, id);
            return retryRuns(tx, id, services.clock.now());
          });
          return { retried, failing: await runNow(services, id) };
        },
        ({ retried, failing }) =>
          retried + failing === 0 ? 'Nothing has failed.' : `Retried ${retried}${stillFailing(failing)}.`,
      ),
    );
}

/** Composes drafts as the server does, in a thread with a time limit. */
async function withComposer<Result>(work: (compose: Compose) => Promise<Result>): Promise<Result> {
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

/** Does all due runs, with or without a server. Returns how many fail, of all triggers or of one. */
export async function runNow(services: Services, id?: string): Promise<number> {
  await withComposer((compose) => runTriggers(services, compose));
  const runs = await services.db.read((tx) => listRuns(tx, {}));
  return runs.filter(({ error, triggerId }) => error !== null && triggerId === (id ?? triggerId)).length;
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
    oneLine(scope.replace(/^\S+/, (id) => names.get(id) ?? id)),
    error === null ? '–' : oneLine(error, 200),
  ];
}
