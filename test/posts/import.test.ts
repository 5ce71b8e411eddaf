import { beforeEach, describe, expect, test } from 'bun:test';
import type { Storage } from '../../db/engine.ts';
import { explain } from '../../src/cli/failure.ts';
import type { AppError } from '../../src/lib/app-error.ts';
import { letOthersIn } from '../../src/lib/time.ts';
import { parseJsonLines, readRecords } from '../../src/posts/import/records.ts';
import { type ImportOptions, importFile, previewImport } from '../../src/posts/import/service.ts';
import { contentTypes, postStatuses } from '../../src/posts/model.ts';
import { listSchedules, publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { deletePost } from '../../src/posts/service.ts';
import { listPostPage } from '../../src/posts/store.ts';
import { oneStep, valuesOf } from '../support/database.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization();
});

const defaults: ImportOptions = { organizationId: 'org_a', status: 'published', contentType: 'changelog' };

function importText(name: string, text: string, options: Partial<ImportOptions> = {}) {
  return importFile(app.deps, { name, text }, { ...defaults, ...options });
}

async function stored(organizationId = 'org_a') {
  const selection = { statuses: [...postStatuses], contentTypes: [...contentTypes], sort: 'desc' as const };
  const { posts } = await app.db.read((tx) =>
    listPostPage(tx, organizationId, { ...selection, limit: 1000, page: 1 }),
  );
  return posts;
}

const whole = {
  id: 'my-post',
  title: 'Hello',
  content: 'Hello there',
  markdown: '**Hello** there',
  contentType: 'linkedin_post',
  sourceMetadata: { author: 'ann' },
  status: 'draft',
  createdAt: '2026-01-02T03:04:05.006Z',
  updatedAt: '2026-01-03T00:00:00.000Z',
} as const;

