import { describe, expect, test } from 'bun:test';
import { gitlab } from '../../../src/providers/gitlab/provider.ts';
import { samplePayload, toEvent } from '../../../src/providers/index.ts';
import { expectLinear } from '../../support/growth.ts';
import { changed, type Payload, readEvent, refusalOf } from '../../support/payloads.ts';
import { testPush } from './kit.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const context = { repository: 'acme/rocket', now };
const page = 'https://gitlab.example/acme/rocket';
const sample = (event: string, action?: string): Payload =>
  samplePayload('gitlab', event, { repository: 'acme/rocket', now, action }) ?? {};

/** The event of a sample, by way of the log. */
function eventOf(name: string, changes: Payload = {}, action?: string) {
  const result = readEvent(gitlab, name, changed(sample(name, action), changes));
  if (result.outcome !== 'processed') throw new Error(`${result.outcome}: ${result.title}`);
  return toEvent({
    integrationId: 'int_1',
    integrationType: 'gitlab',
    repositoryId: 'repo_1',
    repository: 'acme/rocket',
    deliveryId: 'delivery-1',
    receivedAt: now.toISOString(),
    event: name,
    action: result.processed.action,
    data: JSON.parse(JSON.stringify(result.processed.data)),
  });
}

const resultOf = (name: string, changes: Payload = {}) =>
  readEvent(gitlab, name, changed(sample(name), changes));

describe('a release', () => {
  test('is published and edited', () => {
    expect(eventOf('release')).toMatchObject({
      type: 'release',
      key: 'v2.4.0',
      branch: 'main',
      occurredAt: '2026-11-20T11:59:00.000Z',
      data: {
        tag: 'v2.4.0',
        name: 'Rocket 2.4.0: quieter engines',
        notes: expect.stringContaining('Quiet mode'),
        isPrerelease: false,
        url: `${page}/-/releases/v2.4.0`,
      },
    });
    const [created, updated] = [eventOf('release'), eventOf('release', {}, 'update')];
    expect(updated?.version.localeCompare(created?.version ?? '')).toBe(1);
    expect(resultOf('release', { action: 'delete' })).toMatchObject({
      outcome: 'ignored',
      title: 'Release v2.4.0 deleted',
    });
  });

  test('is the same with the times and the name of another version of GitLab', () => {
    const known = eventOf('release');
    for (const released of [
      '2026-11-20 11:59:00 UTC',
      '2026-11-20T11:59:00.519Z',
      '2026-11-20T13:59:00+02:00',
    ]) {
      expect(eventOf('release', { released_at: released })).toEqual(known);
    }
    expect(eventOf('release', { created_at: '2026-01-01T00:00:00Z' })).toEqual(known);
    const unnamed = eventOf('release', { name: null });
    expect(eventOf('release', { name: 'v2.4.0' })).toEqual(unnamed);
    expect(unnamed).toMatchObject({ data: { name: null } });
  });

  test('gives uploaded images their whole address, in whichever form GitLab sends them', () => {
    const file = '/uploads/0123456789abcdef0123456789abcdef/shot.png';
    const whole = `https://gitlab.example/-/project/7${file}`;
    for (const address of [
      file,
      `/acme/rocket${file}`,
      `${page}${file}`,
      `https://gitlab.example${file}`,
      `/-/project/7${file}`,
      whole,
    ]) {
      const event = eventOf('release', { description: `a ![shot](${address}) b`, 'project.id': 7 });
      expect(event).toMatchObject({ data: { notes: `a ![shot](${whole}) b` } });
    }
    const foreign = `![x](https://other.test${file}) ![y](/-/project/8${file})`;
    expect(eventOf('release', { description: foreign, 'project.id': 7 })).toMatchObject({
      data: { notes: foreign },
    });
  });
});

