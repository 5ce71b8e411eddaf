import { samplePayload } from '../../../src/providers/index.ts';

// Objects of GitHub, as the samples have them.

/** GitHub's opaque ids: base64 of a kind and a number, in their older form. */
export function nodeId(kind: string, id: number): string {
  return btoa(`0${kind.length}:${kind}${id}`);
}

/** By name and time. Nearly every object of GitHub has one, and filling a sample in takes longer than all else here. */
const repositories = new Map<string, Record<string, unknown>>();

/** A repository with its owner. `name` is `owner/name`. */
export function sampleRepository(name: string, now = new Date(0)): Record<string, unknown> {
  const key = `${name} ${now.getTime()}`;
  const known =
    repositories.get(key) ?? samplePayload('github', 'ping', { repository: name, now })?.repository;
  repositories.set(key, known as Record<string, unknown>);
  return { ...(known as Record<string, unknown>) };
}

export function sampleAccount(login: string, id: number): Record<string, unknown> {
  const owner = sampleRepository(`${login}/x`).owner as Record<string, unknown>;
  const avatar_url = `https://avatars.githubusercontent.com/u/${id}?v=4`;
  return { ...owner, id, node_id: nodeId('User', id), avatar_url };
}

export function sampleLabel(apiUrl: string, name: string, color: string): Record<string, unknown> {
  const id = 3_900_100_000 + name.length;
  const url = `${apiUrl}/labels/${name}`;
  return { id, node_id: nodeId('Label', id), url, name, color, default: true, description: null };
}
