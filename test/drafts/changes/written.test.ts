import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changesOf } from '../../../src/drafting/changes/reached.ts';
import type { EntryRules } from '../../../src/drafting/changes/rules.ts';
import { changeLine } from '../../../src/drafting/links.ts';
import { messageOf, takenIn, writtenIn } from '../../../src/providers/commit-text.ts';
import { blocksIn, changelogTrailer } from '../../../src/providers/written.ts';
import { expectLinear } from '../../support/growth.ts';
import { commit, pullRequest } from './samples.ts';

const listed = (...given: Parameters<typeof changesOf>) => changesOf(...given).changes;

/** `Group: entry` of each change. `titled`: what a change without a block is called. */
function read(
  body: string,
  rules?: EntryRules,
  more: Partial<ReturnType<typeof pullRequest>> = {},
): string[] {
  const data = { ...pullRequest({ title: 'Start softer' }), blocks: blocksIn(body), ...more };
  const pull = { key: '12', occurredAt: '2026-11-20T12:00:00.000Z', data };
  return listed({ pushes: [], pullRequests: [pull] }, rules).map(
    ({ group, isBreaking, markdown, text }) =>
      `${group}${isBreaking ? '!' : ''}: ${markdown ?? `(title) ${text}`}`,
  );
}

describe('entries in descriptions', () => {
  test.each<[name: string, body: string, entries: string[]]>([
    [
      'one paragraph',
      'What it does.\n\n```release-note\nEngines start softer.\n```\n\nCloses #9',
      ['Other: Engines start softer.'],
    ],
    ['no block: the title', 'Engines start softer.', ['Other: (title) Start softer']],
    ['an empty block: the title', '```release-note\n```', ['Other: (title) Start softer']],
    ['a block of blank lines: the title', '```release-note\n\n   \n```', ['Other: (title) Start softer']],
    [
      'the comment of a template: the title',
      '```release-note\n<!-- Write for users, or NONE -->\n```',
      ['Other: (title) Start softer'],
    ],
    [
      'a comment of several lines: the title',
      '```release-note\n<!--\nWrite for users,\nor NONE\n-->\n```',
      ['Other: (title) Start softer'],
    ],
    [
      'words below the comment',
      '```release-note\n<!-- Write for users -->\nEngines start softer.\n```',
      ['Other: Engines start softer.'],
    ],
    [
      'words beside a comment',
      '```release-note\nEngines start softer <!-- at last -->\n```',
      ['Other: Engines start softer'],
    ],
    ['NONE', '```release-note\nNONE\n```', []],
    ['none with a period', '```release-note\nnone.\n```', []],
    ['N/A', '```release-note\nN/A\n```', []],
    ['quoted NONE', '```release-note\n"NONE"\n```', []],
    ['NONE in backticks', '```release-note\n`NONE`\n```', []],
    ['NONE in bold', '```release-note\n**None**\n```', []],
    ['NONE as an item', '```release-note\n- NONE\n```', []],
    ['NONE on the line of the fence', '```release-note NONE\n```', []],
    ['NONE behind a colon', '```release-note: none\n```', []],
    ['all of it on one line', '```release-note NONE```', []],
    ['words on one line', '```release-note Engines start softer```', ['Other: Engines start softer']],
    [
      'words on the line of the fence',
      '```release-note Engines start softer\n```',
      ['Other: Engines start softer'],
    ],
    [
      'a sentence that begins with none',
      '```release-note\nNone of the engines stalls now\n```',
      ['Other: None of the engines stalls now'],
    ],
    ['tildes', '~~~release-note\nEngines start softer\n~~~', ['Other: Engines start softer']],
    [
      'more backticks than three',
      '````release-note\nRun ``` rocket ``` first\n````',
      ['Other: Run ``` rocket ``` first'],
    ],
    [
      'indented by two spaces',
      '  ```release-note\n  Engines start softer\n  ```',
      ['Other: Engines start softer'],
    ],
    [
      'indented by a tab',
      '\t```release-note\n\tEngines start softer\n\t```',
      ['Other: Engines start softer'],
    ],
    [
      'below an item of a list',
      '- Notes:\n\n    ```release-note\n    Engines start softer\n    ```',
      ['Other: Engines start softer'],
    ],
    ['another case', '```Release-Note\nEngines start softer\n```', ['Other: Engines start softer']],
    ['capitals and a plural', '```RELEASE-NOTES\nEngines start softer\n```', ['Other: Engines start softer']],
    [
      'a space before the name',
      '``` release-note\nEngines start softer\n```',
      ['Other: Engines start softer'],
    ],
    [
      'a space behind the name',
      '```release-note   \nEngines start softer\n```',
      ['Other: Engines start softer'],
    ],
    [
      'in a comment',
      '<!--\n```release-note\nEngines start softer\n```\n-->',
      ['Other: (title) Start softer'],
    ],
    [
      'in a comment, and again below it',
      '<!--\n```release-note\nExample\n```\n-->\n```release-note\nEngines start softer\n```',
      ['Other: Engines start softer'],
    ],
    [
      'in another fence',
      '````markdown\n```release-note\nExample\n```\n````',
      ['Other: (title) Start softer'],
    ],
    ['in a fence of tildes', '~~~md\n```release-note\nExample\n```\n~~~', ['Other: (title) Start softer']],
    [
      'code before it',
      '```ts\nconst x = 1;\n```\n\n```release-note\nEngines start softer\n```',
      ['Other: Engines start softer'],
    ],
    ['without an end', '```release-note\nEngines start softer', ['Other: Engines start softer']],
    ['another name', '```changelog\nEngines start softer\n```', ['Other: (title) Start softer']],
    ['a longer name', '```release-note-draft\nEngines start softer\n```', ['Other: (title) Start softer']],
    [
      'items',
      '```release-note\n- Engines start softer\n- Quiet mode\n```',
      ['Other: Engines start softer', 'Other: Quiet mode'],
    ],
    [
      'items with stars and pluses',
      '```release-note\n* Engines start softer\n* Quiet mode\n```',
      ['Other: Engines start softer', 'Other: Quiet mode'],
    ],
    [
      'numbered items',
      '```release-note\n1. Engines start softer\n2. Quiet mode\n```',
      ['Other: Engines start softer', 'Other: Quiet mode'],
    ],
    [
      'items with blank lines between',
      '```release-note\n- Engines start softer\n\n- Quiet mode\n```',
      ['Other: Engines start softer', 'Other: Quiet mode'],
    ],
    [
      'an item of several lines',
      '```release-note\n- Engines start\n  softer than before\n- Quiet mode\n```',
      ['Other: Engines start softer than before', 'Other: Quiet mode'],
    ],
    [
      'items below an item',
      '```release-note\n- Engines:\n  - start softer\n  - stop softer\n- Quiet mode\n```',
      ['Other: Engines: start softer; stop softer', 'Other: Quiet mode'],
    ],
    [
      'paragraphs',
      '```release-note\nEngines start softer\nthan before.\n\nQuiet mode.\n```',
      ['Other: Engines start softer than before.', 'Other: Quiet mode.'],
    ],
    [
      'an item and a paragraph',
      '```release-note\n- Engines start softer\n\nQuiet mode.\n```',
      ['Other: Engines start softer', 'Other: Quiet mode.'],
    ],
    [
      'boxes that are ticked',
      '```release-note\n- [x] Engines start softer\n```',
      ['Other: Engines start softer'],
    ],
    [
      'NONE beside an entry',
      '```release-note\n- Engines start softer\n- NONE\n```',
      ['Other: Engines start softer'],
    ],
    [
      'two blocks',
      '```release-note\nEngines start softer\n```\n```release-note\nQuiet mode\n```',
      ['Other: Engines start softer', 'Other: Quiet mode'],
    ],
    [
      'the same twice',
      '```release-note\nQuiet mode\n```\n```release-note\nQuiet mode\n```',
      ['Other: Quiet mode'],
    ],
    [
      'Markdown',
      '```release-note\n`rocket plan` is **fast** ([docs](https://rocket.test/docs))\n```',
      ['Other: `rocket plan` is **fast** ([docs](https://rocket.test/docs))'],
    ],
    [
      'a kind behind a colon',
      '```release-note:bug\nEngines start softer\n```',
      ['Fixed: Engines start softer'],
    ],
    [
      'a kind behind a space',
      '```release-note security\nEngines start softer\n```',
      ['Security: Engines start softer'],
    ],
    [
      'a breaking kind',
      '```release-note:breaking-change\nEngines start softer\n```',
      ['Changed!: Engines start softer'],
    ],
    [
      'performance',
      '```release-note:performance\nEngines start softer\n```',
      ['Performance: Engines start softer'],
    ],
    [
      'headings name the kind',
      '```release-note\n### Added\n- Quiet mode\n### Fixed\n- Engines start softer\n```',
      ['Added: Quiet mode', 'Fixed: Engines start softer'],
    ],
    [
      'a type of its own',
      '```release-note\nfix(engine): engines start softer\n```',
      ['Fixed: engines start softer'],
    ],
    ['a verb', '```release-note\nFix engines that start hard\n```', ['Fixed: Fix engines that start hard']],
    [
      'action required',
      '```release-note\n[ACTION REQUIRED] Engines need a key\n```',
      ['Changed!: [ACTION REQUIRED] Engines need a key'],
    ],
    [
      'action required with a hyphen',
      '```release-note\n- Action-required: engines need a key\n- Quiet mode\n```',
      ['Changed!: Action-required: engines need a key', 'Other: Quiet mode'],
    ],
    [
      'breaking in bold',
      '```release-note\n- **BREAKING:** Engines need a key\n- Quiet mode\n```',
      ['Changed!: **BREAKING:** Engines need a key', 'Other: Quiet mode'],
    ],
    [
      'a sentence about breaking',
      '```release-note\nBreaking the seal takes less time\n```',
      ['Other: Breaking the seal takes less time'],
    ],
    [
      'Chinese',
      '```release-note\n引擎启动更柔和。\n\n安静模式。\n```',
      ['Other: 引擎启动更柔和。', 'Other: 安静模式。'],
    ],
    ['none required', '```release-note\nNone required\n```', []],
    [
      'the heading of a template below',
      '```release-note\nEngines start softer\n```\n\n#### Additional documentation:\n\n```docs\n\n```',
      ['Other: Engines start softer'],
    ],
    ['the name of a label for none', '```release-note\nrelease-note-none\n```', []],
    ['none behind its own name', '```release-note\nRelease note: none\n```', []],
    ['nothing written yet: the title', '```release-note\nTBD\n```', ['Other: (title) Start softer']],
    ['NONE with a slip: the title', '```release-note\nNOTE\n```', ['Other: (title) Start softer']],
    [
      'lines that each begin with a scope',
      '```release-note:enhancement\nengine: starts softer\nengine: stops softer\n`hull`: rings less\n```',
      ['Added: engine: starts softer', 'Added: engine: stops softer', 'Added: `hull`: rings less'],
    ],
    [
      'lines of which one begins with a scope',
      '```release-note\nengine: starts softer, and it is\nquieter\n```',
      ['Other: engine: starts softer, and it is quieter'],
    ],
    [
      'a sentence that leads to items',
      '```release-note\nTwo gates are new:\n* `soft`: starts softer\n* `quiet`: rings less\n\nMore to come.\n```',
      ['Other: Two gates are new: `soft`: starts softer; `quiet`: rings less', 'Other: More to come.'],
    ],
    [
      'a sentence that leads to items after a blank line',
      '```release-note\nQuiet mode.\n\nIt has two levels:\n\n- soft\n- softer\n```',
      ['Other: Quiet mode.', 'Other: It has two levels: soft; softer'],
    ],
    [
      'a sentence that leads to a paragraph',
      '```release-note\nAction required:\n\nSet a key.\n```',
      ['Changed!: Action required: Set a key.'],
    ],
    [
      'words that lead to items as a heading does',
      '```release-note\nBug fixes:\n- Engines start softer\n\nNew features:\n- Quiet mode\n```',
      ['Fixed: Engines start softer', 'Added: Quiet mode'],
    ],
    ['a new resource', '```release-note:new-resource\naws_rocket\n```', ['Added: aws_rocket']],
  ])('%s', (_, body, entries) => {
    expect(read(body)).toEqual(entries);
    expect(read(body.replaceAll('\n', '\r\n'))).toEqual(entries);
  });
});

