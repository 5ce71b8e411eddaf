import { beforeEach, describe, expect, test } from 'bun:test';
import { previewTrigger, rehearseTrigger } from '../../src/drafting/triggers/rehearse.ts';
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  type NewTrigger,
  switchTrigger,
} from '../../src/drafting/triggers/service.ts';
import { replayDelivery } from '../../src/intake/receiver/send.ts';
import { addPlace } from '../../src/integrations/places.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { valuesOf } from '../support/database.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { compose, postsOf, runAll, toldBy } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { refusalOf } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';
import type { TestApp } from '../support/test-app.ts';

// A trigger acts on events that arrive while it is enabled, and on those that a person asks for.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
});

function create(given: Partial<NewTrigger> = {}) {
  const { integrationId } = connected;
  return createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog', ...given });
}

const at = (hour: number, minute = 0) =>
  `2026-11-20T${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00Z`;

async function deliver(event: string, { to = connected, repository = 'acme/rocket', ...changes }: Changes) {
  const sample = samplePayload('github', event, { repository, now: app.clock.now() }) ?? {};
  const request = githubRequest(to, changed(sample, changes), { event });
  expect((await app.request(...request)).status).toBe(200);
}

type Changes = { to?: Connected; repository?: string } & Record<string, unknown>;

/** A release of an hour; an edit changes it `minute` minutes later. */
const release = (hour: number, fields: Changes = {}, action = 'published', minute = 0) =>
  deliver('release', {
    action,
    'release.tag_name': `v${hour}`,
    'release.name': `v${hour}`,
    'release.body': 'Words.',
    'release.published_at': at(hour),
    'release.updated_at': at(hour, minute),
    ...fields,
  });

const edit = (hour: number, minute: number, fields: Record<string, unknown> = {}) =>
  release(hour, { 'release.body': `Words of minute ${minute}.`, ...fields }, 'edited', minute);

function push(hour: number, subject: string): Promise<void> {
  const sha = Bun.SHA1.hash(`${hour}${subject}`, 'hex');
  const commit = { id: sha, message: subject, author: { name: 'Ann' }, timestamp: at(hour) };
  return deliver('push', {
    commits: [{ ...commit, url: `https://github.com/acme/rocket/commit/${sha}` }],
    after: sha,
    'repository.pushed_at': Date.parse(at(hour)) / 1000,
  });
}

/** The posts as `title status`, sorted, once the triggers have done their work. */
async function posts(): Promise<string[]> {
  await runAll(app);
  return (await postsOf(app)).map(({ title, status }) => `${title} ${status}`).sort();
}

describe('a release trigger makes no posts of releases', () => {
  test('that arrived while it was disabled, when one of them is edited', async () => {
    const { id } = await create({ contentType: 'linkedin_post', publish: true });
    await switchTrigger(app.deps, id, false);
    for (const hour of [1, 2, 3, 4, 5, 6]) await release(hour);
    await switchTrigger(app.deps, id, true);
    await edit(1, 30);
    expect(await posts()).toEqual([]);
    await release(7);
    expect(await posts()).toEqual(['v7 published']);
  });

  test('that arrived before it was made, when one of them is edited or a push comes late', async () => {
    for (const hour of [2, 3]) await release(hour, { 'release.body': null });
    await create({ publish: true });
    await push(1, 'feat: late');
    await edit(2, 30);
    expect(await posts()).toEqual([]);
  });

  test('that arrived before an older one that comes late', async () => {
    for (const hour of [2, 3]) await release(hour);
    await create({ publish: true });
    await release(1);
    expect(await posts()).toEqual(['v1 published']);
  });

  test('that a trigger which was deleted acted on', async () => {
    const { id } = await create();
    await release(1);
    await release(2);
    expect(await posts()).toEqual(['v1 draft', 'v2 draft']);
    await deleteTrigger(app.deps, id);
    await create({ publish: true });
    await edit(1, 30);
    expect(await posts()).toEqual(['v1 draft', 'v2 draft']);
  });

  test('that the old filters excluded, when they are edited under new filters', async () => {
    const { id } = await create({ filters: { tag: ['web-*'] }, publish: true });
    await release(1);
    await release(2);
    await changeTrigger(app.deps, id, { filters: {} });
    await edit(1, 30);
    await push(1, 'feat: late');
    expect(await posts()).toEqual([]);
  });
});

