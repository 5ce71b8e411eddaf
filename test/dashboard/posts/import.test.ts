import { beforeEach, describe, expect, test } from 'bun:test';
import { countScheduled } from '../../../src/posts/schedule.ts';
import { cookieOf, form, hostile, isHarmed, signedIn, type Visit } from '../../support/dashboard.ts';
import { postsOf } from '../../support/drafts.ts';
import { allRows } from '../../support/rows.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';

const PATH = '/dashboard/org_a/posts/~/import';

const changelog = `# Changelog

## [Unreleased]

- Later

## [1.1.0] - 2026-02-01

- Two & "more"

## [1.0.0] - 2026-01-01

- One
`;

let app: TestApp;
let visit: Visit & { user: { email: string } };

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
});

type Fields = Record<string, string>;
const empty = {
  text: '',
  name: '',
  status: 'published',
  contentType: 'changelog',
  format: '',
  date: '',
  source: '',
};

/** Sends the form as a browser does, which sends an empty file where none was chosen. */
async function send(fields: Fields, file = new File([], ''), by: Visit = visit) {
  const body = new FormData();
  for (const [name, value] of Object.entries({ ...empty, ...fields })) body.set(name, value);
  body.set('file', file);
  const response = await by(PATH, { method: 'POST', body });
  const html = await response.text();
  const sent: Fields = {};
  await new HTMLRewriter()
    .on('form[enctype] input[type=hidden]', {
      element(each) {
        // The rewriter gives attributes as they are written.
        const value = (each.getAttribute('value') ?? '').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
        // Browsers send line breaks of a field as CRLF.
        sent[each.getAttribute('name') ?? ''] = value.replaceAll('\n', '\r\n');
      },
    })
    .transform(new Response(html))
    .text();
  const notice = decodeURIComponent(cookieOf(response, 'tidings_notice')?.split('=')[1] ?? '');
  return { status: response.status, html, sent, notice };
}

const fileOf = (text: string | Uint8Array<ArrayBuffer>, name = 'CHANGELOG.md') => new File([text], name);

