import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { dismissSuggestion, takeSuggestion } from '../../src/drafting/suggestions.ts';
import { changeTrigger, createTrigger } from '../../src/drafting/triggers/service.ts';
import { AppError } from '../../src/lib/app-error.ts';
import type { Post } from '../../src/posts/model.ts';
import { deletePost, editPost, setStatus } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { execute, valuesOf } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { rounds } from '../support/rounds.ts';

// A run leaves drafts as they are whose source has not changed. It gives what a run gives that writes all of them.

const anyPost = fc.nat(9);
const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      tag: fc.nat(5),
      day: fc.nat(1),
      notes: fc.constantFrom(null, 'One.', 'Two.'),
      isPrerelease: fc.boolean(),
      action: fc.constantFrom('published', 'edited'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('push' as const), day: fc.nat(2) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('run' as const) }) },
  fc.record({
    kind: fc.constantFrom('publish' as const, 'unpublish', 'delete', 'take', 'dismiss'),
    post: anyPost,
  }),
  fc.record({
    kind: fc.constant('edit' as const),
    post: anyPost,
    markdown: fc.constantFrom('Mine.', 'One.', 'Two.'),
  }),
  fc.record({ kind: fc.constant('template' as const), bodyTemplate: fc.constantFrom(null, 'New.') }),
);
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;

async function createWorld() {
  const { app, connected } = await appWithGithub();
  const { integrationId } = connected;
  const create = (given: object) =>
    createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog', ...given });
  const { id } = await create({});
  await create({ contentType: 'linkedin_post', publish: true, filters: { prereleases: false } });
  await create({ event: 'push' });
  return { app, connected, triggerId: id };
}
type World = Awaited<ReturnType<typeof createWorld>>;

async function apply(world: World, each: Command, number: number): Promise<void> {
  const { app, connected, triggerId } = world;
  const deliver = async (event: string, day: number, changes: Record<string, unknown>) => {
    const now = new Date(Date.UTC(2026, 0, 1 + day));
    const payload = changed(
      samplePayload('github', event, { repository: 'acme/rocket', now }) ?? {},
      changes,
    );
    const delivery = `delivery-${number}`;
    const { status } = await app.request(...githubRequest(connected, payload, { event, delivery }));
    expect(status).toBe(200);
  };
  app.clock.advance(1_000);
  if (each.kind === 'release') {
    const { tag, day, notes, isPrerelease, action } = each;
    return deliver('release', day, {
      action,
      'release.tag_name': `v${tag}`,
      'release.name': `Release ${tag}`,
      'release.body': notes ?? '',
      'release.prerelease': isPrerelease,
    });
  }
  if (each.kind === 'push') {
    const sha = Bun.SHA1.hash(String(number), 'hex');
    const commit = { id: sha, message: `Push ${number}` };
    return deliver('push', each.day, { after: sha, 'commits.0': commit, head_commit: commit });
  }
  if (each.kind === 'template')
    return void (await changeTrigger(app.deps, triggerId, { bodyTemplate: each.bodyTemplate }));
  if (each.kind === 'run') return void (await runAll(app));
  const posts = await listPosts(world);
  const post = posts[each.post % posts.length];
  if (post === undefined) return;
  const { id } = post;
  const owned = { ...post, organizationId: 'org_a', isDateSet: true };
  await (each.kind === 'delete'
    ? deletePost(app.deps, id)
    : each.kind === 'edit'
      ? editPost(app.deps, id, { markdown: each.markdown })
      : each.kind === 'take'
        ? takeSuggestion(app.deps, id)
        : each.kind === 'dismiss'
          ? dismissSuggestion(app.deps, id)
          : app.db.write((tx) =>
              setStatus(tx, app.deps, owned, each.kind === 'publish' ? 'published' : 'draft'),
            )
  ).catch((error) => {
    // There is no suggestion, or the post is published.
    if (!(error instanceof AppError)) throw error;
  });
}

/** Newest first. Posts of one time have the order in which runs happened to write them, so this compares their texts. */
async function listPosts({ app }: World) {
  const keyOf = ({ createdAt, contentType, title }: Post) => [createdAt, contentType, title].join(' ');
  return (await postsOf(app)).sort((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1));
}

/** The posts in their order, and what the dashboard shows beside them. */
async function stateOf(world: World) {
  const { app } = world;
  const posts = (await listPosts(world)).map(({ id: _, sourceMetadata, updatedAt: __, ...post }) => post);
  const drafts =
    'SELECT scope, subject, event_keys, until, suggestion, written_hash FROM drafts ORDER BY 1, 2, 6';
  const results =
    'SELECT event_key, outcome, post_id IS NULL FROM delivery_results ORDER BY delivery_id, 1, 2, 3';
  return { posts, drafts: await valuesOf(app.db, drafts), results: await valuesOf(app.db, results) };
}

/** A person writes what the release says when it comes again, on another day. */
const ownWordsOfAnotherDay: Command[] = [
  { kind: 'release', tag: 1, day: 0, notes: null, isPrerelease: true, action: 'published' },
  { kind: 'run' },
  { kind: 'edit', post: 0, markdown: 'One.' },
  { kind: 'release', tag: 1, day: 1, notes: 'One.', isPrerelease: false, action: 'published' },
  { kind: 'run' },
  { kind: 'push', day: 0 },
];

test('a run that skips unchanged drafts gives what a run gives that writes all', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40, size: 'max' }), async (commands) => {
      const [skipping, whole] = [await createWorld(), await createWorld()];
      for (const [number, each] of [...commands, { kind: 'run' as const }].entries()) {
        if (each.kind === 'run') await execute(whole.app.db, 'UPDATE drafts SET source = NULL');
        for (const world of [skipping, whole]) await apply(world, each, number);
        if (each.kind === 'run') expect(await stateOf(skipping)).toEqual(await stateOf(whole));
      }
      for (const { app } of [skipping, whole]) await app.db.close();
    }),
    { numRuns: rounds(5, 400), examples: [[ownWordsOfAnotherDay]] },
  );
}, 3_600_000);
