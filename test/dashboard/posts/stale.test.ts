import { beforeEach, describe, expect, test } from 'bun:test';
import { schedulePost } from '../../../src/posts/schedule.ts';
import { datePost, deletePost, editPost } from '../../../src/posts/service.ts';
import { readPost } from '../../../src/posts/store.ts';
import { findDeletedPost, restorePost } from '../../../src/posts/trash.ts';
import { listVersions } from '../../../src/posts/versions.ts';
import { cookieOf, form, signedIn, type Visit } from '../../support/dashboard.ts';
import { formOf } from '../../support/form-of.ts';
import { allRows } from '../../support/rows.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';

// A button acts on what its page showed: not on what somebody else made of the post meanwhile. No scripts run here.

const ALL = '/dashboard/org_a/posts';

let app: TestApp;
let visit: Visit;

beforeEach(async () => {
  app = await appWithOrganization();
  visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  await app.addPosts('org_a', { id: 'p', title: 'Mine', markdown: 'seen\n\nsame', status: 'draft' });
});

const read = async (path: string) => (await visit(path)).text();
const stored = (id = 'p') => app.db.read((tx) => readPost(tx, id));
const send = (path: string, body: URLSearchParams) => visit(path, { method: 'POST', body });
const noticeOf = (response: Response) =>
  decodeURIComponent(cookieOf(response, 'tidings_notice')?.split('=')[1] ?? '');

/** Somebody else's change. */
const others = {
  text: () => editPost(app.deps, 'p', { markdown: 'theirs\n\nsame' }),
  title: () => editPost(app.deps, 'p', { title: 'Theirs' }),
  type: () => editPost(app.deps, 'p', { contentType: 'linkedin_post' }),
  status: () => editPost(app.deps, 'p', { status: 'published' }),
  unpublish: () => editPost(app.deps, 'p', { status: 'draft' }),
  schedule: () => schedulePost(app.deps, 'p', { publishAt: '2030-01-01T09:00', timeZone: 'UTC' }),
  date: () => datePost(app.deps, 'p', new Date('2020-02-02T09:00:00Z')),
};
type Other = keyof typeof others;

interface Button {
  to: string;
  /** Before the page is opened. */
  first?: () => Promise<unknown>;
  page?: string;
  /** Fields that the person adds to the form. */
  fields?: Record<string, string>;
  other: Other;
  shows: string[];
}

const changedText = ['<del>seen</del>', '<ins>theirs</ins>'];
const publish = { to: `${ALL}/p`, fields: { status: 'published' } };
const schedule = { to: `${ALL}/p/schedule`, fields: { publishAt: '2031-01-01T09:00', timeZone: 'UTC' } };
const remove = { to: `${ALL}/p/delete` };
const buttons: Button[] = [
  { ...publish, other: 'text', shows: ['<ins>seen</ins>', '<del>theirs</del>'] },
  { ...publish, other: 'title', shows: ['<ins>Mine</ins>', '<del>Theirs</del>'] },
  { ...publish, other: 'type', shows: ['LinkedIn'] },
  { ...schedule, other: 'text', shows: changedText },
  { ...schedule, other: 'title', shows: ['<del>Mine</del>', '<ins>Theirs</ins>'] },
  { ...schedule, other: 'schedule', shows: ['<del>Jan 1, 2030, 09:00</del>'] },
  { ...remove, other: 'text', shows: changedText },
  { ...remove, other: 'type', shows: ['LinkedIn'] },
  { ...remove, other: 'status', shows: ['<del>Draft</del>', '<ins>Published</ins>'] },
  { ...remove, first: others.status, other: 'unpublish', shows: ['<del>Published</del>'] },
  {
    to: `${ALL}/p/schedule/cancel`,
    first: () => schedulePost(app.deps, 'p', { publishAt: '2029-01-01T09:00', timeZone: 'UTC' }),
    other: 'schedule',
    shows: ['Publish at: changed to Jan 1, 2030, 09:00'],
  },
  {
    to: `${ALL}/p/date/reset`,
    first: () => datePost(app.deps, 'p', new Date('2019-01-01T09:00:00Z')),
    other: 'date',
    shows: ['Date: changed to Feb 2, 2020, 09:00'],
  },
];

