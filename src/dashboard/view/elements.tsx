import type { ComponentChildren, VNode } from 'preact';
import { AppError } from '../../lib/app-error.ts';
import { withRelativeMedia } from '../../lib/markdown/media.ts';
import { texts } from '../../lib/markdown/texts.ts';
import type { DashboardDeps } from '../page.ts';
import { Drawing, type DrawingName, Icon } from './icon.tsx';

export { Exactly, exactly, When } from './time.tsx';

export interface Column<Row> {
  title: string;
  /** Only screen readers read the title. */
  isTitleHidden?: boolean;
  /** Repeats the title in the cell on a narrow screen. */
  isLabeled?: boolean;
  class?: string;
  /**
   * Makes this the main cell: its first link covers the row, and its lines are cut where the room ends. The text shows
   * in full when a person points at it.
   */
  fullText?: (row: Row) => string;
  /** Null: an empty cell, which a narrow screen leaves out. */
  cell: (row: Row) => ComponentChildren;
}

/** The last column, with the buttons of a row. */
export const actionsColumn = { title: 'Actions', isTitleHidden: true, class: 'end' } as const;

/** Checkboxes before the rows. They belong to the `SelectionBar` with this id. */
export interface Selection<Row> {
  form: string;
  valueOf: (row: Row) => string;
  /** Names the row for a screen reader. */
  labelOf: (row: Row) => string;
}

export function Table<Row>({
  caption,
  kind = '',
  ...body
}: Parameters<typeof Rows<Row>>[0] & {
  caption: string;
  /** A class of the table. */
  kind?: string;
}) {
  return (
    <div class="card">
      <table class={`list ${kind}`.trim()}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {body.selection ? (
              <th scope="col" class="select">
                <label data-script hidden>
                  <input type="checkbox" aria-label="Select all rows" data-select-all />
                  <span>Select all</span>
                </label>
              </th>
            ) : null}
            {body.columns
              .filter((column) => column !== null)
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

/** The rows of a table alone, for the script to add. `marksOf`: attributes by which it finds a row. */
export function Rows<Row>({
  columns,
  rows,
  selection,
  marksOf = () => ({}),
}: {
  columns: readonly (Column<Row> | null)[];
  rows: readonly Row[];
  selection?: Selection<Row> | undefined;
  marksOf?: (row: Row) => { id?: string };
}) {
  const present = columns.filter((column) => column !== null);
  return (
    <>
      {rows.map((row) => (
        <tr {...marksOf(row)}>
          {selection === undefined ? null : (
            <td class="select">
              <label>
                <input
                  type="checkbox"
                  name="selected"
                  form={selection.form}
                  value={selection.valueOf(row)}
                  aria-label={`Select ${selection.labelOf(row)}`}
                />
              </label>
            </td>
          )}
          {present.map(({ title, isLabeled, class: kind, fullText, cell }) => {
            const content = cell(row);
            const classes = [fullText && 'main', kind].filter(Boolean).join(' ') || undefined;
            const about = {
              class: classes,
              title: fullText?.(row),
              'data-label': isLabeled ? title : undefined,
            };
            return <td {...(content !== null && about)}>{content}</td>;
          })}
        </tr>
      ))}
    </>
  );
}

/** In place of a table without rows: a drawing, a sentence, and one button. */
export function Empty({ drawing, children }: { drawing?: DrawingName; children: ComponentChildren }) {
  return (
    <div class="card empty">
      {drawing && <Drawing name={drawing} />}
      {children}
    </div>
  );
}

/** A link that looks like a button. */
export function LinkButton({ to, label, kind }: { to: string; label: string; kind?: 'go' | undefined }) {
  return (
    <a class={kind === undefined ? 'button' : `button ${kind}`} href={to}>
      {label}
    </a>
  );
}

type PageLink = { to: string; label: string } | null;

export function Pager(props: { back: PageLink; next: PageLink; children?: ComponentChildren }) {
  const { back, next, children } = props;
  return (
    <nav class="pages" aria-label="Pages">
      <span>
        {back && (
          <a class="button" href={back.to}>
            <Icon name="arrow-left" />
            {back.label}
          </a>
        )}
      </span>
      <span class="dim">{children}</span>
      <span>
        {next && (
          <a class="button" href={next.to} rel="next">
            {next.label}
            <Icon name="arrow-right" />
          </a>
        )}
      </span>
    </nav>
  );
}

/** The number of a page in the address, from 1. */
export function pageIn({ searchParams }: URL): number {
  const text = searchParams.get('page') ?? '';
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
      back={page > 1 ? { to: `${path}?page=${page - 1}`, label: 'Newer' } : null}
      next={hasMore ? { to: `${path}?page=${page + 1}`, label: 'Older' } : null}
    >
      {children}
    </Pager>
  );
}

/** A field that searches a list. `/` focuses it. `clearTo`: the list without the search. */
export function SearchField(props: { label: string; name: string; value: string; clearTo: string }) {
  const { label, name, value, clearTo } = props;
  return (
    <div class="field grow search search-field">
      <Icon name="search" />
      <input
        id={`field-${name}`}
        name={name}
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
        <a class="close" href={clearTo} aria-label="Clear search" title="Clear search">
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
      {isFiltered ? <a href={path}>Clear</a> : null}
    </>
  );
  return (
    <search>
      <form method="get" action={path} class="bar filters">
        {search}
        {folded === undefined ? (
          filters
        ) : (
          <details class="fold" open={folded > 0}>
            <summary class="button">
              <Icon name="list-filter" />
              Filters
              {folded > 0 ? <small>{folded}</small> : null}
            </summary>
            <div class="bar">{filters}</div>
          </details>
        )}
      </form>
    </search>
  );
}

export { type Option, Select } from './form.tsx';

export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export function Status({ status, more = '' }: { status: string; more?: string }) {
  return (
    <span class={`tag ${status}`}>
      {capitalized(status)}
      {more}
    </span>
  );
}

export { count as counted } from '../../lib/text.ts';

/** Copies a text, or the text of the element with the id `text`. The script shows the button. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <button type="button" class="button" data-copy={text} data-script hidden>
      <Icon name="copy" />
      <span>{label}</span>
    </button>
  );
}

/** An id with a small button that copies it. `name`: for a screen reader, such as "delivery ID". */
export function Id({ value, name }: { value: string; name: string }) {
  return (
    <span class="id">
      <code>{value}</code>
      <button type="button" class="close" data-copy={value} title={`Copy ${name}`} data-script hidden>
        <Icon name="copy" />
        <span class="hidden">Copy {name}</span>
      </button>
    </span>
  );
}

export function ToCopy(props: Parameters<typeof Copy>[0]) {
  return (
    <div class="once">
      <code>{props.text}</code>
      <Copy {...props} />
    </div>
  );
}

/** A sentence with each quoted name isolated, so that a right-to-left name does not reorder the rest. */
export function Quoted({ text }: { text: string }) {
  const parts = text.split(/(?<=“)([^”]*)(?=”)/);
  return <>{parts.map((part, at) => (at % 2 === 1 ? <bdi key={at}>{part}</bdi> : part))}</>;
}

/** Renders Markdown of any length, or says why there is no preview. */
export async function proseOf(
  { publicUrl }: Pick<DashboardDeps, 'publicUrl'>,
  stored: string,
): Promise<VNode> {
  try {
    const html = await texts.html(withRelativeMedia(stored, publicUrl()));
    // The one place for it: the renderer lets nothing active through.
    return <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return <p class="error">No preview: {error.message}.</p>;
  }
}
