import { describe, expect, test } from 'bun:test';
import { github } from '../../../src/providers/github/provider.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import { changed, readEvent } from '../../support/payloads.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const sample = (event: string) => samplePayload('github', event, { repository: 'acme/rocket', now }) ?? {};
const page = 'https://github.com/acme/rocket';

const commits = [
  {
    id: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    message: 'feat(engine): start 40 % softer in quiet mode\n\nCo-authored-by: Ben',
    author: 'Ann',
    authorLogin: 'ann',
    url: `${page}/commit/8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1`,
    timestamp: '2026-11-20T11:30:00Z',
  },
  {
    id: 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77',
    message: "fix(gauge): show today's value after midnight (#12)",
    author: 'Ann',
    authorLogin: 'ann',
    url: `${page}/commit/c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77`,
    timestamp: '2026-11-20T11:40:00Z',
  },
  {
    id: '27be04c8f95d4a1e93b0d6c7185f2ae4609dc3f8',
    message: 'docs: tell the neighbours about quiet mode',
    author: 'Ann',
    authorLogin: 'ann',
    url: `${page}/commit/27be04c8f95d4a1e93b0d6c7185f2ae4609dc3f8`,
    timestamp: '2026-11-20T11:50:00Z',
  },
];

const releaseData = {
  id: 174_902_318,
  tagName: 'v2.4.0',
  name: 'Rocket 2.4.0: quieter engines',
  body: `### Added
- Quiet mode: engines start 40 % softer
- \`rocket status --json\`

### Fixed
- The fuel gauge showed yesterday's value after midnight
`,
  isPrerelease: false,
  isDraft: false,
  author: 'ann',
  url: `${page}/releases/tag/v2.4.0`,
  publishedAt: '2026-11-20T11:59:00Z',
  updatedAt: '2026-11-20T11:59:00Z',
  targetBranch: 'main',
  defaultBranch: 'main',
};

interface Case {
  event: string;
  changes?: Record<string, unknown>;
  title: string;
  type: string;
  action: string;
  data: object;
}

const matters: Case[] = [
  {
    event: 'push',
    title: '3 commits pushed to main',
    type: 'push',
    action: 'pushed',
    data: {
      branch: 'main',
      before: '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05',
      after: '27be04c8f95d4a1e93b0d6c7185f2ae4609dc3f8',
      compareUrl: `${page}/compare/4f1c0a9d2b7e...27be04c8f95d`,
      isForced: false,
      pushedAt: '2026-11-20T11:59:00.000Z',
      pusher: 'ann',
      commits,
    },
  },
  {
    event: 'release',
    title: 'Release v2.4.0 published',
    type: 'release',
    action: 'published',
    data: releaseData,
  },
  {
    event: 'release',
    changes: { action: 'edited', 'release.body': 'Shorter' },
    title: 'Release v2.4.0 edited',
    type: 'release',
    action: 'edited',
    data: { ...releaseData, body: 'Shorter' },
  },
  {
    event: 'release',
    changes: { 'release.prerelease': true, 'release.name': null, 'release.body': '', 'release.author': null },
    title: 'Pre-release v2.4.0 published',
    type: 'release',
    action: 'published',
    data: { ...releaseData, isPrerelease: true, name: null, body: null, author: null },
  },
  {
    event: 'pull_request',
    title: "Pull request #12 merged: Show today's value after midnight",
    type: 'pull_request',
    action: 'merged',
    data: {
      number: 12,
      title: "Show today's value after midnight",
      body: "The gauge kept yesterday's value until the next reading.\n\nCloses #34",
      author: 'ben',
      mergedBy: 'ann',
      labels: ['bug'],
      milestone: 'Quieter engines',
      baseBranch: 'main',
      headBranch: 'fix/gauge',
      defaultBranch: 'main',
      mergedAt: '2026-11-20T11:59:00Z',
      updatedAt: '2026-11-20T11:59:00Z',
      mergeCommitSha: 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77',
      url: `${page}/pull/12`,
    },
  },
  {
    event: 'create',
    title: 'Tag v2.4.0 created',
    type: 'tag',
    action: 'created',
    data: { name: 'v2.4.0', author: 'ann', url: `${page}/tree/v2.4.0` },
  },
  {
    event: 'create',
    changes: { ref: 'release/2.4 #1' },
    title: 'Tag release/2.4 #1 created',
    type: 'tag',
    action: 'created',
    data: { name: 'release/2.4 #1', author: 'ann', url: `${page}/tree/release/2.4%20%231` },
  },
  {
    event: 'issues',
    title: 'Issue #34 closed: The fuel gauge lives in the past',
    type: 'issue',
    action: 'closed',
    data: {
      number: 34,
      title: 'The fuel gauge lives in the past',
      body: "After midnight the gauge still shows yesterday's value.",
      author: 'cleo',
      closedBy: 'ann',
      labels: ['bug'],
      milestone: 'Quieter engines',
      stateReason: 'completed',
      closedAt: '2026-11-20T11:59:00Z',
      url: `${page}/issues/34`,
    },
  },
  {
    event: 'milestone',
    title: 'Milestone closed: Quieter engines',
    type: 'milestone',
    action: 'closed',
    data: {
      number: 4,
      title: 'Quieter engines',
      description: 'What the neighbours asked for',
      openIssueCount: 0,
      closedIssueCount: 7,
      dueOn: '2026-11-27T10:40:00Z',
      closedAt: '2026-11-20T11:59:00Z',
      url: `${page}/milestone/4`,
    },
  },
  {
    event: 'star',
    title: 'Star from ann',
    type: 'star',
    action: 'created',
    data: { stargazer: 'ann', starredAt: '2026-11-20T11:59:00Z', starCount: 42 },
  },
];