test.each(buttons)(
  '$to after another changed its $other is told, does nothing, and works the second time',
  async ({ to, first, fields = {}, other, shows }) => {
    await first?.();
    const filled = (html: string) => {
      const body = formOf(html, to);
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      return body;
    };
    app.clock.advance(1000);
    const mine = filled(await read(`${ALL}/p`));
    app.clock.advance(1000);
    await others[other]();
    const before = await allRows(app.db);
    const refused = await send(to, mine);
    expect(refused.status).toBe(409);
    expect((await allRows(app.db)).posts).toEqual(before.posts ?? []);
    expect((await allRows(app.db)).post_schedules).toEqual(before.post_schedules ?? []);
    const html = await refused.text();
    for (const words of shows) expect(html).toContain(words);
    // Now the person has seen it.
    expect((await send(to, filled(html))).status).toBe(303);
  },
);

test('the text that the page showed is found behind many newer versions', async () => {
  const mine = formOf(await read(`${ALL}/p`), remove.to);
  for (let number = 1; number <= 30; number++) {
    app.clock.advance(1000);
    await editPost(app.deps, 'p', { markdown: `version ${number}\n\nsame` });
  }
  const html = await (await send(remove.to, mine)).text();
  for (const words of ['<del>seen</del>', '<ins>version 30</ins>']) expect(html).toContain(words);
});

test('a text that is kept no longer is said to be so', async () => {
  const save = (markdown: string) => editPost(app.deps, 'p', { markdown, isAutosave: true });
  await save('first autosave\n\nsame');
  const mine = formOf(await read(`${ALL}/p`), remove.to);
  await save('second autosave\n\nsame');
  const refused = await send(remove.to, mine);
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining('Text: changed. The one that you saw is no longer in the version history.'),
  ]);
});

test('a draft that somebody published is not changed in public by "Save", unless the person saves again', async () => {
  const mine = formOf(await read(`${ALL}/p`), `${ALL}/p`);
  mine.set('markdown', 'half a sente');
  await others.status();
  const refused = await send(`${ALL}/p`, mine);
  const html = await refused.text();
  expect([refused.status, (await stored())?.markdown]).toEqual([409, 'seen\n\nsame']);
  expect(html).toContain('<ins>Published</ins>');
  const again = formOf(html, `${ALL}/p`);
  expect(again.get('markdown')).toBe('half a sente');
  expect((await send(`${ALL}/p`, again)).status).toBe(303);
  expect(await stored()).toMatchObject({ markdown: 'half a sente', status: 'published' });
});

test('a change that a page shows is no conflict: typed text, and a post that became as wanted', async () => {
  const mine = formOf(await read(`${ALL}/p`), `${ALL}/p`);
  mine.set('status', 'published');
  await others.status();
  expect((await send(`${ALL}/p`, mine)).status).toBe(303);
  expect((await send(`${ALL}/p/duplicate`, new URLSearchParams())).status).toBe(303);
});

describe('a version is not restored over a text that the person has not seen', () => {
  test.each(['text', 'title', 'type', 'status'] as const)('a new %s', async (other) => {
    await editPost(app.deps, 'p', { markdown: 'second' });
    const [, oldest] = await app.db.read((tx) => listVersions(tx, 'p'));
    const page = `${ALL}/p/versions?version=${oldest?.id}`;
    const to = `${ALL}/p/versions/${oldest?.id}/restore`;
    const mine = formOf(await read(page), to);
    app.clock.advance(1000);
    await others[other]();
    const before = await allRows(app.db);
    const refused = await send(to, mine);
    expect([refused.status, (await refused.text()).includes('so nothing was done')]).toEqual([409, true]);
    expect(await allRows(app.db)).toEqual(before);
    expect((await send(to, formOf(await read(page), to))).status).toBe(303);
    expect(await stored()).toMatchObject({ title: 'Mine', markdown: 'seen\n\nsame' });
  });

  test('nor by "Undo"', async () => {
    await editPost(app.deps, 'p', { markdown: 'second' });
    const [, oldest] = await app.db.read((tx) => listVersions(tx, 'p'));
    const [, undo = ''] = noticeOf(await visit(`${ALL}/p/versions/${oldest?.id}/restore`, form())).split(
      '\n',
    );
    app.clock.advance(1000);
    await others.text();
    expect((await visit(undo, form())).status).toBe(409);
    expect(await stored()).toMatchObject({ markdown: 'theirs\n\nsame' });
    await editPost(app.deps, 'p', { markdown: 'seen\n\nsame' });
    expect((await visit(undo, form())).status).toBe(303);
    expect(await stored()).toMatchObject({ markdown: 'second' });
  });
});

