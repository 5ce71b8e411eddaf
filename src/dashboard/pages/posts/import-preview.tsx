import { listNames, type SourceFile } from '../../../posts/import/files.ts';
import type { ImportFormat } from '../../../posts/import/records.ts';
import type { ImportOptions, ImportPreview } from '../../../posts/import/service.ts';
import { contentTypeRules } from '../../../posts/model.ts';
import { type MemberVisit, view } from '../../page.ts';
import { counted, Facts } from '../../view/elements.tsx';
import { Field, Form, Hidden, Toggle } from '../../view/form.tsx';
import { dateColumn, statusColumn, Table } from '../../view/list.tsx';
import { pack } from './list.tsx';

// The posts of a file before they are imported. Its form sends the text again.

export const PACKED = 'packed';

/** How many posts the preview lists, and how many skipped parts it does not fold. */
const MAX_LISTED = 10;

export const formatNames: Readonly<Record<ImportFormat, string>> = {
  json: 'JSON array',
  jsonl: 'JSON Lines',
  markdown: 'One post in Markdown',
  changelog: 'Changelog',
};

interface Previewed {
  file: SourceFile;
  options: ImportOptions & { format: ImportFormat };
  preview: ImportPreview;
}

const SHOWN_IDS = 5;

function describeNewIds(newIds: [given: string, id: string][]): string | null {
  if (newIds.length === 0) return null;
  const shown = newIds.slice(0, SHOWN_IDS).map(([given, id]) => `${given} → ${id}`);
  const more = newIds.length > SHOWN_IDS ? `, and ${newIds.length - SHOWN_IDS} more` : '';
  return `${counted(newIds.length, 'post')} with another ID than in the file: ${shown.join(', ')}${more}`;
}

export async function showPreview(visit: MemberVisit, { file, options, preview }: Previewed) {
  const { base, form } = visit;
  const {
    posts,
    published,
    future,
    schedulable,
    replaced,
    unapproved,
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
        ['New', (created > 0 || posts.length === 0) && counted(created, 'post')],
        [
          'Updated',
          updated > 0 && `${counted(updated, 'post')} that ${updated === 1 ? 'exists' : 'exist'} already`,
        ],
        ['Unchanged', unchanged > 0 && counted(unchanged, 'post')],
        ['Public', published > 0 && `The API will return ${counted(published, 'post')} at once.`],
        ['In the future', future > 0 && describeFuture(future, schedulable > 0)],
        ['Not approved', unapproved > 0 && describeUnapproved(unapproved)],
        ['Headings', headings !== null && `${headings}, of which ${skipped.length} skipped`],
        ['Skipped', skipped.length > 0 && <SkippedParts skipped={skipped} />],
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
            cell: ({ title }) => <span class="ellipsis">{title}</span>,
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

export const describeUnapproved = (count: number): string =>
  `Publishing needs a second person, so ${counted(count, 'post')} ${count === 1 ? 'is not made' : 'are not made'} public: new ones become drafts, and published ones stay as they are.`;

export function describeFuture(count: number, mayBeScheduled = false): string {
  if (mayBeScheduled)
    return `${counted(count, 'post')}: ${count === 1 ? 'a draft' : 'drafts'}, unless scheduled.`;
  return count === 1
    ? '1 post has a date in the future and stays a draft.'
    : `${count} posts have a date in the future and stay drafts.`;
}
