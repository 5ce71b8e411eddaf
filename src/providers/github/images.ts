import { ATTACHMENTS } from '../api.ts';
import { webOf } from './site.ts';

/** Uploads to comments and notes. Their random id is the only way to find them. */
const ATTACHMENT = /^\/user-attachments\/assets\/[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** The place of an image at GitHub: `owner/name` in lower case, `ATTACHMENTS`, or null at any other host. */
export function imagePlace(url: URL, apiUrl = 'https://api.github.com'): string | null {
  const web = webOf(apiUrl);
  const own = web === 'https://github.com' ? [web, 'https://raw.githubusercontent.com'] : [web];
  if (!own.includes(url.origin)) return null;
  if (ATTACHMENT.test(url.pathname)) return ATTACHMENTS;
  const [, owner = '', name = ''] = url.pathname.toLowerCase().split('/');
  // A server may decode these, and then read the path as that of another repository.
  const isAmbiguous = /%2e|%2f|%5c|\/\//i.test(url.pathname);
  return isAmbiguous ? '' : `${owner}/${name}`;
}
