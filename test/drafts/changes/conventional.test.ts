import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changeOfTitle, parseTitle } from '../../../src/drafting/changes/titles.ts';

const brief = (title: string) => {
  const { type, scope, isBreaking, description, number } = parseTitle(title);
  return [type, scope, isBreaking ? '!' : '', description, number];
};

describe('Conventional Commits', () => {
  test.each([
    [
      'feat: allow provided config object to extend other configs',
      'feat',
      null,
      '',
      'allow provided config object to extend other configs',
      null,
    ],
    ['feat!: send an email when shipped', 'feat', null, '!', 'send an email when shipped', null],
    ['feat(api)!: send an email', 'feat', 'api', '!', 'send an email', null],
    ['docs: correct spelling of CHANGELOG', 'docs', null, '', 'correct spelling of CHANGELOG', null],
    ['feat(lang): add Polish language', 'feat', 'lang', '', 'add Polish language', null],
    [
      'revert: let us never again speak of the noodle incident',
      'revert',
      null,
      '',
      'let us never again speak of the noodle incident',
      null,
    ],
    ['feat(engine)!: quiet mode (#12)', 'feat', 'engine', '!', 'quiet mode', 12],
    ['fix(@angular/cli): a (b) c', 'fix', '@angular/cli', '', 'a (b) c', null],
    ['build(deps): bump x from 1 to 2', 'build', 'deps', '', 'bump x from 1 to 2', null],
    ['BREAKING CHANGE: no more Node 16', 'breaking', null, '!', 'no more Node 16', null],
    ['fix(security): x: y', 'fix', 'security', '', 'x: y', null],
  ])('%s', (title, type, scope, mark, description, number) => {
    expect(brief(title)).toEqual([type, scope, mark, description, number]);
  });
});

describe('titles without a conventional type', () => {
  test.each([
    ['Fix: x', 'fix', null, '', 'x', null],
    ['Fix :bug: x', null, null, '', 'Fix :bug: x', null],
    ['New :rocket:', null, null, '', 'New :rocket:', null],
    ['style :root once', null, null, '', 'style :root once', null],
    ['fix : x', 'fix', null, '', 'x', null],
    ['FEAT (Engine) ! : x', 'feat', 'Engine', '!', 'x', null],
    ['feat!(api): x', 'feat', 'api', '!', 'x', null],
    ['fix:x', 'fix', null, '', 'x', null],
    [
      'feat\uff1a\u65b0\u589e\u6697\u8272\u6a21\u5f0f',
      'feat',
      null,
      '',
      '\u65b0\u589e\u6697\u8272\u6a21\u5f0f',
      null,
    ],
    ['feat(): x', 'feat', null, '', 'x', null],
    ['\u202efeat: x\u2069', 'feat', null, '', 'x', null],
    ['  fix:\tx\r\ny ', 'fix', null, '', 'x y', null],
    ['fixup! squash! feat: x', 'feat', null, '', 'x', null],
    // No types.
    ['Fixes #12: x', null, null, '', 'Fixes #12: x', null],
    ['engine: start softer', null, null, '', 'engine: start softer', null],
    ['README: typo', null, null, '', 'README: typo', null],
    ['engine(cold): start softer', null, null, '', 'engine(cold): start softer', null],
    ['engine!: start softer', null, null, '!', 'engine!: start softer', null],
    ['Great news! It works: finally', null, null, '', 'Great news! It works: finally', null],
    ['test::runner leaks', null, null, '', 'test::runner leaks', null],
    ['docs://x is a scheme', null, null, '', 'docs://x is a scheme', null],
    ['constructor: x', null, null, '', 'constructor: x', null],
    ['fix(router(v2)): x', null, null, '', 'fix(router(v2)): x', null],
    ['feat:', null, null, '', 'feat:', null],
    ['', null, null, '', '', null],
    // Numbers.
    ['x (#12) (#15)', null, null, '', 'x', 15],
    ['x. (#12).', null, null, '', 'x.', 12],
    ['x (#12) y', null, null, '', 'x (#12) y', null],
    ['Close #12', null, null, '', 'Close #12', null],
    ['x (acme/rocket#12)', null, null, '', 'x (acme/rocket#12)', null],
    ['x (#12345678901)', null, null, '', 'x (#12345678901)', null],
    // Reverts.
    ['Revert "feat(engine): x (#12)" (#15)', 'revert', null, '', 'feat(engine): x (#12)', 15],
    ['Revert "a title that was cut', 'revert', null, '', 'a title that was cut', null],
    ['Revert the last change', null, null, '', 'Revert the last change', null],
  ])('%j', (title, type, scope, mark, description, number) => {
    expect(brief(title)).toEqual([type, scope, mark, description, number]);
  });
});

