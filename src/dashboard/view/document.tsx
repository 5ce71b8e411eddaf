/** @jsxRuntime automatic @jsxImportSource preact */
import { h, Fragment as Pieces, type VNode } from 'preact';
import { render } from 'preact-render-to-string';
import type { AppError } from '../../lib/app-error.ts';
import samplesStyle from '../../reference/samples/samples.css' with { type: 'text' };
import script from '../client/page.client.js' with { type: 'text' };
import type { MemberVisit } from '../page.ts';
import baseStyle from '../style/base.css' with { type: 'text' };
import deliveryStyle from '../style/deliveries.css' with { type: 'text' };
import explorerStyle from '../style/explorer.css' with { type: 'text' };
import formStyle from '../style/forms.css' with { type: 'text' };
import integrationStyle from '../style/integrations.css' with { type: 'text' };
import mediaStyle from '../style/media.css' with { type: 'text' };
import postStyle from '../style/posts.css' with { type: 'text' };
import settingsStyle from '../style/settings.css' with { type: 'text' };
import triggerStyle from '../style/triggers.css' with { type: 'text' };
import { type Asset, scriptAsset, styleAsset } from './assets.ts';
import { counted } from './elements.tsx';
import { Action, Form, Hidden } from './form.tsx';

const styleSheet = styleAsset(
  'style.css',
  [
    baseStyle,
    postStyle,
    mediaStyle,
    deliveryStyle,
    settingsStyle,
    integrationStyle,
    formStyle,
    triggerStyle,
    samplesStyle,
    explorerStyle,
  ].join('\n'),
);
const clientScript = scriptAsset('client.js', script);

type Section =
  | 'posts'
  | 'integrations'
  | 'deliveries'
  | 'triggers'
  | 'keys'
  | 'explorer'
  | 'settings'
  | 'account';

export interface View {
  kind: 'view';
  title: string;
  body: VNode;
  section?: Section;
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Modules of this page, beside the script of all pages. */
  scripts?: readonly Asset[];
  /** Where a browser without scripts goes by itself. */
  refresh?: { seconds: number; to: string };
}

/** A piece of a page, which the script inserts. */
export interface Fragment {
  kind: 'fragment';
  body: VNode | VNode[];
}

/** `error`: the failure that the page shows, which sets the status and headers. A refused form is named in the title. */
export function view(
  title: string,
  body: VNode,
  {
    error,
    ...more
  }: Pick<View, 'section' | 'status' | 'headers' | 'scripts' | 'refresh'> & {
    error?: AppError | null | undefined;
  } = {},
): View {
  const page: View = { kind: 'view', title, body, ...(error && statusOf(error)), ...more };
  return (page.status ?? 200) < 400 ? page : { ...page, title: `Error: ${title}` };
}

const statusOf = ({ status, headers }: AppError) => ({ status, headers });

export function fragment(body: VNode | VNode[]): Fragment {
  return { kind: 'fragment', body };
}

export interface Frame extends Pick<MemberVisit, 'user' | 'organization' | 'memberships' | 'base'> {
  mayCreateOrganization: boolean;
  /** Without scheduled ones. */
  drafts: number;
  /** Posts with a newer version that waits. */
  suggestions: number;
}

/** What the last form did. `undo`: a path of the dashboard to post to. */
export interface Notice {
  text: string;
  undo: string | null;
}

