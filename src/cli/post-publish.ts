import { Option } from 'commander';
import type { ReadTx } from '../../db/engine.ts';
import { invalidField } from '../lib/app-error.ts';
import { formatInZone, knownZone } from '../lib/time.ts';
import { getOrganization } from '../people/organization-store.ts';
import { askApproval } from '../posts/approval-requests.ts';
import {
  contentTypes,
  type PageSelection,
  type Post,
  type PostStatus,
  postStatuses,
} from '../posts/model.ts';
import { listSchedules, type Schedule, schedulePost } from '../posts/schedule.ts';
import { deletePost, editPost } from '../posts/service.ts';
import { countDeletedPosts, erasePost, listDeletedPosts, restorePost } from '../posts/trash.ts';
import type { Services } from '../server/services.ts';
import type { TidingsCommand } from './command.ts';
import { oneLine, status, type Text, table } from './output.ts';

// When a post is published, and the trash.

/** A post as `--json` prints it. */
export type ListedPost = Post & { scheduledFor: string | null };

/** Adds when these posts will be published. */
export async function withSchedules(tx: ReadTx, posts: readonly Post[]): Promise<ListedPost[]> {
  const schedules = await listSchedules(
    tx,
    posts.map(({ id }) => id),
  );
  return posts.map((post) => withSchedule(post, schedules.get(post.id) ?? null));
}

export function withSchedule(post: Post, schedule: Schedule | null): ListedPost {
  // An import may have published it meanwhile.
  const isWaiting = schedule !== null && post.status === 'draft';
  return { ...post, scheduledFor: isWaiting ? new Date(schedule.publishAt).toISOString() : null };
}

interface PublishFlags extends ApprovalFlag {
  at?: string;
  timeZone: string;
}

export interface ApprovalFlag {
  withoutApproval?: true;
}

/** For commands that publish. */
export const approvalOption = [
  '--without-approval',
  'Publish even if nobody has approved the text. The audit log shows it.',
] as const;

export const withFlag = (services: Services, { withoutApproval }: ApprovalFlag) => ({
  ...services,
  skipsApproval: withoutApproval === true,
});

export function addPublishCommands(group: TidingsCommand): void {
  const command = group.about('post');
  const describe =
    (past: string) =>
    ({ id, title }: Post) =>
      `${past}: ${oneLine(title)} (${id})`;

  command('publish', 'Publish a post, now or at a time')
    .option('--at <time>', 'Time to publish at, such as 2027-01-31T09:00 or 2027-01-31T09:00+01:00')
    .addOption(timeZoneOption('--at'))
    .option(...approvalOption)
    .answers(publish, (post, _id, { timeZone }) => describeScheduled('Published', post, timeZone))
    .examples('post publish post_…', 'post publish post_… --at 2027-01-31T09:00 --time-zone Europe/Berlin');
  command('ask-approval', 'Ask for the approval of a draft, where publishing needs a second person')
    .answers((services, id: string) => askApproval(services, id), describe('Asked to approve'))
    .note('Two people then have to stand behind the text: one asks in the dashboard, another approves.')
    .examples('post ask-approval post_…');
  command('unpublish', 'Make a post a draft again, or cancel its schedule')
    .answers((services, id: string) => editPost(services, id, { status: 'draft' }), describe('Unpublished'))
    .examples('post unpublish post_…');
  command('delete', 'Move a post to the trash, where it stays for 30 days')
    .option('--for-good', 'Delete the post for good, even if it is in the trash')
    .answers(
      async (services, id: string, { forGood }: { forGood?: true }) => {
        await (forGood ? erasePost : deletePost)(services, id);
        return { id, deleted: true };
      },
      ({ id }) => `Deleted: ${id}`,
    )
    .examples('post delete post_…', 'post delete post_… --for-good');
  command('restore', 'Restore a post from the trash')
    .answers(restorePost, describe('Restored'))
    .examples('post restore post_…');
}

export const timeZoneOption = (time: string) =>
  new Option('--time-zone <name>', `Time zone of ${time} without an offset, such as Europe/Berlin`)
    .argParser((name) => {
      if (knownZone(name) !== null) return name;
      throw invalidField('timeZone', 'must be an IANA name, such as Europe/Berlin');
    })
    .default('UTC');

/** `past`: what happened to a post without a schedule. */
export function describeScheduled(past: string, { id, title, scheduledFor }: ListedPost, timeZone: string) {
  const result =
    scheduledFor === null ? past : `Scheduled for ${formatInZone(new Date(scheduledFor), timeZone)}`;
  return `${result}: ${oneLine(title)} (${id})`;
}

async function publish(given: Services, id: string, flags: PublishFlags): Promise<ListedPost> {
  const { at, timeZone } = flags;
  const services = withFlag(given, flags);
  if (at === undefined) {
    return { ...(await editPost(services, id, { status: 'published' })), scheduledFor: null };
  }
  const { post, schedule } = await schedulePost(services, id, { publishAt: at, timeZone });
  return { ...post, scheduledFor: new Date(schedule.publishAt).toISOString() };
}

interface TrashOptions {
  organization: string;
  limit: number;
  page: number;
}

/** The posts of an organization's trash. */
export function readTrash({ db }: Services, { organization, limit, page }: TrashOptions) {
  return db.read(async (tx) => {
    await getOrganization(tx, organization);
    const rows = await listDeletedPosts(tx, organization, { limit, page });
    const deleted = rows.map(({ organizationId: _, actorName, expiresAt, ...post }) => ({
      ...post,
      deletedBy: actorName,
      expiresAt: new Date(expiresAt).toISOString(),
    }));
    return { deleted, totalItems: await countDeletedPosts(tx, organization) };
  });
}

export function describeTrash(
  { deleted, totalItems }: Awaited<ReturnType<typeof readTrash>>,
  { page, limit }: TrashOptions,
): Text {
  if (totalItems === 0) return 'The trash is empty.';
  const rows = deleted.map(({ id, status: former, deletedAt, expiresAt, title }) => [
    id,
    status(former),
    deletedAt.slice(0, 10),
    expiresAt.slice(0, 10),
    title,
  ]);
  const more = totalItems > page * limit ? ` --page ${page + 1} shows more.` : '';
  return [
    table(['ID', 'STATUS', 'DELETED', 'KEPT UNTIL', 'TITLE'], rows, ['TITLE']),
    `${deleted.length} of ${totalItems}.${more}`,
  ];
}

/** The options of commands about many posts of an organization. */
export interface Selection<Status = PostStatus> extends Pick<PageSelection, 'sort'> {
  organization: string;
  status?: Status[];
  contentType?: PageSelection['contentTypes'];
}

export function selecting(
  command: TidingsCommand,
  statuses: readonly string[] = postStatuses,
): TidingsCommand {
  const types = new Option('--content-type <type...>', 'Only these content types');
  return command
    .requiredOption('--organization <id>', 'Organization')
    .addOption(new Option('--status <status...>', 'Only these statuses').choices(statuses))
    .addOption(types.choices(contentTypes))
    .addOption(
      new Option('--sort <order>', 'Order by creation date').choices(['asc', 'desc']).default('desc'),
    );
}
