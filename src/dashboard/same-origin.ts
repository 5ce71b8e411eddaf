import { AppError } from '../lib/app-error.ts';

/**
 * Refuses a form that another site sent (403). Browsers say where a request comes from: `Sec-Fetch-Site` in all that
 * are current, `Origin` in the older ones. What says neither is no browser, and carries nobody's cookie by itself.
 */
export function requireSameOrigin(request: Request): void {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null) {
    if (site === 'same-origin' || site === 'none') return;
    throw crossSite();
  }
  const origin = request.headers.get('origin');
  if (origin === null) return;
  const host = URL.canParse(origin) ? new URL(origin).host : null;
  if (host === null || host !== request.headers.get('host')) throw crossSite();
}

function crossSite(): AppError {
  return new AppError(403, 'This form was sent by another site, and nothing was done.');
}
