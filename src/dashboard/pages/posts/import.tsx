import { type Static, Type } from '@sinclair/typebox';
import { AppError, invalidField } from '../../../lib/app-error.ts';
import { cutLine, derivedId } from '../../../lib/text.ts';
import { parseTime } from '../../../lib/time.ts';
import { lineOf, listNames, type SourceFile } from '../../../posts/import/files.ts';
import { formatOf, formatOfText, type ImportFormat, importFormats } from '../../../posts/import/records.ts';
import {
  type ImportOptions,
  type ImportPreview,
  type ImportResult,
  importFile,
  previewImport,
} from '../../../posts/import/service.ts';
import { ContentType, contentTypeRules, PostStatus } from '../../../posts/model.ts';
import { formState } from '../../fields.ts';
import { type Answer, get, type MemberVisit, type Page, redirect, upload, view } from '../../page.ts';
import { readMultipart, submit, tooLarge, type UploadKind } from '../../submission.ts';
import { counted, Facts, More } from '../../view/elements.tsx';
import { Field, Form, Hidden, Select, TextArea, Toggle } from '../../view/form.tsx';
import { dateColumn, statusColumn, Table } from '../../view/list.tsx';
import { pack, unpack } from './list.tsx';
import { typeOptions } from './words.tsx';

// Imports posts from a file or a pasted text: a preview, whose form sends the text again, and then the import.

const PATH = '/dashboard/:organizationId/posts/~/import';

const MAX_BYTES = 2 * 1024 * 1024;

const kind: UploadKind = {
  noun: 'file',
  maxBytes: MAX_BYTES,
  // Browsers send each line break of a field as two bytes.
  bodyBytes: 2 * MAX_BYTES,
  advice: 'Split it, or import it on the command line.',
};

/** Their text is read at once, while all other requests wait. */
const MAX_POSTS = 5_000;

/** The field of the preview's form that has the text. */
const PACKED = 'packed';

const MAX_NAME = 200;
const PASTED = 'pasted text';

/** How many posts the preview lists, and how many skipped parts it does not fold. */
const MAX_LISTED = 10;

const ImportForm = Type.Object({
  file: Type.Optional(
    Type.String({
      label: 'File',
      problem: 'Choose a file, or paste its text.',
      hint: 'A changelog or a post in Markdown, a JSON array, or JSON Lines. At most 2 MB.',
    }),
  ),
  text: Type.String({ label: 'Or paste the text' }),
  /** The name of the file that `text` comes from. */
  name: Type.String(),
  status: Type.Union(PostStatus.anyOf, {
    label: 'Status',
    hint: 'For new posts that do not have one.',
    problem: 'Choose a status.',
  }),
  contentType: Type.Union(ContentType.anyOf, {
    label: 'Type',
    hint: 'For new posts that do not have one.',
    problem: 'Choose a type.',
  }),
  format: Type.Optional(
    Type.Union(
      importFormats.map((each) => Type.Literal(each)),
      { label: 'Format' },
    ),
  ),
  date: Type.String({
    label: 'Date',
    inputType: 'date',
    hint: 'For posts that do not have one, such as versions of a changelog.',
  }),
  source: Type.String({
    label: 'Source',
    maxLength: MAX_NAME,
    hint: 'Importing the same source again updates its posts. Default: the name of the file.',
  }),
  /** Of the preview. */
  schedule: Type.Boolean(),
  confirmed: Type.Boolean(),
  /** Show the preview again, with another source. */
  again: Type.Boolean(),
});

const formatNames: Readonly<Record<ImportFormat, string>> = {
  json: 'JSON array',
  jsonl: 'JSON Lines',
  markdown: 'One post in Markdown',
  changelog: 'Changelog',
};

const statusOptions = [
  { value: 'published', label: 'Published' },
  { value: 'draft', label: 'Draft' },
];

export const routes: readonly Page[] = [
  get(PATH, 'member', async (visit) => showForm(visit)),

  upload(PATH, 'member', async (visit) => {
    let filled = visit;
    try {
      filled = { ...visit, form: await readForm(visit) };
    } catch (error) {
      if (!(error instanceof AppError) || !error.isRefusal) throw error;
      return showForm(visit, error);
    }
    return submit(
      filled,
      ImportForm,
      (values) => handle(filled, values),
      (error) => showForm(filled, error),
    );
  }),
];

