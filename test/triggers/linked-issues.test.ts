import { afterEach, beforeEach, expect, test } from 'bun:test';
import fc from 'fast-check';
import { getSuggestion } from '../../src/drafting/suggestions.ts';
import { readRanges } from '../../src/drafting/triggers/ranges.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { connectLinear, linearRequest } from '../support/deliveries.ts';
import { compose, postsOf } from '../support/drafts.ts';
import type { Happening } from '../support/github-api/project.ts';
import { changed } from '../support/payloads.ts';
import { type ProjectApp, startProject } from '../support/project-app.ts';
import { rounds } from '../support/rounds.ts';

// Issues of a tracker beside the code of the same organization.

let world: ProjectApp;

beforeEach(async () => {
  world = await startProject();
});
afterEach(() => world[Symbol.asyncDispose]());

const at = (minutes: number) =>
  `${new Date(Date.parse('2026-11-20T08:00:00Z') + minutes * 60_000).toISOString().slice(0, 19)}Z`;

const HISTORY: Happening[] = [
  { push: ['chore: begin'], at: at(0) },
  { release: 'v1', notes: 'The first.', at: at(1) },
  { merge: 12, title: 'Quiet backend', body: 'Part of ENG-412', at: at(2) },
  { merge: 13, title: 'Quiet buttons', body: 'Fixes ENG-412', at: at(3) },
  { release: 'v2', at: at(4) },
];

/** ENG-412 is completed, or moved to another state. */
async function complete(
  { app }: ProjectApp,
  connected: Connected,
  { identifier = 'ENG-412', previous = [] as string[], state = 'completed', minute = 50, id = '' } = {},
): Promise<void> {
  const payload = changed(samplePayload('linear', 'Issue', { now: app.clock.now() }) ?? {}, {
    'data.id': id || `id of ${identifier}`,
    'data.identifier': identifier,
    'data.previousIdentifiers': previous,
    'data.title': 'Quiet mode',
    'data.state.type': state,
    'data.completedAt': at(minute),
    'data.updatedAt': at(minute),
  });
  const [path, init] = linearRequest(connected, payload);
  expect((await app.request(path, init)).status).toBe(200);
}

/** Linear links an issue to a pull request, or removes the link. */
async function link(
  { app }: ProjectApp,
  connected: Connected,
  { url = 'https://github.com/acme/rocket/pull/13', action = 'create', minute = 30, id = 'link 1' } = {},
): Promise<void> {
  const payload = changed(samplePayload('linear', 'Attachment', { now: app.clock.now() }) ?? {}, {
    action,
    'data.id': id,
    'data.issueId': 'id of ENG-412',
    'data.url': url,
    'data.updatedAt': at(minute),
  });
  const [path, init] = linearRequest(connected, payload, { event: 'Attachment' });
  expect((await app.request(path, init)).status).toBe(200);
}

/** Nothing here names an issue. */
const UNNAMED: Happening[] = [
  { push: ['chore: begin'], at: at(0) },
  { release: 'v1', notes: 'The first.', at: at(1) },
  { merge: 12, title: 'Quiet backend', at: at(2) },
  { merge: 13, title: 'Quiet buttons', at: at(3) },
  { release: 'v2', at: at(4) },
];

test('a release draft joins the issue that Linear links to its pull requests, before or after', async () => {
  await world.trigger({ filters: { tag: ['v2'] } });
  const linear = await connectLinear(world.app, 'org_a');
  await link(world, linear, { url: 'https://github.com/Acme/Rocket/pull/12/files?w=1', id: 'link 2' });
  await world.happen(...UNNAMED);
  await world.run();
  expect((await world.changes()).v2).toEqual(['Begin', 'Quiet backend', 'Quiet buttons']);
  await complete(world, linear);
  await world.run();
  const [joined] = await postsOf(world.app);
  expect(joined?.markdown).toContain('- Quiet backend ([#12](');
  expect(joined?.markdown).toContain('[ENG-412](https://linear.app/acme/issue/ENG-412/fuel-gauge))');
  await link(world, linear);
  await world.run();
  expect((await world.changes()).v2).toEqual(['Quiet mode', 'Begin']);
  await link(world, linear, { action: 'remove' });
  await world.run();
  // The label puts it first.
  expect((await world.changes()).v2).toEqual(['Quiet backend', 'Begin', 'Quiet buttons']);
  const [post] = await postsOf(world.app);
  expect(post?.markdown).toContain('ENG-412');
  expect(post?.markdown).not.toContain('[#13](https://github.com/acme/rocket/pull/13), [ENG');
});

