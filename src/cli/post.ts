import { readdirSync, statSync } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { Option } from 'commander';
import type { ReadTx } from '../../db/engine.ts';
import { hasSuggestionFor } from '../drafting/suggestions.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { findOrganization } from '../people/organization-store.ts';
import { approvalOf } from '../posts/approval-requests.ts';
import { listNames, MAX_PROBLEMS } from '../posts/import/files.ts';
import { importFormats, isImportable } from '../posts/import/records.ts';
import { ImportCutOff, type ImportResult, importFile } from '../posts/import/service.ts';
import { type ListedStatus, listedStatuses, listScheduledPage } from '../posts/list-store.ts';
import { contentTypes, DEFAULT_CONTENT_TYPE, type PageSelection, postStatuses } from '../posts/model.ts';
import { findSchedule } from '../posts/schedule.ts';
import { editPost } from '../posts/service.ts';
import { getPost, listPostPage, readPost } from '../posts/store.ts';
import { listOpenChanges } from '../posts/suggestions.ts';
import type { Services } from '../server/services.ts';
import { isoTime, limitTo, pageNumber, readOf, type TidingsCommand } from './command.ts';
import { explain } from './failure.ts';
import { fields, oneLine, progressOf, status, type Terminal, type Text, table } from './output.ts';
import { addExportCommand } from './post-export.ts';
import {
  type ApprovalFlag,
  addCreateCommand,
  addPublishCommands,
  approvalOption,
  describeTrash,
  type ListedPost,
  readMarkdown,
  readSource,
  readTrash,
  type Selection,
  selecting,
  withFlag,
  withSchedule,
  withSchedules,
} from './post-publish.ts';
import { addSuggestionCommands } from './post-suggestion.ts';

type ImportFlags = Pick<
  Parameters<typeof importFile>[2],
  'status' | 'contentType' | 'date' | 'format' | 'source'
> &
  ApprovalFlag & {
    organization: string;
    schedule?: true;
  };

type ListOptions = Selection<ListedStatus> & Pick<PageSelection, 'limit' | 'page'> & { trash?: true };

