import { expect, test } from 'bun:test';
import { expectLinear } from './growth.ts';

/** Work that grows too fast does so in each of them. */
const few = { tries: 2 };

const make = (size: number) => new Array<number>(size).fill(1);

function sum(numbers: readonly number[]): number {
  let total = 0;
  for (const each of numbers) for (let count = 0; count < 100; count++) total += Math.sqrt(each + count);
  return total;
}

test('linear work passes, and so does what is quick at its largest size', async () => {
  await expectLinear('sum', make, sum);
  await expectLinear(
    'small sum',
    make,
    (numbers) => numbers.slice(0, 60).map(() => sum(numbers.slice(0, 60))),
    {
      most: 2_000,
    },
  );
});

test.each([
  [
    'quadratic',
    (numbers: number[]) => numbers.reduce((total) => total + sum(numbers.slice(0, numbers.length / 50)), 0),
  ],
  [
    'of power 1.7',
    (numbers: number[]) => sum(new Array<number>(Math.round(numbers.length ** 1.7 / 100)).fill(1)),
  ],
])('%s work is found', async (name, work) => {
  await expect(expectLinear(name, make, work, few)).rejects.toThrow(`${name}: size `);
});

test('waits for work that takes several turns', async () => {
  const slow = async (numbers: readonly number[]) => {
    await Promise.resolve();
    return numbers.slice(0, 5000).map(() => sum(numbers.slice(0, numbers.length / 50)));
  };
  await expect(expectLinear('slow', make, slow, few)).rejects.toThrow('slow: size ');
});
