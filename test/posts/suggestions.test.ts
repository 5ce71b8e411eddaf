import { beforeEach, describe, expect, test } from 'bun:test';
import { listAuditEvents } from '../../src/people/audit.ts';
import { countPosts, countSuggestions, type ListFilter, listPosts } from '../../src/posts/list-store.ts';
import { deletePost, editPost, removePost } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import {
  acceptChange,
  countOpenChanges,
  dismissChange,
  listOpenChanges,
  listSuggestedChanges,
  MAX_SUGGESTIONS,
  MAX_SUGGESTIONS_OF_POST,
  suggestChange,
} from '../../src/posts/suggestions.ts';
import { emptyTrash, restorePost } from '../../src/posts/trash.ts';
import { listVersions } from '../../src/posts/versions.ts';
import { refusalOf } from '../support/refusal.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  await app.addPosts('org_a', { id: 'one', title: 'One', markdown: 'Old text' });
  await app.addPosts('org_a', { id: 'draft', title: 'Draft', markdown: 'Old text', status: 'draft' });
  await app.addPosts('org_b', { id: 'theirs' });
});

const bot = { keyId: 'key_bot', name: 'Release bot' };
const suggest = (change: object, holder = bot) => suggestChange(app.deps, 'org_a', holder, change);
const outcomeOf = async (change: object, holder = bot) => (await suggest(change, holder)).outcome;
const stored = (id = 'one') => app.db.read((tx) => listSuggestedChanges(tx, id));
const post = (id = 'one') => app.db.read((tx) => readPost(tx, id));

async function firstOf(id = 'one'): Promise<string> {
  const [first] = await stored(id);
  return first?.id ?? '';
}

