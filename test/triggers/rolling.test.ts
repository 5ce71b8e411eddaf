import { beforeEach, describe, expect, test } from 'bun:test';
import { findDraftOfPost } from '../../src/drafting/store.ts';
import { getSuggestion, hasSuggestionFor } from '../../src/drafting/suggestions.ts';
import { findRangeProblem } from '../../src/drafting/triggers/range-store.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { datePost, deletePost, editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll, toldBy } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import type { TestApp } from '../support/test-app.ts';

// The rolling draft of a branch, until a release or a person closes it.

const UNRELEASED = 'Unreleased: acme/rocket';

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'push', contentType: 'changelog' });
});

const sample = (event: string) => {
  const payload = samplePayload('github', event, { repository: 'acme/rocket', now: app.clock.now() });
  if (payload === null) throw new Error(`no sample of ${event}`);
  return payload;
};

const at = (hour: number) => `2026-11-20T${String(hour).padStart(2, '0')}:00:00Z`;

/** A push of one commit at an hour of 20 November, and the triggers' work on it. */
async function push(hour: number, subject: string): Promise<void> {
  const sha = Bun.SHA1.hash(`${hour}${subject}`, 'hex');
  const url = `https://github.com/acme/rocket/commit/${sha}`;
  const commit = { id: sha, message: subject, author: { name: 'Ann' }, url, timestamp: at(hour) };
  const pushedAt = Date.parse(at(hour)) / 1000;
  const changes = { commits: [commit], after: sha, 'repository.pushed_at': pushedAt };
  await deliver('push', changed(sample('push'), changes));
}

async function release(hour: number, tag: string, fields: Record<string, unknown> = {}): Promise<void> {
  const told = {
    tag_name: tag,
    name: tag,
    body: null,
    published_at: at(hour),
    updated_at: at(hour),
    ...fields,
  };
  const changes = Object.fromEntries(Object.entries(told).map(([key, value]) => [`release.${key}`, value]));
  await deliver('release', changed(sample('release'), changes));
}

async function deliver(event: string, payload: Record<string, unknown>): Promise<void> {
  expect((await app.request(...githubRequest(connected, payload, { event }))).status).toBe(200);
  await runAll(app);
}

const drafts = () => toldBy(app);

test.each([
  ['total_commits', 20, 'A push of 20 commits named only 1: changes may be missing.'],
  ['size', 2048, 'A push of 2,048 commits named only 1: changes may be missing.'],
  ['total_commits', 1, null],
])('a push whose %s is %d says on the draft what it lacks', async (field, total, problem) => {
  const sha = 'a'.repeat(40);
  const commit = { id: sha, message: 'feat: one', author: { name: 'Ann' }, timestamp: at(1) };
  await deliver('push', changed(sample('push'), { commits: [commit], after: sha, [field]: total }));
  const [post] = await postsOf(app);
  // The stand-in that would tell the rest is missing here.
  const said = await app.db.read(async (tx) =>
    findRangeProblem(tx, await findDraftOfPost(tx, post?.id ?? '')),
  );
  expect(said?.replace(/ GitHub could not be asked for them\. .*$/, '') ?? null).toBe(problem);
  const [entry] = await logOf(app);
  expect(entry?.title.includes('of which the payload has 1')).toBe(problem !== null);
});