/** The fields of the form. A file that was chosen replaces the text, and so does the text of a preview. */
async function readForm(visit: MemberVisit): Promise<URLSearchParams> {
  const form = await readMultipart(visit, kind);
  const fields = new URLSearchParams();
  for (const [name, value] of form) if (typeof value === 'string') fields.append(name, value);
  const file = form.get('file');
  if (file instanceof File && file.size > 0) {
    if (file.size > MAX_BYTES) throw tooLarge(kind);
    fields.set('text', readText(await file.bytes()));
    fields.set('name', file.name);
  }
  const packed = fields.get(PACKED);
  if (packed !== null) fields.set('text', await unpack(packed, MAX_BYTES));
  return fields;
}

function readText(bytes: Uint8Array): string {
  const refusal = new AppError(400, 'The file is not UTF-8 text. Save it as UTF-8, then choose it again.');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refusal;
  }
  // Such as a text in UTF-16.
  if (text.includes('\0')) throw refusal;
  return text.replaceAll(/\r\n?/g, '\n');
}

async function handle(visit: MemberVisit, values: Static<typeof ImportForm>): Promise<Answer> {
  const { deps, organization, request, look } = visit;
  const { text, status, contentType, schedule, confirmed, again } = values;
  if (text.trim() === '') throw invalidField('file', 'is missing');
  if (Buffer.byteLength(text) > MAX_BYTES) return showForm(visit, tooLarge(kind));
  const date = values.date === '' ? undefined : parseTime(values.date)?.toISOString();
  if (values.date !== '' && date === undefined)
    throw invalidField('date', 'must be a day, such as 2026-01-31');
  const file: SourceFile = { name: cutLine(values.name, MAX_NAME) || PASTED, text };
  const format = values.format ?? (await formatOf(file)) ?? (await formatOfText(text));
  const options = {
    organizationId: organization.id,
    status,
    contentType,
    date,
    format,
    source: values.source.trim() || sourceOf(file, format),
    scheduleZone: schedule ? look.zone : undefined,
    maxPosts: MAX_POSTS,
    readChangelog: deps.readChangelog,
  };
  if (!confirmed || again) {
    const preview = await previewImport(deps, file, options);
    return preview.problems.length > 0
      ? showForm(visit, preview.problems[0], preview.problems)
      : showPreview(visit, { file, options, preview });
  }
  // A large import pauses between its pieces.
  deps.extendTimeout?.(request);
  return redirect('posts', describeResult(await importFile(deps, file, options)));
}

/** Pasted posts have no name to tell them apart, and the next one must not replace the one before. */
function sourceOf({ name, text }: SourceFile, format: ImportFormat): string {
  return name === PASTED && format === 'markdown'
    ? derivedId('pasted', text.replaceAll(/\s+/g, ' ').trim())
    : name;
}

function showForm(visit: MemberVisit, error?: AppError, problems: readonly AppError[] = []) {
  const { form } = visit;
  const { fields, problem } = formState(ImportForm, form, error);
  const inText = problems.map((each) => ({ id: 'field-text', error: describeProblem(each) }));
  const hasMore = ['format', 'date', 'source'].some((name) => form.get(name));
  const needsMore = problems.some(({ code }) => code === 'undated_version' || code === 'no_posts');
  return view(
    {
      title: 'Import posts',
      error,
      crumbs: [{ to: 'posts', label: 'Posts' }],
      facts: 'From a changelog, another blog, or an export. You see a preview first.',
    },
    <Form
      to="posts/~/import"
      problem={inText.length > 0 ? inText : problem}
      button="Preview import"
      busy="Reading…"
      isUpload
    >
      <Hidden values={[['name', form.get('name') ?? '']]} />
      <Field
        {...fields.file}
        type="file"
        accept=".md,.markdown,.mdx,.json,.jsonl,.ndjson,.txt"
        required={false}
      />
      <TextArea
        {...fields.text}
        error={inText.length > 0 ? 'Correct the text here, or choose the corrected file.' : fields.text.error}
        more={{ class: 'mono', rows: 8, spellcheck: false }}
      />
      <div class="field-pair">
        <Select {...fields.status} options={statusOptions} />
        <Select {...fields.contentType} options={typeOptions} />
      </div>
      <More label="More options" isOpen={hasMore || needsMore || error?.fields.date !== undefined}>
        <div class="stack">
          <Select
            {...fields.format}
            all="Detect from the name and the text"
            options={importFormats.map((value) => ({ value, label: formatNames[value] }))}
          />
          <Field {...fields.date} required={false} />
          <Field {...fields.source} required={false} />
        </div>
      </More>
    </Form>,
  );
}

