import { beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { listIntegrations, revealSecret } from '../../src/integrations/store.ts';
import { hostile, isHarmed, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { connectGithub, connectLinear, githubRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

const BASE = '/dashboard/org_a';
const LIST = `${BASE}/integrations`;

let app: TestApp;
let visit: VisitPage;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await pageVisitor(app);
});

const textOf = async (path: string) => (await visit(path)).text();
const locationOf = (response: Response) => response.headers.get('location') ?? '';

describe('connecting', () => {
  test('connect, send a test event, find it in the log, open it, replay it', async () => {
    const connected = await visit(`${LIST}/github`, { repository: ' acme/rocket ' });
    expect(connected.status).toBe(200);
    expect(connected.headers.get('cache-control')).toBe('no-store');
    const html = await connected.text();
    const [integration] = await app.db.read((tx) => listIntegrations(tx, 'org_a'));
    const id = integration?.id as string;
    expect(integration?.repositories).toMatchObject([{ fullName: 'acme/rocket' }]);
    expect(html).toContain(await revealSecret(app.deps, id));
    expect(html).toContain(`https://tidings.test/api/webhooks/github/org_a/${id}/`);
    expect(html).toContain('application/json');
    await createTrigger(app.deps, { integrationId: id, event: 'release', contentType: 'changelog' });

    expect(await textOf(`${LIST}/${id}`)).toContain('<option value="release" selected>');
    const sent = await visit(`${LIST}/${id}/test`, { event: 'release' });
    expect(sent.status).toBe(303);
    const [entry] = await logOf(app);
    expect(entry).toMatchObject({ status: 'processed', payload: { event: 'release' } });
    expect(locationOf(sent)).toBe(`${BASE}/deliveries/${entry?.id}`);
    expect(await textOf(`${BASE}/deliveries`)).toContain(`deliveries/${entry?.id}"`);
    expect(await textOf(locationOf(sent))).toContain('Writing the draft…');

    await runAll(app);
    const [post] = await postsOf(app);
    const page = await textOf(locationOf(sent));
    expect(page).toContain(`${BASE}/posts/${post?.id}"`);
    expect(page).toContain(`tidings send github release --integration ${id}`);

    app.clock.advance(1000);
    const replayed = await visit(`${BASE}/deliveries/${entry?.id}/replay`, {});
    const [second] = await logOf(app);
    expect(second).toMatchObject({ replayOf: entry?.id as string });
    expect(locationOf(replayed)).toBe(`${BASE}/deliveries/${second?.id}`);
    expect(await textOf(locationOf(replayed))).toContain(`${BASE}/deliveries/${entry?.id}"`);
    await runAll(app);
    expect(await postsOf(app)).toHaveLength(1);
  });

  test('Linear has no repository, and every sample of both is taken', async () => {
    const html = await (await visit(`${LIST}/linear`, {})).text();
    expect(html).toContain('Project updates');
    await connectGithub(app, 'org_a');
    for (const { id } of await app.db.read((tx) => listIntegrations(tx, 'org_a'))) {
      const events = Array.from(
        (await textOf(`${LIST}/${id}`)).matchAll(/<option value="(\w+)">\1</g),
        ([, name]) => name,
      );
      expect(events.length).toBeGreaterThan(3);
      for (const event of events) {
        const page = await textOf(locationOf(await visit(`${LIST}/${id}/test`, { event: event ?? '' })));
        expect(page, event).toContain('tag processed');
      }
    }
  });

  test.each([[''], ['acme'], ['acme/rocket/x'], [hostile], ['a b/c']])(
    '%p is no repository',
    async (repository) => {
      const before = await allRows(app.db);
      const refused = await visit(`${LIST}/github`, { repository });
      expect(refused.status).toBe(400);
      const html = await refused.text();
      expect(html).toContain('id="field-repository-github-error"');
      expect(html).toContain('must be OWNER/NAME');
      expect(isHarmed(html)).toBe(false);
      if (repository === 'acme') expect(html).toContain('value="acme"');
      expect(await allRows(app.db)).toEqual(before);
    },
  );

  test.each([['https://github.com/acme/rocket/pulls'], ['git@github.com:acme/rocket.git']])(
    '%p connects the repository that it names',
    async (repository) => {
      const html = await (await visit(`${LIST}/github`, { repository })).text();
      expect(html).toContain('acme/rocket is almost connected');
      expect(html).toContain('href="https://github.com/acme/rocket/settings/hooks/new"');
      expect(await app.db.read((tx) => listIntegrations(tx, 'org_a'))).toMatchObject([
        { repositories: [{ fullName: 'acme/rocket' }] },
      ]);
    },
  );

  test('the URL of another site is refused, and stays in the field', async () => {
    const refused = await visit(`${LIST}/github`, { repository: 'https://gitlab.com/acme/rocket' });
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain('must be OWNER/NAME or the URL of a repository at github.com');
    expect(html).toContain('value="https://gitlab.com/acme/rocket"');
    expect(await app.db.read((tx) => listIntegrations(tx, 'org_a'))).toEqual([]);
  });

  test('a secret is shown once: in no other response, and in no log line', async () => {
    await visit(`${LIST}/github`, { repository: 'acme/rocket' });
    const id = (await app.db.read((tx) => listIntegrations(tx, 'org_a')))[0]?.id as string;
    const first = await revealSecret(app.deps, id);
    const rotated = await visit(`${LIST}/${id}/secret`, {});
    const second = await revealSecret(app.deps, id);
    expect(second).not.toBe(first);
    expect(await rotated.text()).toContain(second);
    const sent = await visit(`${LIST}/${id}/test`, { event: 'push' });
    const pages = [
      LIST,
      `${LIST}/${id}`,
      `${BASE}/deliveries`,
      locationOf(sent),
      `${LIST}/${id}/triggers/new?event=push`,
    ];
    const answers = await Promise.all([
      ...pages.map(textOf),
      JSON.stringify(app.logged),
      JSON.stringify(await allRows(app.db)),
    ]);
    for (const secret of [first, second]) {
      expect(answers.filter((answer) => answer.includes(secret))).toEqual([]);
    }
  });

  test('a form that is sent again makes nothing, and tells no secret', async () => {
    const markOf = async (path: string) =>
      /name="mark" value="([^"]+)"/.exec(await textOf(path))?.[1] ?? expect.unreachable();
    const connect = { repository: 'acme/rocket', mark: await markOf(LIST) };
    expect((await visit(`${LIST}/github`, connect)).status).toBe(200);
    expect(locationOf(await visit(`${LIST}/github`, connect))).toBe(LIST);
    const [integration, ...others] = await app.db.read((tx) => listIntegrations(tx, 'org_a'));
    expect(others).toEqual([]);

    const path = `${LIST}/${integration?.id}`;
    const rotate = { mark: await markOf(path) };
    expect((await visit(`${path}/secret`, rotate)).status).toBe(200);
    const before = await allRows(app.db);
    expect(locationOf(await visit(`${path}/secret`, rotate))).toBe(path);
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe('an integration', () => {
  test('that is disabled refuses, says so, and takes again when enabled', async () => {
    const { integrationId } = await connectGithub(app, 'org_a');
    const path = `${LIST}/${integrationId}`;
    expect((await visit(`${path}/disable`, {})).status).toBe(303);
    const html = await textOf(path);
    expect(html).toContain('tag disabled');
    expect(html).toContain('the log will show the test event as rejected');
    const refused = await visit(`${path}/test`, { event: 'push' });
    expect(locationOf(refused)).toBe(`${BASE}/deliveries?integration=${integrationId}`);
    expect(await logOf(app)).toMatchObject([{ status: 'rejected', statusCode: 403 }]);
    const [entry] = await logOf(app);
    expect(await textOf(`${BASE}/deliveries/${entry?.id}`)).toContain('The integration is disabled');
    await visit(`${path}/enable`, {});
    expect(await textOf(path)).toContain('tag active');
  });

  test('that is disconnected leaves its log', async () => {
    const { integrationId } = await connectLinear(app, 'org_a');
    await visit(`${LIST}/${integrationId}/test`, { event: 'Issue' });
    const gone = await visit(`${LIST}/${integrationId}/disconnect`, {});
    expect(locationOf(gone)).toBe(LIST);
    expect(await app.db.read((tx) => listIntegrations(tx))).toEqual([]);
    const [entry] = await logOf(app);
    const page = await textOf(`${BASE}/deliveries/${entry?.id}`);
    expect(page).toContain('Linear, disconnected');
    expect(await textOf(`${BASE}/deliveries?integration=${integrationId}`)).toContain(
      `deliveries/${entry?.id}`,
    );
    expect((await visit(`${BASE}/deliveries/${entry?.id}/replay`, {})).status).toBe(409);
  });

  test('has a picture of its days, and the same in words', async () => {
    const connected = await connectGithub(app, 'org_a');
    const payload = { zen: 'x', repository: { id: 7, full_name: 'acme/rocket' } };
    await app.request(...githubRequest(connected, payload));
    await app.request(...githubRequest(connected, payload, { event: 'gollum' }));
    const html = await textOf(LIST);
    expect(html).toContain('aria-label="2 deliveries in 30 days: 1 processed, 1 ignored"');
    expect(html).toMatch(/<path class="ignored"/);
    expect(html).not.toContain(' style=');
    app.clock.advance(31 * 86_400_000);
    visit = await pageVisitor(app);
    const quiet = await textOf(LIST);
    expect(quiet).toContain('No deliveries in 30 days.');
    expect(quiet).not.toContain('<figure');
  });

  test.each([
    ['test', { event: 'push' }],
    ['enable', {}],
    ['disable', {}],
    ['secret', {}],
    ['disconnect', {}],
    ['triggers', { event: 'push' }],
  ])(
    "%s: another organization's is not there, and members are refused",
    async (action, form: Record<string, string>) => {
      const foreign = await connectGithub(app, 'org_b');
      const own = await connectGithub(app, 'org_a');
      const member = await pageVisitor(app, { role: 'member' });
      const before = await allRows(app.db);
      expect((await visit(`${LIST}/${foreign.integrationId}/${action}`, form)).status).toBe(404);
      expect((await visit(`${LIST}/nothing/${action}`, form)).status).toBe(404);
      expect((await member(`${LIST}/${own.integrationId}/${action}`, form)).status).toBe(403);
      expect(await allRows(app.db)).toEqual(before);
    },
  );

  test("another organization's page is not there; members see theirs without the actions of owners", async () => {
    const foreign = await connectGithub(app, 'org_b');
    const own = await connectGithub(app, 'org_a');
    expect((await visit(`${LIST}/${foreign.integrationId}`)).status).toBe(404);
    expect(await textOf(LIST)).not.toContain(foreign.integrationId);
    const member = await pageVisitor(app, { role: 'member' });
    for (const path of [LIST, `${LIST}/${own.integrationId}`]) {
      const html = await (await member(path)).text();
      expect(html).toContain('Owners');
      expect(html).not.toMatch(/action="[^"]*integrations/);
    }
    for (const path of ['github', 'linear']) {
      expect((await member(`${LIST}/${path}`, { repository: 'a/b' })).status).toBe(403);
    }
  });

  test('an event without a sample is refused', async () => {
    const { integrationId } = await connectGithub(app, 'org_a');
    for (const event of ['', 'gollum', 'Issue', '__proto__', hostile]) {
      expect((await visit(`${LIST}/${integrationId}/test`, { event })).status).toBe(400);
    }
    expect(await logOf(app)).toEqual([]);
  });
});
