/** The pages that a text links to, by the label that they go by: `#12`, `c02f9a6`, `ENG-412`. */
export type Addresses = ReadonlyMap<string, string>;

const ADDRESS = /https?:\/\/[^\s<>()[\]"'`]{1,500}/g;

const PAGES: [RegExp, (name: string) => string][] = [
  [/\/(?:pull|pulls|issues|merge_requests|discussions)\/(\d{1,9})(?:[/?#]|$)/, (number) => `#${number}`],
  [/\/commit\/([0-9a-f]{7,40})(?:[/?#]|$)/, (sha) => sha.slice(0, 7)],
  [
    /^https:\/\/linear\.app\/[^/]+\/issue\/([A-Z][A-Z0-9]{0,9}-\d{1,9})(?:[/?#]|$)/,
    (identifier) => identifier,
  ],
];

/** The label that a page of a pull request, an issue or a commit goes by; null for other pages. */
export function labelOfAddress(url: string): string | null {
  for (const [pattern, labelOf] of PAGES) {
    const name = pattern.exec(url)?.[1];
    if (name !== undefined) return labelOf(name);
  }
  return null;
}

/** The pages that stand anywhere in a text. Of several with one label the first. */
export function addressesIn(text: string): Addresses {
  const addresses = new Map<string, string>();
  for (const [url] of text.matchAll(ADDRESS)) {
    const clean = url.replace(/[.,;:!?*_~]{1,20}$/, '');
    const label = labelOfAddress(clean);
    if (label !== null && !addresses.has(label)) addresses.set(label, clean);
  }
  return addresses;
}
