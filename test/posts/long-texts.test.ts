import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { AppError } from '../../src/lib/app-error.ts';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { renderMarkdown } from '../../src/lib/markdown/render.ts';
import { texts } from '../../src/lib/markdown/texts.ts';
import { exportFiles, exportText, readExport } from '../../src/posts/export.ts';
import { importFile, previewImport } from '../../src/posts/import/service.ts';
import { changePosts, createPost, editPost, restoreVersion } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { acceptChange, listSuggestedChanges, suggestChange } from '../../src/posts/suggestions.ts';
import { listVersions } from '../../src/posts/versions.ts';
import { form, signedIn } from '../support/dashboard.ts';
import { testSqlite } from '../support/database.ts';
import { appWithPage } from '../support/public-page.ts';
import { appWithOrganization } from '../support/test-app.ts';

// A long text is read in a thread: here nobody else would be served meanwhile.

/** Short enough to read at once. */
const SHORT = 4_000;
const LONG = 20_000;
const long = (words: string) => `${words}\n\n${'- **word**\n'.repeat(LONG)}`.slice(0, LONG);

/** The lengths of the texts that were read in this thread. */
let read: number[];
let spies: Disposable[];
beforeEach(() => {
  read = [];
  const { html, render } = Bun.markdown;
  spies = [
    spyOn(Bun.markdown, 'html').mockImplementation((...given) => {
      read.push(String(given[0]).length);
      return html(...given);
    }),
    spyOn(Bun.markdown, 'render').mockImplementation((...given) => {
      read.push(String(given[0]).length);
      return render(...given);
    }),
  ];
});
afterEach(() => {
  for (const spy of spies) spy[Symbol.dispose]();
});

test.each([`# T\n\n${'- [x] a <b>c</b>\n'.repeat(500)}`, long('a'), 'short', ''])(
  'the thread reads a text as this one does',
  async (markdown) => {
    const article = { level: 2, hasAnchors: true, sizes: { img_1: { width: 1, height: 2 } } } as const;
    const options = { mediaBase: '/base', article };
    expect(await texts.html(markdown, options)).toBe(renderMarkdown(markdown, options));
    expect(await texts.html(markdown)).toBe(renderMarkdown(markdown));
    expect(await texts.plain(markdown)).toBe(toPlainText(markdown));
    expect(await texts.plain(markdown, '•')).toBe(toPlainText(markdown, '•'));
  },
);

test('whatever is done with a long post', async () => {
  const { app, open, change: set } = await appWithPage();
  await set({ isFeedOn: true });

  const deps = { ...app.deps, organizationId: 'org_acme' };
  /** The beginning of what is stored. */
  const contentIn = async (id: string) =>
    (await app.db.read((tx) => readPost(tx, id)))?.content.slice(0, 14).replaceAll('\n', ' ');
  const contentOf: Record<string, string | undefined> = {};
  const given = { title: 'A', markdown: long('one'), contentType: 'changelog' as const };

  const { id } = await createPost(deps, 'org_acme', given);
  contentOf.created = await contentIn(id);
  await editPost(deps, id, { markdown: long('two') });
  contentOf.edited = await contentIn(id);
  await editPost(deps, id, { contentType: 'linkedin_post', markdown: long('three') });
  contentOf.retyped = await contentIn(id);
  const [, , first] = await app.db.read((tx) => listVersions(tx, id));
  await restoreVersion(deps, id, first?.id ?? '');
  contentOf.restored = await contentIn(id);
  await suggestChange(deps, 'org_acme', { keyId: 'key', name: 'bot' }, { id, markdown: long('four') });
  const [change] = await app.db.read((tx) => listSuggestedChanges(tx, id));
  await acceptChange(deps, change?.id ?? '');
  contentOf.accepted = await contentIn(id);
  await changePosts(deps, 'org_acme', [id], 'publish');

  const file = {
    name: 'p.json',
    text: JSON.stringify([{ id: 'imported', title: 'B', markdown: long('five') }]),
  };
  const options = { organizationId: 'org_acme', status: 'published', contentType: 'changelog' } as const;
  expect((await previewImport(deps, file, options)).problems).toEqual([]);
  await importFile(deps, file, options);
  contentOf.imported = await contentIn('imported');
  const posts = () => readExport(app.db, 'jsonl', { organizationId: 'org_acme' });
  await Array.fromAsync(exportText(posts(), 'jsonl'));
  const files = await Array.fromAsync(exportFiles(posts()));
  expect(files.map(({ text }) => text.includes('\ncontent: '))).toEqual([false, false]);

  const visit = await signedIn(app, { organizationId: 'org_acme' });
  const ALL = '/dashboard/org_acme/posts';
  for (const contentType of ['changelog', 'linkedin_post']) {
    const fields = { title: 'C', contentType, markdown: long('six') };
    expect((await visit(`${ALL}/~/preview`, form(fields))).status).toBe(200);
    expect((await visit(`${ALL}/~/new`, form(fields))).status).toBe(303);
    expect((await visit(`${ALL}/~/autosave`, form({ ...fields, mark: contentType }))).status).toBe(200);
  }
  expect((await visit(`${ALL}/${id}`)).status).toBe(200);
  for (const path of ['', `/${id}`, '/feed.atom', '.md', `/${id}.md`])
    expect((await open(path)).status).toBe(200);

  expect(contentOf).toEqual({
    created: 'one  - word - ',
    edited: 'two  - word - ',
    retyped: 'three  • word ',
    restored: 'one  - word - ',
    accepted: 'four  - word -',
    imported: 'five  - word -',
  });
  expect(read).not.toBeEmpty();
  expect(Math.max(...read)).toBeLessThanOrEqual(SHORT);
});

// PostgreSQL refuses a write that begins within another.
testSqlite('an edit that somebody else gets ahead of has the content of its own text', async () => {
  const app = await appWithOrganization();
  await app.addPosts('org_a', { id: 'p', markdown: 'zero' });
  let calls = 0;
  const other = () => editPost(app.deps, 'p', { markdown: 'other' });
  let ahead: Promise<unknown> | undefined;
  const post = await editPost(app.deps, 'p', {
    merge: ({ markdown }) => {
      calls++;
      ahead ??= other();
      return { markdown: long(markdown) };
    },
  });
  await ahead;
  expect(calls).toBe(3);
  expect(post.markdown).toBe(long('other'));
  expect(post.content).toBe(await texts.plain(long('other')));
});

test('a long text that cannot be read changes nothing', async () => {
  const app = await appWithOrganization();
  await app.addPosts('org_a', { id: 'p', markdown: 'zero' });
  const before = await app.db.read((tx) => readPost(tx, 'p'));
  using _ = spyOn(texts, 'plain').mockRejectedValue(
    new AppError(503, 'The text took more than 10 s to read'),
  );
  const edited = editPost(app.deps, 'p', { title: 'New', markdown: long('one') });
  expect(edited).rejects.toMatchObject({ status: 503 });
  await edited.catch(() => undefined);
  const given = { title: 'A', markdown: long('one'), contentType: 'changelog' } as const;
  expect(createPost(app.deps, 'org_a', given)).rejects.toMatchObject({ status: 503 });
  expect(await app.db.read((tx) => readPost(tx, 'p'))).toEqual(before);
  expect(await app.db.read((tx) => listVersions(tx, 'p'))).toEqual([]);
});
