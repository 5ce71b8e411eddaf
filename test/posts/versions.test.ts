import { beforeEach, describe, expect, test } from 'bun:test';
import { takeSuggestion } from '../../src/drafting/suggestions.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { AppError } from '../../src/lib/app-error.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { createPost, deletePost, editPost, removePost, restoreVersion } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import {
  findVersion,
  listVersions,
  MAX_VERSION_BYTES,
  MAX_VERSIONS,
  type PostVersion,
} from '../../src/posts/versions.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { refusalOf } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;

const as = (id: string) => ({
  ...app.deps,
  actor: { type: 'user' as const, id, name: `${id}@acme.example`, address: null },
});

/** The versions of a post with their texts, newest first. */
async function versionsOf(id: string): Promise<PostVersion[]> {
  return app.db.read(async (tx) => {
    const heads = await listVersions(tx, id);
    const versions = await Promise.all(heads.map((head) => findVersion(tx, id, head.id)));
    return versions.filter((version) => version !== null);
  });
}

const shortOf = async (id: string) =>
  (await versionsOf(id)).map(({ origin, actorName, markdown }) => [origin, actorName, markdown]);

describe('a version is written', () => {
  beforeEach(async () => {
    app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  });

  test('by every edit of the text, with the text before the first one', async () => {
    await app.addPosts('org_a', {
      id: 'p',
      title: 'T',
      markdown: 'one',
      updatedAt: '2026-01-01T00:00:00.000Z',
    });
    await editPost(as('ann'), 'p', { markdown: 'two' });
    app.clock.advance(1000);
    await editPost(as('bob'), 'p', { title: 'U' });
    expect(await versionsOf('p')).toMatchObject([
      { title: 'U', markdown: 'two', actorId: 'bob', createdAt: '2026-11-20T12:00:01.000Z' },
      { title: 'T', markdown: 'two', actorId: 'ann', createdAt: '2026-11-20T12:00:00.000Z' },
      { title: 'T', markdown: 'one', actorId: null, createdAt: '2026-01-01T00:00:00.000Z' },
    ]);
    expect(await shortOf('p')).toEqual([
      ['edit', 'bob@acme.example', 'two'],
      ['edit', 'ann@acme.example', 'two'],
      ['import', null, 'one'],
    ]);
  });

  test('not by a change of the status alone, nor by an edit that is refused', async () => {
    await app.addPosts('org_a', { id: 'p', markdown: 'one' });
    await editPost(as('ann'), 'p', { status: 'draft', markdown: 'one' });
    const merge = () => {
      throw new AppError(409, 'Somebody else wrote first');
    };
    await refusalOf(editPost(as('ann'), 'p', { markdown: 'two', merge }));
    await refusalOf(editPost(as('ann'), 'p', { title: ' ' }));
    expect(await versionsOf('p')).toEqual([]);
  });

  test('by a person who creates a post', async () => {
    const given = { title: 'T', markdown: 'one', contentType: 'changelog' as const };
    const { id } = await createPost(as('ann'), 'org_a', given);
    expect(await shortOf(id)).toEqual([['edit', 'ann@acme.example', 'one']]);
  });

  test.each([1, 250])('by an import that replaces posts, also one in pieces: %s posts', async (count) => {
    const file = (word: string) => ({
      name: 'posts.json',
      text: JSON.stringify(
        Array.from({ length: count }, (_, n) => ({
          id: `p${n}`,
          title: 'T',
          markdown: n === 0 ? word : 'same',
        })),
      ),
    });
    const options = { organizationId: 'org_a', status: 'draft', contentType: 'changelog' } as const;
    await importFile(as('ann'), file('one'), options);
    expect(await versionsOf('p0')).toEqual([]);
    app.clock.advance(1000);
    await importFile(as('ann'), file('two'), options);
    expect(await shortOf('p0')).toEqual([
      ['import', 'ann@acme.example', 'two'],
      ['import', null, 'one'],
    ]);
    if (count > 1) expect(await versionsOf('p1')).toEqual([]);
  });

  test('in order, also when the clock was set back', async () => {
    await app.addPosts('org_a', { id: 'p', markdown: 'one' });
    await editPost(as('ann'), 'p', { markdown: 'two' });
    app.clock.advance(-60_000);
    await editPost(as('ann'), 'p', { markdown: 'three' });
    expect((await versionsOf('p')).map(({ markdown }) => markdown)).toEqual(['three', 'two', 'one']);
  });

  test('for a text that was written without a version', async () => {
    await app.addPosts('org_a', { id: 'p', markdown: 'one' });
    await editPost(as('ann'), 'p', { markdown: 'two' });
    await app.addPosts('org_a', { id: 'p', markdown: 'unseen' });
    app.clock.advance(1000);
    await editPost(as('ann'), 'p', { markdown: 'three' });
    const texts = (await versionsOf('p')).map(({ markdown }) => markdown);
    expect(texts).toEqual(['three', 'unseen', 'two', 'one']);
  });
});

