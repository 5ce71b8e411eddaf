import { beforeEach, describe, expect, test } from 'bun:test';
import { changeOrganization } from '../../../src/people/organizations.ts';
import { findApproval } from '../../../src/posts/approval-rule.ts';
import { createPost } from '../../../src/posts/service.ts';
import { readPost } from '../../../src/posts/store.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import { listMessages } from '../../../src/readers/hooks/message-store.ts';
import { createHook } from '../../../src/readers/hooks/service.ts';
import { attentionJob } from '../../../src/server/attention.ts';
import { temporaryFolder } from '../../support/cli.ts';
import { hostile, isHarmed, pageVisitor, type VisitPage } from '../../support/dashboard.ts';
import { connectGithub, githubRequest } from '../../support/deliveries.ts';
import { createTriggerFor, postsOf, runAll } from '../../support/drafts.ts';
import { formOf } from '../../support/form-of.ts';
import { LOCAL_HOSTS } from '../../support/hook-receiver.ts';
import { allRows } from '../../support/rows.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';

let app: TestApp;
let ann: VisitPage;
let bob: VisitPage;
let wim: VisitPage;
let id: string;
let path: string;

beforeEach(async () => {
  app = await appWithOrganization({ hookPrivateHosts: LOCAL_HOSTS });
  await changeOrganization(app.deps, 'org_a', { needsApproval: true });
  ann = await pageVisitor(app, { role: 'member' });
  bob = await pageVisitor(app, { role: 'member' });
  wim = await pageVisitor(app, { role: 'writer' });
  const text = { title: 'A draft', markdown: 'Some *text*', contentType: 'changelog' } as const;
  ({ id } = await createPost(app.deps, 'org_a', text));
  path = `/dashboard/org_a/posts/${id}`;
});

const page = async (visit: VisitPage, at = path) => (await visit(at)).text();
const send = async (visit: VisitPage, at: string, fields: Record<string, string> = {}) => {
  const response = await visit(at, fields);
  return { status: response.status, to: response.headers.get('location'), html: await response.text() };
};
const stored = () => app.db.read((tx) => readPost(tx, id));
const approval = () => app.db.read((tx) => findApproval(tx, id));
/** Sends the form of a page as it is, with other values. */
async function submit(visit: VisitPage, from: string, action: string, fields: Record<string, string> = {}) {
  const form = formOf(await page(visit, from), action);
  return send(visit, action, { ...Object.fromEntries(form), ...fields });
}
const edit = (visit: VisitPage, fields: Record<string, string>) => submit(visit, path, path, fields);
describe('the page of a draft', () => {
  test('asks with the text that was typed, shows the state in a line, and publishes after the approval', async () => {
    expect(await page(ann)).toContain('Needs approval.');
    expect(await page(ann)).not.toContain('value="published"');
    expect(await edit(ann, { markdown: 'Typed *text*', status: 'asked' })).toMatchObject({
      status: 303,
      to: path,
    });
    expect(await stored()).toMatchObject({ markdown: 'Typed *text*', status: 'draft' });
    expect(await page(ann)).toContain('asked for the approval of this text');
    expect(await page(ann)).not.toContain('value="asked"');
    const review = `${path}/approval`;
    for (const visit of [ann, wim]) {
      const html = await page(visit, review);
      expect([html.includes('Waits for'), html.includes('Approve text')]).toEqual([true, false]);
    }
    const shown = await page(bob, review);
    expect(shown).toContain('Typed <em>text</em>');
    expect(shown).toContain('Approve and publish');
    expect(await submit(bob, review, review)).toMatchObject({ status: 303, to: path });
    expect(await page(ann)).toContain('Approved by ');
    expect(await edit(ann, { status: 'published' })).toMatchObject({ status: 303 });
    expect((await stored())?.status).toBe('published');
  });

  test('keeps a text that was typed and published without approval, and says what is missing', async () => {
    await edit(ann, { status: 'asked' });
    const review = `${path}/approval`;
    await submit(bob, review, review);
    const { html } = await edit(ann, { markdown: 'Typed after the approval', status: 'published' });
    expect(html).toContain('Publishing needs a second person here, and nobody has approved this text');
    expect(html).toContain('Typed after the approval');
    expect(await stored()).toMatchObject({ markdown: 'Some *text*', status: 'draft' });
  });

  test('is approved and published by one button, which a later change disarms', async () => {
    await edit(ann, { status: 'asked' });
    const review = `${path}/approval`;
    const form = Object.fromEntries(formOf(await page(bob, review), review));
    await edit(ann, { title: 'Sneaked in' });
    const { html } = await send(bob, review, { ...form, publish: 'on' });
    expect(html).toContain('The text changed after you opened it');
    expect((await stored())?.status).toBe('draft');
    await edit(ann, { status: 'asked' });
    const [, hash] = /name="seen" value="([^"]+)"/.exec(await page(bob, review)) ?? [];
    await send(bob, review, { seen: hash ?? '', publish: 'on' });
    expect((await stored())?.status).toBe('published');
  });

  test('shows why somebody declined it, which a writer may not', async () => {
    await edit(wim, { status: 'asked' });
    const review = `${path}/approval`;
    const { hash: seen = '' } = (await approval()) ?? {};
    const declined = { seen, note: `Too long ${hostile}` };
    expect((await send(wim, `${review}/decline`, declined)).status).toBe(403);
    expect((await send(wim, review, { seen })).status).toBe(403);
    expect((await send(bob, `${review}/decline`, { seen, note: '' })).html).toContain('problem');
    await send(bob, `${review}/decline`, declined);
    const html = await page(wim);
    expect([html.includes('Too long'), isHarmed(html)]).toEqual([true, false]);
    await edit(wim, { status: 'asked' });
    expect((await send(ann, `${review}/withdraw`)).status).toBe(403);
    await send(wim, `${review}/withdraw`);
    expect((await approval())?.state).toBe('withdrawn');
  });

  test('has neither line nor button where publishing needs no second person', async () => {
    await changeOrganization(app.deps, 'org_a', { needsApproval: false });
    const html = await page(ann);
    expect([html.includes('approval'), html.includes('value="published"')]).toEqual([false, true]);
    expect(await page(wim)).not.toContain('value="published"');
  });
});

