import type { Database } from '../../db/client.ts';
import { type Rendered, rendered } from '../http/respond.ts';
import type { PageSelection, Pagination, PostJson, PostSelection } from './model.ts';
import { findPostJson, listPostPage, tallyPosts } from './store.ts';

// The bodies of the content API, joined from the bytes in the database: no post is parsed or serialized.

/** For all kept pages together. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** The rough cost of a kept page beside its bodies: key, version, map entry. */
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
 * Keeps pages as they were last sent. Every request compares the page's version with the database, so a write of any
 * process shows in the next response.
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
    // Drop the oldest first: a Map keeps its keys in the order of insertion.
    for (const oldest of kept.keys()) {
      if (keptBytes <= maxKeptBytes) break;
      drop(oldest);
    }
  }

  return {
    async renderPage(organizationId, selection) {
      const { statuses, contentTypes, limit, page, sort } = selection;
      const key = `${organizationId} ${statuses} ${contentTypes} ${limit} ${page} ${sort}`;
      const current = await db.read(async (tx) => {
        const { version } = await tallyPosts(tx, organizationId, selection);
        const present = kept.get(key);
        return present?.version === version ? present : listPostPage(tx, organizationId, selection);
      });
      if (!('posts' in current)) return current;

      const body = listBody(current.posts, paginate(current.totalItems, selection));
      const fresh: KeptPage = {
        ...rendered(body, (bytes) => count(key, fresh, bytes)),
        version: current.version,
        keptBytes: 0,
      };
      drop(key);
      kept.set(key, fresh);
      count(key, fresh, body.byteLength + OVERHEAD_BYTES);
      return fresh;
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
  const json = await db.read((tx) => findPostJson(tx, organizationId, postId, selection));
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
