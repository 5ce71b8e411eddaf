/** @jsxRuntime automatic @jsxImportSource preact */
import { type ComponentChildren, h, Fragment as Pieces, type VNode } from 'preact';
import { render } from 'preact-render-to-string';
import { rendered } from '../../http/respond.ts';
import type { AppError } from '../../lib/app-error.ts';
import type { Organization } from '../../organizations/model.ts';
import type { Membership, User } from '../../users/model.ts';
import script from '../page.client.js' with { type: 'text' };
import css from '../style.css' with { type: 'text' };

/** Browsers keep it forever: the name changes with the content. */
function asset(name: string, type: string, body: string) {
  return {
    path: `/dashboard/~/${Bun.hash(body).toString(36)}-${name}`,
    type,
    content: rendered(Buffer.from(body), undefined, 9),
  };
}

export const styleSheet = asset('style.css', 'text/css; charset=utf-8', css);
export const clientScript = asset('client.js', 'text/javascript; charset=utf-8', script);

type Section = 'posts' | 'integrations' | 'deliveries' | 'triggers' | 'keys' | 'settings' | 'account';

/** A page to render. */
export interface View {
  kind: 'view';
  /** The name of the window. */
  title: string;
  body: VNode;
  /** The current entry of the navigation. */
  section?: Section;
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

/** A piece of a page, which the script inserts. */
export interface Fragment {
  kind: 'fragment';
  body: VNode | VNode[];
}

/** `error`: the failure that the page shows, which sets the status and headers. */
export function view(
  title: string,
  body: VNode,
  {
    error,
    ...more
  }: Pick<View, 'section' | 'status' | 'headers'> & { error?: AppError | null | undefined } = {},
): View {
  const { status, headers } = error ?? {};
  return {
    kind: 'view',
    title,
    body,
    ...(status !== undefined && { status }),
    ...(headers !== undefined && { headers }),
    ...more,
  };
}

export function fragment(body: VNode | VNode[]): Fragment {
  return { kind: 'fragment', body };
}

/** Frames a page of an organization with its navigation. */
export interface Frame {
  user: User;
  organization: Organization;
  memberships: readonly Membership[];
  mayCreateOrganization: boolean;
  /** The path that the organization's pages begin with. */
  base: string;
  drafts: number;
}

/** A page as HTML. Without a frame it is a sheet in the middle. */
export function renderPage(
  { title, body, section }: View,
  frame: Frame | null,
  notice: string | null,
): string {
  const content = (
    <main id="main">
      <div role="status" class="notices">
        {notice === null ? null : <p class="notice">{notice}</p>}
      </div>
      {body}
    </main>
  );
  return `<!doctype html>${toHtml(
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
          Skip to content
        </a>
        {frame === null ? (
          <div class="alone">
            <header>
              <a class="mark" href="/dashboard">
                Tidings
              </a>
            </header>
            {content}
          </div>
        ) : (
          <div class="shell">
            <Side frame={frame} section={section} />
            {content}
          </div>
        )}
      </body>
    </html>,
  )}`;
}

export function renderFragment({ body }: Fragment): string {
  return toHtml(h(Pieces, {}, body));
}

/** Bidirectional overrides, embeddings and isolates, which reorder the text outside their element. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/;

/** HTML without characters that reorder the text beside them. Forms keep every character that they hold. */
function toHtml(node: VNode): string {
  const html = render(node);
  if (!REORDERING.test(html)) return html;
  return html.replaceAll(/<textarea\b[^>]*>[^<]*|\bvalue="[^"]*"|[\u202a-\u202e\u2066-\u2069]/g, (each) =>
    each.length > 1 ? each : '',
  );
}

const entries: { section: Section; path: string; name: string }[] = [
  { section: 'posts', path: 'posts', name: 'Posts' },
  { section: 'integrations', path: 'integrations', name: 'Integrations' },
  { section: 'deliveries', path: 'deliveries', name: 'Deliveries' },
  { section: 'keys', path: 'settings/keys', name: 'API keys' },
  { section: 'settings', path: 'settings', name: 'Settings' },
];

