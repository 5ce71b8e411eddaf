import { AppError } from '../../lib/app-error.ts';
import { imageIdsIn, withRelativeMedia } from '../../lib/markdown/media.ts';
import { texts } from '../../lib/markdown/texts.ts';
import { isId } from '../../lib/text.ts';
import { formatMonth } from '../../lib/time.ts';
import { listMediaSizes } from '../../posts/media/store.ts';
import { type Post, PUBLIC_POSTS } from '../../posts/model.ts';
import { findPost } from '../../posts/store.ts';
import { findNeighbors, type PostLine } from './model.ts';
import { Day, renderPage, type Site, siteOf, summaryOf } from './page.tsx';
import type { PublicText, PublicView } from './site.ts';

const MAX_DESCRIPTION = 160;

/** A post of the page. Throws `AppError` 404. */
export async function readPublicPost({ tx, publication }: PublicView, postId: string): Promise<Post> {
  const json = isId(postId) ? await findPost(tx, publication.organizationId, postId, PUBLIC_POSTS) : null;
  if (json === null) throw new AppError(404, 'This post does not exist or is not public');
  return json;
}

export async function renderPost(view: PublicView, publicUrl: string, postId: string): Promise<PublicText> {
  const { tx, publication } = view;
  const post = await readPublicPost(view, postId);
  const site = await siteOf(tx, publication, publicUrl);
  const markdown = withRelativeMedia(post.markdown, publicUrl);
  const neighbors = await findNeighbors(tx, publication.organizationId, post);
  const sizes = await listMediaSizes(tx, imageIdsIn(markdown));
  return async () => {
    const article = { level: 2, hasAnchors: true, sizes: Object.fromEntries(sizes) } as const;
    const html = await texts.html(markdown, { mediaBase: site.mediaBase, article });
    return renderPage(site, {
      title: post.title,
      description: summaryOf(post, MAX_DESCRIPTION),
      path: `/${post.id}`,
      markdownPath: `/${post.id}.md`,
      imagePath: `/${post.id}.png`,
      publishedAt: post.createdAt,
      q: '',
      children: (
        <>
          <article class="post">
            <p class="when">
              <Day at={post.createdAt} />
            </p>
            <h1 dir="auto">{post.title}</h1>
            <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />
          </article>
          <Neighbors site={site} {...neighbors} />
        </>
      ),
    });
  };
}

function Neighbors({
  site,
  newer,
  older,
}: {
  site: Site;
  newer: PostLine | undefined;
  older: PostLine | undefined;
}) {
  return (
    <nav class="neighbors" aria-label="More posts">
      {newer === undefined ? null : (
        <a href={`${site.base}/${newer.id}`} rel="prev">
          <span>Newer</span>
          <strong>
            <bdi>{newer.title}</bdi>
          </strong>
        </a>
      )}
      {older === undefined ? null : (
        <a href={`${site.base}/${older.id}`} rel="next" class="older">
          <span>Older</span>
          <strong>
            <bdi>{older.title}</bdi>
          </strong>
        </a>
      )}
      <a href={site.base} class="all">
        All posts
      </a>
    </nav>
  );
}

export const MAX_MONTHS = 120;

export const pathOfPage = (page: number) => (page === 1 ? '' : `?page=${page}`);

/** Throws `AppError` 404 for a page past the end. */
export function requirePage(page: number, totalPages: number): void {
  if (page <= totalPages) return;
  throw new AppError(404, `Page ${page} does not exist. The last one is ${totalPages}`);
}

/** Links to the pages before and after. `pathOf`: the path of a page after the site's address. */
export function Pager({
  base,
  page,
  totalPages,
  pathOf,
}: {
  base: string;
  page: number;
  totalPages: number;
  pathOf: (page: number) => string;
}) {
  if (totalPages === 1) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {page > 1 ? (
        <a href={base + pathOf(page - 1)} rel="prev">
          Newer posts
        </a>
      ) : (
        <span />
      )}
      <span>
        Page {page} of {totalPages}
      </span>
      {page < totalPages ? (
        <a href={base + pathOf(page + 1)} rel="next">
          Older posts
        </a>
      ) : (
        <span />
      )}
    </nav>
  );
}

export function MonthIndex({
  base,
  months,
  current,
}: {
  base: string;
  months: readonly string[];
  current?: string;
}) {
  const years = Map.groupBy(months, (month) => month.slice(0, 4));
  return (
    <nav class="months" aria-labelledby="archive">
      <h2 id="archive">Archive</h2>
      <dl>
        {[...years].map(([year, ofYear]) => (
          <div>
            <dt>{year}</dt>
            <dd>
              {ofYear.map((month) => (
                <a href={`${base}/archive/${month}`} aria-current={month === current ? 'page' : undefined}>
                  {formatMonth(month).slice(0, 3)}
                  <span class="hidden">{` ${year}`}</span>
                </a>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </nav>
  );
}