describe('the page of a published post', () => {
  beforeEach(async () => {
    await edit(ann, { status: 'asked' });
    const { hash: seen = '' } = (await approval()) ?? {};
    await send(bob, `${path}/approval`, { seen, publish: 'on' });
  });

  test('keeps a change beside it, which its author goes on with and another person approves', async () => {
    expect(await page(ann)).toContain('Readers see a change once another person has approved it.');
    await edit(ann, { markdown: 'Some newer text' });
    expect((await stored())?.markdown).toBe('Some *text*');
    expect(await page(ann)).toContain('asked for the approval of a change');
    expect(formOf(await page(ann), path).get('markdown')).toBe('Some newer text');
    expect(formOf(await page(bob), path).get('markdown')).toBe('Some *text*');
    const shown = await page(bob, `${path}/approval`);
    expect(shown).toContain('<del>Some *text*</del>');
    expect(shown).toContain('<ins>Some newer text</ins>');
    expect(shown).not.toContain('Approve and publish');
    expect((await edit(bob, { markdown: 'Mine' })).html).toContain('waits for approval');
    await submit(bob, `${path}/approval`, `${path}/approval`);
    expect((await stored())?.markdown).toBe('Some newer text');
    expect(formOf(await page(bob), path).get('markdown')).toBe('Some newer text');
  });
});

test('owners alone switch it, and writers see the pages and buttons that they may use', async () => {
  const oda = await pageVisitor(app, { role: 'owner' });
  const settings = '/dashboard/org_a/settings';
  expect((await send(ann, settings, { name: 'A', plan: 'free', needsApproval: '' })).status).toBe(403);
  const form = formOf(await page(oda, settings), settings);
  expect(form.get('needsApproval')).toBe('on');
  form.delete('needsApproval');
  expect((await send(oda, settings, Object.fromEntries(form))).status).toBe(303);
  expect((await allRows(app.db)).organizations).toMatchObject([{ needs_approval: 0 }]);
  for (const at of ['posts/~/import', `posts/${id}/schedule`, 'posts/~/trash/empty', 'attention/mute']) {
    expect([at, (await wim(`/dashboard/org_a/${at}`, {})).status]).toEqual([at, 403]);
  }
  expect((await wim('/dashboard/org_a/posts')).status).toBe(200);
});

