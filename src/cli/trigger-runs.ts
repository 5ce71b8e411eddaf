import { Option } from 'commander';
import type { LeftOut } from '../drafting/changes/rules.ts';
import type { Compose } from '../drafting/store.ts';
import { threadedComposer } from '../drafting/thread.ts';
import { getTrigger } from '../drafting/triggers/model.ts';
import { listRuns, retryRuns, type TriggerRun } from '../drafting/triggers/queue-store.ts';
import { previewTrigger, type RehearsedPost, rehearseTrigger } from '../drafting/triggers/rehearse.ts';
import { runTriggers } from '../drafting/triggers/run.ts';
import { getDelivery } from '../integrations/deliveries/log-store.ts';
import { count } from '../lib/text.ts';
import type { Services } from '../server/services.ts';
import { clockTime, ofOrganization, sinceWhen, type TidingsCommand, timeOrSpan } from './command.ts';
import { repositoryNames } from './integration.ts';
import { type Cell, oneLine, status, table } from './output.ts';

export function addRunCommands(group: TidingsCommand): void {
  const command = group.about('trigger');

  command('preview', 'Show the posts that a delivery would create or change')
    .requiredOption('--delivery <id>', "ID of the log entry, or the provider's delivery ID")
    .answers(async (services, id: string, options: { delivery: string }) => {
      const delivery = await services.db.read((tx) => getDelivery(tx, options.delivery, 'processed'));
      return withComposer((compose) => previewTrigger(services, compose, id, delivery));
    }, describePosts)
    .examples('trigger preview trg_… --delivery dlv_…');

  command('rehearse', 'Show the posts that the trigger would create from past deliveries')
    .option(
      '--since <time>',
      'Start: ISO 8601, or a span back from now such as 90m, 24h, 30d',
      timeOrSpan,
      '30d',
    )
    .answers(
      (services, id: string, { since }: { since: string }) =>
        withComposer((compose) =>
          rehearseTrigger(services, compose, id, sinceWhen(since, services.clock.now())),
        ),
      (posts, _, { since }) =>
        posts.length === 0
          ? `No posts. No delivery since ${since} matches this trigger.`
          : [...describePosts(posts), `${count(posts.length, 'post')}. Nothing was changed.`],
    )
    .examples('trigger rehearse trg_…', 'trigger rehearse trg_… --since 7d');

  group
    .sub('runs', 'List the queued and failed runs of triggers')
    .addOption(ofOrganization)
    .addOption(new Option('--status <status>', 'Only this status').choices(['queued', 'failed']))
    .answers(
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
              ['QUEUED', 'STATUS', 'NEXT RETRY', 'TRIGGER', 'SCOPE', 'ERROR'],
              runs.map((run) => row(run, names)),
              ['ERROR', 'SCOPE', 'STATUS'],
            ),
      ({ runs }) => runs,
    )
    .examples('trigger runs', 'trigger runs --status failed');

  group
    .sub('retry', 'Retry failed and delayed runs now')
    .argument('[id]', 'ID of the trigger (default: all triggers)')
    .answers(
      async (services, id: string | undefined) => {
        const retried = await services.db.write(async (tx) => {
          if (id !== undefined) await getTrigger(tx, id);
          return retryRuns(tx, id, services.clock.now());
        });
        return { retried, failing: await runNow(services, id) };
      },
      ({ retried, failing }) =>
        retried + failing === 0 ? 'No failed runs.' : `Retried ${retried}${stillFailing(failing)}.`,
    )
    .examples('trigger retry', 'trigger retry trg_…');
}

export async function withComposer<Result>(work: (compose: Compose) => Promise<Result>): Promise<Result> {
  const composer = threadedComposer();
  try {
    return await work(composer.compose);
  } finally {
    composer.close();
  }
}

/** The line between two posts. */
const RULE = '─'.repeat(60);

function describePosts(posts: readonly RehearsedPost[]): string[] {
  return posts.flatMap((post, index) => [...(index === 0 ? [] : [RULE]), describePost(post)]);
}

function describePost(post: RehearsedPost): string {
  const { title, subject, contentType, status, createdAt, markdown, leftOut } = post;
  const day = createdAt.slice(0, 10);
  const end = leftOut.length === 0 ? '' : `\n\n${describeLeftOut(leftOut)}`;
  return `${oneLine(title, 200)}\n${contentType}, ${status}, ${subject}, ${day}\n\n${markdown}${end}`;
}

/** The changes that a draft does not list; empty for none. */
export function describeLeftOut(leftOut: readonly LeftOut[]): string {
  const lines = leftOut.map(
    ({ reference, title, reason }) => `\n- ${reference.label} ${oneLine(title, 200)} (${reason})`,
  );
  return lines.length === 0 ? '' : `Left out:${lines.join('')}`;
}

/** Does all due runs, with or without a server. Returns how many fail, of all triggers or of one. */
export async function runNow(services: Services, id?: string): Promise<number> {
  await withComposer((compose) => runTriggers(services, compose));
  const runs = await services.db.read((tx) => listRuns(tx, {}));
  return runs.filter(({ error, triggerId }) => error !== null && triggerId === (id ?? triggerId)).length;
}

/** Ends a sentence about runs. */
export function stillFailing(failing: number): string {
  return failing === 0 ? '' : `; ${failing} still failing: see "trigger runs"`;
}

function row(
  { triggerId, scope, attempts, nextAttemptAt, error, queuedAt, ...run }: TriggerRun,
  names: ReadonlyMap<string, string>,
): Cell[] {
  const tries = attempts === 0 ? '' : `, ${count(attempts, 'attempt')}`;
  return [
    clockTime(queuedAt),
    status(run.status, `${run.status}${tries}`),
    nextAttemptAt === null ? '–' : clockTime(nextAttemptAt),
    triggerId,
    scope.replace(/^\S+/, (id) => names.get(id) ?? id),
    error ?? '–',
  ];
}
