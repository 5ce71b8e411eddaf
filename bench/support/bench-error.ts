/** An error that a person can fix, shown without a stack. */
export class BenchError extends Error {
  override readonly name = 'BenchError';
}
