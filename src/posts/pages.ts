import type { Database } from '../../db/client.ts';
import { type Rendered, rendered } from '../lib/rendered.ts';
import type { PageSelection, Pagination, PostSelection } from './model.ts';
import { findPostJson, listPostPage, type PostJson, tallyPosts } from './store.ts';

// The bodies of the content API, joined from the bytes that the store keeps: no post is parsed or written anew.

/** What all kept pages may weigh together, in bytes. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** What keeping a page costs beside its bodies, in bytes, roughly: key, version, map entry. */
const OVERHEAD_BYTES = 1024;

interface KeptPage extends Rendered {
  version: string;
  keptBytes: number;
}

export interface Pages {
  /** The body of a list response. */
  renderPage(organizationId: string, selection: PageSelection): Promise<Rendered>;
}

/**
 * Pages as they were last sent. A kept page is used only while the version of what it was read from stands in
 * the database, which every request asks: a write of any process shows in the very next response.
 */
export function createPages(db: Database, maxKeptBytes = MAX_KEPT_BYTES): Pages {
  const kept = new Map<string, KeptPage>();
  let keptBytes = 0;

  function drop(key: string): void {
    keptBytes -= kept.get(key)?.keptBytes ?? 0;
    kept.delete(key);
  }

  /** Counts bytes of a page, unless it was dropped meanwhile. */
  function count(key: string, page: KeptPage, bytes: number): void {
    if (kept.get(key) !== page) return;
    page.keptBytes += bytes;
    keptBytes += bytes;
    // The oldest go first: a Map keeps the order in which keys came.
    for (const oldest of kept.keys()) {
      if (keptBytes <= maxKeptBytes) break;
      drop(oldest);
    }
  }

  return {
    async renderPage(organizationId, selection) {
      const { statuses, contentTypes, limit, page, sort } = selection;
      const key = `${organizationId} ${statuses} ${contentTypes} ${limit} ${page} ${sort}`;
      const { version } = await tallyPosts(db, organizationId, selection);
      const found = kept.get(key);
      if (found?.version === version) return found;

      const fresh = await listPostPage(db, organizationId, selection);
      const body = listBody(fresh.posts, paginate(fresh.totalItems, selection));
      const result: KeptPage = {
        ...rendered(body, (bytes) => count(key, result, bytes)),
        version: fresh.version,
        keptBytes: 0,
      };
      drop(key);
      kept.set(key, result);
      count(key, result, body.byteLength + OVERHEAD_BYTES);
      return result;
    },
  };
}

/** The body of a get-one response: the post, or null (section 4.2 of the spec). */
export async function renderPost(
  db: Database,
  organizationId: string,
  postId: string,
  selection: PostSelection,
): Promise<Rendered> {
  const json = await findPostJson(db, organizationId, postId, selection);
  return rendered(json === null ? bytes('{"post":null}') : concat([bytes('{"post":'), json, bytes('}')]));
}

/** Section 2 of the spec; `totalPages` is at least 1, and a page past the end points back one page. */
function paginate(totalItems: number, { limit, page }: Pick<PageSelection, 'limit' | 'page'>): Pagination {
  const totalPages = Math.max(1, Math.ceil(totalItems / limit));
  return {
    limit,
    currentPage: page,
    nextPage: page < totalPages ? page + 1 : null,
    previousPage: page > 1 ? page - 1 : null,
    totalPages,
    totalItems,
  };
}

function listBody(posts: readonly PostJson[], pagination: Pagination): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [OPENING];
  for (const post of posts) {
    if (parts.length > 1) parts.push(COMMA);
    parts.push(post);
  }
  parts.push(bytes(`],"pagination":${JSON.stringify(pagination)}}`));
  return concat(parts);
}

const encoder = new TextEncoder();
const bytes = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);
const OPENING = bytes('{"posts":[');
const COMMA = bytes(',');

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Bun.concatArrayBuffers(parts as Uint8Array<ArrayBuffer>[], Number.POSITIVE_INFINITY, true);
}