describe('an edit alone creates no post', () => {
  test('of an unknown release', async () => {
    await create({ publish: true });
    await edit(1, 30);
    expect(await posts()).toEqual([]);
    await release(1);
    expect(await posts()).toEqual(['v1 published']);
    expect((await postsOf(app))[0]?.markdown).toBe('Words of minute 30.');
  });

  test('when the release moves to another branch: its post moves with it', async () => {
    await create({ publish: true });
    await release(1);
    expect(await posts()).toEqual(['v1 published']);
    const [post] = await postsOf(app);
    await edit(1, 30, { 'release.target_commitish': 'release/1' });
    expect(await posts()).toEqual(['v1 published']);
    expect((await postsOf(app))[0]?.id).toBe(post?.id as string);
  });

  test('unless it makes a release match that arrived without matching', async () => {
    await create({ filters: { prereleases: false } });
    await release(1, { 'release.prerelease': true });
    expect(await posts()).toEqual([]);
    await edit(1, 30);
    expect(await posts()).toEqual(['v1 draft']);
  });

  test('of a release that arrived under other filters', async () => {
    const { id } = await create({ filters: { prereleases: false } });
    await release(1, { 'release.prerelease': true });
    await changeTrigger(app.deps, id, { filters: { prereleases: false, tag: ['v*'] } });
    await edit(1, 30);
    expect(await posts()).toEqual([]);
  });

  test('unless it makes a release match, also after the templates changed', async () => {
    const { id } = await create({ filters: { prereleases: false } });
    await release(1, { 'release.prerelease': true });
    await changeTrigger(app.deps, id, { titleTemplate: '{{ release.tag }}' });
    await edit(1, 30);
    expect(await posts()).toEqual(['v1 draft']);
  });
});

