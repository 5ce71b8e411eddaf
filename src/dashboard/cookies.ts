import { BROWSER_MS } from '../users/known-browser.ts';

// The cookies of the dashboard: the session, the known browser, and a notice for the next page.

const SESSION = 'tidings_session';
const BROWSER = 'tidings_browser';
const NOTICE = 'tidings_notice';
const MAX_NOTICE_LENGTH = 300;
const NOTICE_MS = 60_000;

export interface Cookies {
  /** The session's token, or null. */
  readonly session: string | null;
  /** The token of a known browser, or null. */
  readonly browser: string | null;
  /** What was done on the page before, in words, or null. */
  readonly notice: string | null;
}

/** A session cookie to send. */
export interface SessionCookie {
  token: string;
  maxAgeMs: number;
}

export function readCookies(request: Request, isSecure: boolean): Cookies {
  const map = new Bun.CookieMap(request.headers.get('cookie') ?? '');
  const read = (name: string) => map.get(nameOf(name, isSecure));
  return { session: read(SESSION), browser: read(BROWSER), notice: read(NOTICE) };
}

/** `isSecure`: the dashboard is reached over https. A cookie that is null is deleted. */
export function cookieHeaders(
  cookies: {
    session?: SessionCookie | null | undefined;
    browser?: string | null | undefined;
    notice?: string | null | undefined;
  },
  isSecure: boolean,
): string[] {
  const headers: string[] = [];
  const add = (name: string, value: string, maxAgeMs: number) => {
    const cookie = new Bun.Cookie(nameOf(name, isSecure), value, {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: isSecure,
      maxAge: Math.floor(maxAgeMs / 1000),
    });
    headers.push(cookie.serialize());
  };
  const { session, browser, notice } = cookies;
  if (session !== undefined) add(SESSION, session?.token ?? '', session?.maxAgeMs ?? 0);
  if (browser) add(BROWSER, browser, BROWSER_MS);
  if (notice !== undefined)
    add(NOTICE, notice?.slice(0, MAX_NOTICE_LENGTH) ?? '', notice === null ? 0 : NOTICE_MS);
  return headers;
}

/** Browsers take a `__Host-` cookie from this host over https alone, never from a subdomain or over http. */
function nameOf(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name;
}
