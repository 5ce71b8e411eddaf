/** How many turns of the event loop others get while the work runs. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    if (isDone) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);
  try {
    await work();
  } finally {
    isDone = true;
  }
  return turns;
}
