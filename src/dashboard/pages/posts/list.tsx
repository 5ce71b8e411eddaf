/** @jsxRuntime automatic @jsxImportSource preact */
import type { Database } from '../../../../db/client.ts';
import type { Post } from '../../../posts/model.ts';
import { originOf } from '../../../posts/origin.ts';
import { type Found, searchPosts } from '../../../posts/search.ts';
import { countDrafts, listPostPage, parsePost, tallyPosts } from '../../../posts/store.ts';
import { get, type Page, view } from '../../page.ts';
import { When } from '../../view/when.tsx';
import { pauseOfAny } from '../integrations/pause.tsx';
import { type Filter, readFilter, selectionOf } from './filter.ts';
import { FilterBar, NoPosts, NothingFits, PageLinks, Summary } from './list-parts.tsx';
import { originWords, StatusTag, typeNames } from './words.tsx';

export const list: readonly Page[] = [
  get('/dashboard/:organizationId/posts', 'member', async (visit) => {
    const { deps, organization, url, base } = visit;
    const { db, clock } = deps;
    const filter = readFilter(url);
    const counts = await countPosts(db, organization.id);
    const found = await findPage(db, organization.id, filter);
    const isEmpty = counts.all === 0;
    return view(
      'Posts',
      <>
        <div class="bar heading">
          <h1 class="grow">Posts</h1>
          <a class={isEmpty ? 'button' : 'button go'} href={`${base}/posts/~/new`}>
            New post
          </a>
        </div>
        {await pauseOfAny(visit)}
        {isEmpty ? (
          <NoPosts base={base} organizationId={organization.id} />
        ) : (
          <>
            <Summary counts={counts} />
            <FilterBar base={base} filter={filter} />
            {found.totalItems === 0 ? (
              <NothingFits base={base} filter={filter} />
            ) : (
              <>
                <Table base={base} posts={found.posts} now={clock.now()} />
                <PageLinks base={base} filter={filter} found={found} />
              </>
            )}
          </>
        )}
      </>,
      { section: 'posts' },
    );
  }),
];

async function countPosts(db: Database, organizationId: string) {
  const selection = selectionOf({ status: null, contentType: null, q: '', page: 1 });
  const { totalItems: all } = await tallyPosts(db, organizationId, selection);
  return { all, drafts: await countDrafts(db, organizationId) };
}

async function findPage(db: Database, organizationId: string, filter: Filter): Promise<Found> {
  const selection = selectionOf(filter);
  if (filter.q !== '') return searchPosts(db, organizationId, filter.q, selection);
  const { posts, totalItems } = await listPostPage(db, organizationId, selection);
  return { posts: posts.map(parsePost), totalItems, isCut: false };
}

function Table({ base, posts, now }: { base: string; posts: readonly Post[]; now: Date }) {
  return (
    <div class="card">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Title</th>
            <th scope="col">From</th>
            <th scope="col" class="end">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {posts.map((post) => (
            <tr>
              <td class="short">
                <StatusTag status={post.status} />
              </td>
              <td>
                <a href={`${base}/posts/${post.id}`}>{post.title}</a>
                <div class="hint">{typeNames[post.contentType]}</div>
              </td>
              <td>{originWords(originOf(post)) ?? <span class="dim">By hand</span>}</td>
              <td class="end dim">
                <When at={post.createdAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
