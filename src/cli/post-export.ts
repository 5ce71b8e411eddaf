import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Option } from 'commander';
import { AppError, messageOf } from '../lib/app-error.ts';
import { bringToDisk } from '../lib/disk.ts';
import { count, randomToken, withoutControls } from '../lib/text.ts';
import {
  archiveOf,
  type ExportFormat,
  type ExportOptions,
  exportFiles,
  exportFormats,
  exportText,
  readExport,
} from '../posts/export.ts';
import type { OwnedPost } from '../posts/model.ts';
import type { TidingsCommand } from './command.ts';
import type { Terminal } from './output.ts';
import { type Selection, selecting } from './post-publish.ts';

interface ExportFlags extends Selection {
  format?: ExportFormat;
  jsonl?: true;
  output?: string;
}

const HELP = `json, the default, prints the posts as the API has them. jsonl and markdown also keep whether a draft's date was set, so that an import restores every field. changelog is for readers: titles, dates and texts of published changelog posts, unless you choose others.

The name of --output can decide the format: .json, .jsonl, .md (changelog) or .tar.gz (Markdown). For markdown, --output is such an archive or a new folder. An existing file is not replaced.

An export has the posts of the moment when it begins. Schedules, earlier versions and images are not in it: texts keep the addresses of images.`;

export function addExportCommand(posts: TidingsCommand): void {
  const format = new Option('--format <format>', 'Format of the export (default: json)');
  selecting(posts.sub('export', 'Export posts, for "post import" or for readers'))
    .addOption(format.choices(exportFormats))
    .addOption(new Option('--jsonl', 'Same as --format jsonl').conflicts('format'))
    .option('--output <path>', 'File or folder to write (default: print)')
    .action(async (flags: ExportFlags, command: TidingsCommand) => {
      await command.withServices(async (services) => {
        const { output } = flags;
        const chosen = formatOf(flags, command);
        const posts = counting(readExport(services.db, chosen, selectionOf(flags)));
        if (output === undefined) return printPosts(command.context.terminal, posts.all, chosen);
        await writeOutput(output, posts.all, chosen);
        const result = { path: output, format: chosen, posts: posts.count() };
        command.print(result, () => `Exported ${count(result.posts, 'post')} to ${result.path}`);
      });
    })
    .note(HELP)
    .examples(
      'post export --organization acme > posts.json',
      'post export --organization acme --output posts.jsonl',
      'post export --organization acme --format markdown --output posts',
      'post export --organization acme --status published --output CHANGELOG.md',
    );
}

/** Exits with 2 when the format does not follow from the words, or does not fit. */
function formatOf({ format, jsonl, output }: ExportFlags, command: TidingsCommand): ExportFormat {
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
  terminal: Terminal,
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
