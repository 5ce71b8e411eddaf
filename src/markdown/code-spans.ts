/** Where code spans end, asked from the beginning of a text to its end. */
export class CodeSpans {
  private readonly runs: Map<number, number[]>;

  constructor(
    private readonly text: string,
    /** In a table, a span ends with its cell. */
    private readonly isTable: boolean,
  ) {
    const runs = Map.groupBy(text.matchAll(/`+/g), ([run]) => run.length);
    this.runs = new Map(
      Array.from(runs, ([length, matches]) => [length, matches.map(({ index }) => index).reverse()]),
    );
  }

  /** How long the run of backticks at `at` is, and where the span ends that it begins; null when it begins none. */
  read(at: number): { length: number; end: number | null } {
    let length = 0;
    while (this.text[at + length] === '`') length++;
    const positions = this.runs.get(length) ?? [];
    while ((positions.at(-1) ?? Number.POSITIVE_INFINITY) <= at) positions.pop();
    const close = positions.at(-1);
    if (close === undefined) return { length, end: null };
    const isCut = this.isTable && /(?<!\\)\||\n/.test(this.text.slice(at, close));
    return { length, end: isCut ? null : close + length };
  }
}
