/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../lib/app-error.ts';
import type { PublicText, PublicView } from './kept.ts';
import { formatMonth, MAX_MONTHS, MonthIndex, Pager, pathOfPage, requirePage } from './navigation.tsx';
import { Day, renderPage, siteOf } from './page.tsx';
import { countMonth, listLines, listMonths } from './post-store.ts';

// The posts of a month by title, and links to all months.

const LINES_PER_PAGE = 100;

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/** A page of a month's posts. Throws `AppError` 404 for a month without posts, and past the end. */
export async function readMonth({ tx, publication }: PublicView, month: string, page: number) {
  const { organizationId } = publication;
  const totalItems = MONTH.test(month) ? await countMonth(tx, organizationId, month) : 0;
  const totalPages = Math.ceil(totalItems / LINES_PER_PAGE);
  if (totalPages === 0)
    throw new AppError(404, `No posts in ${MONTH.test(month) ? formatMonth(month) : 'this month'}`);
  requirePage(page, totalPages);
  const window = { month, limit: LINES_PER_PAGE, offset: (page - 1) * LINES_PER_PAGE };
  return { lines: await listLines(tx, organizationId, window), totalPages };
}

export async function renderMonth(
  view: PublicView,
  publicUrl: string,
  month: string,
  page: number,
): Promise<PublicText> {
  const { tx, publication } = view;
  const { lines, totalPages } = await readMonth(view, month, page);
  const site = await siteOf(tx, publication, publicUrl);
  const months = await listMonths(tx, publication.organizationId, MAX_MONTHS);
  const pathOf = (number: number) => `/archive/${month}${pathOfPage(number)}`;
  return () =>
    renderPage(site, {
      title: formatMonth(month) + (page === 1 ? '' : `, page ${page}`),
      path: pathOf(page),
      markdownPath: `/archive/${month}.md${pathOfPage(page)}`,
      q: '',
      children: (
        <>
          <h1>{formatMonth(month)}</h1>
          <ul class="lines">
            {lines.map(({ id, title, createdAt }) => (
              <li>
                <a href={`${site.base}/${id}`} dir="auto">
                  {title}
                </a>
                <Day at={createdAt} />
              </li>
            ))}
          </ul>
          <Pager base={site.base} page={page} totalPages={totalPages} pathOf={pathOf} />
          <MonthIndex base={site.base} months={months} current={month} />
        </>
      ),
    });
}
