import type { Command } from 'commander';
import { getDelivery } from '../deliveries/log-store.ts';
import { threadedComposer } from '../drafts/thread.ts';
import { previewTrigger, type RehearsedPost, rehearseTrigger } from '../triggers/rehearse.ts';
import { type CliContext, sinceWhen, timeOrSpan, withServices } from './context.ts';
import { oneLine, print } from './output.ts';

/** Commands that show what a trigger would do, and change nothing. */
export function addTryCommands(group: Command, context: CliContext): void {
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
          ? `Nothing since ${since}: no delivery in the log is one that this trigger makes posts of.`
          : `${describePosts(all)}\n\n${all.length === 1 ? '1 post' : `${all.length} posts`}. Nothing was changed.`,
      );
    });
}

/** Drafts are made as the server makes them, in a thread with a time limit. */
export async function withComposer<Result>(
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
