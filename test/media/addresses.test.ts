import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { hashOf } from '../../src/drafting/write.ts';
import { extendRun, insertRun } from '../../src/integrations/uptime.ts';
import { imagesIn, withAbsoluteMedia } from '../../src/lib/markdown/media.ts';
import { editPost } from '../../src/posts/service.ts';
import { addressWork, updateAddresses } from '../../src/server/sweep.ts';
import { valuesOf } from '../support/database.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp } from '../support/test-app.ts';

test.each([
  ['![a](/media/img_1.png)', '![a](https://x.test/media/img_1.png)'],
  ['![a](</media/img_1.png>)', '![a](<https://x.test/media/img_1.png>)'],
  ['[a]: /media/img_1.png', '[a]: https://x.test/media/img_1.png'],
  ['<img src="/media/img_1.png">', '<img src="https://x.test/media/img_1.png">'],
  ['[a](/media/other)', '[a](/media/other)'],
  ['[a](https://y.test/media/img_1.png)', '[a](https://y.test/media/img_1.png)'],
  ['in words: /media/img_1.svg', 'in words: /media/img_1.svg'],
])('%s', (typed, stored) => {
  expect(withAbsoluteMedia(typed, 'https://x.test')).toBe(stored);
});

test('images of a text are found in order, each once, with whole addresses alone', () => {
  const markdown =
    '![a](https://x.test/1.png?a=1&b=2) <img src="https://x.test/2.png"> ![b](/3.png) ![c][ref] ![a](https://x.test/1.png?a=1&b=2)\n\n`![no](https://x.test/no.png)`\n\n[ref]: https://x.test/4.png';
  expect(imagesIn(markdown, 20)).toEqual([
    'https://x.test/1.png?a=1&b=2',
    'https://x.test/2.png',
    'https://x.test/4.png',
  ]);
  expect(imagesIn(markdown, 1)).toHaveLength(1);
});

test('a typed address is stored whole', async () => {
  const app = await appWithOrganization();
  await app.addPosts('org_a', { id: 'p' });
  const { markdown } = await editPost(app.deps, 'p', { markdown: '![a](/media/img_1.png)' });
  expect(markdown).toBe(`![a](${PUBLIC_URL}/media/img_1.png)`);
});

test('a new PUBLIC_URL changes the addresses of images in stored posts, and nothing else', async () => {
  const app = await appWithOrganization();
  const text = (url: string) => `![a](${url}/media/img_1.png) ${url}/dashboard 100%_`;
  const old = 'https://old_1.test';
  const posts = Array.from({ length: 120 }, (_, n) => ({ id: `p${n}`, markdown: text(old) }));
  await app.addPosts('org_a', ...posts, { id: 'other', markdown: text('https://oldx1.test') });
  await app.db.write((tx) => insertRun(tx, { id: 'run_1', publicUrl: old, process: 'a' }, app.clock.now()));
  await app.db.write((tx) =>
    insertRun(tx, { id: 'run_2', publicUrl: PUBLIC_URL, process: 'b' }, app.clock.now()),
  );
  const read = () =>
    valuesOf(app.db, sql`select id, title, content, updated_at, created_at from posts order by id`);
  const before = await read();
  expect(await updateAddresses(app.deps)).toBe(120);
  expect(await read()).toEqual(before);
  expect(await valuesOf(app.db, sql`select distinct markdown from posts order by markdown`)).toEqual([
    [text('https://oldx1.test')],
    [`![a](${PUBLIC_URL}/media/img_1.png) ${old}/dashboard 100%_`],
  ]);
  expect(await updateAddresses(app.deps)).toBe(0);
});

test('a former PUBLIC_URL may be the start of the current one', async () => {
  const app = await appWithOrganization();
  const former = PUBLIC_URL.slice(0, -1);
  await app.addPosts('org_a', { id: 'p', markdown: `![a](${former}/media/img_1.png)` });
  await app.db.write((tx) => insertRun(tx, { id: 'r', publicUrl: former, process: 'a' }, app.clock.now()));
  expect(await updateAddresses(app.deps)).toBe(1);
  const stored = await valuesOf(app.db, sql`select markdown from posts`);
  expect(stored).toEqual([[`![a](${PUBLIC_URL}/media/img_1.png)`]]);
});

test('an address in other letters does not keep the job busy', async () => {
  const app = await appWithOrganization();
  const markdown = '![a](https://Old.test/media/img_1.png)';
  await app.addPosts('org_a', { id: 'p', markdown });
  const run = { id: 'r', publicUrl: 'https://old.test', process: 'a' };
  await app.db.write((tx) => insertRun(tx, run, app.clock.now()));
  expect(await updateAddresses(app.deps, AbortSignal.timeout(20_000))).toBe(0);
  expect(await valuesOf(app.db, sql`select markdown from posts`)).toEqual([[markdown]]);
});

describe('the job', () => {
  const OLD = 'https://old.test';
  const text = (url: string) => `![a](${url}/media/img_1.png)`;
  const markdowns = async () =>
    (await valuesOf<[string]>(app.db, sql`select markdown from posts order by id`)).map(([each]) => each);
  let app: TestApp;
  let run: () => Promise<unknown>;

  beforeEach(async () => {
    app = await appWithOrganization();
    await app.addPosts('org_a', { id: 'p1', markdown: text(OLD) });
    await app.db.write((tx) => insertRun(tx, { id: 'old', publicUrl: OLD, process: 'a' }, app.clock.now()));
    app.clock.advance(10_000);
    const work = addressWork(app.deps);
    run = () => work(new AbortController().signal);
    await run();
    expect(await markdowns()).toEqual([text(PUBLIC_URL)]);
  });

  test('runs again after a process with a former PUBLIC_URL has ended', async () => {
    app.clock.advance(60_000);
    await app.db.write((tx) => extendRun(tx, 'old', app.clock.now()));
    await app.addPosts('org_a', { id: 'p2', markdown: text(OLD) });
    await run();
    expect(await markdowns()).toEqual([text(PUBLIC_URL), text(OLD)]);
    app.clock.advance(300_000);
    await run();
    expect(await markdowns()).toEqual([text(PUBLIC_URL), text(PUBLIC_URL)]);
    // Then it rests.
    await app.addPosts('org_a', { id: 'p3', markdown: text(OLD) });
    await run();
    expect((await markdowns()).at(-1)).toBe(text(OLD));
  });
});

test('an address of another PUBLIC_URL is no edit by a person', () => {
  const draft = (url: string) => ({ title: 'T', content: 'a', markdown: `![a](${url}/media/img_1.png)` });
  expect(hashOf(draft('https://a.test'))).toBe(hashOf(draft('http://localhost:3000')));
  expect(hashOf(draft('https://a.test'))).not.toBe(
    hashOf({ ...draft('https://a.test'), markdown: '![a](https://a.test/media/img_2.png)' }),
  );
});
