/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../lib/app-error.ts';

// Links between the pages of a list, and to the months of the archive.

/** Months in the archive. */
export const MAX_MONTHS = 120;

const monthName = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' });
const nameOf = (month: string) => monthName.format(new Date(`${month}-01T00:00:00Z`));

/** Such as "November 2026". */
export const formatMonth = (month: string) => `${nameOf(month)} ${month.slice(0, 4)}`;

export const pathOfPage = (page: number) => (page === 1 ? '' : `?page=${page}`);

/** Throws `AppError` 404 for a page past the end. */
export function requirePage(page: number, totalPages: number): void {
  if (page <= totalPages) return;
  throw new AppError(404, `Page ${page} does not exist. The last one is ${totalPages}`);
}

/** Links to the pages before and after. `pathOf`: the path of a page after the site's address. */
export function Pager({
  base,
  page,
  totalPages,
  pathOf,
}: {
  base: string;
  page: number;
  totalPages: number;
  pathOf: (page: number) => string;
}) {
  if (totalPages === 1) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {page > 1 ? (
        <a href={base + pathOf(page - 1)} rel="prev">
          Newer posts
        </a>
      ) : (
        <span />
      )}
      <span>
        Page {page} of {totalPages}
      </span>
      {page < totalPages ? (
        <a href={base + pathOf(page + 1)} rel="next">
          Older posts
        </a>
      ) : (
        <span />
      )}
    </nav>
  );
}

/** Links to the months that have posts, by year. */
export function MonthIndex({
  base,
  months,
  current,
}: {
  base: string;
  months: readonly string[];
  current?: string;
}) {
  const years = Map.groupBy(months, (month) => month.slice(0, 4));
  return (
    <nav class="months" aria-labelledby="archive">
      <h2 id="archive">Archive</h2>
      <dl>
        {[...years].map(([year, ofYear]) => (
          <div>
            <dt>{year}</dt>
            <dd>
              {ofYear.map((month) => (
                <a href={`${base}/archive/${month}`} aria-current={month === current ? 'page' : undefined}>
                  {nameOf(month).slice(0, 3)}
                  <span class="hidden">{` ${year}`}</span>
                </a>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </nav>
  );
}