test('the list and its empty page offer it', async () => {
  const read = async () => (await visit('/dashboard/org_a/posts')).text();
  expect((await read()).match(/~\/import"/g)).toHaveLength(2);
  await app.addPosts('org_a', { id: 'p' });
  expect(await read()).toContain('>Import posts</a>');
  expect(await (await visit(PATH)).text()).toContain('enctype="multipart/form-data"');
});

describe('a file', () => {
  test('is previewed without a change, and imported by the form of the preview', async () => {
    const before = await allRows(app.db);
    const preview = await send({}, fileOf(changelog.replaceAll('\n', '\r\n')));
    expect(preview.status).toBe(200);
    for (const words of [
      'Import 2 posts',
      'CHANGELOG.md (Changelog)',
      '2 posts at once',
      '4, of which 2 skipped',
      '[Unreleased]&quot; (line 3: not released)',
    ]) {
      expect(preview.html).toContain(words);
    }
    expect(await allRows(app.db)).toEqual(before);

    const done = await send(preview.sent);
    expect([done.status, done.notice]).toEqual([303, 'Imported 2 posts: 2 new, 0 updated.']);
    expect(await postsOf(app)).toMatchObject([
      {
        title: '1.1.0',
        markdown: '- Two & "more"',
        status: 'published',
        createdAt: '2026-02-01T00:00:00.000Z',
      },
      { title: '1.0.0', markdown: '- One' },
    ]);
    const again = await send({}, fileOf(changelog));
    expect(again.html).toContain('There is nothing to import.');
    expect(again.html).not.toContain('Import 2 posts');
    const changed = await send({}, fileOf(changelog.replace('Two', 'Three').replace('1.0.0', '0.9.0')));
    expect(changed.html).toContain('1 post that exists already');
    expect(changed.html).toContain('Import 2 posts');
  });

  test('is not repeated in its preview, whose form sends it compressed', async () => {
    const line = JSON.stringify({ title: 'Long', markdown: 'word & "word" '.repeat(1_000) });
    const posts = Array.from({ length: 50 }, (_, at) => line.replace('Long', `Long ${at}`)).join('\n');
    const { html, sent } = await send({}, fileOf(posts, 'posts.jsonl'));
    expect(html).toContain('Import 50 posts');
    expect(html.length).toBeLessThan(posts.length / 10);
    expect((await send(sent)).notice).toBe('Imported 50 posts: 50 new, 0 updated.');
  });

  test.each([
    ['cut off', (packed: string) => packed.slice(0, packed.length / 2)],
    ['longer than a file may be', () => Bun.deflateSync(new Uint8Array(3 * 1024 * 1024)).toBase64()],
  ])('is refused in a preview when it is %s', async (_, change) => {
    const { sent } = await send({}, fileOf(changelog));
    const { html } = await send({ ...sent, packed: change(sent.packed ?? '') });
    expect(html).toContain('The text of the preview is incomplete. Choose the file again.');
    expect(await postsOf(app)).toEqual([]);
  });

  test('has posts of the chosen status and type', async () => {
    const chosen = { status: 'draft', contentType: 'linkedin_post' };
    const preview = await send(chosen, fileOf('{"title":"A","markdown":"- a"}', 'posts.jsonl'));
    expect(preview.html).not.toContain('at once');
    await send(preview.sent);
    expect(await postsOf(app)).toMatchObject([{ title: 'A', status: 'draft', contentType: 'linkedin_post' }]);
  });

  test('with mistakes is refused with their lines, and its text can be corrected', async () => {
    const before = await allRows(app.db);
    const lines = [
      '{"title":"A","markdown":"a"}',
      '{"title":""}',
      'nonsense',
      `{"title":"${'x'.repeat(501)}"}`,
    ];
    const { status, html } = await send({}, fileOf(lines.join('\n'), 'posts.jsonl'));
    expect(status).toBe(400);
    expect(html).toContain('There are 3 problems');
    expect(html).toContain('Line 2: title must not be empty.');
    expect(html).toContain('Line 3 is not valid JSON.');
    expect(html).toContain('Line 4: title must have at most 500 characters');
    expect(html).toContain('nonsense\n');
    expect(html).toContain('name="name" value="posts.jsonl"');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('shows the first mistakes only', async () => {
    const { html } = await send({}, fileOf('no\n'.repeat(5000), 'posts.jsonl'));
    expect(html).toContain('There are 10 problems');
  });

  test.each([
    ['none', new File([], ''), 400, 'Choose a file, or paste its text.'],
    ['other than text', fileOf(new Uint8Array([0xff, 0xfe, 0])), 400, 'The file is not UTF-8 text.'],
    ['with U+0000', fileOf('a\0b'), 400, 'The file is not UTF-8 text.'],
    ['without posts', fileOf('# Nothing here'), 400, 'There are no posts in this text.'],
    [
      'with more posts than fit',
      fileOf('{"title":"a","markdown":"b"}\n'.repeat(5001), 'a.jsonl'),
      400,
      'more than 5,000 posts',
    ],
    ['that is large', fileOf('x'.repeat(2 * 1024 * 1024 + 1)), 413, 'The file is larger than 2 MB. Split it'],
    ['that is huge', fileOf('x'.repeat(9 * 1024 * 1024)), 413, 'The file is larger than 2 MB. Split it'],
  ] as const)('%s is refused', async (_, file, status, words) => {
    const before = await allRows(app.db);
    const refused = await send({}, file);
    expect([refused.status, refused.html]).toEqual([status, expect.stringContaining(words)]);
    expect(await allRows(app.db)).toEqual(before);
  });
});

test('posts with a date in the future are drafts, or scheduled by a choice of the preview', async () => {
  const text = changelog.replace('## [1.1.0] - 2026-02-01', '## [1.1.0] - 2098-02-01');
  const preview = await send({}, fileOf(text));
  expect(preview.html).toContain('1 post: a draft, unless scheduled.');
  expect(preview.html).toContain('Schedule 1 post for its date');
  expect(preview.html).toContain('Otherwise it stays a draft.');
  expect(preview.sent).not.toContainKey('schedule');
  const drafts = await send(preview.sent);
  expect(drafts.notice).toBe(
    'Imported 2 posts: 2 new, 0 updated. 1 post has a date in the future and stays a draft.',
  );
  const again = await send({}, fileOf(text));
  expect(again.html).toContain('Schedule 1 post<');
  expect(again.html).toContain('You can schedule 1 draft with a date in the future.');
  const scheduled = await send(again.sent);
  expect(scheduled.notice).toBe(
    'Imported 1 post: 0 new, 1 updated. 1 post did not change. 1 post is scheduled.',
  );
  expect((await postsOf(app)).map(({ title, status }) => [title, status])).toEqual([
    ['1.1.0', 'draft'],
    ['1.0.0', 'published'],
  ]);
  expect((await send({}, fileOf(text))).html).toContain('There is nothing to import.');
  const other = await send({}, fileOf(text, 'CHANGES.md'));
  const chosen = await send({ ...other.sent, schedule: 'on' });
  expect(chosen.notice).toBe('Imported 2 posts: 2 new, 0 updated. 1 post is scheduled.');
  expect(await app.db.read((tx) => countScheduled(tx, 'org_a'))).toBe(2);
});

test('a preview of many posts shows first those that change, and folds what is skipped', async () => {
  const versions = Array.from({ length: 14 }, (_, at) => `## 1.${at}.0 - 2026-01-01\n\n- Text ${at}\n`);
  await send((await send({}, fileOf(versions.join('\n')))).sent);
  versions[13] = '## 1.13.0 - 2026-01-01\n\n- Changed\n';
  const few = await send({}, fileOf(`# Changes\n\n${versions.join('\n')}`));
  expect(/<tbody>.*?<\/tr>/s.exec(few.html)?.[0]).toMatch(/1\.13\.0.*Updated/s);
  expect(few.html).toContain('<dd><ul>');
  expect(few.html).not.toContain('<dt>New</dt>');
  const unreleased = Array.from({ length: 12 }, (_, at) => `## 2.${at}.0 - unreleased\n\n- Later\n`);
  const many = await send({}, fileOf([...unreleased, ...versions].join('\n')));
  expect(many.html).toContain('<details><summary>12 parts</summary><ul>');
});

describe('files of one name from two projects', () => {
  const other = changelog.replaceAll('- One', '- Other').replaceAll('- Two', '- Others');

  test('replace each other only when the person names no source in the preview', async () => {
    await send((await send({}, fileOf(changelog))).sent);
    const preview = await send({}, fileOf(other));
    expect(preview.html).toContain('2 posts of this source exist already.');
    const again = await send({ ...preview.sent, source: 'engine', again: 'on' });
    expect(again.status).toBe(200);
    expect(again.html).toContain('Import 2 posts');
    expect(again.html).not.toContain('exist already');
    expect(again.sent).toMatchObject({ source: 'engine', confirmed: 'on' });
    expect(again.sent).not.toContainKey('again');
    await send(again.sent);
    expect((await postsOf(app)).map(({ markdown }) => markdown).sort()).toEqual([
      '- One',
      '- Other',
      '- Others & "more"',
      '- Two & "more"',
    ]);
    await send((await send({ source: 'engine' }, fileOf(other.replace('- Others', '- Changed')))).sent);
    expect(await postsOf(app)).toHaveLength(4);
  });

  test('need no source where each post has an id', async () => {
    const posts = (text: string) => fileOf(`[{"id":"one","title":"A","markdown":"${text}"}]`, 'posts.json');
    await send((await send({}, posts('a'))).sent);
    const preview = await send({}, posts('b'));
    expect(preview.html).toContain('1 post that exists already');
    expect(preview.html).not.toContain('name="again"');
  });
});

describe('a pasted text', () => {
  test.each([
    ['a changelog', changelog, 2],
    ['a JSON array', '[{"title":"A","markdown":"a"}]', 1],
    ['JSON Lines', '{"title":"A","markdown":"a"}\r\n{"title":"B","content":"b"}', 2],
    ['Markdown', '---\ntitle: A\n---\n## 1.0.0\ntext', 1],
  ] as const)('is recognized: %s', async (_, text, count) => {
    const preview = await send({ text });
    await send(preview.sent);
    expect(await postsOf(app)).toHaveLength(count);
  });

  test('is read in the chosen format, with a date and a source', async () => {
    const text = '# 1.0.0\n\nOne';
    const undated = await send({ text });
    expect(undated.html).toContain('or choose a date below.');
    const preview = await send({ text, date: '2026-03-01', source: 'rocket' });
    await send(preview.sent);
    expect(await postsOf(app)).toMatchObject([{ title: '1.0.0', createdAt: '2026-03-01T00:00:00.000Z' }]);
    const other = await send({ text, date: '2026-03-01', source: 'engine', format: 'markdown' });
    expect(other.html).toContain('1.0.0');
    await send(other.sent);
    expect(await postsOf(app)).toHaveLength(2);
  });

  test('replaces no other pasted post', async () => {
    for (const text of ['# One\n\nfirst', '# Two\n\nsecond']) await send((await send({ text })).sent);
    expect((await postsOf(app)).map(({ title }) => title).sort()).toEqual(['One', 'Two']);
    expect((await send({ text: '# One\n\nfirst' })).html).toContain('There is nothing to import.');
  });

  test('has its other fields named in the preview', async () => {
    const { html } = await send({ text: `---\ntitle: A\nauthor: ann\ntags: [a]\n---\ntext` });
    expect(html).toContain('author, tags. The metadata of the posts keeps them.');
  });

  test('never becomes markup', async () => {
    const matter = await send({ text: `---\ntitle: A\n${JSON.stringify(hostile)}: a\n---\ntext` });
    expect(matter.html).toContain('Import 1 post');
    expect(isHarmed(matter.html)).toBe(false);
    const preview = await send({ text: JSON.stringify([{ title: hostile, markdown: hostile }]) });
    expect(preview.html).toContain('Import 1 post');
    expect(isHarmed(preview.html)).toBe(false);
    expect(isHarmed((await send({ text: `nonsense ${hostile}`, format: 'json' })).html)).toBe(false);
  });
});

test('a choice that the form does not offer is refused at its field', async () => {
  const { status, html } = await send({ text: changelog, status: 'secret', date: '30 February' });
  expect(status).toBe(400);
  expect(html).toMatch(
    /<select[^>]*aria-describedby="field-status-hint field-status-error" aria-invalid="true"/,
  );
  expect(html).toContain('id="field-status-error"');
  expect((await send({ text: changelog, date: '30 February' })).html).toContain('The date must be a day');
});

test('a record with an id of another organization gets another id, and theirs stays', async () => {
  await app.addPosts('org_b', { id: 'theirs', title: 'Theirs' });
  const text = '[{"id":"theirs","title":"Mine","markdown":"m"}]';
  const preview = await send({ text });
  const [, id] = /1 post with another ID than in the file: theirs → (post_\w+)/.exec(preview.html) ?? [];
  expect(preview.html).not.toContain('another organization');
  await send(preview.sent);
  expect(await postsOf(app, 'org_b')).toMatchObject([{ id: 'theirs', title: 'Theirs' }]);
  expect(await postsOf(app)).toMatchObject([{ id, title: 'Mine' }]);
});

test('others and other sites import nothing', async () => {
  const stranger = await signedIn(app, { organizationId: 'org_b' });
  const before = await allRows(app.db);
  const fields = { text: changelog, confirmed: 'on' };
  expect((await stranger(PATH)).status).toBe(404);
  expect((await send(fields, undefined, stranger)).status).toBe(404);
  expect((await visit(PATH, form(fields))).status).toBe(415);
  const elsewhere: Visit = (path, init) =>
    visit(path, { ...init, headers: { 'sec-fetch-site': 'cross-site' } });
  expect((await send(fields, undefined, elsewhere)).status).toBe(403);
  expect(await allRows(app.db)).toEqual(before);
});
