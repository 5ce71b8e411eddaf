import { Elysia } from 'elysia';
import { createPublicSite, type SiteDeps } from './site.ts';

/** `/changelog/{slug}`: the public page of an organization, for everybody. Off until the organization switches it on. */
export function publicPages(deps: SiteDeps) {
  const site = createPublicSite(deps);
  return (
    new Elysia({ name: 'public-pages' })
      .get('/changelog/:slug', ({ request, params: { slug } }) => site.home(request, given(slug)))
      // Proxies that put a path before another end it with a slash.
      .get('/changelog/:slug/', ({ request, params: { slug } }) => site.home(request, given(slug)))
      .get('/changelog/:slug/:name', ({ request, params: { slug, name } }) =>
        site.named(request, given(slug), given(name)),
      )
      .get('/changelog/:slug/archive/:month', ({ request, params: { slug, month } }) =>
        site.month(request, given(slug), given(month)),
      )
      .get('/changelog/:slug/media/:file', ({ request, params: { slug, file } }) =>
        site.image(request, given(slug), given(file)),
      )
  );
}

/** The router gives null for a parameter with a broken percent-encoding. */
const given = (parameter: string | null) => parameter ?? '';
