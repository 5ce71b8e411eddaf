import { beforeEach, describe, expect, test } from 'bun:test';
import { createRoundupWorker, makeNow } from '../../src/drafting/roundups/make.ts';
import {
  changeRoundup,
  createRoundup,
  deleteRoundup,
  type RoundupRule,
  switchRoundup,
} from '../../src/drafting/roundups/service.ts';
import { findRoundupOfPost, listRoundups, type Source } from '../../src/drafting/roundups/store.ts';
import { replayDelivery } from '../../src/intake/receiver/send.ts';
import { listDeliveries } from '../../src/integrations/deliveries/log-store.ts';
import { disconnectIntegration } from '../../src/integrations/places.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { listAuditEvents } from '../../src/people/audit.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { connectGithub, connectLinear, githubRequest, linearRequest } from '../support/deliveries.ts';
import { compose, postsOf } from '../support/drafts.ts';
import { changed, type Payload } from '../support/payloads.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

const HOUR = 3_600_000;
const WEEK = 7 * 24 * HOUR;

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  connected = await connectGithub(app, 'org_a');
});

const whole = ({ integrationId }: Connected): Source => ({ integrationId, repositoryId: null, team: null });

function create(given: Partial<RoundupRule> = {}) {
  return createRoundup(app.deps, 'org_a', {
    ...{ name: 'Weekly', cadence: 'weekly', weekday: 1, time: '09:00', timeZone: 'UTC' },
    ...{ groupBy: 'repository', whenEmpty: 'skip', contentType: 'changelog', sources: [whole(connected)] },
    ...given,
  });
}

const shaOf = (name: string) => Bun.SHA1.hash(name, 'hex');

async function send(event: string, payload: Payload, to = connected): Promise<void> {
  const [path, init] = githubRequest(to, payload, { event });
  expect((await app.request(path, init)).status).toBe(200);
}

const sample = (event: string, repository: string) =>
  samplePayload('github', event, { repository, now: app.clock.now() }) ?? {};

function push(subjects: string[], { repository = 'acme/rocket', to = connected } = {}): Promise<void> {
  const commits = subjects.map((subject) => {
    const id = shaOf(subject);
    const url = `https://github.com/${repository}/commit/${id}`;
    return { id, message: subject, author: { name: 'Ann' }, url, timestamp: app.clock.now().toISOString() };
  });
  const changes = {
    commits,
    after: commits.at(-1)?.id,
    'repository.pushed_at': app.clock.now().getTime() / 1000,
  };
  return send('push', changed(sample('push', repository), changes), to);
}

/** `commit`: the subject of its merge commit. */
function merge(number: number, title: string, commit: string, more: Record<string, unknown> = {}) {
  const facts = { number, title, body: null, merged_at: app.clock.now().toISOString(), ...more };
  const all = { ...facts, merge_commit_sha: shaOf(commit), labels: [] };
  const changes = Object.fromEntries(
    Object.entries(all).map(([name, value]) => [`pull_request.${name}`, value]),
  );
  const url = `https://github.com/acme/rocket/pull/${number}`;
  const all2 = { ...changes, number, 'pull_request.html_url': url };
  return send('pull_request', changed(sample('pull_request', 'acme/rocket'), all2));
}

/** The server's work at its next beat. */
const beat = () => createRoundupWorker(app.deps, compose)();

/** Lets a week pass, and the server work. */
function nextWeek(): Promise<number> {
  app.clock.advance(WEEK);
  return beat();
}

