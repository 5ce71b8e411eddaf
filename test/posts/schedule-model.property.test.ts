import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { createPost, deletePost, editPost } from '../../src/posts/service.ts';
import { emptyTrash, restorePost } from '../../src/posts/trash.ts';
import { rounds } from '../support/rounds.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';

// In spite of all that people do, the API returns no post before its time, and none that is in the trash.

const POSTS = 4;
const MINUTE_MS = 60_000;

const step = fc.record({
  post: fc.nat(POSTS - 1),
  act: fc.constantFrom('schedule', 'publish', 'unpublish', 'delete', 'restore', 'edit', 'empty', 'wait'),
  minutes: fc.integer({ min: 1, max: 10 }),
});

interface ModelPost {
  status: 'draft' | 'published';
  dueAt: number | null;
  place: 'list' | 'trash' | 'gone';
}

test('scheduled and deleted posts against a model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const app = await appWithOrganization();
      const key = await app.addKey('org_a');
      const runningSince = app.clock.now();
      const ids: string[] = [];
      for (let number = 0; number < POSTS; number++) {
        const text = { title: `Post ${number}`, markdown: 'Text', contentType: 'changelog' } as const;
        ids.push((await createPost(app.deps, 'org_a', text)).id);
      }
      const model = new Map<string, ModelPost>(
        ids.map((id) => [id, { status: 'draft', dueAt: null, place: 'list' }]),
      );
      const apiIds = async (query: string): Promise<string[]> => {
        const response = await app.request(`/v1/org_a/posts?limit=100${query}`, bearer(key));
        return (await response.json()).posts.map(({ id }: { id: string }) => id).sort();
      };
      const idsWhere = (isWanted: (post: ModelPost) => boolean) =>
        ids.filter((id) => isWanted(model.get(id) as ModelPost)).sort();

      for (const { post, act, minutes } of steps) {
        const id = ids[post] ?? '';
        const expected = model.get(id) as ModelPost;
        const now = app.clock.now().getTime();
        const isListed = expected.place === 'list';
        if (act === 'wait') app.clock.advance(minutes * MINUTE_MS);
        else if (act === 'empty') {
          await emptyTrash(app.deps, 'org_a');
          for (const each of model.values()) if (each.place === 'trash') each.place = 'gone';
        } else if (act === 'restore' && expected.place === 'trash') {
          await restorePost(app.deps, id);
          expected.place = 'list';
        } else if (act === 'delete' && isListed) {
          await deletePost(app.deps, id);
          Object.assign(expected, { place: 'trash', dueAt: null });
        } else if (act === 'edit' && isListed) await editPost(app.deps, id, { title: `At ${now}` });
        else if (act === 'publish' && isListed) {
          await editPost(app.deps, id, { status: 'published' });
          Object.assign(expected, { status: 'published', dueAt: null });
        } else if (act === 'unpublish' && isListed) {
          await editPost(app.deps, id, { status: 'draft' });
          Object.assign(expected, { status: 'draft', dueAt: null });
        } else if (act === 'schedule' && isListed && expected.status === 'draft') {
          expected.dueAt = now + minutes * MINUTE_MS;
          const publishAt = new Date(expected.dueAt).toISOString();
          await schedulePost(app.deps, id, { publishAt, timeZone: 'UTC' });
        }
        await publishDuePosts(app.deps, { runningSince });
        for (const each of model.values()) {
          if (each.dueAt !== null && each.dueAt <= app.clock.now().getTime()) {
            Object.assign(each, { status: 'published', dueAt: null });
          }
        }
        expect(await apiIds('')).toEqual(
          idsWhere(({ place, status }) => place === 'list' && status === 'published'),
        );
        expect(await apiIds('&status=draft&status=published')).toEqual(
          idsWhere(({ place }) => place === 'list'),
        );
        const one = await app.request(`/v1/org_a/posts/${id}`, bearer(key));
        const isPublished = expected.place === 'list' && expected.status === 'published';
        expect((await one.json()).post?.id).toBe(isPublished ? id : undefined);
      }
      await app.db.close();
    }),
    { numRuns: rounds(10, 400) },
  );
}, 300_000);