describe('a date in the future', () => {
  const FUTURE = '2099-01-31T00:00:00.000Z';
  const future = [{ title: 'Soon', markdown: 'x', createdAt: FUTURE }];
  const scheduled = async () => {
    const posts = await stored();
    const schedules = await app.db.read((tx) =>
      listSchedules(
        tx,
        posts.map(({ id }) => id),
      ),
    );
    return [...schedules.values()].map(({ publishAt }) => new Date(publishAt).toISOString());
  };

  test('publishes nothing: the post is a draft with its date, also the second time', async () => {
    expect(await importText('posts.json', JSON.stringify(future))).toMatchObject({ created: 1, future: 1 });
    expect(await stored()).toMatchObject([{ status: 'draft', createdAt: FUTURE }]);
    const again = await importText('posts.json', JSON.stringify(future));
    expect(again).toMatchObject({ created: 0, updated: 0, unchanged: 1, future: 1 });
    expect(await scheduled()).toEqual([]);
  });

  test.each([
    ['a.md', `---\ntitle: Soon\npubDate: ${FUTURE}\n---\nx`],
    ['b.md', `+++\ntitle = "Soon"\ndate = 2099-01-31\ndraft = false\n+++\nx`],
    ['scheduled.md', `---\ntitle: Soon\ndate: ${FUTURE}\nstatus: scheduled\n---\nx`],
    ['CHANGELOG.md', '# Changelog\n\n## 1.1.0 - 2099-01-31\n\n- x\n'],
    ['c.json', JSON.stringify([{ ...future[0], status: 'published' }])],
    ['d.jsonl', JSON.stringify(future[0])],
  ])('in %s is a draft, or with the choice a schedule, also later', async (name, text) => {
    const preview = await previewImport(app.deps, { name, text }, defaults);
    expect(preview).toMatchObject({ published: 0, future: 1, schedulable: 1, posts: [{ status: 'draft' }] });
    expect(await importText(name, text)).toMatchObject({ created: 1, future: 1 });
    expect(await stored()).toMatchObject([{ status: 'draft', createdAt: FUTURE }]);
    expect(await scheduled()).toEqual([]);

    const chosen = await importText(name, text, { scheduleZone: 'UTC' });
    expect(chosen).toMatchObject({ created: 0, updated: 1, unchanged: 0, scheduled: 1 });
    expect(chosen).not.toHaveProperty('future');
    expect(await stored()).toMatchObject([{ status: 'draft', createdAt: FUTURE }]);
    expect(await scheduled()).toEqual([FUTURE]);
    for (const scheduleZone of ['UTC', undefined]) {
      const again = await importText(name, text, { scheduleZone });
      expect(again).toMatchObject({ updated: 0, unchanged: 1 });
      expect(again).not.toContainAnyKeys(['future', 'scheduled']);
    }
    expect(await previewImport(app.deps, { name, text }, defaults)).toMatchObject({ future: 0 });
  });

  test('is when a scheduled post is published, with its date', async () => {
    const soon = '2026-12-01T10:00:00.000Z';
    const text = JSON.stringify([{ ...future[0], createdAt: soon }]);
    await importText('posts.json', text, { scheduleZone: 'Europe/Berlin' });
    app.clock.advance(Date.parse(soon) - app.clock.now().getTime() - 1);
    expect(await publishDuePosts(app.deps, { runningSince: app.clock.now() })).toBe(0);
    app.clock.advance(1);
    expect(await publishDuePosts(app.deps, { runningSince: app.clock.now() })).toBe(1);
    expect(await stored()).toMatchObject([{ status: 'published', createdAt: soon }]);
  });

  test('that changes moves a schedule at the old one; a time that a person chose stays', async () => {
    const moved = (createdAt: string) => JSON.stringify([{ ...future[0], createdAt }]);
    await importText('posts.json', moved(FUTURE), { scheduleZone: 'UTC' });
    expect(await importText('posts.json', moved('2098-01-01'))).toMatchObject({ updated: 1, scheduled: 1 });
    expect(await scheduled()).toEqual(['2098-01-01T00:00:00.000Z']);
    const [post] = await stored();
    await schedulePost(app.deps, post?.id ?? '', { publishAt: '2097-05-05T09:00', timeZone: 'UTC' });
    await importText('posts.json', moved('2096-01-01'), { scheduleZone: 'UTC' });
    expect(await scheduled()).toEqual(['2097-05-05T09:00:00.000Z']);
  });

  test.each([
    ['a draft', { status: 'draft' }, {}],
    ['a draft by default', {}, { status: 'draft' }],
    ['beyond every schedule', { createdAt: '2999-01-31T00:00:00.000Z' }, {}],
    ['past', { createdAt: '2026-01-31T00:00:00.000Z' }, {}],
  ] as const)('is no schedule for what is %s', async (_, fields, options) => {
    const text = JSON.stringify([{ ...future[0], ...fields }]);
    const result = await importText('posts.json', text, { ...options, scheduleZone: 'UTC' });
    expect(result).not.toHaveProperty('scheduled');
    expect(await scheduled()).toEqual([]);
  });

  test('beside a mark of a draft is no schedule', async () => {
    const text = `---\ntitle: Soon\ndate: ${FUTURE}\nstatus: scheduled\ndraft: true\n---\nx`;
    expect(await importText('a.md', text, { scheduleZone: 'UTC' })).not.toHaveProperty('scheduled');
    expect(await scheduled()).toEqual([]);
  });

  test('leaves a post public that was, and a draft is none of them', async () => {
    await importText('p.json', JSON.stringify([{ ...future[0], createdAt: '2026-01-01' }]));
    expect(await importText('p.json', JSON.stringify(future))).not.toHaveProperty('future');
    expect(await stored()).toMatchObject([{ status: 'published' }]);
    const draft = JSON.stringify([{ ...future[0], title: 'Draft', status: 'draft' }]);
    expect(await importText('d.json', draft)).not.toHaveProperty('future');
  });
});

describe('records of one title without ids', () => {
  const week = (number: number, createdAt?: string) => ({
    title: 'Weekly update',
    markdown: `week ${number}`,
    createdAt,
  });
  const addresses = async (records: object[], name = 'weeks.json') => {
    await importText(
      name,
      name.endsWith('l') ? records.map((each) => JSON.stringify(each)).join('\n') : JSON.stringify(records),
    );
    return new Map((await stored()).map(({ id, markdown }) => [id, markdown]));
  };

  test.each([
    ['dated, newest first', [week(2, '2024-01-14'), week(1, '2024-01-07')], [week(3, '2024-01-21')], []],
    ['dated, oldest first', [week(1, '2024-01-07'), week(2, '2024-01-14')], [], [week(3, '2024-01-21')]],
    ['of one first', [week(1, '2024-01-07')], [week(3, '2024-01-14'), week(2, '2024-01-14')], []],
    ['without dates, newest first', [week(2), week(1)], [week(4), week(3)], []],
  ])('keep their addresses when newer ones are added: %s', async (_, records, above, below) => {
    for (const name of ['weeks.json', 'weeks.jsonl']) {
      const before = await addresses(records, name);
      const after = await addresses([...above, ...records, ...below], name);
      expect([...before].map(([id]) => after.get(id))).toEqual([...before.values()]);
      expect(after.size - before.size).toBe(above.length + below.length);
    }
  });
});