describe('a proposed change', () => {
  test('is stored beside the post, which stays as it is', async () => {
    const before = await post();
    expect(await outcomeOf({ id: 'one', markdown: 'New text\r\nof two lines', note: ' Shorter ' })).toBe(
      'received',
    );
    expect(await stored()).toEqual([
      {
        id: expect.stringMatching(/^sug_/),
        postId: 'one',
        organizationId: 'org_a',
        keyId: 'key_bot',
        keyName: 'Release bot',
        title: null,
        markdown: 'New text\nof two lines',
        note: 'Shorter',
        rewrites: null,
        createdAt: app.clock.now().toISOString(),
      },
    ]);
    expect(await post()).toEqual(before);
  });

  test('of a draft, and of the title alone, works too', async () => {
    expect(await outcomeOf({ id: 'draft', title: 'Better' })).toBe('received');
    expect(await stored('draft')).toMatchObject([{ title: 'Better', markdown: null }]);
  });

  test('keeps the part that it leaves out exactly as it is', async () => {
    await app.addPosts('org_a', { id: 'odd', title: ' Odd ', markdown: 'One\r\n![](/media/x.png)' });
    await suggest({ id: 'odd', title: 'Even' });
    await acceptChange(app.deps, await firstOf('odd'));
    expect(await post('odd')).toMatchObject({ title: 'Even', markdown: 'One\r\n![](/media/x.png)' });
    await app.addPosts('org_a', { id: 'odd', title: ' Odd ', markdown: 'One\r\n![](/media/x.png)' });
    await suggest({ id: 'odd', markdown: 'New' });
    await acceptChange(app.deps, await firstOf('odd'));
    expect(await post('odd')).toMatchObject({ title: ' Odd ', markdown: 'New' });
  });

  test('with the same text from the same key is one suggestion; from another key it is another', async () => {
    expect(await outcomeOf({ id: 'one', markdown: 'New' })).toBe('received');
    expect(await outcomeOf({ id: 'one', markdown: 'New', note: 'Again' })).toBe('repeated');
    expect(await outcomeOf({ id: 'one', markdown: 'New' }, { ...bot, keyId: 'key_other' })).toBe('received');
    expect(await stored()).toHaveLength(2);
  });

  test('without a change is not stored', async () => {
    expect(await outcomeOf({ id: 'one', title: ' One ', markdown: 'Old text' })).toBe('unchanged');
    expect(await stored()).toEqual([]);
  });

  test.each([
    [{ id: 'none', title: 'x' }, 404, 'Post none not found'],
    [{ id: 'theirs', title: 'x' }, 404, 'Post theirs not found'],
    [{ id: 'one' }, 400, 'Nothing to change. Send a title, a text in markdown, or both'],
    [{ id: 'one', title: '  ' }, 400, 'title must not be empty'],
    [{ id: 'one', title: 'x'.repeat(501) }, 400, 'title must have at most 500 characters, not 501'],
    [
      { id: 'one', markdown: 'x'.repeat(200_001) },
      400,
      'markdown must have at most 200000 characters, not 200001',
    ],
    [{ id: 'one', markdown: 'a\0b' }, 400, 'markdown must not contain the character U+0000'],
    [{ id: 'one', title: 'x', note: 'a\0b' }, 400, 'note must not contain the character U+0000'],
    [
      { id: 'one', title: 'x', note: 'n'.repeat(1001) },
      400,
      'note must have at most 1000 characters, not 1001',
    ],
    [{ id: 'one', title: 'x', status: 'published' }, 400, 'status is not a known field'],
    [{ title: 'x' }, 400, 'id is missing'],
  ])('%# is refused and leaves no row', async (change, status, message) => {
    expect(await refusalOf(suggest(change))).toEqual({ status, message });
    expect(await app.db.read((tx) => listOpenChanges(tx, { organizationId: 'org_a' }))).toEqual([]);
  });

  test('is refused above the limit of its post, until a person decides', async () => {
    for (let n = 0; n < MAX_SUGGESTIONS_OF_POST; n++) await suggest({ id: 'one', title: `Title ${n}` });
    const refusal = await refusalOf(suggest({ id: 'one', title: 'One more' }));
    expect(refusal).toEqual({
      status: 409,
      message: 'This post has 10 open suggestions. A person must accept or dismiss some of them first',
    });
    expect(await outcomeOf({ id: 'one', title: 'Title 0' })).toBe('repeated');
    await dismissChange(app.deps, await firstOf());
    expect(await outcomeOf({ id: 'one', title: 'One more' })).toBe('received');
  });

  test('is refused above the limit of its organization', async () => {
    const posts = Array.from({ length: MAX_SUGGESTIONS / MAX_SUGGESTIONS_OF_POST }, (_, n) => `p${n}`);
    await app.addPosts('org_a', ...posts.map((id) => ({ id })));
    for (const id of posts) {
      for (let n = 0; n < MAX_SUGGESTIONS_OF_POST; n++) await suggest({ id, title: `Title ${n}` });
    }
    expect((await refusalOf(suggest({ id: 'one', title: 'x' }))).message).toStartWith(
      'This organization has 200 open suggestions.',
    );
    expect(await suggestChange(app.deps, 'org_b', bot, { id: 'theirs', title: 'x' })).toMatchObject({
      outcome: 'received',
    });
  });
});

describe('accepting', () => {
  test('writes the text as a version, keeps status and date, and leaves other suggestions', async () => {
    await suggest({ id: 'one', markdown: '- New\n- text', note: 'Shorter' });
    await suggest({ id: 'one', title: 'Other' });
    const before = await post();
    app.clock.advance(60_000);
    const { previousId } = await acceptChange(app.deps, await firstOf(), {
      seen: before?.updatedAt ?? '',
    });
    expect(await post()).toEqual({
      ...(before as NonNullable<typeof before>),
      markdown: '- New\n- text',
      content: '- New\n- text',
      updatedAt: app.clock.now().toISOString(),
    });
    expect(await stored()).toMatchObject([{ title: 'Other' }]);
    const versions = await app.db.read((tx) => listVersions(tx, 'one'));
    expect(versions.map(({ origin }) => origin)).toEqual(['suggestion', 'import']);
    expect(previousId).toBe(versions[1]?.id ?? '');
    const [event] = await app.db.read((tx) => listAuditEvents(tx, 'org_a', {}, 1));
    expect(event?.summary).toBe('accepted a suggestion of the API key “Release bot” for the post “One”');
  });

  test('is refused when the post changed since the reviewer saw it', async () => {
    await suggest({ id: 'one', markdown: 'New' });
    const seen = (await post())?.updatedAt ?? '';
    app.clock.advance(1000);
    await editPost(app.deps, 'one', { markdown: 'Edited' });
    expect(await refusalOf(acceptChange(app.deps, await firstOf(), { seen }))).toEqual({
      status: 409,
      message: 'The post was changed in the meantime',
    });
    expect((await post())?.markdown).toBe('Edited');
    expect(await stored()).toHaveLength(1);
  });

  test('a text that the post has meanwhile only removes the suggestion', async () => {
    await suggest({ id: 'one', markdown: 'New' });
    app.clock.advance(1000);
    await editPost(app.deps, 'one', { markdown: 'New' });
    const before = await post();
    expect(await acceptChange(app.deps, await firstOf())).toMatchObject({ previousId: null });
    expect(await post()).toEqual(before);
    expect(await stored()).toEqual([]);
  });

  test('a suggestion of one part keeps later edits of the other', async () => {
    await suggest({ id: 'one', title: 'Better', markdown: 'Old text' });
    await suggest({ id: 'draft', markdown: 'New' });
    await editPost(app.deps, 'one', { markdown: 'Edited' });
    await editPost(app.deps, 'draft', { title: 'Edited' });
    await acceptChange(app.deps, await firstOf());
    await acceptChange(app.deps, await firstOf('draft'));
    expect(await post()).toMatchObject({ title: 'Better', markdown: 'Edited' });
    expect(await post('draft')).toMatchObject({ title: 'Edited', markdown: 'New' });
  });

  test('happens once', async () => {
    await suggest({ id: 'one', markdown: 'New' });
    const id = await firstOf();
    await acceptChange(app.deps, id);
    for (const again of [acceptChange, dismissChange]) {
      expect((await refusalOf(again(app.deps, id))).status).toBe(404);
    }
  });
});

