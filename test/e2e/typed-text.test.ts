import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { asksBeforeLeaving, type OpenDashboard, openDashboard } from '../support/dashboard-browser.ts';
import { imageFixture } from '../support/media.ts';

// Text that a person types or pastes into a form stays.

let dashboard: OpenDashboard;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard();
  context = dashboard.person;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  page = await context.newPage();
}, 300_000);
afterAll(() => dashboard.close());

const button = (name: string, here = page) => here.getByRole('button', { name, exact: true });
const description = (here = page) => here.getByLabel('Description');

test('the text of a form is offered again after leaving without saving, and no longer once it is saved', async () => {
  const url = `${dashboard.base}/publishing`;
  await page.goto(url);
  await description().fill('Two lines\nof news.');
  await page.getByRole('switch', { name: 'Feeds and widget' }).check();
  expect(await asksBeforeLeaving(page, `${dashboard.base}/posts`)).toBe(true);
  await page.goto(url);
  expect(await description().inputValue()).toBe('');
  await page.getByText('This browser has unsaved text of this form').waitFor();
  await button('Restore unsaved text').click();
  expect(await description().inputValue()).toBe('Two lines\nof news.');
  expect(await page.getByRole('switch', { name: 'Feeds and widget' }).isChecked()).toBe(true);
  await button('Save settings').click();
  await page.getByText('Saved. The feeds').waitFor();
  expect(await page.locator('#unsaved-copy').count()).toBe(0);
  expect(await asksBeforeLeaving(page, url)).toBe(false);
  expect(await page.locator('#unsaved-copy').count()).toBe(0);
}, 300_000);

test('the name of an organization and a new hook ask, and the hook is not kept', async () => {
  await page.goto(`${dashboard.base}/settings`);
  await page.getByLabel('Name', { exact: true }).fill('Acme, renamed');
  expect(await asksBeforeLeaving(page, `${dashboard.base}/publishing/hooks/~/new`)).toBe(true);
  await page.getByLabel('URL').fill('https://hooks.example.test/secret-path');
  expect(await asksBeforeLeaving(page, `${dashboard.base}/settings`)).toBe(true);
  await button('Restore unsaved text').click();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Acme, renamed');
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('secret-path');
  await button('Save settings').click();
  await page.getByText('Saved.', { exact: true }).waitFor();
}, 300_000);

test('a restored text that is in conflict shows the conflict again', async () => {
  const url = `${dashboard.base}/publishing`;
  const other = await context.newPage();
  await page.goto(url);
  await other.goto(url);
  await description().fill('Mine');
  await description(other).fill('Theirs');
  await button('Save settings', other).click();
  await other.getByText('Saved.', { exact: true }).waitFor();
  await other.close();
  const conflict = page.getByRole('alert').filter({ hasText: 'changed while you had it open' });
  for (let times = 0; times < 2; times++) {
    await button('Save settings').click();
    await conflict.waitFor();
    expect(await conflict.locator('del').allTextContents()).toEqual(['Theirs']);
    expect(await asksBeforeLeaving(page, url)).toBe(true);
    expect(await description().inputValue()).toBe('Theirs');
    await button('Restore unsaved text').click();
    expect(await description().inputValue()).toBe('Mine');
  }
  await button('Save settings').click();
  await conflict.waitFor();
  // Saving it now is a decision.
  await button('Save settings').click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  expect(await description().inputValue()).toBe('Mine');
}, 300_000);

test('the same in the editor of a post', async () => {
  await page.goto(`${dashboard.base}/posts/~/new`);
  await page.getByLabel('Title').fill('A draft');
  const saved = page.locator('#save-status', { hasText: /^Saved$/ });
  await saved.waitFor();
  const url = page.url();
  const other = await context.newPage();
  await other.goto(url);
  await other.getByLabel('Text, in Markdown').fill('theirs');
  await other.locator('#save-status', { hasText: /^Saved$/ }).waitFor();
  await other.close();
  const text = page.getByLabel('Text, in Markdown');
  await text.fill('mine');
  const conflict = page.getByRole('alert').filter({ hasText: 'changed while you had it open' });
  await conflict.waitFor();
  await asksBeforeLeaving(page, url);
  expect(await text.inputValue()).toBe('theirs');
  await button('Restore unsaved text').click();
  await conflict.waitFor();
  expect(await text.inputValue()).toBe('mine');
  await asksBeforeLeaving(page, url);
  expect(await text.inputValue()).toBe('theirs');
  await button('Discard').click();
}, 300_000);

