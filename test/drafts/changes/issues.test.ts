import { describe, expect, test } from 'bun:test';
import { changesOf } from '../../../src/drafting/changes/reached.ts';
import type { Shipped } from '../../../src/drafting/store.ts';
import { identifiersIn } from '../../../src/providers/paths.ts';
import { expectLinear } from '../../support/growth.ts';

const listed = (...given: Parameters<typeof changesOf>) => changesOf(...given).changes;

// Commits, pull requests and issues that name each other are one change.

let minute = 0;
const facts = (key: string) => ({
  ...{ key, branch: 'main', version: '', repository: 'acme/rocket', deliveryId: 'd' },
  occurredAt: new Date(Date.UTC(2026, 10, 20, 12, minute++)).toISOString(),
});

function pull(number: number, title: string, more: Partial<Shipped<'pull_request'>['data']> = {}) {
  const data = {
    ...{ number, title, breaking: null, labels: [], author: 'ann', isDefaultBranch: true },
    ...{ mergeCommitSha: null, url: `https://github.com/acme/rocket/pull/${number}`, ...more },
  };
  return { ...facts(String(number)), type: 'pull_request', data } as Shipped<'pull_request'>;
}

function issue(identifier: string, title: string, more: Partial<Shipped<'issue'>['data']> = {}) {
  const url = `https://linear.app/acme/issue/${identifier}`;
  const data = { ...{ id: identifier, identifier, title, labels: [], team: null, project: null }, url };
  return {
    ...{ ...facts(identifier), type: 'issue', branch: null, repository: null },
    data: { ...data, author: 'Ben', isCompleted: true, ...more },
  } as Shipped<'issue'>;
}

function push(...commits: { sha: string; subject: string; identifiers?: string[] }[]) {
  const after = commits.at(-1)?.sha ?? '';
  const whole = commits.map((each) => ({ breaking: null, author: 'ann', url: null, ...each }));
  return {
    ...facts(after),
    type: 'push',
    data: { after, compareUrl: null, commits: whole },
  } as Shipped<'push'>;
}

const linesOf = (given: Partial<Parameters<typeof changesOf>[0]>) =>
  listed({ pushes: [], pullRequests: [], ...given }).map(
    ({ text, references, authors }) =>
      `${text} (${references.map(({ label }) => label).join(', ')}) by ${authors.join(', ')}`,
  );

describe('a change that names an issue', () => {
  test.each([
    ['feat: quiet mode', 'Quiet mode'],
    ['ENG-412 Quiet mode', 'Quiet mode'],
    ['[ENG-412] Quiet mode', 'Quiet mode'],
    ['ENG-412: quiet mode', 'Quiet mode'],
    ['feat(ENG-412): quiet mode', 'Quiet mode'],
    ['feat: ENG-412 quiet mode', 'Quiet mode'],
    ['Quiet mode (ENG-412)', 'Quiet mode'],
    ['Quiet mode, fixes ENG-412', 'Quiet mode'],
    ['Quiet mode (fixes ENG-412)', 'Quiet mode'],
    // The issue says more.
    ['ENG-412', 'Engines are too loud'],
    ['fix: ENG-412', 'Engines are too loud'],
    ['Fix ENG-412', 'Engines are too loud'],
    ['WIP', 'Engines are too loud'],
    ['Ann/eng 412 quiet mode', 'Engines are too loud'],
    ['Eng 412 quiet mode', 'Engines are too loud'],
  ])('has its reference and its author: %s', (title, text) => {
    const pullRequests = [pull(12, title, { identifiers: ['ENG-412'] })];
    const linked = [issue('ENG-412', 'Engines are too loud')];
    expect(linesOf({ pullRequests, linked })).toEqual([`${text} (#12, ENG-412) by ann, Ben`]);
  });

  test('joins the others that name it, under the title of the issue', () => {
    const pullRequests = [
      pull(12, 'Backend of quiet mode', { identifiers: ['ENG-412'] }),
      pull(13, 'fix: the gauge'),
      pull(14, 'Buttons for quiet mode', { identifiers: ['ENG-412', 'ENG-7'], author: 'ben' }),
    ];
    const pushes = [push({ sha: 'abc1234', subject: 'Polish (ENG-412)', identifiers: ['ENG-412'] })];
    const linked = [issue('ENG-412', 'Quiet mode'), issue('ENG-7', 'Buttons')];
    expect(linesOf({ pullRequests, pushes, linked })).toEqual([
      'Quiet mode (#12, #14, abc1234, ENG-412, ENG-7) by ann, ben',
      'The gauge (#13) by ann',
    ]);
  });

  test('is named by the commits of its pull request too', () => {
    const pullRequests = [pull(12, 'Quiet mode', { mergeCommitSha: 'bbb' })];
    const pushes = [
      push(
        { sha: 'aaa', subject: 'soften', identifiers: ['ENG-412'] },
        { sha: 'bbb', subject: 'Merge pull request #12 from ann/quiet: Quiet mode' },
      ),
    ];
    const linked = [issue('ENG-412', 'Engines are too loud')];
    expect(linesOf({ pullRequests, pushes, linked })).toEqual(['Quiet mode (#12, ENG-412) by ann, Ben']);
  });

  test('takes the group of the issue when its own title has none', () => {
    const pullRequests = [pull(12, 'Quiet nights', { identifiers: ['ENG-412'] })];
    const linked = [issue('ENG-412', 'Engines are too loud', { labels: ['Bug'] })];
    expect(listed({ pushes: [], pullRequests, linked })).toMatchObject([{ group: 'Fixed' }]);
  });

  test('stays as it is while the issue is unknown', () => {
    const pullRequests = [pull(12, 'ENG-412: quiet mode', { identifiers: ['ENG-412'] })];
    const [line] = linesOf({ pullRequests, linked: [issue('ENG-7', 'Other')] });
    expect(line).toBe('ENG-412: quiet mode (#12) by ann');
  });
});

describe('identifiers', () => {
  test.each([
    ['the branch', { branch: 'ann/eng-412-quiet-mode', title: 'x' }, ['ENG-412']],
    ['the title', { title: 'feat: x (ENG-412)' }, ['ENG-412']],
    [
      'words that link',
      { title: 'x', text: 'Fixes ENG-1, ENG-2 and eng-3.\n\nPart of OPS-4' },
      ['ENG-1', 'ENG-2', 'ENG-3', 'OPS-4'],
    ],
    [
      'the page of the issue',
      { title: 'x', text: '<!-- linear-linkback -->\nhttps://linear.app/acme/issue/ENG-9/quiet' },
      ['ENG-9'],
    ],
    [
      'each once, the branch first',
      { branch: 'eng-2', title: 'ENG-1 and ENG-2', text: 'Closes ENG-1' },
      ['ENG-2', 'ENG-1'],
    ],
    ['no mention', { title: 'x', text: 'Like ENG-412, but quieter. See utf-8. Fixes #12' }, []],
    ['no longer word', { branch: 'x', title: 'PRE-ENG-412 and ENG-412x' }, []],
  ])('are those of %s', (_, named, expected) => {
    expect(identifiersIn(named)).toEqual(expected);
  });

  test.each(['fixes a, ', 'a-', 'fix and ', 'fixes https://x ', 'A-1'])(
    'take time in proportion to the text of many %j',
    async (part) => {
      await expectLinear(
        part,
        (size) => part.repeat(size / part.length),
        (text) => {
          identifiersIn({ branch: text.slice(0, 1_000), title: text.slice(0, 20_000), text });
        },
      );
    },
  );
});