test.each([
  // [labels, title, kind of the trailer, entry]
  [[], 'Start softer', undefined, 'Engines start softer', 'Other'],
  [[], 'Start softer', 'fixed', 'Engines start softer', 'Fixed'],
  [['bug'], 'Start softer', undefined, 'Engines start softer', 'Fixed'],
  [[], 'feat: start softer', undefined, 'Engines start softer', 'Added'],
  [['bug'], 'feat: start softer', undefined, 'Engines start softer', 'Added'],
  [['security'], 'feat: start softer', undefined, 'Engines start softer', 'Security'],
  [['bug'], 'feat: start softer', 'performance', 'Engines start softer', 'Performance'],
  [['bug'], 'feat: start softer', 'other', 'Engines start softer', 'Other'],
  [[], 'Fix the start', undefined, 'Engines start softer', 'Other'],
  [['bug'], 'Start softer', undefined, 'feat: quiet mode', 'Added'],
] as const)('labels %p, title %s and trailer %s put "%s" into %s', (labels, title, kind, entry, group) => {
  const sha = 'c'.repeat(40);
  const request = pullRequest({
    ...{ title, labels: [...labels], mergeCommitSha: sha },
    blocks: blocksIn(`\`\`\`release-note\n${entry}\n\`\`\``),
  });
  const merge = commit({ sha, subject: `${title} (#1)`, ...(kind && { kind }) });
  const at = { key: 'x', occurredAt: '2026-11-20T12:00:00.000Z' };
  const push = { ...at, data: { after: sha, compareUrl: null, commits: [merge] } };
  expect(listed({ pushes: [push], pullRequests: [{ ...at, data: request }] })).toMatchObject([{ group }]);
  // Without its push, nobody knows the trailer.
  expect(listed({ pushes: [], pullRequests: [{ ...at, data: request }] })).toHaveLength(1);
});

