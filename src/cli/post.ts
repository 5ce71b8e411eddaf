import { type Command, Option } from 'commander';
import { hasSuggestionFor } from '../drafts/suggestions.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { escapeControls } from '../lib/text.ts';
import { getOrganization } from '../organizations/store.ts';
import type { SourceFile } from '../posts/import/files.ts';
import {
  type ImportOptions,
  type ImportResult,
  importFile,
  importFormats,
  MAX_FILE_BYTES,
} from '../posts/import/service.ts';
import { type ContentType, contentTypes, type Post, type PostStatus, postStatuses } from '../posts/model.ts';
import { deletePost, editPost } from '../posts/service.ts';
import { getPost, listPostPage, parsePost } from '../posts/store.ts';
import { type CliContext, isoTime, whole, withServices } from './context.ts';
import { explain } from './hints.ts';
import { fields, oneLine, print, progressBar, table } from './output.ts';
import { addSuggestionCommands } from './suggestion.ts';

type ImportFlags = Pick<ImportOptions, 'status' | 'contentType' | 'date' | 'format' | 'source'>;

interface Selection {
  organization: string;
  status?: PostStatus[];
  contentType?: ContentType[];
  sort: 'asc' | 'desc';
}

interface ListOptions extends Selection {
  limit: number;
  page: number;
}

export function addPostCommands(program: Command, context: CliContext): void {
  const group = program.command('post').description('import, list, edit, publish and export posts');

  group
    .command('import')
    .description('read posts from files; all of a file or nothing of it')
    .argument('<file...>', 'a JSON array, JSON Lines, Markdown with front matter, or a CHANGELOG.md')
    .requiredOption('--organization <id>', 'the organization that the posts belong to')
    .addOption(
      new Option('--status <status>', 'of new posts that do not say')
        .choices(postStatuses)
        .default('published'),
    )
    .addOption(
      new Option('--content-type <type>', 'of new posts that do not say')
        .choices(contentTypes)
        .default('changelog'),
    )
    .option('--date <time>', 'createdAt for records that have none, as ISO 8601', isoTime)
    .addOption(
      new Option('--format <format>', "what the files are (default: by each file's name)").choices(
        importFormats,
      ),
    )
    .option(
      '--source <name>',
      "what the files are from, for posts without an id (default: each file's folder and name)",
    )
    .addHelpText('after', IMPORT_HELP)
    .action(async (files: string[], options: ImportFlags & { organization: string }, command: Command) => {
      const { organization: organizationId, ...flags } = options;
      const results = await withServices(context, command, async (services) => {
        const done: ImportResult[] = [];
        const failures: AppError[] = [];
        for (const path of files) {
          const bar = progressBar(context.terminal, path);
          try {
            done.push(
              await importFile(services, await readSource(path), {
                ...flags,
                organizationId,
                onProgress: bar.show,
              }),
            );
          } catch (error) {
            if (!(error instanceof AppError)) throw error;
            failures.push(error);
          } finally {
            bar.done();
          }
        }
        return { done, failures };
      });
      if (results.done.length > 0 || results.failures.length === 0) {
        print(context.terminal, command, results.done, (all) => all.map(describeImport).join('\n'));
      }
      if (results.failures.length > 0) {
        const messages = results.failures.map(explain);
        throw new AppError(
          400,
          `${messages.join('\n')}\nNothing of ${messages.length > 1 ? 'these files' : 'this file'} was imported.`,
        );
      }
    });

  selecting(group.command('list').description('list posts, newest first'))
    .option('--limit <number>', 'posts per page, 1 to 1000', whole(1, 1000), 50)
    .option('--page <number>', 'page number', whole(1, 1_000_000_000), 1)
    .action(async (options: ListOptions, command: Command) => {
      const { posts, totalItems } = await withServices(context, command, ({ db }) =>
        db.read(async (tx) => {
          await getOrganization(tx, options.organization);
          const page = await listPostPage(tx, options.organization, { ...selectionOf(options), ...options });
          return { ...page, posts: page.posts.map(parsePost) };
        }),
      );
      print(context.terminal, command, posts, (page) => describePage(page, totalItems, options));
    });

  group
    .command('show')
    .description('show a post, drafts included')
    .argument('<id>', 'the post')
    .action(async (id: string, _options: object, command: Command) => {
      const { post, hasSuggestion } = await withServices(context, command, async (services) => ({
        post: await services.db.read((tx) => getPost(tx, id)),
        hasSuggestion: await hasSuggestionFor(services, id),
      }));
      print(context.terminal, command, post, () =>
        hasSuggestion
          ? `${describePost(post)}\n\nAn event has a newer text for it: ${tidings} post suggestion show ${id}`
          : describePost(post),
      );
    });

  group
    .command('edit')
    .description('change the title or the text of a post')
    .argument('<id>', 'the post')
    .option('--title <text>', 'the new title')
    .option('--markdown <file>', 'the file that holds the new text, in Markdown')
    .action(
      async (id: string, { title, markdown }: { title?: string; markdown?: string }, command: Command) => {
        if (title === undefined && markdown === undefined) {
          command.error('error: Say what to change: --title TEXT, --markdown FILE, or both');
        }
        const text = markdown === undefined ? undefined : (await readSource(markdown)).text;
        const post = await withServices(context, command, (services) =>
          editPost(services, id, { title, markdown: text }),
        );
        print(context.terminal, command, post, () => `Changed: ${oneLine(post.title)} (${id})`);
      },
    );

  addSuggestionCommands(group, context);

  for (const [name, status, done] of [
    ['publish', 'published', 'Published'],
    ['unpublish', 'draft', 'Back to a draft'],
  ] as const) {
    group
      .command(name)
      .description(name === 'publish' ? 'let the API return a post' : 'make a post a draft again')
      .argument('<id>', 'the post')
      .action(async (id: string, _options: object, command: Command) => {
        const post = await withServices(context, command, (services) => editPost(services, id, { status }));
        print(context.terminal, command, post, ({ title }) => `${done}: ${oneLine(title)} (${id})`);
      });
  }

  group
    .command('delete')
    .description('delete a post for good')
    .argument('<id>', 'the post')
    .action(async (id: string, _options: object, command: Command) => {
      await withServices(context, command, (services) => deletePost(services, id));
      print(context.terminal, command, { id, deleted: true }, () => `Deleted: ${id}`);
    });

  selecting(group.command('export').description('print posts as a JSON array that "post import" reads'))
    .option('--jsonl', 'as JSON Lines, a post on each line')
    .action(async (options: Selection & { jsonl?: true }, command: Command) => {
      const { write } = context.terminal;
      await withServices(context, command, async ({ db }) => {
        await db.read((tx) => getOrganization(tx, options.organization));
        const selection = { ...selectionOf(options), sort: options.sort, limit: EXPORT_BATCH };
        let separator = '';
        if (!options.jsonl) write('[');
        for (let page = 1; ; page++) {
          const { posts } = await db.read((tx) =>
            listPostPage(tx, options.organization, { ...selection, page }),
          );
          for (const post of posts) {
            write(`${separator}${escapeControls(new TextDecoder().decode(post))}`);
            separator = options.jsonl ? '\n' : ',\n';
          }
          if (posts.length < EXPORT_BATCH) break;
        }
        write(options.jsonl ? (separator === '' ? '' : '\n') : ']\n');
      });
    });
}

