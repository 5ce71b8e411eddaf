import { afterAll, describe, expect, test } from 'bun:test';
import { pages } from '../../src/dashboard/routes.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { signedIn } from '../support/dashboard.ts';
import { createEveryForm, formPaths } from '../support/every-form.ts';
import type { Rows } from '../support/rows.ts';

// What a writer reaches with any form of the dashboard: drafts, and requests to approve them. Nothing that readers see, or that
// others decide.

/** A writer may change these. Everything else stays as it was. */
const OWN = [
  ...['posts', 'post_versions', 'post_counts', 'post_suggestions', 'post_approvals', 'deleted_posts'],
  ...['drafts', 'wordings', 'media', 'files', 'form_marks', 'audit_events', 'sessions', 'users'],
  ...['passkeys', 'recovery_codes', 'identities', 'hook_messages'],
];
const isOwn = (table: string) => OWN.includes(table) || /^post_(search|numbers)/.test(table);

/** All that readers see and others decided, besides the tables that are not a writer's. */
function reached(rows: Rows): Rows {
  const others = Object.entries(rows).filter(([table]) => !isOwn(table));
  const isPublic = (row: Rows[string][number]) => row.status === 'published';
  const isDecided = ({ state }: Rows[string][number]) => state === 'approved' || state === 'declined';
  return {
    ...Object.fromEntries(others),
    posts: (rows.posts ?? []).filter(isPublic),
    deleted_posts: (rows.deleted_posts ?? []).filter(isPublic),
    post_approvals: (rows.post_approvals ?? []).filter(isDecided),
    hook_messages: (rows.hook_messages ?? []).map(({ id, state }) => ({ id, state })),
    sessions: [],
  };
}

const world = await createEveryForm();
const owner = await world.addOwner();
const writer = await signedIn(world.app, { organizationId: 'org_a', role: 'writer' });
afterAll(() => world[Symbol.asyncDispose]());

/** Without those of their own account, which end their session. */
const forms = pages.filter(
  ({ method, path }) =>
    method === 'POST' && formPaths.includes(path) && !/^\/dashboard\/~\/(?!organizations)/.test(path),
);
const posts = { 'a draft': 'edited', 'a published post': 'public', 'a scheduled post': 'selected' };

describe.each([true, false])('a writer, where publishing needs a second person: %p', (needsApproval) => {
  test.each(Object.entries(posts))('reaches no reader with any form about %s', async (_, postId) => {
    await changeOrganization(world.app.deps, 'org_a', { needsApproval });
    const { postId: usual = '' } = world.has;
    const before = reached(await world.state(false));
    expect(before.posts?.length).toBeGreaterThan(0);
    const answers: Record<string, number> = {};
    for (const page of forms) {
      // The other rounds need it.
      if (postId === usual && page.path.endsWith('/posts/:postId/delete')) continue;
      world.has.postId = postId;
      const { path, body } = world.filled(page);
      world.has.postId = usual;
      const { status } = await writer(path, { method: 'POST', body });
      answers[page.path] = status;
    }
    expect(reached(await world.state(false))).toEqual(before);
    // They were tried, and not by a stranger.
    expect(Object.values(answers).filter((status) => status === 403).length).toBeGreaterThan(50);
    expect(answers['/dashboard/:organizationId/posts/~/new']).toBe(303);
  });
});

test('an owner reaches them with the same forms', async () => {
  const page = forms.find(({ path }) => path.endsWith('/settings/keys'));
  if (page === undefined) throw new Error('there is no form for a key');
  const before = reached(await world.state(false));
  const { path, body } = world.filled(page);
  await owner(path, { method: 'POST', body });
  expect(reached(await world.state(false))).not.toEqual(before);
});