/** Pastes what another program put on the clipboard. */
async function paste(html: string, plain = 'plain'): Promise<string> {
  const text = page.getByLabel('Text, in Markdown');
  await text.fill('');
  await text.focus();
  await text.evaluate(
    (area, [html, plain]) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/html', html ?? '');
      clipboardData.setData('text/plain', plain ?? '');
      area.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    },
    [html, plain],
  );
  await page.waitForFunction(
    () => (document.getElementById('field-markdown') as HTMLTextAreaElement).value !== '',
  );
  return text.inputValue();
}

const sheet = (rows: string) => `<html xmlns:x="urn:schemas-microsoft-com:office:excel"><head><style>
td {mso-style-parent:style0;}</style></head><body><!--StartFragment--><table border=0 cellpadding=0 width=128>
<col width=64 span=2>${rows}<!--EndFragment--></table></body></html>`;

/** A list as Word writes it. */
const word = (items: [marker: string, level: number, html: string][]) =>
  `<html xmlns:o="urn:schemas-microsoft-com:office:office"><body><!--StartFragment-->
<p class=MsoNormal>Before<o:p></o:p></p>
${items
  .map(
    ([marker, level, html]) =>
      `<p class=MsoListParagraphCxSpMiddle style='text-indent:-18.0pt;mso-list:l0 level${level} lfo1'><![if !supportLists]><span style='font-family:Symbol;mso-bidi-font-family:Symbol'><span style='mso-list:Ignore'>${marker}<span style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp;&nbsp; </span></span></span><![endif]>${html}<o:p></o:p></p>`,
  )
  .join('\n')}
<p class=MsoNormal>After<o:p></o:p></p><!--EndFragment--></body></html>`;

