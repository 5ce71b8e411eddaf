import LISTS from './words.txt' with { type: 'text' };

// Decides whether another wording of an entry may be shown. It is the words of the entry in another order, with light and everyday
// words between them, and with words of its sources. Names, numbers, code, links and all that is no plain English word stand there
// as they are, with what belongs to them. So a lie that no list foresees is refused too. Each step looks at a token once.

/** An entry, and the wording to check. `sources`: the texts that it was made from. */
export interface Wording {
  sources: readonly string[];
  original: string;
  rewritten: string;
  /** It breaks or secures something: nothing of it may be missing. */
  isMarked: boolean;
}

/** Of an entry, and of all its sources, in characters. */
export const MAX_WORDS = 1_000;
export const MAX_SOURCES = 6_000;

/** Nobody sees it, or sees something else than there is. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]|^ | $| {2}/u;
/** Markdown that makes more of an entry than a sentence, and Markdown that a wording takes from no source. */
const STRUCTURE = /^(?:[^\p{L}\p{N}"“`(@]|\d{1,9}[.)](?: |$))/u;
const MARKDOWN = /[\\*_[\]{}<>|~^&]|:\/\/|^[#>+=-]|www\./i;
/** Code, a quotation, and a link with its text are each a part of one token. */
const TOKEN = /(?:`[^`]{1,200}`|"[^"]{1,200}"|“[^”]{1,200}”|!?\[[^[\]]{0,200}\]\([^()\s]{0,2000}\)|\S)+/g;
const WORD = /^[A-Za-z]+(?:['’](?:s|t|re|ve|ll|d|m))?$/;

const lists = LISTS.trim()
  .split('\n')
  .map((line) => line.split(/:? /));
const wordsIn = (name: string) => lists.flatMap(([list, ...words]) => (list === name ? words : []));

/** `exporting`, `exports` and `exported` are one word. */
const stemOf = (word: string) =>
  word
    .toLowerCase()
    .replace(/n['’]t$/, 'not')
    .replace(/['’].*$/, '')
    .replace(/ie[sd]$/, 'y')
    .replace(/(?<=[a-z]{2}[^s])s$/, '')
    .replace(/(?<=[a-z]{3})(?:ed|ing)$/, '')
    .replace(/(?<=[a-z]{2})e$/, '')
    .replace(/([b-df-hj-np-tv-z])\1$/, '$1');

/** Only the words of a line may stand for each other: a deed must not become another. */
const sameAs = new Map(
  lists.flatMap(([list = '', ...words]) =>
    /^(?:same|near)$/.test(list) ? words.map((word) => [stemOf(word), stemOf(words[0] ?? '')] as const) : [],
  ),
);
const keyOf = (word: string) => sameAs.get(stemOf(word)) ?? stemOf(word);
const keysIn = (name: string): ReadonlySet<string> => new Set(wordsIn(name).map(keyOf));

const LIGHT = new Set(wordsIn('light'));
const EVERYDAY = keysIn('everyday');
const NOT = keysIn('not');
const BEFORE = new Set(wordsIn('before'));
const FAULTS = keysIn('fault');
const [UNDONE, GIVEN] = [keysIn('undo'), keysIn('give')];
const FOREIGN = new Set(wordsIn('foreign'));
const [FIX, NO_LONGER] = [keyOf('fix'), keyOf('nolonger')];
/** They tell something of the next word. */
const LIMITS = new Set([
  ...[...NOT, ...keysIn('amount')],
  ...[...BEFORE].filter((word) => !LIGHT.has(word) && !sameAs.has(stemOf(word))).map(keyOf),
]);
/** A wording keeps these, however short it is. */
const KEPT = new Set([...LIMITS, ...keysIn('same')]);
const isKept = (key: string) => KEPT.has(key) || /^(?:un|non|dis|mis|inv)|less$/.test(key);

interface Token {
  text: string;
  /** Tokens are compared by it. */
  key: string;
  kind: 'light' | 'word' | 'code' | 'number' | 'name';
  /** With what belongs to it: "from", or words such as "at most" before a number, and its unit. */
  whole: string;
  isUnit: boolean;
  /** The next words that tell something. */
  next: string[];
  isDenied: boolean;
}

/** Tokens without the punctuation around them, and each word of `long-running`. `ends`: punctuation follows. */
function partsOf(text: string) {
  let isFirst = true;
  const typed = text
    .replace(/^([a-z]+)\(([a-z]+)\)!?:/, '$1 $2')
    .replace(/\bno (?:longer|more)\b/gi, 'nolonger');
  return Array.from(typed.matchAll(TOKEN)).flatMap(([token]) => {
    const open = token.replace(/^\(/, '');
    const bare = open.replace(open.includes('(') ? /[.,;:!?]{1,5}$/ : /[.,;:!?)]{1,5}$/, '') || token;
    const words = bare.split(/[-/]/);
    const isWord = words.every((word) => WORD.test(word));
    const parts = (isWord ? words : [bare]).map((part, at, { length }) => ({
      ...{ text: part, isWord, isFirst: isFirst && at === 0 },
      ends: at === length - 1 && bare.length < open.length,
    }));
    isFirst = /[.!?]\)?$/.test(token);
    return parts;
  });
}

/** `isPlain`: a word with a capital that begins a sentence is no name. */
function tokensOf(line: string, isPlain: (key: string) => boolean): Token[] {
  const parts = partsOf(line).map(({ text, isWord, isFirst, ends }) => {
    const key = keyOf(text);
    const isCommon = LIGHT.has(text.toLowerCase()) || EVERYDAY.has(key);
    const isLow = isWord && !/[A-Z]/.test(isFirst ? text.slice(1) : text);
    const isName = !isLow || !(isCommon || !/[A-Z]/.test(text) || isPlain(key));
    const fact = text.includes('`') ? 'code' : /\p{N}/u.test(text) ? 'number' : 'name';
    const kind: Token['kind'] = isName ? fact : isCommon ? 'light' : 'word';
    return { text, key: isName ? text : key, kind, ends };
  });
  let lead: string[] = [];
  let denies = false;
  const tokens = parts.map(({ text, key, kind, ends }, at): Token => {
    const [last, follower] = [parts[at - 1], parts[at + 1]];
    const word = text.toLowerCase();
    const hasUnit = kind === 'number' && /^[^\p{L}%]*\d$/u.test(key) && !ends && follower?.kind !== 'light';
    const before = kind === 'number' ? lead.join(' ').replace(/^to /, '') : lead.includes('from');
    const whole = `${before} ${key} ${(hasUnit && follower?.key) || ''}`;
    if (ends || !(BEFORE.has(word) || /^(?:of|the|an?|now|version)$/.test(word))) lead = [];
    else if (BEFORE.has(word)) lead = [...lead, word].slice(-4);
    const isDenied = denies && !LIGHT.has(word);
    denies = NOT.has(key) || (denies && !isDenied);
    return { text, key, kind, whole, isUnit: last?.kind === 'number' && !last.ends, next: [], isDenied };
  });
  let [next, everyday]: [string[], string] = [[], ''];
  for (const token of tokens.toReversed()) {
    token.next = next.length > 0 ? next : [everyday];
    if (token.kind !== 'light') next = [token.key, ...next.slice(0, 1)];
    else if (!LIGHT.has(token.text.toLowerCase())) everyday = token.key;
  }
  return tokens;
}

