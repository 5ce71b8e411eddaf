import { type TagToken, type Token, TypeGuards } from 'liquidjs';

interface Explained {
  message: string;
  at: Token;
}

/** What LiquidJS says of a template that does not parse, by how it begins, and what a person understands. */
const explanations: [start: RegExp, explain: (token: Token) => string][] = [
  [/^output .* not closed$/s, () => '{{ is not closed: end it with }}, and close every quote in it'],
  [/^raw .* not closed$/s, () => '{% raw %} is not closed: add {% endraw %}'],
  [/^tag \{%.* not closed$/s, (token) => notClosed(token)],
  [/^tag .* not closed$/s, () => '{% is not closed: end it with %}'],
  [/^(invalid value expression|unexpected token)/, () => 'a value is missing here, such as a variable'],
  [/^expected "\|" before filter$/, (token) => notUnderstood(token)],
  [
    /^expected filter name$/,
    () => 'the name of a filter is missing after |, or write or between two conditions',
  ],
  [/^expected ":" after/, () => 'after the name of a filter comes a colon, as in | cut: 120'],
  [
    /^unexpected character/,
    () => 'the values of a filter are separated by commas, as in | replace: "a", "b"',
  ],
  [/^\[ not closed$/, () => '[ is not closed: end it with ]'],
  [/^invalid range syntax$/, () => 'round brackets are only for ranges, such as (1..3)'],
  [/^illegal (liquid )?tag syntax/, () => 'a tag needs a name, as in {% if release.name %}'],
  [/^expected (variable name|"=")$/, () => 'assign is written as {% assign name = value %}'],
  [/^invalid capture name$/, () => 'capture is written as {% capture name %}'],
  [/^illegal tag: /, () => 'for is written as {% for change in changes %}'],
  [/^unexpected elsif/, () => 'elsif comes before else'],
  [/^duplicated else$/, () => 'there can be only one else'],
  [/^unexpected "/, () => 'else and end tags stand alone: leave out what follows their name'],
  [/^empty candidates/, () => 'cycle needs values, as in {% cycle "odd", "even" %}'],
  [/^every line of an inline comment/, () => 'every line of a {% # comment %} begins with #'],
];

/** The message for an author, and the place that it is about, of what LiquidJS says. */
export function explainSyntax(said: string, token: Token): Explained {
  const message = said.replace(/, line:\d+, col:\d+$/, '');
  const found = explanations.find(([start]) => start.test(message));
  // LiquidJS points behind {% raw %}.
  const at = message.startsWith('raw ') ? openingOf(token) : token;
  return { message: found?.[1](token) ?? `it is not understood: ${message}`, at };
}

function notClosed(token: Token): string {
  const { name } = token as TagToken;
  return `{% ${name} %} is not closed: add {% end${name} %}`;
}

function notUnderstood(token: Token): string {
  const rest = token.input.slice(token.begin - 1, token.end).trimStart();
  const shown = /^\S{1,20}/.exec(rest)?.[0] ?? '';
  const instead = rest.startsWith('=')
    ? '=='
    : rest.startsWith('&')
      ? 'and'
      : rest.startsWith('|')
        ? 'or'
        : '';
  return `${shown} is not understood here${instead === '' ? '' : `: write ${instead}`}`;
}

function openingOf(token: Token): Token {
  if (TypeGuards.isTagToken(token)) return token;
  token.begin = Math.max(token.input.lastIndexOf('{%', token.begin - 1), 0);
  return token;
}