describe('a release whose tag is edited is the same release', () => {
  const id = { 'release.id': 555 };
  const retagged = (tag: string, minute: number, more: Record<string, unknown> = {}) => ({
    ...id,
    'release.tag_name': tag,
    'release.name': tag,
    'release.html_url': `https://github.com/acme/rocket/releases/tag/${tag}`,
    'release.body': `Words of minute ${minute}.`,
    ...more,
  });
  const textOf = async () => {
    await runAll(app);
    return (await postsOf(app)).map(({ title, markdown }) => `${title}: ${markdown}`);
  };
  const tables = async () => {
    const { events, trigger_events, drafts, delivery_results } = await allRows(app.db);
    const keys = (rows: unknown, name: string) => (rows as Record<string, unknown>[]).map((row) => row[name]);
    return {
      events: keys(events, 'key'),
      arrivals: keys(trigger_events, 'key'),
      drafts: keys(drafts, 'subject'),
      open: (delivery_results as { outcome: string }[]).filter(({ outcome }) => outcome === 'queued'),
    };
  };
  const one = { events: ['v1.0.0'], arrivals: ['v1.0.0'], drafts: ['release v1.0.0'], open: [] };

  test('so its draft follows', async () => {
    await create();
    await release(1, id);
    expect(await posts()).toEqual(['v1 draft']);
    await edit(1, 30, retagged('v1.0.0', 30));
    expect(await textOf()).toEqual(['v1.0.0: Words of minute 30.']);
    expect(await tables()).toEqual(one);
  });

  test('so its edit before the draft is made makes one post', async () => {
    await create();
    await release(1, id);
    await edit(1, 30, retagged('v1.0.0', 30));
    expect(await textOf()).toEqual(['v1.0.0: Words of minute 30.']);
    expect(await tables()).toEqual(one);
  });

  test('so an edit that arrives before its publication counts', async () => {
    await create({ publish: true });
    await edit(1, 30, retagged('v1.0.0', 30));
    expect(await posts()).toEqual([]);
    await release(1, id);
    expect(await textOf()).toEqual(['v1.0.0: Words of minute 30.']);
    expect(await tables()).toEqual(one);
  });

  test('so publishing it again under another tag makes no second post', async () => {
    await create({ publish: true });
    await release(1, id);
    expect(await posts()).toEqual(['v1 published']);
    await release(2, retagged('v1.0.0', 30));
    await runAll(app);
    expect((await allRows(app.db)).posts).toHaveLength(1);
    expect(await tables()).toEqual(one);
    const [draft] = (await allRows(app.db)).drafts as { suggestion: string }[];
    expect(draft?.suggestion).toContain('Words of minute 30.');
  });

  test('so without a time of the edit, the later publication counts, in any order', async () => {
    await create();
    const published = (hour: number, tag: string) =>
      release(hour, retagged(tag, hour, { 'release.updated_at': null }));
    await published(2, 'v1.0.0');
    await published(1, 'v1');
    expect(await textOf()).toEqual(['v1.0.0: Words of minute 2.']);
    expect(await tables()).toEqual(one);
  });

  test('and takes the tag over from a release that is gone, whose post stays', async () => {
    await create();
    await release(1, { 'release.id': 9, 'release.tag_name': 'v1.0.0', 'release.name': 'gone' });
    await release(2, id);
    expect(await posts()).toEqual(['gone draft', 'v2 draft']);
    await edit(2, 30, retagged('v1.0.0', 30));
    expect(await posts()).toEqual(['gone draft', 'v1.0.0 draft']);
    expect(await tables()).toEqual(one);
  });

  test('and another release may have its old tag', async () => {
    await create();
    await release(1, id);
    await edit(1, 30, retagged('v1.0.0', 30));
    await release(2, { 'release.id': 9, 'release.tag_name': 'v1', 'release.name': 'v1 again' });
    expect(await posts()).toEqual(['v1 again draft', 'v1.0.0 draft']);
  });

  test('and divides the branch as before', async () => {
    await create();
    await release(1, { ...id, 'release.body': null });
    await push(2, 'feat: second');
    await release(3, { 'release.body': null });
    expect(await posts()).toEqual(['v1 draft', 'v3 draft']);
    await edit(1, 30, retagged('v1.0.0', 30));
    await runAll(app);
    const text = (await postsOf(app)).find(({ title }) => title === 'v3')?.markdown;
    expect(text).toContain('Second');
    expect(text).toContain('/compare/v1.0.0...v3');
  });

  test('and does so in its own repository alone', async () => {
    const lander = await addPlace(app.deps, connected.integrationId, 'acme/lander');
    const there = { to: { ...connected, webhookUrl: lander.webhookUrl }, repository: 'acme/lander' };
    await create({ event: 'push' });
    await release(1, { ...id, 'release.body': null });
    await release(1, { ...there, 'release.body': null });
    await edit(1, 30, { ...retagged('v1.0.0', 30), 'release.body': null });
    const rows = await valuesOf(app.db, 'SELECT repository_id, tag FROM release_ranges ORDER BY tag');
    expect(rows).toEqual([
      [lander.repositoryId, 'v1'],
      [connected.repositoryId, 'v1.0.0'],
    ]);
  });

  test('and leaves when its new tag does not match', async () => {
    await create({ filters: { tag: ['v*'] } });
    await release(1, id);
    expect(await posts()).toEqual(['v1 draft']);
    await edit(1, 30, retagged('web-1', 30));
    expect(await posts()).toEqual([]);
  });

  test('also in a rehearsal, in the preview of either delivery, and when one is replayed', async () => {
    const { id: triggerId } = await create();
    await release(1, id);
    await edit(1, 30, retagged('v1.0.0', 30));
    const since = new Date(0);
    const rehearsed = await rehearseTrigger(app.deps, compose, triggerId, since);
    expect(rehearsed.map(({ title }) => title)).toEqual(['v1.0.0']);
    for (const delivery of await logOf(app)) {
      const previewed = await previewTrigger(app.deps, compose, triggerId, delivery);
      expect(previewed.map(({ title }) => title)).toEqual(['v1.0.0']);
      await replayDelivery(app.deps, delivery);
    }
    expect(await textOf()).toEqual(['v1.0.0: Words of minute 30.']);
    expect(await tables()).toEqual(one);
  });
});

