import type { Material } from './model.ts';

// Addresses that no event tells, but that follow from those that it does.

/** The page of the repository on its code host: what the addresses of its commits, releases and so on begin with. */
export function repositoryUrl({ release, pushes, pullRequests }: Material): string | null {
  const urls = [
    release?.data.url,
    ...pullRequests.map(({ data }) => data.url),
    ...pushes.flatMap(({ data }) => [data.compareUrl, ...data.commits.map(({ url }) => url)]),
  ];
  for (const url of urls) {
    const found =
      url == null ? null : /^(https?:\/\/[^/]+\/[^/]+\/[^/]+)\/(releases|pull|compare|commit)\//.exec(url);
    if (found?.[1] !== undefined) return found[1];
  }
  return null;
}

/** All that came since the last release; null when there was none, as far as we know. */
export function compareUrl(material: Material): string | null {
  const { previousTag, release, branch } = material;
  const repository = repositoryUrl(material);
  const head = release?.data.tag ?? branch;
  if (repository === null || previousTag === null || head === null) return null;
  return `${repository}/compare/${inPath(previousTag)}...${inPath(head)}`;
}

/** The version that a tag names: `2.4.0` for `v2.4.0` and `@acme/rocket@2.4.0`; the tag itself when it names none. */
export function versionOf(tag: string): string {
  return /(?:^|[@_/-])v?(\d+(?:\.\d+){1,3}(?:[-+][0-9A-Za-z.+-]+)?)$/.exec(tag)?.[1] ?? tag;
}

function inPath(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/');
}