/** The lines of each post, oldest first. */
async function told(): Promise<string[][]> {
  const lines = (await postsOf(app)).map(({ markdown }) =>
    Array.from(markdown.matchAll(/^- (.*?) \(/gm), ([, text = '']) => text),
  );
  return lines.reverse();
}

describe('a roundup', () => {
  test('is one draft of what changed, by repository, at its time', async () => {
    const site = await connectGithub(app, 'org_a', 'acme/site');
    const roundup = await create({ sources: [whole(connected), whole(site)] });
    expect(roundup.nextAt).toBe('2026-11-23T09:00:00.000Z');
    await push(['feat: quiet mode', 'fix: a leak']);
    await push(['feat: dark site'], { repository: 'acme/site', to: site });
    expect(await beat()).toBe(0);
    app.clock.set('2026-11-23T09:00:00.000Z');
    expect(await beat()).toBe(1);
    const [post] = await postsOf(app);
    expect(post).toMatchObject({
      title: 'Weekly: November 23, 2026',
      status: 'draft',
      createdAt: '2026-11-23T09:00:00.000Z',
      sourceMetadata: { roundupId: roundup.id },
    });
    expect(
      post?.markdown.replaceAll(/\(\[.*?\)\)/g, '()'),
    ).toBe(`## [acme/rocket](https://github.com/acme/rocket)

### Added

- Quiet mode ()

### Fixed

- A leak ()

## [acme/site](https://github.com/acme/site)

### Added

- Dark site ()`);
    const found = await app.db.read((tx) => findRoundupOfPost(tx, post?.id ?? ''));
    expect(found).toMatchObject({ roundup: { id: roundup.id, nextAt: '2026-11-30T09:00:00.000Z' } });
    expect(found?.changes).toHaveLength(3);
    expect(await beat()).toBe(0);
    expect(await nextWeek()).toBe(0);
  });

  test('may group over all repositories, and then names the repository of each change', async () => {
    const site = await connectGithub(app, 'org_a', 'acme/site');
    await create({ groupBy: 'kind', sources: [whole(connected), whole(site)] });
    await push(['feat: quiet mode (#12)']);
    await push(['feat: dark site'], { repository: 'acme/site', to: site });
    await nextWeek();
    const [post] = await postsOf(app);
    expect(post?.markdown).toStartWith('## Added\n\n- Quiet mode ([rocket#12](');
    expect(post?.markdown).toContain(`- Dark site ([site@${shaOf('feat: dark site').slice(0, 7)}](`);
  });

  test('may be a LinkedIn post', async () => {
    await create({ contentType: 'linkedin_post' });
    await push(['feat: quiet mode']);
    await nextWeek();
    expect((await postsOf(app))[0]?.content).toBe('Weekly:\n\n• Quiet mode');
  });

  test('makes no post, or says that nothing changed', async () => {
    await create();
    await create({ name: 'Loud', whenEmpty: 'line' });
    await push(['feat: quiet mode', 'docs: skip me']);
    expect(await nextWeek()).toBe(2);
    expect(await nextWeek()).toBe(1);
    expect((await postsOf(app))[0]).toMatchObject({
      title: 'Loud: December 4, 2026',
      content: 'No changes this time.',
    });
  });

  test('has neither a change nor its revert, and one that takes back an earlier post', async () => {
    await create();
    const revert = `Revert "feat: bad idea"\n\nThis reverts commit ${shaOf('feat: bad idea')}.`;
    await push(['feat: quiet mode', 'feat: bad idea', revert]);
    await nextWeek();
    await push([`Revert "feat: quiet mode"\n\nThis reverts commit ${shaOf('feat: quiet mode')}.`]);
    await nextWeek();
    expect(await told()).toEqual([['Quiet mode'], ['Revert: quiet mode']]);
  });

  test('joins a completed issue with the change that names it', async () => {
    const linear = await connectLinear(app, 'org_a');
    await create({ sources: [whole(connected), whole(linear)] });
    const complete = async (number: number, state: string) => {
      const time = app.clock.now().toISOString();
      const payload = changed(samplePayload('linear', 'Issue', { now: app.clock.now() }) ?? {}, {
        'data.id': `issue-${number}`,
        'data.identifier': `ENG-${number}`,
        'data.title': `Issue ${number}`,
        'data.labels': [],
        'data.state.type': state,
        'data.completedAt': state === 'completed' ? time : null,
        'data.updatedAt': time,
      });
      expect((await app.request(...linearRequest(linear, payload))).status).toBe(200);
      app.clock.advance(1_000);
    };
    await merge(12, 'Quiet mode', 'merge 12', { body: 'Fixes ENG-1' });
    for (const number of [1, 2, 3]) await complete(number, 'completed');
    await complete(3, 'started');
    await nextWeek();
    await complete(3, 'completed');
    await complete(2, 'completed');
    await nextWeek();
    expect(await told()).toEqual([['Quiet mode', 'Issue 2'], ['Issue 3']]);
    expect((await postsOf(app))[1]?.markdown).toContain('## Engineering');
  });
});

describe('a change is in one roundup', () => {
  const merged = ['feat: a side step', 'Merge pull request #12 from ann/quiet: Quiet mode'];
  const squashed = ['Quiet mode (#12)'];

  test.each([
    ['its push', merged],
    ['its squash', squashed],
  ])('whichever comes first, the pull request or %s', async (_, subjects) => {
    const events = [() => merge(12, 'Quiet mode', subjects.at(-1) ?? ''), () => push(subjects)];
    for (const order of [events, events.toReversed()]) {
      await create();
      for (const happen of order) {
        await happen();
        await nextWeek();
      }
      const posts = await told();
      expect(posts.flat()).toHaveLength(posts.flat().includes('A side step') ? 2 : 1);
      expect(posts).toHaveLength(1);
      app = await appWithOrganization();
      connected = await connectGithub(app, 'org_a');
    }
  });

  test('when it is replayed, also from another connection', async () => {
    await create();
    await push(['feat: quiet mode']);
    await nextWeek();
    const [delivery] = await app.db.read((tx) => listDeliveries(tx, 'org_a', {}, { limit: 1 }));
    if (delivery === undefined) throw new Error('no delivery');
    await replayDelivery(app.deps, delivery);
    const again = await connectGithub(app, 'org_a');
    const [roundup] = await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }));
    await changeRoundup(app.deps, roundup?.id ?? '', { sources: [whole(again)] });
    await push(['feat: quiet mode'], { to: again });
    await nextWeek();
    expect(await told()).toEqual([['Quiet mode']]);
  });

  test('of a push that says more later', async () => {
    await create();
    const now = app.clock.now();
    await push(['feat: one']);
    await nextWeek();
    // As polling reads it, under the same commit.
    const one = shaOf('feat: one');
    const commits = ['feat: zero', 'feat: one'].map((message) => ({
      id: shaOf(message),
      message,
      author: { name: 'Ann' },
      url: `https://github.com/acme/rocket/commit/${shaOf(message)}`,
      timestamp: now.toISOString(),
    }));
    await send(
      'push',
      changed(sample('push', 'acme/rocket'), {
        commits,
        after: one,
        'repository.pushed_at': now.getTime() / 1000,
      }),
    );
    await nextWeek();
    expect(await told()).toEqual([['One'], ['Zero']]);
  });

  test('when it comes while the roundup is disabled, and when no server ran', async () => {
    const { id } = await create();
    await switchRoundup(app.deps, id, false);
    await push(['feat: one']);
    expect(await nextWeek()).toBe(0);
    const { nextAt } = await switchRoundup(app.deps, id, true);
    await push(['feat: two']);
    app.clock.advance(5 * WEEK);
    expect(Date.parse(nextAt)).toBeLessThan(app.clock.now().getTime());
    expect(await beat()).toBe(1);
    expect(await beat()).toBe(0);
    expect(await told()).toEqual([['One', 'Two']]);
    const [roundup] = await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }));
    expect(Date.parse(roundup?.nextAt ?? '')).toBeGreaterThan(app.clock.now().getTime());
  });

  test('when somebody makes it now, which leaves the schedule', async () => {
    const { id, nextAt } = await create();
    await push(['feat: one']);
    const made = await Promise.all([makeNow(app.deps, compose, id), makeNow(app.deps, compose, id)]);
    expect(made.filter((post) => post !== null)).toHaveLength(1);
    expect(await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }))).toMatchObject([
      { nextAt },
    ]);
    await push(['feat: two']);
    await nextWeek();
    expect(await told()).toEqual([['One'], ['Two']]);
    expect(await makeNow(app.deps, compose, id)).toBeNull();
  });

  test('of very many, in several drafts at once', async () => {
    await create();
    const subjects = Array.from({ length: 2_500 }, (_, index) => `feat: thing ${index}`);
    for (let start = 0; start < subjects.length; start += 500) {
      app.clock.advance(1_000);
      await push(subjects.slice(start, start + 500));
    }
    expect(await nextWeek()).toBe(3);
    expect((await told()).map(({ length }) => length).sort((a, b) => a - b)).toEqual([500, 1_000, 1_000]);
    expect(new Set((await told()).flat()).size).toBe(2_500);
    expect(await nextWeek()).toBe(0);
  });

  test('when the draft could not be written', async () => {
    await create();
    await push(['feat: one']);
    app.clock.advance(WEEK);
    let failures = 1;
    const work = createRoundupWorker(app.deps, async (...given) => {
      if (failures-- > 0) throw new Error('no memory');
      return compose(...given);
    });
    expect([await work(), await work()]).toEqual([0, 0]);
    app.clock.advance(HOUR);
    expect(await work()).toBe(1);
    expect(await told()).toEqual([['One']]);
  });

  test('a year later its event brings nothing again', async () => {
    await create();
    await push(['feat: one']);
    await nextWeek();
    const [delivery] = await app.db.read((tx) => listDeliveries(tx, 'org_a', {}, { limit: 1 }));
    if (delivery === undefined) throw new Error('no delivery');
    app.clock.advance(60 * WEEK);
    await push(['feat: two']);
    await nextWeek();
    await replayDelivery(app.deps, delivery);
    await nextWeek();
    expect(await told()).toEqual([['One'], ['Two']]);
  });
});

