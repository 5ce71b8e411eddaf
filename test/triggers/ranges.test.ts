import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { findDraftOfPost } from '../../src/drafting/store.ts';
import { alongMainLine } from '../../src/drafting/triggers/range-graph.ts';
import { findRangeProblem } from '../../src/drafting/triggers/range-store.ts';
import { readRanges } from '../../src/drafting/triggers/ranges.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import { changeTrigger } from '../../src/drafting/triggers/service.ts';
import { editPost } from '../../src/posts/service.ts';
import { signedIn } from '../support/dashboard.ts';
import { valuesOf } from '../support/database.ts';
import { compose, postsOf, runAll } from '../support/drafts.ts';
import { addCommit } from '../support/github-api/code.ts';
import type { Delivery } from '../support/github-api/deliver.ts';
import { type ProjectApp, startProject } from '../support/project-app.ts';

// Which commits belong to a release: the graph at the provider says it, and the time where it cannot be asked.

let world: ProjectApp;

beforeEach(async () => {
  world = await startProject();
});
afterEach(() => world[Symbol.asyncDispose]());

const at = (minutes: number) =>
  new Date(Date.parse('2026-11-20T08:00:00Z') + minutes * 60_000).toISOString().replace('.000Z', 'Z');
const ranges = () =>
  valuesOf(world.app.db, sql`select tag, previous_tag, status, problem from release_ranges order by tag`);