describe('JSON', () => {
  test('keeps every field that is given', async () => {
    expect(await importText('a/posts.json', JSON.stringify([whole]))).toEqual({
      file: 'a/posts.json',
      created: 1,
      updated: 0,
      unchanged: 0,
      reassignedIds: 0,
      newIds: {},
      headings: null,
      skipped: [],
    });
    expect(await stored()).toEqual([whole]);
  });

  test('fills in missing fields', async () => {
    await importText('posts.json', JSON.stringify([{ title: ' Hello ', markdown: '**Hello** there' }]));
    expect(await stored()).toEqual([
      {
        id: expect.stringMatching(/^post_\w{20,22}$/),
        title: 'Hello',
        content: 'Hello there',
        markdown: '**Hello** there',
        contentType: 'changelog',
        sourceMetadata: null,
        status: 'published',
        createdAt: '2026-11-20T12:00:00.000Z',
        updatedAt: '2026-11-20T12:00:00.000Z',
      },
    ]);
  });

  test('a new post was last changed at its date, unless the file says when', async () => {
    const dated = { id: 'p', title: 't', content: 'c', createdAt: '2026-01-31T09:30:00.000Z' };
    await importText('p.json', JSON.stringify([dated]));
    expect((await stored())[0]?.updatedAt).toBe(dated.createdAt);
  });

  test('times of any offset are stored in UTC, dates as midnight', async () => {
    const times = ['2026-01-31', '2026-01-31T09:30:00+02:00', '2026-01-31 09:30Z'];
    await importText(
      'p.jsonl',
      times
        .map((createdAt, n) => JSON.stringify({ id: `p${n}`, title: 't', content: 'c', createdAt }))
        .join('\n'),
    );
    expect(new Map((await stored()).map(({ id, createdAt }) => [id, createdAt]))).toEqual(
      new Map([
        ['p0', '2026-01-31T00:00:00.000Z'],
        ['p1', '2026-01-31T07:30:00.000Z'],
        ['p2', '2026-01-31T09:30:00.000Z'],
      ]),
    );
  });

  test('reads JSON Lines, empty lines aside', async () => {
    const text = `\n${JSON.stringify(whole)}\n\n${JSON.stringify({ ...whole, id: 'second' })}\n`;
    expect(await importText('posts.jsonl', text)).toMatchObject({ created: 2 });
  });
});

describe('importing again', () => {
  test('the same file changes nothing, not even updatedAt', async () => {
    const text = JSON.stringify([
      { title: 'One', markdown: 'a' },
      { title: 'Two', markdown: 'b' },
      { title: 'Two', markdown: 'c' },
    ]);
    await importText('site/posts.json', text);
    const before = await stored();
    app.clock.advance(60_000);
    expect(await importText('site/posts.json', text)).toMatchObject({ created: 0, updated: 0, unchanged: 3 });
    expect(await stored()).toEqual(before);
  });

  test('a changed record updates the text of its post, and keeps status and dates', async () => {
    await importText('p.json', JSON.stringify([{ title: 'One', markdown: 'old' }]), { status: 'draft' });
    app.clock.advance(60_000);
    expect(await importText('p.json', JSON.stringify([{ title: 'One', markdown: '*new*' }]))).toMatchObject({
      updated: 1,
    });
    expect(await stored()).toMatchObject([
      {
        content: 'new',
        markdown: '*new*',
        status: 'draft',
        createdAt: '2026-11-20T12:00:00.000Z',
        updatedAt: '2026-11-20T12:01:00.000Z',
      },
    ]);
  });

  test('files of one name in two folders are two sources; --source says otherwise', async () => {
    const text = '# Changelog\n## 1.0.0 - 2026-01-01\nFirst';
    await importText('rocket/CHANGELOG.md', text);
    await importText('pad/CHANGELOG.md', text);
    expect(await stored()).toHaveLength(2);
    await importText('a/CHANGELOG.md', text, { source: 'site' });
    await importText('b/CHANGELOG.md', text, { source: 'site' });
    expect(await stored()).toHaveLength(3);
  });

  test('the same file in another organization makes other posts', async () => {
    await app.addOrganization('org_b');
    const text = JSON.stringify([{ title: 'One', markdown: 'a' }]);
    await importText('p.json', text);
    await importText('p.json', text, { organizationId: 'org_b' });
    expect(await stored()).toHaveLength(1);
    expect(await stored('org_b')).toHaveLength(1);
  });
});

