/**
 * Loads a value at the first call and keeps it. Calls that come meanwhile share the load. A failed one is forgotten, so
 * that the next call tries again: from source, a module cannot be read while the process is out of file descriptors.
 */
export function lazily<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}
