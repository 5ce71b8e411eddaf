import { afterAll, describe, expect, test } from 'bun:test';
import { ask, bodyOf } from '../../src/drafting/wording/ask.ts';
import { check, type Wording } from '../../src/drafting/wording/check.ts';
import { type Entry, withWords } from '../../src/drafting/wording/entries.ts';
import { startAiServer } from '../support/ai-server.ts';
import { rounds } from '../support/rounds.ts';
import { type Honest, honest } from './honest.ts';
import { foreignFacts, lieOf } from './hostile.ts';

const wordingOf = ({ original, sources, ...about }: Honest, rewritten: string): Wording => ({
  original,
  sources,
  rewritten,
  isMarked: about.isBreaking === true || about.isSecurity === true,
  isFix: about.isFix === true,
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
  let shown = 0;
  for (let seed = 1; seed <= rounds(400, 10_000); seed++) {
    const lie = lieOf(seed);
    const { original, sources, ...more } = wordingOf(lie.about, lie.reply);
    const entry: Entry = {
      line: `- ${original}`,
      lead: '- ',
      words: original,
      tail: '',
      sources: [...sources],
      ...more,
    };
    ai.reply = () => lie.reply;
    const { text } = await ask(
      { url: ai.url, model: 'liar' },
      bodyOf({ model: 'liar' }, { voice: '', examples: '' }, entry),
    );
    const why = check({ ...more, original, sources, rewritten: text });
    if (why !== null) {
      refused.add(lie.attack);
      continue;
    }
    shown++;
    const line = withWords(entry, text);
    expect(line).toStartWith('- ');
    const facts = foreignFacts(lie, line.slice(2));
    if (facts.length > 0) found.push({ seed, attack: lie.attack, original, reply: lie.reply, facts });
  }
  expect(found).toEqual([]);
  // Each kind of attack was tried, and most of them did something that the checker saw.
  expect(refused.size).toBeGreaterThan(30);
  expect(shown).toBeGreaterThan(0);
});

describe('a rewrite is refused that', () => {
  const entry = {
    original: 'Raise the limit of uploads from 10 MB to 25 MB in `upload()`',
    sources: ['feat: raise upload limit', 'Acme asked for 25 MB. Takes 10 ms, -5% memory.'],
  };
  const why = (rewritten: string, more: Partial<Wording> = {}) =>
    check({ ...entry, isMarked: false, isFix: false, rewritten, ...more });

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
      'its sources lack “least”',
    ],
    [
      'names somebody',
      'Raise the limit of uploads for Globex to 25 MB in `upload()`',
      'its sources lack “Globex”',
    ],
    [
      'names code',
      'Raise the limit of uploads from 10 MB to 25 MB in `upload(force)`',
      'its sources lack “upload(force)”',
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
    ['quotes', 'Raise the limit of uploads to "a lot more" in `upload()`', 'its sources lack “a lot more”'],
    ['tells something else', 'You can now select what you like in `upload()`', 'it tells something else'],
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
    const fix = { original: 'Fix crash in search', sources: [], isMarked: false, isFix: false };
    expect(check({ ...fix, rewritten: 'Crash in search' })).toBe('it no longer says what was done');
    expect(check({ ...fix, rewritten: 'Search no longer crashes' })).toBe(null);
    expect(check({ ...fix, rewritten: 'Search no longer works after a crash' })).not.toBe(null);
    const removal = { ...fix, original: 'Remove the old export' };
    expect(check({ ...removal, rewritten: 'Adds the old export' })).not.toBe(null);
  });
});

test('texts made to take long take no longer than others of their length', () => {
  const shapes = ['a ', '1 ', '. ', '`a', '* a', "'a ", '"', '(a, ', 'no longer ', '([a]('];
  for (const [source, own] of shapes.flatMap((one) => shapes.map((other) => [one, other] as const))) {
    const [sources, original] = [[source.repeat(6_000).slice(0, 6_000)], own.repeat(1_000).slice(0, 1_000)];
    const rewritten = `${own}${source}`.repeat(1_000).slice(0, 1_000).trim();
    // Ends at all: a pattern that tries each way through such a text would not.
    expect(check({ sources, original, rewritten, isMarked: true, isFix: true })).not.toBe(undefined);
  }
  expect(check({ sources: [], original: 'Add X', rewritten: '``', isMarked: false, isFix: false })).not.toBe(
    null,
  );
});
