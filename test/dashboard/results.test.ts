import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { listTriggers } from '../../src/drafting/triggers/model.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import { deleteTrigger, type NewTrigger, switchTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { deletePost } from '../../src/posts/service.ts';
import { cookieOf, hostile, isHarmed, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { appWithGithub } from '../support/deliveries.ts';
import { createTriggerFor, deliverSample, postsOf, runAll } from '../support/drafts.ts';
import type { TestApp } from '../support/test-app.ts';

// The results of a delivery: on its page, and in its row of the log.

const LOG = '/dashboard/org_a/deliveries';
const TITLE = 'Rocket 2.4.0: quieter engines';

let app: TestApp;
let connected: Connected;
let visit: VisitPage;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub({ organizations: ['org_a', 'org_b'] }));
  visit = await pageVisitor(app);
});

const create = (event: string, more?: Partial<NewTrigger>) => createTriggerFor(app, connected, event, more);

/** Sends a sample, and returns the path of its page. */
const deliver = async (event: string, changes?: Record<string, unknown>) =>
  `${LOG}/${await deliverSample(app, connected, event, changes)}`;

const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([.,:])/g, '$1')
    .trim();

async function pageOf(path: string): Promise<string> {
  const response = await visit(path);
  expect(response.status).toBe(200);
  return response.text();
}

/** The words of the section "Result". */
const result = async (path: string) =>
  wordsOf(/<section aria-labelledby="result".*?<\/section>/s.exec(await pageOf(path))?.[0] ?? '');

/** The words of the newest row's result in the log. */
async function row(): Promise<string> {
  const html = await pageOf(LOG);
  return wordsOf(/<td data-label="Result">(.*?)<\/td>/s.exec(html)?.[1] ?? '');
}

describe('a delivery whose draft', () => {
  test('is being written says so, and its page updates itself', async () => {
    await create('release');
    const path = await deliver('release');
    expect(await result(path)).toContain('Writing the draft…');
    expect(await row()).toBe('Writing…');
    expect(await pageOf(path)).toContain(`<meta http-equiv="refresh" content="3; url=${path}?again=1"/>`);
    // Once is enough: the run may have failed.
    expect(await pageOf(`${path}?again=1`)).not.toContain('http-equiv="refresh"');
    const fragment = await pageOf(`${path}/result`);
    expect(fragment).toStartWith('<section aria-labelledby="result"');
    expect(fragment).toContain('data-pending');
    await runAll(app);
    const after = await pageOf(`${path}/result`);
    expect(after).not.toContain('data-pending');
    expect(wordsOf(after)).toContain(`Draft ready: ${TITLE}`);
    expect(await pageOf(path)).not.toContain('http-equiv="refresh"');
    expect(await row()).toBe('1 draft');
  });

  test('is updated by a later delivery names it', async () => {
    await create('release');
    await deliver('release');
    await runAll(app);
    const path = await deliver('release', { action: 'edited', 'release.body': 'Other words' });
    await runAll(app);
    expect(await result(path)).toContain(`Draft updated: ${TITLE}`);
    expect(await row()).toBe(`Updates ${TITLE}`);
  });

  test('was deleted says so', async () => {
    await create('release');
    const path = await deliver('release');
    await runAll(app);
    await deletePost(app.deps, (await postsOf(app))[0]?.id ?? '');
    expect(await result(path)).toContain('Somebody deleted the draft.');
    expect(await row()).toBe('1 draft');
  });

  test('failed has the error, the next try, and a retry', async () => {
    await create('release');
    const path = await deliver('release');
    await runTriggers(app.deps, () => Promise.reject(new Error(hostile)));
    const html = await pageOf(path);
    expect(html).toContain('The draft failed');
    expect(isHarmed(html)).toBe(false);
    expect(await result(path)).toContain('Next retry');
    expect(html).toMatch(/triggers\/trg_\w+\/retry/);
    expect(await row()).toBe('Draft failed');
  });

  test('failed is retried by saving its trigger, which says so', async () => {
    const { id, integrationId } = await create('release');
    await deliver('release');
    await runTriggers(app.deps, () => Promise.reject(new Error('Broken')));
    const trigger = `/dashboard/org_a/integrations/${integrationId}/triggers/${id}`;
    const save = async () =>
      decodeURIComponent(
        cookieOf(await visit(trigger, { contentType: 'changelog' }), 'tidings_notice') ?? '',
      );
    expect(await save()).toContain('Trigger saved. Retrying its failed runs.');
    const integration = `/dashboard/org_a/integrations/${integrationId}`;
    const sections = [`${integration}/runs`, `${integration}/runs?trigger=${id}`];
    // The script replaces the section of the page by these until nothing is pending.
    for (const page of [integration, trigger]) expect(await pageOf(page)).toContain('data-pending');
    for (const section of sections) {
      const html = await pageOf(section);
      expect(html).toContain('data-pending');
      expect(html).toContain('Retrying soon');
    }
    await runAll(app);
    for (const section of sections) {
      const html = await pageOf(section);
      expect(html).not.toContain('data-pending');
      expect(html).toContain('No failed runs are left.');
    }
    expect(await pageOf(trigger)).not.toContain('Failed runs');
    expect(await row()).toBe('1 draft');
    expect(await save()).toContain('Trigger saved. Existing drafts change with their next event.');
  });

  test('failed beside another is named in the log, and its trigger by its filters', async () => {
    await create('release');
    await create('release', {
      filters: { tag: ['v2.*'] },
      bodyTemplate: '{% if release.isPrerelease %}{{ 1 | divided_by: 0 }}{% endif %}{{ release.notes }}',
    });
    const path = await deliver('release', { 'release.prerelease': true });
    await runAll(app);
    expect(await row()).toBe('1 draft, 1 failed');
    const words = await result(path);
    expect(words).toContain('Published releases, Changelog, tag v2.*');
    expect(words).toContain(`Draft ready: ${TITLE} Trigger: Published releases, Changelog Open draft`);
  });
});

