import { h, Fragment as Pieces, type VNode } from 'preact';
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
import { Action } from './form.tsx';
import { Icon } from './icon.tsx';
import { type Frame, type Head, PageHead, type Section, Side } from './layout.tsx';
import { ForVisit, useVisit } from './time.tsx';

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
    // What a form has for a type of posts shows while that type is chosen.
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
  section?: Section;
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Modules of this page, beside the script of all pages. */
  scripts?: readonly Asset[];
  /** Where a browser without scripts goes by itself. */
  refresh?: { seconds: number; to: string };
  /** For a page outside an organization with more than one form. */
  isWide?: boolean;
  /** Pieces that are made while the page is sent. They stand where the body has the `Streamed`. */
  pieces?: AsyncIterable<VNode> | undefined;
}

/** A piece of a page, which the script inserts. */
export interface Fragment {
  kind: 'fragment';
  body: VNode | VNode[];
}

type ViewOptions = Omit<View, 'kind' | 'title' | 'body'> & { error?: AppError | null | undefined };

/** A page's title and its head. `heading`: default, the title. `tab`: of a page with tabs in place of crumbs. */
type Titled = Head & { heading?: string; tab?: keyof typeof tabs };

/**
 * `about`: the title, or the title with the head of the page. `error`: the failure that the page shows, which sets the
 * status and headers. A refused form is named in the title.
 */
export function view(about: string | Titled, content: VNode, { error, ...more }: ViewOptions = {}): View {
  const { title, ...head } = typeof about === 'string' ? { title: about } : about;
  const body =
    typeof about === 'string' ? (
      content
    ) : (
      <>
        <PageHead {...head} title={about.heading ?? title} />
        {about.tab && <Tabs current={about.tab} />}
        {content}
      </>
    );
  const page: View = { kind: 'view', title, body, ...(error && statusOf(error)), ...more };
  return (page.status ?? 200) < 400 ? page : { ...page, title: `Error: ${title}` };
}

const statusOf = ({ status, headers }: AppError) => ({ status, headers });

/** Random, so that no text on a page can look like it. */
const STREAMED = `<!--${randomToken(16)}-->`;

/** The place of a page's `pieces`. */
export function Streamed() {
  return <div class="pieces" dangerouslySetInnerHTML={{ __html: STREAMED }} />;
}

/** Divides a rendered page: what comes before its pieces, and after them. */
export function splitAtPieces(html: string): [before: string, after: string] {
  const [before = '', after = ''] = html.split(STREAMED);
  return [before, after];
}

export function fragment(body: VNode | VNode[]): Fragment {
  return { kind: 'fragment', body };
}

/** What the last form did. `undo`: a path of the dashboard to post to. */
export interface Notice {
  text: string;
  undo: string | null;
}

/** A page as HTML. Without a frame it is a sheet in the middle. */
export function renderPage(
  { title, body, section, scripts = [], refresh, isWide = false }: View,
  visit: Visit,
  frame: Frame | null,
  notice: Notice | null,
) {
  const { look } = visit;
  const content = (
    <main id="main" tabIndex={-1}>
      <div role="status" class="notices">
        {notice === null ? null : <NoticeLine notice={notice} />}
      </div>
      {/* The script's news for screen readers. */}
      <p role="status" class="hidden" data-spoken />
      {body}
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
        <meta name="robots" content="noindex" />
        {refresh === undefined ? null : (
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
            <Side frame={frame} section={section} />
            {content}
          </div>
        )}
      </body>
    </html>,
    visit,
  )}`;
}

/** The script shows the button that closes it, and closes one without "Undo" after a while. */
function NoticeLine({ notice: { text, undo } }: { notice: Notice }) {
  return (
    <div class="notice" data-notice={undo === null ? 'brief' : 'lasting'}>
      <Icon name="check" />
      <span class="grow">{text}</span>
      {undo === null ? null : <Action to={undo} label="Undo" kind="link" />}
      <button type="button" class="close" aria-label="Close" data-close data-script hidden>
        <Icon name="x" />
      </button>
    </div>
  );
}

export function renderFragment({ body }: Fragment, visit: Visit): string {
  return toHtml(h(Pieces, {}, body), visit);
}

/**
 * HTML without bidirectional overrides, embeddings and isolates, which reorder the text outside their element. Forms
 * keep every character that they hold.
 */
function toHtml(node: VNode, visit: Visit): string {
  const reordering = /<textarea\b[^>]*>[^<]*|\bvalue="[^"]*"|[\u202a-\u202e\u2066-\u2069]/g;
  const html = render(<ForVisit visit={visit}>{node}</ForVisit>);
  return html.replaceAll(reordering, (each) => (each.length > 1 ? each : ''));
}

const tabs = {
  settings: 'Organization',
  'settings/keys': 'API Keys',
  'settings/members': 'Members',
  'settings/audit': 'Audit log',
  publishing: 'Public page',
  'publishing/hooks': 'Hooks',
  'publishing/agents': 'Agents',
};

/** The pages beside this one. */
function Tabs({ current }: { current: string }) {
  const { base, isOwner } = useVisit();
  const [section = ''] = current.split('/');
  const beside = Object.entries(tabs).filter(([path]) => path.startsWith(section));
  return (
    <nav class="tabs" aria-label={section === 'settings' ? 'Settings' : 'Publishing'}>
      {beside.map(([path, name]) =>
        path === 'settings/audit' && !isOwner ? null : (
          <a class="tab" href={`${base}/${path}`} aria-current={path === current ? 'page' : undefined}>
            {name}
          </a>
        ),
      )}
    </nav>
  );
}
