import { expect, test } from 'bun:test';
import { github } from '../../src/providers/github/provider.ts';
import { type IntegrationType, samplePayload, toEvent } from '../../src/providers/index.ts';
import { linear } from '../../src/providers/linear/provider.ts';
import type { ProcessedDelivery, Provider } from '../../src/providers/provider.ts';
import { changed, readEvent } from '../support/payloads.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const RECEIVED = '2026-11-20T12:00:05.000Z';

/** The stored event of a changed sample. */
function keptOf(provider: Provider<IntegrationType>, event: string, changes: Record<string, unknown> = {}) {
  const sample =
    provider.id === 'github'
      ? samplePayload('github', event, { repository: 'acme/rocket', now })
      : samplePayload('linear', event, { now });
  const result = readEvent(provider, event, changed(sample ?? {}, changes));
  if (result.outcome !== 'processed') throw new Error(result.outcome);
  const { action, data } = result.processed;
  return toEvent({ ...delivery, integrationType: provider.id, event, action, data });
}

const delivery: ProcessedDelivery = {
  integrationId: 'int_1',
  integrationType: 'github',
  repositoryId: 'repo_1',
  repository: 'acme/rocket',
  deliveryId: 'delivery-1',
  receivedAt: RECEIVED,
  event: 'star',
  action: 'created',
  data: {},
};

test.each(['star', 'create', 'issues', 'milestone', 'constructor', 'toString'])(
  'nothing is kept of the event %s',
  (event) => {
    expect(toEvent({ ...delivery, event })).toBeNull();
  },
);

test('a release is its tag, on its branch, at its publication', () => {
  expect(keptOf(github, 'release')).toMatchObject({
    type: 'release',
    key: 'v2.4.0',
    branch: 'main',
    occurredAt: '2026-11-20T11:59:00.000Z',
    version: '2026-11-20T11:59:00.000Z 0',
    repository: 'acme/rocket',
    deliveryId: 'delivery-1',
    data: { tag: 'v2.4.0', name: 'Rocket 2.4.0: quieter engines', isPrerelease: false, author: 'ann' },
  });
});

test.each([
  ['release/2', 'release/2'],
  ['c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77', 'main'],
  [null, 'main'],
])('a release that was made from %p is of the branch %p', (target, branch) => {
  expect(keptOf(github, 'release', { 'release.target_commitish': target })?.branch).toBe(branch);
});

test('an edit outranks a publication that says the same time, or none', () => {
  const versionOf = (changes: Record<string, unknown>) => keptOf(github, 'release', changes)?.version ?? '';
  expect(versionOf({ action: 'edited' }) > versionOf({})).toBe(true);
  const untimed = { 'release.updated_at': undefined };
  expect(versionOf({ action: 'edited', ...untimed }) > versionOf(untimed)).toBe(true);
  expect(versionOf({ 'release.updated_at': '2026-11-20T12:30:00Z' }) > versionOf({ action: 'edited' })).toBe(
    true,
  );
});

test('a push happened when GitHub took it, and not before its newest commit', () => {
  const at = (changes: Record<string, unknown>) => keptOf(github, 'push', changes)?.occurredAt;
  expect(at({ 'repository.pushed_at': Date.parse('2026-11-20T11:55:00Z') / 1000 })).toBe(
    '2026-11-20T11:55:00.000Z',
  );
  expect(at({ 'repository.pushed_at': 1 })).toBe('2026-11-20T11:50:00.000Z');
  expect(at({ 'repository.pushed_at': null })).toBe('2026-11-20T11:50:00.000Z');
  expect(at({ 'repository.pushed_at': null, 'commits.2.timestamp': 'yesterday' })).toBe(RECEIVED);
});

test('a commit is kept by its first line, its breaking footer and its author', () => {
  const message = 'feat!: pads in pad.toml\n\nWhy not.\n\nBREAKING CHANGE: pad.ini is read no more\nRefs: #3';
  const event = keptOf(github, 'push', { 'commits.0.message': message });
  expect(event?.type === 'push' && event.data.commits[0]).toEqual({
    sha: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    subject: 'feat!: pads in pad.toml',
    breaking: 'pad.ini is read no more',
    author: 'ann',
    url: 'https://github.com/acme/rocket/commit/8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
  });
});

