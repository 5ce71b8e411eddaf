import type { Loader, LoaderContext } from 'astro/loaders';
import { CONTENT_TYPES, type Post, type PostFilter } from './model.ts';
import { eachPage, keysOf, type Page, type PageQuery, parseList, queryOf } from './pages.ts';
import { type ClientOptions, createSend, postsUrl } from './request.ts';

export interface TidingsLoaderOptions extends ClientOptions, PostFilter {}

/** A page of the last load. The store has its posts. */
interface KnownPage extends Page {
  etag: string | null;
}

interface LastLoad {
  /** The URL with its filters: other options read other posts. */
  source: string;
  pages: KnownPage[];
}

const LIMIT = 100;
const META = 'tidings-pages';

/**
 * A content loader for Astro 6 and later: one entry for each post, `changelog` posts by default. A load requests only
 * pages that changed, renders only posts that changed, and removes entries whose posts are gone. Throws `TidingsError`,
 * which fails the build and keeps the entries.
 */
export function tidingsLoader(options: TidingsLoaderOptions): Loader {
  const { status, contentType = 'changelog' } = options;
  const source = `${postsUrl(options)}${queryOf({ sort: 'desc', status, contentType })}`;

  return {
    name: 'tidings',

    async load(context) {
      const { store, meta, logger } = context;
      if (!options.key && needsTypesAlone()) return logger.warn('No API key: types without posts');
      const send = createSend(options);
      const known = knownPages(context, source);
      const last = new Set(known.values());
      // An interrupted load must not combine its entries with the pages of the load before.
      meta.delete(META);
      const pages = new Set<KnownPage>();
      let changed = 0;
      const read = async (query: PageQuery, before: KnownPage | undefined): Promise<KnownPage> => {
        const { etag, text } = await send(
          `${source}${queryOf(query).replace('?', '&')}`,
          before?.etag ?? null,
        );
        if (text === null && before !== undefined) return before;
        const { posts, pagination } = parseList(text ?? '');
        for (const post of posts) if (await save(context, post)) changed++;
        return { query, etag, nextPage: pagination.nextPage, keys: keysOf(posts) };
      };
      for await (const page of eachPage({ limit: LIMIT }, read, known)) pages.add(page);

      const ids = new Set([...pages].flatMap(({ keys }) => keys.map(([, id]) => id)));
      const gone = store.keys().filter((id) => !ids.has(id));
      for (const id of gone) store.delete(id);
      meta.set(META, JSON.stringify({ source, pages: [...pages] } satisfies LastLoad));
      if ([...pages].every((page) => last.has(page))) logger.info(`${ids.size} posts, unchanged (304)`);
      else logger.info(`${ids.size} posts: ${changed} new or changed, ${gone.length} removed`);
    },

    async createSchema() {
      const { z } = await import('astro/zod');
      const schema = z.object({
        title: z.string(),
        content: z.string(),
        contentType: z.enum([...CONTENT_TYPES]),
        status: z.enum(['draft', 'published']),
        sourceMetadata: z.record(z.string(), z.unknown()).nullable(),
        createdAt: z.coerce.date(),
        updatedAt: z.coerce.date(),
      });
      return { schema, types: ENTRY };
    },
  };
}

/** The type of an entry's `data`, which Astro writes into the types of the site. */
const ENTRY = `export interface Entry {
  title: string;
  /** The body as plain text. */
  content: string;
  contentType: ${CONTENT_TYPES.map((type) => `'${type}'`).join(' | ')};
  status: 'draft' | 'published';
  sourceMetadata: { [key: string]: unknown } | null;
  createdAt: Date;
  updatedAt: Date;
}
`;

/** `astro check` and `astro sync` load content as builds do, often where there is no key. */
function needsTypesAlone(): boolean {
  const { process } = globalThis as { process?: { argv: readonly string[] } };
  return ['check', 'sync'].includes(process?.argv[2] ?? '');
}

/** Pages of the last load, when the store still has their posts. */
function knownPages({ meta, store }: LoaderContext, source: string): Map<string, KnownPage> {
  const text = meta.get(META);
  if (text === undefined) return new Map();
  const last = JSON.parse(text) as LastLoad;
  const isWhole =
    last.source === source && last.pages.every(({ keys }) => keys.every(([, id]) => store.has(id)));
  return new Map(isWhole ? last.pages.map((page) => [queryOf(page.query), page]) : []);
}

/** Renders and stores a post. False when the store has the same. */
async function save(context: LoaderContext, post: Post): Promise<boolean> {
  const { store, parseData, renderMarkdown, generateDigest } = context;
  const { id, markdown, ...rest } = post;
  const digest = generateDigest(JSON.stringify(post));
  if (store.get(id)?.digest === digest) return false;
  const data = await parseData({ id, data: rest });
  store.set({ id, data, body: markdown, rendered: await renderMarkdown(markdown), digest });
  return true;
}