describe('a push', () => {
  test('to the default branch is processed', () => {
    expect(eventOf('push')).toMatchObject({
      type: 'push',
      branch: 'main',
      occurredAt: '2026-11-20T11:59:00.000Z',
      data: {
        compareUrl: expect.stringMatching(/^https:\/\/gitlab\.example\/acme\/rocket\/-\/compare\/4f1c/),
        commits: [
          { subject: 'feat(engine): start 40 % softer in quiet mode', author: 'Ann' },
          { subject: "Merge pull request #12 from fix/gauge: fix(gauge): show today's value after midnight" },
        ],
      },
    });
    expect(JSON.stringify(resultOf('push'))).not.toContain('@acme.test');
  });

  test('names the issues of its commits and their files', () => {
    const event = eventOf('push', {
      'commits.0.message': 'feat: quiet mode\n\nCloses ENG-412',
      'commits.0.added': ['packages/api/b.ts'],
      'commits.0.removed': ['packages/api/a.ts'],
      'commits.1.added': undefined,
      'commits.1.modified': undefined,
      'commits.1.removed': undefined,
    });
    const commits = event?.type === 'push' ? event.data.commits : [];
    expect(commits[0]).toMatchObject({
      identifiers: ['ENG-412'],
      paths: ['README.md', 'packages/api/a.ts', 'packages/api/b.ts'],
    });
    expect(commits[1]).not.toContainAnyKeys(['identifiers', 'paths']);
  });

  test('says how many commits GitLab left out', () => {
    expect(resultOf('push', { total_commits_count: 35 })).toMatchObject({
      title: '35 commits pushed to main, of which GitLab sent the newest 2',
    });
    expect(resultOf('push')).toMatchObject({ title: '2 commits pushed to main' });
  });

  test.each([
    ['a (!12)', 'a (#12)'],
    ['a (#12)', 'a #12'],
    ['a !12 b', 'a !12 b'],
    ["Merge branch 'x' into 'main'", "Merge branch 'x' into 'main'"],
  ])('with the commit %p has the subject %p', (message, subject) => {
    expect(eventOf('push', { 'commits.0.message': message })).toMatchObject({
      data: { commits: [{ subject }, {}] },
    });
  });

  test.each([
    ['empty lines', '\n'],
    ['merges', "Merge branch 'a' into 'b'\n"],
    ['lines without a number', `See merge request ${'!'.repeat(900)}\n`],
  ])('reads the message of a merge with many %s in linear time', async (_, piece) => {
    const messageOf = (size: number) => `Merge branch 'a' into 'b'\n${piece.repeat(size / piece.length)}x`;
    await expectLinear(piece, messageOf, (message) => eventOf('push', { 'commits.0.message': message }));
  });

  test.each([
    [
      "Merge branch 'a' into 'main'\n\nSpeed up\n\nSee merge request acme/rocket!12",
      'Merge pull request #12 from a: Speed up',
    ],
    [
      "Merge branch 'a' into 'main'\r\n\r\nSpeed up\r\n\r\nSee merge request acme/rocket!12\r\n",
      'Merge pull request #12 from a: Speed up',
    ],
  ])('with the message of a merge %p has the subject %p', (message, subject) => {
    expect(eventOf('push', { 'commits.0.message': message })).toMatchObject({
      data: { commits: [{ subject }, {}] },
    });
  });

  test('to another branch, that deletes one, or brings nothing, is ignored', () => {
    const zeros = '0'.repeat(40);
    expect(resultOf('push', { ref: 'refs/heads/next' })).toMatchObject({ title: 'Push to a side branch' });
    expect(resultOf('push', { after: zeros, commits: [] })).toMatchObject({ title: 'Branch main deleted' });
    expect(resultOf('push', { commits: [] })).toMatchObject({ title: 'Push to main without commits' });
    expect(resultOf('push', { 'project.default_branch': null })).toMatchObject({ outcome: 'ignored' });
    expect(eventOf('push', { before: zeros })).toMatchObject({ data: { compareUrl: null } });
  });

  test('of the button "Test" is a ping', () => {
    expect(readEvent(gitlab, 'push', testPush(context))).toMatchObject({ outcome: 'ping' });
    const { commits, ...single } = testPush(context);
    const moved = { ...single, commits: commits.slice(0, 1), before: single.after };
    expect(readEvent(gitlab, 'push', moved)).toMatchObject({ outcome: 'ping' });
  });

  test('of a tag is ignored: the release brings the post', () => {
    expect(readEvent(gitlab, 'tag_push', { ref: 'refs/tags/v1', after: 'a' })).toMatchObject({
      outcome: 'ignored',
      title: 'Tag v1 pushed',
    });
  });
});

