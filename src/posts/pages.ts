import type { Storage } from '../../db/engine.ts';
import { keptBodies, type Rendered, rendered } from '../http/respond.ts';
import { firstTimes } from '../lib/bounded-map.ts';
import type { PageSelection, Pagination, PostSelection } from './model.ts';
import { findPost, listPostPage, tallyPosts } from './store.ts';

// The bodies of the content API.

/** For all kept pages together. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** How many pages are remembered as asked for once. */
const MAX_SEEN = 4096;

/**
 * Keeps pages as sent that were asked for twice: a client that walks through a list replaces none. Every request compares
 * versions with the database, so a write shows in the next response.
 */
export function createPages(db: Pick<Storage, 'read'>, maxKeptBytes = MAX_KEPT_BYTES) {
  const kept = keptBodies(maxKeptBytes);
  const isFirst = firstTimes(MAX_SEEN);

  return async function renderPage(organizationId: string, selection: PageSelection): Promise<Rendered> {
    const { statuses, contentTypes, limit, page, sort } = selection;
    const key = `${organizationId} ${statuses} ${contentTypes} ${limit} ${page} ${sort}`;
    // Only a kept page is compared first: the read of a new one counts the posts itself.
    const tally = kept.has(key)
      ? await db.read((tx) => tallyPosts(tx, organizationId, selection), {
          single: true,
          name: `posts ${key}`,
        })
      : null;
    const present = tally && kept.find(key, tally.version);
    if (present !== null) return present;

    const current = await db.read((tx) => listPostPage(tx, organizationId, selection, tally?.totalItems));
    const { version, posts, totalItems } = current;
    const body = toJson({ posts, pagination: paginate(totalItems, selection) });
    return isFirst(key) ? rendered(body) : kept.keep(key, version, body);
  };
}

/** The body of a get-one response: the post, or null (section 4.2 of the spec). */
export async function renderPost(
  db: Pick<Storage, 'read'>,
  organizationId: string,
  postId: string,
  selection: PostSelection,
): Promise<Rendered> {
  const post = await db.read((tx) => findPost(tx, organizationId, postId, selection), { single: true });
  return rendered(toJson({ post }));
}

/** Section 2 of the spec; `totalPages` is at least 1, and a page past the end points back one page. */
function paginate(totalItems: number, { limit, page }: PageSelection): Pagination {
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

const encoder = new TextEncoder();
const toJson = (body: object): Uint8Array<ArrayBuffer> => encoder.encode(JSON.stringify(body));
