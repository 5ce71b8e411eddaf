import { expect, test } from 'bun:test';
import { saveDraft } from '../../src/drafting/store.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { countSuggestions } from '../../src/posts/list-store.ts';
import { signedIn } from '../support/dashboard.ts';
import { connectGithub, githubRequest } from '../support/deliveries.ts';
import { appWithOrganization } from '../support/test-app.ts';

async function setUp() {
  const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const navigation = async () => {
    const html = await (await visit('/dashboard/org_a/settings')).text();
    expect(html).toContain('First steps');
    return /<nav aria-label="Dashboard">(.*?)<\/nav>/s.exec(html)?.[1] ?? '';
  };
  return { app, navigation };
}

test('first steps come before the other pages while something is unfinished, and after them from then on', async () => {
  const { app, navigation } = await setUp();
  const isFirst = async () => (await navigation()).includes('First steps');
  expect(await isFirst()).toBe(true);
  const connected = await connectGithub(app, 'org_a');
  await app.addPosts('org_a', { status: 'draft' }, { status: 'published' });
  expect(await isFirst()).toBe(true);
  expect(await navigation()).toContain('1 draft');
  await app.request(...githubRequest(connected, { zen: 'Keep it simple.' }));
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  expect(await isFirst()).toBe(false);
});

test('the navigation counts new versions that wait, of this organization alone', async () => {
  const { app, navigation } = await setUp();
  const newVersion = async (organizationId: string) => {
    const { integrationId } = await connectGithub(app, organizationId);
    const trigger = await createTrigger(app.deps, {
      integrationId,
      event: 'release',
      contentType: 'changelog',
    });
    const [post] = await app.addPosts(organizationId, { id: `post_${organizationId}` });
    const suggestion = { title: 'New', markdown: '', content: '', eventKeys: [], until: '2026-01-01' };
    await app.db.write((tx) =>
      saveDraft(tx, {
        triggerId: trigger.id,
        scope: 'x',
        subject: 'v1',
        postId: post?.id ?? '',
        writtenHash: '',
        eventKeys: [],
        until: '2026-01-01',
        suggestion,
        suggestedAt: '2026-01-01T00:00:00.000Z',
        dismissedHash: null,
        leftOut: [],
        source: null,
      }),
    );
  };
  await newVersion('org_b');
  expect(await navigation()).not.toContain('1 new');
  await newVersion('org_a');
  expect(await navigation()).toContain('1 new');
  expect(await app.db.read((tx) => countSuggestions(tx, 'org_a'))).toBe(1);
});