test('a squash keeps the titles of changes in its body', () => {
  const lines = [
    '* wip',
    '* feat: pads',
    '- fix(gauge): midnight ',
    'fix!: pad.ini',
    'chore: x',
    'Note: y',
    'feat: z',
  ];
  const event = keptOf(github, 'push', { 'commits.0.message': `feat: z (#3)\n\n${lines.join('\n\n')}` });
  expect(event?.type === 'push' && event.data.commits[0]?.further).toEqual([
    'feat: pads',
    'fix(gauge): midnight',
    'fix!: pad.ini',
  ]);
});

const furtherOf = (body: string) => {
  const event = keptOf(github, 'push', { 'commits.0.message': `All of it (#3)\n\n${body}` });
  return event?.type === 'push' ? (event.data.commits[0]?.further ?? []) : [];
};

test.each([
  ['* \u2728 add pads\n\n* \u{1f41b} mend the gauge', ['\u2728 add pads', '\u{1f41b} mend the gauge']],
  [':sparkles: add pads\n- :bug: the gauge', [':sparkles: add pads', ':bug: the gauge']],
  ['\u26a1\ufe0f faster\n\u{1f5d1}\ufe0f v1', ['\u26a1\ufe0f faster', '\u{1f5d1}\ufe0f v1']],
  ['\u{1f691}\ufe0f(core): leak', ['\u{1f691}\ufe0f(core): leak']],
  ['\u2728 feat(core): pads\n:art: fix: x', ['\u2728 feat(core): pads', ':art: fix: x']],
  ['\u{1f4dd} words\n:white_check_mark: tests\n\u{1f389} Thanks!\n\u2728\n:sparkles:', []],
  ['    \u2728 code\n  feat: code', []],
  ['1. feat: pads\n2) fix: x\n+ perf: y\n\u2022 revert: z', ['feat: pads', 'fix: x', 'perf: y', 'revert: z']],
  [
    '* Fix: the gauge\n  * FEAT(core): pads\n    * fix: code\nFix: words',
    ['Fix: the gauge', 'FEAT(core): pads'],
  ],
])('of the body %j the titles are %j', (body, further) => {
  expect(furtherOf(body)).toEqual(further);
});

test.each([
  ['a fence', '```\nfeat: code\n```'],
  ['a fence with a language', '~~~~text\nfeat: code\n~~~\nfix!: code\n~~~~'],
  ['a fence in an item', '* Use it:\n\n  ```sh\nfeat: code\n  ```'],
  ['a fence in a quote', '> ```\n> x\nfeat: code\n> ```'],
  ['a comment', '<!--\nfeat: for features\nBREAKING CHANGE: for others\n-->'],
  ['a comment and a fence in it', '<!-- ```\nfeat: code -->'],
])('%s holds no changes, and those after it count', (_, block) => {
  const event = keptOf(github, 'push', {
    'commits.0.message': `All (#3)\n\nfeat: one\n${block}\nfix: two\n\n\`\`\`\nBREAKING CHANGE: x\n\`\`\``,
  });
  expect(event?.type === 'push' && event.data.commits[0]).toMatchObject({
    further: ['feat: one', 'fix: two'],
    breaking: null,
  });
});

test.each([
  '```\nfeat: one',
  '<!--\nfeat: one',
  '```x\n```y\nfeat: one',
  'Use ```x``` so\nfeat: one',
  '<!-- x -->\nfeat: one',
  '~~~\nx\n~~~\nfeat: one',
])('%j opens nothing that ends', (body) => {
  expect(furtherOf(body)).toEqual(['feat: one']);
});

test('what `git merge --squash` indents is read too', () => {
  const body =
    'commit 1f0c\nAuthor: Ann\n\n    feat: pads\n\n    BREAKING CHANGE: no pads\n\ncommit 2e1d\n\n    fix: x\n\n        feat: code';
  const event = keptOf(github, 'push', {
    'commits.0.message': `Squashed commit of the following:\n\n${body}`,
  });
  expect(event?.type === 'push' && event.data.commits[0]).toMatchObject({
    further: ['feat: pads', 'fix: x'],
    breaking: 'no pads',
  });
});

