import { BROWSER_MS } from '../users/known-browser.ts';
import { SESSION_MS } from '../users/service.ts';

// The cookies of the dashboard: the session, the known browser, and a notice for the next page.

const SESSION = 'tidings_session';
const BROWSER = 'tidings_browser';
const NOTICE = 'tidings_notice';
const MAX_NOTICE_LENGTH = 300;

export interface Cookies {
  /** The session's token, or null. */
  readonly session: string | null;
  /** The token of a known browser, or null. */
  readonly browser: string | null;
  /** What was done on the page before, in words, or null. */
  readonly notice: string | null;
}

export function readCookies(request: Request): Cookies {
  const map = new Bun.CookieMap(request.headers.get('cookie') ?? '');
  return { session: map.get(SESSION), browser: map.get(BROWSER), notice: map.get(NOTICE) };
}

/** `Secure` where the dashboard is reached over https; a cookie that is null is deleted. */
export function cookieHeaders(
  cookies: Partial<Record<keyof Cookies, string | null | undefined>>,
  isSecure: boolean,
): string[] {
  const headers: string[] = [];
  const add = (name: string, value: string | null, maxAgeSeconds: number) => {
    const cookie = new Bun.Cookie(name, value ?? '', {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: isSecure,
      maxAge: value === null ? 0 : maxAgeSeconds,
    });
    headers.push(cookie.serialize());
  };
  if (cookies.session !== undefined) add(SESSION, cookies.session, SESSION_MS / 1000);
  if (cookies.browser) add(BROWSER, cookies.browser, BROWSER_MS / 1000);
  if (cookies.notice !== undefined) add(NOTICE, cookies.notice?.slice(0, MAX_NOTICE_LENGTH) ?? null, 60);
  return headers;
}
