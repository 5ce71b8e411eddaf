import type { ReadTx } from '../../../../db/engine.ts';
import { escapeHtml } from '../../../lib/markdown/html.ts';
import { withRelativeMedia } from '../../../lib/markdown/media.ts';
import { texts } from '../../../lib/markdown/texts.ts';
import { derivedUrn, isolatedControls } from '../../../lib/text.ts';
import { letOthersIn } from '../../../lib/time.ts';
import type { Deps } from '../../../people/deps.ts';
import { fileNameOf, findMedia } from '../../../posts/media/store.ts';
import { type Post, PUBLIC_POSTS } from '../../../posts/model.ts';
import { listPostPage } from '../../../posts/store.ts';
import { type Publication, pageAddress, postAddress } from '../model.ts';
import { summaryOf } from '../page.tsx';

export const MAX_ENTRIES = 30;

/** Markdown of all entries together, in characters. Older posts that exceed it are left out. */
const MAX_TEXT = 150_000;

const MAX_SUMMARY = 280;

export type FeedFile = 'feed.atom' | 'feed.rss' | 'feed.json';

export interface Feed {
  /** The same for as long as the organization exists. */
  id: string;
  /** Feeds stand below it, whether there is a page or not. */
  base: string;
  /** The public page; null while it is off. */
  page: string | null;
  title: string;
  description: string;
  icon: string | null;
  accentColor: string;
  updated: Date;
  entries: Entry[];
}

export interface Entry {
  /** The same for as long as the post exists, whatever its title and its address. */
  id: string;
  /** Null while there is no page. */
  url: string | null;
  title: string;
  summary: string;
  text: string;
  /** Null in a short feed. */
  html: string | null;
  published: Date;
  updated: Date;
}

/** The newest that a full feed holds, or `limit` summaries. The returned function renders, after the transaction. */
export async function readFeed(
  tx: ReadTx,
  publication: Publication,
  limit: number | null,
  deps: Pick<Deps, 'publicUrl'>,
): Promise<() => Promise<Feed>> {
  const selection = { ...PUBLIC_POSTS, limit: limit ?? MAX_ENTRIES, page: 1, sort: 'desc' as const };
  const [{ posts }, logo] = await Promise.all([
    listPostPage(tx, publication.organizationId, selection),
    publication.logoId === null ? null : findMedia(tx, publication.logoId),
  ]);
  const newest = posts;
  const listed = limit === null ? withinBound(newest) : newest;
  const publicUrl = deps.publicUrl();
  const base = pageAddress(publication, publicUrl);
  return async () => {
    const entries: Entry[] = [];
    for (const post of listed) {
      const html = limit === null ? await renderPost(post, publicUrl) : null;
      entries.push(entryOf(post, publication, publicUrl, html));
      await letOthersIn();
    }
    const times = [new Date(publication.updatedAt), ...entries.map(({ updated }) => updated)];
    return {
      id: derivedUrn(publication.organizationId),
      base,
      page: publication.isPageOn ? base : null,
      title: isolatedControls(forXml(publication.title)),
      description: forXml(publication.description),
      icon: logo === null ? null : `${publicUrl}/media/${fileNameOf(logo)}`,
      accentColor: publication.accentColor,
      updated: times.reduce((a, b) => (b > a ? b : a)),
      entries,
    };
  };
}

function withinBound(posts: Post[]): Post[] {
  let length = 0;
  const end = posts.findIndex(({ markdown }, at) => {
    length += markdown.length;
    return at > 0 && length > MAX_TEXT;
  });
  return end === -1 ? posts : posts.slice(0, end);
}

function entryOf(post: Post, publication: Publication, publicUrl: string, html: string | null): Entry {
  const published = new Date(post.createdAt);
  const edited = new Date(post.updatedAt);
  return {
    id: derivedUrn(publication.organizationId, post.id),
    url: publication.isPageOn ? postAddress(publication, publicUrl, post.id) : null,
    title: isolatedControls(forXml(post.title).trim() || 'Untitled'),
    summary: summaryOf({ content: forXml(post.content) }, MAX_SUMMARY),
    text: forXml(post.content),
    html: html === null ? null : forXml(html),
    published,
    // A person may date a post after its last change.
    updated: edited > published ? edited : published,
  };
}

/** Posts store absolute addresses of images, and readers need them. The renderer takes our own without the origin. */
function renderPost({ markdown, content }: Post, publicUrl: string): Promise<string> {
  const relative = withRelativeMedia(markdown, publicUrl);
  return texts.html(relative, { mediaBase: publicUrl }).catch(() => linesOf(content));
}

/** In the place of a text that takes too long to render: one post must not stop the feed. */
const linesOf = (text: string) => `<p>${escapeHtml(text).replaceAll('\n', '<br>')}</p>`;

/** All that XML 1.0 forbids (section 2.2), and halves of surrogate pairs. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

function forXml(text: string): string {
  return text.replaceAll(NOT_XML, '');
}
