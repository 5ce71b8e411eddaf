import { type Rendered, rendered } from './respond.ts';

/** The rough cost of a kept body beside its bytes: key, version, map entry. */
const OVERHEAD_BYTES = 1024;

interface Entry extends Rendered {
  version: string;
  keptBytes: number;
}

/**
 * Keeps bodies as sent, the most recently made ones up to `maxBytes` with their compressed forms. `version` is a text that
 * changes whenever the content of the body would. `level`: how much time compressing may take.
 */
export function keptBodies(maxBytes: number, level: 1 | 9 = 1) {
  const kept = new Map<string, Entry>();
  let keptBytes = 0;

  function drop(key: string): void {
    keptBytes -= kept.get(key)?.keptBytes ?? 0;
    kept.delete(key);
  }

  /** Counts bytes of a body, unless it was dropped meanwhile. */
  function count(key: string, entry: Entry, bytes: number): void {
    if (kept.get(key) !== entry) return;
    entry.keptBytes += bytes;
    keptBytes += bytes;
    // Drop the oldest first: a Map keeps its keys in the order of insertion.
    for (const oldest of kept.keys()) {
      if (keptBytes <= maxBytes) break;
      drop(oldest);
    }
  }

  return {
    /** The body, when it has this version. */
    find(key: string, version: string): Rendered | null {
      const entry = kept.get(key);
      return entry?.version === version ? entry : null;
    },
    /** Replaces the body of another version. */
    keep(key: string, version: string, body: Uint8Array<ArrayBuffer>): Rendered {
      const fresh: Entry = {
        ...rendered(body, (size) => count(key, fresh, size), level),
        version,
        keptBytes: 0,
      };
      drop(key);
      kept.set(key, fresh);
      count(key, fresh, body.byteLength + OVERHEAD_BYTES);
      return fresh;
    },
  };
}