test.each(['completed', 'linked'])('an issue that is %s while a draft is written joins it', async (what) => {
  const { app } = world;
  await world.trigger({ filters: { tag: ['v2'] } });
  const linear = await connectLinear(app, 'org_a');
  if (what === 'linked') await complete(world, linear);
  await world.happen(...(what === 'linked' ? UNNAMED : HISTORY));
  await readRanges(app.deps);
  let composed = 0;
  await runTriggers(app.deps, async (recipe, material) => {
    if (composed++ === 0) await (what === 'linked' ? link(world, linear) : complete(world, linear));
    return compose(recipe, material);
  });
  const { v2 } = await world.changes();
  // One pull request keeps its title, and the label puts it first.
  expect(v2).toEqual(
    what === 'linked' ? ['Quiet buttons', 'Begin', 'Quiet backend'] : ['Quiet mode', 'Begin'],
  );
});

test('a pull request that names an issue and is linked to it too is one change', async () => {
  await world.trigger({ filters: { tag: ['v2'] } });
  const linear = await connectLinear(world.app, 'org_a');
  await world.happen(...HISTORY);
  await complete(world, linear);
  await link(world, linear);
  await world.run();
  expect((await world.changes()).v2).toEqual(['Quiet mode', 'Begin']);
  expect((await postsOf(world.app))[0]?.markdown.match(/ENG-412\]/g)).toHaveLength(1);
});

test('a link of another organization, or to another repository, changes nothing', async () => {
  await world.trigger({ filters: { tag: ['v2'] } });
  const [own, other] = [await connectLinear(world.app, 'org_a'), await connectLinear(world.app, 'org_b')];
  await world.happen(...UNNAMED);
  await complete(world, own);
  await world.run();
  const before = await postsOf(world.app);
  await complete(world, other);
  await link(world, other);
  await link(world, own, { url: 'https://github.com/acme/other/pull/13' });
  await world.run();
  expect(await postsOf(world.app)).toEqual(before);
});

test('a link is no issue: it makes no draft of completed issues', async () => {
  const linear = await connectLinear(world.app, 'org_a');
  await world.trigger({ integrationId: linear.integrationId, event: 'issue' });
  await complete(world, linear);
  await link(world, linear);
  await world.run();
  const posts = await postsOf(world.app);
  expect(posts.map(({ markdown }) => markdown.match(/^- /gm)?.length)).toEqual([1]);
});

test('a commit that names an issue by its identifier in an earlier team joins it', async () => {
  await world.trigger({ filters: { tag: ['v2'] } });
  const linear = await connectLinear(world.app, 'org_a');
  await world.happen(...HISTORY);
  await world.run();
  const moved = { identifier: 'APP-7', previous: ['WEB-3', 'ENG-412'], id: 'id of ENG-412' };
  await complete(world, linear, moved);
  await world.run();
  expect((await world.changes()).v2).toEqual(['Quiet mode', 'Begin']);
  expect((await postsOf(world.app))[0]?.markdown).toContain('[APP-7](');
});

