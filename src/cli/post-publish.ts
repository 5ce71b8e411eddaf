import { Option } from 'commander';
import type { ReadTx } from '../../db/engine.ts';
import { AppError, invalidField } from '../lib/app-error.ts';
import { formatInZone, knownZone } from '../lib/time.ts';
import { askApproval } from '../posts/approval-requests.ts';
import type { SourceFile } from '../posts/import/files.ts';
import { MAX_FILE_BYTES } from '../posts/import/service.ts';
import {
  type ContentType,
  contentTypes,
  DEFAULT_CONTENT_TYPE,
  type PageSelection,
  type Post,
  type PostStatus,
  postStatuses,
} from '../posts/model.ts';
import { findSchedule, listSchedules, type Schedule, schedulePost } from '../posts/schedule.ts';
import { createPost, deletePost, editPost } from '../posts/service.ts';
import { countDeletedPosts, erasePost, listDeletedPosts, restorePost } from '../posts/trash.ts';
import type { Services } from '../server/services.ts';
import { readOf, type TidingsCommand } from './command.ts';
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

const timeZoneOption = (time: string) =>
  new Option('--time-zone <name>', `Time zone of ${time} without an offset, such as Europe/Berlin`)
    .argParser((name) => {
      if (knownZone(name) !== null) return name;
      throw invalidField('timeZone', 'must be an IANA name, such as Europe/Berlin');
    })
    .default('UTC');

/** `past`: what happened to a post without a schedule. */
function describeScheduled(past: string, { id, title, scheduledFor }: ListedPost, timeZone: string) {
  const result =
    scheduledFor === null ? past : `Scheduled for ${formatInZone(new Date(scheduledFor), timeZone)}`;
  return `${result}: ${oneLine(title)} (${id})`;
}

async function publish(given: Services, id: string, flags: PublishFlags): Promise<ListedPost> {
  const { at, timeZone } = flags;
  const services = withFlag(given, flags);
  if (at === undefined) return withSchedule(await editPost(services, id, { status: 'published' }), null);
  const { post, schedule } = await schedulePost(services, id, { publishAt: at, timeZone });
  return withSchedule(post, schedule);
}

interface TrashOptions {
  organization: string;
  limit: number;
  page: number;
}

export function readTrash(services: Services, { organization, limit, page }: TrashOptions) {
  return readOf(services, organization, async (tx) => {
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
    ...[id, status(former), deletedAt.slice(0, 10), expiresAt.slice(0, 10), title],
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

interface CreateFlags extends ApprovalFlag {
  organization: string;
  title: string;
  contentType: ContentType;
  status?: 'draft' | 'published';
  publish?: true;
  schedule?: string;
  timeZone: string;
}

export function addCreateCommand(group: TidingsCommand): void {
  const schedule = new Option('--schedule <time>', 'Publish it at this time, such as 2027-01-31T09:00');
  group
    .sub('create', 'Create a post from Markdown: a draft, unless you publish it')
    .argument('<file>', 'Markdown file with the text, or - for standard input')
    .requiredOption('--organization <id>', 'Organization that gets the post')
    .requiredOption('--title <text>', 'Title')
    .addOption(
      new Option('--content-type <type>', 'Content type').choices(contentTypes).default(DEFAULT_CONTENT_TYPE),
    )
    .option('--publish', 'Publish it at once')
    .addOption(schedule.conflicts('publish'))
    .addOption(
      new Option('--status <status>', 'A draft, or published at once')
        .choices(['draft', 'published'])
        .conflicts(['publish', 'schedule']),
    )
    .addOption(timeZoneOption('--schedule'))
    .option(...approvalOption)
    .answers(create, (post, _file, { timeZone }) =>
      describeScheduled(post.status === 'published' ? 'Published' : 'Created a draft', post, timeZone),
    )
    .examples(
      'post create --organization acme --title "Quieter engines" text.md',
      'post create --organization acme --title "Quieter engines" --publish - < text.md',
      'post create --organization acme --title "Quieter engines" --schedule 2027-01-31T09:00 text.md',
    );
}

async function create(services: Services, path: string, flags: CreateFlags): Promise<ListedPost> {
  const { organization, title, contentType, schedule, timeZone } = flags;
  const isPublished = flags.publish ?? flags.status === 'published';
  const { text: markdown } = await readMarkdown(path);
  if (markdown.trim() === '') throw new AppError(400, `${path}: has no text`);
  try {
    const post = await createPost(
      withFlag(services, flags),
      organization,
      { title, markdown, contentType },
      { isPublished, ...(schedule !== undefined && { schedule: { publishAt: schedule, timeZone } }) },
    );
    return services.db.read(async (tx) => withSchedule(post, await findSchedule(tx, post.id)));
  } catch (error) {
    throw error instanceof AppError ? inWordsOf(error, path) : error;
  }
}

/** Names the file or the option that this command has for a field. */
function inWordsOf(error: AppError, path: string): AppError {
  const { markdown, publishAt } = error.fields;
  if (markdown !== undefined) return new AppError(400, `${path}: ${markdown}`, { cause: error });
  return publishAt === undefined ? error : invalidField('schedule', publishAt);
}

/** Reads a file, or standard input for `-`. Throws as `readSource` does. */
export function readMarkdown(path: string): Promise<SourceFile> {
  // One byte more than the limit shows that the input is too long, even if it never ends.
  return path === '-' ? decode(path, Bun.stdin.slice(0, MAX_FILE_BYTES + 1)) : readSource(path);
}

/** Throws `AppError` 400 for a file that is absent, too large or not UTF-8. */
export async function readSource(path: string): Promise<SourceFile> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new AppError(400, `${path}: no such file`);
  if (file.size > MAX_FILE_BYTES) throw tooLarge(path, file.size);
  return decode(path, file);
}

async function decode(path: string, file: Blob): Promise<SourceFile> {
  const bytes = await file.arrayBuffer();
  if (bytes.byteLength > MAX_FILE_BYTES) throw tooLarge(path, `more than ${MAX_FILE_BYTES}`);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { name: path, text: text.replaceAll('\r\n', '\n') };
  } catch (cause) {
    throw new AppError(400, `${path}: is not UTF-8 text`, { cause });
  }
}

function tooLarge(path: string, size: number | string): AppError {
  return new AppError(400, `${path}: has ${size} bytes. The limit is ${MAX_FILE_BYTES}.`);
}
