import { beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import type { Delivery } from '../../src/integrations/deliveries/store.ts';
import type { ContentType } from '../../src/posts/model.ts';
import { hostile, isHarmed, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { connectGithub, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let member: VisitPage;
let owner: VisitPage;
let integrationId: string;
let integration: string;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  owner = await pageVisitor(app);
  member = await pageVisitor(app, { role: 'member' });
  ({ integrationId } = await connectGithub(app, 'org_a'));
  integration = `/dashboard/org_a/integrations/${integrationId}`;
});

/** The path of a new trigger. */
async function pathOf(event: string, contentType: ContentType = 'changelog', more = {}): Promise<string> {
  const { id } = await createTrigger(app.deps, { integrationId, event, contentType, ...more });
  return `${integration}/triggers/${id}`;
}

/** Sends a test event. Returns its entry of the log. */
async function send(event: string): Promise<Delivery> {
  app.clock.advance(1000);
  await owner(`${integration}/test`, { event });
  return newest();
}

async function newest(organizationId = 'org_a'): Promise<Delivery> {
  const [entry] = await logOf(app, organizationId);
  if (entry === undefined) throw new Error('nothing was logged');
  return entry;
}

const textOf = async (path: string) => (await member(path)).text();

/** The deliveries that can be chosen. */
function offered(html: string): string[] {
  const select = /<select id="field-preview".*?<\/select>/s.exec(html)?.[0] ?? '';
  return Array.from(select.matchAll(/value="(\w+)"/g), ([, id = '']) => id).filter((id) => id !== 'sample');
}

function chosen(html: string): string | undefined {
  const option = /<option[^>]* selected[^>]*>/.exec(html)?.[0] ?? '';
  return /value="(\w+)"/.exec(option)?.[1];
}

describe('the preview', () => {
  test('links to the test event when there are no deliveries', async () => {
    await owner(`${integration}/test`, { event: 'ping' });
    const html = await textOf(await pathOf('release'));
    expect(html).toContain(`<a href="${integration}">Send a test event</a>`);
    expect(offered(html)).toEqual([]);
  });

  test('offers the 20 newest processed deliveries, without pings and replays', async () => {
    const path = await pathOf('release');
    const sent = [await send('release'), await send('push')];
    await send('ping');
    app.clock.advance(1000);
    await owner(`/dashboard/org_a/deliveries/${sent[0]?.id}/replay`, {});
    expect(offered(await textOf(path))).toEqual([sent[1]?.id ?? '', sent[0]?.id ?? '']);
    const ids: string[] = [];
    for (let number = 0; number < 20; number++) ids.unshift((await send('push')).id);
    expect(offered(await textOf(path))).toEqual(ids);
  });

  test('renders the posts and changes nothing', async () => {
    const path = await pathOf('release');
    const { id } = await send('release');
    const before = await allRows(app.db);
    const html = await textOf(`${path}?preview=${id}`);
    expect(await allRows(app.db)).toEqual(before);
    expect(chosen(html)).toBe(id);
    await runAll(app);
    const [post] = await postsOf(app);
    expect(html).toContain(`<h3 class="flat">${post?.title}</h3>`);
    expect(html).toMatch(/<div class="prose">.*<(?:p|h2|h3|li)>/s);
    expect(html).toContain(`<pre class="wrap">${post?.markdown.slice(0, 20)}`);
    expect(chosen(await textOf(path))).toBe(id);
  });

  test('shows a post for LinkedIn as plain text, with its source', async () => {
    const path = await pathOf('release', 'linkedin_post', { bodyTemplate: '- **{{ release.name }}**' });
    const { id } = await send('release');
    const html = await textOf(`${path}?preview=${id}`);
    expect(html).toMatch(/<div class="prose plain">• [^<*]+<\/div>/);
    expect(html).toMatch(/<pre class="wrap">- \*\*/);
  });

  test('cuts a long post', async () => {
    const path = await pathOf('release', 'changelog', { bodyTemplate: '- a line of many\n'.repeat(1_100) });
    const { id } = await send('release');
    const html = await textOf(`${path}?preview=${id}`);
    const lines = html.match(/<li>a line of many/g)?.length;
    expect(lines).toBeGreaterThan(500);
    expect(lines).toBeLessThan(700);
    expect(html).toContain('…');
  });

  test.each<[string, object, string]>([
    ['release', {}, 'it changes no post'],
    ['push', { filters: { branch: ['other'] } }, 'its event, its repository or the filters do not match'],
  ])('of a %s trigger with %j gives the reason why a push makes no post', async (event, given, why) => {
    const path = await pathOf(event, 'changelog', given);
    const { id } = await send('push');
    expect(await textOf(`${path}?preview=${id}`)).toContain(`<p class="note">No post: ${why}.</p>`);
  });

  test('offers an older delivery when it is the chosen one', async () => {
    const path = await pathOf('release');
    const first = await send('release');
    for (let number = 0; number < 20; number++) await send('push');
    const html = await textOf(`${path}?preview=${first.id}`);
    expect(offered(html)).toHaveLength(21);
    expect(chosen(html)).toBe(first.id);
    expect(html).toContain('class="prose"');
  });

  test.each(['none', '', hostile, 'x'.repeat(5_000), '\0'])('of %p is none', async (id) => {
    const path = await pathOf('release');
    await send('release');
    const response = await member(`${path}?preview=${encodeURIComponent(id)}`);
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(html).toContain('This delivery is no longer in the log.');
    expect(isHarmed(html)).toBe(false);
  });

  test("refuses another organization's deliveries and another integration's", async () => {
    const path = await pathOf('release');
    const foreign = await pageVisitor(app, { organizationId: 'org_b' });
    const theirs = await connectGithub(app, 'org_b', 'secret/plans');
    await foreign(`/dashboard/org_b/integrations/${theirs.integrationId}/test`, { event: 'release' });
    const secret = await newest('org_b');
    const html = await textOf(`${path}?preview=${secret.id}`);
    expect(html).toContain('This delivery is no longer in the log.');
    expect(html).not.toContain('secret/plans');

    app.clock.advance(1000);
    const other = await connectGithub(app, 'org_a', 'acme/other');
    await owner(`/dashboard/org_a/integrations/${other.integrationId}/test`, { event: 'release' });
    const elsewhere = await textOf(`${path}?preview=${(await newest()).id}`);
    expect(elsewhere).toContain('No post: it belongs to another integration.');
  });

  test('shows hostile text as text, and so does the rehearsal', async () => {
    const path = await pathOf('release', 'changelog', {
      titleTemplate: hostile,
      bodyTemplate: `${hostile}\n\n[a](javascript:alert(1))`,
    });
    const { id } = await send('release');
    for (const query of [`preview=${id}`, 'rehearse=yes']) {
      const html = await textOf(`${path}?${query}`);
      expect(html).toContain('class="prose"');
      expect(html).not.toContain('href="javascript');
      expect(isHarmed(html)).toBe(false);
    }
  });
});

describe('the preview of what is typed', () => {
  const typed = { contentType: 'changelog', bodyTemplate: 'Typed {{ release.tag }}' };

  test('renders the typed templates of a stored trigger, and saves nothing', async () => {
    const path = await pathOf('release', 'changelog', { bodyTemplate: 'Stored' });
    const { id } = await send('release');
    const before = await allRows(app.db);
    for (const preview of [id, 'sample']) {
      const html = await (await owner(`${path}/preview`, { ...typed, preview })).text();
      expect(html).toContain('<p>Typed v2.4.0</p>');
      expect(html).not.toContain('<!doctype');
    }
    const page = await owner(path, { ...typed, preview: id, action: 'preview' });
    const html = await page.text();
    expect(page.status).toBe(200);
    expect(html).toContain('<p>Typed v2.4.0</p>');
    expect(html).toContain('>\nTyped {{ release.tag }}</textarea>');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('works for a trigger that is not created yet', async () => {
    const { id } = await send('release');
    const before = await allRows(app.db);
    const fields = { ...typed, event: 'release', preview: id };
    const html = await (await owner(`${integration}/triggers/preview`, fields)).text();
    expect(html).toContain('<p>Typed v2.4.0</p>');
    const page = await (await owner(`${integration}/triggers`, { ...fields, action: 'preview' })).text();
    expect(page).toContain('<p>Typed v2.4.0</p>');
    expect(page).toContain('>\nTyped {{ release.tag }}</textarea>');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('starts with the newest delivery that makes a post, or with the sample', async () => {
    const path = await pathOf('release');
    const before = await textOf(path);
    expect(chosen(before)).toBe('sample');
    expect(before).toContain('class="prose"');
    const { id } = await send('release');
    await send('push');
    expect(chosen(await textOf(path))).toBe(id);
  });

  test('shows the line of an error in each template, and links to the fields', async () => {
    const path = await pathOf('release');
    const wrong = {
      titleTemplate: '{{ no.such }}',
      bodyTemplate: 'One\r\nTwo {{ release.nam }} end\r\nThree',
    };
    const html = await (await owner(`${path}/preview`, wrong)).text();
    expect(html).toContain('data-template-error="titleTemplate" data-line="1" data-column="4"');
    expect(html).toContain('data-template-error="bodyTemplate" data-line="2" data-column="8"');
    expect(html).toContain('Two {{ <mark>release.nam</mark> }} end');
    const page = await owner(path, { ...wrong, action: 'preview' });
    const shown = await page.text();
    expect(page.status).toBe(400);
    expect(shown).toContain('Two {{ <mark>release.nam</mark> }} end');
    expect(shown).toMatch(/data-line="2" data-column="8" id="field-bodyTemplate"/);
    expect(shown).toContain('No preview: correct the errors in the form first.');
  });

  test('keeps hostile text harmless in the excerpt', async () => {
    const path = await pathOf('release');
    const html = await (await owner(`${path}/preview`, { bodyTemplate: `${hostile}{{ no.such }}` })).text();
    expect(html).toContain('<mark>no.such</mark>');
    expect(isHarmed(html)).toBe(false);
  });

  test('a filter that cannot be saved is refused in words', async () => {
    const path = await pathOf('release');
    const html = await (await owner(`${path}/preview`, { tag: 'x'.repeat(300) })).text();
    expect(html).toMatch(/class="problem"><p>Tags [^<]+/);
  });

  test('"Use template" fills the fields and saves nothing', async () => {
    const path = await pathOf('release', 'changelog', { titleTemplate: 'Stored' });
    const before = await allRows(app.db);
    const fields = { tag: 'v2.*', action: 'start', starter: 'linkedin_post' };
    const html = await (await owner(path, fields)).text();
    expect(html).toContain('>\n{{ release.name }}</textarea>');
    expect(html).toMatch(/<option[^>]* selected[^>]*>LinkedIn post</);
    expect(html).toContain('value="v2.*"');
    const unknown = await owner(path, { action: 'start', starter: hostile, bodyTemplate: 'Kept' });
    expect(await unknown.text()).toContain('>\nKept</textarea>');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('is for owners, in their organization', async () => {
    const path = await pathOf('release');
    const before = await allRows(app.db);
    expect((await member(`${path}/preview`, typed)).status).toBe(403);
    expect((await member(`${integration}/triggers/preview`, { event: 'release' })).status).toBe(403);
    const stranger = await pageVisitor(app, { organizationId: 'org_b' });
    expect((await stranger(`${path}/preview`, typed)).status).toBe(404);
    const foreign = path.replace('org_a', 'org_b');
    expect((await stranger(`${foreign}/preview`, typed)).status).toBe(404);
    expect((await allRows(app.db)).triggers).toEqual(before.triggers as never);
  });
});