describe('a release without notes', () => {
  test('has the commits that its tag has and the release before it lacks', async () => {
    await world.trigger({});
    await world.happen(
      { push: ['feat: begin'], at: at(0) },
      { release: 'v1.0.0', at: at(1) },
      { push: ['feat: quiet mode'], at: at(2) },
      { merge: 1, title: 'fix: the gauge', at: at(3) },
      { release: 'v1.1.0', at: at(4) },
    );
    await world.run();
    expect(await world.changes()).toEqual({ 'v1.0.0': ['Begin'], 'v1.1.0': ['Quiet mode', 'The gauge'] });
    expect(await ranges()).toEqual([
      ['v1.0.0', null, 'known', null],
      ['v1.1.0', 'v1.0.0', 'known', null],
    ]);
  });

  test('is read beside another release that cannot be read', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: begin'], at: at(0) }, { release: 'v1.0.0', at: at(1) });
    const { deps } = world.app;
    const openReader: typeof deps.openReader = async (...given) => {
      const reader = await deps.openReader(...given);
      return {
        ...reader,
        async listReleases(...asked) {
          const page = await reader.listReleases(...asked);
          const odd = { event: 'release', payload: { action: 'published', release: { tag_name: '' } } };
          return page && { ...page, items: [odd, ...page.items] };
        },
      };
    };
    await readRanges({ ...deps, openReader });
    expect(await ranges()).toEqual([['v1.0.0', null, 'known', null]]);
  });

  test('of a maintenance branch has nothing of the newer version', async () => {
    await world.trigger({});
    await world.happen(
      { push: ['feat: begin'], at: at(0) },
      { release: 'v1.9.4', at: at(1) },
      { push: ['fix: old things'], branch: '1.x', at: at(2) },
      { push: ['feat!: everything new'], at: at(3) },
      { release: 'v2.0.0', at: at(4) },
      { push: ['fix: more old things'], branch: '1.x', at: at(5) },
    );
    // The tag was put on a branch that the release does not name.
    const sha = world.project.repository.code.branches.get('1.x') ?? '';
    await world.happen({ release: 'v1.9.5', target: sha, at: at(6) });
    await world.happen({ push: ['feat: even newer'], at: at(7) }, { release: 'v2.1.0', at: at(8) });
    await world.run();
    expect(await world.changes()).toEqual({
      'v1.9.4': ['Begin'],
      'v2.0.0': ['**Breaking:** Everything new'],
      'v1.9.5': ['Old things', 'More old things'],
      'v2.1.0': ['Even newer'],
    });
    const [, fixed] = (await postsOf(world.app)).map(({ markdown }) => markdown);
    expect(fixed).toContain('/compare/v1.9.4...v1.9.5)');
  });

  test('after a merge of a maintenance branch begins at the version before it', async () => {
    await world.trigger({});
    await world.happen(
      { push: ['feat: begin'], at: at(0) },
      { release: 'v1.9.4', at: at(1) },
      { push: ['fix: old things'], branch: '1.x', at: at(2) },
      { push: ['feat: new things', 'feat: more of them'], at: at(3) },
      { release: 'v2.0.0', at: at(4) },
    );
    const { code } = world.project.repository;
    const [main = '', old = ''] = ['main', '1.x'].map((name) => code.branches.get(name));
    await world.happen({ release: 'v1.9.5', target: old, at: at(5) });
    const author = { name: 'Ann', email: 'ann@acme.test', login: 'ann' };
    const about = { message: "Merge branch '1.x'", author, committer: author, committedAt: at(6) };
    code.branches.set('main', addCommit(code, { parents: [main, old], ...about }).sha);
    await world.happen({ push: ['feat: newest'], at: at(7) }, { release: 'v2.1.0', at: at(8) });
    await world.run();
    expect(await world.changes()).toEqual({
      'v1.9.4': ['Begin'],
      'v2.0.0': ['New things', 'More of them'],
      'v1.9.5': ['Old things'],
      'v2.1.0': ['Newest'],
    });
    expect((await ranges()).find(([tag]) => tag === 'v2.1.0')?.[1]).toBe('v2.0.0');
  });

  test('of a past with many later ones begins at the release before it', async () => {
    await world.trigger({});
    world.project.happen({ push: ['feat: begin'], at: at(0) });
    world.project.happen({ release: 'v0.1.0', notes: 'Begun.', at: at(1) });
    world.project.happen({ push: ['feat: quiet mode'], at: at(2) });
    const past = world.project.happen({ release: 'v0.2.0', at: at(3) });
    for (let number = 0; number < 120; number++) {
      world.project.happen({ release: `v1.${number}.0`, notes: 'More.', at: at(4 + number) });
    }
    await world.deliver(past);
    await world.run();
    expect(await world.changes()).toEqual({ 'v0.2.0': ['Quiet mode'] });
  });

  test('has a commit that was made before the release before it, and pushed after it', async () => {
    await world.trigger({});
    const first = world.project.happen({ push: ['feat: begin'], at: at(0) });
    const early = world.project.happen({ release: 'v1.0.0', at: at(10) });
    const late = world.project.happen({ push: ['feat: made early'], at: at(5) });
    const next = world.project.happen({ release: 'v1.1.0', at: at(20) });
    await world.deliver([...next, ...late, ...early, ...first]);
    await world.run();
    expect(await world.changes()).toEqual({ 'v1.0.0': ['Begin'], 'v1.1.0': ['Made early'] });
  });

  test('on an older commit leaves the newer ones to the next', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: one'], at: at(0) });
    const sha = world.project.repository.code.branches.get('main') ?? '';
    await world.happen(
      { push: ['feat: two'], at: at(1) },
      { release: 'v1', target: sha, at: at(2) },
      { release: 'v2', at: at(3) },
    );
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['One'], v2: ['Two'] });
  });

  test('needs no push to have arrived', async () => {
    await world.trigger({});
    world.project.happen({ push: ['feat: begin'], at: at(0) });
    world.project.happen({ release: 'v1.0.0', notes: 'All of it.', at: at(1) });
    world.project.happen({ push: ['feat: quiet mode', 'fix: the gauge'], at: at(2) });
    await world.happen({ release: 'v1.1.0', at: at(3) });
    await world.run();
    expect(await world.changes()).toEqual({ 'v1.1.0': ['Quiet mode', 'The gauge'] });
  });

  test.each(['squash', 'merge', 'rebase'] as const)(
    'has a pull request once that was merged by %s, whatever arrived first',
    async (how) => {
      await world.trigger({});
      const past = [
        { push: ['feat: begin'], at: at(0) },
        { release: 'v1', at: at(1) },
        { merge: 7, title: 'feat: quiet mode', commits: ['soften', 'test the night'], how, at: at(2) },
        { release: 'v2', at: at(3) },
      ].map(world.project.happen);
      await world.deliver(past.flat().toReversed());
      await world.run();
      expect(await world.changes()).toEqual({ v1: ['Begin'], v2: ['Quiet mode'] });
    },
  );

  test('after a pre-release that the trigger leaves out has its commits too', async () => {
    await world.trigger({ filters: { prereleases: false } });
    await world.happen(
      { push: ['feat: begin'], at: at(0) },
      { release: 'v1.0.0', at: at(1) },
      { push: ['feat: for the candidate'], at: at(2) },
      { release: 'v1.1.0-rc.1', isPrerelease: true, notes: 'Try it.', at: at(3) },
      { push: ['fix: the candidate'], at: at(4) },
      { release: 'v1.1.0', at: at(5) },
    );
    await world.run();
    expect((await world.changes())['v1.1.0']).toEqual(['For the candidate', 'The candidate']);
    expect((await ranges()).map(([tag]) => tag)).toEqual(['v1.0.0', 'v1.1.0', 'v1.1.0-rc.1']);
  });

  test('of one package begins at the last release of that package', async () => {
    await world.trigger({ filters: { tag: ['api@*'], path: ['packages/api/**'] } });
    const commit = (message: string, ...paths: string[]) => ({ message, paths });
    await world.happen(
      { push: [commit('feat: begin', 'packages/api/a.ts')], at: at(0) },
      { release: 'api@1.0.0', at: at(1) },
      { push: [commit('feat: api one', 'packages/api/a.ts')], at: at(2) },
      { push: [commit('feat: web one', 'packages/web/a.ts')], at: at(3) },
      { release: 'web@7.0.0', at: at(4) },
      { push: [commit('feat: api two', 'packages/api/b.ts', 'README.md')], at: at(5) },
      { release: 'api@1.1.0', at: at(6) },
    );
    await world.run();
    expect((await world.changes())['api@1.1.0']).toEqual(['Api one', 'Api two']);
  });
});

