import { expect, test } from 'bun:test';
import { switchTrigger } from '../../src/drafting/triggers/service.ts';
import { previewRequest } from '../../src/intake/history/preview.ts';
import { pageVisitor } from '../support/dashboard.ts';
import { connectGithub } from '../support/deliveries.ts';
import { createTriggerFor, postsOf, runAll } from '../support/drafts.ts';
import type { Happening } from '../support/github-api/project.ts';
import { day, startProject } from '../support/import.ts';
import { READER, startPolling } from '../support/polling.ts';

const PAGE = '/dashboard/org_a/triggers/request';
const block = (text: string) => `\`\`\`release-note\n${text}\n\`\`\``;

/** A repository with pull requests, and its page as a member reads it. */
async function start() {
  const it = await startProject([
    { at: day(1), push: ['chore: start'] },
    { at: day(2), merge: 7, title: 'Quieter', labels: ['enhancement'], body: block('Quiet *mode*') },
    { at: day(3), merge: 8, title: 'feat: hidden', labels: ['no-changelog'] },
    { at: day(4), close: 9, title: 'fix: launch twice' },
  ]);
  const member = await pageVisitor(it.app, { role: 'member' });
  const open = async (query: Record<string, string>) => {
    const response = await member(`${PAGE}?${new URLSearchParams(query)}`);
    const html = /<main.*<\/main>/s.exec(await response.text())?.[0] ?? '';
    const text = html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    return { status: response.status, html, text };
  };
  return { ...it, open, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() };
}

test('without triggers, the built-in rules say what a pull request adds, and why', async () => {
  await using it = await start();
  expect((await it.open({})).html).toContain('name="request"');
  const { status, text, html } = await it.open({ request: 'acme/rocket#7' });
  expect(status).toBe(200);
  expect(text).toContain('acme/rocket#7 Quieter Merged. It adds this:');
  expect(text).toContain('No enabled trigger matches it. With the built-in rules:');
  expect(text).toContain('Added Quiet mode');
  expect(text).toContain('Words: block release-note of the description. Group: label enhancement.');
  expect(html).toContain('<li>Quiet <em>mode</em> (');
  expect(await postsOf(it.app)).toEqual([]);
});

test('each enabled trigger of the repository has its part', async () => {
  await using it = await start();
  const connected = await connectGithub(it.app, 'org_a', 'acme/rocket');
  const push = await createTriggerFor(it.app, connected, 'push', { filters: { excludeAuthor: ['ann'] } });
  await createTriggerFor(it.app, connected, 'pull_request', { filters: { label: ['user-facing'] } });
  await createTriggerFor(it.app, connected, 'release');
  const { id } = await createTriggerFor(it.app, connected, 'release', { contentType: 'linkedin_post' });
  await switchTrigger(it.app.deps, id, false);
  const { text, html } = await it.open({ request: '7' });
  expect(html).toContain(`/integrations/${connected.integrationId}/triggers/${push.id}"`);
  expect(text).toMatch(/receives a push → .*?Left out: author ann/);
  expect(text).toMatch(/merges a pull request → .*?Left out: outside of the trigger's filter by label/);
  expect(text).toMatch(/publishes a release → .*?Added Quiet mode/);
  // Two with the same entries.
  await createTriggerFor(it.app, connected, 'pull_request');
  expect((await it.open({ request: '7' })).text.split('Added Quiet mode')).toHaveLength(2);
  expect(text).not.toContain('LinkedIn');
  expect((await it.open({ request: '#8' })).text).toContain('Left out: label no-changelog');
  expect((await it.open({ request: '9' })).text).toContain(
    'Closed without a merge. It would have added this:',
  );
});

test('links from triggers and the integration lead to it with the repository', async () => {
  await using it = await start();
  const { integrationId } = await connectGithub(it.app, 'org_a', 'acme/rocket');
  await connectGithub(it.app, 'org_a', 'acme/lander');
  const member = await pageVisitor(it.app, { role: 'member' });
  const read = async (path: string) => (await member(`/dashboard/org_a/${path}`)).text();
  expect(await read('triggers')).toContain('href="/dashboard/org_a/triggers/request"');
  const link = 'triggers/request?repository=acme%2Frocket';
  expect(await read(`integrations/${integrationId}`)).toContain(`href="/dashboard/org_a/${link}"`);
  expect(await read(link)).toContain('value="acme/rocket#"');
  // Two repositories.
  expect((await it.open({ request: '7' })).text).toContain('Enter a repository and a number');
});

test.each([
  ['', 'Enter a repository and a number, such as acme/rocket#12, or a URL.'],
  ['acme/rocket', 'Enter a repository and a number, such as acme/rocket#12, or a URL.'],
  ['acme/rocket#99', 'There is no pull request #99 in acme/rocket.'],
  [
    'acme/secret#1',
    'GitHub has no public repository acme/secret. Check the name; a private repository needs',
  ],
  ['https://git.example.com/a/b/pull/1', 'must be OWNER/NAME or the URL of a repository at'],
  ['<script>#1', 'A repository has the form OWNER/NAME'],
  [`${'x'.repeat(5_000)}#1`, 'Enter a repository and a number'],
])('%s is refused beside the field', async (request, sentence) => {
  await using it = await start();
  it.github.addRepository('acme/secret', { isPrivate: true });
  const { status, text, html } = await it.open({ request });
  expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining(sentence) });
  expect(html).toContain('aria-invalid="true"');
  expect(text.includes('Open Integrations')).toBe(sentence.includes('private') || request.includes('<'));
  expect(html).not.toContain('<script>');
});

