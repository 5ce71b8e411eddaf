import { inlineMarkdown } from '../lib/markdown/plain-text.ts';
import type { Change } from './changes/groups.ts';
import type { Material } from './store.ts';

/** Pages by the label of their links: `#12`, `c02f9a6`, `ENG-412`. */
export type Addresses = ReadonlyMap<string, string>;

const ADDRESS = /https?:\/\/[^\s<>()[\]"'`]{1,500}/g;

/** The pages of a repository stand below its owner and its name, which may be words such as `pull`. */
const BELOW = String.raw`^https?:\/\/[^/?#]+(?:\/[^/?#]+){2,20}?`;
const NUMBERED = new RegExp(
  String.raw`${BELOW}\/(pulls?|issues|merge_requests|discussions)\/(\d{1,9})(?:[/?#]|$)`,
);
const COMMIT = new RegExp(String.raw`${BELOW}\/commit\/([0-9a-f]{7})[0-9a-f]{0,57}(?:[/?#]|$)`);
const ISSUE = /^https:\/\/linear\.app\/[^/]+\/issue\/([A-Z][A-Z0-9]{0,9}-\d{1,9})(?:[/?#]|$)/;

/** The label of the page of a pull request, an issue or a commit; null for other pages. GitLab writes `!12`. */
export function labelOfAddress(url: string): string | null {
  const [, kind, number] = NUMBERED.exec(url) ?? [];
  if (number === undefined) return (COMMIT.exec(url) ?? ISSUE.exec(url))?.[1] ?? null;
  return kind === 'merge_requests' ? `!${number}` : `#${number}`;
}

/** The pages that a text links to. Of several with one label the first. */
export function addressesIn(text: string): Addresses {
  const addresses = new Map<string, string>();
  for (const [url] of text.matchAll(ADDRESS)) {
    const clean = url.replace(/[.,;:!?*_~]{1,20}$/, '');
    const label = labelOfAddress(clean);
    if (label !== null && !addresses.has(label)) addresses.set(label, clean);
  }
  return addresses;
}

/** The part of an address after the repository. GitLab puts `/-/` before all of them. */
const PAGE = String.raw`\/(?:-\/|releases\/tag\/|pulls?\/\d|compare\/|commit\/[0-9a-f]{7})`;

/** The repository's page on its code host: the address of a page below it, up to its name. A server may be below a path. */
export function repositoryUrl(material: Material): string | null {
  if (material.repository === null) return null;
  const name = RegExp.escape(material.repository);
  const page = new RegExp(String.raw`^https?:\/\/[^/?#]+(?:\/[^?#]{1,500}?)??\/${name}(?=${PAGE})`);
  for (const url of urlsOf(material)) {
    const [found] = page.exec(url ?? '') ?? [];
    if (found !== undefined) return found;
  }
  return null;
}

function urlsOf({ release, pushes, pullRequests }: Material): (string | null | undefined)[] {
  return [
    release?.data.url,
    ...pullRequests.map(({ data }) => data.url),
    ...pushes.flatMap(({ data }) => [data.compareUrl, ...data.commits.map(({ url }) => url)]),
  ];
}

/** A comparison with the last release; null when no release is known. */
export function compareUrl(material: Material): string | null {
  const { previousTag, release, branch } = material;
  const repository = repositoryUrl(material);
  const head = release?.data.tag ?? branch;
  if (repository === null || previousTag === null || head === null) return null;
  const [from, to] = [previousTag, head].map((name) => name.split('/').map(encodeURIComponent).join('/'));
  const isGitlab = urlsOf(material).some((url) => url?.startsWith(`${repository}/-/`));
  return `${repository}${isGitlab ? '/-' : ''}/compare/${from}...${to}`;
}

/** The version in a tag: `2.4.0` for `v2.4.0` and `@acme/rocket@2.4.0`; the tag itself when it has none. */
export function versionOf(tag: string): string {
  return /(?:^|[@_/-])v?(\d+(?:\.\d+){1,3}(?:[-+][0-9A-Za-z.+-]+)?)$/.exec(tag)?.[1] ?? tag;
}

/** A change as the text of a list item, in Markdown: `**engine:** Quiet mode ([#12](https://…))`. */
export function changeLine(change: Change): string {
  const { text, markdown, scope, group, isBreaking, breakingNote, references } = change;
  // The note is followed by links, so its full stop goes.
  const note = breakingNote?.replace(/(?<![.])[.]$/, '') ?? null;
  const links = references.map(({ label, url }) =>
    url === null ? label : `[${inlineMarkdown(label)}](${inLink(url)})`,
  );
  return [
    isBreaking && !/^\W{0,3}breaking\b/i.test(markdown ?? '') ? '**Breaking:** ' : '',
    // Under the heading Security, a scope of that name is redundant.
    scope === null || scope.toLowerCase() === group.toLowerCase() ? '' : `**${inlineMarkdown(scope)}:** `,
    // Its first character must not begin a quote, a heading or a table in the list.
    markdown?.replace(/^[>#|]/, '\\$&') ?? inlineMarkdown(text),
    note === null || note === text ? '' : ` – ${inlineMarkdown(note)}`,
    links.length === 0 ? '' : ` (${links.join(', ')})`,
  ].join('');
}

/** Encodes the characters that could end the link early. */
export function inLink(url: string): string {
  return url.replaceAll(/[()<>\\]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
