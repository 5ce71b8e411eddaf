import { describe, expect, test } from 'bun:test';
import { github } from '../../../src/providers/github/provider.ts';
import { githubExamples } from '../../support/github.ts';
import { changed, readEvent } from '../../support/payloads.ts';

const examples = await githubExamples();

function exampleOf(event: string, action?: string) {
  const found = examples.find((each) => each.event === event && (!action || each.payload.action === action));
  if (found === undefined) throw new Error(`no example of ${event} ${action}`);
  return found.payload;
}

test('every payload of GitHub that is published as an example is read', () => {
  const counts: Record<string, number> = {};
  for (const { event, payload } of examples) {
    const { outcome } = readEvent(github, event, payload);
    const key = Object.hasOwn(github.events, event) ? `${event} ${outcome}` : `others ${outcome}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  expect(examples.length).toBe(329);
  expect(counts).toEqual({
    'create processed': 5,
    'issues ignored': 29,
    'milestone ignored': 3,
    'milestone processed': 2,
    'others ignored': 234,
    'ping ping': 4,
    'pull_request ignored': 29,
    'push ignored': 5,
    'push processed': 2,
    'release ignored': 8,
    'release processed': 5,
    'star ignored': 1,
    'star processed': 2,
  });
});

test.each(['ghes-31', 'ghes-32', 'ghes-33', 'ghes-34', 'ghes-35'])('and those of %s', async (server) => {
  const older = await githubExamples(server);
  expect(older.length).toBeGreaterThan(45);
  for (const { event, payload } of older) readEvent(github, event, payload);
});

test('each title and reason is short, and none is empty', () => {
  for (const { event, payload } of examples) {
    const result = readEvent(github, event, payload);
    expect(result.title.length).toBeWithin(5, 201);
    if (result.outcome === 'ignored') expect(result.reason.length).toBeWithin(10, 501);
  }
});

test('no e-mail address gets through', () => {
  const kept = examples.map(({ event, payload }) => JSON.stringify(readEvent(github, event, payload)));
  expect(examples.some(({ payload }) => JSON.stringify(payload).includes('@users.noreply'))).toBe(true);
  expect(kept.filter((text) => /[\w+.-]+@[\w.-]+\.\w/.test(text))).toEqual([]);
});

describe('payloads that the examples lack', () => {
  test('a merged pull request', () => {
    const merged = changed(exampleOf('pull_request', 'closed'), {
      'pull_request.merged': true,
      'pull_request.merged_at': '2019-05-15T15:21:18Z',
    });
    expect(readEvent(github, 'pull_request', merged)).toMatchObject({
      outcome: 'processed',
      title: 'Pull request #2 merged: Update the README with new information.',
      processed: { data: { mergedAt: '2019-05-15T15:21:18Z', baseBranch: 'master', labels: ['bug'] } },
    });
  });

  test('a plain push of several commits', () => {
    const { commits } = examples.find(({ payload }) => (payload.commits as unknown[])?.length)?.payload ?? {};
    const push = changed(exampleOf('push'), {
      ref: 'refs/heads/master',
      commits: [commits, commits].flat(),
      deleted: false,
    });
    expect(readEvent(github, 'push', push)).toMatchObject({
      outcome: 'processed',
      title: '2 commits pushed to master',
    });
  });

  test('a closed issue', () => {
    const closed = changed(exampleOf('issues', 'edited'), {
      action: 'closed',
      'issue.closed_at': '2019-05-15T15:21:18Z',
    });
    expect(readEvent(github, 'issues', closed)).toMatchObject({
      outcome: 'processed',
      title: 'Issue #1 closed: Spelling error in the README file',
      processed: { data: { stateReason: null, milestone: 'v1.0' } },
    });
  });
});
