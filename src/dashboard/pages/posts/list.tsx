/** @jsxRuntime automatic @jsxImportSource preact */

import type { ReadTx } from '../../../../db/engine.ts';
import { tidings } from '../../../lib/build.ts';
import { type ContentType, contentTypes, type Post, postStatuses } from '../../../posts/model.ts';
import { type Found, searchPosts } from '../../../posts/search.ts';
import { countDrafts, listPostPage, parsePost, tallyPosts } from '../../../posts/store.ts';
import { providers } from '../../../providers/index.ts';
import { get, type Page, view } from '../../page.ts';
import { counted, Empty, FilterBar, Pager, Select, Status, Table, When } from '../../view/elements.tsx';

const MAX_LENGTH = 200;
const MAX_URL_LENGTH = 2_000;

/**
 * The displayable part of a post's metadata, which is free-form and may come from an import: short plain text, an http
 * or https URL, and the provider's id of the delivery behind the post.
 */
export function originOf({ sourceMetadata }: Pick<Post, 'sourceMetadata'>) {
  const { platform, repository, version, author, url, deliveryId } = sourceMetadata ?? {};
  return {
    platform: providers.find(({ id }) => id === platform)?.name ?? textOf(platform),
    repository: textOf(repository),
    version: textOf(version),
    author: textOf(author),
    url: webAddress(url),
    deliveryId: textOf(deliveryId),
  };
}

function textOf(value: unknown): string | null {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH).toWellFormed()}…` : text || null;
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

export const typeNames: Readonly<Record<ContentType, string>> = {
  changelog: 'Changelog',
  linkedin_post: 'LinkedIn post',
};

export const typeOptions = contentTypes.map((value) => ({ value, label: typeNames[value] }));

const statusOptions = [
  { value: 'draft', label: 'Draft' },
  { value: 'published', label: 'Published' },
];

const PER_PAGE = 25;

export const listPages: readonly Page[] = [
  get('/dashboard/:organizationId/posts', 'member', async ({ deps, organization, url, base }) => {
    const filter = readFilter(url);
    const { all, drafts, found } = await deps.db.read(async (tx) => ({
      all: (await tallyPosts(tx, organization.id, everything)).totalItems,
      drafts: await countDrafts(tx, organization.id),
      found: await findPage(tx, organization.id, filter),
    }));
    return view(
      'Posts',
      <>
        <div class="bar heading">
          <h1 class="grow">Posts</h1>
          <a class={all === 0 ? 'button' : 'button go'} href={`${base}/posts/~/new`}>
            New post
          </a>
        </div>
        {all === 0 ? (
          <NoPosts base={base} organizationId={organization.id} />
        ) : (
          <>
            <p class="lede">
              {drafts === 0 ? 'No drafts to review' : `${counted(drafts, 'draft')} to review`};{' '}
              {all === drafts ? 'nothing is published yet.' : `${counted(all - drafts, 'post')} published.`}
            </p>
            <Filters base={base} filter={filter} />
            <Posts base={base} filter={filter} found={found} now={deps.clock.now()} />
          </>
        )}
      </>,
      { section: 'posts' },
    );
  }),
];

type Filter = ReturnType<typeof readFilter>;

/** The query of the address. Unknown values filter nothing. */
function readFilter({ searchParams }: URL) {
  const page = searchParams.get('page') ?? '';
  return {
    status: postStatuses.find((each) => each === searchParams.get('status')),
    contentType: contentTypes.find((each) => each === searchParams.get('contentType')),
    q: searchParams.get('q')?.trim() ?? '',
    page: /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
  };
}

/** The inverse. */
function addressOf(base: string, { status, contentType, q, page }: Filter): string {
  const query = new URLSearchParams();
  const given = { status, contentType, q, page: page > 1 ? String(page) : '' };
  for (const [name, value] of Object.entries(given)) if (value) query.set(name, value);
  return `${base}/posts${query.size === 0 ? '' : `?${query}`}`;
}

const everything = { statuses: [...postStatuses], contentTypes: [...contentTypes] };

async function findPage(tx: ReadTx, organizationId: string, filter: Filter): Promise<Found> {
  const { status, contentType, q, page } = filter;
  const selection = {
    statuses: status ? [status] : everything.statuses,
    contentTypes: contentType ? [contentType] : everything.contentTypes,
    limit: PER_PAGE,
    page,
    sort: 'desc' as const,
  };
  if (q !== '') return searchPosts(tx, organizationId, q, selection);
  const { posts, totalItems } = await listPostPage(tx, organizationId, selection);
  return { posts: posts.map(parsePost), totalItems, isCut: false };
}

function Filters({ base, filter: { q, status, contentType } }: { base: string; filter: Filter }) {
  return (
    <FilterBar path={`${base}/posts`} isFiltered={Boolean(status ?? contentType ?? q)}>
      <div class="field grow search">
        <label for="field-q" class="hidden">
          Search
        </label>
        <input id="field-q" name="q" type="search" value={q} placeholder="Search titles and text" />
      </div>
      <Select
        label="Status"
        name="status"
        isLabelHidden
        all="All statuses"
        value={status}
        options={statusOptions}
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

function Posts({ base, filter, found, now }: { base: string; filter: Filter; found: Found; now: Date }) {
  const { posts, totalItems, isCut } = found;
  const { page } = filter;
  if (totalItems === 0) {
    return (
      <Empty drawing="search">
        <p>No posts match.</p>
        <a class="button" href={`${base}/posts`}>
          Show all posts
        </a>
      </Empty>
    );
  }
  const pages = Math.max(1, Math.ceil(totalItems / PER_PAGE));
  const to = (target: number) => addressOf(base, { ...filter, page: target });
  const position = `, page ${page.toLocaleString('en')} of ${pages.toLocaleString('en')}`;
  return (
    <>
      <Table
        caption="Posts, newest first"
        rows={posts}
        columns={[
          { title: 'Status', class: 'short', cell: ({ status }) => <Status status={status} /> },
          {
            title: 'Title',
            fullText: ({ title }) => title,
            cell: ({ id, title, contentType }) => (
              <>
                <a href={`${base}/posts/${id}`}>{title}</a>
                <div class="hint">{typeNames[contentType]}</div>
              </>
            ),
          },
          { title: 'From', cell: (post) => describeOrigin(post) ?? <span class="dim">By hand</span> },
          { title: 'Created', class: 'end dim', cell: ({ createdAt }) => <When at={createdAt} now={now} /> },
        ]}
      />
      <Pager
        back={page > 1 ? { to: to(Math.min(page - 1, pages)), label: '← Newer' } : null}
        next={page < pages ? { to: to(page + 1), label: 'Older →' } : null}
      >
        {isCut
          ? `More than ${counted(totalItems, 'post')} match. These are the newest.`
          : `${counted(totalItems, 'post')}${pages > 1 ? position : ''}`}
      </Pager>
    </>
  );
}

function NoPosts({ base, organizationId }: { base: string; organizationId: string }) {
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
        Or <a href={`${base}/posts/~/new`}>write one yourself</a>, or import your changelog on the command
        line:
      </p>
      <p>
        <code>{`${tidings} post import --organization ${organizationId} CHANGELOG.md`}</code>
      </p>
    </Empty>
  );
}

/** The origin of a post, such as `2.4.0 of acme/rocket`; null when it is unknown. */
export function describeOrigin(post: Pick<Post, 'sourceMetadata'>): string | null {
  const { platform, repository, version } = originOf(post);
  const source = [version, repository].filter((each) => each !== null).join(' of ');
  return [source, platform].filter(Boolean).join(' on ') || null;
}
