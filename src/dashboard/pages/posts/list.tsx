/** @jsxRuntime automatic @jsxImportSource preact */

import type { Deps } from '../../../deps.ts';
import { tidings } from '../../../lib/build.ts';
import {
  type ContentType,
  contentTypes,
  type PageSelection,
  type Post,
  type PostStatus,
  postStatuses,
} from '../../../posts/model.ts';
import { type Found, searchPosts } from '../../../posts/search.ts';
import { countDrafts, listPostPage, parsePost, tallyPosts } from '../../../posts/store.ts';
import { providers } from '../../../providers/index.ts';
import { get, type MemberVisit, type Page, view } from '../../page.ts';
import { counted, Empty, FilterBar, Pager, Select, Status, Table, When } from '../../view/elements.tsx';
import { pauseOfAny } from '../integrations/pauses.tsx';

/** The displayable part of a post's metadata. */
interface Origin {
  platform: string | null;
  repository: string | null;
  version: string | null;
  author: string | null;
  /** http or https. */
  url: string | null;
  /** The provider's id of the delivery behind the post. */
  deliveryId: string | null;
}

const MAX_LENGTH = 200;
const MAX_URL_LENGTH = 2_000;

/** Leaves out everything but short plain text: metadata is free-form and may come from an import. */
export function originOf({ sourceMetadata }: Pick<Post, 'sourceMetadata'>): Origin {
  const platform = textOf(sourceMetadata, 'platform');
  return {
    platform: providers.find(({ id }) => id === platform)?.name ?? platform,
    repository: textOf(sourceMetadata, 'repository'),
    version: textOf(sourceMetadata, 'version'),
    author: textOf(sourceMetadata, 'author'),
    url: webAddress(sourceMetadata?.url),
    deliveryId: textOf(sourceMetadata, 'deliveryId'),
  };
}

