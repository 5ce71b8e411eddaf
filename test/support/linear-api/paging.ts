import { refusals } from './refusal.ts';

export interface Paging {
  first?: number | null;
  after?: string | null;
}

/** A page of a connection. The cursor of a node is its id. */
export function pageOf<Node extends { id?: string }>(all: readonly Node[], { first, after }: Paging) {
  const size = first ?? 50;
  if (size > 250) throw refusals.badArgument('first must not be greater than 250.');
  const last = after ? all.findIndex(({ id }) => id === after) : -1;
  if (after && last === -1) throw refusals.badArgument('after is no cursor of this list.');
  const start = last + 1;
  const nodes = all.slice(start, start + size);
  return {
    nodes,
    edges: nodes.map((node) => ({ node, cursor: node.id })),
    pageInfo: {
      hasNextPage: start + size < all.length,
      hasPreviousPage: start > 0,
      startCursor: nodes[0]?.id ?? null,
      endCursor: nodes.at(-1)?.id ?? null,
    },
  };
}
