/** A page of a list, as Octokit's `paginate.iterator` gives it. */
interface Page {
  data: unknown;
  headers: object & { link?: string | undefined };
}

/**
 * Hands over page after page, until `take` says that it wants no more, `maxPages` were read or `listingMs` have passed.
 * `isCut` when GitHub has more that was wanted.
 */
export async function eachPage(
  pages: AsyncIterable<Page>,
  { maxPages, listingMs }: { maxPages: number; listingMs: number },
  take: (page: Page) => boolean,
): Promise<{ isCut: boolean }> {
  const startedAt = performance.now();
  let count = 0;
  for await (const page of pages) {
    count++;
    if (!take(page)) return { isCut: false };
    const hasMore = page.headers.link?.includes('rel="next"') ?? false;
    if (count >= maxPages || performance.now() - startedAt > listingMs) return { isCut: hasMore };
  }
  return { isCut: false };
}
