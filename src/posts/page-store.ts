import { and, asc, desc, eq, inArray, type Placeholder, sql } from 'drizzle-orm';
import { dialectOf, prepared, type ReadTx } from '../../db/engine.ts';
import { posts } from '../../db/schema/posts.ts';
import {
  contentTypes,
  type PageSelection,
  type PostJson,
  type PostSelection,
  postStatuses,
} from './model.ts';

// The rows of one page of a list.

interface Window {
  take: number;
  /** Posts of the list to skip, from the end that is nearer. */
  offset: number;
  ascending: boolean;
}

/** A page in the second half is read from the end backwards, so that the last page costs as much as the first. */
export function pageWindow(totalItems: number, { limit, page, sort }: PageSelection): Window {
  const before = (page - 1) * limit;
  const take = Math.max(0, Math.min(limit, totalItems - before));
  const after = Math.max(0, totalItems - before - take);
  const isOldestFirst = sort === 'asc';
  const fromEnd = after < before;
  return { take, offset: fromEnd ? after : before, ascending: isOldestFirst !== fromEnd };
}

/** By filter and direction. */
const pageStatements = prepared(() => new Map<string, ReturnType<typeof buildPageStatement>>());

export async function listStoredPage(
  tx: ReadTx,
  organizationId: string,
  selection: PageSelection,
  { take, offset, ascending }: Window,
): Promise<PostJson[]> {
  if (take === 0) return [];
  const pages = pageStatements(tx);
  const { statuses, contentTypes: types } = selection;
  const key = `${[...statuses].sort()} ${[...types].sort()} ${ascending}`;
  const statement = pages.get(key) ?? buildPageStatement(tx, selection, ascending);
  pages.set(key, statement);
  const rows = await statement.values({ organizationId, take, offset });
  return inOrder(
    rows.map(([json]) => json as PostJson),
    ascending,
    selection,
  );
}

/** Turns posts that were read in the other direction. */
function inOrder<Item>(items: Item[], ascending: boolean, { sort }: PageSelection): Item[] {
  return ascending === (sort === 'asc') ? items : items.reverse();
}

/** Walks one index to the page's rows, then reads only their JSON, so that skipping posts reads none of them. */
function buildPageStatement(tx: ReadTx, selection: PostSelection, ascending: boolean) {
  const order = ascending ? asc : desc;
  const { postKey } = dialectOf(tx);
  const isListed = matches(sql.placeholder('organizationId'), selection);
  const window = tx
    .select({ key: sql`${postKey}`.as('window_key'), createdAt: posts.createdAt, id: posts.id })
    .from(posts)
    .where(isListed)
    .orderBy(order(posts.createdAt), order(posts.id))
    .limit(sql.placeholder('take'))
    .offset(sql.placeholder('offset'))
    .as('window');
  return tx
    .select({ json: posts.json })
    .from(window)
    .innerJoin(posts, eq(sql`${posts}.${postKey}`, window.key))
    .orderBy(order(window.createdAt), order(window.id))
    .prepare();
}

/** The same list while an import is applied: SQLite merges the walks along both tables. */
export async function listAppliedPage(
  tx: ReadTx,
  organizationId: string,
  selection: PageSelection,
  { take, offset, ascending }: Window,
): Promise<PostJson[]> {
  const order = ascending ? sql`asc` : sql`desc`;
  const isListed = matches(organizationId, selection);
  const rows = await tx.values<[PostJson]>(sql`
    select coalesce(
      (select json from staged_posts where id = page.id),
      (select json from posts where id = page.id)
    ) from (
      select created_at, id from posts
      where ${isListed} and not exists (select 1 from staged_posts where staged_posts.id = posts.id)
      union all
      select created_at, id from staged_posts where ${isListed}
      order by created_at ${order}, id ${order} limit ${take} offset ${offset}
    ) as page order by created_at ${order}, id ${order}`);
  return inOrder(
    rows.map(([json]) => json),
    ascending,
    selection,
  );
}

/** All values of a filter are no filter. */
export function matches(
  organizationId: string | Placeholder,
  { statuses, contentTypes: types }: PostSelection,
) {
  return and(
    sql`organization_id = ${organizationId}`,
    statuses.length < postStatuses.length ? inArray(sql`status`, statuses) : undefined,
    types.length < contentTypes.length ? inArray(sql`content_type`, types) : undefined,
  );
}