describe('a merge request', () => {
  test('is processed when it is merged', () => {
    expect(eventOf('merge_request')).toMatchObject({
      type: 'pull_request',
      key: '12',
      branch: 'main',
      occurredAt: '2026-11-20T11:59:00.000Z',
      data: {
        number: 12,
        title: "fix(gauge): show today's value after midnight",
        author: 'ben',
        isDefaultBranch: true,
        mergeCommitSha: 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77',
        url: `${page}/-/merge_requests/12`,
      },
    });
    expect(resultOf('merge_request')).toMatchObject({
      title: "Merge request !12 merged: fix(gauge): show today's value after midnight",
      processed: { type: 'merge_request', action: 'merged' },
    });
  });

  test('names the issues of its branch, its title and its description', () => {
    const event = eventOf('merge_request', {
      'object_attributes.source_branch': 'ann/eng-412-gauge',
      'object_attributes.title': 'APP-7: show the value of today',
      'object_attributes.description': 'Fixes WEB-3, as OPS-9 asked.',
    });
    expect(event?.data).toMatchObject({ identifiers: ['ENG-412', 'APP-7', 'WEB-3'] });
    expect(eventOf('merge_request')?.data).not.toContainKey('identifiers');
  });

  test('of a fast-forward has the commit that it ends with', () => {
    expect(eventOf('merge_request', { 'object_attributes.merge_commit_sha': null })).toMatchObject({
      data: { mergeCommitSha: '5ac1e07b94d2f3860b7de51c8a93f4427e60d19b' },
    });
  });

  test('names its author only where GitLab does', () => {
    expect(eventOf('merge_request', { assignees: [], reviewers: null })).toMatchObject({
      data: { author: null },
    });
  });

  test('that is merged and updated is an edit, which does not say when it was merged', () => {
    const changes = { 'object_attributes.action': 'update', 'object_attributes.state': 'merged' };
    expect(resultOf('merge_request', { ...changes, 'object_attributes.merged_at': undefined })).toMatchObject(
      {
        processed: { type: 'merge_request', action: 'edited', data: { mergedAt: null } },
      },
    );
  });

  test('that is opened, closed or a test is ignored', () => {
    for (const action of ['open', 'close', 'update', 'approved']) {
      const changes = { 'object_attributes.action': action, 'object_attributes.state': 'opened' };
      expect(resultOf('merge_request', changes)).toMatchObject({
        outcome: 'ignored',
        reason: `Only merge requests that are merged are processed, not the action ${action}`,
      });
    }
    expect(resultOf('merge_request', { 'object_attributes.action': undefined })).toMatchObject({
      outcome: 'ignored',
      reason: expect.stringContaining('a test of the webhook'),
    });
  });
});

test.each([
  ['release', ['action', 'tag', 'project']],
  ['push', ['ref', 'commits', 'project']],
  ['merge_request', ['project', 'object_attributes', 'object_attributes.iid', 'object_attributes.title']],
] as const)('%s needs its fields, and names a missing one', (event, fields) => {
  for (const field of fields) {
    expect(refusalOf(gitlab, event, changed(sample(event), { [field]: undefined }))).toBe(
      `${field} is missing`,
    );
  }
});

test('other events are ignored, and a payload names its project', () => {
  expect(readEvent(gitlab, 'pipeline', {})).toMatchObject({ outcome: 'ignored' });
  const nested = samplePayload('gitlab', 'release', { repository: 'a/b/c', now }) ?? {};
  expect(gitlab.repositoryOf(nested)).toEqual({ id: 0, fullName: 'a/b/c' });
  expect(gitlab.repositoryOf({ object_kind: 'x' })).toBeNull();
});

test.each([
  ['acme/rocket', 'acme/rocket'],
  ['acme/team/rocket', 'acme/team/rocket'],
  ['my.group/rocket', 'my.group/rocket'],
  ['https://gitlab.com/acme/team/rocket', 'acme/team/rocket'],
  ['https://gitlab.com/acme/team/rocket/-/releases/v1?x=1', 'acme/team/rocket'],
  ['https://gitlab.com/acme/team/rocket.git', 'acme/team/rocket'],
  ['git@gitlab.com:acme/team/rocket.git', 'acme/team/rocket'],
  ['gitlab.com/acme/rocket/', 'acme/rocket'],
])('%p names %p', (text, name) => {
  expect(gitlab.placeName(text, undefined)).toBe(name);
});

test('a URL of another site is refused, and one of a self-managed GitLab is not', () => {
  expect(() => gitlab.placeName('https://github.com/acme/rocket', undefined)).toThrow('at gitlab.com');
  expect(gitlab.placeName('https://git.acme.test/a/b/c/-/tree/main', 'https://git.acme.test/api/v4')).toBe(
    'a/b/c',
  );
});

test.each([
  'rocket',
  'a//b',
  '../b',
  'a/..',
  'a/b/',
  '/a/b',
  'a/b?x',
  'a/b#',
  `a/${'b'.repeat(300)}`,
  'a/'.repeat(30),
])('%p is no name of a project', (name) => expect(gitlab.isRepositoryName(name)).toBe(false));
