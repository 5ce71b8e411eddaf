import { expect, test } from 'bun:test';
import { createRenderQueue } from '../../src/readers/public/programs.ts';

test('pages are rendered one after the other, also after a failure', async () => {
  const inTurn = createRenderQueue();
  const steps: string[] = [];
  const work = (name: string) => async () => {
    steps.push(`${name} starts`);
    await Promise.resolve();
    steps.push(`${name} ends`);
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(work(name))));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(steps).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});

test('when too many wait, the next is refused', async () => {
  const inTurn = createRenderQueue(2);
  const { promise, resolve } = Promise.withResolvers<string>();
  const first = inTurn(() => promise);
  const second = inTurn(() => 'second');
  await expect(inTurn(() => 'third')).rejects.toMatchObject({ status: 503, isRefusal: true });
  resolve('first');
  expect(await Promise.all([first, second])).toEqual(['first', 'second']);
  expect(await inTurn(() => 'third')).toBe('third');
});
