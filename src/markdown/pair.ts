import { PHRASING } from './html.ts';

/** A text that takes the place of a stretch of the source. */
export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** A tag that stays if its other half is found. */
export interface KeptTag {
  edit: Edit;
  name: string;
  isEnd: boolean;
  /** The block that it stands in: an index of `parents`. */
  scope: number;
}

/** Deeper than this, tags are dropped: browsers flatten what is nested deeper than some hundred levels. */
const MAX_OPEN = 40;

/** A list item in somebody else's list would end the item that holds the post, so these need their parent. */
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
 * Drops the tags that have no other half in the same paragraph, quote or list item, and closes elements where HTML
 * lets their end tags be left out. `parents` holds, for each scope, the one around it. Returns the end tags of
 * elements that are still open at the end of the text (scope 0).
 */
export function pairTags(tags: readonly KeptTag[], parents: readonly number[]): string[] {
  const open: KeptTag[] = [];
  for (const tag of tags) {
    for (let last = open.at(-1); last && !isWithin(tag.scope, last.scope, parents); last = open.at(-1)) {
      drop(last);
      open.pop();
    }
    if (tag.isEnd) close(tag, open);
    else start(tag, open);
  }
  const stays = (tag: KeptTag) => tag.scope === 0 && !PHRASING.has(tag.name);
  for (const tag of open) if (!stays(tag)) drop(tag);
  return open
    .filter(stays)
    .reverse()
    .map(({ name }) => `</${name}>`);
}

function start(tag: KeptTag, open: KeptTag[]): void {
  const parents = PARENTS[tag.name];
  const isMisplaced =
    parents !== undefined && !open.some(({ name, scope }) => scope === tag.scope && parents.includes(name));
  if (isMisplaced) {
    drop(tag);
    return;
  }
  const ends = ({ name, scope }: KeptTag) =>
    scope === tag.scope && ENDED_BY[name]?.includes(tag.name) === true;
  let closers = '';
  for (let last = open.at(-1); last !== undefined && ends(last); last = open.at(-1)) {
    closers += `</${last.name}>`;
    open.pop();
  }
  tag.edit.text = closers + tag.edit.text;
  if (open.length < MAX_OPEN) open.push(tag);
  else drop(tag);
}

function close(tag: KeptTag, open: KeptTag[]): void {
  const at = open.findLastIndex(({ name, scope }) => name === tag.name && scope === tag.scope);
  // An end tag of words must not end the blocks in which it stands.
  const crosses = PHRASING.has(tag.name) && open.slice(at + 1).some(({ name }) => !PHRASING.has(name));
  if (at === -1 || crosses) {
    drop(tag);
    return;
  }
  for (const inner of open.splice(at).slice(1)) {
    if (inner.name in ENDED_BY) tag.edit.text = `</${inner.name}>${tag.edit.text}`;
    else drop(inner);
  }
}

function drop({ edit }: KeptTag): void {
  edit.text = '';
}

function isWithin(scope: number, outer: number, parents: readonly number[]): boolean {
  let current: number | undefined = scope;
  while (current !== undefined && current > outer) current = parents[current];
  return current === outer;
}
