import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changeOfIssue } from '../../../src/drafting/changes/issues.ts';
import { changeOfCommit, changeOfPullRequest } from '../../../src/drafting/changes/reached.ts';
import { commit, issue, pullRequest } from './samples.ts';

const sha = 'c02f9a6de1f0c3b2a19e8d7c6b5a4f3e2d1c0b9a';

describe('titles of the real world', () => {
  test.each([
    // Angular, the specification.
    ['fix(compiler): handle `@let` in i18n blocks', 'Fixed', 'compiler', 'Handle `@let` in i18n blocks'],
    ['perf(core): avoid extra change detection', 'Changed', 'core', 'Avoid extra change detection'],
    ['refactor(router): drop parameter properties', 'Other', 'router', 'Drop parameter properties'],
    ['chore!: drop support for Node 6', 'Changed', null, 'Drop support for Node 6'],
    ['fix(security): escape names', 'Security', 'security', 'Escape names'],
    ['feat!: drop support for Node 6', 'Added', null, 'Drop support for Node 6'],
    // Bots.
    ['build(deps): bump x from 1 to 2', 'Other', 'deps', 'Bump x from 1 to 2'],
    ['Bump lodash from 4.17.20 to 4.17.21', 'Other', null, 'Bump lodash from 4.17.20 to 4.17.21'],
    ['chore(deps): update dependency eslint to v9', 'Other', 'deps', 'Update dependency eslint to v9'],
    ['Update dependency eslint to v9', 'Other', null, 'Update dependency eslint to v9'],
    ['Update actions/checkout action to v4', 'Other', null, 'Update actions/checkout action to v4'],
    ['fix(deps): update all', 'Fixed', 'deps', 'Update all'],
    [
      'fix(deps): update dependency elysia to v1.4.30',
      'Other',
      'deps',
      'Update dependency elysia to v1.4.30',
    ],
    ['Update README.md', 'Other', null, 'Update README.md'],
    // Types that change what it is about.
    ['docs: search', 'Other', 'docs', 'Search'],
    ['test(engine): leap years', 'Other', 'engine tests', 'Leap years'],
    ['tests(tests): x', 'Other', 'tests', 'X'],
    ['ci: cache', 'Other', 'CI', 'Cache'],
    ['WIP: refuel', 'Other', 'WIP', 'Refuel'],
    // Plain English.
    ['Adds a quiet mode.', 'Added', null, 'Adds a quiet mode'],
    ['introduce themes', 'Added', null, 'Introduce themes'],
    ['Fixes #12 where names vanish', 'Fixed', null, 'Fixes #12 where names vanish'],
    ['Resolve a race', 'Fixed', null, 'Resolve a race'],
    ['Drop Node 16', 'Removed', null, 'Drop Node 16'],
    ['Deprecate v1', 'Deprecated', null, 'Deprecate v1'],
    ['Rename the button', 'Changed', null, 'Rename the button'],
    ['Speed up the search', 'Changed', null, 'Speed up the search'],
    ['Fixtures for the tests', 'Other', null, 'Fixtures for the tests'],
    ['Add-on store', 'Other', null, 'Add-on store'],
    ['wait for it...', 'Other', null, 'Wait for it...'],
    ['engine: start softer', 'Other', null, 'Engine: start softer'],
    ['net/http: fix a leak', 'Fixed', null, 'net/http: fix a leak'],
    ['[Mobile] Fix a crash', 'Fixed', null, '[Mobile] Fix a crash'],
    // Emojis.
    ['\u2728 quiet mode', 'Added', null, 'Quiet mode'],
    ['\u{1f4a5} Drop Node 16', 'Removed', null, 'Drop Node 16'],
    ['\u{1f4a5} No more Node 16', 'Changed', null, 'No more Node 16'],
    ['\u{1f680} Launch', 'Other', null, 'Launch'],
    // Reverts.
    ['Revert "feat(engine): quiet mode (#12)"', 'Changed', 'engine', 'Revert: quiet mode'],
    ['revert: let us never again speak of it', 'Changed', null, 'Revert: let us never again speak of it'],
    ['Revert "Revert "feat: x""', 'Changed', null, 'Revert: Revert "feat: x"'],
    ['Reapply "feat(engine): quiet mode"', 'Changed', 'engine', 'Reapply: quiet mode'],
    ['Revert "Reapply "feat: x""', 'Changed', null, 'Revert: Reapply "feat: x"'],
    // Code, and letters of all kinds.
    ['`useState` leaks', 'Other', null, '`useState` leaks'],
    ['useState leaks', 'Other', null, 'useState leaks'],
    ['feat: iOS app', 'Added', null, 'iOS app'],
    ['fix: foo_bar is null', 'Fixed', null, 'foo_bar is null'],
    ['fix: package.json is read once', 'Fixed', null, 'package.json is read once'],
    ['fix: \u00e9t\u00e9 is a word', 'Fixed', null, '\u00c9t\u00e9 is a word'],
    ['fix: \u00dfx', 'Fixed', null, '\u00dfx'],
    ['\u4fee\u590d\u767b\u5f55\u95ee\u9898\u3002', 'Other', null, '\u4fee\u590d\u767b\u5f55\u95ee\u9898'],
    ['feat: \u202e\u0645\u0631\u062d\u0628\u0627\u202c', 'Added', null, '\u0645\u0631\u062d\u0628\u0627'],
    ['fix: half a \ud83d pair', 'Fixed', null, 'Half a \ufffd pair'],
    // Nothing to say.
    ['', 'Other', null, 'Untitled'],
    ['(#12)', 'Other', null, '(#12)'],
    ['fix:', 'Fixed', null, 'Fix:'],
  ])('%j', (subject, group, scope, text) => {
    expect(changeOfCommit(commit({ sha, subject }))).toMatchObject({ group, scope, text });
  });

  test.each([['feat!: x'], ['\u{1f4a5} x'], ['engine!: x'], ['Breaking: x']])('%s breaks', (subject) => {
    expect(changeOfCommit(commit({ sha, subject })).isBreaking).toBe(true);
  });
});