test('the team may choose another name, which blocks in other languages of code do not have', () => {
  const body = '```ts\nconst x = 1;\n```\n```changelog\nQuiet mode\n```\n```release-note\nNONE\n```';
  expect(read(body)).toEqual([]);
  expect(read(body, { block: 'Changelogs' })).toEqual(['Other: Quiet mode']);
  expect(read(body, { block: 'news' })).toEqual(['Other: (title) Start softer']);
  expect(blocksIn(body).map(({ name }) => name)).toEqual(['changelog', 'release-note']);
});

describe('commits', () => {
  const changes = (message: string) => {
    const subject = message.split('\n', 1)[0] ?? '';
    const data = { after: 'a', compareUrl: null, commits: [commit({ subject, ...writtenIn(message) })] };
    return listed({
      pushes: [{ key: 'a', occurredAt: '2026-11-20T12:00:00.000Z', data }],
      pullRequests: [],
    }).map(({ group, markdown, text }) => `${group}: ${markdown ?? text}`);
  };
  const trailers = 'Changelog: fixed\nSigned-off-by: Ann <ann@acme.test>';

  test.each([
    ['the title in the group of the trailer', 'Start softer\n\nChangelog: fixed', ['Fixed: Start softer']],
    ['the last of two trailers', 'x\n\nChangelog: fixed\nChangelog: added', ['Added: X']],
    ['another case', 'x\n\nCHANGELOG: Fixed', ['Fixed: X']],
    ['other trailers beside it', `x\n\nWhy.\n\n${trailers}`, ['Fixed: X']],
    ['only trailers below it', 'x\n\nChangelog: fixed\n\nCo-authored-by: Ann <a@acme.test>', ['Fixed: X']],
    ['text below it', 'x\n\nChangelog: fixed\n\nAs Ann said.', ['Other: X']],
    ['text beside it', 'x\n\nAs we wrote it down in the\nChangelog: fixed', ['Other: X']],
    ['text beside it and a line of git', `x\n\n${trailers}\nAs Ann said`, ['Fixed: X']],
    ['no paragraph of its own', 'x\nChangelog: fixed', ['Other: X']],
    ['an unknown kind', 'x\n\nChangelog: wonderful', ['Other: X']],
    ['performance', 'perf: x\n\nChangelog: performance', ['Performance: X']],
    ['other', 'feat: x\n\nChangelog: other', ['Other: X']],
    [
      'a block in the message of a squash',
      'Start softer (#12)\n\n* fix: one\n\n```release-note\nSofter starts\n```\n\nChangelog: fixed',
      ['Fixed: Softer starts'],
    ],
    ['nothing to say', 'x\n\n```release-note\nNONE\n```', []],
    ['nothing to say in the trailer', 'fix: x\n\nWhy.\n\nChangelog: None\nTicket: ENG-1', []],
    [
      'a block that says more than the trailer',
      'x\n\n```release-note\nY\n```\n\nChangelog: none',
      ['Other: Y'],
    ],
    ['a trailer none before another', 'x\n\nChangelog: none\nChangelog: fixed', ['Fixed: X']],
    ['lines of Windows', 'x\r\n\r\nChangelog: fixed\r\n', ['Fixed: X']],
  ])('%s', (_, message, expected) => {
    expect(changes(message)).toEqual(expected);
  });

  test.each([
    [['none', 'none'], []],
    [['fixed', 'none'], ['Fixed: Start softer']],
    [['none', undefined], ['Other: Start softer']],
  ])('a pull request whose commits have the trailers %j', (kinds, expected) => {
    const at = { key: 'x', occurredAt: '2026-11-20T12:00:00.000Z' };
    const commits = kinds.map((kind, index) =>
      commit({ sha: String(index).repeat(40), subject: `part ${index}`, ...(kind && { kind }) }),
    );
    const after = commits.at(-1)?.sha ?? '';
    const data = pullRequest({ title: 'Start softer', labels: [], mergeCommitSha: after });
    const { changes, leftOut } = changesOf({
      pushes: [{ ...at, data: { after, compareUrl: null, commits } }],
      pullRequests: [{ ...at, data }],
    });
    expect(changes.map(({ group, text }) => `${group}: ${text}`)).toEqual(expected);
    expect(leftOut).toHaveLength(1 - expected.length);
  });

  test('a long message keeps the trailer at its end', () => {
    const long = `x\n\n${'why '.repeat(5_000)}\n\nChangelog: fixed\nCo-authored-by: Ann <ann@acme.test>`;
    for (const maxLength of [488, 10_000]) {
      const message = messageOf(long, maxLength);
      expect(message.length).toBeLessThanOrEqual(maxLength);
      expect(changes(message)).toEqual(['Fixed: X']);
    }
  });
});

