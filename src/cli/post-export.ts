import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, Option } from 'commander';
import type { ReadTx } from '../../db/engine.ts';
import { AppError, messageOf } from '../lib/app-error.ts';
import { bringToDisk } from '../lib/disk.ts';
import { count, randomToken, withoutControls } from '../lib/text.ts';
import { formatInZone } from '../lib/time.ts';
import { getOrganization } from '../people/organizations.ts';
import {
  archiveOf,
  type ExportFormat,
  type ExportOptions,
  exportFiles,
  exportFormats,
  exportText,
  readExport,
} from '../posts/export.ts';
import { contentTypes, type OwnedPost, type PageSelection, type Post, postStatuses } from '../posts/model.ts';
import { schedulePost } from '../posts/schedule.ts';
import { listSchedules, type Schedule } from '../posts/schedule-store.ts';
import { deletePost, editPost } from '../posts/service.ts';
import { erasePost, restorePost } from '../posts/trash.ts';
import { countDeletedPosts, listDeletedPosts } from '../posts/trash-store.ts';
import type { Services } from '../server/services.ts';
import { aboutOne, answering } from './command.ts';
import { type CliContext, withServices } from './context.ts';
import { examples, note } from './help.ts';
import { oneLine, print, status, type Text, table } from './output.ts';

/** The options of commands about many posts of an organization. */
export interface Selection extends Pick<PageSelection, 'sort'> {
  organization: string;
  status?: PageSelection['statuses'];
  contentType?: PageSelection['contentTypes'];
}

export function selecting(command: Command): Command {
  const types = new Option('--content-type <type...>', 'Only these content types');
  return command
    .requiredOption('--organization <id>', 'Organization')
    .addOption(new Option('--status <status...>', 'Only these statuses').choices(postStatuses))
    .addOption(types.choices(contentTypes))
    .addOption(
      new Option('--sort <order>', 'Order by creation date').choices(['asc', 'desc']).default('desc'),
    );
}

interface ExportFlags extends Selection {
  format?: ExportFormat;
  jsonl?: true;
  output?: string;
}

const HELP = `json, the default, prints the posts as the API has them. jsonl and markdown also keep whether a draft's date was set, so that an import restores every field. changelog is for readers: titles, dates and texts of published changelog posts, unless you choose others.

The name of --output can decide the format: .json, .jsonl, .md (changelog) or .tar.gz (Markdown). For markdown, --output is such an archive or a new folder. An existing file is not replaced.

An export has the posts of the moment when it begins. Schedules, earlier versions and images are not in it: texts keep the addresses of images.`;

export function addExportCommand(posts: Command, context: CliContext): void {
  const format = new Option('--format <format>', 'Format of the export (default: json)');
  const exporting = selecting(
    posts.command('export').description('Export posts, for "post import" or for readers'),
  )
    .addOption(format.choices(exportFormats))
    .addOption(new Option('--jsonl', 'Same as --format jsonl').conflicts('format'))
    .option('--output <path>', 'File or folder to write (default: print)')
    .action(async (flags: ExportFlags, command: Command) => {
      await withServices(context, command, async (services) => {
        const { output } = flags;
        const chosen = formatOf(flags, command);
        const posts = counting(readExport(services.db, chosen, selectionOf(flags)));
        if (output === undefined) return printPosts(context, posts.all, chosen);
        await writeOutput(output, posts.all, chosen);
        const result = { path: output, format: chosen, posts: posts.count() };
        print(
          context.terminal,
          command,
          result,
          () => `Exported ${count(result.posts, 'post')} to ${result.path}`,
        );
      });
    });
  note(exporting, HELP);
  examples(
    exporting,
    'post export --organization acme > posts.json',
    'post export --organization acme --output posts.jsonl',
    'post export --organization acme --format markdown --output posts',
    'post export --organization acme --status published --output CHANGELOG.md',
  );
}

/** Exits with 2 when the format does not follow from the words, or does not fit. */
function formatOf({ format, jsonl, output }: ExportFlags, command: Command): ExportFormat {
  const given = jsonl ? 'jsonl' : format;
  if (output === undefined) {
    if (given === 'markdown') {
      command.error('error: Markdown is a file for each post. Add --output posts.tar.gz, or a new folder');
    }
    return given ?? 'json';
  }
  const [, ending = ''] = /\.(json|jsonl|ndjson|md|tar\.gz)$/.exec(output.toLowerCase()) ?? [];
  const byEnding: Readonly<Record<string, ExportFormat>> = {
    json: 'json',
    jsonl: 'jsonl',
    ndjson: 'jsonl',
    md: 'changelog',
    'tar.gz': 'markdown',
  };
  const chosen = given ?? byEnding[ending];
  if (chosen !== undefined) return chosen;
  command.error(`error: ${output} names no format. Add --format ${exportFormats.join('|')}`);
}

