import type { ReadTx } from '../../../db/engine.ts';
import { AppError } from '../../lib/app-error.ts';
import { imageIdsIn, withRelativeMedia } from '../../lib/markdown/media.ts';
import { excerptOf } from '../../lib/markdown/outline.ts';
import { texts } from '../../lib/markdown/texts.ts';
import { formatMonth, letOthersIn } from '../../lib/time.ts';
import { type Found, searchPosts } from '../../posts/list-store.ts';
import { listMediaSizes } from '../../posts/media/store.ts';
import { type Post, PUBLIC_POSTS } from '../../posts/model.ts';
import { listPostPage } from '../../posts/store.ts';
import { countMonth, listLines, listMonths } from './model.ts';
import { Day, MAX_QUERY_LENGTH, renderPage, type Site, siteOf, summaryOf } from './page.tsx';
import { MAX_MONTHS, MonthIndex, Pager, pathOfPage, requirePage } from './post-page.tsx';
import type { PublicText, PublicView } from './site.ts';

// The newest posts, page by page, and the results of a search.

const POSTS_PER_PAGE = 10;

/** A longer post is cut here in the list, in characters of Markdown. */
const MAX_EXCERPT = 1_600;

export async function readListPage({ tx, publication, totalItems }: PublicView, page: number) {
  const totalPages = Math.max(1, Math.ceil(totalItems / POSTS_PER_PAGE));
  requirePage(page, totalPages);
  const selection = { ...PUBLIC_POSTS, limit: POSTS_PER_PAGE, page, sort: 'desc' as const };
  const { posts } = await listPostPage(tx, publication.organizationId, selection);
  return { posts, totalPages };
}

export async function renderList(view: PublicView, publicUrl: string, page: number): Promise<PublicText> {
  const { tx, publication } = view;
  const site = await siteOf(tx, publication, publicUrl);
  const { posts, totalPages } = await readListPage(view, page);
  const months = page === 1 ? await listMonths(tx, publication.organizationId, MAX_MONTHS) : [];
  const shown = posts.map(({ markdown }) => {
    const whole = withRelativeMedia(markdown, publicUrl);
    const excerpt = excerptOf(whole, MAX_EXCERPT);
    return { markdown: excerpt ?? whole, isCut: excerpt !== null };
  });
  const sizes = await listMediaSizes(
    tx,
    shown.flatMap(({ markdown }) => imageIdsIn(markdown)),
  );
  return async () => {
    const article = { level: 3, hasAnchors: false, sizes: Object.fromEntries(sizes) } as const;
    const entries = [];
    for (const [at, post] of posts.entries()) {
      const { markdown = '', isCut = false } = shown[at] ?? {};
      const html = await texts.html(markdown, { mediaBase: site.mediaBase, article });
      entries.push(<Entry site={site} post={post} html={html} isCut={isCut} />);
      await letOthersIn();
    }
    return renderPage(site, {
      ...(page > 1 && { title: `Page ${page}` }),
      path: pathOfPage(page),
      markdownPath: `${publication.address === null ? '.md' : '/index.md'}${pathOfPage(page)}`,
      ...(posts.length > 0 && { q: '' }),
      children: (
        <>
          {page > 1 ? <h1 class="hidden">{`Page ${page}`}</h1> : null}
          {posts.length === 0 ? <Empty site={site} /> : entries}
          <Pager base={site.base} page={page} totalPages={totalPages} pathOf={pathOfPage} />
          {months.length > 1 ? <MonthIndex base={site.base} months={months} /> : null}
        </>
      ),
    });
  };
}

function Entry({ site, post, html, isCut }: { site: Site; post: Post; html: string; isCut: boolean }) {
  const href = `${site.base}/${post.id}`;
  return (
    <article class="entry" id={post.id} aria-labelledby={`${post.id}.title`}>
      <p class="when">
        <Day at={post.createdAt} />
      </p>
      <div>
        <h2 id={`${post.id}.title`} dir="auto">
          <a href={href}>{post.title}</a>
        </h2>
        <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />
        {isCut ? (
          <p class="more">
            <a href={href} aria-label={`Continue reading ${post.title}`}>
              Continue reading
            </a>
          </p>
        ) : null}
      </div>
    </article>
  );
}

function Empty({ site: { publication, base } }: { site: Site }) {
  return (
    <div class="empty">
      <h2>No posts yet</h2>
      <p>The first post will appear here.</p>
      {publication.isFeedOn ? (
        <p>
          <a href={`${base}/feed.atom`}>Subscribe to the feed</a>
        </p>
      ) : null}
    </div>
  );
}

