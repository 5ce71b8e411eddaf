import { render, table as tableBlock } from '../../src/cli/output.ts';

/** A table at its full width, without color. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const look = { width: Number.POSITIVE_INFINITY, hasColor: false, hasSymbols: true };
  return render(look, tableBlock(headings, rows));
}
