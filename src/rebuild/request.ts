import { cutLine } from '../lib/text.ts';
import type { HookKind, HookMessage } from './model.ts';

// The request of each kind of hook. Bodies depend on the message alone, so that all attempts send the same bytes.

/** What a request tells about. */
export interface Announcement
  extends Pick<HookMessage, 'id' | 'organizationId' | 'title' | 'postCreatedAt' | 'url' | 'createdAt'> {
  type: HookMessage['type'] | 'hook.test';
  /** Null for a test. */
  postId: string | null;
}

const MAX_CHAT_TITLE = 300;

const json = { 'content-type': 'application/json' };

/** Body and headers, without the signature. */
export function requestOf(
  kind: HookKind,
  announcement: Announcement,
): { body: string; headers: Record<string, string> } {
  switch (kind) {
    case 'signed':
      return { body: payloadOf(announcement), headers: json };
    case 'netlify':
      return { body: '{}', headers: json };
    case 'vercel':
    case 'cloudflare':
      return { body: '', headers: {} };
    case 'slack':
      return { body: JSON.stringify({ text: slackText(announcement) }), headers: json };
    case 'discord':
      return {
        body: JSON.stringify({ content: discordText(announcement), allowed_mentions: { parse: [] } }),
        headers: json,
      };
  }
}

function payloadOf({ type, createdAt, organizationId, postId, title, postCreatedAt, url }: Announcement) {
  const data =
    type === 'hook.test'
      ? { organizationId, title }
      : { organizationId, postId, title, createdAt: postCreatedAt, url };
  return JSON.stringify({ type, timestamp: createdAt, data });
}

/** Slack reads `<!channel>`, `<@id>` and `<url|label>`; these three characters are all that it takes. */
function slackText({ title, url }: Announcement): string {
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const label = escaped(cutLine(title, MAX_CHAT_TITLE));
  return url === null ? label : `<${escaped(url).replaceAll('|', '%7C')}|${label}>`;
}

/** `allowed_mentions` keeps every mention from notifying anybody; the escapes keep the title from becoming markup. */
function discordText({ title, url }: Announcement): string {
  const label = cutLine(title, MAX_CHAT_TITLE).replaceAll(/[\\*_~`|<>#[\]():@-]/g, '\\$&');
  return url === null ? `**${label}**` : `**${label}**\n${url}`;
}