test('a release draft joins an issue, whether it was completed before or after', async () => {
  await world.trigger({ filters: { tag: ['v2'] } });
  const linear = await connectLinear(world.app, 'org_a');
  await world.happen(...HISTORY);
  await world.run();
  expect((await world.changes()).v2).toEqual(['Begin', 'Quiet backend', 'Quiet buttons']);
  await complete(world, linear);
  await world.run();
  const [post] = await postsOf(world.app);
  expect(post?.markdown).toContain(
    '- Quiet mode ([#12](https://github.com/acme/rocket/pull/12), [#13](https://github.com/acme/rocket/pull/13), [ENG-412](https://linear.app/acme/issue/ENG-412/fuel-gauge))',
  );
  expect((await world.changes()).v2).toEqual(['Quiet mode', 'Begin']);
  // The draft says so no longer once the issue is open again.
  await complete(world, linear, { state: 'started', minute: 55 });
  await world.run();
  expect((await world.changes()).v2).toEqual(['Begin', 'Quiet backend', 'Quiet buttons']);
});

test('a post that a person published gets a suggestion', async () => {
  await world.trigger({ filters: { tag: ['v2'] } });
  const linear = await connectLinear(world.app, 'org_a');
  await world.happen(...HISTORY);
  await world.run();
  const [post] = await postsOf(world.app);
  await editPost(world.app.deps, post?.id ?? '', { status: 'published' });
  await complete(world, linear);
  await world.run();
  expect((await world.changes()).v2).toEqual(['Begin', 'Quiet backend', 'Quiet buttons']);
  expect((await getSuggestion(world.app.deps, post?.id ?? '')).markdown).toContain('- Quiet mode (');
});

test('an issue of another organization, or with another identifier, changes nothing', async () => {
  await world.trigger({ filters: { tag: ['v2'] } });
  const [own, other] = [await connectLinear(world.app, 'org_a'), await connectLinear(world.app, 'org_b')];
  await world.happen(...HISTORY);
  await world.run();
  const before = await postsOf(world.app);
  await complete(world, other);
  await complete(world, own, { identifier: 'ENG-41' });
  await world.run();
  expect(await postsOf(world.app)).toEqual(before);
});

test('a late commit leaves the rolling post alone that names the same issue', async () => {
  await world.trigger({ event: 'push' });
  const linear = await connectLinear(world.app, 'org_a');
  const late = world.project.happen({ push: ['fix: early\n\nPart of ENG-412'], at: at(0) });
  await world.happen({ release: 'v1', notes: 'The first.', at: at(1) });
  await world.run();
  await world.happen({ push: ['feat: later\n\nFixes ENG-412'], at: at(2) });
  await complete(world, linear);
  await world.run();
  const [open] = await postsOf(world.app);
  await world.deliver(late);
  await world.run();
  const posts = await postsOf(world.app);
  expect(posts).toHaveLength(2);
  expect(posts.find(({ id }) => id === open?.id)).toEqual(open);
});

test('the order in which commits, pull requests, releases and issues arrive never matters', async () => {
  // The last one is linked by the tracker alone.
  const ordered = [
    ...HISTORY.slice(0, -1),
    { merge: 14, title: 'Quiet doors', at: at(3.5) },
    ...HISTORY.slice(-1),
  ];
  const textsOf = async (order: readonly number[], runs: readonly boolean[]) => {
    await using own = await startProject();
    for (const event of ['release', 'push', 'pull_request']) await own.trigger({ event });
    const linear = await connectLinear(own.app, 'org_a');
    const steps = [
      ...ordered.map((happening) => {
        const deliveries = own.project.happen(happening);
        return () => own.deliver(deliveries);
      }),
      () => complete(own, linear),
      () => link(own, linear, { url: 'https://github.com/acme/rocket/pull/14' }),
    ];
    for (const [index, step] of order.entries()) {
      await steps[step]?.();
      if (runs[index]) await own.run();
    }
    await own.run();
    return (await postsOf(own.app)).map(({ title, markdown }) => [title, markdown]).sort();
  };
  const all = [...ordered.keys(), ordered.length, ordered.length + 1];
  const expected = await textsOf(all, []);
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(all, { minLength: all.length }),
      fc.array(fc.boolean(), { minLength: all.length, maxLength: all.length }),
      async (order, runs) => expect(await textsOf(order, runs)).toEqual(expected),
    ),
    { numRuns: rounds(10, 200) },
  );
}, 600_000);
