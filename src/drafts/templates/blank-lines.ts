/** Markdown with at most one empty line at a time, without white space around it. What is in fenced code stays. */
export function collapseBlankLines(markdown: string): string {
  const lines: string[] = [];
  let fence = '';
  let isAfterBlank = false;
  for (const line of markdown.replaceAll(/\r\n?/g, '\n').split('\n')) {
    const isBlank = fence === '' && line.trim() === '';
    if (!isBlank) lines.push(line);
    else if (!isAfterBlank) lines.push('');
    isAfterBlank = isBlank;
    fence = fenceAfter(line, fence);
  }
  return lines.join('\n').trim();
}

/** The fence that is open after a line: its characters, such as three backticks, or nothing. */
function fenceAfter(line: string, open: string): string {
  // In lists and quotes too. Code that only looks like a fence costs nothing but empty lines that stay.
  const start = /^[\s>*+-]*(?:\d{1,9}[.)])?\s*/.exec(line)?.[0].length ?? 0;
  const char = line[start];
  if (char !== '`' && char !== '~') return open;
  let end = start;
  while (line[end] === char) end += 1;
  const fence = line.slice(start, end);
  const rest = line.slice(end);
  if (open !== '') return fence.startsWith(open) && rest.trim() === '' ? '' : open;
  const isFence = fence.length >= 3 && !(char === '`' && rest.includes('`'));
  return isFence ? fence : '';
}
