import { type TSchema, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { minify, shorten } from '../../../http/look/assets.ts';
import { always, parameters, refusal, unavailable } from '../../../http/openapi.ts';
import { publicContent, rendered } from '../../../http/respond.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { Deps } from '../../../people/deps.ts';
import { createRenderQueue } from '../programs.ts';
import { followSlug, getPublic } from '../service.ts';
import { createPublicPages } from '../site.ts';
import widgetSource from '../widget/widget.client.js' with { type: 'text' };
import widgetStyle from '../widget/widget.css' with { type: 'text' };
import { type FeedFile, MAX_ENTRIES, readFeed } from './feed.ts';

interface Format {
  name: string;
  file: FeedFile;
  type: string;
  schema: TSchema;
}

const formats: readonly Format[] = [
  {
    name: 'Atom',
    file: 'feed.atom',
    type: 'application/atom+xml; charset=utf-8',
    schema: Type.String({ description: 'RFC 4287.' }),
  },
  {
    name: 'RSS',
    file: 'feed.rss',
    type: 'application/rss+xml; charset=utf-8',
    schema: Type.String({ description: 'RSS 2.0.' }),
  },
  {
    name: 'JSON',
    file: 'feed.json',
    type: 'application/feed+json; charset=utf-8',
    schema: Type.Unknown({ description: 'JSON Feed 1.1.' }),
  },
];

const style = shorten(widgetStyle)
  .replaceAll('\n', '')
  .replaceAll(/ (?=\{)|(?<=[;:]) /g, '')
  .replaceAll(';}', '}');

/** `widget.js`: the same for every organization, because it reads the feed beside it. */
const widgetScript = rendered(
  Buffer.from(minify(widgetSource).replace(/(["'`])WIDGET_CSS\1/, () => JSON.stringify(style))),
  undefined,
  9,
);

/** The feeds of an organization and its widget. Off until the organization switches them on. */
export function feeds(deps: Pick<Deps, 'db' | 'publicUrl'>) {
  const renderPublic = createPublicPages(deps.db);
  const inTurn = createRenderQueue();

  async function sendFeed(request: Request, slug: string, format: Format) {
    return forEverySite(await followSlug(request, deps.publicUrl(), () => feed(request, slug, format)));
  }

  async function feed(request: Request, slug: string, { type, file }: Format) {
    const limit = limitOf(new URL(request.url).searchParams);
    const body = await renderPublic(slug, 'isFeedOn', `${type} ${limit}`, async ({ tx, publication }) => {
      const render = await readFeed(tx, publication, limit, deps);
      return () =>
        inTurn(async () => {
          const { writers } = await import('./formats.ts');
          return writers[file](await render());
        });
    });
    return publicContent(request, body, { 'content-type': type });
  }

  async function sendWidget(request: Request, slug: string) {
    const response = await followSlug(request, deps.publicUrl(), async () => {
      await deps.db.read((tx) => getPublic(tx, slug, 'isFeedOn'));
      return publicContent(request, widgetScript, { 'content-type': 'text/javascript; charset=utf-8' });
    });
    // A site may require it of everything that it loads.
    response.headers.set('cross-origin-resource-policy', 'cross-origin');
    return response;
  }

  const app = new Elysia({ name: 'feeds' });
  for (const format of formats) {
    const path = `/changelog/:slug/${format.file}` as '/changelog/:slug/feed.json';
    app
      .get(path, ({ request, params: { slug } }) => sendFeed(request, slug, format), {
        detail: detailOf(format),
      })
      .options(path, () => forEverySite(new Response(null, { status: 204, headers: preflight })));
  }
  return app.get('/changelog/:slug/widget.js', ({ request, params: { slug } }) => sendWidget(request, slug));
}

const cachingHeaders = {
  ETag: always(
    'The version of the feed. Send it in `If-None-Match` to get a 304 while the feed is the same.',
  ),
  'Cache-Control': always(
    'Keep the feed, and revalidate it before each use.',
    Type.Literal('public, no-cache'),
  ),
  'Access-Control-Allow-Origin': always('Scripts of every site may read the feed.', Type.Literal('*')),
};

const BAD_LIMIT = `limit must be a number from 1 to ${MAX_ENTRIES}`;

function detailOf({ name, type, schema }: Format) {
  const [mediaType = ''] = type.split(';');
  return {
    operationId: `get${name.replaceAll(' ', '')}Feed`,
    tags: ['Feeds'],
    summary: `The newest posts as ${name}`,
    description:
      'The newest published changelog posts of an organization that has switched its feeds on. Needs no key. Scripts of other sites may read it.',
    security: [],
    parameters: [
      ...parameters(
        'path',
        Type.Object({
          slug: Type.String({
            description: 'The name of the organization in public addresses.',
            examples: ['acme'],
          }),
        }),
      ),
      ...parameters(
        'query',
        Type.Object({
          limit: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: MAX_ENTRIES,
              description:
                'For a short feed: so many posts, each with the beginning of its text as plain text. Without it, the feed has the whole texts of the newest posts.',
            }),
          ),
        }),
      ),
      ...parameters(
        'header',
        Type.Object({
          'If-None-Match': Type.Optional(Type.String({ description: 'The `ETag` of an earlier response.' })),
        }),
      ),
    ],
    responses: {
      200: { description: 'The feed.', headers: cachingHeaders, content: { [mediaType]: { schema } } },
      301: {
        description: 'The organization has changed its slug within the last year.',
        headers: {
          Location: always('The feed.', Type.String({ format: 'uri' })),
          'Cache-Control': cachingHeaders['Cache-Control'],
          'Access-Control-Allow-Origin': cachingHeaders['Access-Control-Allow-Origin'],
        },
      },
      304: { description: 'The feed matches `If-None-Match`.', headers: cachingHeaders },
      400: refusal('`limit` is invalid.', [BAD_LIMIT]),
      404: refusal('No organization with this name has its feeds on.', ['Not found']),
      503: unavailable('The feed is not available right now. Retry after `Retry-After` seconds.', [
        'The database is busy',
        'The database is not available',
        'Too many people are reading right now. Try again in a moment',
      ]),
    },
  };
}

/** A browser asks before it sends `If-None-Match` of a script. */
const preflight = {
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': 'If-None-Match',
  'access-control-max-age': '86400',
};

/** Lets scripts of every site read a feed. Nothing else of Tidings may be read so. */
function forEverySite(response: Response): Response {
  response.headers.set('access-control-allow-origin', '*');
  response.headers.set('access-control-expose-headers', 'ETag');
  return response;
}

/** Null for the full feed. Throws `AppError` 400. */
function limitOf(query: URLSearchParams): number | null {
  const [text, ...others] = query.getAll('limit');
  if (text === undefined) return null;
  if (others.length === 0 && /^[1-9]\d?$/.test(text) && Number(text) <= MAX_ENTRIES) return Number(text);
  throw new AppError(400, BAD_LIMIT);
}
