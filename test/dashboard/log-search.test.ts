import { beforeEach, expect, test } from 'bun:test';
import { MAX_SEARCHED, MAX_STEPS } from '../../src/integrations/deliveries/log-store.ts';
import { insertDelivery, type NewDelivery } from '../../src/integrations/deliveries/store.ts';
import { pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { testSqlite } from '../support/database.ts';
import { logEntry } from '../support/deliveries.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// The search of the delivery log: titles, values of payloads, and ids.

const LOG = '/dashboard/org_a/deliveries';

let app: TestApp;
let visit: VisitPage;
let made = 0;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await pageVisitor(app);
});

/** Entries a second apart, the last the newest. */
async function add(...given: (Partial<NewDelivery> & { data?: Record<string, unknown> })[]) {
  await app.db.write(async (tx) => {
    for (const { data = null, ...fields } of given) {
      made++;
      const entry = logEntry({
        id: `dlv_${String(made).padStart(7, '0')}`,
        title: `Entry ${made}`,
        referenceId: `ref-${made}`,
        payload: { event: 'release', action: null, data },
        createdAt: new Date(app.clock.now().getTime() - 86_400_000 + made * 1000).toISOString(),
        ...fields,
      });
      await insertDelivery(tx, entry, app.clock.now());
    }
  });
}

async function search(q: string, more = '') {
  const response = await visit(`${LOG}?q=${encodeURIComponent(q)}${more}`);
  expect(response.status).toBe(200);
  const html = await response.text();
  const titles = Array.from(html.matchAll(/deliveries\/dlv_\w+">([^<]+)<\/a>/g), ([, title = '']) => title);
  return { html, titles };
}

test.each([
  ['part of a title', 'v2.4.0', ['Release v2.4.0']],
  ['a title in other case', 'RELEASE V2', ['Release v2.4.0']],
  ['a value of a payload', 'quieter engines', ['Other']],
  ['a value deep in a payload', 'ann@', ['Deep']],
  ['a number', '8612', ['Deep']],
  ['quotes and line ends as they stand in the text', 'say "hi" \\', ['Odd']],
  ['letters with accents', 'Grüße', ['Odd']],
  ['no key of a payload', 'tagName', []],
  ['no wildcards', '%', []],
  ['no wildcards', 'v2_4', []],
  ["the provider's id", 'my-reference', ['Named']],
  ['nothing of another organization', 'secret of org_b', []],
])('finds %s', async (_, q, titles) => {
  await add(
    { title: 'Release v2.4.0', data: { tagName: 'other' } },
    { title: 'Other', data: { tagName: 'x', body: 'Quieter engines' } },
    { title: 'Deep', data: { commits: [{ author: { email: 'ann@acme.example' }, number: 8612 }] } },
    { title: 'Odd', data: { body: 'They say "hi" \\\nGrüße' } },
    { title: 'Named', referenceId: 'my-reference' },
    { title: 'Hidden', organizationId: 'org_b', data: { body: 'secret of org_b' } },
  );
  expect((await search(q)).titles).toEqual(titles);
});

test('goes with the filters, and shows every match once over its pages', async () => {
  await add(
    ...Array.from({ length: 60 }, (_, at): Partial<NewDelivery> & { data: Record<string, unknown> } => ({
      title: `Entry ${at}`,
      data: { body: at % 2 === 0 ? 'needle' : 'hay' },
      status: at === 10 ? 'ignored' : 'processed',
    })),
  );
  expect((await search('needle', '&status=ignored')).titles).toEqual(['Entry 10']);
  const found: string[] = [];
  for (let path: string | undefined = `${LOG}?q=needle`; path !== undefined; ) {
    const html = await (await visit(path)).text();
    found.push(...Array.from(html.matchAll(/deliveries\/dlv_\w+">([^<]+)<\/a>/g), ([, title = '']) => title));
    path = /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
    if (path !== undefined) expect(path).toContain('q=needle');
  }
  expect(found).toEqual(Array.from({ length: 30 }, (_, at) => `Entry ${58 - 2 * at}`));
});

testSqlite('reads a bounded number of entries at a time, and says how far it came', async () => {
  const entries = MAX_STEPS * MAX_SEARCHED;
  await add({ title: 'The needle' }, ...Array.from({ length: entries }, () => ({ title: 'Hay' })));
  const first = await search('needle');
  expect(first.titles).toEqual([]);
  expect(first.html).toContain('Searched the newest entries, back to');
  const older = /href="([^"]+)" rel="next">Search older entries/.exec(first.html)?.[1];
  const second = await (await visit(older?.replaceAll('&amp;', '&') ?? '')).text();
  expect(second).toContain('The needle');
});

test('reads a bounded number of bytes at a time', async () => {
  const body = 'x'.repeat(1_000_000);
  await add({ title: 'The needle' }, ...Array.from({ length: 30 }, () => ({ title: 'Hay', data: { body } })));
  expect((await search('needle')).titles).toEqual(['The needle']);
});