function describeProblem(error: AppError): string {
  if (error.code === 'no_posts') return 'There are no posts in this text. Another format may fit better.';
  if (error.code === 'too_many_posts')
    return `There are more than ${MAX_POSTS.toLocaleString('en')} posts in this text. Split it, or import it on the command line.`;
  const problem = String(error.details.problem);
  // Such as "is not valid JSON", beside "title must not be empty".
  const separator = /^(is|must) /.test(problem) ? '' : ':';
  const advice = error.code === 'undated_version' ? ', or choose a date below' : '';
  return `Line ${lineOf(error)}${separator} ${problem}${advice}.`;
}

interface Previewed {
  file: SourceFile;
  options: ImportOptions & { format: ImportFormat };
  preview: ImportPreview;
}

/** New ids that are shown. */
const SHOWN_IDS = 5;

function describeNewIds(newIds: [given: string, id: string][]): string | null {
  if (newIds.length === 0) return null;
  const shown = newIds.slice(0, SHOWN_IDS).map(([given, id]) => `${given} → ${id}`);
  const more = newIds.length > SHOWN_IDS ? `, and ${newIds.length - SHOWN_IDS} more` : '';
  return `${counted(newIds.length, 'post')} with another ID than in the file: ${shown.join(', ')}${more}`;
}

async function showPreview(visit: MemberVisit, { file, options, preview }: Previewed) {
  const { base, form } = visit;
  const {
    posts,
    published,
    future,
    schedulable,
    replaced,
    newIds,
    headings,
    skipped,
    unknownFields = [],
  } = preview;
  const [created, updated, unchanged] = (['created', 'updated', 'unchanged'] as const).map(
    (change) => posts.filter((post) => post.change === change).length,
  ) as [number, number, number];
  const written = created + updated;
  const isShort = replaced === 0 && (schedulable === 0 || written === 0);
  const path = `${base}/posts/~/import`;
  const scheduled = written === 0 ? [['schedule', 'on'] as const] : [];
  // The preview detected the format and the name.
  const packed = await pack(file.text);
  const sent = new Map([...form, ['name', file.name], ['format', options.format], [PACKED, packed]] as const);
  for (const name of ['text', 'again', 'confirmed', 'schedule', ...(replaced > 0 ? ['source'] : [])]) {
    sent.delete(name);
  }
  return view(
    {
      title: 'Preview of the import',
      crumbs: [
        { to: 'posts', label: 'Posts' },
        { to: path, label: 'Import posts' },
      ],
      facts:
        written > 0
          ? 'Nothing is imported yet.'
          : `All of these posts exist already, with the same text. ${
              schedulable > 0
                ? `You can schedule ${counted(schedulable, 'draft')} with a date in the future.`
                : 'There is nothing to import.'
            }`,
    },
    <Facts
      facts={[
        ['File', `${file.name} (${formatNames[options.format]})`],
        ['New', created === 0 && posts.length > 0 ? null : counted(created, 'post')],
        [
          'Updated',
          updated === 0
            ? null
            : `${counted(updated, 'post')} that ${updated === 1 ? 'exists' : 'exist'} already`,
        ],
        ['Unchanged', unchanged === 0 ? null : counted(unchanged, 'post')],
        ['Public', published === 0 ? null : `The API will return ${counted(published, 'post')} at once.`],
        ['In the future', future === 0 ? null : describeFuture(future, schedulable > 0)],
        ['Headings', headings === null ? null : `${headings}, of which ${skipped.length} skipped`],
        ['Skipped', skipped.length === 0 ? null : <SkippedParts skipped={skipped} />],
        [
          'Other fields',
          unknownFields.length === 0
            ? null
            : `${listNames(unknownFields)}. The metadata of the posts keeps them.`,
        ],
        ['New IDs', describeNewIds(Object.entries(newIds))],
      ]}
    />,
    written + schedulable !== 0 && (
      <div class={`${isShort ? 'bar' : 'stack'} import-confirm`}>
        <Form
          to={path}
          button={
            written === 0 ? `Schedule ${counted(schedulable, 'post')}` : `Import ${counted(written, 'post')}`
          }
          busy="Importing…"
          layout={isShort ? 'inline' : 'stack'}
          isUpload
        >
          <Hidden values={[...sent, ['confirmed', 'on'], ...scheduled]} />
          {schedulable !== 0 && written !== 0 && (
            <Toggle
              label={`Schedule ${counted(schedulable, 'post')} for ${schedulable === 1 ? 'its date' : 'their dates'}`}
              name="schedule"
              isOn={form.get('schedule') === 'on'}
              hint={`Otherwise ${schedulable === 1 ? 'it stays a draft' : 'they stay drafts'}.`}
            />
          )}
          {replaced !== 0 && (
            <>
              <Field
                label="Source"
                name="source"
                value={form.get('source') ?? ''}
                placeholder={file.name}
                required={false}
                hint={`${counted(replaced, 'post')} of this source ${replaced === 1 ? 'exists' : 'exist'} already. If the file is from another project, enter the project's name to keep their posts apart.`}
              />
              <button type="submit" class="button" name="again" value="on">
                Preview again
              </button>
            </>
          )}
        </Form>
        <a href={path}>Choose another file</a>
      </div>
    ),
    <PreviewedPosts posts={posts} />,
  );
}

