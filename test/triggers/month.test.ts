import { describe, expect, test } from 'bun:test';
import { listTriggers } from '../../src/drafting/triggers/model.ts';
import { previewFirst, previewTrigger, rehearseTrigger } from '../../src/drafting/triggers/rehearse.ts';
import { logOf } from '../support/deliveries.ts';
import { compose, runAll } from '../support/drafts.ts';
import { githubSchemas } from '../support/github.ts';
import { createRepository, draftsOf } from '../support/histories.ts';
import { type MonthDelivery, monthOfDeliveries } from '../support/month/month.ts';
import { HOW_TO_PIN, pinsOf, readPins } from '../support/pins.ts';
import { rounds } from '../support/rounds.ts';

// The drafts of a month, as stored in test/fixtures/month.

const month = await monthOfDeliveries();
const drafts = await draftsOf(month);

test('the month is one that GitHub could send', async () => {
  const problemsOf = await githubSchemas();
  for (const { event, about, payload } of month)
    expect([about, ...problemsOf(event, payload)]).toEqual([about]);
  expect(pushes.flatMap(({ commits }) => commits)).toHaveLength(200);
  expect(month.filter(({ event }) => event === 'pull_request')).toHaveLength(40);
});

describe('the drafts are those of the files', async () => {
  const pins = pinsOf(drafts);
  const files = await readPins('month');
  test(`by name; ${HOW_TO_PIN}`, () => {
    expect(Object.keys(pins)).toEqual(Object.keys(files));
  });
  test.each(Object.entries(pins))(`%s; ${HOW_TO_PIN}`, (name, pin) => {
    expect(pin).toBe(files[name] ?? '');
  });
});

interface Push {
  ref: string;
  after: string;
  commits: { id: string; message: string }[];
}

interface Merged {
  number: number;
  pull_request: { merge_commit_sha: string; base: { ref: string } };
}

const pushes = payloadsOf<Push>('push').filter(({ ref }) => ref === 'refs/heads/main');
const numbers = new Map(
  payloadsOf<Merged>('pull_request').map((each) => [each.pull_request.merge_commit_sha, each.number]),
);

function payloadsOf<Payload>(event: MonthDelivery['event']): Payload[] {
  return month.filter((each) => each.event === event).map(({ payload }) => payload as Payload);
}

/** A name for each change that reached main, with the version of its window. */
function expectedLabels(): [label: string, version: string][] {
  const labels: [string, string][] = [];
  let open: string[] = [];
  for (const { event, payload } of month) {
    if (event === 'push') open.push(...labelsOfPush(payload as unknown as Push));
    if (event !== 'release' || payload.action !== 'published') continue;
    const { tag_name: tag } = payload.release as { tag_name: string };
    labels.push(...open.map((label): [string, string] => [label, tag.replace(/^\D+/, '')]));
    open = [];
  }
  return [...labels, ...open.map((label): [string, string] => [label, 'unreleased'])];
}

// A change of the version before, which this one reverts and applies again.
const vanished = /^(?:9ab8af9|1dc83b2)/;

function labelsOfPush({ ref, after, commits }: Push): string[] {
  if (ref !== 'refs/heads/main') return [];
  const number = numbers.get(after);
  if (number !== undefined) return [`#${number}`];
  return commits
    .filter(({ id, message }) => !/^Merge (remote-tracking )?branch /.test(message) && !vanished.test(id))
    .map(({ id, message }) => /^Merge pull request (#\d+)/.exec(message)?.[1] ?? id.slice(0, 7));
}

describe('every commit, or its pull request, appears once, in the draft of its window', () => {
  const expected = expectedLabels();
  const toldBy = (trigger: string) =>
    drafts
      .filter((draft) => draft.trigger === trigger)
      .flatMap(({ markdown, sourceMetadata }) =>
        Array.from(markdown.matchAll(/\[(#\d+|[0-9a-f]{7})\]\(/g), ([, label = '']) => [
          label,
          String(sourceMetadata.version ?? 'unreleased'),
        ]),
      )
      .sort();

  test('of the pushes', () => {
    expect(toldBy('push-changelog')).toEqual(expected.toSorted());
  });

  test('of the pull requests alone', () => {
    const merged = new Set([...numbers.values()].map((number) => `#${number}`));
    expect(toldBy('pull-request-changelog')).toEqual(expected.filter(([label]) => merged.has(label)).sort());
  });

  test('of the releases without notes', () => {
    const without = ['2.4.1', '2.5.0-rc.1'];
    const told = toldBy('release-changelog').filter(([, version]) => without.includes(version ?? ''));
    expect(told).toEqual(expected.filter(([, version]) => without.includes(version)).sort());
  });
});

test.each(drafts.filter(({ contentType }) => contentType === 'linkedin_post'))(
  'the LinkedIn post of $title is plain, not too long, and ends with its link',
  ({ content, sourceMetadata }) => {
    expect(content.length).toBeLessThanOrEqual(3000);
    expect(content).not.toMatch(/\\|\*\*|^[-#] |\]\(|\n\n\n/m);
    expect(content.endsWith(String(sourceMetadata.url))).toBe(true);
  },
);

test('a rehearsal of the log gives the same posts', async () => {
  const { app, deliver, drafts: draftsNow } = await createRepository();
  for (const telling of month) await deliver(telling);
  await runAll(app);
  const since = new Date('2026-11-01T00:00:00Z');
  const rehearsed = [];
  for (const { id } of await app.db.read((tx) => listTriggers(tx, {})))
    rehearsed.push(...(await rehearseTrigger(app.deps, compose, id, since)));
  const brief = (posts: { title: string; markdown: string; createdAt: string }[]) =>
    posts.map(({ title, markdown, createdAt }) => `${createdAt} ${title}\n${markdown}`).sort();
  expect(brief(rehearsed)).toEqual(brief(await draftsNow()));
});

test('the first post of several deliveries is the one that each would preview alone', async () => {
  const { app, deliver } = await createRepository();
  for (const telling of month.slice(-rounds(50, month.length))) await deliver(telling);
  const log = await logOf(app);
  for (const trigger of await app.db.read((tx) => listTriggers(tx, {}))) {
    const alone = await Promise.all(
      log.map((delivery) => previewTrigger(app.deps, compose, trigger.id, delivery).catch(() => null)),
    );
    for (let start = 0; start < log.length; start += 3) {
      const first = alone.slice(start, start + 5).findIndex((posts) => posts !== null);
      const expected = first < 0 ? null : { delivery: log[start + first], posts: alone[start + first] };
      const found = await previewFirst(app.deps, compose, trigger, log.slice(start, start + 5));
      expect(found).toEqual(expected as typeof found);
    }
  }
});
