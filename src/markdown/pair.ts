import { PHRASING } from './html.ts';
import type { KeptTag, Pieces } from './pieces.ts';

/** Deeper than this, tags are dropped: browsers flatten what is nested deeper than some hundred levels. */
const MAX_OPEN = 40;

/** What an element must stand in: a list item in somebody else's list would end the item that holds the post. */
const PARENTS: Record<string, readonly string[]> = {
  li: ['ul', 'ol'],
  dt: ['dl'],
  dd: ['dl'],
  caption: ['table'],
  thead: ['table'],
  tbody: ['table'],
  tfoot: ['table'],
  tr: ['table'],
  th: ['tr'],
  td: ['tr'],
};

/** Elements whose end tags may be left out, and the start tags before which they end. */
const ENDED_BY: Record<string, readonly string[]> = {
  li: ['li'],
  dt: ['dt', 'dd'],
  dd: ['dt', 'dd'],
  p: ['p'],
  th: ['th', 'td', 'tr', 'tbody', 'tfoot'],
  td: ['th', 'td', 'tr', 'tbody', 'tfoot'],
  tr: ['tr', 'tbody', 'tfoot'],
  thead: ['tbody', 'tfoot'],
  tbody: ['tbody', 'tfoot'],
};

/**
 * Leaves only tags that have their other half within the same paragraph, or within the same quote or list item. A
 * tag without one is taken out; elements of the whole text that stay open are closed at its end.
 */
export function pairTags(pieces: Pieces, scopes: readonly number[]): void {
  const open: KeptTag[] = [];
  const drop = (tag: KeptTag | undefined) => tag !== undefined && pieces.set(tag.at, tag.unpaired);
  for (const tag of pieces.tags) {
    while (open.length > 0 && !isWithin(tag.scope, open.at(-1)?.scope ?? 0, scopes)) drop(open.pop());
    if (tag.isEnd) end(tag, open, pieces, drop);
    else start(tag, open, pieces, drop);
  }
  closeAtEnd(open, pieces, drop);
}

type Drop = (tag: KeptTag | undefined) => void;

function start(tag: KeptTag, open: KeptTag[], pieces: Pieces, drop: Drop): void {
  const parents = PARENTS[tag.name];
  if (
    parents !== undefined &&
    !open.some(({ name, scope }) => scope === tag.scope && parents.includes(name))
  ) {
    drop(tag);
    return;
  }
  let closers = '';
  for (
    let last = open.at(-1);
    last?.scope === tag.scope && isEndedBy(last.name, tag.name);
    last = open.at(-1)
  ) {
    closers += `</${last.name}>`;
    open.pop();
  }
  if (closers !== '') pieces.putBefore(tag.at, closers);
  if (open.length < MAX_OPEN) open.push(tag);
  else drop(tag);
}

function isEndedBy(name: string, next: string): boolean {
  return ENDED_BY[name]?.includes(next) ?? false;
}

function end(tag: KeptTag, open: KeptTag[], pieces: Pieces, drop: Drop): void {
  const at = open.findLastIndex(({ name, scope }) => name === tag.name && scope === tag.scope);
  // An end tag of words must not end the blocks in which it stands.
  const crosses = PHRASING.has(tag.name) && open.slice(at + 1).some(({ name }) => !PHRASING.has(name));
  if (at === -1 || crosses) {
    drop(tag);
    return;
  }
  let closers = '';
  for (const inner of open.splice(at).slice(1).reverse()) {
    if (inner.name in ENDED_BY) closers += `</${inner.name}>`;
    else drop(inner);
  }
  if (closers !== '') pieces.putBefore(tag.at, closers);
}

function closeAtEnd(open: KeptTag[], pieces: Pieces, drop: Drop): void {
  const stays = (tag: KeptTag) => tag.scope === 0 && !PHRASING.has(tag.name);
  for (const tag of open) if (!stays(tag)) drop(tag);
  const closers = open.filter(stays).reverse();
  if (closers.length > 0) pieces.add(`\n\n${closers.map(({ name }) => `</${name}>`).join('\n')}`);
}

/** Whether a scope is another one, or in it. */
function isWithin(scope: number, outer: number, parents: readonly number[]): boolean {
  let current: number | undefined = scope;
  while (current !== undefined && current > outer) current = parents[current];
  return current === outer;
}
