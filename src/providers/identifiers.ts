// The issues of a tracker that a commit or a pull request names, such as ENG-412. Which of them exist only the tracker
// knows: a branch `fix-12` looks the same.

/** Of one commit or pull request. */
const MAX_IDENTIFIERS = 20;

/** How much of a description to search, in characters. */
const MAX_TEXT_LENGTH = 50_000;

const IDENTIFIER = /(?<![A-Za-z0-9-])[A-Za-z][A-Za-z0-9]{0,9}-\d{1,6}(?![A-Za-z0-9])/g;
const CAPITALS = /(?<![A-Za-z0-9-])[A-Z][A-Z0-9]{0,9}-\d{1,6}(?![A-Za-z0-9])/g;

/** Every identifier has it, and most texts do not. */
const HYPHENATED = /-\d/;

/** The words with which Linear, GitHub and GitLab link an issue, and the issues that follow. */
const LINKED =
  /\b(?:close[sd]?|closing|fix(?:e[sd])?|fixing|resolve[sd]?|resolving|complete[sd]?|completing|implement(?:s|ed)?|implementing|refs?|references|part of|related to|relates to|contributes to|towards?):?\s{1,5}((?:(?:https?:\/\/\S{1,300}|#?[A-Za-z0-9-]{1,20})(?:\s{0,3}(?:,|&|\band\b)\s{0,3})?){1,20})/gi;

/** An issue's page. Linear writes it into the description of a pull request. */
const PAGE = /\bhttps:\/\/linear\.app\/[^/\s]{1,100}\/issue\/([A-Z][A-Z0-9]{0,9}-\d{1,6})\b/g;

/** The page of a pull request at GitHub, GitLab or Forgejo, with or without what follows its number. */
const REQUEST = /^https?:\/\/[^\s?#]{1,1000}?\/(?:pulls?|merge_requests)\/(\d{1,9})(?=[/?#]|$)/i;

/** The pull request at an address, which is written in one way; null for another page. */
export function requestAt(url: string): { url: string; number: number } | null {
  const [page, number] = REQUEST.exec(url) ?? [];
  return page === undefined ? null : { url: page.toLowerCase(), number: Number(number) };
}

/**
 * In capitals, each once: those in the name of the branch, then those of the title, then those that the text links. A
 * text that only mentions an issue does not link it.
 */
export function identifiersIn(named: {
  branch?: string | null;
  title: string;
  text?: string | null;
}): string[] {
  const text = (named.text ?? '').slice(0, MAX_TEXT_LENGTH);
  if (![named.branch ?? '', named.title, text].some((each) => HYPHENATED.test(each))) return [];
  const found = [
    ...matchesOf(IDENTIFIER, (named.branch ?? '').replaceAll(/[/_.]/g, ' ')),
    ...matchesOf(CAPITALS, named.title.slice(0, 1_000)),
    ...Array.from(text.matchAll(LINKED), ([, list = '']) => matchesOf(IDENTIFIER, withoutPages(list))).flat(),
    ...Array.from(text.matchAll(PAGE), ([, identifier = '']) => identifier),
  ];
  return [...new Set(found.map((each) => each.toUpperCase()))].slice(0, MAX_IDENTIFIERS);
}

/** The same as the field of an event, absent for none. */
export function namesIn(named: Parameters<typeof identifiersIn>[0]): { identifiers?: string[] } {
  const identifiers = identifiersIn(named);
  return identifiers.length > 0 ? { identifiers } : {};
}

const matchesOf = (pattern: RegExp, text: string) => Array.from(text.matchAll(pattern), ([match]) => match);

const withoutPages = (text: string) => text.replaceAll(/https?:\/\/\S+/g, ' ');
