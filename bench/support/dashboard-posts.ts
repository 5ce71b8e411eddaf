import { derivedId } from '../../src/lib/text.ts';
import type { Post } from '../../src/posts/model.ts';

// Posts whose words are as common and as rare as those of a language: the k-th word comes about once in k.

const VOCABULARY = 20_000;
const vocabulary = Array.from({ length: VOCABULARY }, (_, rank) => wordOf(rank));
const WORDS = 150;

/** In nearly every post. */
export const COMMON_WORD = wordOf(0);

export const RARE_WORD = 'kaleidoscope';

/** In none. */
export const NO_WORD = 'xylophones';

/** A post is a minute older than the last; every tenth is a draft, every fifth for LinkedIn. */
export function makePost(
  organizationId: string,
  index: number,
  deliveryId: string | undefined,
): Post & { organizationId: string } {
  const random = randomOf(index);
  const words = Array.from({ length: WORDS }, () => vocabulary[Math.floor(VOCABULARY ** random()) - 1] ?? '');
  if (index % 25_000 === 12_345) words.push(RARE_WORD);
  const lines = Array.from({ length: 10 }, (_, line) => words.slice(line * 15, line * 15 + 16).join(' '));
  const at = new Date(Date.UTC(2026, 0, 1) - index * 60_000).toISOString();
  return {
    id: derivedId('post', organizationId, String(index)),
    organizationId,
    title: `${words.slice(0, 6).join(' ')} ${index}`,
    markdown: `### Added\n\n${lines.map((line) => `- **${line}**\n`).join('')}`,
    content: `Added\n\n${lines.map((line) => `- ${line}\n`).join('')}`,
    contentType: index % 5 === 4 ? 'linkedin_post' : 'changelog',
    status: index % 10 === 3 ? 'draft' : 'published',
    sourceMetadata: { platform: 'github', repository: 'acme/rocket', ...(deliveryId ? { deliveryId } : {}) },
    createdAt: at,
    updatedAt: at,
  };
}

/** Of syllables, so that words share beginnings as those of a language do. */
function wordOf(rank: number): string {
  const random = randomOf(rank);
  const one = (letters: string) => letters[Math.floor(random() * letters.length)] ?? '';
  const syllables = 2 + Math.floor(random() * 3);
  return Array.from({ length: syllables }, () => one('bcdfghklmnprstvwz') + one('aeiou')).join('');
}

/** The same numbers in every run. */
function randomOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 2_654_435_761);
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
