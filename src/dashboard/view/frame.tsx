import type { ComponentChildren } from 'preact';
import { counted, Icon, type IconName, Link, useHref, useVisit } from './elements.tsx';

// The navigation beside every page of an organization.

export interface Frame {
  mayCreateOrganization: boolean;
  drafts: number;
  /** Posts with a suggestion that waits for a decision. */
  suggestions: number;
  /** Items that need a person and are not muted. */
  attention: number;
  hasUnfinishedSteps: boolean;
}

const ACCOUNT = '/dashboard/~/account';

/** Pages below other entries than the first word of their path. */
const sections: Readonly<Record<string, string>> = { media: 'posts', import: 'integrations' };

function sectionOf(pathname: string): string {
  const [, , , first = '', , below] = pathname.split('/');
  return first === 'integrations' && below === 'triggers' ? 'triggers' : (sections[first] ?? first);
}

export function Side({ frame }: { frame: Frame }) {
  const { drafts, suggestions, attention, hasUnfinishedSteps } = frame;
  const { user, base } = useVisit();
  const troubles = attention > 0 && (
    <small class="badge failed" title={`${counted(attention, 'thing needs', 'things need')} a person`}>
      {attention}
    </small>
  );
  const firstSteps = <Entry icon="list-checks" label="First steps" to="start" />;
  return (
    <header class="side">
      <a class="mark" href={base}>
        Tidings
      </a>
      <details class="menu">
        <summary>
          <Icon name="menu" />
          Menu
          {troubles}
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
            {hasUnfinishedSteps && firstSteps}
            <Entry icon="file-text" label="Posts" to="posts">
              {suggestions > 0 && (
                <small class="badge" title={`${counted(suggestions, 'post')} with a suggestion to review`}>
                  {suggestions} new
                </small>
              )}
              {drafts > 0 && <small>{counted(drafts, 'draft')}</small>}
            </Entry>
            <Entry icon="zap" label="Triggers" to="triggers" />
            <Entry icon="inbox" label="Deliveries" to="deliveries" />
            <Entry icon="plug" label="Integrations" to="integrations" />
            <Entry icon="globe" label="Publishing" to="publishing" />
            <Entry icon="settings" label="Settings" to="settings" />
            <Entry icon="triangle-alert" label="Attention" to="attention">
              {troubles}
            </Entry>
          </nav>
          <nav aria-label="Help">
            {!hasUnfinishedSteps && firstSteps}
            <Entry icon="terminal" label="API explorer" to="explorer" />
            <Entry icon="book-open" label="API reference" to="/docs" />
          </nav>
          <div class="me">
            <a href={ACCOUNT} title={user.email}>
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

function Entry(props: { icon: IconName; label: string; to: string; children?: ComponentChildren }) {
  const { icon, label, to, children } = props;
  const { url } = useVisit();
  return (
    <a href={useHref(to)} aria-current={sectionOf(url.pathname) === to ? 'page' : undefined}>
      <Icon name={icon} />
      <span data-label={label}>{label}</span>
      {children}
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

/** The first letters of a name or an email address, in a circle, or a square for an organization. */
function Avatar({ name, isSquare = false }: { name: string; isSquare?: boolean }) {
  const words = name
    .replace(/@.*/, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const letters = words.slice(0, 2).map((word) => [...word][0]?.toUpperCase());
  return (
    <span class={isSquare ? 'avatar square' : 'avatar'} aria-hidden="true">
      {letters.join('') || '?'}
    </span>
  );
}

const tabs = {
  settings: 'Organization',
  'settings/keys': 'API Keys',
  'settings/members': 'Members',
  'settings/assistant': 'Assistant',
  'settings/audit': 'Audit log',
  publishing: 'Public page',
  'publishing/hooks': 'Hooks',
  'publishing/agents': 'Agents',
};

export type Tab = keyof typeof tabs;

export function Tabs({ current }: { current: string }) {
  const { base, isOwner, deps } = useVisit();
  const hidden = [!isOwner && 'settings/audit', deps.assistant === undefined && 'settings/assistant'];
  const [section = ''] = current.split('/');
  const beside = Object.entries(tabs).filter(([path]) => path.startsWith(section) && !hidden.includes(path));
  return (
    <nav class="tabs" aria-label={section === 'settings' ? 'Settings' : 'Publishing'}>
      {beside.map(([path, name]) => (
        <a class="tab" href={`${base}/${path}`} aria-current={path === current ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

/** A page above this one: its path, below the organization unless it begins with a slash. */
interface Crumb {
  to: string;
  label: string;
}

export interface Head {
  title: string;
  crumbs?: readonly Crumb[] | undefined;
  tag?: ComponentChildren;
  facts?: ComponentChildren;
  /** At most one primary button. */
  actions?: ComponentChildren;
  /** The other buttons, in a menu: links, and forms of one button. */
  more?: ComponentChildren;
}

export function PageHead({ title, crumbs = [], tag, facts, actions, more }: Head) {
  return (
    <header class="page-head">
      {crumbs.length > 0 && (
        <nav class="crumbs" aria-label="Breadcrumb">
          <ol>
            {crumbs.map(({ to, label }) => (
              <li>
                <Link to={to}>{label}</Link>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-title">
        <h1>{title}</h1>
        {tag}
      </div>
      {facts && <div class="lede">{facts}</div>}
      {(actions || more) && (
        <div class="page-actions">
          {actions}
          {more && (
            <details class="dropdown">
              <summary class="button square" aria-label="More actions" title="More actions">
                <Icon name="ellipsis" />
              </summary>
              <div class="dropdown-body">{more}</div>
            </details>
          )}
        </div>
      )}
    </header>
  );
}
