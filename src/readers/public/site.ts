import type { ReadTx, Storage } from '../../../db/engine.ts';
import { knownFailure } from '../../../db/failures.ts';
import { clientAddress, requestIdOf } from '../../http/request.ts';
import { keptBodies, publicContent, type Rendered, rendered } from '../../http/respond.ts';
import { AppError } from '../../lib/app-error.ts';
import type { Deps } from '../../people/deps.ts';
import { imageServer } from '../../posts/media/service.ts';
import { PUBLIC_POSTS } from '../../posts/model.ts';
import { tallyPosts } from '../../posts/store.ts';
import { type CardPainter, createCards } from './cards.ts';
import { renderList, renderMonth, renderResults, requireQuery } from './list.tsx';
import type { Publication, Surface } from './model.ts';
import { pagePolicy, problemPolicy, renderProblem, type Site, siteOf } from './page.tsx';
import { renderPost } from './post-page.tsx';
import {
  createRenderQueue,
  icon,
  listMarkdown,
  llmsText,
  monthMarkdown,
  postMarkdown,
  robots,
  sitemap,
} from './programs.ts';
import { createSearchLimit, followSlug, getPublic } from './service.ts';

const MAX_KEPT_BYTES = 8 * 1024 * 1024;

export interface PublicView {
  tx: ReadTx;
  publication: Publication;
  totalItems: number;
}

/** A body with the settings that it shows. */
export type PublicBody = Rendered & { readonly publication: Publication };

/** A text, or a function that makes it after the transaction, for work that takes milliseconds or waits. */
export type PublicText = string | (() => string | Promise<string>);

/** Renders and keeps public content. Every request compares settings and posts, so that a switch and a write show at once. */
export function createPublicPages(db: Pick<Storage, 'read'>) {
  // Compressed once and sent to many: level 9 saves a third of a page.
  const kept = keptBodies(MAX_KEPT_BYTES, 9);
  const pending = new Map<string, Promise<PublicBody>>();

  async function examine(tx: ReadTx, slug: string, surface: Surface) {
    const publication = await getPublic(tx, slug, surface);
    const { totalItems, version } = await tallyPosts(tx, publication.organizationId, PUBLIC_POSTS);
    // Deleting the logo's image changes the settings without a new version.
    const shown = `${publication.version} ${publication.logoId} ${version}`;
    return { publication, totalItems, version: shown };
  }

  return async function renderPublic(
    slug: string,
    surface: Surface,
    key: string,
    render: (view: PublicView) => Promise<PublicText>,
  ): Promise<PublicBody> {
    const name = `${slug} ${key}`;
    const { version, publication } = await db.read((tx) => examine(tx, slug, surface));
    const present = kept.find(name, version);
    if (present !== null) return { ...present, publication };

    const make = async (): Promise<PublicBody> => {
      const fresh = await db.read(async (tx) => {
        const current = await examine(tx, slug, surface);
        return { ...current, text: await render({ tx, ...current }) };
      });
      const text = typeof fresh.text === 'string' ? fresh.text : await fresh.text();
      const body = kept.keep(name, fresh.version, new TextEncoder().encode(text));
      return { ...body, publication: fresh.publication };
    };
    const work = `${name} ${version}`;
    const running = pending.get(work);
    if (running !== undefined) return running;
    const started = make().finally(() => pending.delete(work));
    pending.set(work, started);
    return started;
  };
}

export interface SiteDeps extends Pick<Deps, 'db' | 'clock' | 'log' | 'media' | 'publicUrl'> {
  readonly drawCard?: CardPainter['draw'];
  readonly peerAddress: (request: Request) => string | null;
  readonly clientIpHeader: string | undefined;
}

/** Content that is kept under `key` until a post or a setting changes. */
interface Content {
  key: string;
  type: string;
  make: (view: PublicView, publicUrl: string) => PublicText | Promise<PublicText>;
}

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';

const MAX_PAGE = 1_000_000;

const listAt = (page: number): Content => ({
  key: `list ${page}`,
  type: HTML,
  make: (view, publicUrl) => renderList(view, publicUrl, page),
});

const markdownAt = (page: number): Content => ({
  key: `list.md ${page}`,
  type: MARKDOWN,
  make: (view, publicUrl) => listMarkdown(view, publicUrl, page),
});

function sitemapAt(page: number): Content {
  const type = 'application/xml; charset=utf-8';
  return { key: `sitemap ${page}`, type, make: (view, publicUrl) => sitemap(view, publicUrl, page) };
}

function monthAt(name: string, page: number): Content {
  const key = `month ${name} ${page}`;
  const month = name.replace(/\.md$/, '');
  return month === name
    ? { key, type: HTML, make: (view, publicUrl) => renderMonth(view, publicUrl, month, page) }
    : { key, type: MARKDOWN, make: (view, publicUrl) => monthMarkdown(view, publicUrl, month, page) };
}

