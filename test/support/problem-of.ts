import { expect } from 'bun:test';
import { inspect } from 'node:util';
import { ProviderProblem } from '../../src/providers/api.ts';

/** The problem that a call ends with. Checks that no way to print it shows any of the secrets. */
export async function problemOf(
  call: Promise<unknown>,
  secrets: readonly string[] = [],
): Promise<ProviderProblem> {
  const problem = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(problem instanceof ProviderProblem)) throw new Error('The call did not end with a problem');
  const written = [
    inspect(problem, { depth: Infinity, showHidden: true }),
    Bun.inspect(problem, { depth: 100 }),
    JSON.stringify(problem),
    String(problem.stack),
    inspect(problem.cause, { depth: Infinity, showHidden: true }),
  ];
  for (const secret of secrets) expect(written.filter((text) => text.includes(secret))).toEqual([]);
  return problem;
}
