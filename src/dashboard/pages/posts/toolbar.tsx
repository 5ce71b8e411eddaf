import toolbarLibrary from '@github/markdown-toolbar-element/dist/index.js' with { type: 'text' };
import gfmLibrary from '@joplin/turndown-plugin-gfm/lib/turndown-plugin-gfm.cjs.js' with { type: 'text' };
import { h } from 'preact';
import turndownLibrary from 'turndown/lib/turndown.browser.es.js' with { type: 'text' };
import { scriptAsset } from '../../../http/look/assets.ts';
import type { ListedStatus, PostNumbers } from '../../../posts/list-store.ts';
import {
  type ContentType,
  contentTypeRules,
  contentTypes,
  type Post,
  type PostStatus,
} from '../../../posts/model.ts';
import { providers } from '../../../providers/index.ts';
import saving from '../../client/editor.client.js' with { type: 'text' };
import panes from '../../client/panes.client.js' with { type: 'text' };
import paste from '../../client/paste.client.js' with { type: 'text' };
import preview from '../../client/preview.client.js' with { type: 'text' };
import writing from '../../client/writing.client.js' with { type: 'text' };
import { unsavedScript } from '../../view/document.tsx';
import { Segments } from '../../view/elements.tsx';

// Buttons that write Markdown, for the script of the editor. Without it, the toolbar stays hidden.

/** Modules of the pages with an editor. The one that reads pasted HTML loads at the first such paste. */
export const editorScripts = [
  scriptAsset('editor.js', saving, { './unsaved.client.js': unsavedScript }),
  scriptAsset('writing.js', writing, {
    '@github/markdown-toolbar-element': scriptAsset('markdown-toolbar.js', toolbarLibrary),
    './paste.client.js': scriptAsset('paste.js', paste, {
      turndown: scriptAsset('turndown.js', turndownLibrary),
      // Its package has no module.
      '@joplin/turndown-plugin-gfm': scriptAsset(
        'turndown-gfm.js',
        `const exports = {};\n${gfmLibrary}\nexport { gfm };`,
      ),
    }),
  }),
  scriptAsset('panes.js', panes),
  scriptAsset('preview.js', preview),
];

interface Tool {
  /** The name of a style of the toolbar element. */
  style: string;
  label: string;
  /** With Ctrl or Cmd. A digit is a key of the top row, with Shift. */
  key: string;
  /** Paths of a Lucide icon (ISC license). */
  icon: string;
}

const tools: readonly (readonly Tool[])[] = [
  [
    { style: 'header-2', label: 'Heading', key: '6', icon: 'M6 12h12M6 20V4M18 20V4' },
    {
      style: 'bold',
      label: 'Bold',
      key: 'b',
      icon: 'M6 12h9a4 4 0 0 1 0 8H7a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1h7a4 4 0 0 1 0 8',
    },
    { style: 'italic', label: 'Italic', key: 'i', icon: 'M19 4h-9M14 20H5M15 4 9 20' },
    { style: 'code', label: 'Code', key: 'e', icon: 'm16 18 6-6-6-6M8 6l-6 6 6 6' },
    {
      style: 'link',
      label: 'Link',
      key: 'k',
      icon: 'M10 13a5 5 0 0 0 7.54.54l3-3a5 5 0 0 0-7.07-7.07l-1.72 1.71M14 11a5 5 0 0 0-7.54-.54l-3 3a5 5 0 0 0 7.07 7.07l1.71-1.71',
    },
  ],
  [
    {
      style: 'unordered-list',
      label: 'Bulleted list',
      key: '8',
      icon: 'M3 5h.01M3 12h.01M3 19h.01M8 5h13M8 12h13M8 19h13',
    },
    {
      style: 'ordered-list',
      label: 'Numbered list',
      key: '7',
      icon: 'M11 5h10M11 12h10M11 19h10M4 4h1v5M4 9h2M6.5 20H3.4c0-1 2.6-1.925 2.6-3.5a1.5 1.5 0 0 0-2.6-1.02',
    },
    { style: 'quote', label: 'Quote', key: '9', icon: 'M17 5H3M21 12H8M21 19H8M3 12v7' },
  ],
];

const views = [
  { name: 'preview', label: 'Preview', isOn: true, icon: 'M4 4h16v16H4zM12 4v16' },
  {
    name: 'full',
    label: 'Full screen',
    isOn: false,
    icon: 'M8 3H5a2 2 0 0 0-2 2v3M21 8V5a2 2 0 0 0-2-2h-3M3 16v3a2 2 0 0 0 2 2h3M16 21h3a2 2 0 0 0 2-2v-3',
  },
];

