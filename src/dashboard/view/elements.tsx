/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren, VNode } from 'preact';
import { DAY_MS } from '../../lib/time.ts';

export interface Column<Row> {
  title: string;
  /** Only screen readers read the title. */
  isTitleHidden?: boolean;
  /** Repeats the title in the cell on a narrow screen. */
  isLabeled?: boolean;
  class?: string;
  /** Null: an empty cell, which a narrow screen leaves out. */
  cell: (row: Row) => ComponentChildren;
}

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
                <input type="checkbox" aria-label="Select all rows" data-select-all data-script hidden />
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
  marksOf?: (row: Row) => { id?: string; 'data-at'?: string };
}) {
  const present = columns.filter((column) => column !== null);
  return (
    <>
      {rows.map((row) => (
        <tr {...marksOf(row)}>
          {selection === undefined ? null : (
            <td class="select">
              <input
                type="checkbox"
                name="selected"
                form={selection.form}
                value={selection.valueOf(row)}
                aria-label={`Select ${selection.labelOf(row)}`}
              />
            </td>
          )}
          {present.map(({ title, isLabeled, class: kind, cell }) => {
            const content = cell(row);
            const about = { class: kind, 'data-label': isLabeled ? title : undefined };
            return <td {...(content !== null && about)}>{content}</td>;
          })}
        </tr>
      ))}
    </>
  );
}

/** In place of a table without rows. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="card empty">{children}</div>;
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
  const linkTo = (page: PageLink, rel?: 'next') =>
    page && (
      <a href={page.to} rel={rel}>
        {page.label}
      </a>
    );
  return (
    <nav class="pages" aria-label="Pages">
      <span>{linkTo(props.back)}</span>
      <span class="dim">{props.children}</span>
      <span>{linkTo(props.next, 'next')}</span>
    </nav>
  );
}

/** The form that filters a list: its fields stand in the address. `path`: the list without filters. */
export function FilterBar({
  path,
  isFiltered,
  more,
  children,
}: {
  path: string;
  isFiltered: boolean;
  /** What follows the button. */
  more?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <search>
      <form method="get" action={path} class="bar filters">
        {children}
        <button type="submit" class="button">
          Filter
        </button>
        {isFiltered ? <a href={path}>Clear</a> : null}
        {more}
      </form>
    </search>
  );
}

export interface Option {
  value: string;
  label: string;
}

/** `id`: for a page with another field of that name. */
export function Select({
  label,
  name,
  options,
  all,
  value,
  isLabelHidden = false,
  id = `field-${name}`,
  form,
}: {
  label: string;
  name: string;
  options: readonly Option[];
  /** The id of its form, outside of that form. */
  form?: string;
  /** An option before the others, for no choice among them. */
  all?: string;
  value?: string | undefined;
  isLabelHidden?: boolean;
  id?: string;
}) {
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'hidden' : undefined}>
        {label}
      </label>
      <select id={id} name={name} form={form}>
        {all === undefined ? null : <option value="">{all}</option>}
        {options.map((option) => (
          <option value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Status({ status, more = '' }: { status: string; more?: string }) {
  return (
    <span class={`tag ${status}`}>
      {status.charAt(0).toUpperCase()}
      {status.slice(1)}
      {more}
    </span>
  );
}

export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}

/** Copies a text. The script shows the button. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <button type="button" class="button" data-copy={text} data-script hidden>
      {label}
    </button>
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

const BAR = 10;
const GAP = 4;
const HEIGHT = 48;

/** Columns of stacked parts, each with its class and amount. `label` describes the picture. */
export function Bars({ columns, label }: { columns: [kind: string, amount: number][][]; label: string }) {
  const heights = columns.map((parts) => parts.reduce((sum, [, amount]) => sum + amount, 0));
  const scale = (HEIGHT - 2) / Math.max(...heights, 1);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${columns.length * (BAR + GAP) - GAP} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {columns.map((parts, index) => {
        const x = index * (BAR + GAP);
        if (parts.length === 0) return <rect class="none" x={x} y={HEIGHT - 1} width={BAR} height={1} />;
        let top = HEIGHT;
        return parts.map(([kind, amount]) => {
          // Keep one part among hundreds visible.
          const height = Math.max(amount * scale, 1.5);
          top -= height;
          const y = Math.max(top, 0).toFixed(1);
          return <rect class={kind} x={x} y={y} width={BAR} height={height.toFixed(1)} />;
        });
      })}
    </svg>
  );
}

/** Units of times within a day, each up to the next. */
const units: readonly [name: string, ms: number, belowMs: number][] = [
  ['s', 1_000, 60_000],
  ['min', 60_000, 3_600_000],
  ['h', 3_600_000, DAY_MS],
];

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** A time such as "12 s ago", "yesterday", "18 Nov 2026" or "in 3 days", with the exact time as its title. */
export function When({ at, now }: { at: string; now: Date }): VNode {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <span>{at}</span>;
  return (
    <time datetime={time.toISOString()} title={exactly(time)}>
      {relative(time, now)}
    </time>
  );
}

/** A time to the second, such as "18 Nov 2026, 17:02:11 UTC". */
export function exactly(time: Date): string {
  return `${day.format(time)}, ${time.toISOString().slice(11, 19)} UTC`;
}

function relative(time: Date, now: Date): string {
  const ms = now.getTime() - time.getTime();
  const distance = Math.abs(ms);
  if (distance < 1_000) return 'just now';
  const [name, unitMs = 1] = units.find(([, , belowMs]) => distance < belowMs) ?? [];
  const amount = `${Math.floor(distance / unitMs)} ${name}`;
  if (name !== undefined) return ms > 0 ? `${amount} ago` : `in ${amount}`;
  const days = Math.round(distance / DAY_MS);
  if (ms > 0) return distance < 2 * DAY_MS ? 'yesterday' : day.format(time);
  if (days > 30) return day.format(time);
  return days === 1 ? 'tomorrow' : `in ${days} days`;
}