function Side({
  frame: { user, organization, memberships, mayCreateOrganization, base, drafts },
  section,
}: {
  frame: Frame;
  section: Section | undefined;
}) {
  const others = memberships.filter((each) => each.organization.id !== organization.id);
  return (
    <header class="side">
      <a class="mark" href={base}>
        Tidings
      </a>
      <details class="menu">
        <summary>Menu</summary>
        <div class="menu-body">
          <details class="organization">
            <summary>{organization.name}</summary>
            <ul>
              {others.map(({ organization: { id, name } }) => (
                <li>
                  <a href={`/dashboard/${id}`}>{name}</a>
                </li>
              ))}
              {mayCreateOrganization ? (
                <li>
                  <a class="dim" href="/dashboard/~/account#new-organization">
                    Another organization
                  </a>
                </li>
              ) : null}
            </ul>
          </details>
          <nav aria-label="Dashboard">
            {entries.map((entry) => (
              <a href={`${base}/${entry.path}`} aria-current={entry.section === section ? 'page' : undefined}>
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
  );
}

const tabs = [
  { path: 'settings', name: 'Organization', isForOwners: false },
  { path: 'settings/keys', name: 'API keys', isForOwners: false },
  { path: 'settings/members', name: 'Members', isForOwners: false },
  { path: 'settings/audit', name: 'Audit log', isForOwners: true },
] as const;

/** The heading of a page of the settings, with tabs to the others. */
export function SettingsHead({
  title,
  visit: { base, role },
  current,
}: {
  title: string;
  visit: { base: string; role: Membership['role'] };
  current: (typeof tabs)[number]['path'];
}) {
  return (
    <>
      <h1>{title}</h1>
      <nav class="tabs" aria-label="Settings">
        {tabs
          .filter(({ isForOwners }) => role === 'owner' || !isForOwners)
          .map(({ path, name }) => (
            <a class="tab" href={`${base}/${path}`} aria-current={path === current ? 'page' : undefined}>
              {name}
            </a>
          ))}
      </nav>
    </>
  );
}

/** A page for a failure. */
export function troublePage(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): View {
  const isMissing = status === 404;
  return view(
    isMissing ? 'Not found' : 'That did not work',
    <>
      <h1>{isMissing ? 'Nothing here' : 'That did not work'}</h1>
      <p class="lede">{message}</p>
      <p>
        <a class="button" href="/dashboard">
          To the dashboard
        </a>
      </p>
    </>,
    { status, headers },
  );
}

/** Fields that no page repeats, even to send a form again. */
const SECRETS = new Set(['password', 'current', 'apiToken']);

/**
 * For a form that arrived after its session had ended. The page carries the form, so that its text is not lost. `form`
 * is null when it is too large to read without a session.
 */
export function signedOutPage(path: string, form: URLSearchParams | null): View {
  const fields = [...(form ?? [])];
  const isKept = form !== null && !fields.some(([name]) => SECRETS.has(name));
  const elsewhere: ComponentChildren = (
    <a href="/dashboard/~/sign-in" target="_blank" rel="noopener">
      sign in in another tab
    </a>
  );
  return view(
    'You are signed out',
    <>
      <h1>You are signed out</h1>
      <p class="lede">Your session has ended, so Tidings did not process the form.</p>
      {isKept ? (
        <>
          <p>Your text is not lost: {elsewhere}, come back here, and send it again.</p>
          <form method="post" action={path}>
            {fields.map(([name, value]) => (
              <input type="hidden" name={name} value={value} />
            ))}
            <button type="submit" class="button go">
              Send it again
            </button>
          </form>
        </>
      ) : form === null ? (
        <p>
          Your text is too long to keep on this page, but your browser still has it: {elsewhere}, come back
          here, and reload this page. When your browser asks, confirm that it sends the form again.
        </p>
      ) : (
        <p>
          <a class="button go" href="/dashboard/~/sign-in">
            Sign in
          </a>
        </p>
      )}
    </>,
    { status: 401 },
  );
}
