/** A time limit that passes when the thread says that it is stuck, however fast the machine is. */
export function limitOfStuckThreads() {
  const channel = new BroadcastChannel('odd-thread');
  const limits = new Set<() => void>();
  channel.onmessage = () => {
    for (const run of limits) run();
  };
  return {
    after(_ms: number, run: () => void) {
      limits.add(run);
      return () => void limits.delete(run);
    },
    [Symbol.dispose]: () => channel.close(),
  };
}