describe('processed events', () => {
  test.each(matters.map((each) => [each.title, each] as const))('%s', (title, each) => {
    const { type, action, data } = each;
    const payload = changed(sample(each.event), each.changes ?? {});
    expect(readEvent(github, each.event, payload)).toEqual({
      outcome: 'processed',
      title,
      processed: { type, action, data: { ...data } },
    });
  });

  test('one commit is not "1 commits"', () => {
    const payload = changed(sample('push'), { commits: [{ id: 'a', message: 'b' }] });
    expect(readEvent(github, 'push', payload).title).toBe('1 commit pushed to main');
  });

  test('ping', () => {
    const title = 'Ping: the webhook is configured';
    expect(readEvent(github, 'ping', sample('ping'))).toEqual({ outcome: 'ping', title });
    expect(readEvent(github, 'ping', {})).toEqual({ outcome: 'ping', title });
  });
});

test.each(['edited', 'labeled', 'unlabeled'])('a merged pull request that is %s is an edit', (action) => {
  expect(readEvent(github, 'pull_request', changed(sample('pull_request'), { action }))).toMatchObject({
    title: `Pull request #12 ${action}: Show today's value after midnight`,
    processed: { type: 'pull_request', action: 'edited' },
  });
});

describe('ignored events', () => {
  const onlyMain = 'Tidings processes pushes to the default branch main; this one went to';
  const tags = 'Tidings processes pushes to branches only';
  const releases = 'Tidings processes published and edited releases, not the action';

  test.each<[event: string, changes: Record<string, unknown>, title: string, reason: string]>([
    ['push', { ref: 'refs/heads/fix/gauge' }, 'Push to a side branch', `${onlyMain} fix/gauge`],
    ['push', { ref: 'refs/heads/Main' }, 'Push to a side branch', `${onlyMain} Main`],
    ['push', { ref: 'main' }, 'Push to a side branch', `${onlyMain} main`],
    ['push', { ref: 'refs/notes/x' }, 'Push to a side branch', `${onlyMain} refs/notes/x`],
    [
      'push',
      { 'repository.default_branch': 'trunk' },
      'Push to a side branch',
      'Tidings processes pushes to the default branch trunk; this one went to main',
    ],
    ['push', { deleted: true }, 'Branch main deleted', 'The push deleted the branch'],
    ['push', { commits: [] }, 'Push to main without commits', 'The push has no commits'],
    ['push', { ref: 'refs/tags/v1.0' }, 'Tag v1.0 pushed', tags],
    ['push', { ref: 'refs/tags/v1.0', deleted: true }, 'Tag v1.0 deleted', tags],
    ['release', { action: 'created' }, 'Release v2.4.0 created', `${releases} created`],
    ['release', { action: 'released' }, 'Release v2.4.0 released', `${releases} released`],
    [
      'release',
      { action: 'prereleased', 'release.prerelease': true },
      'Pre-release v2.4.0 prereleased',
      `${releases} prereleased`,
    ],
    ['release', { action: 'unpublished' }, 'Release v2.4.0 unpublished', `${releases} unpublished`],
    ['release', { action: 'deleted' }, 'Release v2.4.0 deleted', `${releases} deleted`],
    [
      'release',
      { action: 'edited', 'release.draft': true },
      'Draft release v2.4.0 edited',
      'Tidings processes a draft once it is published',
    ],
    [
      'release',
      { 'release.draft': true },
      'Draft release v2.4.0 published',
      'Tidings processes a draft once it is published',
    ],
    [
      'pull_request',
      { 'pull_request.merged': false },
      "Pull request #12 closed without a merge: Show today's value after midnight",
      'Tidings processes merged pull requests only; this one was closed without a merge',
    ],
    [
      'pull_request',
      { action: 'opened', 'pull_request.merged': false },
      "Pull request #12 opened: Show today's value after midnight",
      'Tidings processes merged pull requests only, not the action opened',
    ],
    [
      'pull_request',
      { action: 'labeled', 'pull_request.merged': false },
      "Pull request #12 labeled: Show today's value after midnight",
      'Tidings processes merged pull requests only, not the action labeled',
    ],
    [
      'pull_request',
      { action: 'review_requested' },
      "Pull request #12 review requested: Show today's value after midnight",
      'Tidings processes merged pull requests only, not the action review_requested',
    ],
    [
      'create',
      { ref: 'fix/gauge', ref_type: 'branch' },
      'New branch: fix/gauge',
      'Tidings processes new tags only; this is a new branch',
    ],
    [
      'issues',
      { action: 'opened' },
      'Issue #34 opened: The fuel gauge lives in the past',
      'Tidings processes closed issues, not the action opened',
    ],
    [
      'issues',
      { action: 'reopened' },
      'Issue #34 reopened: The fuel gauge lives in the past',
      'Tidings processes closed issues, not the action reopened',
    ],
    [
      'milestone',
      { action: 'opened' },
      'Milestone opened: Quieter engines',
      'Tidings processes closed milestones, not the action opened',
    ],
    [
      'star',
      { action: 'deleted', starred_at: null },
      'Star deleted by ann',
      'Tidings processes new stars, not the action deleted',
    ],
  ])('%s %o', (event, changes, title, reason) => {
    const result = readEvent(github, event, changed(sample(event), changes));
    expect(result).toEqual({ outcome: 'ignored', title, reason });
  });

  test.each(['fork', 'constructor', '__proto__'])('the unknown event %s, whatever it holds', (event) => {
    expect(readEvent(github, event, { action: 1 })).toEqual({
      outcome: 'ignored',
      title: `GitHub event: ${event}`,
      reason: `Tidings does not use the event ${event}`,
    });
  });
});
