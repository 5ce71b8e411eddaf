import type { ComponentChildren } from 'preact';
import { counted } from './elements.tsx';
import { Avatar, Icon, type IconName } from './icon.tsx';
import { useVisit } from './time.tsx';

// The parts that pages share above their content.

/** A page above this one: its path, below the organization unless it begins with a slash. */
interface Crumb {
  to: string;
  label: string;
}

export interface Head {
  title: string;
  /** The pages above it. */
  crumbs?: readonly Crumb[];
  /** Beside the title. */
  status?: ComponentChildren;
  /** One line below it. */
  facts?: ComponentChildren;
  /** At most one primary button. */
  actions?: ComponentChildren;
  /** The other buttons. */
  more?: ComponentChildren;
}

/** The top of a page. */
export function PageHead({ title, crumbs = [], status, facts, actions, more }: Head) {
  const { base } = useVisit();
  return (
    <header class="page-head">
      {crumbs.length === 0 ? null : (
        <nav class="crumbs" aria-label="Breadcrumb">
          <ol>
            {crumbs.map(({ to, label }) => (
              <li>
                <a href={to.startsWith('/') ? to : `${base}/${to}`}>{label}</a>
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

type Fact = readonly [name: string, value: ComponentChildren];

/** Names and values; a null value is left out. `row`: beside each other, above what they are about. */
export function Facts({ facts, kind }: { facts: readonly Fact[]; kind?: 'row' | 'mono' }) {
  return (
    <dl class={kind === undefined ? 'facts card' : `facts card ${kind}`}>
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
 * The form of a table with `selection`: its buttons, such as `<button name="action" value="publish" class="button">`, act on
 * the selected rows, which it posts as `selected`. The script hides it while no row is selected.
 */
export function SelectionBar(props: { id: string; to: string; children: ComponentChildren }) {
  return (
    <form id={props.id} method="post" action={props.to} class="selection-bar" data-selection>
      <span class="dim" data-selection-count>
        With the selected rows:
      </span>
      {props.children}
    </form>
  );
}

// The navigation beside every page of an organization.

export type Section =
  | 'start'
  | 'posts'
  | 'deliveries'
  | 'integrations'
  | 'triggers'
  | 'publishing'
  | 'explorer'
  | 'keys'
  | 'settings'
  | 'account';

/** What the navigation shows beside the visit. */
export interface Frame {
  mayCreateOrganization: boolean;
  drafts: number;
  /** Posts with a new version or a suggestion that waits for a decision. */
  suggestions: number;
  /** Runs of triggers that were given up. */
  failedRuns: number;
  hasUnfinishedSteps: boolean;
}

const ACCOUNT = '/dashboard/~/account';

export function Side({ frame, section }: { frame: Frame; section: Section | undefined }) {
  const { drafts, suggestions, failedRuns, hasUnfinishedSteps } = frame;
  const { user, base } = useVisit();
  const chosen = section === 'keys' ? 'settings' : section === 'triggers' ? 'integrations' : section;
  const entry = (name: Section, icon: IconName, label: string, path: string = name) => ({
    icon,
    label,
    to: `${base}/${path}`,
    isCurrent: chosen === name,
  });
  const firstSteps = <Entry {...entry('start', 'list-checks', 'First steps')} />;
  return (
    <header class="side">
      <a class="mark" href={base}>
        Tidings
      </a>
      <details class="menu">
        <summary>
          <Icon name="menu" />
          Menu
        </summary>
        <div class="menu-body">
          <Organizations mayCreate={frame.mayCreateOrganization} />
          <a class="jump" href={`${base}/jump`} data-jump>
            <Icon name="search" />
            <span>Search</span>
            <span class="kbd" aria-hidden="true" data-script data-modifier hidden>
              Ctrl K
            </span>
          </a>
          <nav aria-label="Dashboard">
            {hasUnfinishedSteps ? firstSteps : null}
            <Entry {...entry('posts', 'file-text', 'Posts')}>
              {suggestions > 0 ? (
                <small
                  class="badge"
                  title={`${counted(suggestions, 'post')} with a new version or a suggestion to review`}
                >
                  {suggestions} new
                </small>
              ) : null}
              {drafts > 0 ? <small>{counted(drafts, 'draft')}</small> : null}
            </Entry>
            <Entry {...entry('deliveries', 'inbox', 'Deliveries')} />
            <Entry {...entry('integrations', 'plug', 'Integrations')}>
              {failedRuns > 0 ? (
                <small class="badge failed" title={`${counted(failedRuns, 'run')} of triggers failed`}>
                  {failedRuns} failed
                </small>
              ) : null}
            </Entry>
            <Entry {...entry('publishing', 'globe', 'Publishing')} />
            <Entry {...entry('settings', 'settings', 'Settings')} />
          </nav>
          <nav aria-label="Help">
            {hasUnfinishedSteps ? null : firstSteps}
            <Entry {...entry('explorer', 'terminal', 'API explorer')} />
            <Entry icon="book-open" label="API reference" to="/docs" isCurrent={false} />
          </nav>
          <div class="me">
            <a href={ACCOUNT} aria-current={section === 'account' ? 'page' : undefined} title={user.email}>
              <Avatar name={user.email} />
              <span>{user.email}</span>
            </a>
            <form method="post" action="/dashboard/~/sign-out">
              <button type="submit" class="link">
                <Icon name="log-out" />
                Sign out
              </button>
            </form>
          </div>
        </div>
      </details>
    </header>
  );
}

function Entry(props: {
  icon: IconName;
  label: string;
  to: string;
  isCurrent: boolean;
  children?: ComponentChildren;
}) {
  return (
    <a href={props.to} aria-current={props.isCurrent ? 'page' : undefined}>
      <Icon name={props.icon} />
      <span>{props.label}</span>
      {props.children}
    </a>
  );
}

function Organizations({ mayCreate }: { mayCreate: boolean }) {
  const { organization, memberships } = useVisit();
  const others = memberships.filter((each) => each.organization.id !== organization.id);
  return (
    <details class="organization">
      <summary title={organization.name}>
        <Avatar name={organization.name} isSquare />
        <span>{organization.name}</span>
        <Icon name="chevrons-up-down" />
      </summary>
      <ul>
        {others.map(({ organization: { id, name } }) => (
          <li>
            <a href={`/dashboard/${id}`}>
              <Avatar name={name} isSquare />
              {name}
            </a>
          </li>
        ))}
        <li>
          {mayCreate ? (
            <a href={`${ACCOUNT}#new-organization`}>
              <Icon name="plus" />
              New organization
            </a>
          ) : (
            <a href={`${ACCOUNT}#organizations`}>Your organizations</a>
          )}
        </li>
      </ul>
    </details>
  );
}
