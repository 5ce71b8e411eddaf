import { expect, test } from 'bun:test';
import { letOthersIn, turns } from '../../src/lib/time.ts';

test('between two parts of long work, others get a turn to arrive and a whole one to themselves', async () => {
  const turn = turns();
  let parts = 0;
  let isDone = false;
  async function work(): Promise<void> {
    for (; parts < 20; parts++) {
      for (const end = performance.now() + 10; performance.now() < end; );
      await turn();
    }
    isDone = true;
  }
  /** The parts that were done at each turn. */
  const seen: number[] = [];
  void work();
  for (; !isDone; await letOthersIn()) seen.push(parts);
  const turnsOf = Map.groupBy(seen, (count) => count);
  for (let part = 1; part < 19; part++) expect(turnsOf.get(part)?.length).toBeGreaterThanOrEqual(3);
});
