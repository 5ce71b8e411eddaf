import { beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { deleteIntegration } from '../../src/integrations/store.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { form, signedIn, type Visit, type VisitPage } from '../support/dashboard.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import type { TestApp } from '../support/test-app.ts';

const LOG = '/dashboard/org_a/deliveries';

let app: TestApp;
let visitor: Visit;
let visit: VisitPage;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub({ organizations: ['org_a', 'org_b'] }));
  visitor = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  visit = (path, fields) => visitor(path, fields === undefined ? undefined : form(fields));
  for (const event of ['ping', 'push', 'release', 'gollum']) {
    const payload = samplePayload('github', event, { repository: 'acme/rocket', now: app.clock.now() }) ?? {};
    await app.request(...githubRequest(connected, payload, { event }));
    app.clock.advance(1);
  }
  await createTrigger(app.deps, {
    integrationId: connected.integrationId,
    event: 'release',
    contentType: 'changelog',
  });
});

const numberOf = (id: string) => Number(id.split('_')[1]);

/** Replayed entries of the log, by event. */
async function replayed(): Promise<(string | null)[]> {
  return (await logOf(app)).filter(({ replayOf }) => replayOf !== null).map(({ payload }) => payload.event);
}

test('the deliveries that match the filters are replayed and become drafts', async () => {
  const response = await visit(`${LOG}/replay`, { event: 'release' });
  expect(response.status).toBe(303);
  expect(response.headers.get('location')).toBe(`${LOG}?event=release`);
  expect(await replayed()).toEqual(['release']);
  await runAll(app);
  expect(await postsOf(app)).toMatchObject([{ title: 'Rocket 2.4.0: quieter engines', status: 'draft' }]);
});

test('without filters every delivery with data is replayed, but no replay', async () => {
  await visit(`${LOG}/replay`, {});
  const byId = (await logOf(app)).sort((one, other) => numberOf(one.id) - numberOf(other.id));
  expect(byId.slice(-2).map(({ payload }) => payload.event)).toEqual(['push', 'release']);
  await visit(`${LOG}/replay`, {});
  expect((await replayed()).sort()).toEqual(['push', 'push', 'release', 'release']);
  await runAll(app);
  expect(await postsOf(app)).toHaveLength(1);
});

test.each([{ status: 'ignored' }, { event: 'star' }, { integration: 'int_other' }])(
  'deliveries that cannot be replayed are skipped: %p',
  async (filter) => {
    expect((await visit(`${LOG}/replay`, filter)).status).toBe(303);
    expect(await replayed()).toEqual([]);
  },
);

test('deliveries of a disconnected integration are skipped', async () => {
  await app.db.write((tx) => deleteIntegration(tx, connected.integrationId));
  expect((await visit(`${LOG}/replay`, {})).status).toBe(303);
  expect(await replayed()).toEqual([]);
});

test('the log offers a replay with its filters, only when an entry can be replayed', async () => {
  const html = async (query: string) => (await visit(`${LOG}${query}`)).text();
  expect(await html('?event=release')).toContain('<input type="hidden" name="event" value="release"/>');
  expect(await html('')).toContain('data-all-matching');
  expect(await html('?status=ignored')).not.toContain('data-all-matching');
});

test('filters that few people need are behind "More", which opens when one of them is set', async () => {
  const folded = async (query: string) => {
    const html = await (await visit(`${LOG}${query}`)).text();
    const [, open, inside = ''] = /<details class="more-filters"( open)?>(.*?)<\/details>/s.exec(html) ?? [];
    const names = Array.from(inside.matchAll(/<select[^>]* name="(\w+)"/g), ([, name]) => name);
    return { isOpen: open !== undefined, names };
  };
  expect(await folded('?status=processed')).toEqual({
    isOpen: false,
    names: ['integration', 'event', 'result', 'via'],
  });
  expect((await folded('?event=push')).isOpen).toBe(true);
});

describe('selected deliveries', () => {
  const idOf = async (event: string) =>
    (await logOf(app)).find(({ payload }) => payload.event === event)?.id ?? '';
  const send = (...ids: string[]) => {
    const fields = new URLSearchParams([['selection', 'yes'], ...ids.map((id) => ['selected', id])]);
    return visitor(`${LOG}/replay`, { method: 'POST', body: fields });
  };

  test('are replayed, and no others', async () => {
    expect((await send(await idOf('push'))).status).toBe(303);
    expect(await replayed()).toEqual(['push']);
  });

  test('can be all that match, on every page of the log', async () => {
    const selected = await idOf('push');
    await visit(`${LOG}/replay`, { selection: 'yes', all: 'yes', selected });
    expect((await replayed()).sort()).toEqual(['push', 'release']);
  });

  test('that cannot be replayed are skipped', async () => {
    const response = await send(await idOf('ping'), await idOf('release'));
    expect(await replayed()).toEqual(['release']);
    expect(decodeURIComponent(response.headers.get('set-cookie') ?? '')).toContain('1 skipped');
  });

  test('of none replay nothing', async () => {
    await send();
    await send('', 'odd id', 'dlv_unknown');
    expect(await replayed()).toEqual([]);
  });

  test('of another organization stay out of reach', async () => {
    const other = await signedIn(app, { organizationId: 'org_b' });
    const fields = { selection: 'yes', selected: await idOf('release') };
    expect((await other('/dashboard/org_b/deliveries/replay', form(fields))).status).toBe(303);
    expect(await logOf(app, 'org_b')).toEqual([]);
    expect(await replayed()).toEqual([]);
  });
});