test('a request is in the attention list of those who may approve, and a hook tells of it with a link', async () => {
  const folder = temporaryFolder();
  const hook = { organizationId: 'org_a', name: 'Alerts', kind: 'slack', about: 'attention' } as const;
  const { id: hookId } = await createHook(app.deps, {
    ...hook,
    url: 'https://hooks.slack.com/services/T/B/x',
  });
  const job = attentionJob(
    { ...app.deps, db: app.db, checkpointFailures: () => ({ total: 0, cause: null, inARow: 0 }) },
    { dataDir: folder.path, backups: undefined, database: undefined },
  );
  const look = async () => {
    await job.run(new AbortController().signal);
    const messages = await app.db.read((tx) => listMessages(tx, hookId, { limit: 10 }));
    return messages.map(({ type, url }) => [type, url]).filter(([, url]) => `${url}`.includes('approval'));
  };
  await edit(ann, { status: 'asked' });
  const link = `${app.deps.publicUrl()}${path}/approval`;
  expect(await look()).toEqual([['attention.began', link]]);
  const attention = '/dashboard/org_a/attention';
  expect(await page(bob, attention)).toContain('“A draft” waits for approval');
  expect(await page(wim, attention)).not.toContain('waits for approval');
  const list = '/dashboard/org_a/posts';
  for (const at of [list, `${list}?approval=1`, `${list}?approval=1&q=draft`]) {
    expect(await page(wim, at)).toContain('Waits for approval');
  }
  await edit(ann, { title: 'Changed' });
  expect((await look()).map(([type]) => type)).toContain('attention.ended');
  expect(await page(bob, attention)).not.toContain('waits for approval');
  expect(await page(bob, list)).not.toContain('or approval');
  expect(await page(bob, `${list}?approval=1`)).toContain('No post waits for approval.');
  folder.remove();
});

test('a trigger that publishes at once leaves a draft and asks, and asks again when it changes the text', async () => {
  const connected = await connectGithub(app, 'org_a', 'acme/lander');
  await createTriggerFor(app, connected, 'release', { publish: true });
  const deliver = async (changes: Record<string, unknown> = {}) => {
    const sample = samplePayload('github', 'release', { repository: 'acme/lander', now: app.clock.now() });
    const payload = structuredClone(sample) as { action: string; release: Record<string, unknown> };
    Object.assign(payload.release, changes);
    if (changes.body !== undefined) payload.action = 'edited';
    await app.request(...githubRequest(connected, payload, { event: 'release' }));
    await runAll(app);
  };
  await deliver();
  const draft = (await postsOf(app)).find((post) => post.id !== id);
  id = draft?.id ?? '';
  expect(draft?.status).toBe('draft');
  expect(await approval()).toMatchObject({
    state: 'waiting',
    askedById: null,
    askedBy: 'The release trigger',
  });
  path = `/dashboard/org_a/posts/${id}`;
  expect(await page(bob)).toContain('It takes two people: one asks, another approves.');
  const { hash: first = '' } = (await approval()) ?? {};
  expect((await send(bob, `${path}/approval`, { seen: first })).html).toContain(
    'A person must ask for the approval first',
  );
  await deliver({ body: 'Other notes', updated_at: '2026-11-20T12:30:00Z' });
  const { hash: second = '', askedById } = (await approval()) ?? {};
  expect([second === first, askedById]).toEqual([false, null]);
  await edit(ann, { status: 'asked' });
  await send(bob, `${path}/approval`, { seen: (await approval())?.hash ?? '', publish: 'on' });
  expect((await stored())?.status).toBe('published');
});
