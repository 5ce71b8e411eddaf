import { describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { createOwnOrganization } from '../../src/people/members.ts';
import { getOrganization } from '../../src/people/organization-store.ts';
import { listMemberships } from '../../src/people/store.ts';
import { editPost } from '../../src/posts/service.ts';
import { form, hostile, isHarmed, signedIn } from '../support/dashboard.ts';
import { executeBeforeNextWrite } from '../support/database.ts';
import { connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';

const SETTINGS = '/dashboard/org_a/settings';
const START = '/dashboard/org_a/start';

async function owned() {
  const app = await appWithOrganization();
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const html = async (path = SETTINGS) => (await visit(path)).text();
  return { app, visit, html };
}

describe('the settings', () => {
  test('change the name, and the plan for later deliveries', async () => {
    const { app, visit, html } = await owned();
    const connected = await connectGithub(app, 'org_a');
    const deliver = () => app.request(...githubRequest(connected, { zen: 'Keep it simple.' }));
    await deliver();
    const saved = await visit(SETTINGS, form({ name: '  Acme & Sons  ', plan: 'pro' }));
    expect([saved.status, saved.headers.get('location')]).toEqual([303, SETTINGS]);
    expect(await app.db.read((tx) => getOrganization(tx, 'org_a'))).toMatchObject({
      name: 'Acme & Sons',
      plan: 'pro',
    });
    expect(await html()).toContain('value="Acme &amp; Sons"');
    app.clock.advance(1000);
    await deliver();
    expect((await logOf(app)).map(({ retentionDays }) => retentionDays)).toEqual([30, 7]);
  });

  test.each([
    ['no name', { name: ' ', plan: 'pro' }, 'The name must not be empty'],
    ['a long name', { name: 'x'.repeat(201), plan: 'pro' }, 'The name must have at most 200 characters'],
    ['no plan', { name: 'Acme' }, 'Choose how long to keep the log.'],
    ['another plan', { name: 'Acme', plan: 'gold' }, 'Choose how long to keep the log.'],
  ])('refuse %s, and keep the fields of the form', async (_, fields, message) => {
    const { app, visit } = await owned();
    const before = await allRows(app.db);
    const refused = await visit(SETTINGS, form(fields));
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain(message);
    expect(html).toContain(`value="${fields.name}"`);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('tell once how much the log holds, and gets', async () => {
    const { app, html } = await owned();
    expect(await html()).toContain('Each delivery adds an entry');
    const connected = await connectGithub(app, 'org_a');
    for (let day = 0; day < 10; day++) {
      for (let time = 0; time < 4; time++) {
        await app.request(...githubRequest(connected, { zen: `${day} ${time}` }));
      }
      app.clock.advance(DAY_MS);
      // A session lasts as long as it is used.
      await html();
    }
    const shown = await html();
    expect(shown).toContain('The log has 40 entries, the oldest from <time');
    expect(shown).toContain('>Nov 20, 2026</time>');
    expect(shown.match(/gets about [\d ]+ a day/g)).toEqual(['gets about 4 a day']);
    expect(shown.match(/Delivery log/g)).toHaveLength(1);
  });

  test('show a member the settings without a form', async () => {
    const { app } = await owned();
    const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const html = await (await member(SETTINGS)).text();
    expect(html).toContain('Keep the log for 7 days');
    expect(html).not.toContain('name="plan"');
  });

  test('show hostile names as text, wherever the name is', async () => {
    const { visit, html } = await owned();
    await visit(SETTINGS, form({ name: hostile, plan: 'free' }));
    for (const page of [SETTINGS, `${SETTINGS}/keys`, `${SETTINGS}/members`, START, '/dashboard/~/account']) {
      expect(isHarmed(await html(page))).toBe(false);
    }
  });
});

describe('a further organization', () => {
  const NEW = '/dashboard/~/organizations';

  test('is its maker’s own', async () => {
    const { app, visit, html } = await owned();
    const made = await visit(NEW, form({ name: 'Side project' }));
    const path = made.headers.get('location') ?? '';
    expect([made.status, path]).toEqual([303, expect.stringMatching(/^\/dashboard\/org_\w+\/start$/)]);
    expect(await app.db.read((tx) => listMemberships(tx, visit.user.id))).toContainEqual({
      organization: expect.objectContaining({ name: 'Side project' }),
      role: 'owner',
      isBlocked: false,
    });
    expect(await html(path)).toContain('Side project');
    const other = await signedIn(app, { organizationId: 'org_a' });
    expect((await other(path)).status).toBe(404);
  });

  test('is one link away: beside the others, and when there are none', async () => {
    const { visit, html } = await owned();
    const switcher = async () =>
      /<details class="organization">.*?<\/details>/s.exec(await html(SETTINGS))?.[0];
    const link = /href="\/dashboard\/~\/account#([\w-]+)">(?:<svg.*?<\/svg>)?New organization</;
    const [, id] = link.exec((await switcher()) ?? '') ?? [];
    expect(await html('/dashboard/~/account')).toMatch(new RegExp(`<form [^>]*${NEW}[^>]* id="${id}"`));
    const other = (await visit(NEW, form({ name: 'Side project' }))).headers.get('location') ?? '';
    expect(await switcher()).toMatch(
      new RegExp(`href="${other.replace('/start', '')}">.*Side project<.*New organization`, 's'),
    );
  });

  test.each([
    ['owners', 'owner', 303],
    ['owners', 'member', 403],
    ['owners', undefined, 403],
    ['anyone', undefined, 303],
    ['nobody', 'owner', 403],
  ] as const)('with ORGANIZATION_CREATION=%s, role %s: %s', async (organizationCreation, role, status) => {
    const app = await appWithOrganization({ organizationCreation });
    const visit = await signedIn(app, role === undefined ? {} : { organizationId: 'org_a', role });
    const before = await allRows(app.db);
    const html = await (await visit('/dashboard/~/account')).text();
    expect(html.includes(`action="${NEW}"`)).toBe(status === 303);
    if (role !== undefined) {
      const page = await (await visit('/dashboard/org_a/posts')).text();
      expect(page.includes('New organization')).toBe(status === 303);
    }
    const response = await visit(NEW, form({ name: 'Mine' }));
    expect(response.status).toBe(status);
    if (status === 403) expect(await allRows(app.db)).toEqual(before);
    else expect((await allRows(app.db)).organizations).toHaveLength(2);
  });

  test('is not made by a person who was removed; a page explains the next step', async () => {
    const { app, visit } = await owned();
    const bob = await signedIn(app, { organizationId: 'org_a', email: 'bob@acme.example' });
    await visit(`${SETTINGS}/members/${bob.user.id}/remove`, form());
    const html = await (await bob('/dashboard')).text();
    expect(html).toContain("bob@acme.example doesn't belong to an organization");
    expect(html).toContain('invitation link');
    expect(html).not.toContain(NEW);
    expect((await bob(NEW, form({ name: 'Mine' }))).status).toBe(403);
    expect((await allRows(app.db)).organizations).toHaveLength(1);
  });

  test('is not made by an account that is being disabled', async () => {
    const { app, visit } = await owned();
    executeBeforeNextWrite(app.db, "update users set disabled_at = '2026'");
    const made = createOwnOrganization(app.deps, visit.user, 'Mine');
    await expect(made).rejects.toThrow('This account is disabled');
    expect((await allRows(app.db)).organizations).toHaveLength(1);
  });

  test('needs a name', async () => {
    const { app, visit } = await owned();
    const before = await allRows(app.db);
    const refused = await visit(NEW, form({ name: ' ' }));
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('must not be empty'),
    ]);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('is one of a hundred at most', async () => {
    const { visit } = await owned();
    for (let number = 1; number < 100; number++) await visit(NEW, form({ name: `Number ${number}` }));
    expect((await visit(NEW, form({ name: 'One more' }))).status).toBe(400);
  });
});

describe('the first steps', () => {
  test('show their state: done, next, and all set', async () => {
    const { app, html } = await owned();
    const state = async () =>
      Array.from(
        (await html(START)).matchAll(/<li class="step( done)?"( aria-current)?/g),
        ([, done, isNext]) => (done ? 'done' : isNext ? 'next' : 'later'),
      );
    // The first imports releases, which nobody needs who has posts. The navigation has the steps first until all are done.
    const isUnfinished = async () =>
      /<nav aria-label="Dashboard">.*?<\/nav>/s.exec(await html(START))?.[0].includes('First steps');
    expect(await state()).toEqual(['next', 'later', 'later', 'later', 'later', 'later', 'later']);
    const key = await app.addKey('org_a');
    expect(await state()).toEqual(['next', 'later', 'later', 'later', 'later', 'done', 'later']);
    const connected = await connectGithub(app, 'org_a');
    expect(await state()).toEqual(['next', 'done', 'later', 'later', 'later', 'done', 'later']);
    await app.request('/v1/org_a/posts', bearer(key));
    await app.deps.keys.flush({ all: true });
    expect(await state()).toEqual(['next', 'done', 'later', 'later', 'later', 'done', 'done']);
    await app.request(...githubRequest(connected, { zen: 'Keep it simple.' }));
    expect(await state()).toEqual(['next', 'done', 'done', 'later', 'later', 'done', 'done']);
    const { integrationId } = connected;
    await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
    await app.addPosts('org_a', { id: 'post_1', status: 'draft' });
    expect(await state()).toEqual(['later', 'done', 'done', 'done', 'next', 'done', 'done']);
    expect(await isUnfinished()).toBe(true);
    await editPost(app.deps, 'post_1', { status: 'published' });
    expect(await state()).toEqual(['later', 'done', 'done', 'done', 'done', 'later', 'done', 'done']);
    expect(await isUnfinished()).toBe(false);
    expect(await html(START)).toContain('All set');
  });

  test('of the demo say that the demo did them', async () => {
    const app = await appWithOrganization({ organizations: ['org_demo'] });
    const visit = await signedIn(app, { organizationId: 'org_demo' });
    const key = await app.addKey('org_demo');
    await app.request('/v1/org_demo/posts', bearer(key));
    await app.deps.keys.flush({ all: true });
    const connected = await connectGithub(app, 'org_demo');
    await app.request(...githubRequest(connected, { zen: 'Keep it simple.' }));
    const { integrationId } = connected;
    await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
    await app.addPosts('org_demo', { status: 'published' });
    const html = await (await visit('/dashboard/org_demo/start')).text();
    expect(html).toContain('The demo did the checked steps. Now yours');
    expect(html).not.toContain('finished every step');
  });

  test('of a member refer to an owner for steps that a member may not take', async () => {
    const { app } = await owned();
    const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const html = await (await member(START)).text();
    expect(html).toContain('Ask an owner of Organization org_a');
    expect(html).not.toContain('Create New API Key');
  });
});