describe('a rolling draft', () => {
  test('is closed with the commits of the release, not with those of its time', async () => {
    await world.trigger({ event: 'push' });
    await world.happen({ push: ['feat: one'], at: at(0) });
    const sha = world.project.repository.code.branches.get('main') ?? '';
    await world.happen(
      { push: ['feat: two'], at: at(1) },
      { release: 'v1', target: sha, notes: 'One.', at: at(2) },
    );
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['One'], 'Unreleased: acme/rocket': ['Two'] });
  });

  test('is parted within a push', async () => {
    await world.trigger({ event: 'push' });
    await world.happen({ push: ['feat: one', 'feat: two', 'feat: three'], at: at(0) });
    const { code } = world.project.repository;
    const [, two] = code.commits.keys();
    await world.happen({ release: 'v1', target: two ?? '', notes: 'One and two.', at: at(2) });
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['One', 'Two'], 'Unreleased: acme/rocket': ['Three'] });
  });

  test('repeats no commit of a published one, whatever push brings it', async () => {
    await world.trigger({ event: 'push' });
    const first = world.project.happen({ push: ['feat: one', 'feat: two'], at: at(0) });
    const second = world.project.happen({ push: ['feat: three'], at: at(1) });
    await world.deliver([...first, ...second]);
    await world.run();
    const [post] = await postsOf(world.app);
    await editPost(world.app.deps, post?.id ?? '', { status: 'published' });
    // A poll brings both pushes as one, and one more.
    const [{ payload } = { payload: { commits: [] } }] = world.project.happen({
      push: ['feat: four'],
      at: at(2),
    });
    const commits = [...first, ...second].flatMap((each) => each.payload.commits as object[]);
    await world.deliver([
      {
        event: 'push',
        guid: crypto.randomUUID(),
        isRedelivery: false,
        payload: { ...payload, commits: [...commits, ...(payload.commits as object[])] },
      },
    ]);
    await world.run();
    const posts = (await postsOf(world.app)).map(({ status, markdown }) => [
      status,
      markdown.match(/^- \w+/gm),
    ]);
    expect(Object.fromEntries(posts)).toEqual({
      draft: ['- Four'],
      published: ['- One', '- Two', '- Three'],
    });
  });

  test('forgets a commit that a forced push has dropped, once a release comes without it', async () => {
    await world.trigger({ event: 'push' });
    await world.happen(
      { push: ['feat: begin'], at: at(0) },
      { push: ['feat: dropped'], at: at(1) },
      { push: ['feat: kept'], drop: 1, at: at(2) },
      { release: 'v1', at: at(3) },
      { push: ['feat: next'], at: at(4) },
    );
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['Begin', 'Kept'], 'Unreleased: acme/rocket': ['Next'] });
  });
});

