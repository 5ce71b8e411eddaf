import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { readHistory } from '../../src/intake/history/read.ts';
import { editPost } from '../../src/posts/service.ts';
import { form, hostile, isHarmed, pageVisitor } from '../support/dashboard.ts';
import { execute, valuesOf } from '../support/database.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { formOf } from '../support/form-of.ts';
import type { Happening } from '../support/github-api/project.ts';
import { day, goOn, importAll, startProject } from '../support/import.ts';

const PAST: Happening[] = [
  { at: day(1), push: ['chore: start'] },
  { at: day(2), release: 'v1.0.0', name: 'One', notes: 'First.' },
  { at: day(4), release: 'v1.1.0', notes: 'Second.' },
];

const FIELDS = { repository: 'acme/rocket', contentType: 'changelog', span: 'all', token: '' };
const IMPORT = '/dashboard/org_a/import';

/** The project, an owner, and the path of an import that was started. */
async function started(fields: Partial<typeof FIELDS> = {}) {
  const it = await startProject(PAST);
  const owner = await pageVisitor(it.app);
  const response = await owner(IMPORT, { ...FIELDS, ...fields });
  const path = response.headers.get('location') ?? '';
  return { ...it, owner, path, id: path.split('/').at(-1) ?? '' };
}

describe('the form', () => {
  test('is the first of the first steps, and a page of its own', async () => {
    await using it = await startProject(PAST);
    const owner = await pageVisitor(it.app);
    const steps = await (await owner('/dashboard/org_a/start')).text();
    const [first] = steps.split('<li').slice(-6);
    expect(steps.indexOf('Import your release history')).toBeLessThan(steps.indexOf('Connect GitHub'));
    expect(steps).toContain(`action="${IMPORT}"`);
    expect(first).toBeDefined();
    const page = await (await owner(`${IMPORT}?repository=${encodeURIComponent(hostile)}`)).text();
    expect(page).toContain('Import releases');
    expect(isHarmed(page)).toBe(false);
    const member = await pageVisitor(it.app, { role: 'member' });
    expect((await member(IMPORT)).status).toBe(403);
    expect(await (await member('/dashboard/org_a/start')).text()).not.toContain(`action="${IMPORT}"`);
  });

  test('starts an import and leads to its page', async () => {
    await using it = await started();
    expect(it.path).toMatch(/^\/dashboard\/org_a\/import\/his_/);
    const page = await (await it.owner(it.path)).text();
    expect(page).toContain('Import of acme/rocket');
    expect(page).toContain('Reading');
    // A browser without scripts loads it again.
    expect(page).toContain(`<meta http-equiv="refresh" content="3; url=${it.path}"/>`);
  });

  test.each([
    [{ repository: '' }, 'Enter a repository, such as acme/rocket.'],
    [{ repository: 'rocket' }, 'A repository has the form OWNER/NAME'],
    [{ repository: 'acme/nope' }, 'GitHub has no public repository acme/nope.'],
    [
      { repository: 'https://git.example.com/acme/rocket' },
      'Must be OWNER/NAME or the URL of a repository at',
    ],
    [{ token: 'github_pat_none' }, 'GitHub rejected the token'],
    [{ token: 'a b' }, 'The token must be 1 to'],
  ] as [changes: { repository?: string; token?: string }, message: string][])(
    'shows what is wrong, and what was typed: %j',
    async (changes, message) => {
      await using it = await startProject(PAST);
      const owner = await pageVisitor(it.app);
      const response = await owner(IMPORT, { ...FIELDS, ...changes });
      expect(response.status).toBe(400);
      const html = await response.text();
      expect(html).toContain(message);
      if (changes.repository) expect(html).toContain(`value="${changes.repository}"`);
      if (changes.token) expect(html).not.toContain(changes.token === 'a b' ? 'value="a b"' : changes.token);
      expect(await valuesOf(it.app.db, sql`select count(*) from integrations`)).toEqual([[0]]);
    },
  );

  test('is handled once', async () => {
    await using it = await startProject(PAST);
    const owner = await pageVisitor(it.app);
    const marked = { ...FIELDS, mark: 'a mark' };
    await owner(IMPORT, marked);
    expect((await owner(IMPORT, marked)).headers.get('location')).toBe('/dashboard/org_a/integrations');
    expect(await valuesOf(it.app.db, sql`select count(*) from histories`)).toEqual([[1]]);
  });

  test.each([
    ['newest20', { releases: 20, since: null }],
    ['year', { releases: null, since: '2025-11-20T12:00:00.000Z' }],
    ['something else', { releases: 20, since: null }],
  ])('reads how far back: %s', async (span, expected) => {
    await using it = await started({ span });
    expect(await goOn(it.app, it.id)).toMatchObject(expected);
  });
});

