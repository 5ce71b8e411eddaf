/** The most that Linear gives in a page. */
const PAGE_SIZE = 250;

interface Page<Node> {
  nodes: Node[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

/** Reads page after page until there are `limit` nodes or more; `isCut` when there are more than were read. */
export async function allPages<Node>(
  limit: number,
  read: (page: { first: number; after: string | null }) => Promise<Page<Node>>,
): Promise<{ nodes: Node[]; isCut: boolean }> {
  const nodes: Node[] = [];
  let after: string | null = null;
  // Bounded by pages too, for pages that are empty and yet promise more.
  for (let count = 0; count < Math.ceil(limit / PAGE_SIZE); count++) {
    const page: Page<Node> = await read({ first: PAGE_SIZE, after });
    nodes.push(...page.nodes);
    after = page.pageInfo.endCursor;
    if (!page.pageInfo.hasNextPage || after === null) return { nodes, isCut: false };
  }
  return { nodes, isCut: true };
}
