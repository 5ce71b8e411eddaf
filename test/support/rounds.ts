/** How many random cases a property test runs: `short` in `bun run check`, `long` in `bun run check:long`. */
export const rounds = (short: number, long: number): number =>
  Bun.env.TEST_ROUNDS === 'long' ? long : short;