export function add(program: TidingsCommand): void {
  const group = program.sub('post', 'Create, import, list, edit, publish and export posts');
  const command = group.about('post');
  const forNew = (flags: string, field: string) =>
    new Option(flags, `${field} of new posts that do not have one`);
  const format = new Option('--format <format>', "Format of the files (default: by each file's name)");
  group.examples(
    'post import --organization acme CHANGELOG.md',
    'post list --organization acme --status draft',
  );

  group
    .sub('import', 'Import posts from files. A file with an error imports nothing.')
    .argument(
      '<file...>',
      'A JSON array, JSON Lines, Markdown with front matter, a CHANGELOG.md, or a folder of these',
    )
    .requiredOption('--organization <id>', 'Organization that gets the posts')
    .addOption(forNew('--status <status>', 'Status').choices(postStatuses).default('published'))
    .addOption(
      forNew('--content-type <type>', 'Content type').choices(contentTypes).default(DEFAULT_CONTENT_TYPE),
    )
    .option('--date <time>', 'Creation date of posts that have none, as ISO 8601', isoTime)
    .option('--schedule', 'Schedule posts with a date in the future for that date')
    .option(...approvalOption)
    .addOption(format.choices(importFormats))
    .option(
      '--source <name>',
      "Name of the source, to derive IDs from (default: each file's folder and name)",
    )
    .action(async (files: string[], flags: ImportFlags, command: TidingsCommand) => {
      const { done, failures } = await command.withServices((services) =>
        importFiles(withFlag(services, flags), command.context.terminal, files, flags),
      );
      if (done.length > 0 || failures.length === 0) {
        command.print(done, (all) => all.map(describeImport).join('\n'));
      }
      if (failures.length > 0) {
        const which = failures.length > 1 ? 'these files' : 'this file';
        const messages = failures.map(describeFailure);
        const isPart = failures.some((failure) => failure instanceof ImportCutOff);
        if (!isPart) messages.push(`Nothing of ${which} was imported.`);
        throw new AppError(400, messages.join('\n'));
      }
    })
    .note(IMPORT_HELP)
    .examples(
      'post import --organization acme CHANGELOG.md',
      'post import --organization acme posts/ --status draft',
      'post import --organization acme posts.json --source "Old blog"',
    );

  addCreateCommand(group);

  selecting(group.sub('list', 'List posts, newest first'), listedStatuses)
    .addOption(limitTo('Posts per page'))
    .addOption(pageNumber)
    .addOption(
      new Option('--trash', 'List all deleted posts instead').conflicts(['status', 'contentType', 'sort']),
    )
    .hook('preAction', (given) => {
      const { status } = given.opts<ListOptions>();
      if (!status?.includes('scheduled')) return;
      if (status.length > 1)
        given.error('error: --status scheduled stands alone. Drafts include scheduled posts');
      if (given.getOptionValueSource('sort') === 'cli') {
        given.error(
          'error: --sort does not apply to scheduled posts, which are in the order of their publication',
        );
      }
    })
    .answers(
      (services, options: ListOptions) =>
        options.trash ? readTrash(services, options) : readPage(services, options),
      (page, options) => ('posts' in page ? describePage(page, options) : describeTrash(page, options)),
      (page): unknown => ('posts' in page ? page.posts : page.deleted),
    )
    .note('Drafts include scheduled posts. "--status scheduled" lists only these, the next one first.')
    .examples(
      'post list --organization acme',
      'post list --organization acme --status draft --limit 10',
      'post list --organization acme --status scheduled',
    );

  command('show', 'Show a post')
    .answers(
      async (services, id: string) => ({
        post: await services.db.read(async (tx) => ({
          ...withSchedule(await getPost(tx, id), await findSchedule(tx, id)),
          ...(await describeApproval(tx, id)),
        })),
        hasSuggestion: await hasSuggestionFor(services, id),
        changes: await services.db.read((tx) => listOpenChanges(tx, { postId: id })),
      }),
      ({ post, hasSuggestion, changes }, id) => [
        describePost(post),
        post.markdown,
        hasSuggestion
          ? `The source changed. Review the suggestion: ${tidings} post suggestion show ${id}`
          : '',
        changes.length > 0
          ? `API keys suggest changes. Review them: ${tidings} post suggestion list --post ${id}`
          : '',
      ],
      ({ post }) => post,
    )
    .examples('post show post_…');

  command('edit', 'Change the title or the text of a post')
    .option('--title <text>', 'New title')
    .option('--markdown <file>', 'Markdown file with the new text, or - for standard input')
    .option(...approvalOption)
    .hook('preAction', (given) => {
      const { title, markdown } = given.opts();
      if (title !== undefined || markdown !== undefined) return;
      given.error('error: nothing to change. Add --title TEXT, --markdown FILE, or both');
    })
    .answers(
      async (services, id: string, flags: ApprovalFlag & { title?: string; markdown?: string }) => {
        const { title, markdown } = flags;
        const text = markdown === undefined ? undefined : (await readMarkdown(markdown)).text;
        const post = await editPost(withFlag(services, flags), id, { title, markdown: text });
        return services.db.read(async (tx) => withSchedule(post, await findSchedule(tx, id)));
      },
      ({ id, title }) => `Changed: ${oneLine(title)} (${id})`,
    )
    .examples('post edit post_… --title "Quieter engines"', 'post edit post_… --markdown text.md');

  addSuggestionCommands(group);

  addPublishCommands(group);

  addExportCommand(group);
}

/** How the approval of a post stands. Nothing where publishing needs no second person. */
async function describeApproval(tx: ReadTx, id: string) {
  const post = await readPost(tx, id);
  const organization = post && (await findOrganization(tx, post.organizationId));
  if (post === null || organization?.needsApproval !== true) return {};
  const { state, approval } = await approvalOf(tx, post);
  const { askedBy = null, askedAt = null, decidedBy = null, decidedAt = null, note = null } = approval ?? {};
  return {
    approval: { state, change: approval?.change ?? null, askedBy, askedAt, decidedBy, decidedAt, note },
  };
}

