import { AppError } from '../../lib/app-error.ts';
import { escapeHtml } from '../../lib/markdown/html.ts';
import { excerptOf } from '../../lib/markdown/outline.ts';
import { inlineMarkdown } from '../../lib/markdown/plain-text.ts';
import { formatLongDay, formatMonth, letOthersIn } from '../../lib/time.ts';
import type { Post } from '../../posts/model.ts';
import { readListPage, readMonth } from './list.tsx';
import { listLines, type Publication, pageAddress, readableOn } from './model.ts';
import { readPublicPost, requirePage } from './post-page.tsx';
import type { PublicView } from './site.ts';

// The page for programs: as Markdown, and as lists of addresses. All of them hold absolute addresses.

/** The rest of a longer post is left out of a list in Markdown, in characters. */
const MAX_TEXT = 10_000;

const MAX_NEWEST = 100;

/** Posts in a file of the sitemap. The format allows 50,000. */
const STAMPS_PER_FILE = 5_000;

export async function postMarkdown(view: PublicView, publicUrl: string, postId: string): Promise<string> {
  const post = await readPublicPost(view, postId);
  const head = [
    `title: ${JSON.stringify(post.title)}`,
    `date: ${post.createdAt}`,
    `updated: ${post.updatedAt}`,
    `url: ${pageAddress(view.publication, publicUrl)}/${post.id}`,
  ];
  return `---\n${head.join('\n')}\n---\n\n${bodyOf(post, view.publication, publicUrl).trim()}\n`;
}

/** Images have the address at which the page shows them. */
function bodyOf({ markdown }: Post, { address }: Publication, publicUrl: string): string {
  return address === null ? markdown : markdown.replaceAll(`${publicUrl}/media/`, `${address}/media/`);
}

export async function listMarkdown(
  view: PublicView,
  publicUrl: string,
  page: number,
): Promise<() => Promise<string>> {
  const { publication } = view;
  const url = pageAddress(publication, publicUrl);
  const { posts, totalPages } = await readListPage(view, page);
  const entryOf = (post: Post) => {
    const body = bodyOf(post, publication, publicUrl).trim();
    const excerpt = excerptOf(body, MAX_TEXT);
    const text = excerpt === null ? body : `${excerpt}\n\n[Continue reading](${url}/${post.id}.md)`;
    return `## [${labelOf(post.title)}](${url}/${post.id}.md)\n\n${formatLongDay(post.createdAt)}\n\n${text}`;
  };
  return async () => {
    const body = posts.length === 0 ? ['No posts yet.'] : [];
    for (const post of posts) {
      body.push(entryOf(post));
      await letOthersIn();
    }
    const next =
      page < totalPages ? [`[Older posts](${listAddress(publication, url)}?page=${page + 1})`] : [];
    return `${[...headOf(publication), ...body, ...next].join('\n\n')}\n`;
  };
}

export async function monthMarkdown(
  view: PublicView,
  publicUrl: string,
  month: string,
  page: number,
): Promise<string> {
  const { publication } = view;
  const { lines, totalPages } = await readMonth(view, month, page);
  const url = pageAddress(publication, publicUrl);
  const next = page < totalPages ? [`[Older posts](${url}/archive/${month}.md?page=${page + 1})`] : [];
  return `${[`# ${formatMonth(month)}`, linesOf(lines, url), ...next].join('\n\n')}\n`;
}

export async function llmsText({ tx, publication }: PublicView, publicUrl: string): Promise<string> {
  const url = pageAddress(publication, publicUrl);
  const lines = await listLines(tx, publication.organizationId, { limit: MAX_NEWEST });
  const more = [
    `- [All posts](${listAddress(publication, url)}): the newest posts as Markdown, in pages`,
    `- [Sitemap](${url}/sitemap.xml): the addresses of all posts. Add \`.md\` to one for Markdown`,
    ...(publication.isFeedOn ? [`- [Feed](${url}/feed.json): the newest posts as a JSON feed`] : []),
  ];
  const newest = lines.length === 0 ? 'No posts yet.' : linesOf(lines, url);
  return `${[...headOf(publication), '## Posts', newest, '## More', more.join('\n')].join('\n\n')}\n`;
}