test('a release that is dated after the next one leaves that its changes', async () => {
  await create();
  await push(1, 'feat: first');
  await release(2, { 'release.body': null });
  await push(3, 'feat: second');
  await release(4, { 'release.body': null });
  expect(await posts()).toEqual(['v2 draft', 'v4 draft']);
  await edit(2, 30, { 'release.body': null, 'release.published_at': at(5) });
  await runAll(app);
  const text = (await postsOf(app)).find(({ title }) => title === 'v4')?.markdown;
  expect(text).toMatch(/First[\s\S]*Second/);
});

describe('of two repositories', () => {
  let there: Changes;

  beforeEach(async () => {
    const { webhookUrl } = await addPlace(app.deps, connected.integrationId, 'acme/lander');
    there = { to: { ...connected, webhookUrl }, repository: 'acme/lander' };
  });

  test('a trigger of one takes nothing of the other', async () => {
    await create({ repository: 'acme/rocket' });
    await release(1, there);
    await release(2);
    expect(await posts()).toEqual(['v2 draft']);
  });

  test('each has a post of its release of a tag, whatever the branches', async () => {
    await create();
    await release(1);
    await release(1, { ...there, 'release.target_commitish': 'next' });
    expect(await posts()).toEqual(['v1 draft', 'v1 draft']);
  });
});

describe('a replay counts as an arrival', () => {
  const replayAll = async (action: string) => {
    const log = (await logOf(app)).filter(({ payload }) => payload.action === action);
    for (const delivery of log) await replayDelivery(app.deps, delivery);
  };

  test('of a delivery that came while the trigger was disabled', async () => {
    const { id } = await create({ enabled: false, publish: true });
    await release(1);
    await replayAll('published');
    await switchTrigger(app.deps, id, true);
    expect(await posts()).toEqual([]);
    await edit(1, 30);
    await replayAll('edited');
    expect(await posts()).toEqual([]);
    await replayAll('published');
    expect(await posts()).toEqual(['v1 published']);
  });
});