function readPage(services: Services, options: ListOptions) {
  const { organization, status } = options;
  return readOf(services, organization, async (tx) => {
    const page = status?.includes('scheduled')
      ? await listScheduledPage(tx, organization, selectionOf(options))
      : await listPostPage(tx, organization, selectionOf(options));
    return { ...page, posts: await withSchedules(tx, page.posts) };
  });
}

const IMPORT_HELP = `A record needs a title and a text: markdown, or content for plain text. It can also have id, contentType, status, sourceMetadata, createdAt, updatedAt and isDateSet.

A record without an id gets one from the organization, the source and its title or version. Importing the same file again updates its posts. If an id is not available, Tidings derives a new one from it, the same at each import, and prints both.`;

/** Of a file, or of a folder: with the paths below it that were not read. */
type FolderResult = ImportResult & { unread?: string[] };

/** Imports each file that can be read as a whole. */
async function importFiles(
  services: Services,
  terminal: Terminal,
  files: readonly string[],
  { organization: organizationId, schedule, withoutApproval: _, ...flags }: ImportFlags,
) {
  const done: FolderResult[] = [];
  const failures: AppError[] = [];
  for (const path of files) {
    const progress = progressOf(terminal);
    const onProgress = (done: number, of: number) =>
      progress.show(`${done} of ${of} in ${path}`, { done, of });
    const options = { ...flags, organizationId, scheduleZone: schedule && 'UTC' };
    try {
      const inside = listFolder(path);
      if (inside === null) {
        done.push(await importFile(services, await readSource(path), { ...options, onProgress }));
        continue;
      }
      const counts = { created: 0, updated: 0, unchanged: 0, reassignedIds: 0 };
      const total: FolderResult = { file: path, ...counts, newIds: {}, headings: null, skipped: [] };
      if (inside.unread.length > 0) total.unread = inside.unread;
      // Files of one name in different folders are different posts.
      const root = options.source ?? basename(resolve(path));
      for (const [index, file] of inside.files.entries()) {
        try {
          const source = `${root}/${relative(path, file).replaceAll(sep, '/')}`;
          addResult(total, await importFile(services, await readSource(file), { ...options, source }));
        } catch (error) {
          failures.push(requireAppError(error));
        }
        onProgress(index + 1, inside.files.length);
      }
      if (total.created + total.updated + total.unchanged > 0) done.push(total);
    } catch (error) {
      failures.push(requireAppError(error));
    } finally {
      progress.clear();
    }
  }
  return { done, failures };
}

/** Throws anything else, which no file caused. */
function requireAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

function addResult(total: ImportResult, one: ImportResult): void {
  for (const name of ['created', 'updated', 'unchanged', 'reassignedIds'] as const) total[name] += one[name];
  Object.assign(total.newIds, one.newIds);
  for (const name of ['future', 'scheduled', 'unapproved'] as const) {
    if (one[name] !== undefined) total[name] = (total[name] ?? 0) + one[name];
  }
  if (one.headings !== null) total.headings = (total.headings ?? 0) + one.headings;
  if (one.unknownFields !== undefined) {
    total.unknownFields = [...new Set([...(total.unknownFields ?? []), ...one.unknownFields])];
  }
  total.skipped.push(...one.skipped.map((part) => `${one.file}: ${part}`));
}

/** Names of what programs keep in a folder: packages, repositories, settings. */
const isHidden = (name: string) => name.startsWith('.') || name === 'node_modules';

/**
 * The files in a folder and those below it that an import reads, by name; null for a file. `unread`: paths below it that
 * are hidden, or links to folders. Throws `AppError` 400.
 */