describe('Markdown', () => {
  test('front matter is the fields; names that mean nothing to us are metadata', async () => {
    const text = `---
title: Hello
date: 2026-01-31
contentType: linkedin_post
draft: true
author: ann
tags: [a, b]
---

**Hello** there
`;
    await importText('hello.md', text);
    expect(await stored()).toMatchObject([
      {
        title: 'Hello',
        markdown: '**Hello** there',
        content: 'Hello there',
        contentType: 'linkedin_post',
        status: 'draft',
        createdAt: '2026-01-31T00:00:00.000Z',
        sourceMetadata: { author: 'ann', tags: ['a', 'b'] },
      },
    ]);
  });

  test.each([
    'draft: true',
    'draft: "true"',
    "draft: 'Yes'",
    'draft: yes',
    'draft: on',
    'draft: 1',
    'Draft: true',
    'DRAFT: TRUE',
    'isDraft: true',
    'is_draft: y',
    '"draft" : true',
    'published: false',
    'Published: no',
    'published: "off"',
    'unlisted: true',
    'private: true',
    'status: scheduled',
    'Status: Draft',
    'status: Pending',
    'status: published\ndraft: true',
    'draft: true\npublished: true',
    'state: draft',
    'visibility: Private',
    'visible: false',
    'public: no',
    'isPublic: false',
    'archived: true',
    'wip: yes',
    'headless: true',
    'permalink: false',
    'expiryDate: 2020-01-01',
  ])('%s marks a draft', async (mark) => {
    await importText('hello.md', `---\ntitle: Hello\n${mark}\n---\n\nText`, { status: 'published' });
    expect(await stored()).toMatchObject([{ title: 'Hello', status: 'draft' }]);
  });

  test.each([
    'draft: false',
    'draft: "no"',
    'published: true',
    'Published: 2024-01-05',
    'status: Published',
    'visibility: public',
    'state: open',
    'permalink: /a/',
    'expiryDate:',
  ])('%s does not', async (mark) => {
    await importText('hello.md', `---\ntitle: Hello\n${mark}\n---\n\nText`, { status: 'published' });
    expect(await stored()).toMatchObject([{ status: 'published' }]);
  });

  test.each([
    ['draft: maybe', 'draft must be true or false'],
    ['draft:', 'draft must be true or false'],
    ['Draft: [true]', 'Draft must be true or false'],
    ['published: soon', 'published must be true or false'],
    ['status: wip', 'status must be draft or published'],
    ['visibility: members', 'visibility must be draft or published'],
  ])('%s is refused with its line, and nothing is stored', async (mark, problem) => {
    const importing = importText('hello.md', `---\ntitle: Hello\n${mark}\n---\n\nText`);
    expect(await importing.catch((error: unknown) => error)).toMatchObject({
      message: `hello.md:3: ${problem}`,
    });
    expect(await stored()).toEqual([]);
  });

  test.each([
    ['pubDate: 2024-01-05', '2024-01-05'],
    ['publishDate: 2024-01-05', '2024-01-05'],
    ['date: 2024-01-04\npubDate: 2024-01-05', '2024-01-05'],
    ['createdAt: 2024-01-05\npubDate: 2024-01-04', '2024-01-05'],
    ['Date: 2024-01-05', '2024-01-05'],
    ['publish_date: 2024-01-05', '2024-01-05'],
    ['published-at: 2024-01-05', '2024-01-05'],
    ['published: 2024-01-05', '2024-01-05'],
    ['created: 2024-01-05', '2024-01-05'],
    ['date: Jan 05 2024', '2024-01-05'],
    ['date: "January 5th, 2024"', '2024-01-05'],
    ['date: 2024-1-5', '2024-01-05'],
  ])('%s is the date', async (dates, day) => {
    await importText('hello.md', `---\ntitle: Hello\n${dates}\nlastmod: 2024-02-01\n---\n\nText`);
    expect(await stored()).toMatchObject([
      { createdAt: `${day}T00:00:00.000Z`, updatedAt: '2024-02-01T00:00:00.000Z', sourceMetadata: null },
    ]);
  });

  test.each([
    ['2024-01-05 10:00:00 +0200', '2024-01-05T08:00:00.000Z'],
    ['2024-01-05 10:00', '2024-01-05T10:00:00.000Z'],
    ['2024-01-05T10:00:00', '2024-01-05T10:00:00.000Z'],
    ['2024-01-05 10:00:00 UTC', '2024-01-05T10:00:00.000Z'],
  ])('the time %s is read', async (time, createdAt) => {
    await importText('hello.md', `---\ntitle: Hello\ndate: ${time}\n---\n\nText`);
    expect(await stored()).toMatchObject([{ createdAt }]);
  });

  test.each(['05/01/2024', '2024-02-30', 'tomorrow', 'Jan 5 2024 10:00 PM', '5 Jan 2024 or later'])(
    'the date %s is refused with its line',
    async (date) => {
      const importing = importText('hello.md', `---\ntitle: Hello\nPub_Date: ${date}\n---\n\nText`);
      expect(await importing.catch(({ message }) => message)).toStartWith('hello.md:3: createdAt must be');
    },
  );

  test.each(['publish-date', 'PublishedAt', 'published', 'Date'])(
    'a day in the future as %s publishes nothing',
    async (name) => {
      await importText('hello.md', `---\ntitle: Hello\n${name}: 2099-01-05\n---\n\nText`);
      expect(await stored()).toMatchObject([{ status: 'draft', createdAt: '2099-01-05T00:00:00.000Z' }]);
    },
  );

  test.each([
    ['_posts/2024-01-05-hello.md', 'published', '2024-01-05'],
    ['_posts/2099-01-05-hello.md', 'draft', '2099-01-05'],
    ['news/2024-01-05.md', 'published', '2024-01-05'],
    ['news/2024-01-05-hello/index.mdx', 'published', '2024-01-05'],
    ['news/2024-01-051.md', 'published', '2026-02-03'],
    ['site/_drafts/hello.md', 'draft', '2026-02-03'],
    ['blog/_hello.md', 'draft', '2026-02-03'],
  ])('%s is %s, dated %s', async (name, status, day) => {
    await importText(name, '---\ntitle: Hello\n---\n\nText', { date: '2026-02-03' });
    expect(await stored()).toMatchObject([{ status, createdAt: `${day}T00:00:00.000Z` }]);
  });

  test('a file named by an id that begins with an underscore has the status of its own', async () => {
    await importText('blog/_hello.md', '---\nid: _hello\ntitle: Hello\nstatus: published\n---\n\nText');
    expect(await stored()).toMatchObject([{ id: '_hello', status: 'published' }]);
  });

  test.each([
    ['# v1.2.0 (2024-01-05)', 'v1.2.0', '2024-01-05'],
    ['# Rocket 1.2.0 - January 5th, 2024', 'Rocket 1.2.0', '2024-01-05'],
    ['# 1.2.0 (03/04/2024)', '1.2.0 (03/04/2024)', '2026-02-03'],
    ['# Plans for January 2099', 'Plans for January 2099', '2026-02-03'],
  ])('a file about one version has the day of its heading: %s', async (heading, title, day) => {
    await importText('releases/1.2.0.md', `${heading}\n\nText`, { date: '2026-02-03' });
    expect(await stored()).toMatchObject([{ title, createdAt: `${day}T00:00:00.000Z`, markdown: 'Text' }]);
  });

  test('a title of another case leaves the heading in the text', async () => {
    await importText('hello.md', '---\nTitle: Hello\n---\n\n# Heading\n\nText');
    expect(await stored()).toMatchObject([{ title: 'Hello', markdown: '# Heading\n\nText' }]);
  });

  test('names of fields have any case', async () => {
    await importText('hello.md', '---\nTitle: Hello\nContent-Type: linkedin_post\n---\n\nText');
    expect(await stored()).toMatchObject([
      { title: 'Hello', contentType: 'linkedin_post', sourceMetadata: null },
    ]);
  });

  test('other names are listed, before and after the import', async () => {
    const text = '---\ntitle: Hello\nauthor: ann\nEdition: 2\nlayout: post\n---\n\nText';
    const preview = await previewImport(app.deps, { name: 'hello.md', text }, defaults);
    expect(preview.unknownFields).toEqual(['author', 'Edition', 'layout']);
    expect((await importText('hello.md', text)).unknownFields).toEqual(['author', 'Edition', 'layout']);
    expect(await importText('other.md', '# Hello\n\nText')).not.toHaveProperty('unknownFields');
  });

  test('TOML front matter is read too', async () => {
    const text = '+++\ntitle = "Hello"\ndate = 2024-01-05T10:00:00Z\ndraft = true\ntags = ["a"]\n+++\n\nText';
    await importText('hello.md', text);
    expect(await stored()).toMatchObject([
      {
        title: 'Hello',
        markdown: 'Text',
        status: 'draft',
        createdAt: '2024-01-05T10:00:00.000Z',
        sourceMetadata: { tags: ['a'] },
      },
    ]);
  });

  test('a missing title is the first heading; renaming it keeps the post', async () => {
    await importText('notes/hello.md', '# Hello\n\nText');
    await importText('notes/hello.md', '# Goodbye\n\nText');
    expect(await stored()).toMatchObject([{ title: 'Goodbye', markdown: 'Text' }]);
  });

  test('rules in the text are no front matter', async () => {
    await importText('hello.md', '# Hello\n\n---\n\na: b\n\n---\n');
    expect(await stored()).toMatchObject([{ title: 'Hello', sourceMetadata: null }]);
  });

  test('front matter without a field ends at the first rule', async () => {
    await importText('hello.md', '---\n---\n# Hello\n\nText\n\n---\n\nMore');
    expect(await stored()).toMatchObject([{ title: 'Hello', markdown: 'Text\n\n---\n\nMore' }]);
  });
});