describe('drafts of past releases', () => {
  const rows = async () => (await allRows(app.db)).trigger_events;

  test('are made of the newest that match the filters, and stay drafts', async () => {
    for (const hour of [1, 2, 3, 4]) await release(hour);
    await release(5, { 'release.prerelease': true });
    await create({ publish: true, filters: { prereleases: false }, last: 2 });
    expect(await posts()).toEqual(['v3 draft', 'v4 draft']);
    await release(6);
    await edit(1, 30);
    await edit(4, 30);
    expect(await posts()).toEqual(['v3 draft', 'v4 draft', 'v6 published']);
    expect((await postsOf(app)).find(({ title }) => title === 'v4')?.markdown).toBe('Words of minute 30.');
  });

  test('keep the date of the release when a person publishes them', async () => {
    await release(1);
    await create({ last: 1 });
    await release(2);
    expect(await posts()).toEqual(['v1 draft', 'v2 draft']);
    for (const { id } of await postsOf(app)) await editPost(app.deps, id, { status: 'published' });
    const dates = new Map((await postsOf(app)).map(({ title, createdAt }) => [title, createdAt]));
    const now = app.clock.now().toISOString();
    expect(dates.get('v1')).not.toBe(now);
    expect(dates.get('v2')).toBe(now);
  });

  test('stay drafts when one edit removes them and another restores them', async () => {
    await release(1);
    await create({ publish: true, filters: { prereleases: false }, last: 1 });
    expect(await posts()).toEqual(['v1 draft']);
    await edit(1, 10, { 'release.prerelease': true });
    expect(await posts()).toEqual([]);
    await edit(1, 20);
    expect(await posts()).toEqual(['v1 draft']);
  });

  test('are the newest across the repositories and branches of the trigger', async () => {
    await release(1);
    await release(2, { 'release.target_commitish': 'release/2' });
    await create({ last: 50 });
    await create({ last: 50, filters: { branch: ['release/*'] } });
    expect(await posts()).toEqual(['v1 draft', 'v2 draft', 'v2 draft']);
  });

  test('of a disabled trigger are made once it is enabled', async () => {
    await release(1);
    const { id } = await create({ enabled: false, last: 1 });
    expect(await posts()).toEqual([]);
    await switchTrigger(app.deps, id, true);
    expect(await posts()).toEqual(['v1 draft']);
  });

  test('need no known release: the trigger is created', async () => {
    await create({ last: 3 });
    expect(await rows()).toEqual([]);
    await release(1);
    expect(await posts()).toEqual(['v1 draft']);
  });

  test.each<[string, Partial<NewTrigger>, string]>([
    ['a number that is too low', { last: -1 }, 'must be a whole number from 1 to 50'],
    ['a number that is too high', { last: 51 }, 'must be a whole number from 1 to 50'],
    ['a part of a number', { last: 1.5 }, 'must be a whole number from 1 to 50'],
    ['no number', { last: Number.NaN }, 'must be a whole number from 1 to 50'],
    [
      'a rolling trigger',
      { event: 'push', last: 1 },
      'Only a release trigger can create drafts of past releases',
    ],
  ])('%s is refused', async (_, given, message) => {
    await release(1);
    const before = await allRows(app.db);
    expect(await refusalOf(create(given))).toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
    });
    expect(await allRows(app.db)).toEqual(before);
  });

  test('a second trigger with the same rule is refused and leaves nothing', async () => {
    await release(1);
    await create();
    const before = await allRows(app.db);
    expect(await refusalOf(create({ last: 1 }))).toMatchObject({ status: 409 });
    expect(await allRows(app.db)).toEqual(before);
  });

  test('are forgotten with their trigger', async () => {
    await release(1);
    const { id } = await create({ last: 1 });
    expect(await rows()).toMatchObject([{ trigger_id: id, key: 'v1', is_match: 1, draft_only: 1 }]);
    await deleteTrigger(app.deps, id);
    expect(await rows()).toEqual([]);
  });
});

describe('a preview and a rehearsal', () => {
  const preview = async (id: string, action: string) => {
    const delivery = (await logOf(app)).find(({ payload }) => payload.action === action);
    if (delivery === undefined) throw new Error('there is no such delivery');
    return previewTrigger(app.deps, compose, id, delivery);
  };
  const rehearse = async (id: string) =>
    (await rehearseTrigger(app.deps, compose, id, new Date('2026-11-01'))).map(({ title }) => title);

  test('say that an edit alone makes no post', async () => {
    await edit(1, 30);
    const { id } = await create();
    expect(await refusalOf(preview(id, 'edited'))).toMatchObject({
      status: 409,
      message: expect.stringContaining('an edit alone creates no post'),
    });
    expect(await rehearse(id)).toEqual([]);
    await release(1);
    expect(await preview(id, 'edited')).toMatchObject([{ title: 'v1', markdown: 'Words of minute 30.' }]);
    expect(await rehearse(id)).toEqual(['v1']);
  });

  test('try a delivery as one that arrives now, and show the status of its post', async () => {
    await release(1);
    const { id } = await create({ publish: true });
    const { id: asked } = await create({ publish: true, last: 1, contentType: 'linkedin_post' });
    await edit(1, 30);
    expect(await preview(id, 'published')).toMatchObject([{ status: 'published' }]);
    expect(await preview(asked, 'edited')).toMatchObject([{ status: 'draft' }]);
    expect(await refusalOf(preview(id, 'edited'))).toMatchObject({ status: 409 });
  });

  test('include only events that arrived in a rolling draft', async () => {
    await push(1, 'feat: before');
    const { id } = await create({ event: 'push' });
    await push(2, 'feat: one');
    const [{ markdown } = { markdown: '' }] = await preview(id, 'pushed');
    expect(markdown).toContain('One');
    expect(markdown).not.toContain('Before');
  });
});

