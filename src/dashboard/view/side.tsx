/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import type { MemberVisit } from '../page.ts';
import { type Look, themes } from '../preferences.ts';
import { counted } from './elements.tsx';
import { Hidden } from './form.tsx';
import { Avatar, Icon, type IconName } from './icon.tsx';

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

export interface Frame extends Pick<MemberVisit, 'user' | 'organization' | 'memberships' | 'base'> {
  mayCreateOrganization: boolean;
  drafts: number;
  /** Posts with a new version or a suggestion that waits for a decision. */
  suggestions: number;
  /** Runs of triggers that were given up. */
  failedRuns: number;
  hasUnfinishedSteps: boolean;
  look: Look;
  /** The path to come back to. */
  path: string;
}

const ACCOUNT = '/dashboard/~/account';

export function Side({ frame, section }: { frame: Frame; section: Section | undefined }) {
  const { user, base, drafts, suggestions, failedRuns, hasUnfinishedSteps } = frame;
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
          <Organizations frame={frame} />
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
            <ThemeSwitch theme={frame.look.theme} path={frame.path} />
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

function Organizations({ frame }: { frame: Frame }) {
  const { organization, memberships, mayCreateOrganization } = frame;
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
          {mayCreateOrganization ? (
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

const themeIcons = { system: 'monitor', light: 'sun', dark: 'moon' } as const;

/** The script changes the page in place. */
function ThemeSwitch({ theme, path }: { theme: Look['theme']; path: string }) {
  return (
    <form method="post" action={`${ACCOUNT}/theme`} data-themes>
      <fieldset class="themes">
        <legend class="hidden">Theme</legend>
        <Hidden values={[['to', path]]} />
        {themes.map((each) => {
          const label = each.charAt(0).toUpperCase() + each.slice(1);
          return (
            <button
              type="submit"
              name="theme"
              value={each}
              aria-label={`${label} theme`}
              title={label}
              aria-pressed={each === theme ? 'true' : 'false'}
            >
              <Icon name={themeIcons[each]} />
            </button>
          );
        })}
      </fieldset>
    </form>
  );
}