describe('the page of an import', () => {
  test('shows the drafts when they are written, and publishes all of them', async () => {
    await using it = await started();
    await readHistory(it.app.deps, it.id);
    expect(await (await it.owner(it.path)).text()).toContain('Writing drafts of 2 releases: 0 written.');
    await runAll(it.app);
    const html = await (await it.owner(it.path)).text();
    expect(html).toContain('2 releases read. 2 drafts to review.');
    expect(html).toContain('>One</a>');
    expect(html).toContain('Publish all 2');
    expect(html).toContain('New releases of acme/rocket do not arrive yet.');
    expect(html).toMatch(/href="[^"]+\/token"[^>]*>Connect webhook/);
    expect(html).toMatch(/href="[^"]+\/polling"[^>]*>Use polling/);
    expect(html).not.toContain('http-equiv');
    for (const page of ['integrations', 'triggers']) {
      const listed = await (await it.owner(`/dashboard/org_a/${page}`)).text();
      expect(listed).toContain('<span class="tag soon">Not connected</span>');
    }
    const response = await it.owner(`${it.path}/publish`, {});
    expect(response.headers.get('location')).toBe(it.path);
    expect((await postsOf(it.app)).map(({ status, createdAt }) => [status, createdAt.slice(0, 10)])).toEqual([
      ['published', '2026-01-04'],
      ['published', '2026-01-02'],
    ]);
    expect(await (await it.owner(it.path)).text()).toContain('No drafts to review.');
  });

  test('publishes no draft that changed after the page was opened, and none without text', async () => {
    await using it = await started();
    await goOn(it.app, it.id);
    const opened = formOf(await (await it.owner(it.path)).text(), `${it.path}/publish`);
    const [one, two] = await postsOf(it.app);
    await editPost(it.app.deps, one?.id ?? '', { markdown: ' ' });
    it.app.clock.advance(1000);
    await editPost(it.app.deps, two?.id ?? '', { markdown: 'half a sente' });
    await it.owner(`${it.path}/publish`, Object.fromEntries(opened));
    expect((await postsOf(it.app)).map(({ status }) => status)).toEqual(['draft', 'draft']);
    const now = formOf(await (await it.owner(it.path)).text(), `${it.path}/publish`);
    await it.owner(`${it.path}/publish`, Object.fromEntries(now));
    expect((await postsOf(it.app)).map(({ status }) => status)).toEqual(['draft', 'published']);
  });

  test('is updated by the script, as a piece', async () => {
    await using it = await started();
    const reading = await (await it.owner(`${it.path}/state`)).text();
    expect(reading).toStartWith(`<div id="import" data-state="${it.path}/state">`);
    await goOn(it.app, it.id);
    expect(await (await it.owner(`${it.path}/state`)).text()).toStartWith('<div id="import">');
  });

  test('says why it waits, why it failed, and that it was stopped', async () => {
    await using it = await started();
    it.github.limits.anonymous = 0;
    await readHistory(it.app.deps, it.id);
    const waiting = await (await it.owner(it.path)).text();
    expect(waiting).toContain('Paused');
    expect(waiting).toContain(
      'GitHub allows 0 requests an hour without a token. To raise the limit, import again with a token. Reading continues',
    );
    expect(waiting).not.toContain('>One</a>');
    expect((await it.owner(`${it.path}/stop`, {})).status).toBe(303);
    expect(await (await it.owner(it.path)).text()).toContain('Stopped');

    it.github.limits.anonymous = 60;
    const again = (await it.owner(IMPORT, FIELDS)).headers.get('location') ?? '';
    it.repository.isPrivate = true;
    await readHistory(it.app.deps, again.split('/').at(-1) ?? '');
    expect(await (await it.owner(again)).text()).toContain('GitHub has no public repository acme/rocket.');
  });

  test('is for members of its organization; only owners stop it', async () => {
    await using it = await started();
    const stranger = await pageVisitor(it.app, { organizationId: 'org_b' });
    for (const path of [it.path, `${it.path}/state`]) {
      expect((await stranger(path)).status).toBe(404);
      expect((await stranger(path.replace('org_a', 'org_b'))).status).toBe(404);
    }
    for (const action of ['stop', 'publish']) {
      expect((await stranger(`${it.path.replace('org_a', 'org_b')}/${action}`, {})).status).toBe(404);
    }
    const member = await pageVisitor(it.app, { role: 'member' });
    expect((await member(it.path)).status).toBe(200);
    expect((await member(`${it.path}/stop`, {})).status).toBe(403);
    expect(form()).toBeDefined();
  });

  test('survives the end of its trigger', async () => {
    await using it = await started();
    await goOn(it.app, it.id);
    await execute(it.app.db, sql`delete from triggers`);
    expect((await it.owner(it.path)).status).toBe(200);
  });
});

