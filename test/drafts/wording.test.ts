import { describe, expect, test } from 'bun:test';
import { sampleMaterial } from '../../src/drafting/check.ts';
import { composeDraft } from '../../src/drafting/compose.ts';
import { changeLine } from '../../src/drafting/links.ts';
import type { Material, Recipe } from '../../src/drafting/store.ts';
import { variablesOf } from '../../src/drafting/variables.ts';
import type { Commit } from '../../src/providers/events.ts';
import { change, commit } from './changes/samples.ts';

// How built-in drafts read, where a month of them (test/triggers/month.test.ts) does not show it.

describe('the line of a change', () => {
  test.each([
    ['ends without a full stop', { breakingNote: 'Call it first.' }, 'X – Call it first'],
    ['keeps an ellipsis', { breakingNote: 'And so on...' }, 'X – And so on...'],
    ['says nothing twice', { breakingNote: 'X.' }, 'X'],
    ['names its scope', { scope: 'security' }, '**security:** X'],
    ['does not repeat its heading', { scope: 'security', group: 'Security' as const }, 'X'],
    [
      'names each reference',
      {
        references: [
          { label: '#1', url: null },
          { label: 'a', url: 'https://x.test/(a)' },
        ],
      },
      'X (#1, [a](https://x.test/%28a%29))',
    ],
  ])('%s', (_, given, line) => {
    expect(changeLine(change(given))).toBe(line);
  });
});

/** Material of one push to a branch. */
function pushed(...commits: Partial<Commit>[]): Material {
  const { pushes, ...sample } = sampleMaterial('push');
  const [push] = pushes;
  if (push === undefined) throw new Error('the sample has no push');
  const data = { ...push.data, commits: commits.map(commit) };
  return { ...sample, release: null, pullRequests: [], pushes: [{ ...push, data }] };
}

test('a repeated change is one line with both references, and is counted once', () => {
  const same = { subject: 'fix: a leak' };
  const material = pushed(
    { ...same, sha: 'a'.repeat(40) },
    { ...same, sha: 'b'.repeat(40), breaking: 'Why' },
  );
  const { groups, changes, moreCount } = variablesOf(material);
  const line = '**Breaking:** A leak – Why (aaaaaaa, bbbbbbb)';
  expect(changes).toMatchObject([{ line }]);
  expect(groups).toMatchObject([{ name: 'Fixed', changes: [{ line }] }]);
  expect(moreCount).toBe(0);
});

const recipe = (event: Recipe['event']): Recipe => ({
  triggerId: 'trg_1',
  platform: 'github',
  event,
  contentType: 'linkedin_post',
  titleTemplate: null,
  bodyTemplate: null,
});

describe('the LinkedIn post of a release', () => {
  const url = 'https://github.com/acme/rocket/releases/tag/v2.4.0';
  const postOf = (notes: string) => {
    const { release, ...sample } = sampleMaterial('release');
    if (release === null) throw new Error('the sample has no release');
    const material = {
      ...sample,
      pushes: [],
      pullRequests: [],
      release: { ...release, data: { ...release.data, notes } },
    };
    return composeDraft(recipe('release'), material).text?.content.split('\n\n').slice(1);
  };

  test.each([
    ['Words.\nMore words.\n\n- a\n\nThanks!', ['Words. More words.', '• A', url]],
    ['# Quieter\n\n## What is new\nWords.\n\n- a', ['Words.', '• A', url]],
    [
      "## What's Changed\n* a by @ann in https://github.com/acme/rocket/pull/1\n\n**Full Changelog**: https://x.test",
      ['• A', url],
    ],
    ['**Full Changelog**: https://x.test\n\nWords.', [url]],
    ['- a\n- b\n\nThanks!', ['• A\n• B', url]],
    ['Highlights:\n- a\n- b', ['Highlights:', '• A\n• B', url]],
    [
      '### Added\n- **Breaking:** a\n- b\n- c\n- d\n- e\n- f\n- g',
      ['• Breaking: A\n• B\n• C\n• D\n• E', `And 2 more: ${url}`],
    ],
    ['', [url]],
  ])('%j', (notes, paragraphs) => {
    expect(postOf(notes)).toEqual(paragraphs);
  });
});

test.each([
  ['Words.\n\n- a', 'Words.'],
  ['## Done\n\n- a\n- b', 'a; b'],
  ['1. a\n2. b\n\nWords.', 'a; b'],
  ['Done:\n- a\n- b', 'Done: a; b'],
  [' \n', null],
])('the summary of a project update %j is %j', (body, summary) => {
  const { update, ...sample } = sampleMaterial('project_update');
  if (update === null) throw new Error('the sample has no update');
  const material = { ...sample, update: { ...update, data: { ...update.data, body } } };
  expect(variablesOf(material).summary).toBe(summary);
});
