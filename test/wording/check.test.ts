import { afterAll, describe, expect, test } from 'bun:test';
import { check, type Wording } from '../../src/drafting/wording/check.ts';
import { ask, bodyOf } from '../../src/drafting/wording/work.ts';
import { startAiServer } from '../support/ai-server.ts';
import { rounds } from '../support/rounds.ts';
import { type Honest, honest } from './honest.ts';
import { foreignFacts, lieOf } from './hostile.ts';
import { kinds } from './kinds.ts';
import { others } from './others.ts';

const wordingOf = ({ original, sources, ...about }: Honest, rewritten: string): Wording => ({
  original,
  sources,
  rewritten,
  isMarked: about.isBreaking === true || about.isSecurity === true,
});

test('at least 95 of 100 honest rewrites pass, and none tells a foreign fact', () => {
  const all = honest.flatMap((about) => about.rewrites.map((text) => ({ about, text })));
  expect(all).toHaveLength(200);
  const passed = all.filter(({ about, text }) => check(wordingOf(about, text)) === null);
  expect(passed.length).toBeGreaterThanOrEqual(190);
  expect(passed.flatMap(({ about, text }) => foreignFacts({ about, planted: [] }, text))).toEqual([]);
});

test('each entry as it is passes', () => {
  for (const about of honest)
    expect([about.original, check(wordingOf(about, about.original))]).toEqual([about.original, null]);
});

const ai = startAiServer();
afterAll(() => ai[Symbol.dispose]());

test('no reply of a lying server brings a foreign fact into a suggestion', async () => {
  const found: unknown[] = [];
  const refused = new Set<string>();
  for (let seed = 1; seed <= rounds(400, 10_000); seed++) {
    const lie = lieOf(seed);
    const { original, sources, isMarked } = wordingOf(lie.about, lie.reply);
    ai.reply = () => lie.reply;
    const { text } = await ask(
      { url: ai.url, model: 'liar' },
      bodyOf(
        { model: 'liar' },
        { voice: '', examples: '' },
        { words: original, sources: [...sources], isMarked },
      ),
    );
    const why = check({ isMarked, original, sources, rewritten: text });
    if (why !== null) {
      refused.add(lie.attack);
      continue;
    }
    const facts = foreignFacts(lie, text);
    if (facts.length > 0) found.push({ seed, attack: lie.attack, original, reply: lie.reply, facts });
  }
  expect(found).toEqual([]);
  // Each kind of attack was tried, and most of them did something that the checker saw.
  expect(refused.size).toBeGreaterThan(30);
});

describe('a rewrite is refused that', () => {
  const entry = {
    original: 'Raise the limit of uploads from 10 MB to 25 MB in `upload()`',
    sources: ['feat: raise upload limit', 'Acme asked for 25 MB. Takes 10 ms, -5% memory.'],
  };
  const why = (rewritten: string, more: Partial<Wording> = {}) =>
    check({ ...entry, isMarked: false, rewritten, ...more });

  test.each([
    [
      'names another number',
      'The limit of uploads is raised from 10 MB to 26 MB in `upload()`',
      'its sources lack “26”',
    ],
    [
      'changes a unit',
      'The limit of uploads is raised from 10 MB to 25 GB in `upload()`',
      'its sources lack “GB”',
    ],
    [
      'puts a unit elsewhere',
      'Raise the limit of uploads from 10 ms to 25 MB in `upload()`',
      'its sources say something else of “10”',
    ],
    [
      'drops a sign',
      'Raise the limit of uploads to 25 MB in `upload()`, with 5% memory',
      'its sources lack “5%”',
    ],
    [
      'turns a range around',
      'Raise the limit of uploads from 25 MB to 10 MB in `upload()`',
      'its sources say something else of “25”',
    ],
    [
      'adds a limit',
      'Raise the limit of uploads to at least 25 MB in `upload()`',
      'its sources say something else of “25”',
    ],
    [
      'names somebody',
      'Raise the limit of uploads for Globex to 25 MB in `upload()`',
      'its sources lack “Globex”',
    ],
    [
      'names code',
      'Raise the limit of uploads from 10 MB to 25 MB in `upload(force)`',
      'its sources lack “`upload(force)`”',
    ],
    [
      'links',
      'Raise the limit of uploads to 25 MB in `upload()`, see https://acme.example',
      'its sources lack “https://acme.example”',
    ],
    [
      'has a letter that looks like another',
      'Rаise the limit of uploads from 10 MB to 25 MB in `upload()`',
      'its sources lack “Rаise”',
    ],
    [
      'has a character that nobody sees',
      'Raise the limit\u200b of uploads to 25 MB in `upload()`',
      'it has a line break or an invisible character',
    ],
    [
      'has a second line',
      'Raise the limit of uploads to 25 MB\n- Add X',
      'it has a line break or an invisible character',
    ],
    [
      'is a heading',
      '# Raise the limit of uploads to 25 MB in `upload()`',
      'it is more than one line of text',
    ],
    [
      'has HTML',
      'Raise the <b>limit</b> of uploads to 25 MB in `upload()`',
      'its sources lack “<b>limit</b>”',
    ],
    ['says not', 'Do not raise the limit of uploads to 25 MB in `upload()`', 'it adds or drops a “not”'],
    ['quotes', 'Raise the limit of uploads to "a lot more" in `upload()`', 'its sources lack “"a lot more"”'],
    ['tells something else', 'You can now select what you like in `upload()`', 'its sources lack “select”'],
    [
      'is too long',
      'Raise the limit of uploads to 25 MB in `upload()`. '.repeat(8).trim(),
      'it is too long or too short',
    ],
  ])('%s', (_, rewritten, reason) => {
    expect(why(rewritten)).toBe(reason);
  });

  test('leaves out a fact of a change that breaks something', () => {
    const short = 'Raise the limit of uploads in `upload()` to 25 MB';
    expect(why(short)).toBe(null);
    expect(why(short, { isMarked: true })).toBe('it leaves out “10”');
  });

  test('no longer says that something was fixed or removed', () => {
    const fix = { original: 'Fix crash in search', sources: [], isMarked: false };
    expect(check({ ...fix, rewritten: 'Crash in search' })).toBe('it leaves out “Fix”');
    expect(check({ ...fix, rewritten: 'Search no longer crashes' })).toBe(null);
    expect(check({ ...fix, rewritten: 'Search no longer works after a crash' })).not.toBe(null);
    const removal = { ...fix, original: 'Remove the old export' };
    expect(check({ ...removal, rewritten: 'Adds the old export' })).not.toBe(null);
    for (const rewritten of ['Adds support for the removed old export', 'Allow the removed old export'])
      expect(check({ ...removal, rewritten })).toBe('it no longer says what was done');
    expect(check({ ...removal, rewritten: 'The old export is now removed' })).toBe(null);
  });
});

