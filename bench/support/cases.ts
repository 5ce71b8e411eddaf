import { PUBLISHED, type SeededPosts } from './seed.ts';

/** One kind of request to measure. */
export interface Case {
  name: string;
  /** Asked for in turn. */
  paths: string[];
  /** True if the client revalidates a body that it has. */
  revalidates?: true;
}

export function contentApiCases({ organizationId, postId }: SeededPosts): Case[] {
  const posts = `/v1/${organizationId}/posts`;
  return [
    { name: 'list of 10 posts', paths: [posts] },
    { name: 'list of 100 posts', paths: [`${posts}?limit=100`] },
    { name: 'one post', paths: [`${posts}/${postId}`] },
    { name: 'list of 10, known (304)', paths: [posts], revalidates: true },
    { name: 'list of about 10, any page', paths: everyPage(organizationId) },
  ];
}

/** Every page of three sizes around 10, spread so that near and far pages take turns. */
export function everyPage(organizationId: string): string[] {
  const pages = Math.floor(PUBLISHED / 11);
  const paths: string[] = [];
  for (let page = 1; page <= pages; page++) {
    for (const limit of [9, 10, 11]) paths.push(`/v1/${organizationId}/posts?limit=${limit}&page=${page}`);
  }
  return spread(paths);
}

/** In a fixed order in which neighbours end up far apart: steps of a prime that does not divide the length. */
function spread<Item>(items: Item[]): Item[] {
  return items.map((_, index) => items[(index * 7919) % items.length] as Item);
}
