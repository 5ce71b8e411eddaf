import EVERYDAY from './everyday.txt' with { type: 'text' };

// Decides whether another wording of an entry may be shown. One rule carries the rest: each word of it stands in the sources of
// the entry, or is one of a few hundred everyday words that tell no facts. So a name, number, link, or sign that the sources lack,
// and a letter that only looks like one of theirs, is refused without a list of such things.

/** An entry, and the wording to check. `sources`: the texts that it was made from. */
export interface Wording {
  sources: readonly string[];
  original: string;
  rewritten: string;
  /** It breaks or secures something: no fact of it may be missing. */
  isMarked: boolean;
  /** Its heading says that it is a fix. */
  isFix: boolean;
}

const MAX_LENGTH = 1_000;
const MAX_NUMBERS = 30;

/**
 * Words of a line may stand for each other, and need one of theirs in the sources: what was done must not become something
 * else. Those of a line with `!` must not go missing either.
 */
const DEEDS = `!fix correct repair resolve prevent avoid stop solve
!remove removal drop delete retire
!deprecate
!disable
!require mandatory need must
!hide
!rename called
limit restrict
raise increase larger bigger longer extend grow
reduce decrease lower less fewer smaller shorter lighter down
fast faster quick quicker speed perf performance efficient
slow slower
improve improvement better enhance enhancement easy easier
update upgrade bump
save store
add introduce include support provide allow enable let offer new feat`;

/** Before a number they belong to it. */
const LIMITS = words(
  'most least than over under above below within up minus plus about nearly almost - – — + ~ < > ≤ ≥ =',
);
const FORMER = words('from was were instead before previously formerly old');

/** "no longer" and "no more", as one word. */
const NO_LONGER = 'nolonger';