function selectionOf({ organization, status, contentType, sort }: ExportFlags): ExportOptions {
  return {
    organizationId: organization,
    sort,
    ...(status && { statuses: status }),
    ...(contentType && { contentTypes: contentType }),
  };
}

function counting(posts: AsyncIterable<OwnedPost>) {
  let number = 0;
  async function* all() {
    for await (const post of posts) {
      number++;
      yield post;
    }
  }
  return { all: all(), count: () => number };
}

/** A person's terminal gets no control characters of a changelog. Those of JSON are escaped. */
async function printPosts(
  { terminal }: CliContext,
  posts: AsyncIterable<OwnedPost>,
  format: ExportFormat,
): Promise<void> {
  if (format === 'markdown') return;
  for await (const text of exportText(posts, format)) {
    terminal.write(format === 'changelog' ? withoutControls(text) : text);
  }
}

/** Writes the whole file or folder, or nothing. Throws `AppError` 400. */
async function writeOutput(
  output: string,
  posts: AsyncIterable<OwnedPost>,
  format: ExportFormat,
): Promise<void> {
  const isFolder = format === 'markdown' && !/\.tar\.gz$/i.test(output);
  const isEmptyFolder = isFolder && isEmpty(output);
  if (existsSync(output) && !isEmptyFolder) {
    throw new AppError(400, `${output} exists already. Delete it, or choose another name.`);
  }
  const partial = `${output.replace(/[\\/]+$/, '')}.${randomToken(4)}.partial`;
  try {
    if (isFolder) await writeFolder(partial, posts);
    else await writeFile(partial, posts, format);
    if (isEmptyFolder) rmdirSync(output);
    renameSync(partial, output);
    bringToDisk(dirname(output));
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError(400, `${output} was not written: ${messageOf(error)}`, { cause: error });
  } finally {
    rmSync(partial, { force: true, recursive: true });
  }
}

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    return false;
  }
}

async function writeFolder(folder: string, posts: AsyncIterable<OwnedPost>): Promise<void> {
  mkdirSync(folder);
  for await (const { path, text } of exportFiles(posts)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
  }
}

/** Bytes that wait to be written. */
const BUFFER_BYTES = 256 * 1024;

async function writeFile(path: string, posts: AsyncIterable<OwnedPost>, format: ExportFormat): Promise<void> {
  const writer = Bun.file(path).writer({ highWaterMark: BUFFER_BYTES });
  const pieces = format === 'markdown' ? archiveOf(exportFiles(posts)) : exportText(posts, format);
  try {
    let waiting = 0;
    for await (const piece of pieces) {
      writer.write(piece);
      waiting += piece.length;
      if (waiting < BUFFER_BYTES) continue;
      await writer.flush();
      waiting = 0;
    }
  } finally {
    await writer.end();
  }
  bringToDisk(path);
}

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

interface PublishFlags {
  at?: string;
  timeZone: string;
}

export function addPublishCommands(group: Command, context: CliContext): void {
  const command = aboutOne(group, 'post');
  const answer = answering(context);
  const describe =
    (past: string) =>
    ({ id, title }: Post) =>
      `${past}: ${oneLine(title)} (${id})`;

  const publishing = command('publish', 'Publish a post, now or at a time')
    .option('--at <time>', 'Time to publish at, such as 2027-01-31T09:00 or 2027-01-31T09:00+01:00')
    .addOption(
      new Option('--time-zone <name>', 'Time zone of --at without an offset, such as Europe/Berlin').default(
        'UTC',
      ),
    )
    .action(
      answer(publish, (post, _id, { timeZone }) =>
        post.scheduledFor === null
          ? describe('Published')(post)
          : `Scheduled for ${formatInZone(new Date(post.scheduledFor), timeZone)}: ${oneLine(post.title)} (${post.id})`,
      ),
    );
  examples(
    publishing,
    'post publish post_…',
    'post publish post_… --at 2027-01-31T09:00 --time-zone Europe/Berlin',
  );
  const unpublishing = command('unpublish', 'Make a post a draft again, or cancel its schedule').action(
    answer((services, id: string) => editPost(services, id, { status: 'draft' }), describe('Unpublished')),
  );
  examples(unpublishing, 'post unpublish post_…');
  const deleting = command('delete', 'Move a post to the trash, where it stays for 30 days')
    .option('--for-good', 'Delete the post for good, even if it is in the trash')
    .action(
      answer(
        async (services, id: string, { forGood }: { forGood?: true }) => {
          await (forGood ? erasePost : deletePost)(services, id);
          return { id, deleted: true };
        },
        ({ id }) => `Deleted: ${id}`,
      ),
    );
  examples(deleting, 'post delete post_…', 'post delete post_… --for-good');
  const restoring = command('restore', 'Restore a post from the trash').action(
    answer(restorePost, describe('Restored')),
  );
  examples(restoring, 'post restore post_…');
}

async function publish(services: Services, id: string, { at, timeZone }: PublishFlags): Promise<ListedPost> {
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