describe('a push whose payload names fewer commits than it counts', () => {
  /** Leaves the newest commits in a delivery, as servers do that list only some. */
  const cutTo =
    (kept: number) =>
    ({ payload, ...delivery }: Delivery): Delivery => {
      const { commits } = payload as { commits: unknown[] };
      return { ...delivery, payload: { ...payload, commits: commits.slice(-kept), size: commits.length } };
    };
  const problemOf = async ({ app }: ProjectApp) => {
    const [post] = await postsOf(app);
    return app.db.read(async (tx) => findRangeProblem(tx, await findDraftOfPost(tx, post?.id ?? '')));
  };

  test('gets the others from the provider, each once, and its draft says nothing of it', async () => {
    await world.trigger({ event: 'push' });
    await world.happen({ push: ['feat: begin'], at: at(0) });
    const [pushed] = world.project.happen({ push: ['feat: one', 'fix: two', 'feat: three'], at: at(1) });
    if (pushed === undefined) throw new Error('The push was not delivered');
    await world.deliver([cutTo(1)(pushed)]);
    await world.run();
    const all = { 'Unreleased: acme/rocket': ['Begin', 'One', 'Three', 'Two'] };
    expect(await world.changes()).toEqual(all);
    expect(await problemOf(world)).toBeNull();
    expect(await ranges()).toEqual([]);

    // Sent again, by the same id and by another, it changes nothing; and nothing asks again.
    await world.deliver([cutTo(1)(pushed), { ...cutTo(2)(pushed), guid: 'again' }]);
    expect(await ranges()).toEqual([]);
    await world.run();
    expect(await world.changes()).toEqual(all);
  });

  test.each([
    ['is asked late', null, 60_000],
    ['has a limit', 'answers 429 for its rate limit', 86_400_000],
    ['fails at first', 'answers 502 with a page', 2_000],
  ] as const)('completes the draft that is there already, when the provider %s', async (_, fault, waitMs) => {
    await world.trigger({ event: 'push' });
    await world.happen({ push: ['feat: begin'], at: at(0) });
    await world.run();
    const ids = (await postsOf(world.app)).map(({ id }) => id);
    await world.deliver(world.project.happen({ push: ['feat: one', 'fix: two'], at: at(1) }).map(cutTo(1)));
    if (fault === null) world.app.clock.advance(waitMs);
    else {
      world.api.failNext(fault);
      await readRanges(world.app.deps);
    }
    await runTriggers(world.app.deps, compose);
    world.app.clock.advance(1_000);
    await runTriggers(world.app.deps, compose);
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Begin', 'Two'] });
    expect(await problemOf(world)).toStartWith('A push of 2 commits named only 1: changes may be missing.');

    world.app.clock.advance(waitMs);
    await world.run();
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Begin', 'One', 'Two'] });
    expect((await postsOf(world.app)).map(({ id }) => id)).toEqual(ids);
    expect(await problemOf(world)).toBeNull();
    expect(await ranges()).toEqual([]);
  });

  test('brings those in the folder of a filter alone', async () => {
    await world.trigger({ event: 'push', filters: { path: ['api/**'] } });
    await world.happen({ push: [{ message: 'feat: begin', paths: ['api/a.ts'] }], at: at(0) });
    const pushes = world.project.happen({
      push: [
        { message: 'feat: page', paths: ['web/b.ts'] },
        { message: 'feat: end', paths: ['api/c.ts'] },
        { message: 'feat: more pages', paths: ['web/d.ts'] },
      ],
      at: at(1),
    });
    await world.deliver(pushes.map(cutTo(1)));
    await world.run();
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Begin', 'End'] });
  });

  test('says what keeps the provider from telling them', async () => {
    await using hidden = await startProject({ isPrivate: true });
    await hidden.trigger({ event: 'push' });
    await hidden.happen({ push: ['feat: begin'], at: at(0) });
    const pushes = hidden.project.happen({ push: ['feat: one', 'feat: two'], at: at(1) });
    await hidden.deliver(pushes.map(cutTo(1)));
    await hidden.run();
    expect(await hidden.changes()).toEqual({ 'Unreleased: acme/rocket': ['Begin', 'Two'] });
    const problem = await problemOf(hidden);
    expect(problem).toStartWith(
      'A push of 2 commits named only 1: changes may be missing. GitHub could not be asked for them. ',
    );
    expect(problem).toContain('acme/rocket');
  });

  test.each([
    ['all of its history', [], ['One', 'Two'], null],
    [
      'some of its history',
      ['feat: before'],
      ['Two'],
      'A push of 2 commits named only 1: changes may be missing. GitHub could not be asked for them. ' +
        'The branch is new and has more commits: which 2 of them were pushed is unknown.',
    ],
  ])('of a new branch gets the others when it brought %s', async (_, earlier, changes, problem) => {
    await world.trigger({ event: 'push' });
    if (earlier.length > 0) world.project.happen({ push: earlier, at: at(0) });
    const [pushed] = world.project.happen({ push: ['feat: one', 'feat: two'], at: at(1) }).map(cutTo(1));
    if (pushed === undefined) throw new Error('The push was not delivered');
    await world.deliver([{ ...pushed, payload: { ...pushed.payload, before: '0'.repeat(40) } }]);
    await world.run();
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': changes });
    expect(await problemOf(world)).toBe(problem);
  });

  test('that does not tell where it began is not asked for', async () => {
    await world.trigger({ event: 'push' });
    const [pushed] = world.project.happen({ push: ['feat: one', 'feat: two'], at: at(1) }).map(cutTo(1));
    if (pushed === undefined) throw new Error('The push was not delivered');
    await world.deliver([{ ...pushed, payload: { ...pushed.payload, before: null } }]);
    expect(await ranges()).toEqual([]);
    await world.run();
    expect(await problemOf(world)).toBe('A push of 2 commits named only 1: changes may be missing.');
  });

  test('of more than can be read gets the newest, keeps those that it named, and says so', async () => {
    await world.trigger({ event: 'push' });
    await world.happen({ push: ['feat: begin'], at: at(0) });
    const push = ['feat: 1', 'feat: 2', 'feat: 3', 'feat: 4', 'feat: 5'];
    const [pushed] = world.project.happen({ push, at: at(1) });
    if (pushed === undefined) throw new Error('The push was not delivered');
    const { commits, ...payload } = pushed.payload as { commits: unknown[] };
    const cut = { ...pushed, payload: { ...payload, commits: commits.slice(0, 1), size: push.length } };
    const { deps } = world.app;
    /** As providers do that list the newest 2,000. */
    const openReader: typeof deps.openReader = async (...given) => {
      const reader = await deps.openReader(...given);
      return {
        ...reader,
        async listCommits(...asked) {
          const range = await reader.listCommits(...asked);
          return { ...range, commits: range.commits.slice(-2), isCut: true };
        },
      };
    };
    for (const guid of ['once', 'again']) {
      await world.deliver([{ ...cut, guid }]);
      await readRanges({ ...deps, openReader });
      await world.run();
      expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Begin', '1', '4', '5'] });
      expect(await problemOf(world)).toBe(
        'A push of 5 commits is known in part. It has more commits than the newest 2, which are listed.',
      );
    }
  });

  test('keeps the files of those that it named for another filter, where one folder was asked for', async () => {
    const { id } = await world.trigger({ event: 'push', filters: { path: ['api/**'] } });
    await world.happen({ push: [{ message: 'feat: begin', paths: ['api/a.ts'] }], at: at(0) });
    const pushes = world.project.happen({
      push: [
        { message: 'feat: one', paths: ['api/b.ts'] },
        { message: 'feat: page', paths: ['web/c.ts'] },
        { message: 'feat: end', paths: ['api/d.ts'] },
      ],
      at: at(1),
    });
    await world.deliver(pushes.map(cutTo(2)));
    await world.run();
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Begin', 'One', 'End'] });
    await changeTrigger(world.app.deps, id, { filters: { path: ['web/*.ts'] } });
    await world.happen({ push: [{ message: 'feat: more', paths: ['web/e.ts'] }], at: at(2) });
    await world.run();
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Page', 'More'] });
  });

  test('keeps the files of those that it named, where no folder can be asked for', async () => {
    await world.trigger({ event: 'push', filters: { path: ['**/c.ts'] } });
    await world.happen({ push: [{ message: 'feat: begin', paths: ['api/c.ts'] }], at: at(0) });
    const pushes = world.project.happen({
      push: [
        { message: 'feat: unknown', paths: ['web/b.ts'] },
        { message: 'feat: end', paths: ['api/c.ts'] },
        { message: 'feat: page', paths: ['web/d.ts'] },
      ],
      at: at(1),
    });
    await world.deliver(pushes.map(cutTo(2)));
    await world.run();
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Begin', 'Unknown', 'End'] });
  });
});