/** Why a wording may not be shown, as the end of a sentence about it; null when it may. */
export function check({ sources, original, rewritten, isMarked }: Wording): string | null {
  if (UNSEEN.test(rewritten)) return 'it has a line break or an invisible character';
  if (STRUCTURE.test(rewritten)) return 'it is more than one line of text';
  const longest = Math.min(MAX_WORDS, 2 * original.length + 80);
  if (rewritten.length > longest || rewritten.length < original.length / 4)
    return 'it is too long or too short';
  const texts = [original, ...sources];
  // The first word of the entry may be a name, unless an article follows.
  const plain = new Set(KEPT);
  const rough = texts.map((text) => tokensOf(text, () => true));
  const isVerb = /^\S+ (?:the|an?|your) /.test(original);
  for (const [first, ...rest] of rough)
    for (const token of first === rough[0]?.[0] && /^[A-Z]/.test(original) && !isVerb
      ? rest
      : [first, ...rest])
      if (token?.kind === 'word') plain.add(token.key);
  const [entry = [], ...others] = texts.map((text) => tokensOf(text, (key) => plain.has(key)));
  const read = { entry, known: [entry, ...others], own: tokensOf(rewritten, (key) => plain.has(key)) };
  return (
    whyForeign(read) ?? whyUnknown(read) ?? whyDenied(read) ?? whyMissing(read, isMarked) ?? whyMoved(read)
  );
}