/** Ten thousand times the same half a million characters. */
const repeated = `---
title: a
b0: &b0 ${'x'.repeat(40_000)}
b1: &b1 [${'*b0, '.repeat(100)}]
b2: [${'*b1, '.repeat(100)}]
---
x`;

test('an unknown field of JSON records is a problem once, and hides no other', async () => {
  const records = Array.from({ length: 30 }, (_, at) => ({ title: `Post ${at}`, markdown: 'x', slug: 's' }));
  const bad = [...records, { title: 'Bad', markdown: 'x', slug: 's', draft: true }, { markdown: 'x' }];
  const text = bad.map((record) => JSON.stringify(record)).join('\n');
  const { problems } = await previewImport(app.deps, { name: 'p.jsonl', text }, defaults);
  expect(problems.map(({ message }) => message)).toEqual([
    'p.jsonl:1: slug is not a known field. sourceMetadata may have any others',
    'p.jsonl:31: draft is not a known field. sourceMetadata may have any others',
    'p.jsonl:32: title is missing',
  ]);
  expect(await stored()).toEqual([]);
});

describe('a bad record names file, line and field, and nothing of the file is written', () => {
  const good = '{"id": "good", "title": "Good", "content": "x"}';
  const bad = (fields: string) => `[\n  ${good},\n  {\n    "title": "Bad",\n    ${fields}\n  }\n]`;

  test.each([
    ['p.json:2: title is missing', `[${good},\n{"content": "x"}]`],
    ['p.json:3: title must not be empty', `[${good},\n\n{"title": " ", "content": "x"}]`],
    ['p.json:3: markdown is missing (content, as plain text, works too)', bad('"status": "draft"')],
    ['p.json:5: status must be one of draft, published, not "live"', bad('"content": "", "status": "live"')],
    [
      'p.json:5: contentType must be one of changelog, linkedin_post, not "video"',
      bad('"content": "", "contentType": "video"'),
    ],
    ['p.json:5: content is wrong: expected string, not 5', bad('"content": 5')],
    [
      'p.json:5: createdAt must be an ISO 8601 date or a time with its offset, such as 2026-01-31 or 2026-01-31T09:30:00Z, not "2026-02-30"',
      bad('"content": "", "createdAt": "2026-02-30"'),
    ],
    ['p.json:5: updatedAt must be an ISO 8601 date', bad('"content": "", "updatedAt": "2026-01-01T10:00"')],
    ['p.json:5: id must be 1 to 64 letters, digits, "_" and "-"', bad('"content": "", "id": "a b"')],
    ['p.json:5: conten is not a known field', bad('"content": "", "conten": ""')],
    ['p.json:5: sourceMetadata must be an object or null', bad('"content": "", "sourceMetadata": []')],
    [
      'p.json:5: sourceMetadata must not nest deeper than 20',
      bad(`"content": "", "sourceMetadata": {"a": ${'['.repeat(25)}${']'.repeat(25)}}`),
    ],
    [
      'p.json:5: sourceMetadata must have at most 16384 characters as JSON',
      bad(`"content": "", "sourceMetadata": {"a": "${'x'.repeat(17_000)}"}`),
    ],
    [
      'p.json:5: content must have at most 200000 characters, not 200001',
      bad(`"content": "${'x'.repeat(200_001)}"`),
    ],
    ['p.json:5: content must not contain the character U+0000', bad('"content": "a\\u0000b"')],
    ['p.json:2: is the same post as line 1: good', `[${good},\n${good}]`],
    ['a.md:1: sourceMetadata must have', repeated],
    [
      'a.md:1: sourceMetadata must have at most 16384 characters as JSON',
      '---\ntitle: a\nb: &b [*b]\n---\nx',
    ],
    ['p.json:2: has too many values', `[${good},\n[${'1,'.repeat(20_001)}1]]`],
    [
      'p.json:3: is not valid JSON: PropertyNameExpected',
      `[${good},\n{"title": "x",\n${`${good},\n`.repeat(20_000)}${good}]`,
    ],
    ['p.json:3: is not valid JSON: CloseBracketExpected', `[${good},\n${good}\n`],
    ['p.json:1: is not valid JSON: EndOfFileExpected', `[${good}]\n]`],
    ['p.json:2: is not valid JSON: ValueExpected', `[${good},\n]`],
    ['a.md:1: front matter is too large', `---\ntitle: a\nb: [${'1,'.repeat(20_001)}1]\n---\nx`],
    [
      'a.md:1: front matter is too large',
      `---\na: &a ${'x'.repeat(200_000)}\nb: [${'*a,'.repeat(100)}]\n---\nx`,
    ],
    ['p.json:1: nests too deeply', '['.repeat(100_000)],
    ['a.md:1: title must have at most 500 characters', `# a${' '.repeat(1_000_000)}b`],
    ['CHANGELOG.md:1: the heading of version 1.0.0', `## 1.0.0 ${'# '.repeat(500_000)}x`],
    ['p.json:2: must be a post, as a JSON object', `[${good},\n5]`],
    ['p.json:1: must be a JSON array of posts', '{}'],
    ['p.json:2: is not valid JSON: ValueExpected', `[${good},\n{"title": }]`],
    ['p.json:1: has no posts when read as json. Another format? Set --format.', '[]'],
    ['p.jsonl:2: is not valid JSON', `${good}\n{"title"\n`],
    ['p.jsonl:3: title is missing', `${good}\n\n{"content": "x"}`],
    ['a.md:1: front matter is not valid YAML', '---\ntitle: [\n---\nx'],
    ['a.md:1: front matter must be a YAML object, such as "title: Hello"', '---\n- a\n---\nx'],
    ['a.md:3: createdAt must be an ISO 8601 date', '---\ntitle: a\ndate: soon\n---\nx'],
    ['a.md:1: title is missing', 'Just text'],
    [
      'CHANGELOG.md:3: createdAt is missing: version 1.0.0 has no date.',
      '## 1.1.0 - 2026-01-02\n\n## 1.0.0\n',
    ],
    ['CHANGELOG.md:1: 2026-02-30 is no date', '## 1.1.0 - 2026-02-30\n'],
    [
      'CHANGELOG.md:1: has no posts when read as changelog. Another format? Set --format.',
      '# Changelog\n\nSoon.',
    ],
    ['posts.csv: unknown format. Set --format to json, jsonl, markdown, changelog.', 'a,b'],
  ])('%s', async (message, text) => {
    const name = message.slice(0, message.indexOf(':'));
    const failure = await importText(name, text).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(explain(failure as AppError)).toStartWith(message);
    expect(await stored()).toEqual([]);
  });

  test('an organization that there is not', async () => {
    await expect(importText('p.json', `[${good}]`, { organizationId: 'nobody' })).rejects.toThrow(
      'Organization nobody not found',
    );
  });
});

