import { type Command, Option } from 'commander';
import type { Suggestion } from '../drafts/model.ts';
import { dismissSuggestion, getSuggestion, hasSuggestionFor, takeSuggestion } from '../drafts/suggestions.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { escapeControls } from '../lib/text.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import type { SourceFile } from '../posts/import/files.ts';
import { type ImportResult, importFile, importFormats, MAX_FILE_BYTES } from '../posts/import/service.ts';
import { contentTypes, type PageSelection, postStatuses } from '../posts/model.ts';
import { findSchedule } from '../posts/schedule-store.ts';
import { editPost } from '../posts/service.ts';
import { getPost, listPostPage, parsePost } from '../posts/store.ts';
import { aboutOne, answering, done, limitTo, pageNumber } from './command.ts';
import { type CliContext, isoTime, withServices } from './context.ts';
import { explain } from './hints.ts';
import { fields, oneLine, print, progressBar, table } from './output.ts';
import {
  addPublishCommands,
  describeTrash,
  type ListedPost,
  readTrash,
  withSchedule,
  withSchedules,
} from './post-publish.ts';

type ImportFlags = Pick<
  Parameters<typeof importFile>[2],
  'status' | 'contentType' | 'date' | 'format' | 'source'
> & {
  organization: string;
};

interface Selection extends Pick<PageSelection, 'sort'> {
  organization: string;
  status?: PageSelection['statuses'];
  contentType?: PageSelection['contentTypes'];
}

type ListOptions = Selection & Pick<PageSelection, 'limit' | 'page'> & { trash?: true };

export function addPostCommands(program: Command, context: CliContext): void {
  const group = program.command('post').description('import, list, edit, publish and export posts');
  const command = aboutOne(group, 'the post');
  const answer = answering(context);
  const ofNew = (flags: string) => new Option(flags, 'of new posts that do not say');
  const format = new Option('--format <format>', "what the files are (default: by each file's name)");

  group
    .command('import')
    .description('read posts from files; all of a file or nothing of it')
    .argument('<file...>', 'a JSON array, JSON Lines, Markdown with front matter, or a CHANGELOG.md')
    .requiredOption('--organization <id>', 'the organization that the posts belong to')
    .addOption(ofNew('--status <status>').choices(postStatuses).default('published'))
    .addOption(ofNew('--content-type <type>').choices(contentTypes).default('changelog'))
    .option('--date <time>', 'createdAt for records that have none, as ISO 8601', isoTime)
    .addOption(format.choices(importFormats))
    .option(
      '--source <name>',
      "what the files are from, for posts without an id (default: each file's folder and name)",
    )
    .addHelpText('after', IMPORT_HELP)
    .action(async (files: string[], flags: ImportFlags, command: Command) => {
      const { done, failures } = await withServices(context, command, (services) =>
        importFiles(services, context, files, flags),
      );
      if (done.length > 0 || failures.length === 0) {
        print(context.terminal, command, done, (all) => all.map(describeImport).join('\n'));
      }
      if (failures.length > 0) {
        const which = failures.length > 1 ? 'these files' : 'this file';
        const messages = failures.map(explain).join('\n');
        throw new AppError(400, `${messages}\nNothing of ${which} was imported.`);
      }
    });

  selecting(group.command('list').description('list posts, newest first'))
    .addOption(limitTo('posts per page'))
    .addOption(pageNumber)
    .option('--trash', 'List deleted posts instead')
    .action(
      answer(
        (services, options: ListOptions) =>
          options.trash ? readTrash(services, options) : readPage(services, options),
        (page, options) => ('posts' in page ? describePage(page, options) : describeTrash(page, options)),
        (page): unknown => ('posts' in page ? page.posts : page.deleted),
      ),
    );

  command('show', 'show a post, drafts included').action(
    answer(
      async (services, id: string) => ({
        post: await services.db.read(async (tx) =>
          withSchedule(await getPost(tx, id), await findSchedule(tx, id)),
        ),
        hasSuggestion: await hasSuggestionFor(services, id),
      }),
      ({ post, hasSuggestion }, id) =>
        hasSuggestion
          ? `${describePost(post)}\n\nAn event has a newer text for it: ${tidings} post suggestion show ${id}`
          : describePost(post),
      ({ post }) => post,
    ),
  );

  command('edit', 'change the title or the text of a post')
    .option('--title <text>', 'the new title')
    .option('--markdown <file>', 'the file that holds the new text, in Markdown')
    .hook('preAction', (given) => {
      if (Object.keys(given.opts()).length > 0) return;
      given.error('error: Say what to change: --title TEXT, --markdown FILE, or both');
    })
    .action(
      answer(
        async (services, id: string, { title, markdown }: { title?: string; markdown?: string }) => {
          const text = markdown === undefined ? undefined : (await readSource(markdown)).text;
          return editPost(services, id, { title, markdown: text });
        },
        ({ id, title }) => `Changed: ${oneLine(title)} (${id})`,
      ),
    );

  addSuggestionCommands(group, context);

  addPublishCommands(group, context);

  selecting(group.command('export').description('print posts as a JSON array that "post import" reads'))
    .option('--jsonl', 'as JSON Lines, a post on each line')
    .action(async (options: Selection & { jsonl?: true }, command: Command) => {
      await withServices(context, command, (services) => exportPosts(services, context, options));
    });
}

function readPage({ db }: Services, options: ListOptions) {
  return db.read(async (tx) => {
    await getOrganization(tx, options.organization);
    const page = await listPostPage(tx, options.organization, selectionOf(options));
    return { ...page, posts: await withSchedules(tx, page.posts.map(parsePost)) };
  });
}

