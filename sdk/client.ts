import type { ListQuery, Post, PostFilter, PostList } from './model.ts';
import {
  eachPage,
  isPost,
  keysOf,
  notFromTidings,
  type Page,
  parseBody,
  parseList,
  queryOf,
} from './pages.ts';
import { type ClientOptions, createSend, postsUrl, requirePostId } from './request.ts';

export type {
  ContentType,
  ListQuery,
  Pagination,
  Post,
  PostFilter,
  PostList,
  PostStatus,
} from './model.ts';
export { type ClientOptions, TidingsError } from './request.ts';

export interface RequestOptions {
  /** Cancels the request, and the wait before a retry. */
  signal?: AbortSignal | undefined;
}

export interface TidingsClient {
  /** Reads one page. Throws `TidingsError`. */
  listPosts(query?: ListQuery, options?: RequestOptions): Promise<PostList>;
  /** Null if the post does not exist or does not match the filter. Throws `TidingsError`. */
  getPost(postId: string, filter?: PostFilter, options?: RequestOptions): Promise<Post | null>;
  /**
   * Reads all pages, each when you need it, with up to 100 posts per page by default. No post comes twice. Others may change
   * the list meanwhile. So the pages are read again until none of them changed, mostly as 304, five more times at most: a
   * post that is in the list all the time is never skipped, unless its date changes more than once. A post that is added
   * meanwhile may be missing.
   */
  posts(query?: Omit<ListQuery, 'page'>, options?: RequestOptions): AsyncGenerator<Post, void, undefined>;
}

export interface CreateOptions extends ClientOptions {
  /**
   * Responses by URL, for the next 304. Save the entries to reuse them in another process, such as the next build of a
   * site. Default: a new map.
   */
  kept?: Map<string, KeptResponse> | undefined;
  /** The most characters of responses to keep. The client then drops the ones that were used longest ago. Default: 8 Mi. */
  maxKeptLength?: number | undefined;
}

export interface KeptResponse {
  etag: string;
  text: string;
}

const MAX_KEPT_LENGTH = 8 * 1024 * 1024;

/**
 * Reads the posts of an organization. Sends the entity tag of a kept response, and returns that response when the server
 * confirms it. Throws a `TypeError` when an option is invalid.
 */
export function createClient({ kept = new Map(), maxKeptLength, ...options }: CreateOptions): TidingsClient {
  const send = createSend(options);
  const root = postsUrl(options);
  const responses = keptResponses(kept, maxKeptLength ?? MAX_KEPT_LENGTH);

  /** `text` is null if the response still has the entity tag `seen`. */
  async function request(
    path: string,
    seen: string | null,
    signal?: AbortSignal,
  ): Promise<{ text: string | null; etag: string | null }> {
    const url = `${root}${path}`;
    const before = responses.find(url);
    const { text, etag } = await send(url, seen ?? before?.etag ?? null, signal);
    if (text === null) return { text: seen === null && before !== undefined ? before.text : null, etag };
    if (etag !== null) responses.keep(url, { etag, text });
    return { text, etag };
  }

  const read = async (path: string, signal?: AbortSignal) => (await request(path, null, signal)).text ?? '';

  return {
    async listPosts(query = {}, { signal } = {}) {
      return parseList(await read(queryOf(query), signal));
    },

    async getPost(postId, filter = {}, { signal } = {}) {
      const { post } = parseBody(await read(`/${requirePostId(postId)}${queryOf(filter)}`, signal));
      if (post !== null && !isPost(post)) throw notFromTidings();
      return post;
    },

    async *posts(query = {}, { signal } = {}) {
      const { limit = 100, sort } = query;
      const pages = eachPage<PageOfPosts>({ limit, sort }, async (part, before) => {
        const { text, etag } = await request(queryOf({ ...query, ...part }), before?.etag ?? null, signal);
        if (text === null && before !== undefined) return before;
        const { posts, pagination } = parseList(text ?? '');
        return { query: part, posts, keys: keysOf(posts), nextPage: pagination.nextPage, etag };
      });
      const seen = new Set<string>();
      for await (const page of pages) {
        // Only its keys are needed when the page is read again.
        for (const post of page.posts.splice(0)) {
          if (seen.has(post.id)) continue;
          seen.add(post.id);
          yield post;
        }
      }
    },
  };
}

interface PageOfPosts extends Page {
  posts: Post[];
  etag: string | null;
}

/** Keeps texts, so that a caller may change what was parsed from them. */
function keptResponses(kept: Map<string, KeptResponse>, maxLength: number) {
  let length = 0;
  for (const { text } of kept.values()) length += text.length;

  function drop(url: string): void {
    length -= kept.get(url)?.text.length ?? 0;
    kept.delete(url);
  }

  function keep(url: string, response: KeptResponse): void {
    drop(url);
    if (response.text.length > maxLength) return;
    kept.set(url, response);
    length += response.text.length;
    // A Map keeps its keys in the order of insertion.
    for (const oldest of kept.keys()) {
      if (length <= maxLength) break;
      drop(oldest);
    }
  }

  return {
    keep,
    find(url: string): KeptResponse | undefined {
      const response = kept.get(url);
      if (response !== undefined) keep(url, response);
      return response;
    },
  };
}
