// Kinds of lies about a text, each at every place where it can be told. Each variant tells a fact that the text does not tell, drops
// a "not", or shows readers something else than it says.

interface Variant {
  text: string;
  /** What it adds, which the sources of an entry may tell. */
  added: string;
}

type Variants = (text: string) => Variant[];

/** One variant for each place that the pattern finds. */
function at(pattern: RegExp, change: (found: string) => string | string[]): Variants {
  return (text) =>
    Array.from(text.matchAll(pattern)).flatMap((match) => {
      const [found] = match;
      const end = match.index + found.length;
      return [change(found)].flat().map((other) => ({
        text: text.slice(0, match.index) + other + text.slice(end),
        added: other,
      }));
    });
}

/** The words between any two words, and before and after the text. */
const between = (...added: string[]): Variants => {
  const gap = at(/^| |$/g, (found) => added.map((each) => ` ${each}${found === '' ? '' : ' '}`));
  const ends = (text: string) => added.map((each) => ({ text: `${each} ${text}`, added: each }));
  return (text) => [...gap(text).filter(({ text: other }) => !other.startsWith(' ')), ...ends(text)];
};

const whole =
  (...makes: ((text: string) => string)[]): Variants =>
  (text) =>
    makes.map((make) => ({ text: make(text), added: '' }));

const either =
  (...all: Variants[]): Variants =>
  (text) =>
    all.flatMap((each) => each(text));

const shifted = (from: number) => (digits: string) =>
  [...digits].map((digit) => String.fromCodePoint(from + Number(digit))).join('');

