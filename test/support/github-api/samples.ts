import { github } from '../../../src/providers/github/provider.ts';
import type { Payload } from '../../../src/providers/provider.ts';
import { fillSample } from '../../../src/providers/samples.ts';

// GitHub's repositories, accounts and labels, as the samples have them.

const { parts } = github.samples;

/** GitHub's opaque ids: base64 of a kind and a number, in their older form. */
export const nodeId = (kind: string, id: number): string => btoa(`0${kind.length}:${kind}${id}`);

export function sampleAccount(login: string, id: number): Payload {
  const owner = fillSample({ parts, events: parts }, 'owner', { repository: `${login}/-`, now: new Date(0) });
  const avatar_url = `https://avatars.githubusercontent.com/u/${id}?v=4`;
  return { ...owner, id, node_id: nodeId('User', id), avatar_url };
}

export const sampleRepository = (repository: string, now: Date): Payload =>
  fillSample({ parts, events: parts }, 'repository', { repository, now });

export function sampleLabel(apiUrl: string, name: string, color: string): Payload {
  const id = 3_900_100_000 + name.length;
  const url = `${apiUrl}/labels/${name}`;
  return { id, node_id: nodeId('Label', id), url, name, color, default: true, description: null };
}