test('the line of an entry keeps its Markdown and begins no block of the list', () => {
  const entry = (body: string) => {
    const data = pullRequest({ number: 12, blocks: blocksIn(`\`\`\`release-note\n${body}\n\`\`\``) });
    const pull = { key: '12', occurredAt: '2026-11-20T12:00:00.000Z', data };
    return listed({ pushes: [], pullRequests: [pull] }).map(changeLine);
  };
  expect(entry('`x` is **fast**')).toEqual(['`x` is **fast** (#12)']);
  expect(entry('> quoted')).toEqual(['\\> quoted (#12)']);
  expect(entry('BREAKING: x')).toEqual(['BREAKING: x (#12)']);
  expect(entry('[ACTION REQUIRED] x')).toEqual(['**Breaking:** [ACTION REQUIRED] x (#12)']);
});

test('whatever the text, entries are bounded lines', () => {
  const part = fc.constantFrom(
    ...[
      '```',
      '~~~',
      '````',
      'release-note',
      '<!--',
      '-->',
      '\n',
      '\n\n',
      '- ',
      '  ',
      '# ',
      'NONE',
      'x',
      ':',
    ],
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      const text = parts.join('');
      for (const { name, entries } of blocksIn(text)) {
        expect(name).not.toBe('');
        for (const entry of entries) expect(entry.text).toMatch(/^\S(?:.*\S)?$/);
      }
      expect(changelogTrailer(text)).toBeNull();
    }),
  );
});

