import { parseTime } from '../../lib/time.ts';
import type { Post } from '../model.ts';

// Marks in front matter that say whether a post is public, as people write them for Jekyll, Hugo, Astro, and others. A mark
// that can't be read never publishes.

/** `scheduled`: a draft that is to be published at its date. */
export type Mark = Post['status'] | 'scheduled';

/** What a mark means where it is true. */
const MARKS: Readonly<Record<string, Post['status']>> = {
  draft: 'draft',
  isdraft: 'draft',
  unpublished: 'draft',
  hidden: 'draft',
  private: 'draft',
  unlisted: 'draft',
  published: 'published',
  ispublished: 'published',
  publish: 'published',
};

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  y: true,
  on: true,
  1: true,
  false: false,
  no: false,
  n: false,
  off: false,
  0: false,
};

const STATUSES: Readonly<Record<string, Mark>> = {
  draft: 'draft',
  scheduled: 'scheduled',
  future: 'scheduled',
  pending: 'draft',
  private: 'draft',
  hidden: 'draft',
  unpublished: 'draft',
  archived: 'draft',
  published: 'published',
  publish: 'published',
  public: 'published',
  live: 'published',
};

/** In characters. */
const MAX_WORD = 100;

/** What a field of front matter marks, or why it can't be read. Null: it is no mark. */
export function readMark(name: string, value: unknown): { mark: Mark } | { problem: string } | null {
  const key = plain(name);
  const word = plain(value);
  if (key === 'status') {
    const mark = lookUp(STATUSES, word);
    return mark === undefined ? { problem: 'must be draft or published' } : { mark };
  }
  const marked = lookUp(MARKS, key);
  if (marked === undefined) return null;
  // Some sites write the day of the publication here.
  if (marked === 'published' && typeof value === 'string' && parseTime(value) !== null) return null;
  const isTrue = lookUp(BOOLEANS, word);
  if (isTrue === undefined) return { problem: 'must be true or false' };
  const other = marked === 'draft' ? 'published' : 'draft';
  return { mark: isTrue ? marked : other };
}

/** Reads `Is-Draft`, `is_draft`, and `isDraft` alike. Aliases of YAML can repeat a long text many times. */
const plain = (text: unknown) =>
  typeof text === 'object' || (typeof text === 'string' && text.length > MAX_WORD)
    ? ''
    : String(text)
        .toLowerCase()
        .replaceAll(/[\s_-]/g, '');

function lookUp<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
