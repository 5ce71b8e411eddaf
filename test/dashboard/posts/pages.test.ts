import { beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { seenOf } from '../../../src/dashboard/edit.ts';
import { AppError } from '../../../src/lib/app-error.ts';
import { toPlainText } from '../../../src/lib/markdown/plain-text.ts';
import { texts } from '../../../src/lib/markdown/texts.ts';
import { readPost } from '../../../src/posts/store.ts';
import { cookieOf, form, hostile, isHarmed, signedIn, type Visit, visitor } from '../../support/dashboard.ts';
import { postsOf } from '../../support/drafts.ts';
import { formOf } from '../../support/form-of.ts';
import { allRows } from '../../support/rows.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';

const ALL = '/dashboard/org_a/posts';

let app: TestApp;
let visit: Visit;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
});

const read = async (path: string) => (await visit(path)).text();
const stored = (id: string) => app.db.read((tx) => readPost(tx, id));

/** Fields of the editor's form for an unchanged post. */
async function fieldsOf(id: string, changes: Record<string, string> = {}): Promise<Record<string, string>> {
  const { title = '', markdown = '' } = (await stored(id)) ?? {};
  return { title, markdown, seen: seenOf({ title, markdown }), ...changes };
}

function noticeOf(response: Response): string {
  return decodeURIComponent(cookieOf(response, 'tidings_notice')?.split('=')[1] ?? '');
}

/** The titles in the list, as they are linked. */
function titlesIn(html: string): string[] {
  return Array.from(html.matchAll(/<td class="title"><a [^>]*>([^<]*)<\/a>/g), ([, title = '']) => title);
}

test('marks in a title cannot reorder the page, and the editor keeps them', async () => {
  const title = 'Pay\u202elaP\u2066';
  await app.addPosts('org_a', {
    id: 'p',
    title,
    content: 'T\u202eext',
    markdown: 'T\u202eext',
    status: 'draft',
  });
  const reordering = /[\u202a-\u202e\u2066-\u2069]/;
  expect(await read(ALL)).not.toMatch(reordering);
  expect(titlesIn(await read(ALL))).toEqual(['PaylaP']);
  const editor = await read(`${ALL}/p`);
  expect(editor).toContain(`value="${title}"`);
  expect(editor).toMatch(/<textarea [^>]*>\nT\u202eext</);
  const shown = editor.replaceAll(/<textarea [^>]*>[^<]*|value="[^"]*"/g, '');
  expect(shown).not.toMatch(reordering);
  // The notice after a change names it too.
  const saved = await visit(`${ALL}/p`, form(await fieldsOf('p', { markdown: 'T\u202eext!' })));
  expect(saved.status).toBe(303);
  expect(await stored('p')).toMatchObject({ title, markdown: 'T\u202eext!' });
});

describe('a long text', () => {
  const long = '- [x]\n'.repeat(33_000);

  test('that takes too long has no preview and can still be edited', async () => {
    using _ = spyOn(texts, 'html').mockRejectedValue(
      new AppError(503, 'The text took more than 10 s to read'),
    );
    app = await appWithOrganization();
    visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    await app.addPosts('org_a', { id: 'p', markdown: long, content: 'x' });
    const html = await read(`${ALL}/p`);
    expect(html).toContain('No preview: The text took more than 10 s to read.');
    expect(html).toContain('- [x]\n- [x]');
  });
});

