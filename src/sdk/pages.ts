import type { ListQuery, PostFilter, PostList } from './model.ts';
import { TidingsError } from './request.ts';

export interface PageFacts {
  nextPage: number | null;
  totalItems: number;
}

/**
 * Reads the pages of a list, which may change meanwhile. When posts leave the list, later ones move up across the
 * boundary of a page that was read. The total shows how many, so this steps back as many pages as they may have moved.
 * A page may come twice.
 */
export async function* eachPage<Page extends PageFacts>(
  limit: number,
  read: (page: number) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  let total = 0;
  for (let page: number | null = 1; page !== null; ) {
    const current: Page = await read(page);
    const removed: number = total - current.totalItems;
    total = current.totalItems;
    if (removed > 0 && page > 1) {
      page = Math.max(1, page - Math.ceil(removed / limit));
    } else {
      yield current;
      page = current.nextPage;
    }
  }
}

/** `?limit=10&status=draft&status=published`, or an empty text. */
export function queryOf(query: ListQuery | PostFilter): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** Throws `TidingsError` when a body with status 200 is something else, such as the page of a proxy. */
export function parseList(text: string): PostList {
  const body = parseBody(text);
  const { posts, pagination } = body;
  if (!Array.isArray(posts) || typeof pagination !== 'object' || pagination === null) throw notFromTidings();
  return body as unknown as PostList;
}

export function parseBody(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>;
  } catch {
    // The error below says the same.
  }
  throw notFromTidings();
}

export function notFromTidings(): TidingsError {
  return new TidingsError(200, 'The response is not from Tidings. Check `baseUrl`.');
}
