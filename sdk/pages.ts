import type { ListQuery, Post, PostFilter, PostList } from './model.ts';
import { TidingsError } from './request.ts';

/** A part of the list, in its order. */
export interface Page {
  query: PageQuery;
  /** The places of its posts in the list: `createdAt` and `id`. */
  keys: readonly (readonly [createdAt: string, id: string])[];
  nextPage: number | null;
}

export interface PageQuery {
  limit: number;
  page: number;
}

interface Options {
  limit: number;
  sort?: 'asc' | 'desc' | undefined;
}

/** Gets the page that this query had before, and returns it if it is the same (304). */
type Read<Each extends Page> = (query: PageQuery, before: Each | undefined) => Promise<Each>;

/** The API's largest page. */
const MAX_LIMIT = 100;
/** Reading ends after these, even if others change the list again and again. */
const MAX_PASSES = 6;

/**
 * Reads all pages of a list, which may change meanwhile: again and again until none of them changed, because a post whose
 * date changes may move to a page that was already read. A list of one page is read once. `known` has the pages of an
 * earlier time, by `queryOf`, and then the newest ones.
 */
export async function* eachPage<Each extends Page>(
  options: Options,
  read: Read<Each>,
  known = new Map<string, Each>(),
): AsyncGenerator<Each, void, undefined> {
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    let count = 0;
    let isSame = pass > 1;
    const pages = onePass(options, (query) => read(query, known.get(queryOf(query))));
    for await (const page of pages) {
      const name = queryOf(page.query);
      isSame &&= isEqual(page, known.get(name));
      known.set(name, page);
      count++;
      yield page;
    }
    if (isSame || count === 1) return;
  }
}

const isEqual = (one: Page, other: Page | undefined) =>
  one === other ||
  JSON.stringify([one.nextPage, one.keys]) === JSON.stringify([other?.nextPage, other?.keys]);

/**
 * Each page must begin at or before the last post that was read: then no post between two pages is skipped, whatever was
 * added or removed. Pages of one size meet without an overlap, so the sizes vary, `limit` at most where that works.
 */
async function* onePass<Each extends Page>(
  { limit, sort = 'desc' }: Options,
  read: (query: PageQuery) => Promise<Each>,
): AsyncGenerator<Each, void, undefined> {
  let last: Page['keys'][number] | null = null;
  /** How many posts of the list are at or before `last`, as of the last page. */
  let passed = 0;
  let stepBack = limit;
  for (;;) {
    const query = passed === 0 ? { limit, page: 1 } : overlapping(passed, limit);
    const page = await read(query);
    const { keys } = page;
    const isAfterLast = (key: Page['keys'][number]) =>
      last === null || (sort === 'asc' ? compare(key, last) > 0 : compare(key, last) < 0);
    const [first] = keys;
    // Posts before this page are gone, so others may have moved up past its beginning.
    if (query.page > 1 && (first === undefined || isAfterLast(first))) {
      passed = Math.max(0, passed - stepBack);
      stepBack *= 2;
      continue;
    }
    stepBack = limit;
    yield page;
    if (page.nextPage === null) return;
    passed = (query.page - 1) * query.limit + keys.length;
    last = keys.findLast(isAfterLast) ?? last;
  }
}

/** The page that begins at or before the post number `passed`, and reaches furthest beyond it. */
function overlapping(passed: number, limit: number): PageQuery {
  const endOf = (size: number) => Math.ceil(passed / size) * size;
  const sizes = Array.from({ length: MAX_LIMIT }, (_, index) => index + 1);
  const usual = sizes.slice(0, limit).toSorted((one, other) => endOf(other) - endOf(one))[0] ?? 1;
  // A number that all these sizes divide needs a larger one.
  const size = endOf(usual) > passed ? usual : (sizes.find((each) => passed % each !== 0) ?? limit);
  return { limit: size, page: endOf(size) / size };
}

function compare(one: Page['keys'][number], other: Page['keys'][number]): number {
  const [a, b] = one[0] === other[0] ? [one[1], other[1]] : [one[0], other[0]];
  return a < b ? -1 : Number(a > b);
}

export const keysOf = (posts: readonly Post[]) => posts.map(({ createdAt, id }) => [createdAt, id] as const);

/** `?limit=10&status=draft&status=published`, or an empty text. */
export function queryOf(query: ListQuery | PostFilter | PageQuery): string {
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
  if (!Array.isArray(posts) || !posts.every(isPost) || !isObject(pagination)) throw notFromTidings();
  // Without an end, `eachPage` would read for ever.
  if (pagination.nextPage !== null && !Number.isInteger(pagination.nextPage)) throw notFromTidings();
  return body as unknown as PostList;
}

export function isPost(value: unknown): value is Post {
  return isObject(value) && typeof value.id === 'string' && typeof value.createdAt === 'string';
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

export function parseBody(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    if (isObject(body)) return body;
  } catch {
    // The error below says the same.
  }
  throw notFromTidings();
}

export function notFromTidings(): TidingsError {
  return new TidingsError(200, 'The response is not from Tidings. Check `baseUrl`.');
}
