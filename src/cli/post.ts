import { type Command, Option } from 'commander';
import type { Suggestion } from '../drafts/model.ts';
import { dismissSuggestion, getSuggestion, hasSuggestionFor, takeSuggestion } from '../drafts/suggestions.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { escapeControls } from '../lib/text.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import type { SourceFile } from '../posts/import/files.ts';
import { importFormats } from '../posts/import/records.ts';
import { type ImportResult, importFile, MAX_FILE_BYTES } from '../posts/import/service.ts';
import { contentTypes, type PageSelection, postStatuses } from '../posts/model.ts';
import { findSchedule } from '../posts/schedule-store.ts';
import { editPost } from '../posts/service.ts';
import { getPost, listPostPage, parsePost } from '../posts/store.ts';
import { aboutOne, answering, done, limitTo, pageNumber } from './command.ts';
import { type CliContext, isoTime, withServices } from './context.ts';
import { examples, note } from './help.ts';
import { explain } from './hints.ts';
import { fields, lines, oneLine, painted, print, progressBar, status, type Text, table } from './output.ts';
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
  const group = program.command('post').description('Import, list, edit, publish and export posts');
  const command = aboutOne(group, 'post');
  const answer = answering(context);
  const forNew = (flags: string, field: string) =>
    new Option(flags, `${field} of new posts that do not have one`);
  const format = new Option('--format <format>', "Format of the files (default: by each file's name)");
  examples(
    group,
    'post import --organization acme CHANGELOG.md',
    'post list --organization acme --status draft',
  );

  const importing = group
    .command('import')
    .description('Import posts from files. A file with an error imports nothing.')
    .argument('<file...>', 'A JSON array, JSON Lines, Markdown with front matter, or a CHANGELOG.md')
    .requiredOption('--organization <id>', 'Organization that gets the posts')
    .addOption(forNew('--status <status>', 'Status').choices(postStatuses).default('published'))
    .addOption(forNew('--content-type <type>', 'Content type').choices(contentTypes).default('changelog'))
    .option('--date <time>', 'Creation date of posts that have none, as ISO 8601', isoTime)
    .addOption(format.choices(importFormats))
    .option(
      '--source <name>',
      "Name of the source, to derive ids from (default: each file's folder and name)",
    )
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
  note(importing, IMPORT_HELP);
  examples(
    importing,
    'post import --organization acme CHANGELOG.md',
    'post import --organization acme posts/*.md --status draft',
    'post import --organization acme posts.json --source "Old blog"',
  );

  const list = selecting(group.command('list').description('List posts, newest first'))
    .addOption(limitTo('Posts per page'))
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
  examples(list, 'post list --organization acme', 'post list --organization acme --status draft --limit 10');

  const show = command('show', 'Show a post').action(
    answer(
      async (services, id: string) => ({
        post: await services.db.read(async (tx) =>
          withSchedule(await getPost(tx, id), await findSchedule(tx, id)),
        ),
        hasSuggestion: await hasSuggestionFor(services, id),
      }),
      ({ post, hasSuggestion }, id) => [
        describePost(post),
        post.markdown,
        hasSuggestion
          ? `The source changed. Review the new version: ${tidings} post suggestion show ${id}`
          : '',
      ],
      ({ post }) => post,
    ),
  );
  examples(show, 'post show post_…');

  const edit = command('edit', 'Change the title or the text of a post')
    .option('--title <text>', 'New title')
    .option('--markdown <file>', 'Markdown file with the new text')
    .hook('preAction', (given) => {
      if (Object.keys(given.opts()).length > 0) return;
      given.error('error: nothing to change. Add --title TEXT, --markdown FILE, or both');
    })
    .action(
      answer(
        async (services, id: string, { title, markdown }: { title?: string; markdown?: string }) => {
          const text = markdown === undefined ? undefined : (await readSource(markdown)).text;
          const post = await editPost(services, id, { title, markdown: text });
          return services.db.read(async (tx) => withSchedule(post, await findSchedule(tx, id)));
        },
        ({ id, title }) => `Changed: ${oneLine(title)} (${id})`,
      ),
    );
  examples(edit, 'post edit post_… --title "Quieter engines"', 'post edit post_… --markdown text.md');

  addSuggestionCommands(group, context);

  addPublishCommands(group, context);

  const exporting = selecting(
    group.command('export').description('Print posts as a JSON array that "post import" reads'),
  )
    .option('--jsonl', 'Print JSON Lines: one post on each line')
    .action(async (options: Selection & { jsonl?: true }, command: Command) => {
      await withServices(context, command, (services) => exportPosts(services, context, options));
    });
  examples(
    exporting,
    'post export --organization acme > posts.json',
    'post export --organization acme --status published --jsonl',
  );
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
    .description('Review the newer text of a post that a person has edited');
  const command = aboutOne(group, 'post');
  const answer = answering(context);
  examples(group, 'post suggestion show post_…', 'post suggestion take post_…');

  const show = command('show', 'Compare the suggested text with the post').action(
    answer(getSuggestion, describeSuggestion),
  );
  examples(show, 'post suggestion show post_…');
  const take = command('take', 'Replace the text of the post with the suggested text').action(
    answer(takeSuggestion, ({ id, title }) => `Taken: ${oneLine(title)} (${id})`),
  );
  examples(take, 'post suggestion take post_…');
  const dismiss = command('dismiss', 'Dismiss the suggested text').action(
    answer(done('dismissed', dismissSuggestion), ({ id }) => `Dismissed: ${id}`),
  );
  examples(dismiss, 'post suggestion dismiss post_…');
}

