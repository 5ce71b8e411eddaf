import { gfm } from '@joplin/turndown-plugin-gfm';
import Turndown from 'turndown';

// Makes Markdown of what a person copied from a web page, a document or a spreadsheet. Loaded at the first such paste.

const turndown = new Turndown({
  headingStyle: 'atx',
  codeBlockStyle: 'fenced',
  bulletListMarker: '-',
  emDelimiter: '*',
  preformattedCode: true,
  hr: '---',
});
turndown.use(gfm);
turndown.remove(['style', 'script', 'title', 'noscript', 'button', 'select', 'textarea']);
// Words that look like a tag or an entity, which Turndown leaves as they are.
const escapeMarkdown = turndown.escape.bind(turndown);
turndown.escape = (text) => escapeMarkdown(text).replaceAll(/<(?=[a-z/!?])|&(?=#?\w+;)/gi, '\\$&');

// As Turndown's own rule, with one space after the marker in place of three.
turndown.addRule('listItem', {
  filter: 'li',
  replacement(content, item, { bulletListMarker }) {
    const list = item.parentNode;
    const marker = list.nodeName === 'OL' ? `${numberOf(item)}. ` : `${bulletListMarker} `;
    const text = content
      .trim()
      .replace(/^(\[[x ]\]) +/, '$1 ')
      .replaceAll(/\n(?!\n)/g, `\n${' '.repeat(marker.length)}`);
    return `${marker}${text}${item.nextSibling ? '\n' : ''}`;
  },
});

const numberOf = (item) =>
  Number(item.parentNode.getAttribute('start') ?? 1) + [...item.parentNode.children].indexOf(item);

turndown.addRule('cellBreak', {
  filter: (node) => node.nodeName === 'BR' && node.closest('th, td') !== null,
  replacement: () => '<br>',
});

// Markdown has no marks for these.
turndown.addRule('tags', {
  filter: ['kbd', 'sub', 'sup'],
  replacement: (content, { localName }) =>
    content.trim() === '' ? content : `<${localName}>${content}</${localName}>`,
});

/** Chats and GitHub paste their emoji as images. */
const EMOJI =
  /^(?::[\w+-]+:|(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|\p{Emoji_Modifier}|\u200d|\ufe0f)+)$/u;

export function toMarkdown(html) {
  const { body } = new DOMParser().parseFromString(html, 'text/html');
  for (const link of body.querySelectorAll('a')) {
    const isUseful = /^(?:https?|mailto):/i.test(link.getAttribute('href') ?? '') && link.textContent.trim();
    if (!isUseful && link.querySelector('img') === null) link.replaceWith(...link.childNodes);
  }
  for (const image of body.querySelectorAll('img'))
    if (!/^https?:/i.test(image.getAttribute('src') ?? '') || EMOJI.test(image.alt))
      image.replaceWith(image.alt);
  for (const each of body.querySelectorAll('svg')) each.remove();
  wordLists(body);
  styledText(body);
  for (const pre of body.querySelectorAll('pre')) codeBlock(pre);
  // Documents and mail programs put a nested list beside its item.
  for (const list of body.querySelectorAll(':is(ul, ol) > :is(ul, ol)'))
    if (list.previousElementSibling?.localName === 'li') list.previousElementSibling.append(list);
  for (const only of body.querySelectorAll('li > p:first-child:only-of-type'))
    only.replaceWith(...only.childNodes);
  // The innermost first: a table in a cell becomes words.
  for (const table of [...body.querySelectorAll('table')].reverse()) plainTable(table);
  return turndown.turndown(body).replaceAll(/\n{3,}/g, '\n\n');
}

/** Word has the items of a list as paragraphs: their marker is a text, and their level is in the style. */
function wordLists(body) {
  const { ownerDocument: document } = body;
  let open = [];
  for (const paragraph of body.querySelectorAll('p[style*="mso-list:"]')) {
    const marker = paragraph.querySelector('[style*="mso-list:"]');
    const level = Number(/\blevel(\d)/.exec(paragraph.getAttribute('style'))?.[1]);
    if (marker === null || !level) continue;
    const words = marker.textContent.trim();
    const number = /^(\d+)[.)]$/.exec(words)?.[1];
    const name = number === undefined ? 'ul' : 'ol';
    if (paragraph.previousElementSibling !== open[0]?.list) open = [];
    open = open.filter(
      (each) => each.level < level || (each.level === level && each.list.localName === name),
    );
    if (open.at(-1)?.level !== level) {
      const list = document.createElement(name);
      if (number !== undefined) list.setAttribute('start', number);
      const outer = open.at(-1)?.list.lastElementChild;
      if (outer) outer.append(list);
      else paragraph.before(list);
      open.push({ level, list });
    }
    const item = document.createElement('li');
    marker.remove();
    // A bullet is one character; "a)" is not.
    const isMarker = number !== undefined || words.length < 2;
    item.append(...(isMarker ? [] : [`${words} `]), ...paragraph.childNodes);
    open.at(-1).list.append(item);
    paragraph.remove();
  }
}

/** Documents say by the style of a `span` what is bold or italic, and wrap all in a `b` that is not. */
function styledText(body) {
  for (const each of body.querySelectorAll('b, strong, span')) {
    const style = each.getAttribute('style') ?? '';
    const isSpan = each.localName === 'span';
    const isBold =
      isSpan && /font-weight:\s*(?:bold|[6-9]00)/.test(style) && !each.closest('h1, h2, h3, h4, h5, h6, th');
    if (!isSpan && /font-weight:\s*(?:normal|400)/.test(style)) each.replaceWith(...each.childNodes);
    if (isSpan && /font-style:\s*italic/.test(style)) wrap(each, 'em');
    if (isBold) wrap(each, 'strong');
  }
}

function wrap(element, name) {
  const wrapper = element.ownerDocument.createElement(name);
  wrapper.append(...element.childNodes);
  element.append(wrapper);
}

/** How Prism and Rouge, MDN, and Sphinx name the language of code in a class. */
const LANGUAGE =
  /(?:(?:^|\s)lang(?:uage)?-|(?:^|\s)brush: ?|^highlight-(?!default |none )(?=\S+ notranslate))([\w+#-]+)/;

function codeBlock(pre) {
  for (const each of pre.querySelectorAll('br')) each.replaceWith('\n');
  if (pre.querySelector('code') === null) wrap(pre, 'code');
  const code = pre.querySelector('code');
  // Rouge and Sphinx name it two elements above.
  const wrappers = [pre.parentElement, pre.parentElement?.parentElement].filter(
    (each) => each?.matches('div, figure') && each.textContent === pre.textContent,
  );
  const named = [code, pre, ...wrappers].map(({ className }) => LANGUAGE.exec(className)?.[1]);
  const language = named.find(Boolean) ?? pre.dataset.language ?? pre.dataset.lang;
  if (language) code.className = `language-${language}`;
}

/** A table as Markdown has it: a row of headings, cells of one line, and as many in each row. */
function plainTable(table) {
  const { ownerDocument: document } = table;
  const { caption } = table;
  if (caption !== null) {
    const text = document.createElement('p');
    text.append(...caption.childNodes);
    table.before(text);
    caption.remove();
  }
  for (const columns of table.querySelectorAll('colgroup, col')) columns.remove();
  if (table.tFoot !== null) table.append(table.tFoot);
  const isNested = table.parentElement.closest('td, th') !== null;
  for (const row of table.rows) {
    for (const cell of [...row.cells]) {
      for (let { colSpan } = cell; colSpan > 1 && colSpan < 100; colSpan--)
        cell.after(document.createElement('td'));
      const below = [...table.rows].slice(row.rowIndex + 1, row.rowIndex + Math.min(cell.rowSpan, 1_000));
      for (const each of below)
        each.insertBefore(document.createElement('td'), each.cells[cell.cellIndex] ?? null);
      cell.removeAttribute('colspan');
      cell.removeAttribute('rowspan');
      oneLine(cell);
      if (isNested) cell.append(' ');
    }
  }
  if (isNested)
    return table.replaceWith(
      ...[...table.rows].flatMap(({ cells }) => [...cells].flatMap((cell) => [...cell.childNodes])),
    );
  const [first] = table.rows;
  if (first === undefined) return;
  const width = Math.max(...[...table.rows].map(({ cells }) => cells.length));
  while (first.cells.length < width) first.insertCell();
  for (const cell of [...first.cells]) {
    const heading = document.createElement('th');
    heading.append(...cell.childNodes);
    // The policy of the page keeps styles from being read in another way.
    const [, style] = /text-align:\s*(center|right)/.exec(cell.getAttribute('style')) ?? [];
    heading.align = cell.align || (style ?? '');
    // The heading decides for its column, where its cells say nothing.
    for (const { cells } of heading.align ? table.rows : [])
      if (cells[cell.cellIndex]) cells[cell.cellIndex].align ||= heading.align;
    cell.replaceWith(heading);
  }
}

const BLOCKS = 'p, div, section, ul, ol, li, blockquote, pre, hr, h1, h2, h3, h4, h5, h6';

function oneLine(cell) {
  const { ownerDocument: document } = cell;
  for (const code of cell.querySelectorAll('pre > code')) {
    const lines = code.textContent.replace(/\n+$/, '').split('\n');
    code.parentElement.replaceChildren(
      ...lines.flatMap((line, index) => {
        const part = document.createElement('code');
        part.textContent = line;
        return [...(index > 0 ? [document.createElement('br')] : []), ...(line.trim() === '' ? [] : [part])];
      }),
    );
  }
  for (const block of [...cell.querySelectorAll(BLOCKS)].reverse()) {
    const { localName, parentElement } = block;
    const before = beside(block, 'previousSibling');
    const after = beside(block, 'nextSibling');
    const isEmpty = (node) => node === null || node.textContent.trim() === '';
    const isApart = isEmpty(before) || before.matches?.(BLOCKS);
    const isNumbered = localName === 'li' && parentElement.localName === 'ol';
    const mark = isNumbered ? `${numberOf(block)}. ` : '• ';
    block.replaceWith(
      ...(isApart ? [] : [document.createElement('br')]),
      ...(localName === 'li' ? [mark] : []),
      ...block.childNodes,
      ...(isEmpty(after) ? [] : [document.createElement('br')]),
    );
  }
}

/** The next node that is not only white space. */
function beside(block, step) {
  let node = block[step];
  while (node?.nodeType === Node.TEXT_NODE && node.textContent.trim() === '') node = node[step];
  return node;
}