describe('commits', () => {
  test('a commit in full', () => {
    const url = `https://github.com/acme/rocket/commit/${sha}`;
    const subject = 'refactor(engine): start softer';
    expect(changeOfCommit({ sha, subject, breaking: 'Call\n`warmUp`  first.', author: 'ann', url })).toEqual({
      text: 'Start softer',
      scope: 'engine',
      group: 'Changed',
      isBreaking: true,
      breakingNote: 'Call `warmUp` first.',
      references: [{ label: 'c02f9a6', url }],
      authors: ['ann'],
    });
  });

  test.each([
    [
      'x (#12)',
      `https://github.com/acme/rocket/commit/${sha}`,
      '#12',
      'https://github.com/acme/rocket/pull/12',
    ],
    ['x (#12)', `https://git.test/acme/rocket/commit/${sha}`, '#12', 'https://git.test/acme/rocket/pull/12'],
    [
      'x (#12)',
      `https://gitlab.test/group/acme/rocket/-/commit/${sha}`,
      '!12',
      'https://gitlab.test/group/acme/rocket/-/merge_requests/12',
    ],
    ['x (#12)', `javascript:alert(1)//a/b/commit/${sha}`, '#12', null],
    ['x (#12)', null, '#12', null],
    ['x', null, 'c02f9a6', null],
    [
      'Merge pull request #12 from a/b',
      `https://github.com/a/c/commit/${sha}`,
      '#12',
      'https://github.com/a/c/pull/12',
    ],
  ])('%s at %s refers to %s', (subject, url, label, page) => {
    expect(changeOfCommit(commit({ sha, subject, url })).references).toEqual([{ label, url: page }]);
  });

  test('a merge with its title is that title', () => {
    const subject = 'Merge pull request #12 from ann/quiet-mode: feat(engine): quiet mode';
    const change = changeOfCommit(commit({ sha, subject }));
    expect(change).toMatchObject({ text: 'Quiet mode', group: 'Added', scope: 'engine' });
    expect(change.references).toMatchObject([{ label: '#12' }]);
  });

  test('a merge names its branch', () => {
    const change = changeOfCommit(commit({ subject: 'Merge pull request #12 from ann/quiet-mode' }));
    expect(change).toMatchObject({ text: 'Merge ann/quiet-mode', group: 'Other', scope: null });
  });

  test.each([
    [null, false, null],
    ['', true, null],
    ['x', true, 'x'],
  ])('a footer of %j', (breaking, isBreaking, breakingNote) => {
    expect(changeOfCommit(commit({ subject: 'fix: y', breaking }))).toMatchObject({
      isBreaking,
      breakingNote,
    });
  });

  test.each([null, '', ' '])('the author %j is nobody', (author) => {
    expect(changeOfCommit(commit({ author })).authors).toEqual([]);
  });
});

