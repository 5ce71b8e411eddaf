import { PUBLISHED, type SeededPosts } from './seed.ts';

/** One kind of request to measure. */
export interface Case {
  name: string;
  /** Requested in turn. */
  paths: string[];
  headers?: Record<string, string>;
  /** True if the client revalidates a body that it has. */
  revalidates?: true;
}

export const LIST = 'list of 10 posts';

export function contentApiCases({ organizationId, postId }: SeededPosts): Case[] {
  const posts = `/v1/${organizationId}/posts`;
  return [
    { name: LIST, paths: [posts] },
    { name: 'list of 100 posts', paths: [`${posts}?limit=100`] },
    { name: 'one post', paths: [`${posts}/${postId}`] },
    { name: 'list of 10, known (304)', paths: [posts], revalidates: true },
    { name: 'list of about 10, any page', paths: everyPage(organizationId) },
  ];
}

/** Page sizes around 10. Small pages are more numerous, so the mean list has 9 posts. */
const LIMITS = Array.from({ length: 11 }, (_, index) => 5 + index);

/** Every page of these sizes in both directions: over 24,000 lists, near and far pages in turn. */
export function everyPage(organizationId: string): string[] {
  const paths: string[] = [];
  for (const limit of LIMITS) {
    for (let page = 1; page <= Math.floor(PUBLISHED / limit); page++) {
      const path = `/v1/${organizationId}/posts?limit=${limit}&page=${page}`;
      paths.push(path, `${path}&sort=asc`);
    }
  }
  return spread(paths);
}

/** In a fixed order in which neighbors end up far apart: steps of a prime that does not divide the length. */
function spread<Item>(items: Item[]): Item[] {
  return items.map((_, index) => items[(index * 7919) % items.length] as Item);
}