test('triggers and suggestions write versions', async () => {
  const github = await appWithGithub();
  app = github.app;
  const { integrationId } = github.connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const deliver = async (changes: Record<string, unknown>) => {
    const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now: app.clock.now() });
    const request = githubRequest(github.connected, changed(sample ?? {}, changes), { event: 'release' });
    await app.request(...request);
    await runAll(app);
  };
  const edited = (body: string, minute: number) =>
    deliver({
      action: 'edited',
      'release.body': body,
      'release.updated_at': `2026-11-20T12:${minute}:00Z`,
    });
  await deliver({ 'release.body': 'one' });
  const id = (await postsOf(app))[0]?.id ?? '';
  app.clock.advance(1000);
  await edited('two', 10);
  app.clock.advance(1000);
  await editPost(as('ann'), id, { markdown: 'three' });
  await edited('four', 20);
  app.clock.advance(1000);
  await takeSuggestion(as('ann'), id);
  expect((await shortOf(id)).map(([origin, , markdown]) => [origin, markdown])).toEqual([
    ['suggestion', 'four'],
    ['edit', 'three'],
    ['trigger', 'two'],
    ['trigger', 'one'],
  ]);
  expect((await versionsOf(id)).map(({ actorType }) => actorType)).toEqual([
    'user',
    'user',
    'trigger',
    'anonymous',
  ]);
});

