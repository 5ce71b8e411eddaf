/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

// The parts that pages share above their content.

interface Crumb {
  to: string;
  label: string;
}

/** The top of a page. `crumbs`: the pages above it. `actions`: at most one primary button; `more`: the others. */
export function PageHead({
  title,
  crumbs = [],
  status,
  facts,
  actions,
  more,
}: {
  title: string;
  crumbs?: readonly Crumb[];
  /** Beside the title. */
  status?: ComponentChildren;
  /** One line below it. */
  facts?: ComponentChildren;
  actions?: ComponentChildren;
  more?: ComponentChildren;
}) {
  return (
    <header class="page-head">
      {crumbs.length === 0 ? null : (
        <nav class="crumbs" aria-label="Breadcrumb">
          <ol>
            {crumbs.map(({ to, label }) => (
              <li>
                <a href={to}>{label}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-title">
        <h1>{title}</h1>
        {status}
      </div>
      {facts ? <div class="lede">{facts}</div> : null}
      {actions || more ? (
        <div class="page-actions">
          {actions}
          {more ? <Menu label="More actions">{more}</Menu> : null}
        </div>
      ) : null}
    </header>
  );
}

/** A button that opens a menu: links, and forms of one button. */
function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <details class="dropdown">
      <summary class="button square" aria-label={label} title={label}>
        <Icon name="ellipsis" />
      </summary>
      <div class="dropdown-body">{children}</div>
    </details>
  );
}

/** Content beside a column of details. */
export function Columns({ children, details }: { children: ComponentChildren; details: ComponentChildren }) {
  return (
    <div class="columns">
      <div>{children}</div>
      <aside>{details}</aside>
    </div>
  );
}

/** Names and values; a null value is left out. `isRow`: beside each other, above what they are about. */
export function Facts({
  facts,
  isRow = false,
}: {
  facts: readonly (readonly [name: string, value: ComponentChildren])[];
  isRow?: boolean;
}) {
  return (
    <dl class={isRow ? 'facts row card' : 'facts card'}>
      {facts.map(([name, value]) =>
        value === null || value === undefined ? null : (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ),
      )}
    </dl>
  );
}

/** A choice among a few views of a list, each with its own address. */
export function Segments({
  label,
  items,
}: {
  label: string;
  items: readonly { to: string; label: ComponentChildren; isCurrent: boolean }[];
}) {
  return (
    <nav class="segments" aria-label={label}>
      {items.map((item) => (
        <a href={item.to} aria-current={item.isCurrent ? 'page' : undefined}>
          {item.label}
        </a>
      ))}
    </nav>
  );
}

/**
 * The form of a table with `selection`: its buttons act on the selected rows, which it posts as `selected`. The script
 * hides it while no row is selected.
 */
export function SelectionBar({
  id,
  to,
  children,
}: {
  id: string;
  to: string;
  /** Buttons, such as `<button name="action" value="publish" class="button">`. */
  children: ComponentChildren;
}) {
  return (
    <form id={id} method="post" action={to} class="selection-bar" data-selection>
      <span class="dim" data-selection-count>
        With the selected rows:
      </span>
      {children}
    </form>
  );
}
