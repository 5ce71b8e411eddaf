import { renderWith } from '../../lib/markdown/parse.ts';

// Dates as people write them in changelogs and in front matter.

export interface FoundDate {
  /** The whole phrase, with the day of the week, a time, and words such as "released". */
  from: number;
  to: number;
  text: string;
  /** Midnight in UTC. None: no calendar has this day. Two: day first, then month first. */
  days: readonly Date[];
  /** Of a date such as 31/01/2020 that has one reading. */
  isDayFirst?: boolean;
}

const NAMES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\b\\.?';
const DAY = '(?<!\\d)(?<day>\\d{1,2})(?:st|nd|rd|th)?\\b\\.?';
const FULL_YEAR = '(?<!\\d)(?<year>\\d{4})(?!\\d)';
const CLOCK = '\\d{1,2}:\\d\\d(?::\\d\\d(?:\\.\\d{1,9})?)?(?: ?[ap]m)?';
const GAP = '[\\s,/-]{0,3}';

const PATTERNS = [
  '(?<![\\d.])(?<year>\\d{4})([-/.])(?<month>\\d{1,2})\\2(?<day>\\d{1,2})(?!\\d|[./-]\\d)',
  '(?<![\\d.])(?<first>\\d{1,2})([-/.])(?<second>\\d{1,2})\\2(?<year>\\d{4})(?!\\d|[./-]\\d)',
  '(?<![\\d.])(?<first>\\d{1,2})/(?<second>\\d{1,2})/(?<year>\\d\\d)(?!\\d|[./-]\\d)',
  '(?<![\\d.])(?<year>(?:19|20)\\d\\d)(?<month>\\d\\d)(?<day>\\d\\d)(?![\\d.])',
  `${DAY}${GAP}(?:of )?\\b${MONTH}${GAP}${FULL_YEAR}`,
  `\\b${MONTH}${GAP}${DAY}(?:${GAP}${CLOCK}(?: [a-z]{2,5})?)?${GAP}${FULL_YEAR}`,
  `${FULL_YEAR}${GAP}\\b${MONTH}${GAP}${DAY}`,
  `${FULL_YEAR}${GAP}${DAY}${GAP}(?:of )?\\b${MONTH}`,
  '(?<!\\d)(?<year>\\d{4})年 ?(?<month>\\d{1,2})月 ?(?<day>\\d{1,2})日',
  `\\b${MONTH}${GAP}${FULL_YEAR}`,
  '(?<![\\d.-])(?<year>\\d{4})-(?<month>\\d\\d)(?!\\d|[.-]\\d)',
].map((pattern) => new RegExp(pattern, 'i'));

const BEFORE =
  /(?:\b(?:(?:was )?released?|release date|date|dated|published|on)\b[\s:*_]*)*(?:\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b[.,]*\s*)?$/i;
const AFTER = new RegExp(
  `^(?:(?:,? at |[T ,]{1,2})${CLOCK})?(?: ?(?:Z|UTC|GMT)\\b)?(?: ?[+-]\\d\\d:?\\d\\d)?(?: \\([A-Z]{2,5}\\))?`,
  'i',
);

/** The first date of a short text; null without one. Months without a day mean their first. */
export function findDate(given: string): FoundDate | null {
  // Editors replace the hyphens of a date.
  const text = given.replaceAll(/(?<=\d)[\u2010-\u2015\u2212](?=\d)/g, '-');
  const [match] = PATTERNS.map((pattern) => pattern.exec(text))
    .filter((found) => found !== null)
    .sort((one, other) => one.index - other.index || other[0].length - one[0].length);
  if (match === undefined) return null;
  const { first, second, year = '', month = '', day = '1' } = match.groups ?? {};
  const end = match.index + match[0].length;
  const from = match.index - (BEFORE.exec(text.slice(0, match.index))?.[0].length ?? 0);
  const to = end + (AFTER.exec(text.slice(end))?.[0].length ?? 0);
  const fullYear = Number(year) + (year.length === 2 ? 2000 : 0);
  const found = { from, to, text: match[0] };
  if (first === undefined) {
    const monthNumber = Number(month) || NAMES.indexOf(month.slice(0, 3).toLowerCase()) + 1;
    return { ...found, days: dayOf(fullYear, monthNumber, Number(day)) };
  }
  const dayFirst = dayOf(fullYear, Number(second), Number(first));
  // With dots, the day is first.
  const isDotted = match[2] === '.' && dayFirst.length > 0;
  const monthFirst = isDotted || first === second ? [] : dayOf(fullYear, Number(first), Number(second));
  const days = [...dayFirst, ...monthFirst];
  return {
    ...found,
    days,
    ...(days.length === 1 && !isDotted && first !== second && { isDayFirst: dayFirst.length === 1 }),
  };
}

