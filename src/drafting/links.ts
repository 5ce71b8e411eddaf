import { inlineMarkdown } from '../lib/markdown/plain-text.ts';
import type { Change } from './changes/groups.ts';
import type { Material } from './store.ts';

/** Pages by the label of their links: `#12`, `c02f9a6`, `ENG-412`. */
export type Addresses = ReadonlyMap<string, string>;

const ADDRESS = /https?:\/\/[^\s<>()[\]"'`]{1,500}/g;

const NUMBERED = /\/(pull|pulls|issues|merge_requests|discussions)\/(\d{1,9})(?:[/?#]|$)/;
const COMMIT = /\/commit\/([0-9a-f]{7})[0-9a-f]{0,33}(?:[/?#]|$)/;
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

/**
 * GitLab has groups in groups, and `/-/` before the pages of a project. A server may be below a path of its host, and a
 * repository may be named as one of these pages.
 */
const PAGE =
  /^(https?:\/\/[^/?#]+\/(?:[^?#]{1,500}?(?=\/-\/)|[^?#]{1,500}?\/[^/?#]+(?=\/(?:releases\/tag\/|pulls?\/\d{1,9}(?:[/?#]|$)|compare\/[0-9a-f]{7,64}\^?\.{2,3}|commit\/[0-9a-f]{7,64}(?:[/?#]|$)))))\//;

/** The repository's page on its code host, derived from the addresses of its commits, releases and pull requests. */
export function repositoryUrl(material: Material): string | null {
  return (
    urlsOf(material)
      .map((url) => PAGE.exec(url ?? '')?.[1])
      .find((url) => url !== undefined) ?? null
  );
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
export function changeLine({ text, scope, group, isBreaking, breakingNote, references }: Change): string {
  // The note is followed by links, so its full stop goes.
  const note = breakingNote?.replace(/(?<![.])[.]$/, '') ?? null;
  const links = references.map(({ label, url }) =>
    url === null ? label : `[${inlineMarkdown(label)}](${inLink(url)})`,
  );
  return [
    isBreaking ? '**Breaking:** ' : '',
    // Under the heading Security, a scope of that name is redundant.
    scope === null || scope.toLowerCase() === group.toLowerCase() ? '' : `**${inlineMarkdown(scope)}:** `,
    inlineMarkdown(text),
    note === null || note === text ? '' : ` – ${inlineMarkdown(note)}`,
    links.length === 0 ? '' : ` (${links.join(', ')})`,
  ].join('');
}

/** Encodes the characters that could end the link early. */
function inLink(url: string): string {
  return url.replaceAll(/[()<>\\]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