/** Each part of the file that is no post. Many are folded: the button to import comes after them. */
function SkippedParts({ skipped }: Pick<ImportPreview, 'skipped'>) {
  const list = (
    <ul>
      {skipped.map((part) => (
        <li>{part}</li>
      ))}
    </ul>
  );
  if (skipped.length <= MAX_LISTED) return list;
  return (
    <details>
      <summary>{counted(skipped.length, 'part')}</summary>
      {list}
    </details>
  );
}

/** Those that the import changes come first. */
function inOrder(posts: ImportPreview['posts']) {
  const isUnchanged = ({ change }: (typeof posts)[number]) => Number(change === 'unchanged');
  return posts.toSorted((one, other) => isUnchanged(one) - isUnchanged(other));
}

const changeNames = { created: 'New', updated: 'Updated', unchanged: 'Unchanged' } as const;

function PreviewedPosts({ posts }: Pick<ImportPreview, 'posts'>) {
  return (
    <>
      <Table
        caption="Posts of the file"
        kind="posts"
        rows={inOrder(posts).slice(0, MAX_LISTED)}
        columns={[
          {
            title: 'Title',
            class: 'title',
            cell: ({ title }) => (
              <span class="ellipsis" title={title}>
                {title}
              </span>
            ),
          },
          { title: 'Change', class: 'short', cell: ({ change }) => changeNames[change] },
          statusColumn,
          {
            title: 'Type',
            class: 'short dim',
            cell: ({ contentType }) => contentTypeRules[contentType].name,
          },
          dateColumn(),
        ]}
      />
      {posts.length > MAX_LISTED && (
        <p class="hint">And {counted(posts.length - MAX_LISTED, 'more post')}.</p>
      )}
    </>
  );
}

function describeFuture(count: number, mayBeScheduled = false): string {
  if (mayBeScheduled)
    return `${counted(count, 'post')}: ${count === 1 ? 'a draft' : 'drafts'}, unless scheduled.`;
  return count === 1
    ? '1 post has a date in the future and stays a draft.'
    : `${count} posts have a date in the future and stay drafts.`;
}

function describeResult({ created, updated, unchanged, future = 0, scheduled = 0 }: ImportResult): string {
  const parts = [
    `Imported ${counted(created + updated, 'post')}: ${created} new, ${updated} updated.`,
    unchanged > 0 && `${counted(unchanged, 'post')} did not change.`,
    scheduled > 0 && `${counted(scheduled, 'post')} ${scheduled === 1 ? 'is' : 'are'} scheduled.`,
    future > 0 && describeFuture(future),
  ];
  return parts.filter(Boolean).join(' ');
}
