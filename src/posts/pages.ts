import type { Storage } from '../../db/engine.ts';
import { type Rendered, rendered } from '../http/respond.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { RepeatVerdict } from '../people/keys/store.ts';
import type { PageSelection, Pagination, PostSelection } from './model.ts';
import { findPost, listPostPage } from './store.ts';

// The bodies of the content API, and responses that are given again.

export async function renderPage(
  db: Pick<Storage, 'read'>,
  organizationId: string,
  selection: PageSelection,
): Promise<Rendered> {
  const name = `page ${organizationId} ${JSON.stringify(selection)}`;
  const { posts, totalItems } = await db.read((tx) => listPostPage(tx, organizationId, selection), { name });
  return rendered(toJson({ posts, pagination: paginate(totalItems, selection) }));
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

const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** The rough cost of a response beside its body and its request. */
const OVERHEAD_BYTES = 2048;

export interface Answer {
  /** The version of the database, from before anything was read for the response. */
  version: number;
  /** The pattern of the route, for metrics. */
  route: string;
  repeatVerdict: RepeatVerdict;
  response: Response;
  bodyBytes: number;
}

export type Repeats = ReturnType<typeof createRepeats>;

/**
 * Gives responses of the content API again to equal requests, until any process commits anything. A change of a post or
 * of a key is a commit, so it shows in the next response.
 */
export function createRepeats(
  { version }: Pick<Storage, 'version'>,
  { verifications, verificationDurations }: Pick<Metrics, 'verifications' | 'verificationDurations'>,
  maxKeptBytes = MAX_KEPT_BYTES,
) {
  const kept = new BoundedMap<string, Answer>(maxKeptBytes);

  return {
    version,

    /** Null: the request must be handled. A copy of a response shares its body, and takes a tenth of the time. */
    find(request: Request): { route: string; response: Response } | null {
      if (kept.size === 0 || request.method !== 'GET') return null;
      const present = kept.get(keyOf(request));
      if (present === undefined || present.version !== version() || !present.repeatVerdict()) return null;
      verifications.valid.value++;
      verificationDurations.observe(0);
      return { route: present.route, response: present.response.clone() as Response };
    },

    /** `answer.response` may be sent afterwards. */
    keep(request: Request, answer: Answer): void {
      if (request.method !== 'GET') return;
      const key = keyOf(request);
      // A URL and its headers may be as long as a page of posts.
      const bytes = OVERHEAD_BYTES + key.length + answer.bodyBytes;
      kept.set(key, { ...answer, response: answer.response.clone() as Response }, bytes);
    },
  };
}

/** Everything that a response of the content API depends on. */
function keyOf({ url, headers }: Request): string {
  const [etag, coding] = [headers.get('if-none-match'), headers.get('accept-encoding')];
  return `${url}\n${headers.get('authorization')}\n${etag}\n${coding}`;
}
