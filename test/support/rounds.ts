import { testEngine } from './database.ts';

/**
 * How many random cases a property test runs: `short` in `bun run check`, `long` in `bun run check:long`. On PostgreSQL a
 * third of `short`, because `bun run check` runs the others on SQLite.
 */
export const rounds = (short: number, long: number): number => {
  if (Bun.env.TEST_ROUNDS === 'long') return long;
  return testEngine === 'postgres' ? Math.ceil(short / 3) : short;
};
