import { type ComponentChildren, h, Fragment as Pieces, type VNode } from 'preact';
import { render } from 'preact-render-to-string';
import { type Asset, interFont, scriptAsset, sharedStyle, styleAsset } from '../../http/look/assets.ts';
import type { AppError } from '../../lib/app-error.ts';
import { isolatedControls, randomToken } from '../../lib/text.ts';
import { contentTypes } from '../../posts/model.ts';
import samplesStyle from '../../readers/reference/samples/samples.css' with { type: 'text' };
import dialogScript from '../client/dialogs.client.js' with { type: 'text' };
import keyboardScript from '../client/keyboard.client.js' with { type: 'text' };
import pageScript from '../client/page.client.js' with { type: 'text' };
import unsaved from '../client/unsaved.client.js' with { type: 'text' };
import type { Visit } from '../page.ts';
import controlStyle from '../style/controls.css' with { type: 'text' };
import deliveryStyle from '../style/deliveries.css' with { type: 'text' };
import explorerStyle from '../style/explorer.css' with { type: 'text' };
import formStyle from '../style/forms.css' with { type: 'text' };
import frameStyle from '../style/frame.css' with { type: 'text' };
import integrationStyle from '../style/integrations.css' with { type: 'text' };
import listStyle from '../style/lists.css' with { type: 'text' };
import mediaStyle from '../style/media.css' with { type: 'text' };
import postStyle from '../style/posts.css' with { type: 'text' };
import publishingStyle from '../style/publishing.css' with { type: 'text' };
import settingsStyle from '../style/settings.css' with { type: 'text' };
import startStyle from '../style/start.css' with { type: 'text' };
import triggerStyle from '../style/triggers.css' with { type: 'text' };
import { ForVisit, Icon, useVisit } from './elements.tsx';
import { Action, Form, FormError, Hidden } from './form.tsx';
import { type Frame, type Head, PageHead, Side, type Tab, Tabs } from './frame.tsx';
import { Drawing } from './list.tsx';

const styleSheet = styleAsset(
  'style.css',
  [
    sharedStyle,
    frameStyle,
    controlStyle,
    listStyle,
    formStyle,
    postStyle,
    mediaStyle,
    deliveryStyle,
    publishingStyle,
    settingsStyle,
    integrationStyle,
    triggerStyle,
    samplesStyle,
    explorerStyle,
    startStyle,
    // Parts of a form for a type of posts show while that type is chosen.
    ...contentTypes.map(
      (type) => `.post-page:not(:has(option[value="${type}"]:checked)) .for-${type}{display:none}`,
    ),
  ].join('\n'),
);
/** Loaded by the script below where a page has a form with text, and by the editor. */
export const unsavedScript = scriptAsset('unsaved.js', unsaved);
// One request. The keyboard's script uses `openDialog`.
const clientScript = scriptAsset(
  'client.js',
  [pageScript, `${dialogScript}\n${keyboardScript}`].map((text) => `{\n${text}}\n`).join(''),
  { './unsaved.client.js': unsavedScript },
);

export interface View {
  kind: 'view';
  title: string;
  body: VNode;
  status?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** For search engines. Pages without it are not indexed. */
  description?: string;
  /** Modules of this page, beside the script of all pages. */
  scripts?: readonly Asset[];
  /** The address that a browser without scripts goes to by itself. */
  refresh?: { seconds: number; to: string } | undefined;
  isSignedOut?: boolean;
  /** For a page outside an organization with more than one form. */
  isWide?: boolean;
  /** Pieces that are made while the page is sent. They stand where the body has the `Streamed`. */
  pieces?: AsyncIterable<VNode> | undefined;
}

export interface Fragment {
  kind: 'fragment';
  body: ComponentChildren;
}

interface About extends Head, Omit<View, 'kind' | 'title' | 'body'> {
  /** Default: the title. */
  heading?: string;
  /** Of a page with tabs in place of crumbs. */
  tab?: Tab;
  /** Outside an organization: a heading and a line, without what else stands above a page. */
  isSheet?: boolean;
  class?: string;
  /** The failure that the page shows, which sets the status and headers. A refused form is named in the title. */
  error?: AppError | null | undefined;
}

export function view(about: About, ...content: ComponentChildren[]): View {
  const { title, heading = title, crumbs, tag, facts, actions, more, ...options } = about;
  const { tab, isSheet, class: kind, error, ...rest } = options;
  const all = (
    <>
      {isSheet ? (
        <>
          <h1>{heading}</h1>
          {facts && <p class="lede">{facts}</p>}
        </>
      ) : (
        <PageHead title={heading} {...{ crumbs, tag, facts, actions, more }} />
      )}
      {tab && <Tabs current={tab} />}
      {content}
    </>
  );
  const body = kind === undefined ? all : <div class={kind}>{all}</div>;
  const page: View = { kind: 'view', body, ...rest, ...(error && statusOf(error)), title };
  return (page.status ?? 200) < 400 ? page : { ...page, title: `Error: ${title}` };
}

const statusOf = ({ status, headers }: AppError) => ({ status, headers });

/** Random, so that no text on a page can look like it. */
const STREAMED = `<!--${randomToken(16)}-->`;

/** The place of a page's `pieces`. */
export function Streamed() {
  return <div class="pieces" dangerouslySetInnerHTML={{ __html: STREAMED }} />;
}

