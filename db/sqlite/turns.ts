/** Lets one piece of work at a time use the connection. Each calls `enter`, and `leave` when it is done. */
export function createTurns() {
  const waiting: (() => void)[] = [];
  /** The number of the present work; 0 when idle. */
  let present = 0;
  let count = 0;

  /** Null: idle, the work begins at once. Rejects when the present work is stuck. */
  function enter(): Promise<void> | null {
    if (present === 0) {
      present = ++count;
      return null;
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        present = ++count;
        resolve();
      };
      waiting.push(begin);
      whenStuck((error) => {
        const at = waiting.indexOf(begin);
        if (at === -1) return;
        waiting.splice(at, 1);
        reject(error);
      });
    });
  }

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) present = 0;
    else next();
  }

  /**
   * Calls `refuse` when the present work is still running in the next turn of the event loop. It waits for something
   * other than a store then, such as a read or write inside another one, which would wait for itself forever.
   */
  function whenStuck(refuse: (error: Error) => void): void {
    const watched = present;
    if (watched === 0) return;
    setImmediate(() => {
      if (present === watched)
        refuse(new Error('a body of read or write waits for something other than a store'));
    });
  }

  return { enter, leave, whenStuck, areIdle: () => present === 0 };
}

export type Turns = ReturnType<typeof createTurns>;
