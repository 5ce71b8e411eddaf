import { type Static, Type } from '@sinclair/typebox';
import { AppError, invalidField } from '../../../lib/app-error.ts';
import { cutLine, derivedId } from '../../../lib/text.ts';
import { parseTime } from '../../../lib/time.ts';
import { lineOf, type SourceFile } from '../../../posts/import/files.ts';
import { formatOf, formatOfText, type ImportFormat, importFormats } from '../../../posts/import/records.ts';
import { type ImportResult, importFile, previewImport } from '../../../posts/import/service.ts';
import { ContentType, PostStatus } from '../../../posts/model.ts';
import { choiceOf } from '../../fields.ts';
import { type Answer, get, type MemberVisit, type Page, redirect, upload, view } from '../../page.ts';
import { readMultipart, submit, tooLarge, type UploadKind } from '../../submission.ts';
import { counted, More } from '../../view/elements.tsx';
import { Field, FormOf, Select, TextArea } from '../../view/form.tsx';
import { describeFuture, describeUnapproved, formatNames, PACKED, showPreview } from './import-preview.tsx';
import { unpack } from './list.tsx';
import { statusOptions, typeOptions } from './words.tsx';

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

const MAX_NAME = 200;
const PASTED = 'pasted text';

const ImportForm = Type.Object({
  file: Type.Optional(
    Type.String({
      label: 'File',
      problem: 'Choose a file, or paste its text.',
      inputType: 'file',
      accept: '.md,.markdown,.mdx,.json,.jsonl,.ndjson,.txt',
      isOptional: true,
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
  format: Type.Optional(choiceOf(importFormats, { label: 'Format' })),
  date: Type.String({
    label: 'Date',
    inputType: 'date',
    isOptional: true,
    hint: 'For posts that do not have one, such as versions of a changelog.',
  }),
  source: Type.String({
    label: 'Source',
    isOptional: true,
    maxLength: MAX_NAME,
    hint: 'Importing the same source again updates its posts. Default: the name of the file.',
  }),
  schedule: Type.Boolean(),
  confirmed: Type.Boolean(),
  /** Show the preview again, with another source. */
  again: Type.Boolean(),
});

export const routes: readonly Page[] = [
  get(PATH, 'member', async (visit) => showForm(visit)),

  upload(PATH, 'publisher', async (visit) => {
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

function showForm({ form }: MemberVisit, error?: AppError, problems: readonly AppError[] = []) {
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
    <FormOf
      schema={ImportForm}
      values={form}
      hidden={{ name: form.get('name') ?? '' }}
      {...{ error, to: 'posts/~/import', button: 'Preview import', busy: 'Reading…', isUpload: true }}
      {...(inText.length > 0 && { problem: inText })}
      arrange={(fields) => (
        <>
          <Field {...fields.file} />
          <TextArea
            {...fields.text}
            error={
              inText.length > 0 ? 'Correct the text here, or choose the corrected file.' : fields.text.error
            }
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
              <Field {...fields.date} />
              <Field {...fields.source} />
            </div>
          </More>
        </>
      )}
    />,
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

function describeResult({
  created,
  updated,
  unchanged,
  future = 0,
  scheduled = 0,
  unapproved = 0,
}: ImportResult): string {
  const parts = [
    `Imported ${counted(created + updated, 'post')}: ${created} new, ${updated} updated.`,
    unchanged > 0 && `${counted(unchanged, 'post')} did not change.`,
    scheduled > 0 && `${counted(scheduled, 'post')} ${scheduled === 1 ? 'is' : 'are'} scheduled.`,
    future > 0 && describeFuture(future),
    unapproved > 0 && describeUnapproved(unapproved),
  ];
  return parts.filter(Boolean).join(' ');
}
