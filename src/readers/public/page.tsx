import type { ComponentChildren, VNode } from 'preact';
import { render } from 'preact-render-to-string';
import type { ReadTx } from '../../../db/engine.ts';
import alertStyle from '../../http/look/alerts.css' with { type: 'text' };
import { shorten } from '../../http/look/assets.ts';
import resetStyle from '../../http/look/reset.css' with { type: 'text' };
import { cutGraphemes } from '../../lib/markdown/plain-text.ts';
import { isolatedControls } from '../../lib/text.ts';
import { formatLongDay } from '../../lib/time.ts';
import { fileNameOf, findMedia } from '../../posts/media/store.ts';
import mediaStyle from './media.css' with { type: 'text' };
import { type Publication, pageAddress, readableOn } from './model.ts';
import pageStyle from './page.css' with { type: 'text' };
import postStyle from './posts.css' with { type: 'text' };

// The document around every public page: one response, with its style and without a script.

/** An organization's page, as its parts need it. */
export interface Site {
  publication: Publication;
  /** In front of paths in links: a path of this server, or the address behind a proxy. */
  base: string;
  /** The absolute address of the page. */
  url: string;
  /** In front of `/media/…` in links. */
  mediaBase: string;
  logo: { src: string; width: number; height: number } | null;
}

export async function siteOf(tx: ReadTx, publication: Publication, publicUrl: string): Promise<Site> {
  const { slug, address, logoId } = publication;
  const mediaBase = address ?? '';
  const logo = logoId === null ? null : await findMedia(tx, logoId);
  return {
    publication,
    base: address ?? `/changelog/${slug}`,
    url: pageAddress(publication, publicUrl),
    mediaBase,
    logo: logo && {
      src: `${mediaBase}/media/${fileNameOf(logo)}`,
      width: logo.width,
      height: logo.height,
    },
  };
}

const css = shorten([resetStyle, pageStyle, postStyle, alertStyle, mediaStyle].join('\n'));

export const MAX_QUERY_LENGTH = 100;

const GROUNDS = { light: '#ffffff', dark: '#16171a' };

function accentStyle(color: string): string {
  const [light, dark] = [readableOn(GROUNDS.light, color), readableOn(GROUNDS.dark, color)];
  return `:root{--accent:light-dark(${light},${dark})}`;
}

const hashOf = (text: string) => `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`;
const styleHash = hashOf(css);

/** No scripts, no other origins, no frames: the page's own style and images alone. */
export function pagePolicy({ accentColor, address }: Pick<Publication, 'accentColor' | 'address'>): string {
  const own = address === null ? "'self'" : new URL(address).origin;
  return policy(accentColor, own, own);
}