test.each([
  ['German', 'Die Suche ist nicht mehr langsam', 'Die Suche ist langsam'],
  ['German in few words', 'Kein Update auf Version 3', 'Update auf Version 3'],
  ['French', 'On ne peut plus supprimer un article', 'On peut supprimer un article'],
  ['Spanish', 'No se puede exportar sin cuenta', 'Se puede exportar sin cuenta'],
  ['Japanese', '検索が遅くならないように修正', '検索が遅くなるように修正'],
  ['Japanese with a name', 'PostgreSQL 17 はサポートされません', 'PostgreSQL 17 をサポート'],
  ['Russian', 'Поиск больше не зависает', 'Поиск зависает'],
])('an entry in another language keeps its words: %s', (_, original, rewritten) => {
  const why = 'it is not in English, which is all that Tidings can check';
  for (const other of [rewritten, original])
    expect(check({ sources: [], isMarked: false, original, rewritten: other })).toBe(why);
});

test('an entry of few English words is no other language, but keeps all of them', () => {
  const entry = { original: 'Quiet mode: engines start 40 % softer', sources: [], isMarked: false };
  expect(check({ ...entry, rewritten: 'Quiet mode: your engines now start 40 % softer' })).toBe(null);
  expect(check({ ...entry, rewritten: 'Quiet: engines start 40 % softer' })).toBe('it leaves out “mode”');
});

describe('no lie of a kind passes, wherever it is told', () => {
  const given = honest.map(({ rewrites, ...about }) => ({ ...about, texts: [about.original, ...rewrites] }));
  const all = [...given, ...others].map((about) => {
    const { original, sources } = about;
    const isMarked = about.isBreaking === true || about.isSecurity === true;
    const why = (rewritten: string) => check({ original, sources, isMarked, rewritten });
    const known = [original, ...sources].join(' ');
    return { why, known, texts: about.texts.filter((text) => why(text) === null) };
  });
  test.each(Object.entries(kinds))('%s', (_, variants) => {
    const step = rounds(97, 1);
    const passed: string[] = [];
    let tried = 0;
    for (const { texts, known, why } of all) {
      for (const text of texts) {
        const lies = variants(text).filter(
          (lie) =>
            !texts.includes(lie.text) && (lie.added.trim() === '' || !known.includes(lie.added.trim())),
        );
        for (const lie of lies) {
          if (tried++ % step !== 0) continue;
          if (why(lie.text) === null) passed.push(lie.text);
        }
      }
    }
    expect(tried).toBeGreaterThan(0);
    expect(passed).toEqual([]);
  });

  test.each(others.map((about) => [about.original, about] as const))('about “%s”', (_, about) => {
    const { original, sources, lies } = about;
    const isMarked = about.isBreaking === true || about.isSecurity === true;
    const why = (rewritten: string) => check({ original, sources, isMarked, rewritten });
    expect(why(original)).toBe(null);
    expect(lies.filter((lie) => why(lie) === null)).toEqual([]);
  });
});

test('texts made to take long take as long as others of their length', () => {
  const shapes = [
    'a ',
    '1 ',
    'not a ',
    'to 1 ',
    '. ',
    '`a',
    '* a',
    "'a ",
    'a"',
    'a“',
    '(a, ',
    'no longer ',
    'a[a](',
    'a[](',
    '((',
    'a-',
    '1.',
  ];
  /** In microseconds of the processor, for the largest texts: of the sources, and of an entry that is as it was. */
  const timeOf = (source: string, own: string) => {
    const sources = [source.repeat(6_000).slice(0, 6_000)];
    const original = own.repeat(1_000).slice(0, 1_000).trim();
    const times = Array.from({ length: 3 }, () => {
      const { user } = process.cpuUsage();
      check({ sources, original, rewritten: original, isMarked: true });
      return process.cpuUsage().user - user;
    });
    return Math.min(...times);
  };
  const usual = timeOf('a b c d ', 'a b c d ');
  const pairs = shapes.flatMap((shape) => [[shape, shape] as const, ['a b c d ', shape] as const]);
  // A check that looks at each token for each other one takes some thousand times as long.
  expect(pairs.filter(([source, own]) => timeOf(source, own) > 20 * usual)).toEqual([]);
});