/** A page as HTML. Without a frame it is a sheet in the middle. */
export function renderPage(
  { title, body, section, scripts = [], refresh }: View,
  frame: Frame | null,
  notice: Notice | null,
) {
  const content = (
    <main id="main">
      <div role="status" class="notices">
        {notice === null ? null : (
          <div class="notice">
            {notice.text}
            {notice.undo === null ? null : <Action to={notice.undo} label="Undo" kind="link" />}
          </div>
        )}
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
        {refresh === undefined ? null : (
          <noscript>
            <meta http-equiv="refresh" content={`${refresh.seconds}; url=${refresh.to}`} />
          </noscript>
        )}
        <title>{`${title} · Tidings`}</title>
        <link rel="stylesheet" href={styleSheet.path} />
        <link rel="icon" href="data:," />
        <script src={clientScript.path} defer />
        {scripts.map(({ path }) => (
          <script src={path} type="module" />
        ))}
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

/**
 * HTML without bidirectional overrides, embeddings and isolates, which reorder the text outside their element. Forms
 * keep every character that they hold.
 */
function toHtml(node: VNode): string {
  const reordering = /<textarea\b[^>]*>[^<]*|\bvalue="[^"]*"|[\u202a-\u202e\u2066-\u2069]/g;
  return render(node).replaceAll(reordering, (each) => (each.length > 1 ? each : ''));
}

const entries: [section: Section, path: string, name: string][] = [
  ['posts', 'posts', 'Posts'],
  ['integrations', 'integrations', 'Integrations'],
  ['deliveries', 'deliveries', 'Deliveries'],
  ['keys', 'settings/keys', 'API keys'],
  ['settings', 'settings', 'Settings'],
];

const current = (is: boolean) => (is ? 'page' : undefined);

function Side({ frame, section }: { frame: Frame; section: Section | undefined }) {
  const { user, organization, memberships, mayCreateOrganization, base, drafts } = frame;
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
            {entries.map(([each, path, name]) => (
              <a href={`${base}/${path}`} aria-current={current(each === section)}>
                <span>{name}</span>
                {each === 'posts' && drafts > 0 ? <small>{counted(drafts, 'draft')}</small> : null}
              </a>
            ))}
          </nav>
          <div class="me">
            <a href="/dashboard/~/account" aria-current={current(section === 'account')}>
              {user.email}
            </a>
            <Form to="/dashboard/~/sign-out" problem={null} button="Sign out" kind="link" layout="" />
          </div>
        </div>
      </details>
    </header>
  );
}

const tabs = {
  settings: 'Organization',
  'settings/keys': 'API keys',
  'settings/members': 'Members',
  'settings/audit': 'Audit log',
};

export function SettingsHead(props: {
  title: string;
  visit: Pick<MemberVisit, 'base' | 'role'>;
  current: keyof typeof tabs;
}) {
  const { base, role } = props.visit;
  return (
    <>
      <h1>{props.title}</h1>
      <nav class="tabs" aria-label="Settings">
        {Object.entries(tabs).map(([path, name]) =>
          path === 'settings/audit' && role !== 'owner' ? null : (
            <a class="tab" href={`${base}/${path}`} aria-current={current(path === props.current)}>
              {name}
            </a>
          ),
        )}
      </nav>
    </>
  );
}

export function troublePage(status: number, message: string, headers: View['headers'] = {}): View {
  const isMissing = status === 404;
  return troubleView(
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

/** A page that is about the failure alone, so its title needs no prefix. */
function troubleView(title: string, body: VNode, more: Pick<View, 'status' | 'headers'>): View {
  return { kind: 'view', title, body, ...more };
}

/** While the database is away. A page that was asked for tries again by itself; a form that was sent must not. */
export function databaseAwayPage(method: string, { status, headers }: AppError): View {
  const isForm = method === 'POST';
  const seconds = headers['retry-after'] ?? '5';
  return troubleView(
    'One moment',
    <>
      <h1>One moment, please</h1>
      <p class="lede">
        The database cannot be reached right now. What you saved before is safe.
        {isForm && ' What you just sent may not be saved.'}
      </p>
      <p class="muted">
        {isForm
          ? 'Reload this page in a moment. When your browser asks, confirm that it sends the form again.'
          : `This page tries again every ${seconds} seconds.`}
      </p>
    </>,
    { status, headers: isForm ? headers : { ...headers, refresh: seconds } },
  );
}

/** Fields that no page repeats, even to send a form again. */
const SECRETS = new Set(['password', 'current', 'apiToken']);

/** For a form whose session had ended. The page carries its fields; null: it is too large to read without a session. */
export function signedOutPage(path: string, form: URLSearchParams | null): View {
  const isSecret = form !== null && [...form.keys()].some((name) => SECRETS.has(name));
  const elsewhere = (
    <a href="/dashboard/~/sign-in" target="_blank" rel="noopener">
      sign in in another tab
    </a>
  );
  return troubleView(
    'You are signed out',
    <>
      <h1>You are signed out</h1>
      <p class="lede">Your session has ended, so Tidings did not process the form.</p>
      {form === null ? (
        <p>
          Your text is too long to keep on this page, but your browser still has it: {elsewhere}, come back
          here, and reload this page. When your browser asks, confirm that it sends the form again.
        </p>
      ) : isSecret ? (
        <p>
          <a class="button go" href="/dashboard/~/sign-in">
            Sign in
          </a>
        </p>
      ) : (
        <Form to={path} problem={null} button="Send it again" layout="">
          <p>Your text is not lost: {elsewhere}, come back here, and send it again.</p>
          <Hidden values={[...form]} />
        </Form>
      )}
    </>,
    { status: 401 },
  );
}
