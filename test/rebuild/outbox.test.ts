import { expect, test } from 'bun:test';
import { datePost, deletePost, editPost } from '../../src/posts/service.ts';
import { restorePost } from '../../src/posts/trash.ts';
import { execute, valuesOf } from '../support/database.ts';
import { appWithOrganization, examplePost, type TestApp } from '../support/test-app.ts';

// SQL triggers on posts write the outbox, so every way of changing a post is covered.

async function world() {
  const app = await appWithOrganization({ organizations: ['org_acme', 'org_other'] });
  for (const [id, owner, isEnabled] of [
    ['hook_1', 'org_acme', 1],
    ['hook_off', 'org_acme', 0],
    ['hook_other', 'org_other', 1],
  ]) {
    await execute(
      app.db,
      `INSERT INTO rebuild_hooks (id, organization_id, name, kind, url, host, is_enabled, created_at)
       VALUES ('${id}', '${owner}', 'Site', 'signed', 'sealed', 'acme.test', ${isEnabled}, '2026-01-01T00:00:00.000Z')`,
    );
  }
  const post = { ...examplePost(1), status: 'draft' as const, contentType: 'changelog' as const };
  await app.addPosts('org_acme', post);
  return { app, id: post.id, title: post.title };
}

const messages = ({ db }: TestApp) =>
  valuesOf(db, 'SELECT hook_id, number, type, title, state, due_at FROM hook_messages ORDER BY number');

test('each change of a public post is queued for each enabled hook of its organization, in order', async () => {
  const { app, id, title } = await world();
  await editPost(app.deps, id, { markdown: 'still a draft' });
  expect(await messages(app)).toEqual([]);
  await editPost(app.deps, id, { status: 'published' });
  await editPost(app.deps, id, { title: 'Better' });
  await datePost(app.deps, id, new Date('2025-02-03'));
  await editPost(app.deps, id, { status: 'draft', title: 'Secret plan' });
  await editPost(app.deps, id, { status: 'published' });
  await deletePost(app.deps, id);
  await restorePost(app.deps, id);
  expect(await messages(app)).toEqual([
    ['hook_1', 1, 'post.published', title, 'queued', 0],
    ['hook_1', 2, 'post.changed', 'Better', 'queued', 0],
    ['hook_1', 3, 'post.changed', 'Better', 'queued', 0],
    // Readers never saw the new title.
    ['hook_1', 4, 'post.unpublished', 'Better', 'queued', 0],
    ['hook_1', 5, 'post.published', 'Secret plan', 'queued', 0],
    ['hook_1', 6, 'post.deleted', 'Secret plan', 'queued', 0],
    ['hook_1', 7, 'post.published', 'Secret plan', 'queued', 0],
  ]);
});

test('a change of type takes a post from the public', async () => {
  const { app, id } = await world();
  await editPost(app.deps, id, { status: 'published', contentType: 'linkedin_post' });
  expect(await messages(app)).toEqual([]);
  await editPost(app.deps, id, { contentType: 'changelog' });
  await editPost(app.deps, id, { contentType: 'linkedin_post' });
  expect((await messages(app)).map(([, , type]) => type)).toEqual(['post.published', 'post.unpublished']);
});

test('writing a public post again without a change queues nothing', async () => {
  const { app } = await world();
  const post = { ...examplePost(2), status: 'published' as const, contentType: 'changelog' as const };
  await app.addPosts('org_acme', post);
  await app.addPosts('org_acme', { ...post, updatedAt: '2026-05-05T00:00:00.000Z' });
  expect((await messages(app)).map(([, , type]) => type)).toEqual(['post.published']);
});
