import { expect, test } from 'bun:test';
import { allowOnly, renderMarkdown } from '../../src/lib/markdown/render.ts';
import { findActive } from '../support/active-html.ts';
import { attacks } from '../support/attacks.ts';

/** Things in a page of the dashboard that could run, load, mislead or request something of another site. */
function dangersIn(html: string): string[] {
  const found = findActive(html.replaceAll(' rel="noopener nofollow"', ''));
  for (const [tag] of html.matchAll(
    /<(?:img|iframe|form|button|style|script|link|meta|base|svg)\b[^>]*>/gi,
  )) {
    found.push(tag);
  }
  for (const [, href = ''] of html.matchAll(/<a\b[^>]*href="([^"]*)"/g)) {
    if (!/^(?:https?:\/\/|mailto:)/i.test(href)) found.push(href);
  }
  return found;
}

test.each(attacks)('nothing active is in the preview of %j', (attack) => {
  for (const markdown of [attack, `- a\n\n  ${attack}`, `> ${attack}`, `a ${attack} b`]) {
    expect(dangersIn(renderMarkdown(markdown))).toEqual([]);
  }
});

test.each(attacks)('the second wall alone stops %j', (attack) => {
  // As HTML, and as a renderer makes it of unchecked Markdown.
  for (const html of [`<p>${attack}</p>\n`, Bun.markdown.html(attack, { autolinks: true })]) {
    // An end tag without a beginning does nothing; only text that was made safe first is sure to have none.
    const passed = allowOnly(`${html}"'>-->`).replaceAll(/<\/[^>]*>/g, '');
    const found = dangersIn(passed).filter((each) => !/^markup at|without an end/.test(each));
    expect(found).toEqual([]);
  }
});

test.each([
  ['NOTE', 'note', 'Note'],
  ['tip', 'tip', 'Tip'],
  ['Important', 'important', 'Important'],
  ['WARNING', 'warning', 'Warning'],
  ['CAUTION', 'caution', 'Caution'],
])('an alert of the kind %s has a title', (kind, name, title) => {
  const start = `<blockquote class="alert alert-${name}">\n<p class="alert-title">${title}</p>\n`;
  expect(renderMarkdown(`> [!${kind}]\n> a **b**`)).toBe(
    `${start}<p>a <strong>b</strong></p>\n</blockquote>\n`,
  );
  for (const end of ['  ', '\t', '\\'])
    expect(renderMarkdown(`> [!${kind}]${end}\n> a`)).toBe(`${start}<p>a</p>\n</blockquote>\n`);
  expect(renderMarkdown(`> [!${kind}]\n>\n> - a`)).toBe(`${start}<ul>\n<li>a</li>\n</ul>\n</blockquote>\n`);
});

test.each([
  ['another word', '> [!OTHER]\n> a'],
  ['words behind it', '> [!NOTE] a'],
  ['no text', '> [!NOTE]'],
  ['a quote in a list', '- > [!NOTE]\n  > a'],
  ['a quote in a quote', '> > [!NOTE]\n> > a'],
  ['words before it', '> a\n> [!NOTE]\n> b'],
])('a quote with %s is no alert', (_, markdown) => {
  const html = renderMarkdown(markdown);
  expect(html).toContain('<blockquote>');
  expect(html).not.toContain('alert');
});

test.each([
  ['- <pre>\n  a\n\nb', '<ul>\n<li>&lt;pre&gt;\na</li>\n</ul>\n<p>b</p>\n'],
  ['1. <pre>a\n\n\nb', '<ol>\n<li>&lt;pre&gt;a</li>\n</ol>\n<p>b</p>\n'],
  [
    '> - <pre>\n>   a\n>\n> b',
    '<blockquote>\n<ul>\n<li>&lt;pre&gt;\na</li>\n</ul>\n<p>b</p>\n</blockquote>\n',
  ],
])('of %j the last paragraph stays outside of the item', (markdown, html) => {
  expect(renderMarkdown(markdown)).toBe(html);
});

test.each([
  [':tada: a', '<p>🎉 a</p>\n'],
  ['# a :+1::rocket:', '<h1>a 👍🚀</h1>\n'],
  [
    '**:bug:** [:sparkles:](https://x.test/:tada:)',
    '<p><strong>🐛</strong> <a href="https://x.test/:tada:" rel="noopener nofollow">✨</a></p>\n',
  ],
  ['`:tada:` :tada:', '<p><code>:tada:</code> 🎉</p>\n'],
  [':no_such: 10:100:30 a:b: :constructor:', '<p>:no_such: 10:100:30 a:b: :constructor:</p>\n'],
])('shortcodes of emoji in %j', (markdown, html) => {
  expect(renderMarkdown(markdown)).toBe(html);
});

test.each([
  ['a **b** `c`', '<p>a <strong>b</strong> <code>c</code></p>\n'],
  [
    '[a](https://x.test/?a=1&b=2 "t")',
    '<p><a href="https://x.test/?a=1&amp;b=2" title="t" rel="noopener nofollow">a</a></p>\n',
  ],
  ['https://x.test', '<p><a href="https://x.test" rel="noopener nofollow">https://x.test</a></p>\n'],
  ['[a](mailto:ann@x.test)', '<p><a href="mailto:ann@x.test" rel="noopener nofollow">a</a></p>\n'],
  // Relative addresses would lead into the dashboard.
  [
    '[a](/dashboard/~/account) [b](#c)',
    '<p><a rel="noopener nofollow">a</a> <a rel="noopener nofollow">b</a></p>\n',
  ],
  [
    '![A <b> "quiet" engine](https://x.test/a.png?b&c)',
    '<p><a href="https://x.test/a.png?b&amp;c" rel="noopener nofollow">A  &quot;quiet&quot; engine</a></p>\n',
  ],
  [
    '![](https://x.test/a.png)',
    '<p><a href="https://x.test/a.png" rel="noopener nofollow">Picture</a></p>\n',
  ],
  [
    '[![badge](https://x.test/a.svg)](https://x.test/ci)',
    '<p><a href="https://x.test/ci" rel="noopener nofollow">badge</a></p>\n',
  ],
  [
    '- [x] done',
    '<ul>\n<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" disabled="" checked aria-label="Done">done</li>\n</ul>\n',
  ],
  ['```js\na < b\n```', '<pre><code class="language-js">a &lt; b\n</code></pre>\n'],
  ['a<br>b <kbd>c</kbd>', '<p>a<br>b <kbd>c</kbd></p>\n'],
])('%s renders', (markdown, html) => {
  expect(renderMarkdown(markdown)).toBe(html);
});

test('emphasis around an address does not reach beyond the post', () => {
  const html = renderMarkdown('**see https://x.test/y**\n\nand on');
  expect(html.match(/<strong>/g)?.length).toBe(html.match(/<\/strong>/g)?.length);
});