function dayOf(year: number, month: number, day: number): Date[] {
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return month > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? [date] : [];
}

// Headings of versions, as people write them: a version with words, a date and marks around it.

/** A longer heading is refused; the patterns would take minutes for a line of the whole file. */
export const MAX_HEADING = 500;

export interface VersionHeading {
  /** `series`: "3.15.x", or a number alone. `title`: words and a date. All but a version count only at the file's level. */
  kind: 'version' | 'date' | 'series' | 'title';
  /** Of the post: the package, the version as it is written, and the words after it. */
  title: string;
  /** Without the leading "v". */
  version: string;
  /** Words before the version that aren't "Version", "Release" and the like; empty without them. */
  packageName: string;
  date: FoundDate | null;
  /** A mark such as "TBD" or "unreleased" stands beside the version. */
  isUnreleased: boolean;
  /** Nothing stands after the version but a date, and words in quotes or brackets. */
  isBare: boolean;
  /** Links that aren't the link of the version, in Markdown. */
  links: string;
}

const VERSION =
  /(?<![\p{L}\p{N}.])(?:v\.? ?)?(\d{1,8}(?:\.(?:\d{1,12}|x\b|\*)){1,4}[-+._0-9A-Za-z]*|\d{1,8}(?:\.\d{1,12}){1,4})/giu;
/** A single number needs a word before it. */
const NUMBER =
  /(?<![\p{L}\p{N}.])(?:v\.? ?|(?:version|release) )(\d{1,6}(?:[-+][0-9A-Za-z][-+.0-9A-Za-z]*)?)(?![\p{L}\p{N}.])/giu;
/** A number that has a heading for itself, except for a date after it. */
const LONE_NUMBER = /^[^\p{L}\p{N}]*(\d{1,6})[^\p{L}\p{N}]*$/u;
const YEAR = /^(?:19|20)\d\d$/;
const STAGE = /^\s+(?:alpha|beta|rc|pre|preview|milestone|release candidate)(?:[\s.-]?\d+)?\b/i;

/** Words before a version that say nothing about it. */
const PLAIN_WORDS = new Set(
  "version ver release releases released rel tag build v r new news in what’s what's whats noteworthy major minor patch user-visible visible changes change for of the notes note highlights changelog log announcing introducing stable".split(
    ' ',
  ),
);
/** Words before a version that isn't the heading's own. */
const OTHER_WORDS =
  /^(?:since|from|before|after|until|till|to|than|with|and|or|not|against|below|above|by|into|on|at|over|under|via|as|is|are|see|please|upgrad\w*|migrat\w*|support\w*|drop\w*|requir\w*|need\w*|us(?:e|es|ing)|fix\w*|add\w*|remov\w*|updat\w*|bump\w*|compatib\w*)$/i;
const MAX_PACKAGE_WORDS = 4;

const MARK =
  /(?<![\p{L}\p{N}])(?:unreleased|unpublished|tb[acd]|releasedate|(?:not|never|to be|yet to be|not yet) (?:yet )?(?:be )?(?:released|published|announced|determined|decided)|(?:x{4}|y{4}|\?{4}|20(?:xx|\?\?)|\d{4}(?=-(?:xx|mm|\?\?)))-(?:xx|mm|\?\?|\d\d)-(?:xx|dd|\?\?|\d\d))(?![\p{L}\p{N}])/iu;
/** Words that are a mark by themselves only: "Next.js" and "Next steps" are none. */
const MARK_WORDS =
  /^(?:(?:the )?(?:next|upcoming|future)(?: (?:major|minor|patch))?(?: (?:release|version|changes))?|head|main|master|trunk|dev|develop|development|wip|work in progress|in (?:progress|development|git|main|master)|(?:coming )?soon|pending|planned|draft|cancell?ed|skipped|abandoned)$/i;