function listFolder(path: string): { files: string[]; unread: string[] } | null {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  const files: string[] = [];
  const unread: string[] = [];
  const folders = [path];
  for (const folder of folders) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const inside = join(folder, entry.name);
      const found = statSync(inside, { throwIfNoEntry: false });
      const isFolder = found?.isDirectory() === true;
      const isPosts = found?.isFile() === true && isImportable(entry.name);
      if (!isFolder && !isPosts) continue;
      if (isHidden(entry.name) || (isFolder && entry.isSymbolicLink())) unread.push(relative(path, inside));
      else (isFolder ? folders : files).push(inside);
    }
  }
  if (files.length === 0) throw new AppError(400, `${path}: has no JSON, JSON Lines or Markdown files`);
  return { files: files.sort(), unread: unread.sort() };
}

function selectionOf({ status, contentType, ...rest }: ListOptions): PageSelection {
  const statuses = status?.filter((each) => each !== 'scheduled') ?? [...postStatuses];
  return { statuses, contentTypes: contentType ?? [...contentTypes], ...rest };
}

/** New ids that are shown; `--json` has all. */
const SHOWN_IDS = 10;

/** The reason stands at the end, behind the path and the heading. */
const SKIPPED_WIDTH = 400;

function describeImport(result: FolderResult): string {
  const {
    file,
    created,
    updated,
    unchanged,
    newIds,
    headings,
    skipped,
    unread = [],
    unknownFields = [],
    future = 0,
    scheduled = 0,
    unapproved = 0,
  } = result;
  const replaced = Object.entries(newIds);
  return [
    `${file}: ${created} created, ${updated} updated, ${unchanged} unchanged`,
    headings !== null &&
      `  headings: ${headings}, of which ${headings - skipped.length} are posts and ${skipped.length} skipped`,
    ...skipped.map((part) => `  skipped: ${oneLine(part, SKIPPED_WIDTH)}`),
    unread.length > 0 && `  not read, because hidden or links: ${listNames(unread)}`,
    unknownFields.length > 0 && `  other fields, kept in sourceMetadata: ${listNames(unknownFields)}`,
    scheduled > 0 && `  scheduled for their date: ${scheduled}`,
    future > 0 &&
      `  dated in the future: ${future}. They are drafts. To schedule them for their date, import again with --schedule.`,
    unapproved > 0 &&
      `  not approved: ${unapproved}. New ones are drafts, and published ones stay as they are. To publish a draft without approval: ${tidings} post publish ID --without-approval`,
    replaced.length > 0 &&
      `  replaced ids: ${replaced.length}. Importing the file again updates the same posts.`,
    ...replaced.slice(0, SHOWN_IDS).map(([given, id]) => `    ${given} → ${id}`),
    replaced.length > SHOWN_IDS && `    and ${replaced.length - SHOWN_IDS} more`,
  ]
    .filter((line) => line !== false)
    .join('\n');
}

function describeFailure(error: AppError): string {
  const {
    problems = [error],
    headings = null,
    skipped = [],
  } = error.details as {
    problems?: AppError[];
    headings?: number | null;
    skipped?: string[];
  };
  const lines = problems.map((problem, index) =>
    problems.findIndex(({ code }) => code === problem.code) === index ? explain(problem) : problem.message,
  );
  const count = problems.length < MAX_PROBLEMS ? problems.length : `at least ${MAX_PROBLEMS}`;
  if (headings !== null) {
    lines.push(`headings: ${headings}, of which ${skipped.length} skipped and ${count} with problems`);
  }
  return lines.join('\n');
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

function describePost(post: ListedPost & Partial<Awaited<ReturnType<typeof describeApproval>>>) {
  const { approval } = post;
  return fields({
    Post: post.id,
    Title: post.title,
    Type: post.contentType,
    Status: status(post.scheduledFor === null ? post.status : 'scheduled'),
    'Scheduled for': post.scheduledFor,
    Approval: approval
      ? [approval.state, approval.decidedBy ?? approval.askedBy].filter(Boolean).join(', ')
      : null,
    Reason: approval?.note ?? null,
    Created: post.createdAt,
    Updated: post.updatedAt,
    Source: post.sourceMetadata === null ? null : JSON.stringify(post.sourceMetadata),
  });
}