describe('an integration that was only imported', () => {
  test('says so, offers to connect it, and lists its imports', async () => {
    await using it = await startProject(PAST);
    const { integrationId, id } = await importAll(it.app);
    const owner = await pageVisitor(it.app);
    const html = await (await owner(`/dashboard/org_a/integrations/${integrationId}`)).text();
    expect(html).toContain('Tidings has imported past releases. To get drafts of new ones');
    expect(html).toContain('Connect webhook');
    expect(html).toContain(`/dashboard/org_a/import/${id}`);
    expect(html).not.toContain('Set up by hand');
    const steps = await (await owner('/dashboard/org_a/start')).text();
    expect(steps).toContain('View the import');
    // It connects nothing.
    expect(steps).toContain('Connect provider');
  });

  test.each([false, true])('is taken over when it is connected with a token: %p', async (isFromItsPage) => {
    await using it = await startProject(PAST);
    const { integrationId } = await importAll(it.app);
    const token = it.github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
    const owner = await pageVisitor(it.app);
    if (isFromItsPage) {
      await owner(`/dashboard/org_a/integrations/${integrationId}/token`, { apiToken: token });
    } else {
      const html = await (
        await owner('/dashboard/org_a/integrations/github/choose', { apiToken: token })
      ).text();
      const offer = /name="offer" value="([^"]+)"/.exec(html)?.[1] ?? '';
      await owner('/dashboard/org_a/integrations/github/connect', { offer, place: 'acme/rocket' });
    }
    expect(it.repository.hooks).toHaveLength(1);
    expect(await valuesOf(it.app.db, sql`select id from integrations`)).toEqual([[integrationId]]);
    await it.github.settled();
    const html = await (await owner(`/dashboard/org_a/integrations/${integrationId}`)).text();
    expect(html).toContain('Tidings manages these webhooks with a GitHub token.');
    await it.project.send(it.project.happen({ at: day(9), release: 'v1.2.0', notes: 'Third.' }));
    await runAll(it.app);
    expect(await postsOf(it.app)).toHaveLength(3);
  });

  test('is taken over when it is connected by hand, with a new secret', async () => {
    await using it = await startProject(PAST);
    const { integrationId } = await importAll(it.app);
    const [[before]] = (await valuesOf(it.app.db, sql`select secret from integrations`)) as [[Uint8Array]];
    const owner = await pageVisitor(it.app);
    const html = await (
      await owner('/dashboard/org_a/integrations/github', { repository: 'acme/rocket' })
    ).text();
    expect(html).toContain(`/api/webhooks/github/org_a/${integrationId}/`);
    const [[after]] = (await valuesOf(it.app.db, sql`select secret from integrations`)) as [[Uint8Array]];
    expect(Buffer.from(after).equals(Buffer.from(before))).toBe(false);
  });
});