describe('when the provider cannot tell', () => {
  test('a private repository without a token stays by time, and waits for nothing', async () => {
    await using hidden = await startProject({ isPrivate: true });
    await hidden.trigger({});
    await hidden.happen({ push: ['feat: begin'], at: at(0) }, { release: 'v1', at: at(1) });
    await hidden.run();
    expect(await hidden.changes()).toEqual({ v1: ['Begin'] });
    const [[status, problem] = []] = await valuesOf(
      hidden.app.db,
      sql`select status, problem from release_ranges`,
    );
    expect([status, problem]).toEqual(['unknown', expect.stringContaining('acme/rocket')]);
    const [post] = await postsOf(hidden.app);
    const visit = await signedIn(hidden.app, { organizationId: 'org_a' });
    const page = await (await visit(`/dashboard/org_a/posts/${post?.id}`)).text();
    expect(page).toContain('By time, because GitHub could not be asked. ');
    // A replay or an edit asks again.
    await hidden.happen({ edit: 'v1', name: 'One' });
    expect(await valuesOf(hidden.app.db, sql`select status from release_ranges`)).toEqual([['queued']]);
  });

  test('a run waits until it was asked once, for a minute at most', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: begin'], at: at(0) }, { release: 'v1', at: at(1) });
    world.app.clock.advance(59_000);
    await runTriggers(world.app.deps, compose);
    expect(await postsOf(world.app)).toEqual([]);
    world.app.clock.advance(2_000);
    await runTriggers(world.app.deps, compose);
    expect(await world.changes()).toEqual({ v1: ['Begin'] });
  });

  test('a limit delays the graph, not the draft, which is written again when the commits come', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: begin'], at: at(0) });
    const sha = world.project.repository.code.branches.get('main') ?? '';
    await world.happen({ push: ['feat: not in it'], at: at(1) }, { release: 'v1', target: sha, at: at(2) });
    world.api.limits.anonymous = 0;
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['Begin', 'Not in it'] });
    expect(await ranges()).toEqual([['v1', null, 'queued', expect.stringContaining('no more requests')]]);
    world.api.limits.anonymous = 60;
    world.app.clock.advance(3_600_000);
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['Begin'] });
  });

  test('a later release takes back what an earlier one had by time', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: begin'], at: at(0) });
    const sha = world.project.repository.code.branches.get('main') ?? '';
    await world.happen({ push: ['feat: not in it'], at: at(1) }, { release: 'v1', target: sha, at: at(2) });
    world.api.failNext('answers 502 with a page', { times: 6 });
    for (const waitMs of [0, 2_000, 10_000, 60_000, 600_000, 3_600_000]) {
      world.app.clock.advance(waitMs);
      await readRanges(world.app.deps);
    }
    await runAll(world.app);
    expect(await world.changes()).toEqual({ v1: ['Begin', 'Not in it'] });
    await world.happen({ release: 'v2', at: at(3) });
    await world.run();
    expect(await ranges()).toEqual([
      ['v1', null, 'unknown', expect.any(String)],
      ['v2', 'v1', 'known', null],
    ]);
    expect(await world.changes()).toEqual({ v1: ['Begin'], v2: ['Not in it'] });
  });

  test('a server that fails is asked a few times more', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: begin'], at: at(0) }, { release: 'v1', at: at(1) });
    world.api.failNext('answers 502 with a page', { times: 20 });
    for (const waitMs of [0, 2_000, 10_000, 60_000, 600_000, 3_600_000]) {
      world.app.clock.advance(waitMs);
      expect(await readRanges(world.app.deps)).toBe(1);
    }
    expect(await readRanges(world.app.deps)).toBe(0);
    expect(await ranges()).toEqual([['v1', null, 'unknown', expect.any(String)]]);
    await runAll(world.app);
    expect(await world.changes()).toEqual({ v1: ['Begin'] });
  });

  test('a listed release that cannot be read keeps no other from being asked for', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: begin'], at: at(0) });
    world.project.happen({ release: '', notes: 'A tag without a name.', at: at(1) });
    await world.happen({ release: 'v1', at: at(2) });
    await world.run();
    expect(await ranges()).toEqual([['v1', null, 'known', null]]);
    expect(await world.changes()).toEqual({ v1: ['Begin'] });
  });

  test('a filter by path that asks again takes no commits from what is known', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: one'], at: at(0) });
    const sha = world.project.repository.code.branches.get('main') ?? '';
    await world.happen({ push: ['feat: two'], at: at(1) }, { release: 'v1', target: sha, at: at(2) });
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['One'] });
    world.api.limits.anonymous = 0;
    await world.trigger({ filters: { path: ['packages/api/**'] } });
    await world.run();
    await world.happen({ edit: 'v1', name: 'The first', notes: null });
    await world.run();
    expect(await world.changes()).toEqual({ 'The first': ['One'] });
  });

  test('a limit is met once for all the releases of a repository', async () => {
    await world.trigger({});
    await world.happen({ push: ['feat: begin'], at: at(0) });
    for (let index = 1; index <= 25; index++) await world.happen({ release: `v${index}`, at: at(index) });
    world.api.limits.anonymous = 0;
    const { length } = world.api.requests;
    await readRanges(world.app.deps);
    expect(world.api.requests).toHaveLength(length + 1);
    expect(new Set((await ranges()).map(([, , status]) => status))).toEqual(new Set(['queued']));
  });
});

test.each([
  ['2026-11-20T08:00:00Z', '2026-11-20T08:00:00.000Z'],
  ['2016-12-31T23:59:60Z', null],
  ['yesterday', null],
])('a commit that was made at %p has the time %p: windows calculate with it', (committedAt, at) => {
  const commit = { sha: 'a'.repeat(40), author: null, url: null };
  const known = { ...commit, subject: 'feat: begin', breaking: null };
  const read = { ...commit, message: 'feat: begin', committedAt, parents: [] };
  expect(alongMainLine([known], [read], () => undefined)).toEqual([{ ...known, at }]);
});
