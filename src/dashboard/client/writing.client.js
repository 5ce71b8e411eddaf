import '@github/markdown-toolbar-element';

// Markdown comfort: shortcuts of the toolbar, lists that go on, pasted texts and links, and the length of the text.

const WORDS_PER_MINUTE = 220;
const text = document.getElementById('field-markdown');
const preview = document.getElementById('preview');
const count = document.getElementById('text-count');

/** Longer ones, such as whole sheets, are pasted as plain text. */
const MAX_HTML = 1_000_000;
/** Without any of these, the plain text says the same. */
const FORMATTED =
  /<(?:h[1-6]|b|strong|i|em|del|s|code|pre|ul|ol|table|blockquote|a|img|hr|kbd|sub|sup)\b|font-weight:\s*(?:bold|[6-9]00)|font-style:\s*italic|mso-list:/i;

/** Pastes formatted text as Markdown, and an address over selected words as their link. */
text.addEventListener('paste', async (event) => {
  const { types } = event.clipboardData;
  const [plain, html] = ['text/plain', 'text/html'].map((type) => event.clipboardData.getData(type));
  const { selectionStart: start, selectionEnd: end, value } = text;
  const selected = value.slice(start, end);
  if (
    /^https?:\/\/\S+$/.test(plain.trim()) &&
    selected.trim() !== '' &&
    !/^https?:\/\/|[[\]\n]/.test(selected)
  ) {
    event.preventDefault();
    document.execCommand('insertText', false, `[${selected}](${plain.trim()})`);
    return;
  }
  const isInFence = (value.slice(0, start).match(/^ {0,3}(?:```|~~~)/gm) ?? []).length % 2 === 1;
  // Code from an editor has colors alone.
  const isCode = types.includes('vscode-editor-data');
  if (plain === '' || isInFence || isCode || html.length > MAX_HTML || !FORMATTED.test(html)) return;
  event.preventDefault();
  const { toMarkdown } = await import('./paste.client.js').catch(() => ({ toMarkdown: () => plain }));
  text.focus();
  document.execCommand('insertText', false, toMarkdown(html) || plain);
});

const keyOf = ({ code, key, shiftKey }) => (shiftKey ? /^Digit(\d)$/.exec(code)?.[1] : key.toLowerCase());

text.addEventListener('keydown', (event) => {
  if (event.altKey || !(event.ctrlKey || event.metaKey)) return;
  const key = keyOf(event);
  const button = key && document.querySelector(`[data-md-button][data-key="${CSS.escape(key)}"]`);
  // With Shift, only digits are shortcuts, and they are none without it.
  if (!button || event.shiftKey !== /\d/.test(key)) return;
  event.preventDefault();
  button.click();
});

/** Enter begins the next item of a list or line of a quote; in an empty one it ends the list. */
text.addEventListener('keydown', (event) => {
  const hasModifier = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
  if (event.key !== 'Enter' || event.isComposing || hasModifier) return;
  const { selectionStart: at, selectionEnd, value } = text;
  if (at !== selectionEnd) return;
  const start = value.lastIndexOf('\n', at - 1) + 1;
  const line = value.slice(start, at);
  const [whole, indent, bullet, number, end, task] =
    /^((?:[ \t]|>)*)(?:([-*+])|(\d{1,9})([.)]))[ \t]+(\[[ xX]\][ \t]+)?/.exec(line) ??
    /^([ \t]*>[ \t>]*)/.exec(line) ??
    [];
  if (whole === undefined) return;
  event.preventDefault();
  if (whole === line) {
    text.setSelectionRange(start, at);
    document.execCommand('delete');
    return;
  }
  const marker = bullet ?? (number && `${Number(number) + 1}${end}`);
  const rest = marker === undefined ? '' : `${marker} ${task ? '[ ] ' : ''}`;
  document.execCommand('insertText', false, `\n${indent}${rest}`);
  // Chromium scrolls only for typed keys.
  text.blur();
  text.focus();
});

const segmenter = new Intl.Segmenter(document.documentElement.lang, { granularity: 'word' });
const number = new Intl.NumberFormat('en');

/** For LinkedIn, the preview counts the characters of the plain text. */
function showCount() {
  const characters = preview.querySelector('[data-count]');
  count.className = characters?.className ?? 'hint';
  if (characters !== null) {
    count.textContent = characters.textContent;
    characters.hidden = true;
    return;
  }
  const words = [...segmenter.segment(preview.textContent)].filter(({ isWordLike }) => isWordLike).length;
  const minutes = Math.max(1, Math.round(words / WORDS_PER_MINUTE));
  const summary = `${number.format(words)} ${words === 1 ? 'word' : 'words'}, ${minutes} min read`;
  count.textContent = text.value.trim() === '' ? '' : summary;
}

// The preview has no markers and addresses, so it is what people read.
new MutationObserver(showCount).observe(preview, { childList: true });
showCount();