function policy(accentColor: string, images: string, forms: string): string {
  return [
    "default-src 'none'",
    `style-src ${styleHash} ${hashOf(accentStyle(accentColor))}`,
    `img-src ${images}`,
    `form-action ${forms}`,
    // Without scripts nothing connects. Lighthouse reads robots.txt by the rules of the page.
    "connect-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

export interface PageOptions {
  /** For the tab, before the title of the site. Absent: the site's own. */
  title?: string;
  description?: string;
  path: string;
  markdownPath?: string;
  /** The path of the image in previews of the link. Absent: that of the site. */
  imagePath?: string;
  publishedAt?: string;
  isHidden?: boolean;
  /** The words in the search field; absent: there is nothing to search. */
  q?: string | undefined;
  children: ComponentChildren;
}

export function renderPage(site: Site, options: PageOptions): string {
  const { publication, url, base } = site;
  const { title, path, markdownPath, publishedAt, isHidden = false, q, children } = options;
  const fullTitle = [title, publication.title]
    .flatMap((each) => (each === undefined ? [] : isolatedControls(each)))
    .join(' · ');
  const description = options.description || publication.description || `What is new: ${publication.title}`;
  const image = `${url}${options.imagePath ?? '/card.png'}`;
  const property = (name: string, content: string) => <meta property={name} content={content} />;
  return toHtml(
    publication.accentColor,
    <>
      <title>{fullTitle}</title>
      <meta name="description" content={description} />
      {isHidden ? <meta name="robots" content="noindex" /> : <link rel="canonical" href={url + path} />}
      <link rel="icon" href={`${base}/icon.svg`} type="image/svg+xml" />
      {markdownPath === undefined ? null : (
        <link rel="alternate" type="text/markdown" href={url + markdownPath} />
      )}
      {publication.isFeedOn
        ? Object.entries(feeds).map(([file, type]) => (
            <link rel="alternate" type={type} title={publication.title} href={`${url}/${file}`} />
          ))
        : null}
      {property('og:site_name', publication.title)}
      {property('og:title', title ?? publication.title)}
      {property('og:description', description)}
      {property('og:url', url + path)}
      {property('og:type', publishedAt === undefined ? 'website' : 'article')}
      {property('og:image', image)}
      {publishedAt === undefined ? null : property('article:published_time', publishedAt)}
      <meta name="twitter:card" content="summary_large_image" />
    </>,
    <>
      <Masthead site={site} isHome={path === ''} q={q} />
      <main id="content">{children}</main>
      <Foot site={site} />
    </>,
  );
}

const feeds = {
  'feed.atom': 'application/atom+xml',
  'feed.rss': 'application/rss+xml',
  'feed.json': 'application/feed+json',
};

function Masthead({ site, isHome, q }: { site: Site; isHome: boolean; q: string | undefined }) {
  const { publication, base, logo } = site;
  const brand = (
    <a href={base}>
      {logo === null ? null : <img src={logo.src} width={logo.width} height={logo.height} alt="" />}
      <span dir="auto">{publication.title}</span>
    </a>
  );
  return (
    <header class={isHome ? 'top home' : 'top'}>
      <div>
        {isHome ? <h1 class="brand">{brand}</h1> : <p class="brand">{brand}</p>}
        {isHome && publication.description !== '' ? (
          <p class="lede" dir="auto">
            {publication.description}
          </p>
        ) : null}
      </div>
      {q === undefined ? null : (
        <search>
          <form action={base}>
            <label>
              <span class="hidden">Search posts</span>
              <input
                type="search"
                name="q"
                value={q}
                placeholder="Search"
                maxLength={MAX_QUERY_LENGTH}
                dir="auto"
              />
            </label>
          </form>
        </search>
      )}
    </header>
  );
}

function Foot({ site: { publication, base } }: { site: Site }) {
  const { links, isFeedOn } = publication;
  if (links.length === 0 && !isFeedOn) return null;
  return (
    <footer class="foot">
      <nav aria-label="Links">
        {links.map(({ label, url }) => (
          <a href={url} dir="auto">
            {label}
          </a>
        ))}
        {isFeedOn ? <a href={`${base}/feed.atom`}>Feed</a> : null}
      </nav>
    </footer>
  );
}

function toHtml(accentColor: string, head: VNode, body: VNode): string {
  // Escaping the styles would change their hashes in the policy. Neither holds text of anybody.
  return `<!doctype html>${render(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {head}
        <style dangerouslySetInnerHTML={{ __html: css }} />
        <style dangerouslySetInnerHTML={{ __html: accentStyle(accentColor) }} />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        {body}
      </body>
    </html>,
  )}`;
}

/** The beginning of a post's plain text on one line, without the marks of its lists. */
export function summaryOf({ content }: { content: string }, maxLength: number): string {
  const lines = content.slice(0, maxLength * 4).split('\n');
  const words = lines.map((line) =>
    line
      .replace(/^\s*(?:[-•]|\d{1,3}\.) (?:\[[ x]\] )?/, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  const text = words.filter(Boolean).join(' · ');
  return cutGraphemes(text.replaceAll(/([.:!?…]) · /g, '$1 '), maxLength);
}

export function Day({ at }: { at: string }) {
  return <time datetime={at}>{formatLongDay(at)}</time>;
}

/** The accent of a page that belongs to nobody. */
const PLAIN = '#44474f';

/** A refusal as a page. `site`: null when there is none, or nobody may see it. */
export function renderProblem(site: Site | null, status: number, message: string): string {
  const title = status === 404 ? 'Page not found' : status < 500 ? 'Check the address' : 'Not available';
  const content = (
    <div class="problem">
      <h1>{status === 429 ? 'Too many searches' : title}</h1>
      <p>{message}</p>
      {site === null ? null : (
        <p>
          <a href={site.base}>See all posts</a>
        </p>
      )}
    </div>
  );
  if (site !== null) return renderPage(site, { title, path: '/', isHidden: true, children: content });
  return toHtml(
    PLAIN,
    <>
      <title>{title}</title>
      <meta name="robots" content="noindex" />
      <link rel="icon" href="data:," />
    </>,
    <main id="content">{content}</main>,
  );
}

/** The icon of a page that belongs to nobody is empty, so that browsers ask for none. */
export function problemPolicy(site: Site | null): string {
  return site === null ? policy(PLAIN, 'data:', "'none'") : pagePolicy(site.publication);
}
