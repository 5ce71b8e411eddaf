import { Option } from 'commander';
import { AppError, invalidField } from '../lib/app-error.ts';
import type { SourceFile } from '../posts/import/files.ts';
import { MAX_FILE_BYTES } from '../posts/import/service.ts';
import { type ContentType, contentTypes, DEFAULT_CONTENT_TYPE } from '../posts/model.ts';
import { findSchedule } from '../posts/schedule.ts';
import { createPost } from '../posts/service.ts';
import type { Services } from '../server/services.ts';
import type { TidingsCommand } from './command.ts';
import {
  type ApprovalFlag,
  approvalOption,
  describeScheduled,
  type ListedPost,
  timeZoneOption,
  withFlag,
  withSchedule,
} from './post-publish.ts';

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
  const {
    organization,
    title,
    contentType,
    status,
    publish = status === 'published',
    schedule,
    timeZone,
  } = flags;
  const { text: markdown } = await readMarkdown(path);
  if (markdown.trim() === '') throw new AppError(400, `${path}: has no text`);
  try {
    const post = await createPost(
      withFlag(services, flags),
      organization,
      { title, markdown, contentType },
      {
        isPublished: publish,
        ...(schedule !== undefined && { schedule: { publishAt: schedule, timeZone } }),
      },
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