describe('a rolling draft', () => {
  test('includes only events that arrived while its trigger was enabled', async () => {
    await push(1, 'feat: before');
    const { id } = await create({ event: 'push' });
    await push(2, 'feat: one');
    await runAll(app);
    await switchTrigger(app.deps, id, false);
    await push(3, 'feat: meanwhile');
    await switchTrigger(app.deps, id, true);
    await push(4, 'feat: two');
    await runAll(app);
    expect(await toldBy(app)).toEqual({ 'Unreleased: acme/rocket': ['One', 'Two'] });
  });

  test('ignores old releases when a push comes late', async () => {
    for (const hour of [2, 4]) {
      await push(hour - 1, `feat: hour ${hour}`);
      await release(hour);
    }
    await create({ event: 'push' });
    await push(1, 'feat: late');
    await runAll(app);
    expect(await toldBy(app)).toEqual({ v2: ['Late'] });
  });

  test('loses nothing when a release that arrived while its trigger was disabled splits it', async () => {
    const { id } = await create({ event: 'push' });
    for (const hour of [1, 3]) await push(hour, `feat: hour ${hour}`);
    await runAll(app);
    const [open] = await postsOf(app);
    await switchTrigger(app.deps, id, false);
    await release(2);
    await switchTrigger(app.deps, id, true);
    await push(4, 'feat: hour 4');
    await runAll(app);
    expect(await toldBy(app)).toEqual({ v2: ['Hour 1'], 'Unreleased: acme/rocket': ['Hour 3', 'Hour 4'] });
    expect((await postsOf(app)).find(({ title }) => title === 'v2')?.id).toBe(open?.id as string);
  });

  test('loses nothing when a release splits it under new filters', async () => {
    const { id } = await create({ event: 'push', filters: { tag: ['web-*'] } });
    for (const hour of [1, 3]) await push(hour, `feat: hour ${hour}`);
    await release(2);
    await runAll(app);
    expect(await toldBy(app)).toEqual({ 'Unreleased: acme/rocket': ['Hour 1', 'Hour 3'] });
    await changeTrigger(app.deps, id, { filters: {} });
    await push(4, 'feat: hour 4');
    await runAll(app);
    expect(await toldBy(app)).toEqual({ v2: ['Hour 1'], 'Unreleased: acme/rocket': ['Hour 3', 'Hour 4'] });
  });

  test('that a release closed loses nothing when an older release splits it', async () => {
    const { id } = await create({ event: 'push' });
    for (const hour of [1, 3]) await push(hour, `feat: hour ${hour}`);
    await release(5);
    await runAll(app);
    await switchTrigger(app.deps, id, false);
    await release(2);
    await switchTrigger(app.deps, id, true);
    await push(4, 'feat: hour 4');
    await runAll(app);
    expect(await toldBy(app)).toEqual({ v2: ['Hour 1'], v5: ['Hour 3', 'Hour 4'] });
  });

  test('excludes the pull requests that the old label filter excluded', async () => {
    const { id } = await create({ event: 'pull_request', filters: { label: ['feature'] } });
    const merge = (number: number, label: string) =>
      deliver('pull_request', {
        number,
        'pull_request.number': number,
        'pull_request.title': `Title ${number}`,
        'pull_request.labels': [{ name: label }],
        'pull_request.merged_at': at(number),
        'pull_request.merge_commit_sha': Bun.SHA1.hash(String(number), 'hex'),
      });
    await merge(1, 'other');
    await changeTrigger(app.deps, id, { filters: { label: ['feature', 'other'] } });
    await merge(2, 'other');
    await runAll(app);
    expect(await toldBy(app)).toEqual({ 'Unreleased: acme/rocket': ['Title 2'] });
  });
});
