import { beforeEach, describe, expect, test } from 'bun:test';
import type { WriteTx } from '../../db/engine.ts';
import { kinds, listTriggers } from '../../src/drafting/triggers/model.ts';
import {
  type DueRun,
  delayRun,
  giveUpRun,
  listRuns,
  postponeRun,
  queueRun,
} from '../../src/drafting/triggers/queue-store.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { providerOf } from '../../src/providers/index.ts';
import { cookieOf, hostile, isHarmed, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { connectGithub, connectLinear } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let visit: VisitPage;
let path: string;
let integrationId: string;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await pageVisitor(app);
  ({ integrationId } = await connectGithub(app, 'org_a'));
  path = `/dashboard/org_a/integrations/${integrationId}`;
});

const textOf = async (at: string) => (await visit(at)).text();
const stored = () => app.db.read((tx) => listTriggers(tx, { integrationId }));

describe('creating a trigger', () => {
  test('the form has the filters of the event, and the built-in templates in grey', async () => {
    const html = await textOf(`${path}/triggers/new?event=release&contentType=linkedin_post`);
    for (const name of ['branch', 'tag', 'noPrereleases', 'publish'])
      expect(html).toContain(`name="${name}"`);
    expect(html).not.toContain('name="team"');
    expect(html).toContain('placeholder="{{ release.name }}"');
    expect(html).toContain('Leave empty for every branch.');
    const rolling = await textOf(`${path}/triggers/new?event=push`);
    expect(rolling).not.toContain('name="publish"');
    expect(rolling).toContain('Leave empty for the default branch.');
  });

  test('stores the fields as typed', async () => {
    const made = await visit(`${path}/triggers`, {
      event: 'release',
      contentType: 'changelog',
      tag: ' v2.*, v3.* ,, ',
      branch: '',
      noPrereleases: 'yes',
      publish: 'yes',
      titleTemplate: 'New: {{ release.name }}',
      bodyTemplate: 'One\r\n\r\n{{ release.notes }}',
    });
    const [trigger] = await stored();
    expect(made.headers.get('location')).toBe(`${path}/triggers/${trigger?.id}`);
    expect(trigger).toMatchObject({
      filters: { prereleases: false, tag: ['v2.*', 'v3.*'] },
      publish: true,
      enabled: true,
      repositoryId: null,
      titleTemplate: 'New: {{ release.name }}',
      bodyTemplate: 'One\n\n{{ release.notes }}',
    });
    expect(await textOf(path)).toContain('tag v2.*, v3.*; no pre-releases');
  });

  test('drafts of past releases are offered when some are known', async () => {
    const newRelease = `${path}/triggers/new?event=release`;
    expect(await textOf(newRelease)).not.toContain('name="last"');
    await visit(`${path}/test`, { event: 'release' });
    expect(await textOf(newRelease)).toContain('name="last"');
    expect(await textOf(`${path}/triggers/new?event=push`)).not.toContain('name="last"');
    const form = { event: 'release', contentType: 'changelog', publish: 'yes' };
    const refused = await visit(`${path}/triggers`, { ...form, last: '99' });
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain('id="field-last-error"');
    expect(html).toContain('value="99"');
    const made = await visit(`${path}/triggers`, { ...form, last: '5' });
    expect(made.status).toBe(303);
    await runAll(app);
    expect((await postsOf(app)).map(({ status }) => status)).toEqual(['draft']);
    await visit(`${path}/triggers`, { ...form, contentType: 'linkedin_post', last: '' });
    await runAll(app);
    expect(await postsOf(app)).toHaveLength(1);
  });

  test.each<[string, Record<string, string>, number, string]>([
    ['a title that does not parse', { titleTemplate: '{{ x' }, 400, 'titleTemplate'],
    ['a body with an unknown name', { bodyTemplate: '{{ relase.name }}' }, 400, 'bodyTemplate'],
    ['a body that means harm', { bodyTemplate: `${hostile}{{ nothing }}` }, 400, 'bodyTemplate'],
    ['a filter that is too long', { tag: 'x'.repeat(300) }, 400, 'tag'],
    ['too many values', { tag: Array.from({ length: 30 }, (_, at) => `v${at}`).join() }, 400, 'tag'],
    ['a branch that is too long', { branch: 'x'.repeat(300) }, 400, 'branch'],
  ])('%s is refused next to its field, which keeps its text', async (_, given, status, field) => {
    const before = await allRows(app.db);
    const refused = await visit(`${path}/triggers`, {
      event: 'release',
      contentType: 'changelog',
      branch: 'kept',
      ...given,
    });
    expect(refused.status).toBe(status);
    const html = await refused.text();
    expect(html).toContain(`id="field-${field}-error"`);
    if (field !== 'branch') expect(html).toContain('value="kept"');
    expect(isHarmed(html)).toBe(false);
    expect(await allRows(app.db)).toEqual(before);
  });

  test.each([
    ['an event of the other provider', { event: 'issue' }, 400],
    ['no event', { event: '' }, 400],
    ["an object's own names", { event: 'constructor' }, 400],
    ['a repository that is not one of its', { event: 'push', repository: hostile }, 404],
    ['the same once more', { event: 'push', contentType: 'changelog' }, 409],
  ])('%s is refused', async (_, form: Record<string, string>, status) => {
    await createTrigger(app.deps, { integrationId, event: 'push', contentType: 'changelog' });
    const before = await allRows(app.db);
    const refused = await visit(`${path}/triggers`, form);
    expect(refused.status).toBe(status);
    expect(isHarmed(await refused.text())).toBe(false);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('the form of every event creates a trigger', async () => {
    const linear = await connectLinear(app, 'org_a');
    for (const event of Object.keys(kinds)) {
      const isGithub = Object.hasOwn(providerOf('github').triggerEvents, event);
      const at = `/dashboard/org_a/integrations/${isGithub ? integrationId : linear.integrationId}/triggers`;
      expect((await visit(`${at}/new?event=${event}`)).status).toBe(200);
      expect((await visit(at, { event, contentType: 'linkedin_post' })).status).toBe(303);
    }
  });
});

describe('a trigger', () => {
  let one: string;
  let triggerId: string;

  beforeEach(async () => {
    const { id } = await createTrigger(app.deps, {
      integrationId,
      event: 'release',
      contentType: 'changelog',
    });
    triggerId = id;
    one = `${path}/triggers/${id}`;
  });

  test('is rehearsed on the log, which changes nothing', async () => {
    expect(await textOf(`${one}?rehearse=yes`)).toContain('No posts. No delivery in the log');
    await visit(`${path}/test`, { event: 'release' });
    const before = await allRows(app.db);
    const html = await textOf(`${one}?rehearse=yes`);
    expect(html).toContain('<div id="rehearsal">');
    expect(await allRows(app.db)).toEqual(before);
    await runAll(app);
    const [post] = await postsOf(app);
    expect(html.split(`>${post?.title}</h3>`)).toHaveLength(3);
    expect(html).toContain('<div class="prose">');
    expect(html).toContain(`<pre class="wrap">${post?.markdown.slice(0, 20)}`);
    expect((await textOf(one)).split(`>${post?.title}</h3>`)).toHaveLength(2);
  });

  test('is disabled, enabled and deleted', async () => {
    await visit(`${one}/disable`, {});
    expect(await stored()).toMatchObject([{ enabled: false }]);
    expect(await textOf(one)).toContain('tag disabled');
    await visit(`${one}/enable`, {});
    expect(await stored()).toMatchObject([{ enabled: true }]);
    const deleted = await visit(`${one}/delete`, {});
    expect(deleted.headers.get('location')).toBe(path);
    expect(await stored()).toEqual([]);
    expect((await visit(one)).status).toBe(404);
  });

  /** Queues a run, and records how it failed. */
  async function failRun(
    { scope = 'main', attempts = 0 },
    record: (tx: WriteTx, run: DueRun, next: Date) => Promise<void>,
  ): Promise<void> {
    const now = app.clock.now();
    const run = { triggerId, scope, since: now.toISOString(), deliveryId: scope };
    await app.db.write(async (tx) => {
      await queueRun(tx, run, now);
      await record(tx, { ...run, revision: 1, attempts } as DueRun, new Date(now.getTime() + 10_000));
    });
  }

  test('shows the next attempt of a run that failed once', async () => {
    await failRun({}, (tx, run, next) => postponeRun(tx, run, 'no luck', next));
    const html = await textOf(one);
    expect(html).toContain('Retrying soon');
    expect(html).toContain('Branch <code>main</code>, after delivery');
    expect(html).not.toMatch(/repo_\w+ main/);
    expect(html).toContain('>in 10 s</time>');
    expect(html).not.toContain(`${one}/retry`);
    const other = await createTrigger(app.deps, {
      integrationId,
      event: 'release',
      contentType: 'linkedin_post',
    });
    const path = one.replace(triggerId, other.id);
    expect(await textOf(path)).not.toContain('no luck');
    for (const [saved, contentType, notice] of [
      [one, 'changelog', 'Retrying its failed runs.'],
      [path, 'linkedin_post', 'Existing drafts change with their next event.'],
    ] as const) {
      const response = await visit(saved, { contentType, bodyTemplate: saved });
      expect(decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '')).toContain(notice);
    }
  });

  test('shows a failure of the system without counting an attempt', async () => {
    await failRun({}, (tx, run, next) => delayRun(tx, run, 'database or disk is full', next));
    const html = await textOf(one);
    expect(html).toContain('database or disk is full');
    expect(html).toContain('queued');
    expect(html).not.toContain('tried 0 times');
  });

  test('shows the error of a run that was given up, and retries it', async () => {
    await failRun({ scope: hostile, attempts: 4 }, (tx, run) => giveUpRun(tx, run, hostile));
    for (const at of [path, one]) {
      const html = await textOf(at);
      expect(html).toContain('given up');
      expect(html).toContain('tried 5 times');
      expect(html).toContain(`${one}/retry`);
      expect(isHarmed(html)).toBe(false);
    }
    const member = await pageVisitor(app, { role: 'member' });
    expect((await member(`${one}/retry`, {})).status).toBe(303);
    expect(await app.db.read((tx) => listRuns(tx, {}))).toMatchObject([{ status: 'queued', attempts: 0 }]);
  });

  test.each(['', '/', '/enable', '/disable', '/delete', '/retry'])(
    "of another's is not there: %p",
    async (name) => {
      // Of the page itself '' is reading it, and '/' changing it.
      const action = name.replace(/\/$/, '');
      const foreign = await connectGithub(app, 'org_b');
      const second = await connectGithub(app, 'org_a', 'acme/other');
      const { id } = await createTrigger(app.deps, {
        integrationId: foreign.integrationId,
        event: 'push',
        contentType: 'changelog',
      });
      const before = await allRows(app.db);
      const form = name === '' ? undefined : {};
      for (const at of [
        `${path}/triggers/${id}`,
        `/dashboard/org_a/integrations/${foreign.integrationId}/triggers/${id}`,
        `/dashboard/org_a/integrations/${second.integrationId}/triggers/${triggerId}`,
      ]) {
        expect((await visit(`${at}${action}`, form)).status).toBe(404);
      }
      const member = await pageVisitor(app, { organizationId: 'org_b', role: 'member' });
      expect((await member(`${one}${action}`, form)).status).toBe(404);
      expect((await allRows(app.db)).triggers).toEqual(before.triggers as never);
    },
  );

  test('shows hostile templates and filters as text', async () => {
    const { id } = await createTrigger(app.deps, {
      integrationId,
      event: 'push',
      contentType: 'changelog',
      titleTemplate: hostile,
      bodyTemplate: hostile,
      filters: { branch: [hostile] },
    });
    await visit(`${path}/test`, { event: 'push' });
    for (const at of [path, `${path}/triggers/${id}?rehearse=yes`]) {
      const html = await textOf(at);
      expect(html).toContain('&lt;script');
      expect(isHarmed(html)).toBe(false);
    }
  });
});