test('dismissing deletes the suggestion and changes nothing else', async () => {
  await suggest({ id: 'one', markdown: 'New' });
  const before = await post();
  await dismissChange(app.deps, await firstOf());
  expect(await stored()).toEqual([]);
  expect(await post()).toEqual(before);
});

test('suggestions stay with a post in the trash, and are deleted with it for good', async () => {
  await suggest({ id: 'one', markdown: 'New' });
  await suggest({ id: 'draft', markdown: 'New' });
  await deletePost(app.deps, 'one');
  expect(await app.db.read((tx) => countOpenChanges(tx, 'org_a'))).toBe(1);
  expect((await refusalOf(suggest({ id: 'one', markdown: 'Newer' }))).status).toBe(404);
  expect((await refusalOf(acceptChange(app.deps, await firstOf()))).status).toBe(404);
  await restorePost(app.deps, 'one');
  expect(await app.db.read((tx) => countOpenChanges(tx, 'org_a'))).toBe(2);
  await deletePost(app.deps, 'one');
  await emptyTrash(app.deps, 'org_a');
  await app.db.write((tx) => removePost(tx, app.deps, 'draft'));
  expect([await stored(), await stored('draft')]).toEqual([[], []]);
});

test('lists and counts show posts with suggestions, of their organization alone', async () => {
  await suggest({ id: 'one', markdown: 'New' });
  await suggest({ id: 'one', markdown: 'Newer' });
  app.clock.advance(1000);
  await suggest({ id: 'draft', title: 'New' });
  await suggestChange(app.deps, 'org_b', bot, { id: 'theirs', title: 'New' });
  const all = { status: undefined, contentType: undefined, hasSuggestion: true, q: '', page: 1 };
  const list = async (filter: Partial<ListFilter> = {}) => {
    const { posts } = await app.db.read((tx) => listPosts(tx, 'org_a', { ...all, ...filter }, 25));
    return posts.map(({ id, suggestedChanges }) => [id, suggestedChanges]);
  };
  expect(await list()).toEqual([
    ['draft', 1],
    ['one', 2],
  ]);
  expect(await list({ status: 'draft' })).toEqual([['draft', 1]]);
  expect(await list({ q: 'One' })).toEqual([['one', 2]]);
  expect(await app.db.read((tx) => countSuggestions(tx, 'org_a'))).toBe(2);
  expect((await app.db.read((tx) => countPosts(tx, 'org_a'))).suggestions).toBe(2);
  expect(await app.db.read((tx) => countOpenChanges(tx, 'org_a'))).toBe(3);
  const open = await app.db.read((tx) => listOpenChanges(tx, { organizationId: 'org_a' }));
  expect(open.map(({ postId }) => postId)).toEqual(['draft', 'one', 'one']);
  expect(open[0]).not.toHaveProperty('markdown');
});
