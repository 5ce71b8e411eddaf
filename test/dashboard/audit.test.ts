import { beforeEach, describe, expect, test } from 'bun:test';
import { type Actor, type NewAuditEvent, recordAudit, SERVER } from '../../src/people/audit.ts';
import { hostile, isHarmed, signedIn, type Visit } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

const AUDIT = '/dashboard/org_a/settings/audit';

let app: TestApp;
let ann: Awaited<ReturnType<typeof signedIn>>;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  ann = await signedIn(app, { organizationId: 'org_a', email: 'ann@acme.example' });
  await execute(app.db, 'DELETE FROM audit_events');
});

const person = ({ user: { id, email } } = ann): Actor => ({
  type: 'user',
  id,
  name: email,
  address: '203.0.113.7',
});

function record(summary: string, more: Partial<NewAuditEvent> = {}, actor: Actor = person()) {
  const given = { organizationId: 'org_a', action: 'key.created', target: null, summary, ...more } as const;
  return app.db.write((tx) => recordAudit(tx, { ...app.deps, actor }, given));
}

/** The sentences of a page, without markup. */
async function rows(query = '', visit: Visit = ann): Promise<string[]> {
  const html = await (await visit(`${AUDIT}${query}`)).text();
  const body = /<tbody>(.*)<\/tbody>/s.exec(html)?.[1] ?? '';
  return [...body.matchAll(/<tr><td>(.*?)<\/td>/gs)].map(([, cell = '']) => cell.replaceAll(/<[^>]+>/g, ''));
}

test('an owner sees the actor, action, address and time of each event, newest first', async () => {
  await record('created the API key “Website”');
  app.clock.advance(60_000);
  await record(
    'published the post “v1”',
    { action: 'post.published' },
    {
      ...SERVER,
      type: 'trigger',
      id: 'trg_1',
      name: 'release',
    },
  );
  app.clock.advance(60_000);
  expect(await rows()).toEqual([
    'The release trigger published the post “v1”',
    'ann@acme.example created the API key “Website”',
  ]);
  const html = await (await ann(AUDIT)).text();
  expect(html).toContain('203.0.113.7');
  expect(html).toContain('datetime="2026-11-20T12:00:00.000Z"');
  expect(html).toContain('keeps events for 7 days, and account events for 30 days');
});

test('a member is refused, and has no tab for it', async () => {
  const bob = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  expect((await bob(AUDIT)).status).toBe(403);
  expect(await (await bob('/dashboard/org_a/settings')).text()).not.toContain(AUDIT);
  expect(await (await ann('/dashboard/org_a/settings')).text()).toContain(`href="${AUDIT}"`);
});

test("another organization's events are on no page of it, whatever the address says", async () => {
  await record('secret of B', { organizationId: 'org_b' });
  await record('seen', { organizationId: 'org_a' });
  const other = await signedIn(app, { organizationId: 'org_b' });
  await record('signed in at B', {
    organizationId: null,
    action: 'session.created',
    target: { type: 'user', id: other.user.id },
  });
  for (const query of ['', '?group=keys', `?actor=${ann.user.id}`, '?before=999', '?organization=org_b']) {
    expect(await rows(query)).toEqual(['ann@acme.example seen']);
  }
  expect((await other(AUDIT)).status).toBe(404);
});

describe('filters', () => {
  beforeEach(async () => {
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
    await record('created a key');
    await record('published a post', { action: 'post.published' }, person(bob));
    await record('rotated a secret', { action: 'secret.rotated' }, { ...SERVER, type: 'command_line' });
  });

  test.each([
    ['?group=keys', ['ann@acme.example created a key']],
    ['?group=posts', ['bob@acme.example published a post']],
    ['?group=integrations', ['The command line rotated a secret']],
    ['?group=triggers', []],
    ['?actor=command-line', ['The command line rotated a secret']],
    ['?actor=usr_nobody', []],
    ['?group=toString&actor=constructor%3C&before=x', 3],
    ['?group=__proto__', 3],
  ])('%s', async (query, expected) => {
    const found = await rows(query);
    if (typeof expected === 'number') expect(found).toHaveLength(expected);
    else expect(found).toEqual(expected);
  });

  test('by a person, from the list or from one of their events', async () => {
    const html = await (await ann(`${AUDIT}?actor=${ann.user.id}`)).text();
    expect(html).toContain(`<option value="${ann.user.id}" selected>ann@acme.example</option>`);
    expect(html).toContain(`href="${AUDIT}?actor=${ann.user.id}"`);
    expect(await rows(`?actor=${ann.user.id}`)).toEqual(['ann@acme.example created a key']);
  });
});

test('a log is read page by page, with the filters kept', async () => {
  for (let n = 1; n <= 120; n++) await record(`event ${n}`);
  await record('another', { action: 'post.deleted' });
  const older = (html: string) => /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
  const seen: string[] = [];
  let path: string | undefined = `${AUDIT}?group=keys`;
  const sizes: number[] = [];
  while (path !== undefined) {
    const html: string = await (await ann(path)).text();
    const found = [...html.matchAll(/event (\d+)/g)].map(([, number = '']) => number);
    sizes.push(found.length);
    seen.push(...found);
    path = older(html);
    // New events do not move the pages.
    await record('late');
  }
  expect(sizes).toEqual([50, 50, 20]);
  expect(seen).toEqual(Array.from({ length: 120 }, (_, n) => String(120 - n)));
});

test('an empty log describes its entries; a filter without a match and the end lead back', async () => {
  const html = async (query = '') => (await ann(`${AUDIT}${query}`)).text();
  expect(await html()).toContain('No events yet');
  expect(await html('?group=keys')).toContain('No events match these filters');
  expect(await html('?before=1')).toContain('No older events');
});

test('a name in quotes reorders nothing beside it', async () => {
  await record('renamed the organization from “אבג” to “Acme”');
  const html = await (await ann(AUDIT)).text();
  expect(html).toContain('renamed the organization from “<bdi>אבג</bdi>” to “<bdi>Acme</bdi>”');
});

test('names and titles of strangers are text', async () => {
  await record(`published the post “${hostile}”`, {}, { ...person(), name: hostile });
  const html = await (await ann(`${AUDIT}?actor=${encodeURIComponent(hostile)}`)).text();
  expect(isHarmed(html)).toBe(false);
  expect(isHarmed(await (await ann(AUDIT)).text())).toBe(false);
});