const grows: Record<string, string> = {
  fences: '```\n',
  'fences that open': '```x\n',
  'blocks without an end': '~~~release-note\n',
  'blocks on one line': '```release-note x```\n',
  comments: '<!--\n',
  'comments in a block': '<!-- x --> ',
  items: '- x\n',
  'items below items': '- x\n  - y\n',
  headings: '### x\n',
  'lines with a scope': 'a: b\n',
  'lines that lead to a list': 'x:\n- y\n\n',
  'paragraphs that lead on': 'x:\n\n',
  'lines of nothing': ' \n',
  'words of one line': 'word ',
  trailers: 'Changelog: fixed\n',
  'paragraphs of trailers': 'Changelog: fixed\n\n',
  reverts: 'This reverts commit aaaaaaaa.\n',
  references: 'Refs: aaaaaaaa, ',
  requests: 'Reverts a/b/c/d/',
};

test.each(Object.entries(grows))('%s of any number are read in linear time', async (_, piece) => {
  for (const start of ['', '```release-note\n', 'Revert "x"\n\n']) {
    const text = (size: number) => start + piece.repeat(Math.ceil(size / piece.length));
    await expectLinear(`${start}${piece}`, text, (each) => {
      blocksIn(each);
      writtenIn(each);
      takenIn(each);
    });
  }
});
