import { beforeEach, describe, expect, test } from 'bun:test';
import { MAX_SCANNED } from '../../src/integrations/deliveries/log-store.ts';
import {
  type DeliveryStatus,
  insertDelivery,
  type NewDelivery,
} from '../../src/integrations/deliveries/store.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { hostile, isHarmed, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { connectGithub, connectLinear, githubRequest, logEntry, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { allRows } from '../support/rows.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const LOG = '/dashboard/org_a/deliveries';

let app: TestApp;
let visit: VisitPage;
let number: number;

beforeEach(async () => {
  app = createTestApp();
  number = 0;
  await app.addOrganization('org_a');
  await app.addOrganization('org_b');
  visit = await pageVisitor(app, { organizationId: 'org_a', role: 'member' });
});

/** Entries that differ in what is given, a second apart, the last the newest. */
async function addEntries(...given: Partial<NewDelivery>[]): Promise<NewDelivery[]> {
  const entries = given.map((fields): NewDelivery => {
    number++;
    return logEntry({
      id: `dlv_${String(number).padStart(6, '0')}`,
      title: `Entry ${number}`,
      referenceId: `ref-${number}`,
      createdAt: new Date(app.clock.now().getTime() - 86_400_000 + number * 1000).toISOString(),
      ...fields,
    });
  });
  await app.db.write(async (tx) => {
    for (const entry of entries) await insertDelivery(tx, entry, app.clock.now());
  });
  return entries;
}

