import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changesOf } from '../../../src/drafting/changes/reached.ts';
import { revertsIn, takenIn } from '../../../src/providers/commit-text.ts';
import { commit, pullRequest } from './samples.ts';

// A change and its revert vanish when both are in the range.

const sha = (name: string | number) => Bun.SHA1.hash(String(name), 'hex');
const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString();

/** Each message is a commit of a push of its own, in order. `X` in a message is the hash of the commit with this name. */
function listed(...messages: [name: string, message: string][]): string[] {
  const pushes = messages.map(([name, message], index) => {
    const [subject = ''] = message.split('\n', 1);
    const data = {
      after: sha(name),
      compareUrl: null,
      commits: [commit({ sha: sha(name), subject, ...takenIn(message) })],
    };
    return { key: sha(name), occurredAt: at(index), data };
  });
  return changesOf({ pushes, pullRequests: [] }).changes.map(({ text }) => text);
}

const reverts = (name: string, title: string) => `Revert "${title}"\n\nThis reverts commit ${sha(name)}.`;
const A = ['a', 'Quiet mode'] as [string, string];
const R = ['r', reverts('a', 'Quiet mode')] as [string, string];

describe('commits', () => {
  test.each<[string, [string, string][], string[]]>([
    ['a change and its revert', [A, R], []],
    ['others stay', [A, ['b', 'Dark mode'], R], ['Dark mode']],
    [
      'the revert of a revert brings it back',
      [A, R, ['rr', reverts('r', 'Revert "Quiet mode"')]],
      ['Quiet mode'],
    ],
    [
      'a reapply too',
      [A, R, ['ra', `Reapply "Quiet mode"\n\nThis reverts commit ${sha('r')}.`]],
      ['Quiet mode'],
    ],
    ['a reapply by its title', [A, R, ['ra', 'Reapply "Quiet mode"']], ['Quiet mode']],
    [
      'a chain of four',
      [
        A,
        R,
        ['rr', reverts('r', 'Revert "Quiet mode"')],
        ['r4', reverts('rr', 'Revert "Revert "Quiet mode""')],
      ],
      [],
    ],
    ['by the quoted title alone', [A, ['r', 'Revert "Quiet mode"']], []],
    [
      'by the quoted title with the number of its merge',
      [
        ['a', 'Quiet mode (#4)'],
        ['r', 'Revert "Quiet mode" (#5)'],
      ],
      [],
    ],
    [
      'a title that two changes have',
      [A, ['b', 'Quiet mode'], ['r', 'Revert "Quiet mode"']],
      ['Quiet mode', 'Quiet mode', 'Revert: Quiet mode'],
    ],
    ['what was published before', [R], ['Revert: Quiet mode']],
    ['what was published before, and again', [R, ['rr', reverts('r', 'Revert "Quiet mode"')]], []],
    ['what was taken back before, and comes back', [['ra', 'Reapply "Quiet mode"']], ['Reapply: Quiet mode']],
    ['a type with the hash', [A, ['r', `revert: quiet mode\n\nRefs: ${sha('a')}`]], []],
    [
      'a type with an abbreviated hash',
      [A, ['r', `revert: quiet mode\n\nRefs: ${sha('a').slice(0, 9)}`]],
      [],
    ],
    [
      'a type with two hashes',
      [A, ['b', 'Dark mode'], ['r', `revert: modes\n\nRefs: ${sha('a')}, ${sha('b')}`]],
      [],
    ],
    ['a title of its own', [A, ['r', `Make noise again\n\nThis reverts commit ${sha('a')}.`]], []],
    ['a button', [A, ['b', 'Revert button in the editor']], ['Quiet mode', 'Revert button in the editor']],
    [
      'a sentence about it',
      [A, ['b', `Louder\n\nBefore.\nThis reverts commit ${sha('a')}.`]],
      ['Quiet mode', 'Louder'],
    ],
    [
      'a copy of it that came later',
      [A, R, ['c', `Quiet mode\n\n(cherry picked from commit ${sha('a')})`]],
      ['Quiet mode'],
    ],
    [
      'a copy, taken back by the first',
      [['c', `Quiet mode\n\n(cherry picked from commit ${sha('a')})`], R],
      [],
    ],
  ])('%s', (_, messages, expected) => {
    expect(listed(...messages)).toEqual(expected);
  });
});