describe('autosaves', () => {
  beforeEach(async () => {
    app = await appWithOrganization();
    await app.addPosts('org_a', { id: 'p', markdown: 'one', status: 'draft' });
  });

  const autosave = (person: string, markdown: string) =>
    editPost(as(person), 'p', { markdown, isAutosave: true });

  test('of one person within ten minutes share a version', async () => {
    await autosave('ann', 'two');
    app.clock.advance(9 * 60_000);
    await autosave('ann', 'three');
    expect(await versionsOf('p')).toMatchObject([
      { markdown: 'three', createdAt: '2026-11-20T12:00:00.000Z', updatedAt: '2026-11-20T12:09:00.000Z' },
      { markdown: 'one' },
    ]);
    app.clock.advance(60_000);
    await autosave('ann', 'four');
    expect((await versionsOf('p')).map(({ markdown }) => markdown)).toEqual(['four', 'three', 'one']);
  });

  test('of two people do not, and a save by button begins a version', async () => {
    await autosave('ann', 'two');
    await autosave('bob', 'three');
    await editPost(as('bob'), 'p', { markdown: 'four' });
    await autosave('bob', 'five');
    expect(await shortOf('p')).toEqual([
      ['edit', 'bob@acme.example', 'five'],
      ['edit', 'bob@acme.example', 'four'],
      ['edit', 'bob@acme.example', 'three'],
      ['edit', 'ann@acme.example', 'two'],
      ['import', null, 'one'],
    ]);
  });

  test('do not replace a version that the person saved, or published', async () => {
    const texts = async () => (await versionsOf('p')).map(({ markdown }) => markdown);
    await editPost(as('ann'), 'p', { markdown: 'saved' });
    await autosave('ann', 'typed');
    await autosave('ann', 'typed more');
    expect(await texts()).toEqual(['typed more', 'saved', 'one']);
    // The text was saved by itself already.
    await editPost(as('ann'), 'p', { markdown: 'typed more' });
    await autosave('ann', 'typed again');
    expect(await texts()).toEqual(['typed again', 'typed more', 'saved', 'one']);
    await editPost(as('ann'), 'p', { status: 'published' });
    await editPost(as('ann'), 'p', { status: 'draft' });
    await autosave('ann', 'after');
    expect(await texts()).toEqual(['after', 'typed again', 'typed more', 'saved', 'one']);
  });

  test('do not replace a version that was published as scheduled', async () => {
    await autosave('ann', 'public');
    const publishAt = new Date(app.clock.now().getTime() + 60_000).toISOString();
    await schedulePost(as('ann'), 'p', { publishAt, timeZone: 'UTC' });
    app.clock.advance(60_000);
    expect(await publishDuePosts(app.deps, { runningSince: app.clock.now() })).toBe(1);
    await editPost(as('ann'), 'p', { status: 'draft' });
    await autosave('ann', 'after');
    expect((await versionsOf('p')).map(({ markdown }) => markdown)).toEqual(['after', 'public', 'one']);
  });

  test('of a new post share its first version, until the person saves it', async () => {
    const given = { title: 'New', markdown: 'a', contentType: 'changelog' as const };
    const { id } = await createPost(as('ann'), 'org_a', given, { mark: 'mark' });
    const save = (markdown: string, isAutosave: boolean) => editPost(as('ann'), id, { markdown, isAutosave });
    await save('ab', true);
    expect((await versionsOf(id)).map(({ markdown }) => markdown)).toEqual(['ab']);
    await save('ab', false);
    await save('abc', true);
    expect((await versionsOf(id)).map(({ markdown }) => markdown)).toEqual(['abc', 'ab']);
  });

  test('never change a published post', async () => {
    await editPost(as('ann'), 'p', { status: 'published' });
    const before = await allRows(app.db);
    expect(await refusalOf(autosave('ann', 'two'))).toMatchObject({ status: 409 });
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe('the history of a post', () => {
  beforeEach(async () => {
    app = await appWithOrganization();
    await app.addPosts('org_a', { id: 'p', markdown: 'one' }, { id: 'q', markdown: 'one' });
  });

  test('keeps the newest versions', async () => {
    for (let n = 0; n < MAX_VERSIONS + 5; n++) {
      app.clock.advance(1000);
      await editPost(as('ann'), 'p', { markdown: `text ${n}` });
    }
    const versions = await versionsOf('p');
    expect(versions).toHaveLength(MAX_VERSIONS);
    expect(versions.at(0)?.markdown).toBe(`text ${MAX_VERSIONS + 4}`);
    expect(versions.at(-1)?.markdown).toBe('text 5');
  });

  test('has a bound in bytes', async () => {
    const size = 600_000;
    for (let n = 0; n < 16; n++) {
      app.clock.advance(1000);
      await editPost(as('ann'), 'p', { markdown: `${n} ${'発'.repeat(199_990)}` });
    }
    const versions = await versionsOf('p');
    expect(versions.length).toBe(Math.floor(MAX_VERSION_BYTES / size));
    expect(versions[0]?.markdown).toStartWith('15 ');
  });

  test('stays with a post in the trash, and goes when a post is deleted for good', async () => {
    await editPost(as('ann'), 'p', { markdown: 'two' });
    await editPost(as('ann'), 'q', { markdown: 'two' });
    await deletePost(as('ann'), 'p');
    await app.db.write((tx) => removePost(tx, as('ann'), 'q'));
    expect(await versionsOf('p')).toHaveLength(2);
    expect(await versionsOf('q')).toEqual([]);
  });
});

describe('restoring', () => {
  beforeEach(async () => {
    app = await appWithOrganization();
    await app.addPosts(
      'org_a',
      { id: 'p', title: 'T', markdown: '- one', contentType: 'changelog', content: 'own plain text' },
      { id: 'q', markdown: 'other' },
    );
    await editPost(as('ann'), 'p', { title: 'U', markdown: 'two' });
    await editPost(as('ann'), 'q', { markdown: 'another' });
    app.clock.advance(1000);
  });

  test('brings a text back as a new version, and can be undone', async () => {
    const [, first] = await versionsOf('p');
    const { post, previousId } = await restoreVersion(as('bob'), 'p', first?.id ?? '');
    expect(post).toMatchObject({ title: 'T', markdown: '- one', content: '- one', status: 'published' });
    expect(post.updatedAt).toBe('2026-11-20T12:00:01.000Z');
    expect(await shortOf('p')).toEqual([
      ['restore', 'bob@acme.example', '- one'],
      ['edit', 'ann@acme.example', 'two'],
      ['import', null, '- one'],
    ]);
    await restoreVersion(as('bob'), 'p', previousId ?? '');
    expect(await app.db.read((tx) => readPost(tx, 'p'))).toMatchObject({ title: 'U', markdown: 'two' });
  });

  test('changes nothing when the post has the text', async () => {
    const [newest] = await versionsOf('p');
    const before = await allRows(app.db);
    expect(await restoreVersion(as('bob'), 'p', newest?.id ?? '')).toMatchObject({ previousId: null });
    expect(await allRows(app.db)).toEqual(before);
  });

  test('refuses what is not there, and versions of other posts', async () => {
    const [other] = await versionsOf('q');
    const before = await allRows(app.db);
    for (const [post, version] of [
      ['p', 'nothing'],
      ['p', other?.id ?? ''],
      ['nothing', other?.id ?? ''],
    ] as const) {
      expect(await refusalOf(restoreVersion(as('bob'), post, version))).toMatchObject({ status: 404 });
    }
    expect(await allRows(app.db)).toEqual(before);
  });
});