/** About the newer text that an event has for a post which a person has edited or published. */
function addSuggestionCommands(posts: Command, context: CliContext): void {
  const group = posts
    .command('suggestion')
    .description('compare, take or dismiss the newer text that an event has for an edited post');
  const command = aboutOne(group, 'the post');
  const answer = answering(context);

  command('show', 'show the suggested text').action(answer(getSuggestion, describeSuggestion));
  command('take', 'put the suggested text into the post').action(
    answer(takeSuggestion, ({ id, title }) => `Taken: ${oneLine(title)} (${id})`),
  );
  command('dismiss', 'turn the suggested text down').action(
    answer(done('dismissed', dismissSuggestion), ({ id }) => `Dismissed: ${id}`),
  );
}

const IMPORT_HELP = `
A record may have id, title, markdown, content, contentType, status, sourceMetadata, createdAt and updatedAt;
a title and either text are enough. A record without an id gets one from the organization, the source and its
title or version, so that importing the same file again updates the posts instead of doubling them. An id that
another organization has is replaced by one that stays the same at each import.`;

/** Imports each file, or none of its posts. */
async function importFiles(
  services: Services,
  { terminal }: CliContext,
  files: readonly string[],
  { organization: organizationId, ...flags }: ImportFlags,
) {
  const done: ImportResult[] = [];
  const failures: AppError[] = [];
  for (const path of files) {
    const bar = progressBar(terminal, path);
    const options = { ...flags, organizationId, onProgress: bar.show };
    try {
      done.push(await importFile(services, await readSource(path), options));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      failures.push(error);
    } finally {
      bar.done();
    }
  }
  return { done, failures };
}

const EXPORT_BATCH = 500;

async function exportPosts(
  { db }: Services,
  { terminal: { write } }: CliContext,
  { jsonl, ...options }: Selection & { jsonl?: true },
): Promise<void> {
  await db.read((tx) => getOrganization(tx, options.organization));
  let separator = '';
  if (!jsonl) write('[');
  for (let page = 1; ; page++) {
    const selection = selectionOf({ ...options, limit: EXPORT_BATCH, page });
    const { posts } = await db.read((tx) => listPostPage(tx, options.organization, selection));
    for (const post of posts) {
      write(`${separator}${escapeControls(new TextDecoder().decode(post))}`);
      separator = jsonl ? '\n' : ',\n';
    }
    if (posts.length < EXPORT_BATCH) break;
  }
  write(jsonl ? (separator === '' ? '' : '\n') : ']\n');
}

function selecting(command: Command): Command {
  const types = new Option('--content-type <type...>', 'only these (default: every type)');
  return command
    .requiredOption('--organization <id>', 'the organization')
    .addOption(new Option('--status <status...>', 'only these (default: every status)').choices(postStatuses))
    .addOption(types.choices(contentTypes))
    .addOption(new Option('--sort <order>', 'by creation date').choices(['asc', 'desc']).default('desc'));
}

function selectionOf({ status, contentType, ...rest }: ListOptions): PageSelection {
  return { statuses: status ?? [...postStatuses], contentTypes: contentType ?? [...contentTypes], ...rest };
}

/** Throws `AppError` 400 for a file that is absent, too large or not UTF-8. */
async function readSource(path: string): Promise<SourceFile> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new AppError(400, `${path}: no such file`);
  if (file.size > MAX_FILE_BYTES) {
    throw new AppError(400, `${path}: has ${file.size} bytes; ${MAX_FILE_BYTES} at most fit one import`);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.bytes());
    return { name: path, text: text.replaceAll('\r\n', '\n') };
  } catch (cause) {
    throw new AppError(400, `${path}: is not text in UTF-8`, { cause });
  }
}

function describeImport({ file, created, updated, unchanged, reassignedIds, skipped }: ImportResult): string {
  const left = skipped.length === 0 ? '' : `; passed over: ${skipped.join(', ')}`;
  const reassigned =
    reassignedIds === 0
      ? ''
      : `\n  replaced ids: ${reassignedIds}. Another organization has posts with these ids. Importing the file again updates the same posts.`;
  return `${file}: ${created} created, ${updated} updated, ${unchanged} unchanged${left}${reassigned}`;
}

function describePage(
  { posts, totalItems }: { posts: ListedPost[]; totalItems: number },
  { organization, status, contentType, page, limit }: ListOptions,
): string {
  if (totalItems === 0) {
    return (status ?? contentType)
      ? 'No post is like that.'
      : `No posts yet. Import some: ${tidings} post import --organization ${organization} CHANGELOG.md`;
  }
  const rows = posts.map((post) => {
    const { scheduledFor } = post;
    const day = (scheduledFor ?? post.createdAt).slice(0, 10);
    const status = scheduledFor === null ? post.status : 'scheduled';
    return [post.id, status, post.contentType, day, oneLine(post.title)];
  });
  const more = totalItems > page * limit ? ` --page ${page + 1} shows more.` : '';
  return `${table(['ID', 'STATUS', 'TYPE', 'CREATED', 'TITLE'], rows)}\n\n${posts.length} of ${totalItems}.${more}`;
}

function describePost(post: ListedPost): string {
  const description = fields({
    Post: post.id,
    Title: oneLine(post.title, 100),
    Type: post.contentType,
    Status: post.status,
    Scheduled: post.scheduledFor,
    Created: post.createdAt,
    Updated: post.updatedAt,
    Source: post.sourceMetadata === null ? null : JSON.stringify(post.sourceMetadata),
  });
  return `${description}\n\n${post.markdown}`;
}

const MARKS = { same: ' ', removed: '-', added: '+' } as const;

function describeSuggestion({ suggestedAt, changes }: Suggestion): string {
  return `Suggested ${suggestedAt}\n\n${changes.map(({ kind, line }) => `${MARKS[kind]} ${line}`).join('\n')}`;
}