export function Toolbar({ textArea }: { textArea: string }) {
  const buttons = tools.map((group) => (
    <span class="tools">
      {group.map(({ style, label, key, icon }) => {
        const keys = /\d/.test(key) ? `Shift+${key}` : key.toUpperCase();
        return (
          <button
            type="button"
            class="tool"
            // The toolbar is one stop of the Tab key; arrows move within it.
            tabIndex={-1}
            aria-label={label}
            title={`${label} (Ctrl+${keys})`}
            aria-keyshortcuts={`Control+${keys} Meta+${keys}`}
            data-md-button={style}
            data-key={key}
          >
            <Icon path={icon} />
          </button>
        );
      })}
    </span>
  ));
  return (
    <div class="editor-tools" data-script hidden>
      {h('markdown-toolbar', { for: textArea, 'aria-label': 'Formatting' }, buttons)}
      <p id="save-status" class="dim" role="status" />
      <span class="tools">
        {views.map(({ name, label, isOn, icon }) => (
          <button type="button" class="tool" aria-pressed={isOn} title={label} data-view={name}>
            <Icon path={icon} />
            <span class="tool-label">{label}</span>
          </button>
        ))}
      </span>
    </div>
  );
}

function Icon({ path }: { path: string }) {
  return (
    <svg
      viewBox="0 0 24 24"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}

// How pages describe a post: its type, and where it came from.

const MAX_LENGTH = 200;
const MAX_URL_LENGTH = 2_000;

/**
 * The displayable part of a post's metadata, which is free-form and may come from an import: short plain text, an http
 * or https URL, and the provider's id of the delivery behind the post.
 */
export function originOf({ sourceMetadata }: Pick<Post, 'sourceMetadata'>) {
  const { platform, repository, version, author, url, deliveryId } = sourceMetadata ?? {};
  return {
    platform: providers.find(({ id }) => id === platform)?.name ?? textOf(platform),
    repository: textOf(repository),
    version: textOf(version),
    author: textOf(author),
    url: webAddress(url),
    deliveryId: textOf(deliveryId),
  };
}

function textOf(value: unknown): string | null {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH).toWellFormed()}…` : text || null;
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

/** What the form of a post edits. */
export const editable = ({
  title,
  markdown,
  contentType,
}: Pick<Post, 'title' | 'markdown' | 'contentType'>) => ({ title, markdown, contentType });

/** What the page of a post shows: the version that its buttons act on. */
export const shown = (post: Pick<Post, 'title' | 'markdown' | 'contentType' | 'status'>) => ({
  ...editable(post),
  status: post.status,
});

const statusNames: Readonly<Record<PostStatus, string>> = { draft: 'Draft', published: 'Published' };

export const editWords = {
  noun: 'post',
  labels: {
    title: 'Title',
    markdown: 'Text',
    contentType: 'Type',
    status: 'Status',
    publishAt: 'Publish at',
    createdAt: 'Date',
  },
  show: (field: string, value: unknown) => {
    if (field === 'status') return statusNames[value as PostStatus];
    return field === 'contentType' ? contentTypeRules[value as ContentType].name : null;
  },
};

export const typeOptions = contentTypes.map((value) => ({ value, label: contentTypeRules[value].name }));

/** The origin of a post, such as `2.4.0 of acme/rocket`; null when it is unknown. */
export function describeOrigin(post: Pick<Post, 'sourceMetadata'>): string | null {
  const { platform, repository, version } = originOf(post);
  const source = [version, repository].filter((each) => each !== null).join(' of ');
  return [source, platform].filter(Boolean).join(' on ') || null;
}

type View = 'all' | ListedStatus | 'suggestion' | 'trash';

const segments: readonly [view: View, label: string, query: string][] = [
  ['all', 'All', ''],
  ['draft', 'Drafts', 'status=draft'],
  ['scheduled', 'Scheduled', 'status=scheduled'],
  ['published', 'Published', 'status=published'],
  ['suggestion', 'Suggestions', 'suggestion=1'],
];

/** The lists of posts with their lengths. `more`: what stays of the query, such as the words of a search. */
export function PostSegments({
  numbers,
  current,
  more = '',
}: {
  base: string;
  numbers: PostNumbers;
  current: View;
  more?: string;
}) {
  const numberOf = (view: View) => numbers[view === 'suggestion' ? 'suggestions' : view];
  const items = segments
    // Few posts have one, and few people wait for them.
    .filter(([view]) => view !== 'suggestion' || numbers.suggestions > 0 || current === 'suggestion')
    .map(([view, label, query]) => {
      const search = [query, more].filter(Boolean).join('&');
      return { view, label, to: `posts${search === '' ? '' : `?${search}`}` };
    });
  return (
    <Segments
      label="Posts by status"
      items={[...items, { view: 'trash' as const, label: 'Trash', to: 'posts/~/trash' }].map(
        ({ view, label, to }) => ({
          to,
          isCurrent: view === current,
          label: (
            <>
              {label} <small>{numberOf(view).toLocaleString('en')}</small>
            </>
          ),
        }),
      )}
    />
  );
}