const NEGATION =
  /^(?:not|no|never|without|none|nothing|nobody|neither|nor|cannot|unless|except|\w+n['’]t|(?:un|non)(?!der|til|ion|i[tqcv]|less|to)[a-z]{4,})$/i;

/** Nobody sees it, or sees something else than there is. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/u;

/** More than a sentence, for Markdown. */
const STRUCTURE = /^(?:[-+*] |[>|=#~]|-{2}|_{3}|\*{3}|\d{1,9}[.)](?: |$)|```)|^ | $| {2}/;

const WORD = /^[A-Za-z]+(?:['’](?:s|t|re|ve|ll|d|m))?$/;

/** In the place of a code span, which is checked as a whole. */
const CODE = '\uE000';

function words(line: string): ReadonlySet<string> {
  return new Set(line.split(/\s+/));
}

/** `exporting`, `exports` and `exported` are one word. */
function stemOf(word: string): string {
  let stem = word
    .toLowerCase()
    .replace(/['’].*$/, '')
    .replace(/ie[sd]$/, 'y');
  for (const suffix of [/(?<=..)s$/, /(?<=..)(?:ing|ed|ion)$|(?<=...)(?:ly|al)$/])
    stem = stem.replace(suffix, '');
  return stem.replace(/(?<=.)e$/, '').replace(/([b-df-hj-np-tv-z])\1$/, '$1');
}

const stems = (line: string): ReadonlySet<string> => new Set(line.split(/\s+/).map(stemOf));

/** Light words between it and what ended. */
const LIGHT = stems('a an the be been any cause have has get lead to make show');

const everyday = stems(EVERYDAY.trim());
const deeds = DEEDS.split('\n').map((line) => ({
  mustStay: line.startsWith('!'),
  of: stems(line.replace('!', '')),
}));
const [fixes = new Set<string>(), removals = fixes] = deeds.map(({ of }) => of);

const tellsNoFact = (stem: string) => everyday.has(stem) || deeds.some(({ of }) => of.has(stem));

const meets = (one: ReadonlySet<string>, other: ReadonlySet<string>) => !one.isDisjointFrom(other);

/** A line with its code spans and quotations, and what remains. */
function partsOf(line: string) {
  const codes = Array.from(line.matchAll(/`([^`]+)`/g), ([, code = '']) => code.trim());
  const marked = line.replaceAll(/`[^`]+`/g, CODE).replaceAll(/(\*\*|__|\*|_)(?=\S)([^*_]+)(?<=\S)\1/g, '$2');
  const quotes: string[] = [];
  const plain = marked.replaceAll(
    /(?<![\p{L}\p{N}])["“”„«'‘]([^"“”„«»]{1,100}?)["“”»'’](?![\p{L}\p{N}])/gu,
    (_, quote) => {
      quotes.push(quote);
      return quote;
    },
  );
  return { codes, quotes, tokens: tokensOf(plain) };
}

/** A word without the punctuation around it. A bracket that it opens stays, as in `serve()`. */
function bareOf(whole: string): string {
  const word = whole.startsWith('(') ? whole.slice(1) : whole;
  let end = word.length;
  while (
    end > 0 &&
    ('.,;:!?…'.includes(word[end - 1] ?? '') || (word[end - 1] === ')' && !word.includes('(')))
  )
    end--;
  return word.slice(0, end) || whole;
}

/** `starts`: it begins a sentence. */
function tokensOf(plain: string) {
  let starts = true;
  const all = plain
    .replaceAll(/\bno (?:longer|more)\b/gi, NO_LONGER)
    .split(' ')
    .filter(Boolean);
  return all.map((whole) => {
    const token = { text: bareOf(whole), starts };
    starts = /[.!?]\)?$/.test(whole.slice(-2));
    return token;
  });
}

type Token = ReturnType<typeof tokensOf>[number];

const stemsOf = (tokens: readonly Token[]): ReadonlySet<string> =>
  new Set(
    tokens
      .flatMap(({ text }) => text.split(/[^\p{L}\p{N}'’]+/u))
      .filter(Boolean)
      .map(stemOf),
  );

/** Letters, digits and signs that would make another word of it, at its end and at its start. */
const GOES_ON = /^(?:[\p{L}\p{N}\p{M}_%°$€£@&~=/\\+-]|[.,:;?'’][\p{L}\p{N}])/u;
const GOES_BEFORE = /[\p{L}\p{N}\p{M}_$€£@#&%~<>=≤≥±+/\\-]$|[\p{L}\p{N}][.,:]$/u;

/** The text stands there, and not as a part of a longer word, number, version or address. */
function standsIn(source: string, text: string): boolean {
  if (text === '') return false;
  for (let at = source.indexOf(text); at !== -1; at = source.indexOf(text, at + 1)) {
    const end = at + text.length;
    if (!GOES_BEFORE.test(source.slice(Math.max(0, at - 2), at)) && !GOES_ON.test(source.slice(end, end + 2)))
      return true;
  }
  return false;
}

const isNumber = ({ text }: Token) => /\p{N}/u.test(text) && text !== CODE;

/** The words before a number that belong to it, back to the number before. */
function leadOf(tokens: readonly Token[], at: number) {
  const lead = tokens.slice(Math.max(0, at - 3), at).map(({ text }) => text.toLowerCase());
  const since = lead.findLastIndex((text) => /\p{N}/u.test(text)) + 1;
  const own = lead.slice(since);
  return {
    limits: own.filter((text) => LIMITS.has(text)).join(' '),
    isFormer: own.some((text) => FORMER.has(text)),
    isNew: own.includes('to'),
  };
}

/** A text says the same of the number at that place: its limits, its direction, and its unit. */
function says(source: readonly Token[], own: readonly Token[], at: number): boolean {
  const [lead, unit] = [leadOf(own, at), own[at + 1]?.text];
  return source.some(({ text }, place) => {
    if (text !== own[at]?.text) return false;
    const known = leadOf(source, place);
    const near = source.slice(place + 1, place + 4).map((each) => stemOf(each.text));
    const isPlain = unit === undefined || !/^[\p{L}%°]/u.test(unit) || tellsNoFact(stemOf(unit));
    const hasUnit = isPlain || near.includes(stemOf(unit));
    const isOther = (lead.isFormer && !known.isFormer) || (lead.isNew && known.isFormer);
    return lead.limits === known.limits && hasUnit && !isOther;
  });
}

/** Why a wording may not be shown, as the end of a sentence about it; null when it may. */
export function check({ sources, original, rewritten, isMarked, isFix }: Wording): string | null {
  const text = rewritten.normalize('NFC');
  if (UNSEEN.test(text)) return 'it has a line break or an invisible character';
  if (STRUCTURE.test(text)) return 'it is more than one line of text';
  const bound = Math.min(MAX_LENGTH, 2 * original.length + 80);
  if (text.length > bound || text.length < original.length / 4) return 'it is too long or too short';
  const known = [original, ...sources].map((each) => each.normalize('NFC'));
  const own = partsOf(text);
  // Each costs a look at all sources.
  if (own.tokens.filter(isNumber).length > MAX_NUMBERS) return 'it has too many numbers';
  const parts = known.map(partsOf);
  const isThere = (each: string) => known.some((source) => standsIn(source, each));
  const all = parts.flatMap((each) => each.tokens);
  const unknown =
    [...own.codes, ...own.quotes].find((each) => !isThere(each)) ??
    unknownIn(own.tokens, all, isThere, isFix);
  if (unknown !== undefined) return `its sources lack “${unknown.replaceAll(CODE, '`…`')}”`;
  const number = own.tokens.find(
    (token, at) => isNumber(token) && !parts.some(({ tokens }) => says(tokens, own.tokens, at)),
  );
  if (number !== undefined) return `its sources say something else of “${number.text}”`;
  return (
    changedMeaning(parts[0]?.tokens ?? [], own.tokens, isFix) ?? missingFrom(text, known[0] ?? '', isMarked)
  );
}

function unknownIn(
  tokens: readonly Token[],
  known: readonly Token[],
  isThere: (text: string) => boolean,
  isFix: boolean,
): string | undefined {
  const exact = new Set(known.flatMap(({ text }) => [text, ...text.split(/[-/]/)]));
  const vocabulary = stemsOf(known);
  const isKnownWord = (word: string, starts: boolean) => {
    if (exact.has(word) || word === NO_LONGER) return true;
    if (/[A-Z]/.test(starts ? word.slice(1) : word)) return false;
    const stem = stemOf(word);
    if (everyday.has(stem) || vocabulary.has(stem) || NEGATION.test(word)) return true;
    return deeds.some(({ of }) => of.has(stem) && (meets(of, vocabulary) || (isFix && of === fixes)));
  };
  const once = new Map(tokens.map((token) => [`${token.starts} ${token.text}`, token]));
  return [...once.values()].find(({ text, starts }) => {
    if (text === CODE || /^[-–—&+/]$/.test(text)) return false;
    const parts = text.split(/[-/]/);
    if (!parts.every((part) => WORD.test(part))) return text.includes(CODE) || !isThere(text);
    return !parts.every((part, at) => isKnownWord(part, starts && at === 0));
  })?.text;
}

/** What was done must stay what was done, and "not" must stay where it is. */
function changedMeaning(before: readonly Token[], after: readonly Token[], isFix: boolean): string | null {
  const [had, has] = [stemsOf(before), stemsOf(after)];
  const negations = (tokens: readonly Token[]) => tokens.filter(({ text }) => NEGATION.test(text)).length;
  // "No longer crashes" is a fix of a crash, and nothing else.
  const ended = after.flatMap(({ text }, at) => {
    if (text !== NO_LONGER) return [];
    return after.slice(at + 1).find((each) => !LIGHT.has(stemOf(each.text)))?.text ?? '';
  });
  const isEnd = isFix || meets(had, fixes) || meets(had, removals);
  const [said, says] = [negations(before), negations(after)];
  const isSame =
    ended.length === 0
      ? said === says
      : ended.length === 1 && says === 0 && (said === 1 || (said === 0 && isEnd));
  if (!isSame || ended.some((word) => everyday.has(stemOf(word)) || !had.has(stemOf(word))))
    return 'it adds or drops a “not”';
  const lost = deeds.find(({ mustStay, of }) => mustStay && meets(had, of) && !meets(has, of));
  if (lost !== undefined && !(ended.length > 0 && isEnd)) return 'it no longer says what was done';
  return null;
}

/** A wording keeps half of what the original tells, and all facts of a change that breaks or secures something. */
function missingFrom(text: string, original: string, isMarked: boolean): string | null {
  const { codes, tokens } = partsOf(original);
  const isFact = ({ text: token, starts }: Token) =>
    !token.split(/[-/]/).every((part) => WORD.test(part)) ||
    (!starts && /[A-Z]/.test(token)) ||
    /^(?:breaking|security|vulnerab\w*)$/i.test(token);
  const named = new Set([...codes, ...tokens.filter(isFact).map((token) => token.text)]);
  const facts = [...named].filter((fact) => /[\p{L}\p{N}]/u.test(fact));
  const missing = facts.filter((fact) => !standsIn(text, fact));
  if (isMarked && missing.length > 0) return `it leaves out “${missing[0]}”`;
  const has = stemsOf(partsOf(text).tokens);
  const content = [...stemsOf(tokens.filter((token) => !isFact(token)))].filter((stem) => !tellsNoFact(stem));
  const kept = content.filter((stem) => has.has(stem)).length + facts.length - missing.length;
  return kept < (content.length + facts.length) / 2 ? 'it tells something else' : null;
}