describe('the list', () => {
  test('without posts says how they come to be', async () => {
    const html = await read(ALL);
    for (const words of [
      'No posts yet',
      'href="/dashboard/org_a/integrations"',
      'href="/dashboard/org_a/posts/~/import"',
      'href="/dashboard/org_a/posts/~/new"',
    ]) {
      expect(html).toContain(words);
    }
    expect(html).not.toContain('<table');
    const owner = await signedIn(app, { organizationId: 'org_a' });
    const ofOwner = await (await owner(ALL)).text();
    expect(ofOwner).toContain('<form method="get" action="/dashboard/org_a/import"');
    expect(ofOwner).toContain('Import by repository name');
  });

  test('shows the type, source and time of each post, newest first', async () => {
    await app.addPosts(
      'org_a',
      { title: 'Old', sourceMetadata: { platform: 'github', repository: 'acme/rocket', version: '2.4.0' } },
      { title: 'New', status: 'draft', contentType: 'linkedin_post', createdAt: '2026-11-20T11:48:00.000Z' },
    );
    await app.addPosts('org_b', { title: 'Not mine' });
    const html = await read(ALL);
    expect(titlesIn(html)).toEqual(['New', 'Old']);
    expect(html).toContain('2.4.0 of acme/rocket<');
    expect(html).toContain('LinkedIn post');
    expect(html).toContain('<time datetime="2026-11-20T11:48:00.000Z"');
    expect(html).toContain('1 draft to review; 1 post published.');
    expect(html).toContain('<span class="tag draft">Draft</span>');
  });

  test.each([
    ['', ['Both words', 'Draft', 'Social']],
    ['?status=draft', ['Draft']],
    ['?status=published&contentType=linkedin_post', ['Social']],
    ['?contentType=changelog', ['Both words', 'Draft']],
    ['?q=word', ['Both words']],
    ['?q=text&status=draft', ['Draft']],
    ['?status=none&contentType=none&page=0', ['Both words', 'Draft', 'Social']],
    ['?page=2', []],
    ['?page=99999999999', ['Both words', 'Draft', 'Social']],
    ['?q=%22', []],
    ['?q=%F0%9F%9A%80+AND+%2A', []],
  ])('%s shows the posts that match', async (query, titles) => {
    await app.addPosts(
      'org_a',
      { title: 'Social', contentType: 'linkedin_post' },
      { title: 'Draft', status: 'draft' },
      { title: 'Both words' },
    );
    const response = await visit(`${ALL}${query}`);
    expect([response.status, titlesIn(await response.text())]).toEqual([200, titles]);
  });

  test('says when no post matches, and keeps the search', async () => {
    await app.addPosts('org_a', {});
    const html = await read(`${ALL}?q=${encodeURIComponent(hostile)}&status=draft`);
    expect(html).toContain('<a class="button" href="/dashboard/org_a/posts">Show all posts</a>');
    expect(html).toContain('<input type="hidden" name="status" value="draft"/>');
    expect(html).toContain('value="&lt;script>');
    expect(isHarmed(html)).toBe(false);
  });

  test('has 25 on a page, and leads on with the filter', async () => {
    await app.addPosts('org_a', ...Array.from({ length: 30 }, (_, index) => ({ title: `Same ${index}` })));
    for (const query of ['status=published', 'q=same']) {
      const first = await read(`${ALL}?${query}`);
      expect(titlesIn(first)).toHaveLength(25);
      expect(first).toContain(`href="${ALL}?${query}&amp;page=2"`);
      const second = await read(`${ALL}?${query}&page=2`);
      expect(titlesIn(second)).toEqual(['Same 4', 'Same 3', 'Same 2', 'Same 1', 'Same 0']);
      expect(second).toContain(`href="${ALL}?${query}"`);
      expect(second).toContain('30 posts, page 2 of 2');
    }
  });
});