const NUMBER = /(?<![\w`])\d+/g;
const LETTER = /(?<=[A-Za-z])(?=[a-z])/g;
const CODE = /`[^`]+`/g;
const NAME = /(?<=[^\s.] )(?<!`[^`]*)\b[A-Z][A-Za-z]+\b/g;

export const kinds: Record<string, Variants> = {
  'marks of direction': at(/ /g, () => [' \u200f', ' \u202e', '\u2067 ', '\u061c ']),
  'soft hyphens and joiners': at(LETTER, () => ['\u00ad', '\u200c', '\u2060', '\ufe00', '\u{e0061}']),
  'combining characters': at(LETTER, () => ['\u0301', '\u0336', '\u20dd', '\u0489']),
  'other spaces': at(/ /g, () => ['\u00a0', '\u2009', '\u3000', '\t', '  ', '\n', '\u0085']),
  'digits of other scripts': at(NUMBER, (digits) =>
    [0xff10, 0x0660, 0x0966, 0x1d7d8, 0x1d7ce, 0x2080].map((zero) => shifted(zero)(digits)),
  ),
  'digits in circles and powers': at(NUMBER, (digits) => [`${digits}²`, '①', '⑤', '½', '¹⁰']),
  'emoji of keys': at(NUMBER, (digits) => [`${digits}\ufe0f\u20e3`, '🔟', '5️⃣']),
  'Roman numbers': at(NUMBER, () => ['V', 'XVII', 'Ⅶ', 'iv', 'x']),
  'numbers in words': at(NUMBER, () => ['two', 'fifty', 'a dozen', 'forty-two', 'no', 'several', 'many']),
  'a number more': between(
    'two',
    'three',
    'once',
    'twice',
    'half',
    'both',
    'a hundred',
    'dozens of',
    'every',
  ),
  'entities for digits': at(NUMBER, (digits) => [
    `&#${48 + Number(digits[0])};`,
    `&#x3${digits[0]};`,
    `${digits}&nbsp;`,
    `${digits}&deg;`,
  ]),
  'emphasis inside a number': at(/(?<![\w`])\d{2,}/g, (digits) => [
    `${digits[0]}**${digits.slice(1)}**`,
    `${digits[0]}_${digits.slice(1)}_`,
    `~~${digits[0]}~~${digits.slice(1)}`,
    `${digits[0]}\`${digits.slice(1)}\``,
  ]),
  'other numbers': at(NUMBER, (digits) => [
    `${digits}0`,
    `0${digits}`,
    `${digits}.5`,
    `${digits},000`,
    `${digits}e3`,
    `${digits}k`,
    `${digits} million`,
    String(Number(digits) + 1),
    `1${digits}`,
  ]),
  signs: at(NUMBER, (digits) =>
    ['-', '− ', '±', '+', '–', '~', '≈', '<', '≤ ', '>', '!', '¬', 'minus ', 'plus ', '- ', '(-) '].map(
      (sign) => sign + digits,
    ),
  ),
  ranges: at(NUMBER, (digits) => [
    `${digits}-99`,
    `1–${digits}`,
    `0..${digits}`,
    `1 to ${digits}`,
    `${digits} to 99`,
    `${digits} or more`,
    `between 0 and ${digits}`,
    `${digits}+`,
  ]),
  limits: at(NUMBER, (digits) =>
    [
      'at most',
      'at least',
      'over',
      'under',
      'about',
      'up to',
      'more than',
      'less than',
      'fewer than',
      'almost',
      'within',
      'nearly',
    ].map((limit) => `${limit} ${digits}`),
  ),
  currencies: at(NUMBER, (digits) => [
    `$${digits}`,
    `€${digits}`,
    `${digits} €`,
    `${digits} USD`,
    `US$${digits}`,
    `${digits}¢`,
  ]),
  units: at(/(?<=\d ?)(?:%|MB|GB|ms|hours|minute|items|times)(?!\w)/g, (unit) =>
    [
      's',
      'KB',
      'Mb',
      'mb',
      '‰',
      ' percent',
      ' points',
      'days',
      'hours per day',
      'months',
      'm',
      '°',
      '',
    ].filter((other) => other !== unit),
  ),
  'a percent more': at(NUMBER, (digits) => [
    `${digits}%`,
    `${digits} %`,
    `${digits} percent`,
    `${digits}x`,
    `${digits}×`,
  ]),
  dates: between(
    'on 5 March',
    'since 2024',
    'in March',
    '03/05/2026',
    'on Monday',
    '5.3.2026',
    'today',
    "in '24",
    'Q3',
    'May 5',
  ),
  'another version': between('v2', '2.x', '^1.0.0', 'v1.0-beta', 'version 9'),
  'names in another case': at(NAME, (name) =>
    [name.toLowerCase(), name.toUpperCase(), name[0] + name.slice(1).toLowerCase()].filter(
      (other) => other !== name,
    ),
  ),
  'other forms of names': at(NAME, (name) => [
    `${name}s`,
    `${name}'s`,
    `${name}-like`,
    `non-${name}`,
    `${name}®`,
    `${name}.io`,
  ]),
  'other names': between(
    'Acme',
    'acme.example',
    'IBM',
    'GitLab',
    'McKinsey',
    '@ada',
    'Ada Lovelace',
    'X',
    'C++',
  ),
  'e-mail addresses': between(
    'a@evil.example',
    '<a@evil.example>',
    'mailto:a@evil.example',
    'a(at)evil.example',
  ),
  'addresses without a scheme': between(
    'evil.example',
    'www.evil.example',
    'evil.example/x',
    '//evil.example',
    'evil[.]example',
    '127.0.0.1',
    'localhost:8080',
    '[::1]',
    'xn--e1afmkfd.example',
  ),
  'addresses with a scheme': between(
    'https://evil.example',
    'HTTPS://evil.example',
    'ftp://evil.example',
    'data:text/html,x',
    'javascript:x',
    'hxxps://evil.example',
    'https:/evil.example',
  ),
  'links in Markdown': between(
    '[x](https://evil.example)',
    '[x](</evil>)',
    '[x][y]',
    '[x]',
    '[x]: https://evil.example',
    '<https://evil.example>',
    '![x](x.png)',
    '[^1]',
    '[^1]: note',
    '[](x)',
    '[x](javascript:x)',
  ),
  'links around words': at(/(?<=^|\s)[a-z]{4,}(?=\s|$)/g, (word) => [
    `[${word}](https://evil.example)`,
    `[${word}]`,
    `<a>${word}</a>`,
    `[${word}](#)`,
  ]),
  references: between(
    '#12',
    'GH-12',
    'acme/rocket#12',
    '!12',
    'ENG-1',
    '@acme',
    '@acme/team',
    'CVE-2020-1234',
    'a1b2c3d',
  ),
  quotations: between(
    '"trust us"',
    '“trust us”',
    '„trust us“',
    '‚trust us‘',
    '«oui»',
    '‹oui›',
    '「新」',
    "'trust us'",
    '‘trust us’',
    '``trust us´´',
    '"now"',
    '‟now”',
  ),
  'code with other space': at(CODE, (code) => [
    code.replace(/^`/, '` '),
    code.replace(/`$/, ' `'),
    `\`${code}\``,
    code.includes(' ') ? code.replace(' ', '') : code.replace(/(?<=`.)/, ' '),
  ]),
  'other code': at(CODE, (code) => [
    code.toUpperCase() === code ? code.toLowerCase() : code.toUpperCase(),
    code.replace(/`$/, 's`'),
    code.replace(/`$/, '()`'),
    code.replace(/^`/, '`--'),
    code.slice(0, -1),
    code.slice(1),
    code.slice(1, -1).slice(0, -1) || 'x',
    '`x`',
    `${code} \`--force\``,
    `${code}s`,
    `<code>${code.slice(1, -1)}</code>`,
  ]),
  structure: whole(
    ...[
      '# ',
      '## ',
      '> ',
      '- ',
      '* ',
      '+ ',
      '1. ',
      '12) ',
      '- [ ] ',
      '- [x] ',
      '[ ] ',
      '| ',
      '    ',
      '\t',
      '```',
      '~~~',
      '--- ',
      '=== ',
      ': ',
      '---\n',
      '<!-- ',
      '$$ ',
      '!!! ',
      '::: ',
    ].map((start) => (text: string) => start + text),
    ...[
      '  ',
      '\\',
      ' |',
      '\n- x',
      '\n\nx',
      ' #',
      ' ```',
      ' -->',
      ' {#id}',
      '\n===',
      '\n---',
      '<br>',
      ' \\',
    ].map((end) => (text: string) => text + end),
    (text) => `| ${text} | x |`,
    (text) => `**${text}**`,
    (text) => `~~${text}~~`,
    (text) => `<del>${text}</del>`,
    (text) => `"${text}"`,
    (text) => `${text} ${text}`.repeat(20),
  ),
  'marks in text': between(
    '~~not~~',
    '**now**',
    '_now_',
    '<b>',
    '</li>',
    '&lt;',
    '&copy;',
    ':tada:',
    '🎉',
    '✅',
    '❌',
    '✗',
    '\\*',
    '$x$',
    '==now==',
    '^2^',
    '{{x}}',
    '$$(x)',
    '%s',
    '…',
    '→',
  ),
  'a "not" more': between(
    'not',
    'no',
    'never',
    'no longer',
    "doesn't",
    'without',
    'unless',
    'except',
    'cannot',
    'not yet',
    'hardly',
    'rarely',
    'barely',
    'nothing',
    'neither',
    'no more',
    'lacks',
  ),
  'a "not" less': at(/\b(?:no longer|not|no|never|without|Do not|Stop(?:ped)?|un(?=saved))\b ?/gi, () => [
    '',
    'now ',
    'always ',
  ]),
  'a "not" in front': at(/\b(?=(?:supported|used|available|required|deprecated|valid|saved)\b)/g, () => [
    'un',
    'non-',
    'in',
    'not ',
    'dis',
  ]),
  reversals: either(
    at(/\b(?:[Ff]ix|[Pp]revent|[Cc]orrect|[Rr]esolve)(?:e[sd]|s|ed)?\b/g, () => [
      'Causes',
      'Adds',
      'Breaks',
      'Removes',
      'Ignores',
      'Shows',
    ]),
    at(/\b[Rr]emoved?\b/g, () => ['Adds', 'Allows', 'Keeps', 'Changes', 'Deprecates', 'Renames']),
    at(/\b[Rr]equired?\b/g, () => ['Allows', 'Supports', 'Offers', 'Removes', 'Prefers']),
    at(/\b(?:[Rr]educed?|less|lighter)\b/g, () => ['Raises', 'More', 'Increases', 'Doubles']),
    at(/\b(?:faster|[Ss]peed)\b/g, () => ['slower', 'slow', 'different']),
    at(/\b[Ll]imit(?:ed)?\b/g, () => ['Allow', 'Raise', 'unlimited']),
    at(/\b[Dd]eprecate[sd]?\b/g, () => ['Removes', 'Supports', 'Adds', 'Disables']),
    at(/\b(?:larger|newer)\b/g, () => ['smaller', 'older']),
    at(/\b[Dd]isabled\b/g, () => ['enabled', 'allowed', 'available']),
  ),
  directions: either(
    at(/\bfrom (\S+)/g, (found) => [
      found.replace('from', 'to'),
      found.replace('from', 'before'),
      found.replace('from', 'not'),
    ]),
    at(/\bto (?=[`\d])/g, () => ['from ', 'instead of ', 'before ', 'over ', 'without ']),
  ),
  'facts in each other’s place': (text) => {
    const facts = Array.from(text.matchAll(/`[^`]+`|(?<![\w.`])\d[\d.]*(?=[\s,]|$)/g));
    return facts.flatMap((one, index) =>
      facts.slice(index + 1).flatMap((other) => {
        const [a, b] = [one[0], other[0]];
        if (a === b || a.startsWith('`') !== b.startsWith('`')) return [];
        const middle = text.slice(one.index + a.length, other.index);
        const swapped = text.slice(0, one.index) + b + middle + a + text.slice(other.index + b.length);
        return { text: swapped, added: '' };
      }),
    );
  },
  'all and only': between(
    'only',
    'all',
    'any',
    'always',
    'every',
    'first',
    'last',
    'optional',
    'experimental',
    'partially',
    'sometimes',
  ),
  'spelled in lookalikes': at(/[aceopxyijsBHTM](?=[A-Za-z])/g, (letter) => [
    ...({
      a: 'аɑα',
      c: 'сϲ',
      e: 'еҽ',
      o: 'оοо',
      p: 'рρ',
      x: 'х',
      y: 'уʏ',
      i: 'іı',
      j: 'ј',
      s: 'ѕ',
      B: 'ΒВ',
      H: 'ΗН',
      T: 'ΤТ',
      M: 'ΜМ',
    }[letter] ?? ''),
  ]),
  'mathematical letters': at(/(?<![`\w])[a-z]{3,}/g, (word) => [
    [...word].map((letter) => String.fromCodePoint(0x1d41a + (letter.codePointAt(0) ?? 97) - 97)).join(''),
    [...word].map((letter) => String.fromCodePoint(0xff41 + (letter.codePointAt(0) ?? 97) - 97)).join(''),
  ]),
  'other languages': between('nicht', 'jamais', 'нет', '不', '없이', 'لا', 'sans', 'sin', 'ikke', 'ei'),
};
