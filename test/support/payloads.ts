import {
  type EventResult,
  MalformedPayload,
  type Provider,
  parseEvent,
} from '../../src/providers/provider.ts';

export type Payload = Record<string, unknown>;

/** A provider's result for an event's payload. */
export function readEvent(provider: Provider, event: string, payload: Payload): EventResult {
  return parseEvent(provider, event, payload);
}

/** The problem of a payload, or null. */
export function refusalOf(provider: Provider, event: string, payload: Payload): string | null {
  try {
    readEvent(provider, event, payload);
    return null;
  } catch (error) {
    if (error instanceof MalformedPayload) return error.message;
    throw error;
  }
}

/**
 * A copy with some fields set, by their paths with dots; a field set to undefined is taken out. Another tag makes another
 * release, unless its id is given too.
 */
export function changed(payload: Payload, changes: Record<string, unknown>): Payload {
  const copy = structuredClone(payload);
  const tag = changes['release.tag_name'] ?? changes.tag;
  const release = tag === changes.tag ? copy : (copy.release as Payload);
  if (typeof tag === 'string' && typeof release.id === 'number') release.id = Bun.hash.crc32(tag);
  for (const [path, value] of Object.entries(changes)) {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    const parent = steps.reduce((at, step) => at[step] as Payload, copy);
    if (value === undefined) delete parent[last];
    else parent[last] = value;
  }
  return copy;
}
