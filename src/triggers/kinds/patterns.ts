/** In a pattern `*` matches anything. Without patterns, true. */
export function fitsOne(patterns: readonly string[] | undefined, text: string): boolean {
  return patterns === undefined || patterns.some((pattern) => fits(pattern, text));
}

/** Takes time in proportion to the text: looks for each part once, from the end of the one before. */
function fits(pattern: string, text: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return text === first;
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const middle = text.slice(0, end);
  let from = first.length;
  for (const part of parts) {
    const at = middle.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}
