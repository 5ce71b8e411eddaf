import toolbarLibrary from '@github/markdown-toolbar-element/dist/index.js' with { type: 'text' };
import gfmLibrary from '@joplin/turndown-plugin-gfm/lib/turndown-plugin-gfm.cjs.js' with { type: 'text' };
import { h } from 'preact';
import turndownLibrary from 'turndown/lib/turndown.browser.es.js' with { type: 'text' };
import { scriptAsset } from '../../../http/look/assets.ts';
import saving from '../../client/editor.client.js' with { type: 'text' };
import panes from '../../client/panes.client.js' with { type: 'text' };
import paste from '../../client/paste.client.js' with { type: 'text' };
import preview from '../../client/preview.client.js' with { type: 'text' };
import writing from '../../client/writing.client.js' with { type: 'text' };
import { unsavedScript } from '../../view/document.tsx';
import { Icon, type IconName } from '../../view/elements.tsx';

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

/** Groups of buttons. The key: with Ctrl or Cmd. A digit is a key of the top row, with Shift. */
const tools: readonly (readonly (readonly [style: string, label: string, key: string, icon: IconName])[])[] =
  [
    [
      ['header-2', 'Heading', '6', 'heading'],
      ['bold', 'Bold', 'b', 'bold'],
      ['italic', 'Italic', 'i', 'italic'],
      ['code', 'Code', 'e', 'code'],
      ['link', 'Link', 'k', 'link'],
    ],
    [
      ['unordered-list', 'Bulleted list', '8', 'list'],
      ['ordered-list', 'Numbered list', '7', 'list-ordered'],
      ['quote', 'Quote', '9', 'text-quote'],
    ],
  ];

const views = [
  { name: 'preview', label: 'Preview', icon: 'columns-2' },
  { name: 'full', label: 'Full screen', icon: 'maximize' },
] as const;

export function Toolbar({ textArea }: { textArea: string }) {
  const buttons = tools.map((group) => (
    <span class="tools">
      {group.map(([style, label, key, icon]) => {
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
            <Icon name={icon} />
          </button>
        );
      })}
    </span>
  ));
  return (
    <div class="editor-tools" data-script hidden>
      {h('markdown-toolbar', { for: textArea, 'aria-label': 'Formatting' }, buttons)}
      <div class="save-state">
        <Icon name="triangle-alert" />
        <p id="save-status" class="dim" role="status" />
      </div>
      <span class="tools">
        {views.map(({ name, label, icon }) => (
          <button type="button" class="tool" aria-pressed={false} title={label} data-view={name}>
            <Icon name={icon} />
            <span class="tool-label">{label}</span>
          </button>
        ))}
      </span>
    </div>
  );
}