/** Ends of a version that is not released yet. */
const MARK_STAGE = /[-+.](?:unreleased|wip|snapshot|draft|tb[acd])$/i;

const SEPARATORS = /[\s[\](){}（）【】.:;,|/\\*_~@=>→⇒•·∙"'“”‘’«»„–—-]+/g;

export const wordsOf = (text: string) => text.replaceAll(SEPARATORS, ' ').trim();

/** True if the whole text marks changes as not released, such as "Unreleased", "[Unreleased] - TBD" or "HEAD". */
export function isUnreleasedMark(text: string): boolean {
  const words = wordsOf(text);
  if (/^unreleased(?![\p{L}\p{N}])/iu.test(words)) return true;
  const rest = wordsOf(text.replace(MARK, ' '));
  return rest === '' ? words !== '' && MARK.test(text) : MARK_WORDS.test(rest);
}

/** Controls of direction and of line breaks, which may stand inside a version and a date. Joiners belong to words and emoji. */
const INVISIBLE = /[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

/** The text of a heading or a line without its markup. */
export function plainText(markdown: string): string {
  const callbacks: Bun.markdown.RenderCallbacks = {
    heading: (children) => children,
    image: (alt) => alt,
    text: (part) => (/^<[^>]*>$/.test(part) ? '' : part),
    html: () => '',
  };
  const text = renderWith(`# ${markdown.replaceAll(/\[([^\]]*)\]\[[^\]]*\]/g, '$1')}`, callbacks, {});
  return text.replaceAll(INVISIBLE, '').replaceAll(/\s+/g, ' ').trim();
}

/** A link whose text has no version. */
const OTHER_LINK = /!?\[(?![^\]]*\d\.\d)[^\]]*\p{L}[^\]]*\]\([^)]*\)/gu;

