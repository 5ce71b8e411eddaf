import { beforeEach, expect, test } from 'bun:test';
import { createRoundup } from '../../src/drafting/roundups/service.ts';
import { listRoundups } from '../../src/drafting/roundups/store.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { form, signedIn } from '../support/dashboard.ts';
import { connectGithub, connectLinear, githubRequest } from '../support/deliveries.ts';
import { postsOf } from '../support/drafts.ts';
import { formOf } from '../support/form-of.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

const PATH = '/dashboard/org_a/triggers';

let app: TestApp;
let connected: Connected;
let ann: Awaited<ReturnType<typeof signedIn>>;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  ann = await signedIn(app, { organizationId: 'org_a' });
  connected = await connectGithub(app, 'org_a');
});

const text = (html: string) => html.replaceAll(/<[^>]+>/g, '').replaceAll(/\s+/g, ' ');
const open = async (path: string, as = ann) => text(await (await as(path)).text());
const roundups = () => app.db.read((tx) => listRoundups(tx, { organizationId: 'org_a' }));

function create(given: { name: string }, organizationId = 'org_a', to = connected) {
  return createRoundup(app.deps, organizationId, {
    ...{ cadence: 'weekly', weekday: 1, time: '09:00', timeZone: 'Europe/Berlin' },
    ...{ groupBy: 'repository', whenEmpty: 'skip', contentType: 'changelog', ...given },
    sources: [{ integrationId: to.integrationId, repositoryId: null, team: null }],
  });
}

test('an owner creates a roundup, and the list says when its next draft is', async () => {
  const linear = await connectLinear(app, 'org_a');
  expect(await open(PATH)).toContain('A roundup makes one draft every week or every month');
  const opened = formOf(await (await ann(`${PATH}/roundups/new`)).text(), `${PATH}/roundups`);
  expect(Object.fromEntries(opened)).toMatchObject({
    cadence: 'weekly',
    weekday: '1',
    time: '09:00',
    timeZone: 'UTC',
  });
  opened.set('name', 'The <month>');
  opened.set('cadence', 'monthly');
  opened.set('timeZone', 'europe/berlin');
  const repository = `${connected.integrationId} ${connected.repositoryId}`;
  for (const place of [repository, linear.integrationId, `${linear.integrationId}  EN G`])
    opened.append('sources', place);
  const answer = await ann(`${PATH}/roundups`, { method: 'POST', body: opened });
  const [roundup] = await roundups();
  expect(answer.headers.get('location')).toBe(`${PATH}/roundups/${roundup?.id}`);
  expect(roundup).toMatchObject({
    name: 'The <month>',
    weekday: 1,
    timeZone: 'Europe/Berlin',
    whenEmpty: 'skip',
  });
  expect(new Set(roundup?.sources)).toEqual(
    new Set([
      { integrationId: connected.integrationId, repositoryId: connected.repositoryId ?? '', team: null },
      { integrationId: linear.integrationId, repositoryId: null, team: null },
      { integrationId: linear.integrationId, repositoryId: null, team: 'EN G' },
    ]),
  );
  const page = await open(PATH);
  expect(page).toContain(
    'The &lt;month>: on the first Monday of a month at 09:00 (Europe/Berlin) → a changelog draft',
  );
  expect(page).toContain('Next draft: Dec 7, 2026, 08:00. No draft yet.');
  const edited = formOf(
    await (await ann(`${PATH}/roundups/${roundup?.id}`)).text(),
    `${PATH}/roundups/${roundup?.id}`,
  );
  expect(edited.getAll('sources')).toHaveLength(3);
});

test.each([
  [{ name: '' }, 'The name must have 1 to 100 characters.'],
  [{ timeZone: 'Mars' }, 'No time zone has this name.'],
  [{ time: '25:00' }, 'The time must be a time from 00:00 to 23:59'],
  [{ sources: '' }, 'The selection must be 1 to 100 repositories and teams.'],
  [{ sources: 'int_none' }, 'The selection must belong to this organization.'],
])('the form says what is wrong: %p', async (wrong, message) => {
  const { integrationId } = connected;
  const fields: Record<string, string> = {
    name: 'Weekly',
    time: '09:00',
    timeZone: 'UTC',
    sources: integrationId,
    ...wrong,
  };
  if (fields.sources === '') delete fields.sources;
  const answer = await ann(`${PATH}/roundups`, form(fields));
  expect(answer.status).toBe(400);
  expect(text(await answer.text())).toContain(message);
  expect(await roundups()).toEqual([]);
});

test('"Create draft now" opens the draft, whose page lists what it has', async () => {
  const { id } = await create({ name: 'Weekly' });
  const now = app.clock.now();
  const payload = samplePayload('github', 'push', { repository: 'acme/rocket', now });
  expect((await app.request(...githubRequest(connected, payload, { event: 'push' }))).status).toBe(200);
  const made = await ann(`${PATH}/roundups/${id}/now`, form({}));
  const [post] = await postsOf(app);
  expect(made.headers.get('location')).toBe(`/dashboard/org_a/posts/${post?.id}`);
  const page = await (await ann(`/dashboard/org_a/posts/${post?.id}`)).text();
  expect(page).toContain(`<a href="${PATH}/roundups/${id}">Weekly</a>`);
  expect(text(page)).toMatch(/Holds\d change/);
  expect(await open(PATH)).toContain(`Last: ${post?.title}`);
  const again = await ann(`${PATH}/roundups/${id}/now`, form({}));
  expect(again.headers.get('location')).toBe(`${PATH}/roundups/${id}`);
  expect(await postsOf(app)).toHaveLength(1);
});

test('it is paused, enabled and deleted', async () => {
  const { id } = await create({ name: 'Weekly' });
  await ann(`${PATH}/roundups/${id}/disable`, form({}));
  expect(await open(PATH)).toContain('DisabledNo draft until it is enabled.');
  await ann(`${PATH}/roundups/${id}/enable`, form({}));
  expect(await roundups()).toMatchObject([{ enabled: true }]);
  const page = await (await ann(`${PATH}/roundups/${id}`)).text();
  const deletion = formOf(page, `${PATH}/roundups/${id}/delete`);
  const rename = formOf(page, `${PATH}/roundups/${id}`);
  rename.set('name', 'Renamed');
  await ann(`${PATH}/roundups/${id}`, { method: 'POST', body: rename });
  expect((await ann(`${PATH}/roundups/${id}/delete`, { method: 'POST', body: deletion })).status).toBe(409);
  expect(await roundups()).toMatchObject([{ name: 'Renamed' }]);
  await ann(`${PATH}/roundups/${id}/delete`, form({}));
  expect(await roundups()).toEqual([]);
});

test('a member sees it and changes nothing, and another organization does not have it', async () => {
  const { id } = await create({ name: 'Weekly' });
  const bob = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  const page = await open(`${PATH}/roundups/${id}`, bob);
  expect(page).toContain('Every Monday at 09:00 (Europe/Berlin)');
  expect(page).not.toContain('Create draft now');
  for (const path of ['', '/now', '/disable', '/delete'])
    expect((await bob(`${PATH}/roundups/${id}${path}`, form({ name: 'Mine' }))).status).toBe(403);
  const other = await create({ name: 'Theirs' }, 'org_b', await connectGithub(app, 'org_b', 'other/rocket'));
  for (const path of ['', '/now', '/disable', '/delete'])
    expect((await ann(`${PATH}/roundups/${other.id}${path}`, form({ name: 'Mine' }))).status).toBe(404);
  expect((await ann(`${PATH}/roundups/${other.id}`)).status).toBe(404);
  expect(await open(PATH)).not.toContain('Theirs');
});
