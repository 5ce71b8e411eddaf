import { expect, test } from 'bun:test';
import { findTrigger } from '../../src/drafting/triggers/model.ts';
import { changeTrigger, createTrigger, deleteTrigger } from '../../src/drafting/triggers/service.ts';
import { cookieOf, form, hostile, isHarmed, signedIn } from '../support/dashboard.ts';
import { valuesOf } from '../support/database.ts';
import { connectGithub } from '../support/deliveries.ts';
import { formOf } from '../support/form-of.ts';
import { appWithOrganization } from '../support/test-app.ts';

// The templates of a trigger have a history, as the text of a post.

async function world() {
  const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  const { integrationId } = await connectGithub(app, 'org_a');
  const { id } = await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const path = `/dashboard/org_a/integrations/${integrationId}/triggers/${id}`;
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const stored = () => app.db.read((tx) => findTrigger(tx, id));
  const versions = () =>
    valuesOf(
      app.db,
      `select id, title, markdown from post_versions where post_id = '${id}' order by created_at, id`,
    );
  return { app, id, integrationId, path, visit, stored, versions };
}

test('each change of the templates is a version, which a person can compare and restore', async () => {
  const { app, path, visit, stored, versions } = await world();
  await visit(path, form({ contentType: 'changelog', bodyTemplate: hostile, titleTemplate: 'One' }));
  app.clock.advance(1000);
  await visit(
    path,
    form({ contentType: 'changelog', bodyTemplate: 'Two', titleTemplate: 'One', tag: 'v2.*' }),
  );
  // Neither a filter nor a save without a change is one.
  await visit(path, form({ contentType: 'changelog', bodyTemplate: 'Two', titleTemplate: 'One' }));
  const kept = await versions();
  expect(kept.map(([, title, body]) => [title, body])).toEqual([
    ['', ''],
    ['One', hostile],
    ['One', 'Two'],
  ]);
  const html = await (await visit(`${path}/versions`)).text();
  expect([html.includes('edited the trigger'), html.includes('Original templates'), isHarmed(html)]).toEqual([
    true,
    true,
    false,
  ]);
  expect(html.includes('<ins>Two</ins>')).toBe(true);

  const restored = await visit(`${path}/versions/${kept[0]?.[0]}/restore`, form());
  expect(restored.status).toBe(303);
  expect(decodeURIComponent(cookieOf(restored, 'tidings_notice') ?? '')).toContain('Version restored.');
  expect(await stored()).toMatchObject({ titleTemplate: null, bodyTemplate: null });
  expect(await versions()).toHaveLength(4);
  // The notice offers to take it back.
  const page = await visit(path, {
    headers: { cookie: `${visit.cookie}; ${cookieOf(restored, 'tidings_notice')}` },
  });
  expect((await page.text()).includes(`action="${path}/versions/${kept[2]?.[0]}/restore?seen=`)).toBe(true);
  const again = await visit(`${path}/versions/${kept[0]?.[0]}/restore`, form());
  expect(decodeURIComponent(cookieOf(again, 'tidings_notice') ?? '')).toContain(
    'already has these templates',
  );
});

test('a version is not restored over templates that the person has not seen', async () => {
  const { app, id, path, visit, stored, versions } = await world();
  await changeTrigger(app.deps, id, { bodyTemplate: 'One' });
  const [first] = await versions();
  const page = `${path}/versions?version=${first?.[0]}`;
  const to = `${path}/versions/${first?.[0]}/restore`;
  const send = async (body: URLSearchParams) => visit(to, { method: 'POST', body });
  const mine = formOf(await (await visit(page)).text(), to);
  app.clock.advance(1000);
  // A filter is in no version.
  await changeTrigger(app.deps, id, { bodyTemplate: 'Theirs', filters: { tag: ['v2.*'] } });
  const refused = await send(mine);
  const html = await refused.text();
  expect([refused.status, (await stored())?.bodyTemplate]).toEqual([409, 'Theirs']);
  for (const words of ['so nothing was done', '<del>One</del>', '<ins>Theirs</ins>'])
    expect(html).toContain(words);
  expect((await send(formOf(await (await visit(page)).text(), to))).status).toBe(303);
  expect(await stored()).toMatchObject({ bodyTemplate: null });
});

test('a trigger is not deleted with templates or filters that the person has not seen', async () => {
  const { app, id, path, visit, stored } = await world();
  await changeTrigger(app.deps, id, { bodyTemplate: 'One' });
  const to = `${path}/delete`;
  const send = async (body: URLSearchParams) => visit(to, { method: 'POST', body });
  const form = (html: string) => formOf(html, to);
  const changes: [change: Parameters<typeof changeTrigger>[2], words: string][] = [
    [{ bodyTemplate: 'Theirs' }, '<ins>Theirs</ins>'],
    [{ filters: { tag: ['v2.*'] } }, 'changed to v2.*'],
    [{ titleTemplate: 'Title' }, '<ins>Title</ins>'],
  ];
  for (const [change, words] of changes) {
    const mine = form(await (await visit(path)).text());
    app.clock.advance(1000);
    await changeTrigger(app.deps, id, change);
    const refused = await send(mine);
    const html = await refused.text();
    expect([refused.status, html.includes(words)]).toEqual([409, true]);
    expect(await stored()).not.toBeNull();
    // The page is the one of the trigger, and its form saves as before.
    const saved = await visit(path, { method: 'POST', body: formOf(html, path) });
    expect(saved.status).toBe(303);
  }
  expect((await send(form(await (await visit(path)).text()))).status).toBe(303);
  expect(await stored()).toBeNull();
});

test('the history is for members to read and for owners to restore, and goes with the trigger', async () => {
  const { app, id, path, visit, versions } = await world();
  await changeTrigger(app.deps, id, { bodyTemplate: 'One' });
  const [first] = await versions();
  const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  const stranger = await signedIn(app, { organizationId: 'org_b' });
  const seen = await member(`${path}/versions`);
  expect([seen.status, (await seen.text()).includes('Restore version')]).toEqual([200, false]);
  expect((await member(`${path}/versions/${first?.[0]}/restore`, form())).status).toBe(403);
  expect((await stranger(`${path}/versions`)).status).toBe(404);
  expect((await visit(`${path}/versions/ver_none/restore`, form())).status).toBe(404);
  await app.addPosts('org_a', { id: 'p', markdown: 'one' });
  expect((await visit(`/dashboard/org_a/posts/p/versions/${first?.[0]}/restore`, form())).status).toBe(404);
  await deleteTrigger(app.deps, id);
  expect(await versions()).toEqual([]);
});

test('the history goes with the integration', async () => {
  const { app, id, integrationId, visit, versions } = await world();
  await changeTrigger(app.deps, id, { bodyTemplate: 'One' });
  expect(await versions()).toHaveLength(2);
  await visit(`/dashboard/org_a/integrations/${integrationId}/disconnect`, form({ mark: 'm' }));
  expect(await versions()).toEqual([]);
});
