import { ATTACHMENTS } from '../api.ts';

export const PUBLIC_API = 'https://codeberg.org/api/v1';

/** The site of an API such as `https://codeberg.org/api/v1`, or `https://HOST/git/api/v1`. */
export function webOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/api\/v1\/?$/, '').replace(/\/$/, '');
}

/** Both parts of a repository's name, so that none can lead to another route. */
const NAME = /^(?!\.{1,2}\/)([\w.-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/;

export const isRepositoryName = (text: string): boolean => NAME.test(text);

/** Uploads to releases, issues and comments. Their random id is the only way to find them. */
const ATTACHMENT = /^\/attachments\/[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** The place of an image at Forgejo: `owner/name` in lower case, `ATTACHMENTS`, or null at any other site. */
export function imagePlace(url: URL, apiUrl = PUBLIC_API): string | null {
  const web = new URL(`${webOf(apiUrl)}/`);
  if (url.origin !== web.origin || !url.pathname.startsWith(web.pathname)) return null;
  const path = url.pathname.slice(web.pathname.length - 1);
  // A server may decode these, and then read the path as that of another repository.
  if (/%2e|%2f|%5c|\/\//i.test(path)) return '';
  if (ATTACHMENT.test(path)) return ATTACHMENTS;
  const [, owner = '', name = ''] = path.toLowerCase().split('/');
  return `${owner}/${name}`;
}

export const authorization = (token: string): string => `token ${token}`;