/** Reads a heading of at most `MAX_HEADING` characters; null if neither a version nor a date tells what it is. */
export function readHeading(markdown: string): VersionHeading | null {
  const links = Array.from(markdown.matchAll(OTHER_LINK), ([link]) => link).join(' ');
  const text = plainText(markdown.replaceAll(OTHER_LINK, ' '));
  const found = findVersion(text);
  const before = found === null ? null : readPrefix(found.before);
  if (found === null || before === null) return readDatedTitle(text, links);
  const date = found.date ?? findDate(found.after);
  const after =
    found.date === null && date !== null
      ? `${found.after.slice(0, date.from)}\0${found.after.slice(date.to)}`
      : found.after;
  const name = nameOf(after);
  const { packageName } = before;
  return {
    kind: /\.(?:x|\*)/i.test(found.version) || (found.isNumber && date === null) ? 'series' : 'version',
    title: `${packageName}${packageName === '' ? '' : before.separator}${found.title}${name}`,
    version: found.version,
    packageName,
    date,
    isUnreleased:
      before.isUnreleased ||
      MARK_STAGE.test(found.version) ||
      MARK.test(after) ||
      MARK_WORDS.test(wordsOf(name)),
    isBare: wordsOf(name.replaceAll(/"[^"]*"|“[^”]*”|\[[^\]]*\]|\([^)]*\)/g, '')) === '',
    links,
  };
}

/** Words that mean nothing without their date, as in "Week of March 4, 2024" or "March 4 to March 10, 2024". */
const NEEDS_DATE = new RegExp(
  `\\b(?:of|from|on|for|in|at|to|until|till|through|as|since|starting|beginning|ending)$|\\b${MONTH}[\\s,]{0,3}\\d`,
  'i',
);

/** A heading that begins or ends with a date. */
function readDatedTitle(text: string, links: string): VersionHeading | null {
  const date = findDate(text);
  if (date === null || isUnreleasedMark(text)) return null;
  const [before, after] = [text.slice(0, date.from), text.slice(date.to)];
  if (wordsOf(before) !== '' && wordsOf(after) !== '') return null;
  const words = nameOf(`${before}\0${after}`).trim();
  const isDate = wordsOf(words) === '';
  const title = isDate ? date.text : NEEDS_DATE.test(words) ? text : words;
  return {
    kind: isDate ? 'date' : 'title',
    title,
    version: title,
    packageName: '',
    date,
    isUnreleased: false,
    isBare: true,
    links,
  };
}

interface FoundVersion {
  before: string;
  after: string;
  title: string;
  version: string;
  /** A date in front of the version, or the version itself. */
  date: FoundDate | null;
  isNumber: boolean;
}

function findVersion(text: string): FoundVersion | null {
  const first = findDate(text);
  // "2020-01-31, Version 1.2.3"; but "2024.1.5" is a version unless another one follows.
  const isDateFirst = first !== null && wordsOf(text.slice(0, first.from)) === '';
  const versions = versionsOf(text);
  const afterDate = versions.find(({ index }) => isDateFirst && index >= first.to);
  const match = afterDate ?? versions[0];
  if (match === undefined) {
    const [, number = ''] = LONE_NUMBER.exec(text.slice(0, first?.from)) ?? [];
    if (number === '' || YEAR.test(number)) return null;
    return {
      before: '',
      after: text.slice(first?.from ?? text.length),
      title: number,
      version: number,
      date: null,
      isNumber: true,
    };
  }
  const { index, raw, version } = match;
  const after = text.slice(index + raw.length);
  if (/^%|^\w/.test(after) || /\dx$/i.test(version)) return null;
  const stage = STAGE.exec(after)?.[0] ?? '';
  const isV = /^v\.? ?\d/i.test(raw);
  const whole = `${version}${stage.replace(/\s+/g, ' ')}`;
  const isCalendar = /^\d{4}\.\d\d\.\d\d$/.test(version) && findDate(after) === null;
  const calendarDate = isCalendar ? findDate(version) : null;
  const dateBefore = afterDate === undefined ? null : first;
  return {
    before: text.slice(dateBefore?.to ?? 0, index),
    after: after.slice(stage.length),
    title: `${isV ? raw.slice(0, 1) : ''}${whole}`,
    version: whole,
    date: dateBefore ?? (calendarDate?.days.length === 0 ? null : calendarDate),
    isNumber: false,
  };
}

/** The versions of a text; without any, the numbers after "v" or "Version". */
function versionsOf(text: string) {
  const found = [...text.matchAll(VERSION)];
  return (found.length > 0 ? found : [...text.matchAll(NUMBER)]).map(({ index, 0: whole, 1: given = '' }) => {
    const version = given.replace(/[-+._]+$/, '');
    return { index, raw: whole.slice(0, whole.length - given.length + version.length), version };
  });
}

/** The package in front of a version. Null if the words there mean another version, or are a sentence. */
function readPrefix(text: string) {
  const words = text.split(/[\s[\](){}:,|"“”«»„*#<>=–—]+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const isUnreleased = words.length > 0 && isUnreleasedMark(words.join(' '));
  if (isUnreleased) return { packageName: '', separator: '', isUnreleased };
  if (words.some((word) => OTHER_WORDS.test(word))) return null;
  const packageName = words
    .filter((word) => !PLAIN_WORDS.has(word.toLowerCase().replace(/[.@/-]+$/, '')))
    .join(' ');
  if (packageName.split(' ').length > MAX_PACKAGE_WORDS) return null;
  const separator = /@$/.test(text) ? '@' : ' ';
  return { packageName: packageName.replace(/[@/_-]+$/, ''), separator, isUnreleased };
}

/** The words after a version, with a space in front; `\0` stands for the date. */
function nameOf(after: string): string {
  const name = after
    .replaceAll(/\{[#:.][^}]*\}/g, '')
    .replace(/[([（【][\s,;:/|–—-]*\0[\s,;:/|–—-]*[)\]）】]/, ' ')
    .replace(/\0[\s,;:/|–—-]*/, '')
    .replaceAll(/[\s,;:/|–—-]+([)\]])/g, '$1')
    // The end of what is around the version.
    .replace(/^["”’»)\]]*/, '')
    .replace(/\s+[/|–—-]\s+(?=[([])/, ' ')
    .replace(/\[(yanked)\]|\((yanked)\)/i, '(yanked)')
    // Versions may be a list, and emoji may be written as ":tada:".
    .replace(/^(?:\s*(?:[;|•·∙~@=>→⇒]|[–—-](?!\s+v?\d+\.\d)|,(?!\d)|:(?![\w+-]+:))+\s*|\s+\/\s+|\s+)+/, ' ')
    .replace(/(?:[\s,;/|•·∙~@=>→⇒–—#-]|(?<!:[\w+-]{1,40}):)+$/, '');
  return name;
}
