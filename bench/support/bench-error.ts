/** What a person can mend, or must know before trusting a figure. Shown without a stack. */
export class BenchError extends Error {
  override readonly name = 'BenchError';
}