const IMPORT_HELP = `A record needs a title and a text: markdown, or content for plain text. It can also have id, contentType, status, sourceMetadata, createdAt and updatedAt.

A record without an id gets one from the organization, the source and its title or version. Importing the same file again updates its posts. If another organization has the id of a record, Tidings derives a new one, the same at each import.`;

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
  const types = new Option('--content-type <type...>', 'Only these content types');
  return command
    .requiredOption('--organization <id>', 'Organization')
    .addOption(new Option('--status <status...>', 'Only these statuses').choices(postStatuses))
    .addOption(types.choices(contentTypes))
    .addOption(
      new Option('--sort <order>', 'Order by creation date').choices(['asc', 'desc']).default('desc'),
    );
}

function selectionOf({ status, contentType, ...rest }: ListOptions): PageSelection {
  return { statuses: status ?? [...postStatuses], contentTypes: contentType ?? [...contentTypes], ...rest };
}

/** Throws `AppError` 400 for a file that is absent, too large or not UTF-8. */
async function readSource(path: string): Promise<SourceFile> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new AppError(400, `${path}: no such file`);
  if (file.size > MAX_FILE_BYTES) {
    throw new AppError(400, `${path}: has ${file.size} bytes. The limit is ${MAX_FILE_BYTES}.`);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.bytes());
    return { name: path, text: text.replaceAll('\r\n', '\n') };
  } catch (cause) {
    throw new AppError(400, `${path}: is not UTF-8 text`, { cause });
  }
}

function describeImport({ file, created, updated, unchanged, reassignedIds, skipped }: ImportResult): string {
  const left = skipped.length === 0 ? '' : `; skipped: ${skipped.join(', ')}`;
  const reassigned =
    reassignedIds === 0
      ? ''
      : `\n  replaced ids: ${reassignedIds}. Another organization has posts with these ids. Importing the file again updates the same posts.`;
  return `${file}: ${created} created, ${updated} updated, ${unchanged} unchanged${left}${reassigned}`;
}

function describePage(
  { posts, totalItems }: { posts: ListedPost[]; totalItems: number },
  { organization, status: statuses, contentType, page, limit }: ListOptions,
): Text {
  if (totalItems === 0) {
    return (statuses ?? contentType)
      ? 'No posts match these filters.'
      : `No posts yet. Import some: ${tidings} post import --organization ${organization} CHANGELOG.md`;
  }
  const rows = posts.map((post) => {
    const { scheduledFor } = post;
    const day = (scheduledFor ?? post.createdAt).slice(0, 10);
    const current = scheduledFor === null ? post.status : 'scheduled';
    return [post.id, status(current), post.contentType, day, post.title];
  });
  const more = totalItems > page * limit ? ` --page ${page + 1} shows more.` : '';
  return [
    table(['ID', 'STATUS', 'TYPE', 'CREATED', 'TITLE'], rows, ['TITLE', 'TYPE']),
    `${posts.length} of ${totalItems}.${more}`,
  ];
}

function describePost(post: ListedPost) {
  return fields({
    Post: post.id,
    Title: post.title,
    Type: post.contentType,
    Status: status(post.scheduledFor === null ? post.status : 'scheduled'),
    'Scheduled for': post.scheduledFor,
    Created: post.createdAt,
    Updated: post.updatedAt,
    Source: post.sourceMetadata === null ? null : JSON.stringify(post.sourceMetadata),
  });
}

const MARKS = { same: ' ', removed: '-', added: '+' } as const;
const STYLES = { same: null, removed: 'bad', added: 'good' } as const;

function describeSuggestion({ suggestedAt, changes }: Suggestion): Text {
  const diff = changes.map(({ kind, line }) => painted(`${MARKS[kind]} ${line}`, STYLES[kind]));
  return [`Suggested ${suggestedAt}`, lines(diff)];
}
