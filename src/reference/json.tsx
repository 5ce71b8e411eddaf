/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChild } from 'preact';

// JSON for reading. Changes white space alone: every name and value stands as it was sent.

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/gs;

/** Characters that reorder the text around them. JSON can write them as escapes. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Further tokens have no color, because each takes an element. */
const MAX_COLORED = 5_000;

export function Json({ text }: { text: string }) {
  return <>{format(text)}</>;
}

function format(text: string): ComponentChild[] {
  const tokens = text.match(TOKEN) ?? [];
  const parts: ComponentChild[] = [];
  let plain = '';
  let depth = 0;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1] ?? '';
    const newLine = () => `\n${'  '.repeat(depth)}`;
    if (token === '{' || token === '[') {
      if (next !== '}' && next !== ']') depth++;
      plain += next === '}' || next === ']' ? token : token + newLine();
    } else if (token === '}' || token === ']') {
      const isEmpty = /[[{]$/.test(tokens[index - 1] ?? '');
      if (!isEmpty) depth--;
      plain += isEmpty ? token : newLine() + token;
    } else if (token === ',') plain += token + newLine();
    else if (token === ':') plain += ': ';
    else {
      const value = token.replaceAll(REORDERING, (each) => `\\u${each.charCodeAt(0).toString(16)}`);
      if (index > MAX_COLORED) plain += value;
      else {
        parts.push(plain, <span class={kindOf(token, next)}>{value}</span>);
        plain = '';
      }
    }
  });
  return [...parts, plain];
}

function kindOf(token: string, next: string): string {
  if (next === ':') return 'key';
  return token.startsWith('"') ? 'string' : 'literal';
}
