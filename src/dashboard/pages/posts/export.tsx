import { AppError } from '../../../lib/app-error.ts';
import {
  archiveOf,
  type ExportFormat,
  exportFiles,
  exportFormats,
  exportNames,
  exportText,
  readExport,
} from '../../../posts/export.ts';
import { contentTypes, type OwnedPost, postStatuses } from '../../../posts/model.ts';
import { type Download, get, type MemberVisit, type Page, view } from '../../page.ts';
import { Form, Select } from '../../view/form.tsx';
import { statusOptions, typeOptions } from './words.tsx';

const PATH = '/dashboard/:organizationId/posts/~/export';

const formatOptions: readonly { value: ExportFormat; label: string }[] = [
  { value: 'jsonl', label: 'JSON Lines: every field, in one file' },
  { value: 'markdown', label: 'Markdown: every field, a file per post (.tar.gz)' },
  { value: 'json', label: 'JSON array: posts as the API has them' },
  { value: 'changelog', label: 'Changelog: titles, dates and texts for readers' },
];

const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  json: 'application/json',
  jsonl: 'application/jsonl; charset=utf-8',
  markdown: 'application/gzip',
  changelog: 'text/markdown; charset=utf-8',
};

export const routes: readonly Page[] = [
  get(PATH, 'member', async () =>
    view(
      {
        title: 'Export posts',
        crumbs: [{ to: 'posts', label: 'Posts' }],
        facts: 'JSON Lines and Markdown import again without loss. Images keep their addresses.',
      },
      <Form isGet to="posts/~/export/file" button="Download posts">
        <Select label="Format" name="format" options={formatOptions} />
        <div class="field-pair">
          <Select
            label="Status"
            name="status"
            all="All statuses"
            options={statusOptions}
            hint="The format Changelog has published posts unless you choose drafts."
          />
          <Select
            label="Type"
            name="contentType"
            all="All types"
            options={typeOptions}
            hint="The format Changelog has changelog posts unless you choose another type."
          />
        </div>
      </Form>,
    ),
  ),

  get(`${PATH}/file`, 'member', download),
];

async function download({ deps, organization, request, url }: MemberVisit): Promise<Download> {
  const format = choose(exportFormats, url.searchParams.get('format')) ?? 'jsonl';
  const status = choose(postStatuses, url.searchParams.get('status'));
  const contentType = choose(contentTypes, url.searchParams.get('contentType'));
  // A slow connection takes its time.
  deps.extendTimeout?.(request);
  const posts = await begun(
    readExport(deps.db, format, {
      organizationId: organization.id,
      ...(status && { statuses: [status] }),
      ...(contentType && { contentTypes: [contentType] }),
    }),
  );
  const body = format === 'markdown' ? archiveOf(exportFiles(posts)) : bytesOf(exportText(posts, format));
  return { kind: 'download', name: exportNames[format], type: mediaTypes[format], body };
}

/** Throws `AppError` 400 for a value that the form does not offer. */
function choose<Value extends string>(values: readonly Value[], given: string | null): Value | undefined {
  const value = values.find((each) => each === given);
  if (value !== undefined || given === null || given === '') return value;
  throw new AppError(400, `Choose one of ${values.join(', ')}.`);
}

/** Reads the first post, so that a failure of the database becomes a page. */
async function begun(posts: AsyncGenerator<OwnedPost>): Promise<AsyncIterable<OwnedPost>> {
  const first = await posts.next();
  return (async function* () {
    if (first.done) return;
    try {
      yield first.value;
      yield* posts;
    } finally {
      await posts.return(undefined);
    }
  })();
}

/** Each write to a connection costs more than a post. */
const CHUNK = 64 * 1024;

async function* bytesOf(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let chunk = '';
  for await (const text of texts) {
    chunk += text;
    if (chunk.length < CHUNK) continue;
    yield encoder.encode(chunk);
    chunk = '';
  }
  if (chunk !== '') yield encoder.encode(chunk);
}
