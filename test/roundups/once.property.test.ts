import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createRoundupWorker, makeNow } from '../../src/drafting/roundups/make.ts';
import { CADENCES, createRoundup, GROUPINGS, switchRoundup } from '../../src/drafting/roundups/service.ts';
import { replayDelivery } from '../../src/intake/receiver/send.ts';
import { listDeliveries } from '../../src/integrations/deliveries/log-store.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { compose, postsOf } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { rounds } from '../support/rounds.ts';

// Each change is in one post of each roundup, whatever its schedule and however the change arrives.

const HOUR = 3_600_000;

const schedule = fc.record({
  cadence: fc.constantFrom(...CADENCES),
  weekday: fc.integer({ min: 1, max: 7 }),
  time: fc.constantFrom('00:00', '02:30', '09:00', '23:59'),
  timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'),
  groupBy: fc.constantFrom(...GROUPINGS),
});

/** How many of the next deliveries come late, and in which order. */
const order = fc.nat(5);

const step = fc.oneof(
  // A push of commits, and one that merges a pull request: by a merge commit, or by a squash.
  fc.record({ push: fc.integer({ min: 1, max: 3 }), order }),
  fc.record({ merge: fc.nat(2), order }),
  // A push that brings the last commits once more, as polling reads it.
  fc.record({ overlaps: fc.integer({ min: 1, max: 5 }), order }),
  fc.record({ squash: fc.constant(true), order }),
  fc.record({ passes: fc.integer({ min: 1, max: 24 * 20 }), isRunning: fc.boolean() }),
  fc.record({ arrives: fc.nat(10) }),
  fc.record({ again: fc.nat(30) }),
  fc.record({ replays: fc.nat(30) }),
  fc.record({ now: fc.nat(2) }),
  fc.record({ switches: fc.nat(2), enabled: fc.boolean() }),
);

const world = fc.record({
  schedules: fc.array(schedule, { minLength: 1, maxLength: 2 }),
  steps: fc.array(step, { minLength: 5, maxLength: 30 }),
});

async function check({ schedules, steps }: typeof world extends fc.Arbitrary<infer World> ? World : never) {
  const { app, connected } = await appWithGithub();
  const { integrationId } = connected;
  const ids: string[] = [];
  for (const rule of schedules) {
    const sources = [{ integrationId, repositoryId: null, team: null }];
    const given = { ...rule, name: 'Roundup', whenEmpty: 'skip', contentType: 'changelog', sources } as const;
    ids.push((await createRoundup(app.deps, 'org_a', given)).id);
  }
  const beat = () => createRoundupWorker(app.deps, compose)();
  /** Deliveries on their way, and all that were sent. */
  const late: { event: string; payload: unknown }[] = [];
  const sent: typeof late = [];
  /** Changes that must be in one post, and those that may be. */
  const titles: string[] = [];
  const sides: string[] = [];
  /** The subjects of all commits. */
  const pushed: string[] = [];
  let count = 0;

  async function deliver({ event, payload }: (typeof late)[number]): Promise<void> {
    sent.push({ event, payload });
    const [path, init] = githubRequest(connected, payload, { event });
    const { status } = await app.deps.fetch(new Request(`http://localhost${path}`, init));
    if (status !== 200) throw new Error(`answered with ${status}`);
  }
  const sample = (event: string, changes: Record<string, unknown>) => {
    const now = app.clock.now();
    const options = { repository: 'acme/rocket', now };
    return { event, payload: changed(samplePayload('github', event, options) ?? {}, changes) };
  };
  const pushOf = (subjects: readonly string[]) => {
    pushed.push(...subjects);
    const commits = subjects.map((message) => {
      const id = Bun.SHA1.hash(message, 'hex');
      const timestamp = app.clock.now().toISOString();
      return {
        id,
        message,
        author: { name: 'Ann' },
        url: `https://github.com/acme/rocket/commit/${id}`,
        timestamp,
      };
    });
    const pushedAt = Math.floor(app.clock.now().getTime() / 1000);
    return sample('push', { commits, after: commits.at(-1)?.id, 'repository.pushed_at': pushedAt });
  };
  const requestOf = (number: number, title: string, merge: string) =>
    sample('pull_request', {
      number,
      ...{ 'pull_request.number': number, 'pull_request.title': title, 'pull_request.body': null },
      'pull_request.labels': [],
      'pull_request.merged_at': app.clock.now().toISOString(),
      'pull_request.merge_commit_sha': Bun.SHA1.hash(merge, 'hex'),
      'pull_request.html_url': `https://github.com/acme/rocket/pull/${number}`,
    });
  const titled = (list: string[]) => {
    const title = `Thing ${++count} works`;
    list.push(title);
    return title;
  };
  async function happen(told: typeof late, { order }: { order: number }): Promise<void> {
    if (order % 2 === 1) told.reverse();
    for (const [index, each] of told.entries())
      if (order / 2 >= index + 1) late.push(each);
      else await deliver(each);
  }
  async function pass(hours: number, isRunning: boolean): Promise<void> {
    app.clock.advance(hours * HOUR);
    if (isRunning) await beat();
  }

  for (const each of steps) {
    app.clock.advance(1_000);
    if ('push' in each) await happen([pushOf(Array.from({ length: each.push }, () => titled(titles)))], each);
    if ('overlaps' in each) await happen([pushOf([...pushed.slice(-each.overlaps), titled(titles)])], each);
    if ('merge' in each) {
      const title = titled(titles);
      const number = count;
      const subject = `Merge pull request #${number} from ann/${number}: ${title}`;
      const side = Array.from({ length: each.merge }, () => titled(sides));
      await happen([requestOf(number, title, subject), pushOf([...side, subject])], each);
    }
    if ('squash' in each) {
      const title = titled(titles);
      const number = count;
      const subject = `${title} (#${number})`;
      await happen([requestOf(number, title, subject), pushOf([subject])], each);
    }
    if ('passes' in each) await pass(each.passes, each.isRunning);
    if ('arrives' in each) for (const told of late.splice(each.arrives, 1)) await deliver(told);
    if ('again' in each) for (const told of sent.slice(each.again, each.again + 1)) await deliver(told);
    if ('replays' in each) {
      const logged = await app.db.read((tx) => listDeliveries(tx, 'org_a', {}, { limit: 50 }));
      for (const delivery of logged.slice(each.replays, each.replays + 1))
        await replayDelivery(app.deps, delivery);
    }
    if ('now' in each) await makeNow(app.deps, compose, ids[each.now % ids.length] ?? '');
    if ('switches' in each)
      await switchRoundup(app.deps, ids[each.switches % ids.length] ?? '', each.enabled);
  }
  for (const id of ids) await switchRoundup(app.deps, id, true);
  for (const told of late) await deliver(told);
  await pass(24 * 70, true);

  const posts = await postsOf(app);
  for (const id of ids) {
    const text = posts
      .filter(({ sourceMetadata }) => sourceMetadata?.roundupId === id)
      .map(({ markdown }) => markdown)
      .join('\n');
    const found = Array.from(text.matchAll(/^- (Thing \d+ works)/gm), ([, title = '']) => title);
    expect(found.filter((title) => titles.includes(title)).sort()).toEqual(titles.toSorted());
    const others = found.filter((title) => !titles.includes(title));
    expect(others).toEqual([...new Set(others)]);
  }
  await app.db.close();
}

test('each change is in exactly one post of each roundup', async () => {
  await fc.assert(fc.asyncProperty(world, check), { numRuns: rounds(40, 10_000), endOnFailure: true });
});
