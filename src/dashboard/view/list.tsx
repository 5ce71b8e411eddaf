import type { ComponentChildren } from 'preact';
import { hrefOf, Icon, Link, Status, useHref, useVisit, When } from './elements.tsx';

// Lists: tables and their selection, filters, pages, and what stands in place of an empty one.

export interface Column<Row> {
  title: string;
  /** Only screen readers read the title. */
  isTitleHidden?: boolean;
  /** Repeats the title in the cell on a narrow screen. */
  isLabeled?: boolean;
  class?: string;
  /** Makes this the main cell: its first link covers the row, and its lines are cut where the room ends. */
  isMain?: boolean;
  /** Null: an empty cell, which a narrow screen leaves out. */
  cell: (row: Row) => ComponentChildren;
}

/** The last column, with the buttons of a row. */
export const actionsColumn = { title: 'Actions', isTitleHidden: true, class: 'end' } as const;

export const statusColumn: Column<{ status: string }> = {
  title: 'Status',
  class: 'short',
  cell: ({ status }) => <Status status={status} />,
};

export const dateColumn = (title = 'Date'): Column<{ createdAt: string | null }> => ({
  title,
  class: 'end dim',
  cell: ({ createdAt }) => createdAt && <When at={createdAt} />,
});

/** Checkboxes before the rows. They belong to the `SelectionBar` with this id. */
interface Selection<Row> {
  form: string;
  valueOf: (row: Row) => string;
  /** Names the row for a screen reader. */
  labelOf: (row: Row, zone: string) => string;
}

interface Body<Row> {
  columns: readonly (Column<NoInfer<Row>> | false | null)[];
  rows: readonly Row[];
  selection?: Selection<Row> | undefined;
  /** Attributes by which the script finds a row. */
  marksOf?: (row: Row) => { id?: string };
}

export function Table<Row>({ caption, kind = '', ...body }: Body<Row> & { caption: string; kind?: string }) {
  return (
    <div class="card">
      <table class={`list ${kind}`.trim()}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {body.selection && (
              <th scope="col" class="select">
                <label data-script hidden>
                  <input type="checkbox" aria-label="Select all rows" data-select-all />
                  <span>Select all</span>
                </label>
              </th>
            )}
            {body.columns
              .filter((column) => !!column)
              .map(({ title, isTitleHidden, class: kind }) => (
                <th scope="col" class={kind?.startsWith('end') ? 'end' : undefined}>
                  {isTitleHidden ? <span class="hidden">{title}</span> : title}
                </th>
              ))}
          </tr>
        </thead>
        <tbody>
          <Rows {...body} />
        </tbody>
      </table>
    </div>
  );
}

/** The rows of a table alone, for the script to add. */
export function Rows<Row>({ columns, rows, selection, marksOf = () => ({}) }: Body<Row>) {
  const { zone } = useVisit().look;
  const present = columns.filter((column) => !!column);
  return rows.map((row) => (
    <tr {...marksOf(row)}>
      {selection && (
        <td class="select">
          <label>
            <input
              type="checkbox"
              name="selected"
              form={selection.form}
              value={selection.valueOf(row)}
              aria-label={`Select ${selection.labelOf(row, zone)}`}
            />
          </label>
        </td>
      )}
      {present.map(({ title, isLabeled, class: kind, isMain, cell }) => {
        const content = cell(row);
        const about = {
          class: [isMain && 'main', kind].filter(Boolean).join(' ') || undefined,
          'data-label': isLabeled ? title : undefined,
        };
        return <td {...(content !== null && about)}>{content}</td>;
      })}
    </tr>
  ));
}

/** The form of a table with `selection`: its buttons act on the rows in `selected`. */
export function SelectionBar({ id, to, children }: { id: string; to: string; children: ComponentChildren }) {
  return (
    <form id={id} method="post" action={useHref(to)} class="selection-bar" data-selection>
      <span class="dim" data-selection-count>
        With the selected rows:
      </span>
      {children}
    </form>
  );
}

/** In place of a table without rows: a drawing, a sentence, and one button. */
export function Empty(props: { drawing?: keyof typeof drawings; children: ComponentChildren }) {
  return (
    <div class="card empty">
      {props.drawing && <Drawing name={props.drawing} />}
      {props.children}
    </div>
  );
}

