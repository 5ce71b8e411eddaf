// Dates as people write them in changelogs and in front matter.

export interface FoundDate {
  /** The whole phrase, with the day of the week, a time, and words such as "released". */
  from: number;
  to: number;
  /** The date as it is written. */
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
const YEAR = '(?<!\\d)(?<year>\\d{4})(?!\\d)';
const CLOCK = '\\d{1,2}:\\d\\d(?::\\d\\d(?:\\.\\d{1,9})?)?(?: ?[ap]m)?';
const GAP = '[\\s,/-]{0,3}';

const PATTERNS = [
  '(?<![\\d.])(?<year>\\d{4})([-/.])(?<month>\\d{1,2})\\2(?<day>\\d{1,2})(?!\\d|[./-]\\d)',
  '(?<![\\d.])(?<first>\\d{1,2})([-/.])(?<second>\\d{1,2})\\2(?<year>\\d{4})(?!\\d|[./-]\\d)',
  '(?<![\\d.])(?<first>\\d{1,2})/(?<second>\\d{1,2})/(?<year>\\d\\d)(?!\\d|[./-]\\d)',
  '(?<![\\d.])(?<year>(?:19|20)\\d\\d)(?<month>\\d\\d)(?<day>\\d\\d)(?![\\d.])',
  `${DAY}${GAP}(?:of )?\\b${MONTH}${GAP}${YEAR}`,
  `\\b${MONTH}${GAP}${DAY}(?:${GAP}${CLOCK}(?: [a-z]{2,5})?)?${GAP}${YEAR}`,
  `${YEAR}${GAP}\\b${MONTH}${GAP}${DAY}`,
  `${YEAR}${GAP}${DAY}${GAP}(?:of )?\\b${MONTH}`,
  '(?<!\\d)(?<year>\\d{4})年 ?(?<month>\\d{1,2})月 ?(?<day>\\d{1,2})日',
  `\\b${MONTH}${GAP}${YEAR}`,
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
