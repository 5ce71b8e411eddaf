/** @jsxRuntime automatic @jsxImportSource preact */
import { countPosts, type ListedPost, type ListFilter, listPosts } from '../../../posts/list-store.ts';
import { get, type Page, view } from '../../page.ts';
import {
  counted,
  Empty,
  FilterBar,
  Pager,
  SearchField,
  Select,
  Status,
  Table,
  When,
} from '../../view/elements.tsx';
import { PageHead } from '../../view/layout.tsx';
import { addressOf, currentOf, moreOf, readFilter } from './filter.ts';
import { describeOrigin, typeNames, typeOptions } from './origin.ts';
import { ZonedTime } from './publish.tsx';
import { PostSegments } from './segments.tsx';
import { PostSelection } from './selection.tsx';

const PER_PAGE = 25;

const LIST = '/dashboard/:organizationId/posts';

export const routes: readonly Page[] = [
  get(LIST, 'member', async ({ deps, organization, url, base }) => {
    const filter = readFilter(url);
    const { numbers, found } = await deps.db.read(
      async (tx) => ({
        numbers: await countPosts(tx, organization.id),
        found: await listPosts(tx, organization.id, filter, PER_PAGE),
      }),
      { isLong: filter.q !== '' },
    );
    const { all, draft, published, trash } = numbers;
    const facts = `${draft === 0 ? 'No drafts to review' : `${counted(draft, 'draft')} to review`}; ${
      published === 0 ? 'nothing is published yet.' : `${counted(published, 'post')} published.`
    }`;
    return view(
      'Posts',
      <>
        <PageHead
          title="Posts"
          facts={all === 0 ? undefined : facts}
          actions={
            <a class={all === 0 ? 'button' : 'button go'} href={`${base}/posts/~/new`}>
              New post
            </a>
          }
          more={
            <>
              <a href={`${base}/posts/~/import`}>Import posts</a>
              <a href={`${base}/posts/~/export`}>Export posts</a>
              <a href={`${base}/media`}>Images</a>
              <a href={`${base}/posts/~/trash`}>Trash</a>
            </>
          }
        />
        {all + trash === 0 ? null : (
          <PostSegments base={base} numbers={numbers} current={currentOf(filter)} more={moreOf(filter)} />
        )}
        {all === 0 ? (
          <NoPosts base={base} />
        ) : (
          <>
            <Filters base={base} filter={filter} />
            <Posts base={base} filter={filter} found={found} now={deps.clock.now()} />
          </>
        )}
      </>,
      { section: 'posts' },
    );
  }),
];

function Filters({ base, filter }: { base: string; filter: ListFilter }) {
  const { q, status, contentType, hasSuggestion } = filter;
  return (
    <FilterBar path={addressOf(base, { status, hasSuggestion })} isFiltered={contentType !== undefined}>
      {status === undefined ? null : <input type="hidden" name="status" value={status} />}
      {hasSuggestion ? <input type="hidden" name="suggestion" value="1" /> : null}
      <SearchField
        label="Search titles and text"
        name="q"
        value={q}
        clearTo={addressOf(base, { status, contentType, hasSuggestion })}
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
  );
}

const emptyTexts: Readonly<Record<ReturnType<typeof currentOf>, string>> = {
  all: 'No posts match.',
  draft: 'No drafts to review.',
  scheduled: 'No scheduled posts. Open a draft and choose when to publish it.',
  published: 'Nothing is published yet.',
  suggestion: 'No post has a new version or a suggestion.',
};

type ListedPage = Awaited<ReturnType<typeof listPosts>>;

function Posts({
  base,
  filter,
  found,
  now,
}: {
  base: string;
  filter: ListFilter;
  found: ListedPage;
  now: Date;
}) {
  const { posts, totalItems, isCut } = found;
  const { page, q, contentType } = filter;
  if (totalItems === 0) {
    return (
      <Empty drawing="search">
        <p>{q || contentType ? 'No posts match.' : emptyTexts[currentOf(filter)]}</p>
        <a class="button" href={`${base}/posts`}>
          Show all posts
        </a>
      </Empty>
    );
  }
  const pages = Math.max(1, Math.ceil(totalItems / PER_PAGE));
  const to = (target: number) => addressOf(base, { ...filter, page: target });
  const position = `, page ${page.toLocaleString('en')} of ${pages.toLocaleString('en')}`;
  const isByTime = filter.status === 'scheduled' && q === '';
  return (
    <>
      <PostSelection base={base} filter={filter} />
      <Table
        caption={isByTime ? 'Posts, the next one first' : 'Posts, newest first'}
        kind="posts"
        rows={posts}
        selection={{ form: 'selection', valueOf: ({ id }) => id, labelOf: ({ title }) => title }}
        columns={[
          {
            title: 'Status',
            class: 'short',
            cell: ({ status, schedule }) => <Status status={schedule === null ? status : 'scheduled'} />,
          },
          { title: 'Title', class: 'title', cell: (post) => <Title post={post} base={base} /> },
          { title: 'Type', class: 'short dim', cell: ({ contentType }) => typeNames[contentType] },
          {
            title: 'From',
            class: 'from',
            cell: (post) => {
              const origin = describeOrigin(post);
              if (origin === null) return <span class="dim">By hand</span>;
              return (
                <span class="ellipsis" title={origin}>
                  {origin}
                </span>
              );
            },
          },
          {
            title: 'Date',
            class: 'end dim',
            cell: ({ createdAt, schedule }) =>
              schedule === null ? (
                <When at={createdAt} now={now} />
              ) : (
                <ZonedTime schedule={schedule} isShort />
              ),
          },
        ]}
      />
      <Pager
        back={page > 1 ? { to: to(Math.min(page - 1, pages)), label: isByTime ? 'Earlier' : 'Newer' } : null}
        next={page < pages ? { to: to(page + 1), label: isByTime ? 'Later' : 'Older' } : null}
      >
        {isCut
          ? `More than ${counted(totalItems, 'post')} match. These are the newest.`
          : `${counted(totalItems, 'post')}${pages > 1 ? position : ''}`}
      </Pager>
    </>
  );
}

function Title({ post, base }: { post: ListedPost; base: string }) {
  const { id, title, hasNewVersion, suggestedChanges } = post;
  return (
    <>
      <a class="ellipsis" href={`${base}/posts/${id}`} title={title}>
        {title}
      </a>
      {hasNewVersion ? (
        <a class="tag suggested" href={`${base}/posts/${id}#suggestion`}>
          New version
        </a>
      ) : null}
      {suggestedChanges > 0 ? (
        <a class="tag suggested" href={`${base}/posts/${id}#suggestions`}>
          {counted(suggestedChanges, 'suggestion')}
        </a>
      ) : null}
    </>
  );
}

function NoPosts({ base }: { base: string }) {
  return (
    <Empty drawing="posts">
      <p>
        No posts yet. Connect a repository or an issue tracker, choose the events to write about, and the next
        release is your first draft.
      </p>
      <p>
        <a class="button go" href={`${base}/integrations`}>
          Connect an integration
        </a>
      </p>
      <p>
        Or <a href={`${base}/posts/~/new`}>write one yourself</a>, or{' '}
        <a href={`${base}/posts/~/import`}>import posts</a> from a changelog or another blog.
      </p>
    </Empty>
  );
}
