/** Syncs of a file that end when the test says so. */
export function heldSyncs() {
  const running: PromiseWithResolvers<void>[] = [];
  const held = {
    /** How many have begun. */
    begun: 0,
    running: () => running.length,
    sync(): Promise<void> {
      held.begun++;
      const sync = Promise.withResolvers<void>();
      running.push(sync);
      return sync.promise;
    },
    /** Ends the sync that is running, with an error if there is one, and lets its work settle. */
    async finish(error?: Error): Promise<void> {
      const sync = running.shift();
      if (sync === undefined) throw new Error('no sync is running');
      if (error === undefined) sync.resolve();
      else sync.reject(error);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  return held;
}
