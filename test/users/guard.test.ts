import { expect, test } from 'bun:test';
import { AppError } from '../../src/lib/app-error.ts';
import { createGuard } from '../../src/users/guard.ts';
import { createTestApp } from '../support/test-app.ts';

test('the guard remembers ten thousand sources, and forgets the one that was used longest ago', () => {
  const guard = createGuard(createTestApp().deps);
  const isFree = (source: string) => {
    try {
      guard.count(source);
      return true;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return false;
    }
  };
  for (let attempt = 0; attempt < 5; attempt++) guard.count('first');
  guard.count('second');
  for (let other = 0; other < 9_998; other++) guard.count(`other ${other}`);
  expect(isFree('first')).toBe(false);
  guard.count('one more');
  expect(isFree('first')).toBe(true);
});