/** A piece that fails is the last: the status is sent already, so `describe` makes a sentence of it. */
export async function* streamPage(
  html: string,
  pieces: AsyncIterable<VNode>,
  visit: Visit,
  describe: (error: unknown) => string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const encode = (body: VNode) => encoder.encode(renderFragment({ kind: 'fragment', body }, visit));
  const [before = '', after = ''] = html.split(STREAMED);
  yield encoder.encode(before);
  try {
    for await (const piece of pieces) yield encode(piece);
  } catch (error) {
    if (visit.request.signal.aborted) return;
    yield encode(<FormError error={describe(error)} />);
  }
  yield encoder.encode(after);
}

export function fragment(body: ComponentChildren): Fragment {
  return { kind: 'fragment', body };
}

/** The result of the last form. `undo`: a path of the dashboard to post to. */
export interface Notice {
  text: string;
  undo: string | null;
}

export function renderPage(
  { title, body, description, scripts = [], refresh, isWide = false, isSignedOut = false }: View,
  visit: Visit,
  frame: Frame | null,
  notice: Notice | null,
) {
  const { look } = visit;
  const content = (
    <main id="main" tabIndex={-1}>
      <div role="status" class="notices">
        {notice && <NoticeLine notice={notice} />}
      </div>
      {/* The script's news for screen readers. */}
      <p role="status" class="hidden" data-spoken />
      {body}
      {visit.user !== null && !isSignedOut && <Zone />}
    </main>
  );
  return `<!doctype html>${toHtml(
    <html
      lang="en"
      data-theme={look.theme === 'system' ? undefined : look.theme}
      data-density={look.density === 'dense' ? 'dense' : undefined}
      data-shortcuts={look.hasShortcuts ? undefined : 'off'}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        {description === undefined ? (
          <meta name="robots" content="noindex" />
        ) : (
          <meta name="description" content={description} />
        )}
        {refresh && (
          <noscript>
            <meta http-equiv="refresh" content={`${refresh.seconds}; url=${refresh.to}`} />
          </noscript>
        )}
        <title>{`${isolatedControls(title)} · Tidings`}</title>
        <link rel="preload" href={interFont.path} as="font" type="font/woff2" crossorigin="anonymous" />
        <link rel="stylesheet" href={styleSheet.path} />
        <link rel="icon" href="data:," />
        <script src={clientScript.path} defer />
        {scripts.map(({ path }) => (
          <script src={path} type="module" />
        ))}
      </head>
      <body
        data-person={frame === null ? undefined : visit.user?.id}
        data-done={notice === null ? undefined : ''}
      >
        <a class="skip" href="#main">
          Skip to content
        </a>
        {frame === null ? (
          <div class={isWide ? 'alone wide' : 'alone'}>
            <header>
              <a class="mark" href="/dashboard">
                Tidings
              </a>
            </header>
            {content}
          </div>
        ) : (
          <div class="shell">
            <Side frame={frame} />
            {content}
          </div>
        )}
      </body>
    </html>,
    visit,
  )}`;
}

/** Names the zone of the page's times, once. */
function Zone() {
  const { zone } = useVisit().look;
  return (
    <p class="zone">
      Times are in <a href="/dashboard/~/account#appearance">{zone}</a>.
    </p>
  );
}

/** The script shows the button that closes it, and closes one without "Undo" after a while. */
function NoticeLine({ notice: { text, undo } }: { notice: Notice }) {
  return (
    <div class="notice" data-notice={undo === null ? 'brief' : 'lasting'}>
      <Icon name="check" />
      <span class="grow">{text}</span>
      {undo !== null && <Action to={undo} label="Undo" kind="link" />}
      <button type="button" class="close" aria-label="Close" data-close hidden>
        <Icon name="x" />
      </button>
    </div>
  );
}

export function renderFragment({ body }: Fragment, visit: Visit): string {
  return toHtml(h(Pieces, {}, body), visit);
}

/** Without bidirectional overrides, which reorder text outside their element. Forms keep every character. */
function toHtml(node: VNode, visit: Visit): string {
  const reordering = /<textarea\b[^>]*>[^<]*|\bvalue="[^"]*"|[\u202a-\u202e\u2066-\u2069]/g;
  const html = render(<ForVisit visit={visit}>{node}</ForVisit>);
  return html.replaceAll(reordering, (each) => (each.length > 1 ? each : ''));
}

/** A page in place of one that cannot be shown. It is about the failure alone, so its title needs no prefix. */
const troubleView = (
  title: string,
  body: ComponentChildren,
  more: Pick<View, 'status' | 'headers'>,
): View => ({
  kind: 'view',
  title,
  body: (
    <>
      {more.status === 404 && <Drawing name="search" />}
      <h1>{title}</h1>
      {body}
    </>
  ),
  ...more,
});

export function troublePage(status: number, message: string, headers: View['headers'] = {}): View {
  return troubleView(
    status === 404 ? 'Not found' : 'Something went wrong',
    <>
      <p class="lede">{message}</p>
      <p>
        <a class="button" href="/dashboard">
          Open dashboard
        </a>
      </p>
    </>,
    { status, headers },
  );
}

/** While the database is away. A page that was asked for tries again by itself; a form that was sent must not. */
export function databaseAwayPage(method: string, { status, headers }: AppError): View {
  const isForm = method === 'POST';
  const seconds = headers['retry-after'] ?? '5';
  return troubleView(
    'Database unavailable',
    <>
      <p class="lede">
        Tidings can't reach the database right now. Saved data is safe.
        {isForm && ' Your last change may not be saved.'}
      </p>
      <p class="dim">
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
        <Form to={path} button="Send form again" layout="">
          <p>Your text is not lost: {elsewhere}, come back here, and send it again.</p>
          <Hidden values={form} />
        </Form>
      )}
    </>,
    { status: 401 },
  );
}