describe('ids that another organization has', () => {
  const record = { id: 'shared', title: 'Mine', content: 'x' };
  const other = { id: 'own', title: 'Own', content: 'x' };

  beforeEach(async () => {
    await app.addOrganization('org_b');
    await app.addPosts('org_b', { id: 'shared', title: 'Theirs' });
  });

  test('are replaced, and importing again updates the same posts', async () => {
    const first = await importText('p.json', JSON.stringify([record, other]));
    expect(first).toMatchObject({ created: 2, reassignedIds: 1 });
    const before = await stored();
    expect(before.map(({ title }) => title).sort()).toEqual(['Mine', 'Own']);
    expect(before.find(({ title }) => title === 'Mine')?.id).toMatch(/^post_\w{20,22}$/);
    expect(before.find(({ title }) => title === 'Own')?.id).toBe('own');
    expect(first.newIds).toEqual({ shared: before.find(({ title }) => title === 'Mine')?.id ?? '' });
    expect(JSON.stringify(first)).not.toMatch(/organization|org_b/i);
    expect(await stored('org_b')).toMatchObject([{ id: 'shared', title: 'Theirs' }]);

    const again = await importText('q.json', JSON.stringify([{ ...record, title: 'New' }, other]));
    expect(again).toMatchObject({ created: 0, updated: 1, unchanged: 1, reassignedIds: 1 });
    expect((await stored()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  test("stay replaced once the other organization's post is gone", async () => {
    await importText('p.json', JSON.stringify([record]));
    await deletePost(app.deps, 'shared');
    const again = await importText('p.json', JSON.stringify([record]));
    expect(again).toMatchObject({ unchanged: 1, reassignedIds: 1 });
    expect(await stored()).toHaveLength(1);
  });

  test('differ from organization to organization', async () => {
    await app.addOrganization('org_c');
    await importText('p.json', JSON.stringify([record]));
    await importText('p.json', JSON.stringify([record]), { organizationId: 'org_c' });
    const [[a], [c]] = [await stored(), await stored('org_c')];
    expect(a?.id).not.toBe(c?.id);
  });

  test('are refused next to a record that has the replacement as its id', async () => {
    await importText('p.json', JSON.stringify([record]));
    const [mine] = await stored();
    const text = `[\n${JSON.stringify(record)},\n${JSON.stringify(mine)}\n]`;
    await expect(importText('p.json', text)).rejects.toThrow('p.json:3: is the same post as line 2');
    expect(await stored()).toEqual(mine === undefined ? [] : [mine]);
  });

  test('let an export of one organization be imported into another, edited, and imported again', async () => {
    await app.addPosts('org_b', ...Array.from({ length: 250 }, (_, n) => ({ id: `b${n}` })));
    const exported = await stored('org_b');
    expect(await importText('export.json', JSON.stringify(exported))).toMatchObject({
      created: 251,
      reassignedIds: 251,
    });
    const withoutIds = (posts: Awaited<ReturnType<typeof stored>>) =>
      posts.map(({ id: _, ...post }) => JSON.stringify(post)).sort();
    expect(withoutIds(await stored())).toEqual(withoutIds(exported));

    const edited = exported.map((post) => (post.id === 'b7' ? { ...post, title: 'Edited' } : post));
    expect(await importText('export.json', JSON.stringify(edited))).toMatchObject({
      created: 0,
      updated: 1,
      unchanged: 250,
      reassignedIds: 251,
    });
    expect((await stored()).filter(({ title }) => title === 'Edited')).toHaveLength(1);
    expect(await stored('org_b')).toEqual(exported);
  });
});

/** As a connection that is lost once, in the middle of each write: the work is undone and runs again. */
function runningTwice(db: Storage): Storage {
  return {
    pace: db.pace,
    read: (work, options) => db.read(work, options),
    version: db.version,
    async write(work, options) {
      const lost = db.write(async (tx) => {
        await work(tx);
        throw new Error('lost');
      }, options);
      await lost.catch(() => undefined);
      return db.write(work, options);
    },
  };
}

test.each([3, 150])('%i posts are counted once when their writes run twice', async (count) => {
  const posts = Array.from({ length: count }, (_, n) => ({ title: `${n}`, markdown: `${n}` }));
  const deps = { ...app.deps, db: runningTwice(app.db) };
  const imported = await importFile(deps, { name: 'p.json', text: JSON.stringify(posts) }, defaults);
  expect(imported).toMatchObject({ created: count, updated: 0, unchanged: 0 });
  expect((await valuesOf<[string]>(app.db, 'SELECT summary FROM audit_events')).flat()).toContain(
    `imported ${count} posts (${count} published) from “p.json”`,
  );
});

test('a JSON file names its problems, each with its line', async () => {
  const text = `[\n${Array.from({ length: 4 }, () => '{"title": 1},\n{"title": }').join(',\n')}\n]`;
  const { problems } = await readRecords({ name: 'p.json', text }, { organizationId: 'org_a' });
  const bad = (line: number) => [
    `p.json:${line}: title is wrong: expected string, not 1`,
    `p.json:${line + 1}: is not valid JSON: ValueExpected`,
  ];
  expect(problems.map(({ message }) => message)).toEqual([2, 4, 6, 8].flatMap(bad));
});

test('texts of front matter may have any number of marks', async () => {
  const text = '- [x], {y}: ? *z <<'.repeat(5_000);
  const file = `---\ntitle: T\ncontent: ${JSON.stringify(text)}\nmarkdown: ${JSON.stringify(text)}\n---\n`;
  await importText('a.md', file);
  expect(await stored()).toMatchObject([{ title: 'T', content: text, markdown: text }]);
});

test('progress is reported after each commit, up to the last record', async () => {
  const progressOf = async (count: number) => {
    const told: number[] = [];
    const records = Array.from({ length: count }, (_, n) => ({ title: `t${n}`, content: 'x' }));
    await importText('p.json', JSON.stringify(records), {
      onProgress: (done, total) => {
        expect(total).toBe(count);
        told.push(done);
      },
    });
    return told;
  };
  expect(await progressOf(5)).toEqual([5]);
  Object.assign(app.db, { pace: oneStep });
  expect(await progressOf(30)).toEqual([10, 20, 30]);
});

test('others get their turns while many lines of JSON are read', async () => {
  const line = JSON.stringify({ title: 'Long', markdown: 'word '.repeat(100) });
  const count = 50_000;
  const reading = parseJsonLines({ name: 'posts.jsonl', text: `${line}\n`.repeat(count) }, count);
  let turns = 0;
  let isDone = false;
  void reading.finally(() => {
    isDone = true;
  });
  for (; !isDone; turns++) await letOthersIn();
  expect((await reading).records).toHaveLength(count);
  expect(turns).toBeGreaterThan(3);
});
