import { SESSION_MS } from '../users/service.ts';

// The two cookies of the dashboard: who is signed in, and what to tell once on the next page.

const SESSION = 'tidings_session';
const NOTICE = 'tidings_notice';
const MAX_NOTICE_LENGTH = 300;

export interface Cookies {
  /** The session's token, or null. */
  readonly session: string | null;
  /** What was done on the page before, in words, or null. */
  readonly notice: string | null;
}

export function readCookies(request: Request): Cookies {
  const map = new Bun.CookieMap(request.headers.get('cookie') ?? '');
  return { session: map.get(SESSION), notice: map.get(NOTICE) };
}

/** `Secure` where the dashboard is reached over https; a cookie that is null is deleted. */
export function cookieHeaders(
  cookies: { session?: string | null | undefined; notice?: string | null | undefined },
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
  if (cookies.notice !== undefined) add(NOTICE, cookies.notice?.slice(0, MAX_NOTICE_LENGTH) ?? null, 60);
  return headers;
}
