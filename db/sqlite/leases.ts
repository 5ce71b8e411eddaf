import { afterCommit, type Lease } from '../engine.ts';

/** Leases within this process. There is one server on a file at a time, so it need not tell others of them. */
export function createLeases(): (names: readonly string[]) => Promise<Lease | null> {
  const held = new Set<string>();
  let fence = 0;
  return async (names) => {
    const name = names.find((each) => !held.has(each));
    if (name === undefined) return null;
    held.add(name);
    let isHeld = true;
    const release = () => {
      if (isHeld) held.delete(name);
      isHeld = false;
    };
    return {
      name,
      fence: ++fence,
      isHeld: () => isHeld,
      releaseIn: (tx) => afterCommit(tx, release),
      release: async () => release(),
    };
  };
}