describe('a release', () => {
  test('has what was pushed at its very time', async () => {
    await push(1, 'feat: one');
    await push(3, 'feat: two');
    await release(3, 'v1.0.0');
    expect(await drafts()).toEqual({ 'v1.0.0': ['One', 'Two'] });
  });

  test('closes the draft, which stays the same post; the next change opens another', async () => {
    await push(1, 'feat: one');
    await push(2, 'feat: two');
    const [open] = await postsOf(app);
    expect(await drafts()).toEqual({ [UNRELEASED]: ['One', 'Two'] });
    await release(3, 'v1.0.0');
    expect(await drafts()).toEqual({ 'v1.0.0': ['One', 'Two'] });
    expect((await postsOf(app))[0]?.id).toBe(open?.id as string);
    await push(4, 'feat: three');
    expect(await drafts()).toEqual({ 'v1.0.0': ['One', 'Two'], [UNRELEASED]: ['Three'] });
  });

  test.each([['Words alone.'], ['### Added\n- Something else']])(
    'leaves the text of the draft as it is, whatever its notes say: %p',
    async (body) => {
      await push(1, 'feat: one');
      await push(2, 'feat: two');
      await release(3, 'v1.0.0', { body });
      expect(await drafts()).toEqual({ 'v1.0.0': ['One', 'Two'] });
    },
  );

  test('that comes late splits the drafts', async () => {
    await push(1, 'feat: one');
    await push(3, 'feat: two');
    await release(2, 'v1.0.0');
    expect(await drafts()).toEqual({ 'v1.0.0': ['One'], [UNRELEASED]: ['Two'] });
  });

  test('that comes before its changes still gets them', async () => {
    await release(3, 'v1.0.0');
    expect(await drafts()).toEqual({});
    await push(2, 'feat: two');
    await push(1, 'feat: one');
    expect(await drafts()).toEqual({ 'v1.0.0': ['One', 'Two'] });
  });

  test('with nothing before it makes no draft', async () => {
    await release(3, 'v1.0.0');
    await push(4, 'feat: three');
    expect(await drafts()).toEqual({ [UNRELEASED]: ['Three'] });
  });

  test('of another branch closes nothing', async () => {
    await push(1, 'feat: one');
    await release(3, 'v0.9.1', { target_commitish: 'release/0.9' });
    expect(await drafts()).toEqual({ [UNRELEASED]: ['One'] });
  });

  test('leaves an edited draft alone and suggests the new text', async () => {
    await push(1, 'feat: one');
    const [open] = await postsOf(app);
    const id = open?.id ?? '';
    await editPost(app.deps, id, { title: 'Rocket 1', markdown: 'All by hand' });
    await release(3, 'v1.0.0');
    expect(await postsOf(app)).toMatchObject([{ title: 'Rocket 1', markdown: 'All by hand' }]);
    expect(await getSuggestion(app.deps, id)).toMatchObject({ title: 'v1.0.0' });
    await push(4, 'feat: two');
    expect(Object.keys(await drafts()).sort()).toEqual(['Rocket 1', UNRELEASED]);
  });
});

describe('a person', () => {
  test('publishing the draft closes it: later changes open a new one', async () => {
    await push(1, 'feat: one');
    const [open] = await postsOf(app);
    await editPost(app.deps, open?.id ?? '', { status: 'published' });
    await push(2, 'feat: two');
    const posts = await postsOf(app);
    expect(posts.map(({ status }) => status).sort()).toEqual(['draft', 'published']);
    const published = posts.find(({ status }) => status === 'published');
    expect(published?.markdown).toBe(open?.markdown as string);
    const draft = posts.find(({ status }) => status === 'draft');
    expect(draft?.markdown).toContain('Two');
    expect(draft?.markdown).not.toContain('One');
    // And the release has the remaining change.
    await release(3, 'v1.0.0');
    expect(await drafts()).toEqual({ [UNRELEASED]: ['One'], 'v1.0.0': ['Two'] });
  });

  test('publishing it right before a release leaves the release nothing', async () => {
    await push(1, 'feat: one');
    const [open] = await postsOf(app);
    await editPost(app.deps, open?.id ?? '', { status: 'published' });
    await release(3, 'v1.0.0');
    expect(await drafts()).toEqual({ [UNRELEASED]: ['One'] });
    expect(await hasSuggestionFor(app.deps, open?.id ?? '')).toBe(false);
  });

  test('setting its date keeps it for later changes', async () => {
    await push(1, 'feat: one');
    const [open] = await postsOf(app);
    await datePost(app.deps, open?.id ?? '', new Date('2020-01-31T00:00:00.000Z'));
    await push(2, 'feat: two');
    expect(await drafts()).toEqual({ [UNRELEASED]: ['One', 'Two'] });
    expect((await postsOf(app))[0]?.createdAt).toBe('2020-01-31T00:00:00.000Z');
  });

  test('deleting the draft closes it: later changes open a new one', async () => {
    await push(1, 'feat: one');
    const [open] = await postsOf(app);
    await deletePost(app.deps, open?.id ?? '');
    await runAll(app);
    expect(await drafts()).toEqual({});
    await push(2, 'feat: two');
    expect(await drafts()).toEqual({ [UNRELEASED]: ['Two'] });
  });
});

test('a merged pull request appears once, whichever of its two events comes first', async () => {
  const told = async () => (await drafts())[UNRELEASED]?.filter((text) => text.includes("today's value"));
  await deliver('push', sample('push'));
  expect(await told()).toEqual(["**gauge:** Show today's value after midnight"]);
  await deliver('pull_request', sample('pull_request'));
  expect(await told()).toEqual(["Show today's value after midnight"]);
});

test('a pull request into a branch that may be the default one is of that', async () => {
  const payload = changed(sample('pull_request'), { 'repository.default_branch': undefined });
  await deliver('pull_request', payload);
  expect(Object.keys(await drafts())).toEqual([UNRELEASED]);
});

test('a push with only a merge makes no draft', async () => {
  await push(1, "Merge branch 'main' of github.com:acme/rocket");
  expect(await drafts()).toEqual({});
});