function textOf(metadata: Post['sourceMetadata'], field: string): string | null {
  const value = metadata !== null && Object.hasOwn(metadata, field) ? metadata[field] : null;
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
  return text === ''
    ? null
    : text.length > MAX_LENGTH
      ? `${text.slice(0, MAX_LENGTH).toWellFormed()}…`
      : text;
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

const PER_PAGE = 25;
const MAX_PAGE = 1_000_000;

export const typeNames: Readonly<Record<ContentType, string>> = {
  changelog: 'Changelog',
  linkedin_post: 'LinkedIn post',
};

export const listPages: readonly Page[] = [
  get('/dashboard/:organizationId/posts', 'member', async (visit) => {
    const { deps, organization, url, base } = visit;
    const filter = readFilter(url);
    const { all, drafts } = await countPosts(deps, organization.id);
    return view(
      'Posts',
      <>
        <div class="bar heading">
          <h1 class="grow">Posts</h1>
          <a class={all === 0 ? 'button' : 'button go'} href={`${base}/posts/~/new`}>
            New post
          </a>
        </div>
        {await pauseOfAny(visit)}
        {all === 0 ? (
          <NoPosts base={base} organizationId={organization.id} />
        ) : (
          <>
            <p class="lede">
              {drafts === 0 ? 'No drafts to review' : `${counted(drafts, 'draft')} to review`};{' '}
              {all === drafts ? 'nothing is published yet.' : `${counted(all - drafts, 'post')} published.`}
            </p>
            <Filters base={base} filter={filter} />
            <Posts visit={visit} filter={filter} found={await findPage(deps, organization.id, filter)} />
          </>
        )}
      </>,
      { section: 'posts' },
    );
  }),
];

/** The query of the address. Unknown values filter nothing. */
interface Filter {
  status: PostStatus | null;
  contentType: ContentType | null;
  /** The words to search for; empty for none. */
  q: string;
  page: number;
}

function readFilter({ searchParams }: URL): Filter {
  const page = searchParams.get('page') ?? '';
  return {
    status: postStatuses.find((each) => each === searchParams.get('status')) ?? null,
    contentType: contentTypes.find((each) => each === searchParams.get('contentType')) ?? null,
    q: (searchParams.get('q') ?? '').trim(),
    page: /^[1-9]\d{0,6}$/.test(page) ? Math.min(Number(page), MAX_PAGE) : 1,
  };
}

function isFiltered({ status, contentType, q }: Filter): boolean {
  return status !== null || contentType !== null || q !== '';
}

function listAddress(base: string, { status, contentType, q, page }: Filter): string {
  const query = new URLSearchParams();
  if (status !== null) query.set('status', status);
  if (contentType !== null) query.set('contentType', contentType);
  if (q !== '') query.set('q', q);
  if (page > 1) query.set('page', String(page));
  return query.size === 0 ? `${base}/posts` : `${base}/posts?${query}`;
}

async function countPosts({ db }: Deps, organizationId: string) {
  const everything = { statuses: [...postStatuses], contentTypes: [...contentTypes] };
  const { totalItems: all } = await tallyPosts(db, organizationId, everything);
  return { all, drafts: await countDrafts(db, organizationId) };
}

async function findPage({ db }: Deps, organizationId: string, filter: Filter): Promise<Found> {
  const { status, contentType, q, page } = filter;
  const selection: PageSelection = {
    statuses: status === null ? [...postStatuses] : [status],
    contentTypes: contentType === null ? [...contentTypes] : [contentType],
    limit: PER_PAGE,
    page,
    sort: 'desc',
  };
  if (q !== '') return searchPosts(db, organizationId, q, selection);
  const { posts, totalItems } = await listPostPage(db, organizationId, selection);
  return { posts: posts.map(parsePost), totalItems, isCut: false };
}

function Filters({ base, filter: { q, status, contentType }, filter }: { base: string; filter: Filter }) {
  return (
    <FilterBar path={`${base}/posts`} isFiltered={isFiltered(filter)}>
      <div class="field grow search">
        <label for="field-q" class="hidden">
          Search
        </label>
        <input
          id="field-q"
          name="q"
          type="search"
          value={q}
          maxLength={200}
          placeholder="Search titles and text"
        />
      </div>
      <Select
        label="Status"
        name="status"
        isLabelHidden
        value={status ?? ''}
        options={[
          { value: '', label: 'All statuses' },
          { value: 'draft', label: 'Draft' },
          { value: 'published', label: 'Published' },
        ]}
      />
      <Select
        label="Type"
        name="contentType"
        isLabelHidden
        value={contentType ?? ''}
        options={[
          { value: '', label: 'All types' },
          ...contentTypes.map((value) => ({ value, label: typeNames[value] })),
        ]}
      />
    </FilterBar>
  );
}

function Posts({
  visit: { base, deps },
  filter,
  found: { posts, totalItems, isCut },
}: {
  visit: MemberVisit;
  filter: Filter;
  found: Found;
}) {
  if (totalItems === 0) return <NoMatch base={base} filter={filter} />;
  const now = deps.clock.now();
  const { page } = filter;
  const pages = Math.max(1, Math.ceil(totalItems / PER_PAGE));
  const to = (target: number) => listAddress(base, { ...filter, page: target });
  return (
    <>
      <Table
        caption="Posts, newest first"
        rows={posts}
        columns={[
          { title: 'Status', class: 'short', cell: ({ status }) => <Status status={status} /> },
          {
            title: 'Title',
            cell: ({ id, title, contentType }) => (
              <>
                <a href={`${base}/posts/${id}`}>{title}</a>
                <div class="hint">{typeNames[contentType]}</div>
              </>
            ),
          },
          {
            title: 'From',
            cell: (post) => originWords(originOf(post)) ?? <span class="dim">By hand</span>,
          },
          { title: 'Created', class: 'end dim', cell: ({ createdAt }) => <When at={createdAt} now={now} /> },
        ]}
      />
      <Pager
        back={page > 1 ? { to: to(Math.min(page - 1, pages)), label: '← Newer' } : null}
        next={page < pages ? { to: to(page + 1), label: 'Older →' } : null}
      >
        {isCut
          ? `More than ${counted(totalItems, 'post')} match. These are the newest.`
          : `${counted(totalItems, 'post')}${pages > 1 ? `, page ${page.toLocaleString('en')} of ${pages.toLocaleString('en')}` : ''}`}
      </Pager>
    </>
  );
}

function NoMatch({ base, filter: { q, status, contentType } }: { base: string; filter: Filter }) {
  const words = q.length > 100 ? `${q.slice(0, 100).toWellFormed()}…` : q;
  const filters = status === null && contentType === null ? '' : ' with these filters';
  return (
    <Empty>
      <p>{q === '' ? `There is no post${filters}.` : `No post contains “${words}”${filters}.`}</p>
      <a class="button" href={`${base}/posts`}>
        Show all posts
      </a>
    </Empty>
  );
}

function NoPosts({ base, organizationId }: { base: string; organizationId: string }) {
  return (
    <>
      <p class="lede">What your team ships becomes a draft here, for you to edit and publish.</p>
      <Empty>
        <p>
          No posts yet. Connect a repository or an issue tracker, choose the events to write about, and the
          next release is your first draft.
        </p>
        <p>
          <a class="button go" href={`${base}/integrations`}>
            Connect an integration
          </a>
        </p>
        <p>
          Or <a href={`${base}/posts/~/new`}>write one yourself</a>, or import your changelog on the command
          line:
        </p>
        <p>
          <code>{`${tidings} post import --organization ${organizationId} CHANGELOG.md`}</code>
        </p>
      </Empty>
    </>
  );
}

/** The origin of a post, such as `2.4.0 of acme/rocket`; null when it is unknown. */
export function originWords({ platform, repository, version }: Origin): string | null {
  const source =
    version !== null && repository !== null ? `${version} of ${repository}` : (version ?? repository);
  if (source === null) return platform;
  return platform === null ? source : `${source} on ${platform}`;
}