describe('the group of a pull request is decided by', () => {
  test.each([
    ['a security label first', 'feat: x', ['Feature', 'Security'], 'Security'],
    ['then the type', 'fix: add x', ['enhancement'], 'Fixed'],
    ['a chore stays one', 'chore: x', ['enhancement'], 'Other'],
    ['then labels', 'Add a check for names', ['bug'], 'Fixed'],
    ['then words', 'Add a check for names', ['good first issue'], 'Added'],
    ['else none', 'A check for names', [], 'Other'],
    ['but breaking is no chore', 'chore: x', ['breaking change'], 'Changed'],
    ['and else stays what it is', 'fix: x', ['breaking change'], 'Fixed'],
  ])('%s', (_, title, labels, group) => {
    expect<string>(changeOfPullRequest(pullRequest({ title, labels })).group).toBe(group);
  });

  test('it refers to its own number', () => {
    const change = changeOfPullRequest(
      pullRequest({ number: 15, title: 'Backport x (#12)', url: 'https://x.test/15' }),
    );
    expect(change).toMatchObject({
      text: 'Backport x',
      references: [{ label: '#15', url: 'https://x.test/15' }],
    });
  });
});

describe('issues', () => {
  test.each([
    ['Names vanish on save', ['Bug'], 'Fixed', 'Names vanish on save'],
    ['Add button is broken', ['Bug'], 'Fixed', 'Add button is broken'],
    ['fix: dark mode', ['Feature'], 'Added', 'Dark mode'],
    ['Quicker search', ['Improvement'], 'Changed', 'Quicker search'],
    ['Support SSO', [], 'Added', 'Support SSO'],
    ['ENG-7: Fix the door', [], 'Fixed', 'ENG-7: Fix the door'],
    ['Ask the board', ['Q3', 'ops'], 'Other', 'Ask the board'],
    [
      '\u691c\u7d22\u3092\u901f\u304f\u3059\u308b',
      ['Feature'],
      'Added',
      '\u691c\u7d22\u3092\u901f\u304f\u3059\u308b',
    ],
  ])('%s %j', (title, labels, group, text) => {
    expect(changeOfIssue(issue({ title, labels }))).toMatchObject({ group, text });
  });

  test('it refers to its identifier', () => {
    const url = 'https://linear.app/acme/issue/ENG-412/x';
    expect(changeOfIssue(issue({ identifier: 'ENG-412', url, author: 'Ann' }))).toMatchObject({
      references: [{ label: 'ENG-412', url }],
      authors: ['Ann'],
      isBreaking: false,
      breakingNote: null,
    });
  });
});

test('texts are one bounded line, whatever they are made of', () => {
  const unit = fc.constantFrom(
    'a',
    ' ',
    '\n',
    '\0',
    '\u202e',
    '\u2066',
    '\ud83d',
    '\u{1f600}',
    '.',
    ':',
    '(',
    ')',
    '#1',
    '`',
  );
  const text = fc.oneof(fc.string({ unit, maxLength: 500 }), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(text, text, (description, scope) => {
      const change = changeOfCommit(
        commit({ subject: `feat(${scope}): ${description}`, breaking: description }),
      );
      for (const line of [change.text, change.scope ?? '', change.breakingNote ?? '']) {
        expect(line.length).toBeLessThanOrEqual(300);
        expect(line).not.toMatch(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]|^\s|\s$/u);
      }
      expect(change.text).not.toBe('');
      expect(change.scope?.length ?? 0).toBeLessThanOrEqual(50);
    }),
  );
});

test('a long scope is cut', () => {
  const { scope } = changeOfCommit(commit({ subject: `feat(${'s'.repeat(80)}): x` }));
  expect(scope).toBe(`${'s'.repeat(49)}\u2026`);
});

test('a long subject is cut, its number kept', () => {
  const change = changeOfCommit(commit({ subject: `feat: ${'\u{1f600}'.repeat(90_000)} (#12)` }));
  expect(change.text).toHaveLength(299);
  expect(change.text.endsWith('\u2026')).toBe(true);
  expect(change.references[0]?.label).toBe('#12');
});
