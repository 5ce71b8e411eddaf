import { type Cursor, isRule } from './containers.ts';
import { htmlStart } from './html-blocks.ts';

/** Whether a line that could go on with a paragraph begins something else. */
export function interrupts({ rest, indent }: Cursor): boolean {
  if (indent > 3) return false;
  if (isFence(rest) !== null || isHeading(rest) || isRule(rest)) return true;
  return htmlStart(rest, true) !== null || /^<(?:\?|!--|!\[CDATA\[|![a-z])/i.test(rest);
}

/** Whether a line makes a heading of the paragraph above it. */
export function isUnderline(content: string): boolean {
  return /^(?:=+|-+)[ \t]*$/.test(content);
}

export function isHeading(rest: string): boolean {
  return /^#{1,6}(?:[ \t]|$)/.test(rest);
}

/** The run of a fence that a line begins, or null. */
export function isFence(rest: string): { marker: string; length: number } | null {
  const [run] = /^(?:`{3,}(?=[^`]*$)|~{3,})/.exec(rest) ?? [];
  return run === undefined ? null : { marker: run.charAt(0), length: run.length };
}