interface Texts {
  entry: Token[];
  /** The entry and its sources. */
  known: Token[][];
  own: Token[];
}

const isFact = ({ kind }: Token) => kind !== 'light' && kind !== 'word';

function whyForeign({ entry, own }: Texts): string | null {
  const read = entry.filter(({ text }) => /\p{L}/u.test(text));
  const strange = read.filter(({ text }) => /[^\p{ASCII}\p{P}\p{S}]/u.test(text));
  const isForeign = strange.length > 0 && strange.length * 2 >= read.length;
  const isOther = [...entry, ...own].some(({ text }) => FOREIGN.has(text));
  return isForeign || isOther ? 'it is not in English, which is all that Tidings can check' : null;
}

/** Each token, with what belongs to it, stands in the entry or in its sources. */
function whyUnknown({ entry, known, own }: Texts): string | null {
  const all = known.flat();
  const [texts, keys] = [new Set(all.map(({ text }) => text)), new Set(all.map(({ key }) => key))];
  const [wholes, ofEntry] = [new Set(all.map(({ whole }) => whole)), new Set(entry.map(({ text }) => text))];
  const isThere = (token: Token) => {
    if (token.kind === 'light' || LIMITS.has(token.key)) return true;
    if (token.kind === 'word') return keys.has(token.key);
    const code = /^`([^`]+)`$/.exec(token.text)?.[1] ?? '';
    return (
      ofEntry.has(token.text) || texts.has(code) || (texts.has(token.text) && !MARKDOWN.test(token.text))
    );
  };
  const unknown = own.find((token) => !isThere(token));
  if (unknown !== undefined) return `its sources lack “${unknown.text}”`;
  const times = Map.groupBy(entry, ({ key }) => key);
  const seen = new Map<string, number>();
  const changed = own.find((token) => {
    const { kind, key, whole } = token;
    const time = (seen.get(key) ?? 0) + 1;
    seen.set(key, time);
    const isOften =
      time > (times.get(key)?.length ?? 1) && (isFact(token) || LIMITS.has(key) || FAULTS.has(key));
    return isOften || (kind !== 'light' && keys.has(key) && !wholes.has(whole));
  });
  return changed === undefined ? null : `its sources say something else of “${changed.text}”`;
}

/** "Not", "only" and their like stay with the words that they are about. */
function whyDenied({ entry, known, own }: Texts): string | null {
  const ofKnown = new Set(known.flat().map(({ key }) => key));
  const isGiven = own.some(({ key }) => GIVEN.has(key) && !ofKnown.has(key));
  if (isGiven && entry.some(({ key }) => UNDONE.has(key))) return 'it no longer says what was done';
  const nots = (tokens: Token[]) => tokens.flatMap(({ key }) => (NOT.has(key) ? key : [])).sort();
  const [had, has] = [nots(entry).join(), nots(own).join()];
  const denied = new Set(entry.flatMap(({ isDenied, key }) => (isDenied ? key : [])));
  const isAffirmed = own.some(({ key, isDenied }) => denied.has(key) && !isDenied);
  // "No longer crashes" is a fix of a crash, and nothing else.
  const isEnd = isFixed({ entry, known, own });
  if ((had !== has && !isEnd) || isAffirmed) return 'it adds or drops a “not”';
  const pairs = known.flat().flatMap(({ key, next }) => (LIMITS.has(key) ? `${key} ${next[0]}` : []));
  const isSaid = new Set([...pairs, `${keyOf('more')} ${keyOf('improve')}`]);
  let before = '';
  const elsewhere = own.find(({ key, kind, next: [word = '', after = ''] }, at) => {
    const former = before;
    if (kind !== 'light') before = key;
    if (!LIMITS.has(key) || isSaid.has(`${key} ${word}`)) return false;
    // "Emails are not sent", as "do not send emails".
    const isPassive = /^(?:is|are|was|were|be|been)$/.test(own[at - 1]?.text ?? '');
    if (isPassive && own[at + 1]?.kind === 'light' && isSaid.has(`${key} ${former}`)) return false;
    const isFault = (FAULTS.has(word) || FAULTS.has(after)) && entry.some((token) => token.key === word);
    return !(isEnd && key === NO_LONGER && isFault);
  });
  return elsewhere === undefined ? null : `its sources do not say “${elsewhere.text}” of that`;
}

function isFixed({ entry, known, own }: Texts): boolean {
  const isFix = known.some(([first]) => first?.key === FIX) && !own.some(({ key }) => key === FIX);
  const nots = own.filter(({ key }) => NOT.has(key));
  return isFix && !entry.some(({ key }) => NOT.has(key)) && nots.length === 1 && nots[0]?.key === NO_LONGER;
}

/** Only a third of the plain English words may go, and nothing of an entry that is marked. */
function whyMissing(read: Texts, isMarked: boolean): string | null {
  const kept = new Set(read.own.map(({ key }) => key));
  const content = read.entry.filter(({ kind }) => kind !== 'light');
  const lost = content.filter(({ key }) => !kept.has(key) && !(key === FIX && isFixed(read)));
  const isEnglish = read.known.flat().some(({ kind, key }) => kind === 'light' || KEPT.has(key));
  const isNeeded = (token: Token) => (isFact(token) && !token.whole.startsWith('from ')) || isKept(token.key);
  const needed = lost.find((token) => isMarked || !isEnglish || isNeeded(token));
  if (needed !== undefined) return `it leaves out “${needed.text}”`;
  return lost.filter((token) => !isFact(token)).length > content.length / 3 ? 'it leaves out too much' : null;
}

/** Facts of a kind, and the words between them, come in the order of a text that has them. What sources add comes last. */
function whyMoved({ entry, known, own }: Texts): string | null {
  const isMoved = ['code', 'number', 'name'].some((kind) => {
    const facts = new Set(own.flatMap((token) => (token.kind === kind && !token.isUnit ? token.key : [])));
    const isOne = ({ key }: Token) => facts.has(key);
    const old = new Set(entry.filter(isOne).map(({ key }) => key));
    const added = own.findIndex((token) => isOne(token) && !old.has(token.key));
    if (added !== -1 && added < own.findLastIndex(({ key }) => old.has(key))) return true;
    const texts = known.filter((tokens) => new Set(tokens.filter(isOne).map(({ key }) => key)).size > 1);
    return texts.length > 0 && !texts.some((tokens) => isInOrder(tokens, own, isOne));
  });
  return isMoved ? 'it has facts in another order' : null;
}

function isInOrder(text: Token[], own: Token[], isOne: (token: Token) => boolean): boolean {
  const tells = (token: Token) => isOne(token) || (token.kind === 'word' && !token.isUnit);
  const span = text.slice(text.findIndex(isOne), text.findLastIndex(isOne) + 1).filter(tells);
  const keys = span.map(({ key }) => key);
  const inSpan = new Set(keys);
  let from = 0;
  for (const token of own) {
    if (!tells(token) || !inSpan.has(token.key)) continue;
    from = keys.indexOf(token.key, from);
    if (from === -1) return false;
  }
  return true;
}