describe('emojis', () => {
  test.each([
    ['\u2728 feat: x', 'feat', 'x'],
    ['feat: \u2728 x', 'feat', 'x'],
    [':bug: fix x', 'fix', 'fix x'],
    ['\u{1f41b} fix', 'fix', 'fix'],
    ['\u26a1\ufe0f Speed up', 'perf', 'Speed up'],
    [':zap: Speed up', 'perf', 'Speed up'],
    ['\u{1f512}\ufe0f Escape names', 'security', 'Escape names'],
    [':lock:Escape names', 'security', 'Escape names'],
    ['\u{1f525} old code', 'remove', 'old code'],
    ['\u2728 chore: x', 'chore', 'x'],
    ['\u{1f389} Begin', null, 'Begin'],
    ['\u{1f9d1}\u{1f3fd}\u200d\u{1f4bb} Greet', null, 'Greet'],
    ['\u{1f389}\u{1f680} \u{1f41b} Begin', 'fix', 'Begin'],
    ['\u{1f389}', null, '\u{1f389}'],
    ['::bug:: x', null, '::bug:: x'],
  ])('%s', (title, type, description) => {
    expect(parseTitle(title)).toMatchObject({ type, description, scope: null, isBreaking: false });
  });

  test.each(['\u{1f4a5} Drop Node 16', ':boom: feat: x', '\u{1f4a5} engine: x'])('%s breaks', (title) => {
    expect(parseTitle(title).isBreaking).toBe(true);
  });
});

test.each([
  '(#1)',
  '\u{1f41b}',
  ':bug:',
  'fixup! ',
  'feat: ',
  'a(',
  ' ',
  '\u202e',
  '!',
  '\ud800',
  'Revert "',
])('a long title of %j is read to its end', (part) => {
  const { description, number } = parseTitle(`feat: ${part.repeat(200_000 / part.length)} (#7)`);
  expect(description.length).toBeLessThanOrEqual(1000);
  expect(number).toBe(7);
});

test('any text at all has a description of one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (title) => {
      expect(parseTitle(title).description).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
});

test.each([
  ['[meta] add sideEffects flag', 'meta', 'add sideEffects flag'],
  ['[Tests] increase coverage', 'tests', 'increase coverage'],
  ['[Dev Deps] update `eslint`', 'deps', 'update `eslint`'],
  ['[actions] update workflows', 'ci', 'update workflows'],
  ['[readme] add badges (#7)', 'docs', 'add badges'],
  ['[eslint]: enable a rule', 'lint', 'enable a rule'],
  ['\u2728 [Fix] long options', 'fix', 'long options'],
  ['[Mobile] add a widget', null, '[Mobile] add a widget'],
  ['[types] improve the predicate', null, '[types] improve the predicate'],
  ['[meta]', null, '[meta]'],
  ['[meta](https://acme.test) x', null, '[meta](https://acme.test) x'],
  ['[toString] x', null, '[toString] x'],
])('the word in brackets of %p is the type %p', (title, type, description) => {
  const parsed = parseTitle(title);
  expect([parsed.type, parsed.description]).toEqual([type, description]);
});

test('a chore in brackets is one whatever its first word says, and breaks only when it says so', () => {
  const changeOf = (title: string) =>
    changeOfTitle({ title, labels: [], breaking: null, author: null, reference: { label: '#1', url: null } });
  expect(
    ['[meta] add a flag', '[Dev Deps] update `x`', '[Fix] drop it'].map((each) => changeOf(each).group),
  ).toEqual(['Other', 'Other', 'Fixed']);
  expect(changeOf('[actions] update workflows')).toMatchObject({ text: 'Update workflows', scope: 'CI' });
  expect(changeOf('[Breaking] drop Node 16')).toMatchObject({ isBreaking: true, text: 'Drop Node 16' });
});