const RESULTS_PER_PAGE = 20;
/** Strangers search here, so fewer than in the dashboard. */
const MAX_RESULTS = 200;
const MAX_SNIPPET = 200;
const MAX_WORDS = 8;

/** Throws `AppError` 400 for a query that is too long. */
export function requireQuery(q: string): string {
  const words = q.trim();
  if (words.length > MAX_QUERY_LENGTH) {
    throw new AppError(400, `Search for at most ${MAX_QUERY_LENGTH} characters`);
  }
  if (words.split(/\s+/).length > MAX_WORDS) throw new AppError(400, `Search for at most ${MAX_WORDS} words`);
  return words;
}

/** Throws `AppError` 404 past the end of the results. */
export async function renderResults(
  tx: ReadTx,
  site: Site,
  { q, page }: { q: string; page: number },
): Promise<string> {
  const selection = { ...PUBLIC_POSTS, limit: RESULTS_PER_PAGE, page, maxFound: MAX_RESULTS };
  const found = await searchPosts(tx, site.publication.organizationId, q, selection);
  const totalPages = Math.max(1, Math.ceil(found.totalItems / RESULTS_PER_PAGE));
  requirePage(page, totalPages);
  const pathOf = (number: number) =>
    `?q=${encodeURIComponent(q.toWellFormed())}${number === 1 ? '' : `&page=${number}`}`;
  return renderPage(site, {
    title: `Search: ${q}`,
    path: pathOf(page),
    isHidden: true,
    q,
    children: (
      <>
        <h1 class="found">{wordsAbout(found, q)}</h1>
        {found.totalItems === 0 ? (
          <div class="empty">
            <p>Check the spelling, or search for fewer words.</p>
            <p>
              <a href={site.base}>See all posts</a>
            </p>
          </div>
        ) : (
          found.posts.map((post) => <Result site={site} post={post} />)
        )}
        <Pager base={site.base} page={page} totalPages={totalPages} pathOf={pathOf} />
      </>
    ),
  });
}

function wordsAbout({ totalItems, isCut }: Found, q: string): string {
  const number = totalItems.toLocaleString('en');
  if (totalItems === 0) return `No posts match “${q}”`;
  if (isCut) return `More than ${number} posts match “${q}”`;
  return `${number} ${totalItems === 1 ? 'post matches' : 'posts match'} “${q}”`;
}

function Result({ site, post }: { site: Site; post: Post }) {
  return (
    <article class="entry result">
      <p class="when">
        <Day at={post.createdAt} />
      </p>
      <div>
        <h2 dir="auto">
          <a href={`${site.base}/${post.id}`}>{post.title}</a>
        </h2>
        <p class="snippet" dir="auto">
          {summaryOf(post, MAX_SNIPPET)}
        </p>
      </div>
    </article>
  );
}

const LINES_PER_PAGE = 100;

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

export async function readMonth({ tx, publication }: PublicView, month: string, page: number) {
  const { organizationId } = publication;
  const totalItems = MONTH.test(month) ? await countMonth(tx, organizationId, month) : 0;
  const totalPages = Math.ceil(totalItems / LINES_PER_PAGE);
  if (totalPages === 0)
    throw new AppError(404, `No posts in ${MONTH.test(month) ? formatMonth(month) : 'this month'}`);
  requirePage(page, totalPages);
  const window = { month, limit: LINES_PER_PAGE, offset: (page - 1) * LINES_PER_PAGE };
  return { lines: await listLines(tx, organizationId, window), totalPages };
}

export async function renderMonth(
  view: PublicView,
  publicUrl: string,
  month: string,
  page: number,
): Promise<PublicText> {
  const { tx, publication } = view;
  const { lines, totalPages } = await readMonth(view, month, page);
  const site = await siteOf(tx, publication, publicUrl);
  const months = await listMonths(tx, publication.organizationId, MAX_MONTHS);
  const pathOf = (number: number) => `/archive/${month}${pathOfPage(number)}`;
  return () =>
    renderPage(site, {
      title: formatMonth(month) + (page === 1 ? '' : `, page ${page}`),
      path: pathOf(page),
      markdownPath: `/archive/${month}.md${pathOfPage(page)}`,
      q: '',
      children: (
        <>
          <h1>{formatMonth(month)}</h1>
          <ul class="lines">
            {lines.map(({ id, title, createdAt }) => (
              <li>
                <a href={`${site.base}/${id}`} dir="auto">
                  {title}
                </a>
                <Day at={createdAt} />
              </li>
            ))}
          </ul>
          <Pager base={site.base} page={page} totalPages={totalPages} pathOf={pathOf} />
          <MonthIndex base={site.base} months={months} current={month} />
        </>
      ),
    });
}
