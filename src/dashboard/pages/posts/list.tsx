import { promisify } from 'node:util';
import { deflateRaw, inflateRaw, type ZlibOptions } from 'node:zlib';
import { Type } from '@sinclair/typebox';
import type { ReadTx } from '../../../../db/engine.ts';
import { AppError } from '../../../lib/app-error.ts';
import {
  countPosts,
  type ListedPost,
  type ListFilter,
  listedStatuses,
  listPosts,
} from '../../../posts/list-store.ts';
import { contentTypeRules, contentTypes } from '../../../posts/model.ts';
import { type BulkAction, type BulkResult, bulkActions, changePosts } from '../../../posts/service.ts';
import { choiceOf, readFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { Clock, counted, Link, LinkButton, Status, useVisit, When } from '../../view/elements.tsx';
import { Form, Select } from '../../view/form.tsx';
import { Empty, FilterBar, Pager, pageIn, SearchField, SelectionBar, Table } from '../../view/list.tsx';
import { restorePath } from './trash.tsx';
import { nameOrigin, PostSegments, typeOptions } from './words.tsx';

const LIST = '/dashboard/:organizationId/posts';
const PER_PAGE = 25;

/** The filter of the list in its address. Unknown values filter nothing. */
function readFilter(query: URLSearchParams): ListFilter {
  return {
    status: listedStatuses.find((each) => each === query.get('status')),
    contentType: contentTypes.find((each) => each === query.get('contentType')),
    hasSuggestion: query.get('suggestion') === '1',
    needsReview: query.get('approval') === '1',
    q: query.get('q')?.trim() ?? '',
    page: pageIn(query),
  };
}

function queryOf(filter: Partial<ListFilter>): string {
  const { status, contentType, hasSuggestion, needsReview, q, page } = filter;
  const query = new URLSearchParams();
  const suggestion = hasSuggestion ? '1' : '';
  const approval = needsReview ? '1' : '';
  const given = { status, contentType, suggestion, approval, q, page: (page ?? 1) > 1 ? String(page) : '' };
  for (const [name, value] of Object.entries(given)) if (value) query.set(name, value);
  return query.size === 0 ? '' : `?${query}`;
}

const addressOf = (filter: Partial<ListFilter>) => `posts${queryOf(filter)}`;

function currentOf({ status, hasSuggestion, needsReview }: ListFilter) {
  if (needsReview) return 'approval';
  return hasSuggestion ? 'suggestion' : (status ?? 'all');
}

export const routes: readonly Page[] = [
  get(LIST, 'member', showPosts),

  post(`${LIST}/~/selected`, 'member', async (visit) => {
    const { deps, organization, form } = visit;
    const { selected, action, back, all } = readFields(SelectionForm, form);
    if (action === undefined) throw new AppError(400, 'Choose what to do with the selected posts.');
    const filter = readFilter(new URLSearchParams(back.slice(0, 1_000)));
    const to = addressOf(filter);
    if (selected.length === 0) return redirect(to, 'Select posts first.');
    const versions = new Map(selected.map(readSelected));
    const ids = all === undefined ? versions.keys() : await listMatching(visit, filter);
    // Nobody looked at the rows of other pages: they must be as they were when this one was opened.
    const result = await changePosts(deps, organization.id, [...ids], action, (post) =>
      all === undefined || versions.has(post.id)
        ? [undefined, versionOf(post)].includes(versions.get(post.id))
        : post.updatedAt <= all,
    );
    const undo = action === 'delete' ? restorePath(visit, result.changed) : undefined;
    return redirect(to, describeBulk(action, result), undo);
  }),
];

const MAX_MATCHING = 1_000;
const READ_AT_ONCE = 100;

/** The ids of the posts on all pages of a list, the newest. */
async function listMatching({ deps, organization }: MemberVisit, filter: ListFilter): Promise<string[]> {
  const read = async (tx: ReadTx) => {
    const ids: string[] = [];
    // Posts come with their texts: not all at once.
    for (let page = 1; page <= MAX_MATCHING / READ_AT_ONCE; page++) {
      const { posts } = await listPosts(tx, organization.id, { ...filter, page }, READ_AT_ONCE);
      ids.push(...posts.map(({ id }) => id));
      if (posts.length < READ_AT_ONCE) break;
    }
    return ids;
  };
  return deps.db.read(read, { isLong: true });
}

/** `back`: the query of the list. `all`: also the posts of its other pages, and when the page was opened. */
const SelectionForm = Type.Object({
  selected: Type.Array(Type.String()),
  action: Type.Optional(choiceOf(bulkActions, {})),
  back: Type.String(),
  all: Type.Optional(Type.String()),
});

const done: Readonly<Record<BulkAction, [past: string, state: string]>> = {
  publish: ['Published', 'published already'],
  unpublish: ['Unpublished', 'drafts already'],
  delete: ['Deleted', ''],
};

export function describeBulk(
  action: BulkAction,
  { changed, unchanged, missing, withoutText, unseen, unapproved }: BulkResult,
): string {
  const [past, state] = done[action];
  const parts = [
    `${past} ${counted(changed.length, 'post')}.`,
    unchanged > 0 && `${counted(unchanged, 'post')}: ${state}.`,
    missing > 0 && `${counted(missing, 'post')}: deleted in the meantime.`,
    withoutText > 0 && `${counted(withoutText, 'post')} without text: open it to publish it anyway.`,
    unapproved > 0 && `${counted(unapproved, 'post')}: not approved. Open it and ask for approval.`,
    unseen > 0 &&
      `${counted(unseen, 'post')}: changed after you opened the page. Look at ${unseen === 1 ? 'it' : 'them'} first.`,
    action === 'delete' && 'Deleted posts stay in the trash for 30 days.',
  ];
  return parts.filter(Boolean).join(' ');
}

/** The version of a post in the list, which has 25: its time, as short as it can be. */
const versionOf = ({ updatedAt }: Pick<ListedPost, 'updatedAt'>) => Date.parse(updatedAt).toString(36);

/** The value of a selected row: the id, and the version of the post that the list shows. */
const selectedAs = (post: ListedPost) => `${post.id} ${versionOf(post)}`;

function readSelected(value: string): [id: string, version: string | undefined] {
  const [id = '', version] = value.split(' ', 2);
  return [id, version];
}

const selectionLabels: Readonly<Record<BulkAction, string>> = {
  publish: 'Publish posts',
  unpublish: 'Unpublish posts',
  delete: 'Delete posts',
};

async function showPosts({ deps, organization, url, mayPublish }: MemberVisit) {
  const filter = readFilter(url.searchParams);
  const { q, status, contentType, hasSuggestion, needsReview } = filter;
  const { numbers, found } = await deps.db.read(
    async (tx) => ({
      numbers: await countPosts(tx, organization.id),
      found: await listPosts(tx, organization.id, filter, PER_PAGE),
    }),
    { isLong: q !== '' },
  );
  const { all, draft, published, trash } = numbers;
  const facts = `${draft === 0 ? 'No drafts to review' : `${counted(draft, 'draft')} to review`}; ${
    published === 0 ? 'nothing is published yet.' : `${counted(published, 'post')} published.`
  }`;
  return view(
    {
      title: 'Posts',
      facts: all === 0 ? undefined : facts,
      actions: <LinkButton to="posts/~/new" label="New post" kind={all === 0 ? undefined : 'go'} />,
      more: (
        <>
          {mayPublish && <Link to="posts/~/import">Import posts</Link>}
          <Link to="posts/~/export">Export posts</Link>
          <Link to="media">Images</Link>
          <Link to="posts/~/trash">Trash</Link>
        </>
      ),
    },
    all + trash > 0 && (
      <PostSegments
        numbers={numbers}
        current={currentOf(filter)}
        // The part of the filter that stays in another list.
        more={queryOf({ contentType, q }).slice(1)}
      />
    ),
    all === 0 ? (
      <NoPosts />
    ) : (
      <>
        <FilterBar
          path={addressOf({ status, hasSuggestion, needsReview })}
          isFiltered={contentType !== undefined}
        >
          {status !== undefined && <input type="hidden" name="status" value={status} />}
          {hasSuggestion && <input type="hidden" name="suggestion" value="1" />}
          {needsReview && <input type="hidden" name="approval" value="1" />}
          <SearchField
            label="Search titles and text"
            value={q}
            clearTo={addressOf({ status, contentType, hasSuggestion, needsReview })}
          />
          <Select
            label="Type"
            name="contentType"
            isLabelHidden
            all="All types"
            value={contentType}
            options={typeOptions}
          />
        </FilterBar>
        <Posts filter={filter} found={found} />
      </>
    ),
  );
}

const emptyTexts: Readonly<Record<ReturnType<typeof currentOf>, string>> = {
  all: 'No posts match.',
  draft: 'No drafts to review.',
  scheduled: 'No scheduled posts. Open a draft and choose when to publish it.',
  published: 'Nothing is published yet.',
  suggestion: 'No post has a suggestion.',
  approval: 'No post waits for approval.',
};

function Posts(props: { filter: ListFilter; found: Awaited<ReturnType<typeof listPosts>> }) {
  const { filter } = props;
  const { now } = useVisit();
  const { posts, totalItems, isCut } = props.found;
  const { page, q, contentType } = filter;
  if (totalItems === 0) {
    return (
      <Empty drawing="search">
        <p>{q || contentType ? 'No posts match.' : emptyTexts[currentOf(filter)]}</p>
        <LinkButton to="posts" label="Show all posts" />
      </Empty>
    );
  }
  const pages = Math.max(1, Math.ceil(totalItems / PER_PAGE));
  const to = (target: number) => addressOf({ ...filter, page: target });
  const position = `, page ${page.toLocaleString('en')} of ${pages.toLocaleString('en')}`;
  const isByTime = filter.status === 'scheduled' && q === '';
  return (
    <>
      <SelectionBar id="selection" to="posts/~/selected">
        <input type="hidden" name="back" value={queryOf(filter)} />
        {totalItems > posts.length && (
          <label class="check" data-all-matching>
            <input type="checkbox" name="all" value={now.toISOString()} />
            {totalItems > MAX_MATCHING
              ? `The newest ${counted(MAX_MATCHING, 'post')}`
              : `All ${counted(totalItems, 'post')}`}
          </label>
        )}
        {bulkActions.map((action) => (
          <button
            type="submit"
            name="action"
            value={action}
            class={action === 'delete' ? 'button bad' : 'button'}
          >
            {selectionLabels[action]}
          </button>
        ))}
      </SelectionBar>
      <Table
        caption={isByTime ? 'Posts, the next one first' : 'Posts, newest first'}
        kind="posts"
        rows={posts}
        selection={{ form: 'selection', valueOf: selectedAs, labelOf: ({ title }) => title }}
        columns={[
          {
            title: 'Status',
            class: 'short',
            cell: ({ status, schedule }) => <Status status={schedule === null ? status : 'scheduled'} />,
          },
          { title: 'Title', class: 'title', cell: (post) => <Title post={post} /> },
          {
            title: 'Type',
            class: 'short dim',
            cell: ({ contentType }) => contentTypeRules[contentType].name,
          },
          {
            title: 'From',
            class: 'from',
            cell: (post) => {
              const origin = nameOrigin(post);
              if (origin === null) return <span class="dim">By hand</span>;
              return <span class="ellipsis">{origin}</span>;
            },
          },
          {
            title: 'Date',
            class: 'end dim',
            cell: ({ createdAt, schedule }) =>
              schedule === null ? <When at={createdAt} /> : <Clock at={schedule.publishAt} />,
          },
        ]}
      />
      <Pager
        back={page > 1 && { to: to(Math.min(page - 1, pages)), label: isByTime ? 'Earlier' : 'Newer' }}
        next={page < pages && { to: to(page + 1), label: isByTime ? 'Later' : 'Older' }}
      >
        {isCut
          ? `More than ${counted(totalItems, 'post')} match. These are the newest.`
          : `${counted(totalItems, 'post')}${pages > 1 ? position : ''}`}
      </Pager>
    </>
  );
}

function Title({ post: { id, title, hasNewVersion, suggestedChanges, needsReview } }: { post: ListedPost }) {
  const waiting = suggestedChanges + (hasNewVersion ? 1 : 0);
  return (
    <>
      <Link class="ellipsis" to={`posts/${id}`}>
        {title}
      </Link>
      {needsReview && (
        <Link class="tag suggested" to={`posts/${id}/approval`}>
          Waits for approval
        </Link>
      )}
      {waiting > 0 && (
        <Link class="tag suggested" to={`posts/${id}#${hasNewVersion ? 'suggestion' : 'suggestions'}`}>
          {counted(waiting, 'suggestion')}
        </Link>
      )}
    </>
  );
}

function NoPosts() {
  const { isOwner } = useVisit();
  return (
    <Empty drawing="posts">
      <p>
        No posts yet.
        {isOwner &&
          ' Enter a public repository by name, and its past releases become drafts. No token and no webhook are needed.'}
      </p>
      {isOwner && (
        <Form isGet to="import" button="Import by repository name" layout="bar">
          <input
            name="repository"
            required
            maxlength={200}
            placeholder="acme/rocket"
            aria-label="Repository, such as acme/rocket"
          />
        </Form>
      )}
      <p>
        {isOwner ? (
          <>
            Or <Link to="integrations">connect an integration</Link> to draft the next release,
          </>
        ) : (
          <>
            An owner can connect an <Link to="integrations">integration</Link>. You can
          </>
        )}{' '}
        <Link to="posts/~/new">write a post yourself</Link> or <Link to="posts/~/import">import posts</Link>{' '}
        from a changelog or another blog.
      </p>
    </Empty>
  );
}

// A long text in a hidden field, for a form that sends it back: compressed, so that it is written into the page, sent and
// read again in a fraction of the time. Threads do the work.

const deflate = promisify<Uint8Array, ZlibOptions, Buffer>(deflateRaw);
const inflate = promisify<Uint8Array, ZlibOptions, Buffer>(inflateRaw);

export async function pack(text: string): Promise<string> {
  return (await deflate(Buffer.from(text), { level: 1 })).toString('base64url');
}

/** The inverse. Throws `AppError` 400 for anything else, and for a text of more bytes. */
export async function unpack(packed: string, maxBytes: number): Promise<string> {
  try {
    const bytes = await inflate(Buffer.from(packed, 'base64url'), { maxOutputLength: maxBytes });
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new AppError(400, 'The text of the preview is incomplete. Choose the file again.', { cause });
  }
}