describe('a new post', () => {
  test('is kept as a draft, and opened', async () => {
    const markdown = '# Hello\r\n\r\n- one\r\n';
    const response = await visit(
      `${ALL}/~/new`,
      form({ title: ' By hand ', markdown, contentType: 'linkedin_post' }),
    );
    const [post] = await postsOf(app);
    expect(response.status).toBe(303);
    expect(response.headers.get('location')).toBe(`${ALL}/${post?.id}`);
    expect(post).toMatchObject({
      title: 'By hand',
      markdown: '# Hello\n\n- one\n',
      content: 'Hello\n\n• one',
      contentType: 'linkedin_post',
      status: 'draft',
      sourceMetadata: null,
      createdAt: '2026-11-20T12:00:00.000Z',
    });
  });

  test.each([
    [{ title: '', markdown: 'Kept' }, 'Title must not be empty.'],
    [{ title: '  ', markdown: 'Kept' }, 'Title must not be empty.'],
    [{ title: 'x'.repeat(501), markdown: 'Kept' }, 'Title must have at most 500 characters, not 501.'],
    [
      { title: 'Kept', markdown: 'x'.repeat(200_001) },
      'Markdown must have at most 200000 characters, not 200001.',
    ],
    [{ title: 'Kept', markdown: 'a\0b' }, 'Markdown must not contain the character U+0000.'],
  ])('that is invalid is shown again with its problem: %#', async (fields, message) => {
    const before = await allRows(app.db);
    const response = await visit(`${ALL}/~/new`, form(fields));
    const html = await response.text();
    expect(response.status).toBe(400);
    expect(html).toContain(`-error">${message}</p>`);
    expect(html).toContain('Kept');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('may have 200,000 characters of any kind', async () => {
    const markdown = '発'.repeat(200_000);
    const response = await visit(`${ALL}/~/new`, form({ title: 'Long', markdown }));
    expect(response.status).toBe(303);
    expect((await postsOf(app))[0]?.markdown).toBe(markdown);
    expect((await visit(response.headers.get('location') ?? '')).status).toBe(200);
  });

  test('that is more than a form holds is refused', async () => {
    const response = await visit(`${ALL}/~/new`, form({ title: 'Long', markdown: 'x'.repeat(2_200_000) }));
    expect(response.status).toBe(413);
  });
});

describe('the editor', () => {
  beforeEach(async () => {
    await app.addPosts('org_a', {
      id: 'p',
      title: 'Title',
      markdown: '\n**Bold**',
      content: 'Bold',
      status: 'draft',
    });
  });

  test('shows the text, and how it reads', async () => {
    const html = await read(`${ALL}/p`);
    expect(html).toContain('<title>Title · Tidings</title>');
    // The parser takes the first line break away.
    expect(html).toContain('>\n\n**Bold**</textarea>');
    expect(html).toContain('<strong>Bold</strong>');
    expect(html).toContain('Written or imported by hand');
    expect(html).toContain('Publish');
    expect(html).not.toContain('new version');
  });

  test.each([
    [{ title: 'Other' }, { title: 'Other', status: 'draft' }, 'Saved.'],
    [{ markdown: 'a\r\n- b' }, { markdown: 'a\n- b', content: 'a\n\n- b' }, 'Saved.'],
    [
      { title: 'Out', status: 'published' },
      { title: 'Out', status: 'published' },
      'Published. The API returns it from now on.',
    ],
    [{ status: 'nonsense' }, { title: 'Title', status: 'draft' }, 'Saved.'],
  ])('takes %j', async (changes, expected, notice) => {
    const response = await visit(`${ALL}/p`, form(await fieldsOf('p', changes)));
    expect([response.status, response.headers.get('location')]).toEqual([303, `${ALL}/p`]);
    expect(noticeOf(response)).toBe(notice);
    expect(await stored('p')).toMatchObject(expected);
  });

  test.each(['', ' \n\n', '<!-- later -->', '&nbsp;', '\u200b', '#'])(
    'asks before it publishes %j',
    async (markdown) => {
      await app.addPosts('org_a', {
        id: 'blank',
        title: 'T',
        markdown,
        content: toPlainText(markdown),
        status: 'draft',
      });
      const publish = form(await fieldsOf('blank', { status: 'published' }));
      // The question is a page of its own: a reload of it sends nothing again.
      const asked = await visit(`${ALL}/blank`, publish);
      expect([asked.status, noticeOf(asked)]).toEqual([303, '']);
      const html = await read(asked.headers.get('location') ?? '');
      expect(
        html.includes('This post has no text. Publish it anyway?') && html.includes('Publish without text'),
      ).toBe(true);
      const times = { publishAt: '2030-01-01T09:00', timeZone: 'Asia/Tokyo' };
      const later = await visit(`${ALL}/blank/schedule`, form(times));
      expect(later.status).toBe(303);
      const question = await read(later.headers.get('location') ?? '');
      expect(question.includes('Schedule without text')).toBe(true);
      expect(formOf(question, `${ALL}/blank/schedule`).get('publishAt')).toBe(times.publishAt);
      expect(formOf(question, `${ALL}/blank/schedule`).get('timeZone')).toBe(times.timeZone);
      const selected = await visit(`${ALL}/~/selected`, form({ selected: 'blank', action: 'publish' }));
      expect(noticeOf(selected)).toBe(
        'Published 0 posts. 1 post without text: open it to publish it anyway.',
      );
      expect(await stored('blank')).toMatchObject({ status: 'draft' });
      expect((await visit(`${ALL}/blank?without-text=ok`, publish)).status).toBe(303);
      expect(await stored('blank')).toMatchObject({ status: 'published' });
    },
  );

  test('publishes no text that somebody else wrote meanwhile, before the person has seen it', async () => {
    const opened = await fieldsOf('p', { status: 'published' });
    await visit(`${ALL}/p`, form(await fieldsOf('p', { markdown: 'Not ready' })));
    const refused = await visit(`${ALL}/p`, form(opened));
    const html = await refused.text();
    expect([refused.status, html.includes('<del>Not ready</del>')]).toEqual([409, true]);
    expect(await stored('p')).toMatchObject({ markdown: 'Not ready', status: 'draft' });
    // Without a status, an untouched text stays as the other person left it.
    expect((await visit(`${ALL}/p`, form({ ...opened, status: 'draft', title: 'Mine' }))).status).toBe(303);
    expect(await stored('p')).toMatchObject({ title: 'Mine', markdown: 'Not ready', status: 'draft' });
  });

  test('publishes a picture without words, and says what publishing means for LinkedIn', async () => {
    await app.addPosts('org_a', {
      id: 'picture',
      title: 'T',
      markdown: '![](https://a.test/x.png)',
      status: 'draft',
    });
    expect(
      (await visit(`${ALL}/picture`, form(await fieldsOf('picture', { status: 'published' })))).status,
    ).toBe(303);
    await app.addPosts('org_a', {
      id: 'l',
      title: 'T',
      markdown: 'a',
      contentType: 'linkedin_post',
      status: 'draft',
    });
    const html = await read(`${ALL}/l`);
    for (const words of ['Publish to the API', 'Copy for LinkedIn', "Tidings doesn't post to LinkedIn"])
      expect(html.includes(words.replace("'", '&#39;')) || html.includes(words)).toBe(true);
    const published = await visit(`${ALL}/l`, form(await fieldsOf('l', { status: 'published' })));
    expect(noticeOf(published)).toStartWith('Published to the API.');
  });

  test('makes a published post a draft again', async () => {
    await visit(`${ALL}/p`, form(await fieldsOf('p', { status: 'published' })));
    expect(await read(`${ALL}/p`)).toContain('Unpublish');
    app.clock.advance(1000);
    const response = await visit(`${ALL}/p`, form(await fieldsOf('p', { status: 'draft' })));
    expect(noticeOf(response)).toBe('Unpublished. The API no longer returns it.');
    expect(await stored('p')).toMatchObject({ status: 'draft', updatedAt: '2026-11-20T12:00:01.000Z' });
  });

  test.each([
    [{ title: ' ', markdown: 'Kept text' }, 'Title must not be empty.', 'Kept text</textarea>'],
    [
      { title: 'Kept title', markdown: 'x'.repeat(200_001) },
      'Markdown must have at most',
      'value="Kept title"',
    ],
  ])('shows the problem, and keeps the text: %#', async (changes, message, kept) => {
    const before = await allRows(app.db);
    const response = await visit(`${ALL}/p`, form(await fieldsOf('p', { ...changes, status: 'published' })));
    const html = await response.text();
    expect([response.status, html.includes(message), html.includes(kept)]).toEqual([400, true, true]);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('tells when somebody else changed the post, and loses neither text', async () => {
    const mine = await fieldsOf('p', { markdown: 'Mine' });
    app.clock.advance(1000);
    await visit(`${ALL}/p`, form(await fieldsOf('p', { markdown: 'Theirs' })));
    const refused = await visit(`${ALL}/p`, form({ ...mine, status: 'published' }));
    const html = await refused.text();
    expect(refused.status).toBe(409);
    expect(await stored('p')).toMatchObject({ markdown: 'Theirs', status: 'draft' });
    for (const words of [
      'changed while you had it open',
      '<del>Theirs</del>',
      '<ins>Mine</ins>',
      'Mine</textarea>',
    ]) {
      expect(html).toContain(words);
    }
    // The form now knows of the other text: saving it again is meant.
    const again = await visit(`${ALL}/p`, form(await fieldsOf('p', { markdown: 'Mine' })));
    expect(again.status).toBe(303);
    expect((await stored('p'))?.markdown).toBe('Mine');
  });

  test('does not mind that somebody published the post meanwhile, or typed the same', async () => {
    const mine = await fieldsOf('p', { markdown: 'Same' });
    app.clock.advance(1000);
    await visit(`${ALL}/p`, form(await fieldsOf('p', { markdown: 'Same', status: 'published' })));
    expect((await visit(`${ALL}/p`, form(mine))).status).toBe(303);
    expect(await stored('p')).toMatchObject({ markdown: 'Same', status: 'published' });
  });

  test.each(['new', 'preview', 'delete', 'suggestion', 'autosave', 'versions', '_', '-'])(
    'opens, saves and deletes a post whose id is %s',
    async (id) => {
      await app.addPosts('org_a', { id, title: 'Imported', markdown: 'As it was' });
      expect(await read(ALL)).toContain(`href="${ALL}/${id}"`);
      expect(await read(`${ALL}/${id}`)).toContain('As it was</textarea>');
      await visit(`${ALL}/${id}`, form(await fieldsOf(id, { markdown: 'As it is' })));
      expect(await stored(id)).toMatchObject({ title: 'Imported', markdown: 'As it is' });
      await visit(`${ALL}/${id}/delete`, form());
      expect(await stored(id)).toBeNull();
    },
  );

  test('deletes the post', async () => {
    const response = await visit(`${ALL}/p/delete`, form());
    expect([response.status, response.headers.get('location')]).toEqual([303, ALL]);
    expect(noticeOf(response)).toBe(
      'Deleted “Title”. It stays in the trash for 30 days.\n/dashboard/org_a/posts/~/trash/restore?ids=p&seen=2026-11-20T12%3A00%3A00.000Z',
    );
    expect(await stored('p')).toBeNull();
    expect((await visit(`${ALL}/p`)).status).toBe(404);
    expect((await visit(`${ALL}/p/delete`, form())).status).toBe(404);
  });

  test('shows a post for LinkedIn as its plain text, with its length', async () => {
    const text = { contentType: 'linkedin_post', markdown: '- **one**', content: '• <one>' } as const;
    await app.addPosts('org_a', { id: 'l', ...text }, { id: 'long', ...text, content: 'x'.repeat(3001) });
    const html = await read(`${ALL}/l`);
    expect(html).toContain('<div id="plain-text" class="prose plain">• &lt;one></div>');
    expect(html).toContain('7 of 3,000 characters');
    expect(html).toContain('data-copy="plain-text"');
    expect(await read(`${ALL}/long`)).toContain('3,001 of 3,000 characters: too long for LinkedIn.');
  });
});

describe('the source of a post', () => {
  test.each([
    [{ url: 'https://x.test/a"b' }, 'href="https://x.test/a&quot;b"'],
    [{ platform: 'linear', repository: 'Engines' }, 'Engines on Linear'],
    [{ platform: 'constructor', author: 'ann' }, '<dd>constructor</dd><dt>Author</dt><dd>ann<'],
    [{ version: 2, repository: { a: 1 } }, '<dd>2</dd>'],
  ])('%j is described', async (sourceMetadata, words) => {
    await app.addPosts('org_a', { id: 'p', sourceMetadata });
    expect(await read(`${ALL}/p`)).toContain(words);
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', '//x.test', 'x', 5, null, { a: 'https://x.test' }])(
    'no link leads to %j',
    async (url) => {
      await app.addPosts('org_a', { id: 'p', sourceMetadata: { url, version: '1.0' } });
      expect(await read(`${ALL}/p`)).toContain('<dd>1.0</dd>');
    },
  );
});

describe('the preview', () => {
  test('is a piece of a page, in either form', async () => {
    const response = await visit(`${ALL}/~/preview`, form({ markdown: `**a** ${hostile}` }));
    const html = await response.text();
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(html).toStartWith('<div class="prose"><p><strong>a</strong>');
    expect(html).not.toMatch(/<script|<img|<html/);
    const plain = await visit(`${ALL}/~/preview`, form({ markdown: '- <b>a', contentType: 'linkedin_post' }));
    expect(await plain.text()).toContain('<div id="plain-text" class="prose plain">• &lt;b>a</div>');
  });

  test('of too much or of nothing is none', async () => {
    const { status } = await visit(`${ALL}/~/preview`, form({ markdown: '<b>'.repeat(80_000) }));
    expect(status).toBe(200);
    expect(await (await visit(`${ALL}/~/preview`, form())).text()).toContain(
      'The preview of your text appears here.',
    );
  });
});

test('hostile text is harmless wherever it is shown', async () => {
  const sourceMetadata = Object.fromEntries(
    ['platform', 'repository', 'version', 'author', 'url', 'deliveryId'].map((name) => [name, hostile]),
  );
  const text = {
    title: hostile,
    markdown: `${hostile}\n</textarea>${hostile}`,
    content: hostile,
    sourceMetadata,
  };
  await app.addPosts('org_a', { id: 'p', ...text }, { id: 'l', ...text, contentType: 'linkedin_post' });
  const stale = form({ ...(await fieldsOf('p')), title: 'x', markdown: hostile, seen: hostile });
  const answers = [
    await visit(ALL),
    await visit(`${ALL}/p`),
    await visit(`${ALL}/l`),
    await visit(`${ALL}/p`, stale),
    await visit(`${ALL}/p`, form({ title: '', markdown: text.markdown })),
    await visit(`${ALL}/~/new`, form({ title: '', markdown: text.markdown, contentType: hostile })),
    await visit(`${ALL}/~/preview`, form({ markdown: text.markdown, contentType: hostile })),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 409, 400, 400, 200]);
  for (const answer of answers) expect(isHarmed(await answer.text())).toBe(false);
});

test.each([
  ['GET', '/other'],
  ['POST', '/other'],
  ['POST', '/other/delete'],
  ['POST', '/other/suggestion'],
  ['GET', '/%00'],
  ['GET', '/none'],
])("%s %s: another organization's post is not there", async (method, path) => {
  await app.addPosts('org_b', { id: 'other', title: 'Secret plans' });
  const before = await allRows(app.db);
  const fields = { title: 'x', markdown: 'x', choice: 'take' };
  const response = await visit(`${ALL}${path}`, method === 'GET' ? {} : form(fields));
  expect(response.status).toBe(404);
  expect(await response.text()).not.toContain('Secret plans');
  expect(await allRows(app.db)).toEqual(before);
});

test.each([
  ['GET', ''],
  ['GET', '/~/new'],
  ['POST', '/~/new'],
  ['POST', '/~/preview'],
  ['GET', '/p'],
  ['POST', '/p'],
  ['POST', '/p/delete'],
  ['POST', '/p/suggestion'],
])('%s posts%s is for the people of the organization', async (method, path) => {
  await app.addPosts('org_a', { id: 'p', title: 'Secret plans' });
  const other = await signedIn(app, { organizationId: 'org_b' });
  const before = await allRows(app.db);
  const init = () => (method === 'GET' ? {} : form({ title: 'x', markdown: 'x', choice: 'take' }));
  const refused = await other(`${ALL}${path}`, init());
  expect([refused.status, (await refused.text()).includes('Secret')]).toEqual([404, false]);
  const stranger = await visitor(app)(`${ALL}${path}`, init());
  expect(stranger.status).toBe(method === 'GET' ? 303 : 401);
  if (method === 'POST') {
    const crossSite = { ...init(), headers: { 'sec-fetch-site': 'cross-site' } };
    expect((await visit(`${ALL}${path}`, crossSite)).status).toBe(403);
  }
  expect(await allRows(app.db)).toEqual(before);
});
