/** @jsxRuntime automatic @jsxImportSource preact */
import { type ComponentChildren, h, Fragment as Pieces } from 'preact';
import { render } from 'preact-render-to-string';
import { countDrafts } from '../../posts/store.ts';
import { mayFound } from '../../users/found.ts';
import { clientScript, styleSheet } from '../assets.ts';
import type { Fragment, MemberVisit, Section, View, Visit } from '../page.ts';
import { NEW_ORGANIZATION } from './your-organizations.tsx';

/** A page as HTML: the navigation where there is an organization, otherwise a sheet in the middle. */
export async function renderPage(view: View, visit: Visit | null, notice: string | null): Promise<string> {
  const { title, body } = view;
  const inside = isMember(visit) ? (
    <Shell
      visit={visit}
      section={view.section}
      drafts={await countDrafts(visit.deps.db, visit.organization.id)}
    >
      <Notice text={notice} />
      {body}
    </Shell>
  ) : (
    <div class="alone">
      <header>
        <a class="mark" href="/dashboard">
          Tidings
        </a>
      </header>
      <main id="main">
        <Notice text={notice} />
        {body}
      </main>
    </div>
  );
  const html = render(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{`${title} · Tidings`}</title>
        <link rel="stylesheet" href={styleSheet.path} />
        <link rel="icon" href="data:," />
        <script src={clientScript.path} defer />
      </head>
      <body>
        <a class="skip" href="#main">
          To the content
        </a>
        {inside}
      </body>
    </html>,
  );
  return `<!doctype html>${html}`;
}

/** A piece of a page as HTML. */
export function renderFragment({ body }: Fragment): string {
  return render(h(Pieces, {}, body));
}

function isMember(visit: Visit | null): visit is MemberVisit {
  return visit !== null && 'organization' in visit;
}

const entries: { section: Section; path: string; name: string }[] = [
  { section: 'posts', path: 'posts', name: 'Posts' },
  { section: 'integrations', path: 'integrations', name: 'Integrations' },
  { section: 'deliveries', path: 'deliveries', name: 'Deliveries' },
  { section: 'keys', path: 'settings/keys', name: 'API keys' },
  { section: 'settings', path: 'settings', name: 'Settings' },
];

function Shell({
  visit: { deps, organization, memberships, base, user },
  section,
  drafts,
  children,
}: {
  visit: MemberVisit;
  section: Section | undefined;
  drafts: number;
  children: ComponentChildren;
}) {
  return (
    <div class="shell">
      <header class="side">
        <a class="mark" href={base}>
          Tidings
        </a>
        <details class="menu">
          <summary>Menu</summary>
          <div class="menu-body">
            <Organizations
              current={organization.id}
              name={organization.name}
              memberships={memberships}
              mayCreate={mayFound(deps.organizationCreation, memberships)}
            />
            <nav aria-label="Dashboard">
              {entries.map((entry) => (
                <a
                  href={`${base}/${entry.path}`}
                  aria-current={entry.section === section ? 'page' : undefined}
                >
                  <span>{entry.name}</span>
                  {entry.section === 'posts' && drafts > 0 ? (
                    <small>{drafts === 1 ? '1 draft' : `${drafts.toLocaleString('en')} drafts`}</small>
                  ) : null}
                </a>
              ))}
            </nav>
            <div class="me">
              <a href="/dashboard/~/account" aria-current={section === 'account' ? 'page' : undefined}>
                {user.email}
              </a>
              <form method="post" action="/dashboard/~/sign-out">
                <button class="link" type="submit">
                  Sign out
                </button>
              </form>
            </div>
          </div>
        </details>
      </header>
      <main id="main">{children}</main>
    </div>
  );
}

/** The organization's name, and the way to the person's others and to one more. */
function Organizations({
  current,
  name,
  memberships,
  mayCreate,
}: {
  current: string;
  name: string;
  memberships: MemberVisit['memberships'];
  mayCreate: boolean;
}) {
  const others = memberships.filter(({ organizationId }) => organizationId !== current);
  return (
    <details class="organization">
      <summary>{name}</summary>
      <ul>
        {others.map(({ organizationId, organizationName }) => (
          <li>
            <a href={`/dashboard/${organizationId}`}>{organizationName}</a>
          </li>
        ))}
        {mayCreate ? (
          <li>
            <a class="dim" href={`/dashboard/~/account#${NEW_ORGANIZATION}`}>
              Another organization
            </a>
          </li>
        ) : null}
      </ul>
    </details>
  );
}

function Notice({ text }: { text: string | null }) {
  return (
    <div role="status" class="notices">
      {text === null ? null : <p class="notice">{text}</p>}
    </div>
  );
}
