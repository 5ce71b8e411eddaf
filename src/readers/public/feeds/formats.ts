import { generateAtomFeed, generateJsonFeed, generateRssFeed } from 'feedsmith';
import { escapeHtml } from '../../../lib/markdown/html.ts';
import type { Entry, Feed, FeedFile } from './feed.ts';

// `routes.ts` loads this module at the first feed: feedsmith takes memory and time that most starts don't need.

export const writers: Readonly<Record<FeedFile, (feed: Feed) => string>> = {
  'feed.atom': (feed) => withTightText(writeAtom(feed)),
  'feed.rss': (feed) => withTightText(writeRss(feed)),
  'feed.json': writeJson,
};

/** feedsmith puts each CDATA section on a line of its own, and many readers show the white space around it. */
const withTightText = (xml: string) =>
  xml.replaceAll(/>\n\s*<!\[CDATA\[/g, '><![CDATA[').replaceAll(/\]\]>\n\s*<\//g, ']]></');

const addressOf = ({ base }: Feed, file: FeedFile) => `${base}/${file}`;

function writeAtom(feed: Feed): string {
  const self = { rel: 'self', href: addressOf(feed, 'feed.atom'), type: 'application/atom+xml' };
  return generateAtomFeed({
    id: feed.id,
    title: { value: feed.title },
    ...(feed.description && { subtitle: { value: feed.description } }),
    updated: feed.updated,
    authors: [{ name: feed.title }],
    generator: { text: 'Tidings' },
    ...(feed.icon !== null && { icon: feed.icon }),
    links: [self, ...alternate(feed.page)],
    entries: feed.entries.map((entry) => ({
      id: entry.id,
      title: { value: entry.title },
      links: alternate(entry.url),
      published: entry.published,
      updated: entry.updated,
      ...(entry.summary && { summary: { value: entry.summary } }),
      content: contentOf(entry),
    })),
  });
}

const alternate = (href: string | null) =>
  href === null ? [] : [{ rel: 'alternate', href, type: 'text/html' }];

/** An entry without a link must have content (section 4.1.2), and feedsmith leaves out an empty one. */
function contentOf({ html, summary, title }: Entry): { value: string; type: string } {
  if (html?.trim()) return { value: html, type: 'html' };
  return { value: summary || title, type: 'text' };
}

/** RSS 2.0. The channel must have a link and a description. */
function writeRss(feed: Feed): string {
  const self = addressOf(feed, 'feed.rss');
  return generateRssFeed({
    title: feed.title,
    link: feed.page ?? self,
    description: feed.description || feed.title,
    lastBuildDate: feed.updated,
    generator: 'Tidings',
    atom: { links: [{ rel: 'self', href: self, type: 'application/rss+xml' }] },
    items: feed.entries.map(({ id, url, title, summary, html, published }) => ({
      title,
      ...(url !== null && { link: url }),
      guid: { value: id, isPermaLink: false },
      pubDate: published,
      // Readers take it for HTML.
      ...(summary && { description: escapeHtml(summary) }),
      ...(html?.trim() && { content: { encoded: html } }),
    })),
  });
}

/** JSON Feed 1.1. `_tidings` is for the widget. */
function writeJson(feed: Feed): string {
  const generated = generateJsonFeed({
    title: feed.title,
    ...(feed.page !== null && { home_page_url: feed.page }),
    feed_url: addressOf(feed, 'feed.json'),
    ...(feed.description && { description: feed.description }),
    ...(feed.icon !== null && { icon: feed.icon }),
    authors: [{ name: feed.title }],
    items: feed.entries.map(({ id, url, title, summary, text, html, published, updated }) => ({
      id,
      ...(url !== null && { url }),
      title,
      ...(summary && { summary }),
      ...(html === null ? { content_text: summary } : { content_html: html, content_text: text }),
      date_published: published,
      date_modified: updated,
    })),
  }) as { items?: unknown };
  const _tidings = { accent_color: feed.accentColor };
  // feedsmith leaves out an empty list, which the format requires.
  return JSON.stringify({ ...generated, _tidings, items: generated.items ?? [] });
}