test('formatted text that is pasted becomes Markdown', async () => {
  await page.goto(`${dashboard.base}/posts/~/new`);
  const cases: [html: string, markdown: string][] = [
    [
      '<h2>Added</h2><p>Some <b>bold</b>, <em>soft</em> and <code>a_b</code>, <a href="https://a.test/x">a link</a>.</p>',
      '## Added\n\nSome **bold**, *soft* and `a_b`, [a link](https://a.test/x).',
    ],
    ['<ul><li>one<ul><li>deep</li></ul></li><li><p>two</p></li></ul>', '- one\n  - deep\n- two'],
    ['<ol start="3"><li>three</li><li>four</li></ol>', '3. three\n4. four'],
    ['<pre>const a = 1;<br>  b();</pre>', '```\nconst a = 1;\n  b();\n```'],
    [
      '<div style="overflow: auto"><table><thead><tr><th>Name</th><th align="right">Size</th></tr></thead><tbody><tr><td><p>a | b</p></td><td>1</td></tr></tbody></table></div>',
      '| Name | Size |\n| --- | ---: |\n| a \\| b | 1 |',
    ],
    [
      sheet('<tr><td>Name</td><td>Qty</td></tr><tr><td>A<br>B</td><td align=right>2</td></tr>'),
      '| Name | Qty |\n| --- | --- |\n| A<br>B | 2 |',
    ],
    [
      '<table><tr><th colspan="2">Both</th></tr><tr><td rowspan="2">1</td><td><ul><li>x</li><li>y</li></ul></td></tr><tr><td>z</td></tr></table>',
      '| Both | |\n| --- | --- |\n| 1 | • x<br>• y |\n| | z |',
    ],
    [
      '<b style="font-weight:normal"><p><span style="font-weight:700">Docs</span> <span style="font-style:italic">text</span></p></b>',
      '**Docs** *text*',
    ],
    [
      '<table><tr><th>A</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>',
      '| A | | |\n| --- | --- | --- |\n| 1 | 2 | 3 |',
    ],
    [
      '<table><tfoot><tr><td>last</td><td></td></tr></tfoot><thead><tr><th style="text-align:center">A</th><th style="text-align: right">B</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>',
      '| A | B |\n| :---: | ---: |\n| 1 | 2 |\n| last | |',
    ],
    // Google Docs, Gmail, and old editors.
    ['<ul><li><p>a</p></li><ul><li><p>b</p></li></ul></ul>', '- a\n  - b'],
    ['<ul><li>a</li><ul><li>b</li><ol><li>c</li></ol></ul><li>d</li></ul>', '- a\n  - b\n    1. c\n- d'],
    [
      '<ul><li><input type="checkbox" checked disabled> done</li><li><input type="checkbox">open</li></ul>',
      '- [x] done\n- [ ] open',
    ],
    ['<pre class="language-css"><code>a { }</code></pre>', '```css\na { }\n```'],
    [
      '<pre class="shiki" data-language="ts"><code><span>a</span>\n<span>b</span></code></pre>',
      '```ts\na\nb\n```',
    ],
    ['<pre class="prettyprint lang-c++">x();</pre>', '```c++\nx();\n```'],
    ['<div class="highlight highlight-source-js"><pre>a()</pre></div>', '```js\na()\n```'],
    // Rouge, Sphinx, and MDN.
    [
      '<div class="language-ruby highlighter-rouge"><div class="highlight"><pre><code>a</code></pre></div></div>',
      '```ruby\na\n```',
    ],
    [
      '<div class="highlight-python3 notranslate"><div class="highlight"><pre>a</pre></div></div>',
      '```python3\na\n```',
    ],
    ['<pre class="brush: css notranslate"><code>a</code></pre>', '```css\na\n```'],
    ['<pre class="highlight-box"><code>a</code></pre>', '```\na\n```'],
    [
      '<div class="highlight-default notranslate"><div class="highlight"><pre lang="en">a</pre></div></div>',
      '```\na\n```',
    ],
    [
      '<div class="language-switch"><p>One</p><pre>a</pre><pre>b</pre></div>',
      'One\n\n```\na\n```\n\n```\nb\n```',
    ],
    [
      '<p>One</p><figure><img src="https://a.test/x.png" alt="X"><figcaption>Words</figcaption></figure><p>Two</p>',
      'One\n\n![X](https://a.test/x.png)\n\nWords\n\nTwo',
    ],
    [
      '<p>Use <b>&lt;br&gt;</b>, &lt;Button&gt; and &amp;lt;, 1 &lt; 2 &amp; 3</p>',
      'Use **\\<br>**, \\<Button> and \\&lt;, 1 < 2 & 3',
    ],
    [
      '<p>Press <kbd>Ctrl</kbd>+<kbd>C</kbd>: H<sub>2</sub>O, x<sup>2</sup><sup></sup></p>',
      'Press <kbd>Ctrl</kbd>+<kbd>C</kbd>: H<sub>2</sub>O, x<sup>2</sup>',
    ],
    [
      '<table><tr><th>A</th><th>B</th></tr><tr><td><pre>one();\n\n  two(`x`) | 3;\n</pre></td><td>Like<pre>this</pre></td></tr></table>',
      '| A | B |\n| --- | --- |\n| `one();`<br><br>``  two(`x`) \\| 3;`` | Like<br>`this` |',
    ],
    [
      '<table><tr><td><ol start="3"><li>x<ul><li>y</li></ul></li><li>z</li></ol></td><td>a<p>b</p>\n<p>c</p>d</td></tr></table>',
      '| 3\\. x<br>• y<br>4\\. z | a<br>b<br>c<br>d |\n| --- | --- |',
    ],
    [
      word([
        ['·', 1, 'First'],
        ['o', 2, 'Deep <b>bold</b>'],
        ['·', 1, 'Second'],
        ['3.', 1, 'Three'],
        ['4.', 1, 'Four'],
        ['b)', 1, 'Letter'],
      ]),
      'Before\n\n- First\n  - Deep **bold**\n- Second\n\n3. Three\n4. Four\n\n- b) Letter\n\nAfter',
    ],
    [
      '<p><b>Done</b> <img alt="🎉" src="https://a.test/1f389.png"> <img alt=":shipit:" src="https://a.test/s.png"> <img src="data:image/png;base64,AA" alt="A diagram"></p>',
      '**Done** 🎉 :shipit: A diagram',
    ],
    ['<p>a <a href="javascript:alert(1)">b</a> <img src="file:///c:/x.png"><i>c</i></p>', 'a b *c*'],
  ];
  const got: string[] = [];
  for (const [html] of cases) got.push(await paste(html));
  const tidy = (markdown: string) =>
    markdown.replaceAll(/(?<=\|) +| +(?=\||$)/gm, ' ').replaceAll(/ +$/gm, '');
  expect(got.map(tidy)).toEqual(cases.map(([, markdown]) => tidy(markdown)));
  // The browser pastes colored words, and code into a fence, as plain text.
  const isTaken = (before: string, html: string) =>
    page.getByLabel('Text, in Markdown').evaluate(
      (area, [before, html]) => {
        (area as HTMLTextAreaElement).value = before ?? '';
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/html', html ?? '');
        clipboardData.setData('text/plain', 'plain');
        return !area.dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true }));
      },
      [before, html],
    );
  expect(await isTaken('', '<span style="color: red">x</span>')).toBe(false);
  expect(await isTaken('```\n', '<b>x</b>')).toBe(false);
  expect(await isTaken('', '<b>x</b>')).toBe(true);
}, 300_000);

