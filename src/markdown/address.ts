const SAFE_SCHEMES = new Set(['http', 'https', 'mailto']);

/** The entities that could hide a scheme's letters, its colon, or the white space that browsers ignore in it. */
const ENTITY = /&(?:#(\d{1,7});?|#x([0-9a-f]{1,6});?|(colon|Tab|NewLine|amp|quot|lt|gt|apos);)/gi;
const NAMED: Record<string, string> = {
  colon: ':',
  tab: '\t',
  newline: '\n',
  amp: '&',
  quot: '"',
  lt: '<',
  gt: '>',
  apos: "'",
};

/** Numeric entities and the few named ones that matter in an address, as the characters that they stand for. */
export function decodeEntities(text: string): string {
  return text.replaceAll(ENTITY, (_, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? '';
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** Whether a link may lead there: http, https, mailto, or an address relative to the page. */
export function isSafeAddress(address: string): boolean {
  const plain = decodeEntities(address).replaceAll(/[\s\p{Cc}\p{Cf}]/gu, '');
  const scheme = /^[^/?#:]*(?=:)/.exec(plain)?.[0];
  return scheme === undefined || SAFE_SCHEMES.has(scheme.toLowerCase());
}

/** Whether it is a whole address of the web, as an image or a link from raw HTML must have. */
export function isWebAddress(address: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(address);
}

/** An address as a link's destination in Markdown, with what Markdown or HTML would read in it percent-encoded. */
export function toDestination(address: string): string {
  return address
    .replaceAll(/[\s<>()\\`"'*[\]|]/g, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code < 0x80 ? `%${code.toString(16).toUpperCase().padStart(2, '0')}` : encodeURI(character);
    })
    .replaceAll(/&(?=#|[a-z][a-z\d]*;)/gi, '&amp;');
}
