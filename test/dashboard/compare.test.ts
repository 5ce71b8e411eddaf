import { expect, test } from 'bun:test';
import { switchTrigger } from '../../src/drafting/triggers/service.ts';
import { pageVisitor } from '../support/dashboard.ts';
import { connectGithub } from '../support/deliveries.ts';
import { createTriggerFor, postsOf } from '../support/drafts.ts';
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
  expect(await (await owner(COMPARE)).text()).toContain('Draft the changes between two tags');
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

test('the form offers the templates and rules of the triggers, and the draft follows them', async () => {
  await using it = await startProject([
    ...PAST,
    { at: day(5), merge: 8, title: 'feat: loud mode', labels: ['internal'] },
    { at: day(6), release: 'v1.2.0', notes: 'Third.' },
  ]);
  const connected = await connectGithub(it.app, 'org_a', 'acme/rocket');
  const { id } = await createTriggerFor(it.app, connected, 'pull_request', {
    filters: { excludeLabel: ['internal'] },
    titleTemplate: 'Our own title',
  });
  const owner = await pageVisitor(it.app);
  const form = await (await owner(COMPARE)).text();
  expect(form).toContain(`<option value="${id}">`);
  expect(form).toContain('acme/rocket · Merged pull requests · Changelog · not label internal');
  await owner(COMPARE, { ...FIELDS, range: 'v1.0.0..v1.2.0', trigger: id });
  const [draft, ...others] = await postsOf(it.app);
  expect(others).toEqual([]);
  expect(draft).toMatchObject({ title: 'Our own title', status: 'draft' });
  expect(draft?.markdown).toContain('Quiet mode');
  expect(draft?.markdown).not.toContain('Loud mode');
});

test('a draft has the content type of its trigger unless another one is chosen; a disabled trigger says so', async () => {
  await using it = await startProject(PAST);
  const connected = await connectGithub(it.app, 'org_a', 'acme/rocket');
  const { id } = await createTriggerFor(it.app, connected, 'release', { contentType: 'linkedin_post' });
  await switchTrigger(it.app.deps, id, false);
  const owner = await pageVisitor(it.app);
  expect(await (await owner(COMPARE)).text()).toContain('acme/rocket · disabled · Published releases');
  const made = async (fields: Record<string, string>) => {
    const { headers } = await owner(COMPARE, { ...FIELDS, contentType: '', trigger: id, ...fields });
    const path = headers.get('location')?.split('/').at(-1);
    return (await postsOf(it.app)).find((post) => post.id === path)?.contentType;
  };
  expect(await made({ mark: 'two' })).toBe('linkedin_post');
  expect(await made({ mark: 'three', contentType: 'changelog' })).toBe('changelog');
  expect(await made({ mark: 'four', trigger: '' })).toBe('changelog');
});

test('a trigger of another organization is neither offered nor taken', async () => {
  await using it = await startProject(PAST);
  const connected = await connectGithub(it.app, 'org_b', 'acme/rocket');
  const { id } = await createTriggerFor(it.app, connected, 'pull_request');
  const owner = await pageVisitor(it.app);
  expect(await (await owner(COMPARE)).text()).not.toContain(id);
  const refused = await owner(COMPARE, { ...FIELDS, trigger: id });
  expect(await refused.text()).toContain('The trigger must be a trigger of the releases');
  expect(await postsOf(it.app)).toEqual([]);
});