async function titles(path: string): Promise<string[]> {
  const response = await visit(path);
  expect(response.status).toBe(200);
  return Array.from(
    (await response.text()).matchAll(/deliveries\/dlv_\w+">([^<]+)<\/a>/g),
    ([, title = '']) => title,
  );
}

const ago = (ms: number) => new Date(app.clock.now().getTime() - ms).toISOString();
const HOUR = 3_600_000;

describe('the log', () => {
  test.each([
    ['nothing', '', ['seven', 'six', 'five', 'four', 'three', 'two', 'one']],
    ['an integration', '?integration=int_x', ['six', 'four', 'three', 'two', 'one']],
    ['a provider', '?provider=linear', ['seven', 'five']],
    ['a status', '?status=failed', ['six', 'four']],
    ['processed ones', '?status=processed', ['seven', 'five', 'one']],
    ['an event', '?event=Issue', ['seven']],
    ['a status and an event', '?status=failed&event=release', ['four']],
    ['a status and an integration', '?status=ignored&integration=int_x', ['two']],
    ['the last hour', '?since=1h', ['seven', 'six']],
    ['the last day', '?since=24h', ['seven', 'six', 'five']],
    ['the last week', '?since=7d', ['seven', 'six', 'five', 'four', 'three', 'two']],
    ['the last month', '?since=30d', ['seven', 'six', 'five', 'four', 'three', 'two', 'one']],
    ["the provider's id", '?delivery=ref-3', ['three']],
    ["the entry's id", '?delivery=dlv_000004', ['four']],
    ['an id and a status that it has not', '?delivery=ref-3&status=processed', []],
    ['everything at once', '?integration=int_x&provider=github&status=failed&event=push&since=1h', ['six']],
    [
      'values that mean nothing',
      '?status=odd&provider=odd&since=odd&integration=%00&before=odd',
      ['seven', 'six', 'five', 'four', 'three', 'two', 'one'],
    ],
  ])('is narrowed to %s', async (_, query, expected) => {
    await addEntries(
      { title: 'one', createdAt: ago(8 * 24 * HOUR) },
      { title: 'two', status: 'ignored', createdAt: ago(70 * HOUR) },
      { title: 'three', status: 'rejected', createdAt: ago(60 * HOUR) },
      {
        title: 'four',
        status: 'failed',
        createdAt: ago(50 * HOUR),
        payload: { event: 'release', action: null, data: null },
      },
      {
        title: 'five',
        integrationType: 'linear',
        integrationId: 'int_y',
        createdAt: ago(5 * HOUR),
        payload: { event: 'Project', action: null, data: null },
      },
      { title: 'six', status: 'failed', createdAt: ago(HOUR / 2) },
      {
        title: 'seven',
        integrationType: 'linear',
        integrationId: 'int_y',
        createdAt: ago(HOUR / 4),
        payload: { event: 'Issue', action: null, data: null },
      },
    );
    expect(await titles(`${LOG}${query}`)).toEqual(expected);
  });

  test('paging shows every entry once, those of one moment too', async () => {
    const at = ago(HOUR);
    await addEntries(
      ...Array.from({ length: 173 }, (_, index) => (index % 3 === 0 ? {} : { createdAt: at })),
    );
    const seen: string[] = [];
    let path: string | undefined = `${LOG}?event=push`;
    while (path !== undefined) {
      const html: string = await (await visit(path)).text();
      seen.push(...Array.from(html.matchAll(/<tr id="(\w+)"/g), ([, id = '']) => id));
      path = /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
      if (path !== undefined) expect(path).toContain('event=push');
    }
    expect(seen).toEqual((await logOf(app)).map(({ id }) => id));
    expect(new Set(seen).size).toBe(173);
  });

  test('a search for a rare entry reads a bounded number of entries at a time', async () => {
    await addEntries(
      { title: 'rare', payload: { event: 'rare', action: null, data: null } },
      ...Array.from({ length: MAX_SCANNED }, () => ({})),
    );
    const html = await (await visit(`${LOG}?event=rare`)).text();
    expect(html).toContain('No matches so far');
    const next = /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(await titles(next)).toEqual(['rare']);
  });

  test('another organization has its own', async () => {
    await addEntries({ organizationId: 'org_b', title: 'secret', referenceId: 'shared' });
    const [own] = await addEntries({ title: 'own', referenceId: 'shared', createdAt: ago(90 * HOUR) });
    for (const query of ['', '?delivery=shared', '?integration=int_x', '?status=processed']) {
      expect(await titles(`${LOG}${query}`)).toEqual(['own']);
    }
    for (const id of ['dlv_000001', 'nothing', 'x'.repeat(300), '%3Cb%3E']) {
      expect((await visit(`${LOG}/${id}`)).status).toBe(404);
      expect((await visit(`${LOG}/${id}/replay`, {})).status).toBe(404);
    }
    expect(await (await visit(`${LOG}/shared`)).text()).toContain(own?.id as string);
    expect((await visit('/dashboard/org_b/deliveries')).status).toBe(404);
  });

  test('the live tail answers with the rows that came since, and no page', async () => {
    const [old] = await addEntries(
      {},
      { title: 'new', createdAt: ago(0) },
      { title: 'other', createdAt: ago(0), status: 'failed' },
    );
    const after = encodeURIComponent(`${old?.createdAt}_${old?.id}`);
    app.clock.advance(10_000);
    const html = await (
      await visit(`${LOG}?status=processed&after=${encodeURIComponent(ago(9_000))}_dlv_1`)
    ).text();
    expect(html).toStartWith('<tr id="dlv_000002"');
    expect(html).not.toContain('other');
    expect(html).not.toContain('<html');
    expect(await (await visit(`${LOG}?event=none&after=${after}`)).text()).toBe('');
  });

  test('an empty log says how to begin', async () => {
    expect(await (await visit(LOG)).text()).toContain('Connect provider');
    const { integrationId } = await connectLinear(app, 'org_a');
    expect(await (await visit(LOG)).text()).toContain(`/integrations/${integrationId}#test`);
    expect(await (await visit(`${LOG}?status=failed`)).text()).toContain('No deliveries match these filters');
    const older = await (await visit(`${LOG}?before=${encodeURIComponent(ago(HOUR))}_dlv_1`)).text();
    expect(older).toContain('The log has no older entries');
  });
});

describe('an entry', () => {
  test('shows hostile text as text, everywhere', async () => {
    const [entry] = await addEntries({
      title: hostile,
      reason: hostile,
      status: 'failed',
      referenceId: hostile,
      sameBodyAs: hostile,
      payload: {
        event: hostile,
        action: hostile,
        data: { [hostile]: hostile, list: [{ [hostile]: [hostile] }] },
      },
    });
    for (const path of [
      LOG,
      `${LOG}/${entry?.id}`,
      `${LOG}?event=${encodeURIComponent(hostile)}`,
      `${LOG}?delivery=${encodeURIComponent(hostile)}`,
      `${LOG}/${encodeURIComponent(hostile)}`,
    ]) {
      const html = await (await visit(path)).text();
      expect(html, path).toContain('&lt;script');
      expect(isHarmed(html), path).toBe(false);
    }
  });

  test('a large payload is shown in part', async () => {
    const deep = Array.from({ length: 30 }).reduce<object>((inner) => ({ inner }), { end: 'END' });
    const [entry] = await addEntries({
      payload: {
        event: 'push',
        action: 'x',
        data: { deep, many: Array.from({ length: 3000 }, (_, at) => at), text: 'y'.repeat(50_000) },
      },
    });
    const html = await (await visit(`${LOG}/${entry?.id}`)).text();
    expect(html.length).toBeLessThan(60_000);
    expect(html).not.toContain('END');
  });

  test.each<[DeliveryStatus, string]>([
    ['ignored', "Ignored deliveries can't be replayed. Redeliver from GitHub."],
    ['rejected', "Rejected deliveries can't be replayed. Redeliver from GitHub."],
    ['failed', "Failed deliveries can't be replayed. Redeliver from GitHub."],
    ['duplicate', "Duplicate deliveries can't be replayed. Replay the first one instead."],
    ['processed', "This delivery can't be replayed. Its event creates no drafts."],
  ])('one that is %s cannot be replayed, and says why', async (status, why) => {
    const { integrationId } = await connectGithub(app, 'org_a');
    const [entry] = await addEntries({ status, integrationId });
    expect(await (await visit(`${LOG}/${entry?.id}`)).text()).toContain(why);
    const before = await allRows(app.db);
    const refused = await visit(`${LOG}/${entry?.id}/replay`, {});
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain(why);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('a rejected one says what its provider can do', async () => {
    const { integrationId } = await connectLinear(app, 'org_a');
    const [entry] = await addEntries({
      status: 'rejected',
      integrationId,
      integrationType: 'linear',
    });
    const html = await (await visit(`${LOG}/${entry?.id}`)).text();
    expect(html).not.toContain('Redeliver from');
    expect(html).toContain("Rejected deliveries can't be replayed. Linear lists no deliveries.");
  });

  test('of an event with a sample offers owners to send one', async () => {
    const { integrationId } = await connectGithub(app, 'org_a');
    const payload = { event: 'release', action: 'published', data: null };
    const [entry] = await addEntries({ integrationId, payload });
    const owner = await pageVisitor(app, { organizationId: 'org_a', role: 'owner' });
    const to = `/dashboard/org_a/integrations/${integrationId}/test`;
    const html = await (await owner(`${LOG}/${entry?.id}`)).text();
    expect(html).toContain(`action="${to}"`);
    expect(html).toContain(`tidings send github release --integration ${integrationId}`);
    expect((await owner(to, { event: 'release' })).status).toBe(303);
    expect((await logOf(app))[0]).toMatchObject({ status: 'processed' });
    expect(await (await visit(`${LOG}/${entry?.id}`)).text()).not.toContain(`action="${to}"`);
  });

  test('of an integration that is gone, and of one that shares an entry', async () => {
    const [entry] = await addEntries({
      count: 1_234,
      status: 'rejected',
      payload: { event: null, action: null, data: null },
      referenceId: null,
    });
    const html = await (await visit(`${LOG}/${entry?.id}`)).text();
    expect(html).toContain("This delivery can't be replayed. Its integration is disconnected.");
    expect(html).toContain('1,234 such deliveries');
  });

  test('how long it is kept follows from when it came', async () => {
    await changeOrganization(app.deps, 'org_a', { plan: 'pro' });
    const [entry] = await addEntries({ retentionDays: 7, createdAt: ago(2 * 24 * HOUR) });
    expect(await (await visit(`${LOG}/${entry?.id}`)).text()).toContain('>in 5 days</time>');
    expect(await (await visit(LOG)).text()).toContain('kept for 30 days');
  });
});

test('nothing that is read writes', async () => {
  await addEntries({}, {});
  const before = await allRows(app.db);
  for (const path of [LOG, `${LOG}/dlv_000001`, `${LOG}?after=2026-01-01T00:00:00.000Z_x`]) await visit(path);
  expect(await allRows(app.db)).toEqual(before);
  expect(await runAll(app)).toBe(0);
  expect(await postsOf(app)).toEqual([]);
});

test('a refused signature says why, and leads to the integrations that are meant', async () => {
  const connected = await connectGithub(app, 'org_a');
  const other = await connectGithub(app, 'org_a', 'acme/pad');
  const entryOf = async (secret: string) => {
    app.clock.advance(60_000);
    await app.request(...githubRequest(connected, '{"body":"private"}', { event: 'push', secret }));
    const [entry] = await logOf(app);
    return (await visit(`${LOG}/${entry?.id}`)).text();
  };
  const linkTo = ({ integrationId }: { integrationId: string }, name: string) =>
    `<a href="/dashboard/org_a/integrations/${integrationId}">Open the integration ${name}</a>`;

  const mixedUp = await entryOf(other.secret);
  expect(mixedUp).toContain(
    'The delivery was signed with the secret of another integration of this organization',
  );
  expect(mixedUp).toContain(`GitHub, acme/pad (${other.integrationId})`);
  expect(mixedUp).toContain(linkTo(connected, 'acme/rocket'));
  expect(mixedUp).toContain(linkTo(other, 'acme/pad'));
  // The sender's body is not kept, and the cause is not shown in its place.
  expect(mixedUp).toContain('Tidings keeps only the data of processed deliveries.');
  expect(mixedUp).not.toContain('private');

  const surrounded = await entryOf(`${connected.secret}\n`);
  expect(surrounded).toContain('and a line break after it. Set the secret again at GitHub');
  expect(surrounded).toContain(linkTo(connected, 'acme/rocket'));
  expect(surrounded).not.toContain(linkTo(other, 'acme/pad'));
});