test('a limit of requests says until when, in the words of somebody without a token', async () => {
  await using it = await start();
  it.github.limits.anonymous = 0;
  const { text } = await it.open({ request: 'acme/rocket#7' });
  expect(text).toMatch(/no more requests without a token until \w+ \d+, \d{4}, [\d:]+\. Try again then/);
});

test.each<Partial<Extract<Happening, { merge: number }>>>([
  { title: 'feat: quiet mode' },
  { title: 'Quieter', labels: ['bug'], body: block('- Quiet *mode*\n- fix: `plan` waits') },
  { title: 'Quieter', body: block('engine: softer\nhull: quieter'), how: 'rebase', commits: ['one', 'two'] },
  {
    title: 'Quieter',
    how: 'merge',
    commits: ['one', `two\n\n${block('From a commit')}\n\nChangelog: fixed`],
  },
  { title: 'Quieter', how: 'merge', commits: ['one\n\nChangelog: security', 'two\n\nChangelog: none'] },
  { title: 'Quieter', how: 'rebase', commits: ['fix: one', 'feat: two'] },
  { title: 'feat: hidden', how: 'merge', commits: ['one\n\nChangelog: none'] },
  { title: 'feat: hidden', labels: ['skip-changelog'], body: block('Quiet') },
  { title: 'feat: hidden', body: block('NONE') },
  { title: 'Revert "feat: quiet mode"' },
])('the preview of %j is what its draft lists, in a private repository too', async (merge) => {
  await using world = await startPolling({ token: READER, about: { isPrivate: true }, events: ['push'] });
  await world.deliver(world.project.happen({ at: day(2), merge: 7, title: '', ...merge }));
  const preview = { repository: 'acme/rocket', number: 7 };
  const { drafts } = await previewRequest(world.app.deps, 'org_a', preview);
  await runAll(world.app);
  const [post] = await postsOf(world.app);
  const listed = post?.markdown.split('\n').flatMap((line) => /^(?:### |- )(.*)/.exec(line)?.[1] ?? []);
  const groups = Map.groupBy(drafts[0]?.entries ?? [], ({ group }) => group);
  const previewed = [...groups].flatMap(([group, of]) => [group, ...of.map(({ line }) => line)]);
  expect(previewed.toSorted()).toEqual((listed ?? []).toSorted());
  expect(drafts[0]?.leftOut === null).toBe(post !== undefined);
});
