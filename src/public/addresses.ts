import { type Publication, pageAddress } from './model.ts';

/** Where readers find what an organization publishes. Null: switched off. */
export interface PublicAddresses {
  page: string | null;
  feeds: { atom: string; rss: string; json: string } | null;
  /** HTML for another site, which shows the newest posts. It reads a feed. */
  widget: string | null;
  /** The endpoint for agents. */
  mcp: string | null;
}

type Needs = Pick<Publication, 'slug' | 'address' | 'isPageOn' | 'isFeedOn' | 'isMcpOn'>;

export function publicAddresses(publication: Needs, publicUrl: string): PublicAddresses {
  const page = pageAddress(publication, publicUrl);
  const { isPageOn, isFeedOn, isMcpOn } = publication;
  const feed = (ending: string) => `${page}/feed.${ending}`;
  return {
    page: isPageOn ? page : null,
    feeds: isFeedOn ? { atom: feed('atom'), rss: feed('rss'), json: feed('json') } : null,
    widget: isFeedOn ? widgetSnippet(page) : null,
    mcp: isMcpOn ? `${publicUrl}/mcp` : null,
  };
}

/** Without scripts it is a plain link. */
function widgetSnippet(page: string): string {
  const address = Bun.escapeHTML(page);
  return `<a href="${address}" data-tidings>What's new</a> <script src="${address}/widget.js" async></script>`;
}