test.each([
  [
    'BREAKING CHANGE: a line that is wrapped\nat 72 characters.\nRefs: #3',
    'a line that is wrapped at 72 characters.',
  ],
  ['BREAKING-CHANGE:\n\nBelow.\n\nNot this.', 'Below.'],
  ['BREAKING CHANGE:\n- one\n- two', 'one; two'],
  ['BREAKING CHANGE: one\nBREAKING CHANGE: two', 'one; two'],
  ['BREAKING CHANGE: first\n\nWords.\n\nBREAKING CHANGE: second\nnote\n\nRefs: #3', 'first; second note'],
  ['BREAKING CHANGES:\n\n- one\n- two', 'one; two'],
  ['BREAKING-CHANGES: one\r\n\r\nBREAKING CHANGE: one', 'one'],
  ['BREAKING CHANGE:\r\n\r\n## How to test\r\n', null],
  ['BREAKING CHANGE:\n\n<!-- What breaks? -->', null],
  ['- BREAKING CHANGE: one\n- BREAKING CHANGE: two', 'one; two'],
  ['**BREAKING CHANGE:** one\n\n**BREAKING CHANGES**: two', 'one; two'],
  ['BREAKING CHANGE(api): one\nBREAKING CHANGE : two', 'one; two'],
  ['- [ ] BREAKING CHANGE: is it one?', null],
  ['BREAKING CHANGE:', null],
  ['No BREAKING CHANGE: at all', null],
])('of %j what breaks is %j', (body, breaking) => {
  const event = keptOf(github, 'pull_request', { 'pull_request.body': body });
  expect(event?.data).toMatchObject({ breaking });
});

test('the breaking note is one line of bounded length', () => {
  const body = `BREAKING CHANGE: ${'- x\n'.repeat(100_000)}`;
  const event = keptOf(github, 'pull_request', { 'pull_request.body': body });
  expect(event?.type === 'pull_request' && event.data.breaking?.length).toBeLessThanOrEqual(500);
});

test.each([
  ['Merge pull request #12 from ann/x\n\nQuiet mode\n', 'Merge pull request #12 from ann/x: Quiet mode'],
  ['Merge pull request #12 from ann/x', 'Merge pull request #12 from ann/x'],
  ['Merge pull request #12 from ann/x (again)\n\nQuiet mode', 'Merge pull request #12 from ann/x (again)'],
  ["Merge branch 'x'\n\nQuiet mode", "Merge branch 'x'"],
])('the subject of %j is %j', (message, subject) => {
  const event = keptOf(github, 'push', { 'commits.0.message': message });
  expect(event?.type === 'push' && event.data.commits[0]?.subject).toBe(subject);
});

const COMPARE = 'https://github.com/acme/rocket/compare/v2.3.0...v2.4.0';

test.each([
  [`**Full Changelog**: ${COMPARE}`, null],
  [`<!-- Release notes generated by a button -->\r\n\r\n**Full Changelog**: ${COMPARE}\r\n`, null],
  [`Quieter.\n\n**Full Changelog**: ${COMPARE}`, `Quieter.\n\n**Full Changelog**: ${COMPARE}`],
])('of the notes %j is kept %j', (body, notes) => {
  expect(keptOf(github, 'release', { 'release.body': body })?.data).toMatchObject({ notes });
});

test('a pull request is its number, on the branch that it was merged into', () => {
  expect(keptOf(github, 'pull_request', { 'pull_request.base.ref': 'next' })).toMatchObject({
    type: 'pull_request',
    key: '12',
    branch: 'next',
    occurredAt: '2026-11-20T11:59:00.000Z',
    data: { number: 12, labels: ['bug'], isDefaultBranch: false },
  });
  expect(keptOf(github, 'pull_request')?.data).toMatchObject({ isDefaultBranch: true });
});

test('an issue is completed until it is reopened or removed', () => {
  const isCompleted = (changes: Record<string, unknown>) => {
    const event = keptOf(linear, 'Issue', changes);
    return event?.type === 'issue' && event.data.isCompleted;
  };
  expect(isCompleted({})).toBe(true);
  expect(isCompleted({ 'data.state.type': 'started' })).toBe(false);
  expect(isCompleted({ action: 'remove' })).toBe(false);
});

test('log data of an older version, with fewer fields, is read', () => {
  const data = { tagName: 'v1', name: null, body: null, isPrerelease: false, targetBranch: null };
  const old = { ...delivery, event: 'release', action: 'published', data };
  expect(toEvent(old)).toMatchObject({ key: 'v1', occurredAt: RECEIVED, branch: '' });
});