const headOf = ({ title, description }: Publication) => [
  `# ${inlineMarkdown(title)}`,
  ...(description === '' ? [] : [`> ${inlineMarkdown(description)}`]),
];

/** A path behind a proxy's address may be empty, so that `.md` would join its host. */
const listAddress = ({ address }: Publication, url: string) =>
  address === null ? `${url}.md` : `${url}/index.md`;

const labelOf = (title: string) => inlineMarkdown(title).replaceAll(/(?<!\\)[[\]]/g, '\\$&');

const linesOf = (lines: readonly Pick<Post, 'id' | 'title' | 'createdAt'>[], url: string) =>
  lines
    .map(({ id, title, createdAt }) => `- [${labelOf(title)}](${url}/${id}.md): ${createdAt.slice(0, 10)}`)
    .join('\n');

/** Page 0: all posts, or a list of the sitemap's files when they are too many for one. Throws `AppError` 404. */
export async function sitemap(
  { tx, publication, totalItems }: PublicView,
  publicUrl: string,
  page: number,
): Promise<string> {
  const url = escapeHtml(pageAddress(publication, publicUrl));
  const totalPages = Math.max(1, Math.ceil(totalItems / STAMPS_PER_FILE));
  if (page === 0 && totalPages > 1) {
    const files = Array.from(
      { length: totalPages },
      (_, at) => `<sitemap><loc>${url}/sitemap.xml?page=${at + 1}</loc></sitemap>`,
    );
    return `${XML}<sitemapindex xmlns="${SITEMAPS}">\n${files.join('\n')}\n</sitemapindex>\n`;
  }
  requirePage(page, totalPages);
  const offset = Math.max(0, page - 1) * STAMPS_PER_FILE;
  const lines = await listLines(tx, publication.organizationId, { limit: STAMPS_PER_FILE, offset });
  const entries = lines.map(
    ({ id, updatedAt }) => `<url><loc>${url}/${id}</loc><lastmod>${updatedAt}</lastmod></url>`,
  );
  const all = page <= 1 ? [`<url><loc>${url}</loc></url>`, ...entries] : entries;
  return `${XML}<urlset xmlns="${SITEMAPS}">\n${all.join('\n')}\n</urlset>\n`;
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n';
const SITEMAPS = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/** For a domain of the page's own. */
export function robots({ publication }: PublicView, publicUrl: string): string {
  return `User-agent: *\nAllow: /\nSitemap: ${pageAddress(publication, publicUrl)}/sitemap.xml\n`;
}

/** The accent color with the first letter of the title. */
export function icon({ publication: { title, accentColor } }: PublicView): string {
  const [letter = ''] = title.match(/[\p{L}\p{N}]/u) ?? [];
  const fill = readableOn('#ffffff', accentColor);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${fill}"/><text x="16" y="22" text-anchor="middle" font-family="system-ui,sans-serif" font-weight="600" font-size="18" fill="#fff">${escapeHtml(letter.toUpperCase())}</text></svg>`;
}

const MAX_WAITING = 20;

/** A pause as long as the work follows each: a stranger takes half of a core at most. Throws `AppError` 503. */
export function createRenderQueue(maxWaiting = MAX_WAITING) {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;

  return async function inTurn<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    if (waiting >= maxWaiting) {
      throw new AppError(503, 'Too many people are reading right now. Try again in a moment', {
        isRefusal: true,
        headers: { 'retry-after': '2' },
      });
    }
    const turn = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    waiting++;
    await turn;
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      waiting--;
      setTimeout(resolve, performance.now() - startedAt);
    }
  };
}