describe('a delivery without a draft says why:', () => {
  test('there is no trigger at all', async () => {
    expect(await result(await deliver('release'))).toContain('this integration has no triggers');
    expect(await row()).toBe('No trigger');
  });

  test('no trigger is for its event', async () => {
    await create('pull_request');
    const path = await deliver('release');
    await runAll(app);
    expect(await result(path)).toContain('no open draft for the release to close');
    expect(await result(path)).toContain('no trigger matches this event');
    expect(await pageOf(path)).toContain(`action="${path}/trigger"`);
  });

  test('the trigger is disabled', async () => {
    await create('release', { enabled: false });
    expect(await result(await deliver('release'))).toContain('the trigger is disabled');
  });

  test('the trigger was created later', async () => {
    const path = await deliver('release');
    await create('release');
    expect(await result(path)).toContain('the trigger was not enabled when this delivery arrived');
  });

  test('the trigger was disabled or deleted before it ran', async () => {
    const { id } = await create('release');
    const path = await deliver('release');
    await switchTrigger(app.deps, id, false);
    expect(await result(path)).toContain('Enable it to write the draft');
    expect(await pageOf(`${path}/result`)).not.toContain('data-pending');
    expect(await row()).toBe('Trigger is disabled');
    await deleteTrigger(app.deps, id);
    expect(await result(path)).toContain('The trigger was deleted before it wrote a draft');
  });

  test.each([
    ['release', { filters: { tag: ['nightly-*'] } }, {}, 'The tag does not match. Filter: tag nightly-*'],
    [
      'release',
      { filters: { prereleases: false } },
      { 'release.prerelease': true },
      'It is a pre-release. Filter: no pre-releases',
    ],
    ['release', { filters: { branch: ['next'] } }, {}, 'The branch does not match. Filter: branch next'],
    [
      'pull_request',
      { filters: { label: ['public'] } },
      { 'pull_request.labels': [] },
      'No label matches. Filter: label public',
    ],
  ])('%s: a filter excludes it: %j', async (event, more, changes, words) => {
    await create(event, more);
    const path = await deliver(event, changes);
    await runAll(app);
    expect(await result(path)).toContain(words);
    expect(await row()).toBe('Filtered out');
  });

  test('it belongs to a later release', async () => {
    await create('release');
    const path = await deliver('push');
    await runAll(app);
    expect(await result(path)).toContain('Collected for the next release');
    expect(await row()).toBe('Waits for a release');
  });

  test('it is only an edit', async () => {
    await create('release');
    const path = await deliver('release', { action: 'edited' });
    await runAll(app);
    expect(await result(path)).toContain('An edit alone creates no draft');
    expect(await row()).toBe('No changes');
  });
});