/** A file or a post. */
function contentOf(name: string, query: URLSearchParams): Content {
  const text = { key: name, type: 'text/plain; charset=utf-8' };
  if (name === 'index.md') return markdownAt(pageOf(query));
  if (name === 'llms.txt') return { ...text, make: llmsText };
  if (name === 'robots.txt') return { ...text, make: robots };
  if (name === 'icon.svg') return { key: name, type: 'image/svg+xml', make: icon };
  if (name === 'sitemap.xml') return sitemapAt(query.has('page') ? pageOf(query) : 0);
  const key = `post ${name}`;
  const id = name.replace(/\.md$/, '');
  return id === name
    ? { key, type: HTML, make: (view, publicUrl) => renderPost(view, publicUrl, id) }
    : { key, type: MARKDOWN, make: (view, publicUrl) => postMarkdown(view, publicUrl, id) };
}

export function createPublicSite(deps: SiteDeps) {
  const { db, publicUrl } = deps;
  const renderPublic = createPublicPages(db);
  const countSearch = createSearchLimit(deps.clock);
  const inTurn = createRenderQueue();
  const serveImage = imageServer(deps);
  const sendCard = createCards(deps);

  async function send(request: Request, slug: string, { key, type, make }: Content): Promise<Response> {
    const body = await renderPublic(slug, 'isPageOn', key, async (view) => {
      const text = await make(view, publicUrl());
      return typeof text === 'string' ? text : () => inTurn(text);
    });
    const headers = { 'content-type': type };
    if (type !== HTML) return publicContent(request, body, headers);
    return publicContent(request, body, {
      ...headers,
      'content-security-policy': pagePolicy(body.publication),
    });
  }

  /** Results are never kept: strangers choose the words. */
  async function search(request: Request, slug: string, query: URLSearchParams, client: string) {
    const q = requireQuery(query.get('q') ?? '');
    const page = pageOf(query);
    // An unknown page must not use up the limit.
    await db.read((tx) => getPublic(tx, slug, 'isPageOn'));
    countSearch(client);
    const { publication, html } = await db.read(
      async (tx) => {
        const current = await getPublic(tx, slug, 'isPageOn');
        const site = await siteOf(tx, current, publicUrl());
        return { publication: current, html: await renderResults(tx, site, { q, page }) };
      },
      { isLong: true },
    );
    return publicContent(request, rendered(new TextEncoder().encode(html)), {
      'content-type': HTML,
      'content-security-policy': pagePolicy(publication),
    });
  }

  /** The site of a page that is on; null for any other, and while the database is away. */
  async function findSite(slug: string): Promise<Site | null> {
    try {
      return await db.read(async (tx) => siteOf(tx, await getPublic(tx, slug, 'isPageOn'), publicUrl()));
    } catch {
      return null;
    }
  }

  /** A failure as a page for browsers. Throws it again for everybody else. */
  async function problem(request: Request, slug: string, error: unknown): Promise<Response> {
    if (!request.headers.get('accept')?.includes('text/html')) throw error;
    const known = knownFailure(error);
    if (known?.isRefusal !== true) {
      const requestId = requestIdOf(request);
      deps.log.error({ requestId, method: request.method, err: error }, 'request failed');
    }
    const status = known?.status ?? 500;
    const site = await findSite(slug);
    const message =
      known?.isRefusal !== true
        ? 'Something went wrong here. Try again in a moment.'
        : status === 404 && site === null
          ? 'There is no public page at this address.'
          : `${known.message}.`;
    return new Response(renderProblem(site, status, message), {
      status,
      headers: {
        ...known?.headers,
        'content-type': HTML,
        'content-security-policy': problemPolicy(site),
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        vary: 'accept',
      },
    });
  }

  /** Runs a handler, whose failures become pages for browsers. */
  const respond = (slug: string, request: Request, work: () => Promise<Response>) =>
    followSlug(request, publicUrl(), work).catch((error) => problem(request, slug, error));

  return {
    home(request: Request, name: string): Promise<Response> {
      // Bun forgets the address when the connection closes: read it before the first await.
      const client = clientAddress(request.headers, deps.peerAddress(request), deps.clientIpHeader);
      const slug = name.replace(/\.md$/, '');
      return respond(slug, request, async () => {
        const query = queryOf(request);
        if (slug !== name) return send(request, slug, markdownAt(pageOf(query)));
        if (query.get('q')?.trim()) return search(request, slug, query, client);
        return send(request, slug, listAt(pageOf(query)));
      });
    },
    named: (request: Request, slug: string, name: string) =>
      respond(
        slug,
        request,
        async () =>
          (await sendCard(request, slug, name)) ?? send(request, slug, contentOf(name, queryOf(request))),
      ),
    month: (request: Request, slug: string, name: string) =>
      respond(slug, request, async () => send(request, slug, monthAt(name, pageOf(queryOf(request))))),
    /** The page's images, so that a proxy needs one rule. The address of an image is a secret of its own. */
    image: (request: Request, slug: string, file: string) =>
      respond(slug, request, async () => {
        await db.read((tx) => getPublic(tx, slug, 'isPageOn'));
        return serveImage(request, file);
      }),
  };
}

const queryOf = ({ url }: Request) => new URL(url, 'http://localhost').searchParams;

/** Throws `AppError` 400. */
function pageOf(query: URLSearchParams): number {
  const page = query.get('page') ?? '1';
  if (query.getAll('page').length <= 1 && /^[1-9]\d{0,6}$/.test(page) && Number(page) <= MAX_PAGE) {
    return Number(page);
  }
  throw new AppError(400, 'The page must be a whole number of 1 or more');
}