const EXPORT_BATCH = 500;

const IMPORT_HELP = `
A record may have id, title, markdown, content, contentType, status, sourceMetadata, createdAt and updatedAt;
a title and either text are enough. A record without an id gets one from the organization, the source and its
title or version, so that importing the same file again updates the posts instead of doubling them. An id that
another organization has is replaced by one that stays the same at each import.`;

function selecting(command: Command): Command {
  return command
    .requiredOption('--organization <id>', 'the organization')
    .addOption(new Option('--status <status...>', 'only these (default: every status)').choices(postStatuses))
    .addOption(
      new Option('--content-type <type...>', 'only these (default: every type)').choices(contentTypes),
    )
    .addOption(new Option('--sort <order>', 'by creation date').choices(['asc', 'desc']).default('desc'));
}

function selectionOf({ status, contentType }: Selection) {
  return { statuses: status ?? [...postStatuses], contentTypes: contentType ?? [...contentTypes] };
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
  posts: Post[],
  totalItems: number,
  { organization, status, contentType, page, limit }: ListOptions,
): string {
  const isFiltered = status !== undefined || contentType !== undefined;
  if (totalItems === 0) {
    return isFiltered
      ? 'No post is like that.'
      : `No posts yet. Import some: ${tidings} post import --organization ${organization} CHANGELOG.md`;
  }
  const rows = posts.map((post) => [
    post.id,
    post.status,
    post.contentType,
    post.createdAt.slice(0, 10),
    oneLine(post.title),
  ]);
  const more = totalItems > page * limit ? ` --page ${page + 1} shows more.` : '';
  return `${table(['ID', 'STATUS', 'TYPE', 'CREATED', 'TITLE'], rows)}\n\n${posts.length} of ${totalItems}.${more}`;
}

function describePost(post: Post): string {
  const description = fields({
    Post: post.id,
    Title: oneLine(post.title, 100),
    Type: post.contentType,
    Status: post.status,
    Created: post.createdAt,
    Updated: post.updatedAt,
    Source: post.sourceMetadata === null ? null : JSON.stringify(post.sourceMetadata),
  });
  return `${description}\n\n${post.markdown}`;
}