describe('the first trigger', () => {
  test('is created in one click, and the delivery becomes its draft', async () => {
    const path = await deliver('release');
    expect(await pageOf(path)).toContain(`action="${path}/trigger"`);
    const response = await visit(`${path}/trigger`, {});
    expect(response.status).toBe(303);
    await runAll(app);
    expect(await result(response.headers.get('location') ?? '')).toContain(`Draft ready: ${TITLE}`);
    expect(await row()).toBe('1 draft');
    // Sent twice, it replays alone.
    expect((await visit(`${path}/trigger`, {})).status).toBe(303);
    expect(await app.db.read((tx) => listTriggers(tx, { organizationId: 'org_a' }))).toHaveLength(1);
    await runAll(app);
    expect(await postsOf(app)).toHaveLength(1);
  });

  test('is not offered to members, who cannot create it either', async () => {
    const path = await deliver('release');
    const member = await pageVisitor(app, { role: 'member' });
    expect(await (await member(path)).text()).toContain('An owner can create a trigger');
    expect((await member(`${path}/trigger`, {})).status).toBe(403);
  });

  test('is not created for a delivery without an event', async () => {
    const path = await deliver('ping');
    expect((await visit(`${path}/trigger`, {})).status).toBe(409);
    expect(await app.db.read((tx) => listTriggers(tx, { organizationId: 'org_a' }))).toEqual([]);
  });

  test('is not created from another organization', async () => {
    const path = await deliver('release');
    const other = await pageVisitor(app, { organizationId: 'org_b' });
    const foreign = path.replace('org_a', 'org_b');
    for (const [page, fields] of [[foreign], [`${foreign}/result`], [`${foreign}/trigger`, {}]] as const) {
      expect((await other(page, fields)).status).toBe(404);
    }
    expect(await app.db.read((tx) => listTriggers(tx, {}))).toEqual([]);
  });
});

describe('the log', () => {
  test('is filtered by result', async () => {
    await create('release', { filters: { tag: ['v*'] } });
    await deliver('release');
    await deliver('release', { 'release.tag_name': 'nightly' });
    await deliver('push');
    await deliver('pull_request', { 'pull_request.merged': true });
    await runAll(app);
    await execute(app.db, sql`delete from delivery_results where event_key like 'pull_request%'`);
    const count = async (query: string) =>
      [...(await pageOf(`${LOG}${query}`)).matchAll(/<tr id="dlv_/g)].length;
    expect(await count('?result=draft')).toBe(1);
    expect(await count('?result=filtered')).toBe(1);
    expect(await count('?result=waiting')).toBe(1);
    expect(await count('?result=none')).toBe(1);
    expect(await count('?result=failed')).toBe(0);
    expect(await count('?result=odd')).toBe(4);
  });

  test('offers the events of the connected providers', async () => {
    const html = await pageOf(`${LOG}?event=custom`);
    for (const event of ['push', 'release', 'custom']) expect(html).toContain(`<option value="${event}"`);
    expect(html).not.toContain('<option value="ProjectUpdate"');
  });

  test('sends the rows whose draft was being written', async () => {
    await create('release');
    const path = await deliver('release');
    const id = path.slice(LOG.length + 1);
    await runAll(app);
    const html = await pageOf(`${LOG}?pending=${id},dlv_unknown,%00`);
    expect([...html.matchAll(/<tr id="(\w+)"/g)].map(([, each]) => each)).toEqual([id]);
    expect(wordsOf(html)).toContain('1 draft');
  });
});
