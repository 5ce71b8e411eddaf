import { BoundedMap } from '../lib/bounded-map.ts';
import { type Rendered, rendered } from './respond.ts';

/** The rough cost of a kept body beside its bytes: key, version, map entry. */
const OVERHEAD_BYTES = 1024;

interface Entry extends Rendered {
  version: string;
}

/**
 * Keeps bodies as sent, the most recently made ones up to `maxBytes` with their compressed forms. `version` is a text that
 * changes whenever the content of the body would. `level`: how much time compressing may take.
 */
export function keptBodies(maxBytes: number, level: 1 | 9 = 1) {
  const kept = new BoundedMap<string, Entry>(maxBytes);

  return {
    /** Whether there is a body, of any version. */
    has: (key: string): boolean => kept.get(key) !== undefined,
    /** The body, when it has this version. */
    find(key: string, version: string): Rendered | null {
      const entry = kept.get(key);
      return entry?.version === version ? entry : null;
    },
    /** Replaces the body of another version. */
    keep(key: string, version: string, body: Uint8Array<ArrayBuffer>): Rendered {
      const fresh: Entry = { ...rendered(body, (size) => kept.addWeight(key, fresh, size), level), version };
      kept.set(key, fresh, body.byteLength + OVERHEAD_BYTES);
      return fresh;
    },
  };
}