describe('managing roundups', () => {
  test.each([
    [{ name: ' ' }, 'name'],
    [{ weekday: 8 }, 'weekday'],
    [{ time: '9:00' }, 'time'],
    [{ timeZone: 'Mars/Base' }, 'timeZone'],
    [{ sources: [] }, 'sources'],
    [{ sources: [{ integrationId: 'int_none', repositoryId: null, team: null }] }, 'sources'],
  ])('%p is refused', async (given, field) => {
    const failure = await create(given).catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 400, fields: { [field]: expect.any(String) } });
    expect(await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }))).toEqual([]);
  });

  test('the places belong to the organization', async () => {
    const other = await connectGithub(app, 'org_b', 'other/rocket');
    const failure = await create({ sources: [whole(other)] }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 400, fields: { sources: expect.any(String) } });
    await create();
    await push(['feat: secret'], { repository: 'other/rocket', to: other });
    await nextWeek();
    expect(await postsOf(app)).toEqual([]);
  });

  test('a new schedule begins today, and what left the places is in no post', async () => {
    const site = await connectGithub(app, 'org_a', 'acme/site');
    const { id } = await create({ sources: [whole(connected), whole(site)] });
    await push(['feat: dark site'], { repository: 'acme/site', to: site });
    const next = await changeRoundup(app.deps, id, {
      ...{ cadence: 'monthly', weekday: 5, time: '17:30', timeZone: 'America/New_York' },
      sources: [whole(connected)],
    });
    expect(next).toMatchObject({ nextAt: '2026-12-04T22:30:00.000Z', startsOn: '2026-11-20' });
    app.clock.set(next.nextAt);
    expect(await beat()).toBe(0);
  });

  test('a clock that was set ahead does not keep a roundup away', async () => {
    app.clock.jump(100 * WEEK);
    await create();
    const [roundup] = await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }));
    app.clock.jump(-100 * WEEK);
    expect(await beat()).toBe(0);
    const [now] = await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }));
    expect(Date.parse(now?.nextAt ?? '')).toBeLessThan(Date.parse(roundup?.nextAt ?? ''));
  });

  test('it ends with its organization’s integrations, and is deleted by its id', async () => {
    const { id } = await create();
    await push(['feat: one']);
    await disconnectIntegration(app.deps, connected.integrationId);
    expect(await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }))).toMatchObject([
      { id, sources: [] },
    ]);
    expect(await nextWeek()).toBe(0);
    await deleteRoundup(app.deps, id);
    expect(await app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }))).toEqual([]);
    const events = await app.db.read((tx) => listAuditEvents(tx, 'org_a', {}, 10));
    expect(
      events.filter(({ action }) => action.startsWith('roundup.')).map(({ summary }) => summary),
    ).toEqual(['deleted the roundup “Weekly”', 'created the roundup “Weekly”']);
  });
});
