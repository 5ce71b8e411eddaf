import { nodeId } from './account.ts';

/** A label of the repository, as issues and pull requests hold it. */
export function sampleLabel(apiUrl: string, name: string, color: string): Record<string, unknown> {
  const id = 3_900_100_000 + name.length;
  return {
    id,
    node_id: nodeId('Label', id),
    url: `${apiUrl}/labels/${name}`,
    name,
    color,
    default: true,
    description: null,
  };
}
