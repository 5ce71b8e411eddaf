import { beforeEach, expect, test } from 'bun:test';
import { findDraftOfPost } from '../../src/drafting/store.ts';
import { getSuggestion } from '../../src/drafting/suggestions.ts';
import { getTrigger, type TriggerFilters } from '../../src/drafting/triggers/model.ts';
import { previewTrigger } from '../../src/drafting/triggers/rehearse.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { compose, postsOf, runAll } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import type { TestApp } from '../support/test-app.ts';

// Entries that people write for readers in a pull request, and edits of them after the merge.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
});

const trigger = (more: Partial<Parameters<typeof createTrigger>[1]> = {}) =>
  createTrigger(app.deps, {
    integrationId: connected.integrationId,
    event: 'pull_request',
    contentType: 'changelog',
    ...more,
  });

const note = (...lines: string[]) => ['What it does.', '```release-note', ...lines, '```'].join('\n');

/** A delivery about pull request 12, which was merged at 12:00. */
async function tell(minute: number, changes: Record<string, unknown>, action = 'closed'): Promise<void> {
  const payload = samplePayload('github', 'pull_request', {
    repository: 'acme/rocket',
    now: app.clock.now(),
  });
  const at = `2026-11-20T12:${String(minute).padStart(2, '0')}:00Z`;
  const told = {
    'pull_request.title': 'fix: gauge',
    'pull_request.merged_at': '2026-11-20T12:00:00Z',
    'pull_request.updated_at': at,
    'pull_request.labels': [],
    ...Object.fromEntries(Object.entries(changes).map(([name, value]) => [`pull_request.${name}`, value])),
    action,
  };
  const request = githubRequest(connected, changed(payload ?? {}, told), { event: 'pull_request' });
  expect((await app.request(...request)).status).toBe(200);
  await runAll(app);
}

const lines = async () => {
  const [post] = await postsOf(app);
  return (post?.markdown ?? '')
    .split('\n')
    .filter((line) => /^(?:### |- )/.test(line))
    .map((line) => line.replace(/ \(\[.*$/, ''));
};

test('an entry that is written or edited after the merge changes the draft', async () => {
  await trigger();
  await tell(0, { body: null });
  expect(await lines()).toEqual(['### Fixed', '- Gauge']);
  await tell(1, { body: note('- The gauge shows *today*', '- It is quieter') }, 'edited');
  expect(await lines()).toEqual(['### Fixed', '- The gauge shows *today*', '- It is quieter']);
  // It comes late.
  await tell(0, { body: null });
  expect(await lines()).toEqual(['### Fixed', '- The gauge shows *today*', '- It is quieter']);
  await tell(2, { body: note('NONE') }, 'edited');
  expect(await lines()).toEqual([]);
});

test('a person who edited the draft gets a suggestion', async () => {
  await trigger();
  await tell(0, { body: null });
  const [post] = await postsOf(app);
  const id = post?.id ?? '';
  await editPost(app.deps, id, { title: 'Mine' });
  await tell(1, { body: note('The gauge shows today') }, 'edited');
  expect(await lines()).toEqual(['### Fixed', '- Gauge']);
  expect((await getSuggestion(app.deps, id))?.markdown).toContain('The gauge shows today');
});

test('a label that is put on after the merge moves the entry', async () => {
  await trigger();
  await tell(0, { body: note('The gauge shows today'), title: 'Gauge' });
  expect(await lines()).toEqual(['### Other', '- The gauge shows today']);
  await tell(
    1,
    { body: note('The gauge shows today'), title: 'Gauge', labels: [{ name: 'bug' }] },
    'labeled',
  );
  expect(await lines()).toEqual(['### Fixed', '- The gauge shows today']);
});

test('what a trigger leaves out is named beside the draft, and comes back when the label goes', async () => {
  const { id } = await trigger({ filters: { excludeType: ['chore'] } });
  const leftOut = async () => {
    const [post] = await postsOf(app);
    const draft = await app.db.read((tx) => findDraftOfPost(tx, post?.id ?? ''));
    return draft?.leftOut.map(({ title, reason }) => `${title}: ${reason}`);
  };
  await tell(0, { number: 7, title: 'chore: tidy up', merge_commit_sha: 'c'.repeat(40) });
  // Nothing is left of the draft.
  expect(await postsOf(app)).toEqual([]);
  await tell(0, { body: null });
  expect(await lines()).toEqual(['### Fixed', '- Gauge']);
  expect(await leftOut()).toEqual(['chore: tidy up: type chore']);
  await tell(1, { labels: [{ name: 'Skip-Changelog' }], body: note('The gauge shows today') }, 'labeled');
  expect(await postsOf(app)).toEqual([]);
  await tell(2, { labels: [], body: note('The gauge shows today') }, 'unlabeled');
  expect(await lines()).toEqual(['### Fixed', '- The gauge shows today']);
  const { filters } = await app.db.read((tx) => getTrigger(tx, id));
  expect(filters).toEqual({ excludeType: ['chore'] });
});

test.each<[TriggerFilters, Record<string, unknown>, boolean]>([
  [{}, {}, true],
  [{}, { labels: [{ name: 'skip-changelog' }] }, false],
  [{}, { labels: [{ name: 'no-changelog' }], body: note('Quiet') }, false],
  [{ excludeLabel: ['internal'] }, { labels: [{ name: 'no-changelog' }] }, true],
  [{ excludeLabel: ['internal'] }, { labels: [{ name: 'Internal' }] }, false],
  [{ excludeAuthor: ['dependabot[bot]'] }, { 'user.login': 'dependabot[bot]', body: note('Quiet') }, false],
  [{ excludeAuthor: ['dependabot[bot]'] }, { 'user.login': 'ann' }, true],
  [{ excludeBots: true }, { 'user.login': 'renovate[bot]' }, false],
  [{ excludeBots: true }, { 'user.login': 'abbot' }, true],
  [{ excludeTitle: ['WIP*', 'Bump * from * to *'] }, { title: 'Bump x from 1 to 2' }, false],
  [{ excludeTitle: ['WIP*'] }, { title: 'Not WIP' }, true],
  [{ excludeTitle: ['WIP*'] }, { title: 'WIP', body: note('Quiet') }, true],
  [{ excludeType: ['chore'] }, { title: 'chore(x): y' }, false],
  [{ excludeType: ['chore'] }, { title: 'chore!: y' }, true],
  [{ excludeType: ['fix'] }, { title: 'fix(security): y' }, true],
  [{ excludeType: ['chore'] }, { title: 'chore: y', body: note('Quiet') }, true],
  [{ block: 'news' }, { body: note('NONE') }, true],
  [{}, { body: note('NONE') }, false],
])('with %j, %j is listed: %p', async (filters, changes, isListed) => {
  await trigger({ filters });
  await tell(0, { title: 'Gauge', body: null, ...changes });
  expect(await postsOf(app)).toHaveLength(isListed ? 1 : 0);
});

test('the preview of a delivery that is left out says why', async () => {
  const { id } = await trigger();
  await tell(0, { labels: [{ name: 'skip-changelog' }] });
  const [entry] = await logOf(app);
  if (entry === undefined) throw new Error('nothing was logged');
  const previewed = previewTrigger(app.deps, compose, id, entry);
  expect(previewed).rejects.toMatchObject({ details: { reason: 'left_out', type: 'label skip-changelog' } });
});