describe('pull requests', () => {
  const pull = (number: number, title: string, body = '') => ({
    key: String(number),
    occurredAt: at(number),
    data: pullRequest({ number, title, mergeCommitSha: sha(number), ...revertsIn(title, body) }),
  });
  const read = (...pulls: ReturnType<typeof pull>[]) => changesOf({ pushes: [], pullRequests: pulls });

  test.each([
    ['GitHub', 'Revert "Quiet mode"', 'Reverts acme/rocket#1'],
    ['GitLab', 'Revert "Quiet mode"', 'This reverts merge request !1'],
    ['GitLab with its project', 'Revert "Quiet mode"', 'This reverts merge request acme/rocket!1'],
    ['its commit', 'Revert "Quiet mode"', `This reverts commit ${sha(1)}.`],
    ['its title alone', 'Revert "Quiet mode"', ''],
    ['a title of its own', 'Be loud again', 'Reverts acme/rocket#1'],
  ])('as %s says it', (_, title, body) => {
    expect(read(pull(1, 'Quiet mode'), pull(2, title, body))).toEqual({
      changes: [],
      leftOut: [{ title: 'Quiet mode', reference: { label: '#1', url: null }, reason: 'taken back by #2' }],
    });
    expect(read(pull(2, title, body)).changes).toHaveLength(1);
  });

  test('with their pushes, whose commits say which', () => {
    const push = (number: number, message: string) => {
      const [subject = ''] = message.split('\n', 1);
      const commits = [commit({ sha: sha(number), subject, ...takenIn(message) })];
      return {
        key: sha(number),
        occurredAt: at(number),
        data: { after: sha(number), compareUrl: null, commits },
      };
    };
    const pushes = [push(1, 'Quiet mode (#1)'), push(2, `Be loud (#2)\n\nThis reverts commit ${sha(1)}.`)];
    const pullRequests = [pull(1, 'Quiet mode'), pull(2, 'Be loud')];
    expect(changesOf({ pushes, pullRequests }).changes).toEqual([]);
    expect(changesOf({ pushes, pullRequests: pullRequests.slice(1) }).changes).toEqual([]);
  });
});

/** The steps of a history on some changes: a model beside the code. A step that would change nothing is no commit. */
const step = fc.record({
  kind: fc.constantFrom('make', 'backport', 'revert', 'revert', 'copy'),
  of: fc.nat(20),
});

interface Told {
  name: string;
  message: string;
  title: string;
  change: string;
  /** The change is there after it. */
  makes: boolean;
}

function historyOf(steps: readonly { kind: string; of: number }[]): Told[] {
  const history: Told[] = [];
  const isThere = new Map<string, boolean>();
  for (const [index, { kind, of }] of steps.entries()) {
    const name = `n${index}`;
    const target = history[of % Math.max(1, history.length)];
    const title = `Change ${name}`;
    const picked = (from: string) => `\n\n(cherry picked from commit ${sha(from)})`;
    let next: Told = { name, title, change: name, makes: true, message: title };
    if (kind === 'backport') next.message += picked(`other ${name}`);
    else if (target !== undefined && kind !== 'make') {
      const { change, makes } = target;
      const { message } = target;
      const isRevert = kind === 'revert';
      // People revert what they see, here or on the branch that it came from.
      const named =
        isRevert && of % 2 === 0 && message.includes('cherry') ? `other ${target.name}` : target.name;
      next = isRevert
        ? {
            name,
            title: `Revert "${target.title}"`,
            change,
            makes: !makes,
            message: reverts(named, target.title),
          }
        : { name, title: target.title, change, makes, message: target.title + picked(target.name) };
      if (!isRevert && !/^Change /.test(target.title)) continue;
      if (
        message.includes('cherry picked') &&
        !message.includes(sha(`other ${target.name}`)) &&
        named !== target.name
      )
        continue;
    }
    if ((isThere.get(next.change) ?? false) === next.makes) continue;
    isThere.set(next.change, next.makes);
    history.push(next);
  }
  return history;
}

test('an entry is there exactly when its change is in effect at the end and was not before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 16 }), fc.nat(16), (steps, start) => {
      const history = historyOf(steps);
      const stateAfter = (told: readonly Told[]) => new Map(told.map(({ change, makes }) => [change, makes]));
      const [before, after] = [stateAfter(history.slice(0, start)), stateAfter(history)];
      const changed = [...after].filter(([change, makes]) => makes !== (before.get(change) ?? false));
      const texts = listed(
        ...history.slice(start).map(({ name, message }): [string, string] => [name, message]),
      );
      const changes = texts.map((text) => /hange (n\d+)/.exec(text)?.[1]);
      expect(changes.toSorted()).toEqual(changed.map(([change]) => change).toSorted());
    }),
    { numRuns: 5_000 },
  );
});