describe('the list', () => {
  test.each(['publish', 'delete'])(
    'does not %s a post that changed after the list was opened',
    async (action) => {
      await app.addPosts('org_a', { id: 'q', markdown: 'same', status: 'draft' });
      const rows = [...(await read(ALL)).matchAll(/name="selected"[^>]*value="([^"]*)"/g)];
      expect(rows).toHaveLength(2);
      const body = new URLSearchParams({ action, back: '' });
      for (const [, value = ''] of rows) body.append('selected', value);
      app.clock.advance(1000);
      await others.text();
      expect(noticeOf(await send(`${ALL}/~/selected`, body))).toContain(
        '1 post. 1 post: changed after you opened the page. Look at it first.',
      );
      expect(await stored()).toMatchObject({ markdown: 'theirs\n\nsame', status: 'draft' });
      expect((await stored('q'))?.status).toBe(action === 'publish' ? 'published' : undefined);
    },
  );
});

describe('the trash', () => {
  const inTrash = (id = 'p') => app.db.read((tx) => findDeletedPost(tx, id));
  const TRASH = `${ALL}/~/trash`;

  beforeEach(async () => {
    await deletePost(app.deps, 'p');
    app.clock.advance(1000);
  });

  /** Restores, changes and deletes the post again. */
  async function changedByAnother() {
    app.clock.advance(1000);
    await restorePost(app.deps, 'p');
    await others.text();
    await others.status();
    await deletePost(app.deps, 'p');
  }

  test.each([
    ['restore', { selected: 'p' }, 303, 'No longer in the trash as you saw it: 1 post.'],
    ['erase', { id: 'p' }, 404, ''],
    ['empty', {}, 303, 'Deleted 0 posts for good.'],
  ])('%s acts on no post that came after the page', async (name, fields, status, notice) => {
    const mine = formOf(await read(TRASH), `${TRASH}/${name}`);
    for (const [field, value] of Object.entries(fields)) mine.set(field, value);
    await changedByAnother();
    const answer = await send(`${TRASH}/${name}`, mine);
    expect([answer.status, noticeOf(answer).includes(notice)]).toEqual([status, true]);
    expect([await stored(), (await inTrash())?.markdown]).toEqual([null, 'theirs\n\nsame']);
    const now = formOf(await read(TRASH), `${TRASH}/${name}`);
    for (const [field, value] of Object.entries(fields)) now.set(field, value);
    expect((await send(`${TRASH}/${name}`, now)).status).toBe(303);
    expect(await inTrash()).toBeNull();
  });

  test('is emptied of a post that a process with a faster clock deleted', async () => {
    app.clock.advance(-60_000);
    expect(noticeOf(await send(`${TRASH}/empty`, formOf(await read(TRASH), `${TRASH}/empty`)))).toContain(
      'Deleted 1 post for good.',
    );
  });

  test('"Undo" brings back what was deleted, and nothing newer', async () => {
    await restorePost(app.deps, 'p');
    const [, undo = ''] = noticeOf(await send(`${ALL}/p/delete`, new URLSearchParams())).split('\n');
    await changedByAnother();
    expect((await visit(undo, form())).status).toBe(303);
    expect(await stored()).toBeNull();
  });
});
