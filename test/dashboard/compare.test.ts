import { expect, test } from 'bun:test';
import { pageVisitor } from '../support/dashboard.ts';
import { postsOf } from '../support/drafts.ts';
import type { Happening } from '../support/github-api/project.ts';
import { day, startProject } from '../support/import.ts';

const PAST: Happening[] = [
  { at: day(1), push: ['chore: start'] },
  { at: day(2), release: 'v1.0.0', notes: 'First.' },
  { at: day(3), merge: 7, title: 'feat: quiet mode' },
  { at: day(4), release: 'v1.1.0', notes: 'Second.' },
];

const COMPARE = '/dashboard/org_a/posts/~/compare';
const FIELDS = { repository: 'acme/rocket', range: 'v1.0.0..v1.1.0', contentType: 'changelog', mark: 'one' };

test('an owner makes a draft of a range, once', async () => {
  await using it = await startProject(PAST);
  const owner = await pageVisitor(it.app);
  expect(await (await owner(COMPARE)).text()).toContain('Draft from a compare');
  const made = await owner(COMPARE, FIELDS);
  expect(made.headers.get('location')).toMatch(/^\/dashboard\/org_a\/posts\/post_/);
  await owner(COMPARE, FIELDS);
  expect(await postsOf(it.app)).toMatchObject([{ title: 'v1.1.0', status: 'draft' }]);
  const member = await pageVisitor(it.app, { role: 'member' });
  expect((await member(COMPARE)).status).toBe(403);
});

test.each([
  [{ repository: 'acme/nope' }, 'GitHub has no public repository acme/nope.'],
  [{ range: 'v1.0.0' }, 'The range must be two tags, branches or commits'],
  [{ range: 'v1.0.0..v9' }, 'GitHub cannot compare v1.0.0 and v9'],
  [{ range: 'v1.1.0..v1.0.0' }, 'has no commits that v1.1.0 lacks.'],
])('%j is refused, and leaves nothing', async (fields, sentence) => {
  await using it = await startProject(PAST);
  const owner = await pageVisitor(it.app);
  expect(await (await owner(COMPARE, { ...FIELDS, ...fields })).text()).toContain(sentence);
  expect(await postsOf(it.app)).toEqual([]);
});
