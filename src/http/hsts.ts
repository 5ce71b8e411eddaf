import { type Fetch, pathOf } from './request.ts';

export type Hsts = 'subdomains' | 'host' | 'off';

/** A year, in seconds: what browsers' preload lists and ASVS ask for. */
const MAX_AGE = 'max-age=31536000';

/** Pages that a proxy may serve under a team's own domain, on which Tidings must set no policy. */
const PROXIED = '/changelog/';

/** Adds `Strict-Transport-Security` (RFC 6797) to each response of a server whose public URL is https. */
export function withHsts(fetch: Fetch, publicUrl: string | undefined, hsts: Hsts): Fetch {
  if (hsts === 'off' || publicUrl?.startsWith('https:') !== true) return fetch;
  const { host } = new URL(publicUrl);
  const policy = hsts === 'subdomains' ? `${MAX_AGE}; includeSubDomains` : MAX_AGE;

  function policyFor(request: Request): string | null {
    if (!pathOf(request).startsWith(PROXIED)) return policy;
    return request.headers.get('host') === host ? MAX_AGE : null;
  }

  function add(request: Request, response: Response): Response {
    const value = policyFor(request);
    if (value !== null) response.headers.set('strict-transport-security', value);
    return response;
  }

  return (request) => {
    const response = fetch(request);
    return response instanceof Response
      ? add(request, response)
      : response.then((late) => add(request, late));
  };
}