test('an image between two paragraphs keeps them apart', async () => {
  await page.goto(`${dashboard.base}/posts/~/new`);
  const text = page.getByLabel('Text, in Markdown');
  const merged: string[] = [];
  for (const [before, after] of [
    ['One\n', '\nTwo'],
    ['One', '\n\nTwo'],
    ['One\n\n', 'Two'],
    ['On', 'e\n\nTwo'],
  ] as const) {
    await text.fill(before + after);
    await text.evaluate((area, at) => (area as HTMLTextAreaElement).setSelectionRange(at, at), before.length);
    await page.locator('[data-images-file]').setInputFiles({
      name: 'a.png',
      mimeType: 'image/png',
      buffer: Buffer.from(imageFixture('photo.png')),
    });
    await page.waitForFunction(() =>
      (document.getElementById('field-markdown') as HTMLTextAreaElement).value.includes('/media/'),
    );
    const value = await text.inputValue();
    if (!/^[^!]*\n\n!\[[^\n]*\n\n[^!]*$/.test(value)) merged.push(value);
  }
  expect(merged).toEqual([]);
}, 300_000);

test('what the editor saves by itself is no conflict with the buttons beside it; what another tab saves is', async () => {
  await page.goto(`${dashboard.base}/posts/~/new`);
  await page.getByLabel('Title').fill('With buttons');
  const saved = (here = page) => here.locator('#save-status', { hasText: /^Saved$/ }).waitFor();
  await saved();
  const text = page.getByLabel('Text, in Markdown');
  const schedule = async () => {
    const field = page.getByLabel('Publish at');
    if (!(await field.isVisible())) await page.getByText('Schedule…').click();
    await button('Schedule post').click();
  };
  await text.fill('One');
  await saved();
  await schedule();
  await page.getByText('Scheduled for', { exact: false }).first().waitFor();
  await text.fill('Two');
  await saved();
  await button('Cancel schedule').click();
  await page.getByText('Canceled the schedule.').waitFor();

  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByLabel('Text, in Markdown').fill('Theirs');
  await saved(other);
  await other.close();
  const told = page.getByRole('alert').filter({ hasText: 'so nothing was done' });
  await schedule();
  await told.waitFor();
  expect(await text.inputValue()).toBe('Theirs');
  // The page shows it now, and goes on saving.
  await text.fill('Mine again');
  await saved();
  await button('Delete post').click();
  await page.getByText('It stays in the trash').waitFor();
}, 300_000);

test('the question about a post without text can be reloaded, and sends nothing', async () => {
  await page.goto(`${dashboard.base}/posts/~/new`);
  await page.getByLabel('Title').fill('No words');
  await page.locator('#save-status', { hasText: /^Saved$/ }).waitFor();
  const posted: string[] = [];
  await button('Publish now').click();
  await page.getByText('This post has no text. Publish it anyway?').waitFor();
  page.on('request', (request) => {
    if (request.method() === 'POST') posted.push(request.url());
  });
  await page.reload();
  await page.getByText('This post has no text. Publish it anyway?').waitFor();
  expect(posted).toEqual([]);
  await button('Publish without text').click();
  await page.getByText('Published. The API returns it from now on.').waitFor();
}, 300_000);

test('"Publish" of a post for LinkedIn says where it goes, and its text can be copied', async () => {
  // The preview is beside the text.
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${dashboard.base}/posts/~/new`);
  await page.getByLabel('Title').fill('For LinkedIn');
  await page.getByLabel('Text, in Markdown').fill('- **Quieter** engines');
  await page.getByLabel('Type').selectOption('linkedin_post');
  await page.locator('#save-status', { hasText: /^Saved$/ }).waitFor();
  await page.getByText("Tidings doesn't post to LinkedIn.").waitFor();
  expect(await button('Publish now').isVisible()).toBe(false);
  await page.locator('#plain-text', { hasText: 'Quieter engines' }).waitFor();
  await button('Copy for LinkedIn').click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('Quieter engines'));
  await button('Publish to the API').click();
  await page.getByText('Published to the API. To post it on LinkedIn').waitFor();
  expect(await button('Copy for LinkedIn').isVisible()).toBe(true);
}, 300_000);