const drawings = {
  posts: [
    <path d="M14 12h56v48a6 6 0 0 1-6 6H20a6 6 0 0 1-6-6zM70 26h12v34a6 6 0 0 1-6 6H64" />,
    <path d="M24 38h16v16H24zM48 38h12M48 46h12M48 54h12" />,
    <path class="spot" d="M24 24h36" />,
  ],
  deliveries: [
    <path d="M12 40h20l5 9h22l5-9h20v18a6 6 0 0 1-6 6H18a6 6 0 0 1-6-6zM12 40l10-18h8M84 40 74 22h-8" />,
    <path class="spot" d="M48 8v26M39 25l9 9 9-9" />,
  ],
  images: [
    <path d="M14 12h62v46a6 6 0 0 1-6 6H20a6 6 0 0 1-6-6zM14 54l18-18 14 14M40 44l12-12 24 24" />,
    <path class="spot" d="M40 25a5 5 0 1 1-10 0 5 5 0 0 1 10 0" />,
  ],
  search: [
    <path d="M14 16h40M14 28h26M14 40h20M14 52h26" />,
    <path class="spot" d="M74 40a14 14 0 1 1-28 0 14 14 0 0 1 28 0zM70 50l14 14" />,
  ],
};

export function Drawing({ name }: { name: keyof typeof drawings }) {
  return (
    <svg class="drawing" viewBox="0 0 96 72" aria-hidden="true">
      {drawings[name]}
    </svg>
  );
}

type PageLink = { to: string; label: string } | null | undefined | false;

export function Pager(props: { back: PageLink; next: PageLink; children?: ComponentChildren }) {
  const visit = useVisit();
  const { back, next, children } = props;
  return (
    <nav class="pages" aria-label="Pages">
      <span>
        {back && (
          <a class="button" href={hrefOf(visit, back.to)}>
            <Icon name="arrow-left" />
            {back.label}
          </a>
        )}
      </span>
      <span class="dim">{children}</span>
      <span>
        {next && (
          <a class="button" href={hrefOf(visit, next.to)} rel="next">
            {next.label}
            <Icon name="arrow-right" />
          </a>
        )}
      </span>
    </nav>
  );
}

/** The number of a page in the address, from 1. */
export function pageIn(query: URLSearchParams): number {
  const text = query.get('page') ?? '';
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1;
}

/** A pager of pages with numbers, the newest first; nothing for a single page. */
export function NumberedPager(props: {
  page: number;
  hasMore: boolean;
  path: string;
  children?: ComponentChildren;
}) {
  const { page, hasMore, path, children } = props;
  if (page === 1 && !hasMore) return null;
  return (
    <Pager
      back={page > 1 && { to: `${path}?page=${page - 1}`, label: 'Newer' }}
      next={hasMore && { to: `${path}?page=${page + 1}`, label: 'Older' }}
    >
      {children}
    </Pager>
  );
}

/** A field that searches a list. `/` focuses it. `clearTo`: the list without the search. */
export function SearchField(props: { label: string; value: string; clearTo: string }) {
  const { label, value, clearTo } = props;
  const clear = useHref(clearTo);
  return (
    <div class="field grow search search-field">
      <Icon name="search" />
      <input
        id="field-q"
        name="q"
        type="search"
        value={value}
        placeholder={label}
        aria-label={label}
        maxlength={200}
        data-search
      />
      {value === '' ? (
        <span class="kbd" aria-hidden="true" data-script hidden>
          /
        </span>
      ) : (
        <a class="close" href={clear} aria-label="Clear search" title="Clear search">
          <Icon name="x" />
        </a>
      )}
    </div>
  );
}

/** The form that filters a list: its fields stand in the address. `path`: the list without filters. */
export function FilterBar(props: {
  path: string;
  isFiltered: boolean;
  /** A field before the filters, for a bar that folds. */
  search?: ComponentChildren;
  /** Folds many filters on a narrow screen; the number of those that are set. */
  folded?: number;
  children: ComponentChildren;
}) {
  const { path, isFiltered, search, folded, children } = props;
  const filters = (
    <>
      {children}
      <button type="submit" class="button">
        Filter
      </button>
      {isFiltered && <Link to={path}>Clear</Link>}
    </>
  );
  return (
    <search>
      <form method="get" action={useHref(path)} class="bar filters">
        {search}
        {folded === undefined ? (
          filters
        ) : (
          <details class="fold" open={folded > 0}>
            <summary class="button">
              <Icon name="list-filter" />
              Filters
              {folded > 0 && <small>{folded}</small>}
            </summary>
            <div class="bar">{filters}</div>
          </details>
        )}
      </form>
    </search>
  );
}
