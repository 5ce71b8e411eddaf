import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { createTrigger, switchTrigger } from '../../src/drafting/triggers/service.ts';
import { findProvider, startHistory, stopHistory } from '../../src/intake/history/service.ts';
import { listHistories } from '../../src/intake/history/store.ts';
import { connectIntegration } from '../../src/integrations/connect.ts';
import { AppError } from '../../src/lib/app-error.ts';
import { ProviderProblem } from '../../src/providers/api.ts';
import { execute, valuesOf } from '../support/database.ts';
import { postsOf } from '../support/drafts.ts';
import type { Happening } from '../support/github-api/project.ts';
import { READS } from '../support/github-api/reading.ts';
import { day, goOn, importAll, request, startProject } from '../support/import.ts';
import { connectRocket, startProviderApp } from '../support/provider-app.ts';

const PAST: Happening[] = [
  { at: day(1), push: ['chore: start'] },
  { at: day(2), release: 'v1.0.0', notes: 'First.' },
];

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => {
      throw new Error('nothing failed');
    },
    (error: unknown) => error as Error,
  );

const counts = (app: { db: Parameters<typeof valuesOf>[0] }) =>
  valuesOf(
    app.db,
    sql`select (select count(*) from integrations), (select count(*) from triggers), (select count(*) from histories)`,
  );

test('a name alone, and every form of the URL, tell the provider', async () => {
  await using it = await startProject(PAST);
  const find = (text: string) => findProvider(it.app.deps, 'org_a', text);
  for (const text of [
    'acme/rocket',
    'https://github.com/acme/rocket',
    'git@github.com:acme/rocket.git',
    'github.com/acme/rocket/releases',
  ]) {
    expect(await find(text)).toBe('github');
  }
  expect(await failureOf(find('https://git.example.com/acme/rocket'))).toBeInstanceOf(AppError);
  // The organization has connected it.
  await connectIntegration(it.app.deps, 'forgejo', 'org_a', 'acme/rocket');
  expect(await find('Acme/Rocket')).toBe('forgejo');
  expect(await find('https://github.com/acme/rocket')).toBe('github');
});

describe('the first history of a repository', () => {
  test('creates an integration without webhooks and a trigger that drafts, and asks nobody for a token', async () => {
    await using it = await startProject(PAST);
    const history = await startHistory(
      it.app.deps,
      request({ repository: 'https://github.com/Acme/Rocket' }),
    );
    expect(history).toMatchObject({ status: 'queued', releases: null, since: null, publish: false });
    expect(await counts(it.app)).toEqual([[1, 1, 1]]);
    expect(
      await valuesOf(it.app.db, sql`select token is null, full_name from integrations, repositories`),
    ).toEqual([[1, 'acme/rocket']]);
    expect(
      await valuesOf(it.app.db, sql`select event, content_type, publish, enabled from triggers`),
    ).toEqual([['release', 'changelog', 0, 1]]);
    expect(await valuesOf(it.app.db, sql`select count(*) from hooks`)).toEqual([[0]]);
  });

  test.each([
    [
      'a repository that does not exist',
      { repository: 'acme/nothing' },
      'GitHub has no public repository acme/nothing.',
    ],
    ['a name of another form', { repository: 'rocket' }, 'A repository has the form OWNER/NAME'],
    ['an unknown organization', { organizationId: 'org_x' }, 'org_x'],
    ['a token that is none', { token: 'a b' }, 'The token must be'],
    ['a token that GitHub does not know', { token: 'github_pat_none' }, 'GitHub rejected the token'],
    ['no release', { releases: 0 }, 'releases'],
    ['too many releases', { releases: 10_001 }, 'releases'],
  ])('leaves nothing for %s', async (_, changes, message) => {
    await using it = await startProject(PAST);
    const error = await failureOf(startHistory(it.app.deps, request(changes)));
    expect(error).toBeInstanceOf('repository' in changes || 'token' in changes ? Error : AppError);
    expect(error.message).toContain(message);
    expect(await counts(it.app)).toEqual([[0, 0, 0]]);
  });

  test('keeps the token of a private repository, encrypted, and reads with it', async () => {
    await using it = await startProject(PAST);
    it.repository.isPrivate = true;
    expect(await failureOf(startHistory(it.app.deps, request()))).toBeInstanceOf(ProviderProblem);
    it.repository.rights.mona = 'read';
    const token = it.github.addToken(READS);
    expect(await importAll(it.app, { token })).toMatchObject({ status: 'done', found: 1 });
    const [[stored]] = (await valuesOf(it.app.db, sql`select token from integrations`)) as [[Uint8Array]];
    expect(Buffer.from(stored).includes(token)).toBe(false);
    expect(await postsOf(it.app)).toHaveLength(1);
    // Later ones need no token.
    expect(await importAll(it.app)).toMatchObject({ status: 'done' });
    expect(await counts(it.app)).toEqual([[1, 1, 2]]);
  });
});

describe('a repository that is connected', () => {
  test('is read with its own token, trigger and integration', async () => {
    await using world = await startProviderApp();
    const { integrationId, repository, token } = await connectRocket(world);
    repository.isPrivate = false;
    const { app } = world;
    const { id } = await createTrigger(app.deps, {
      integrationId,
      event: 'release',
      contentType: 'changelog',
    });
    expect(await startHistory(app.deps, request())).toMatchObject({ integrationId, triggerId: id });
    expect(await failureOf(startHistory(app.deps, request({ token })))).toMatchObject({
      status: 409,
      code: 'token_exists',
    });
  });

  test('gets a second trigger for the other content type', async () => {
    await using it = await startProject(PAST);
    const one = await startHistory(it.app.deps, request());
    const other = await startHistory(it.app.deps, request({ contentType: 'linkedin_post' }));
    expect(other.triggerId).not.toBe(one.triggerId);
    expect(await counts(it.app)).toEqual([[1, 2, 2]]);
  });

  test('is not read for a trigger that is disabled', async () => {
    await using it = await startProject(PAST);
    const { triggerId } = await startHistory(it.app.deps, request());
    await switchTrigger(it.app.deps, triggerId, false);
    expect(await failureOf(startHistory(it.app.deps, request()))).toMatchObject({
      status: 409,
      message: `The trigger ${triggerId}, which makes these posts, is disabled. Enable it, then import the releases.`,
    });
  });

  test('is found under its new name', async () => {
    await using it = await startProject(PAST);
    await importAll(it.app);
    it.github.rename(it.repository, 'acme/starship');
    await importAll(it.app, { repository: 'acme/starship' });
    expect(await counts(it.app)).toEqual([[1, 1, 2]]);
    expect(await postsOf(it.app)).toHaveLength(1);
  });

  test('is refused when another repository took its name', async () => {
    await using it = await startProject(PAST);
    await importAll(it.app);
    await execute(it.app.db, sql`update repositories set provider_id = 4711`);
    expect(await importAll(it.app)).toMatchObject({
      status: 'failed',
      problem: 'acme/rocket is another repository now. Disconnect it, then connect it again.',
    });
  });
});

describe('a history that is under way', () => {
  test('goes on for the same request, also with a span that names a later time', async () => {
    await using it = await startProject(PAST);
    const since = new Date('2025-11-20T12:00:00Z');
    const { id } = await startHistory(it.app.deps, request({ since }));
    const later = new Date(since.getTime() + 3_600_000);
    expect(await startHistory(it.app.deps, request({ since: later }))).toMatchObject({ id });
    expect(await counts(it.app)).toEqual([[1, 1, 1]]);
  });

  test.each([{ publish: true }, { releases: 1 }, { since: new Date(day(1)) }])(
    'gives way to another request: %j',
    async (changes) => {
      await using it = await startProject(PAST);
      const { id } = await startHistory(it.app.deps, request());
      const other = await startHistory(it.app.deps, request(changes));
      expect(other.id).not.toBe(id);
      expect(await goOn(it.app, id)).toMatchObject({ status: 'stopped' });
      expect(await goOn(it.app, other.id)).toMatchObject({ status: 'done' });
    },
  );

  test('can be stopped, by its own organization alone', async () => {
    await using it = await startProject(PAST);
    const { id } = await startHistory(it.app.deps, request());
    expect(await failureOf(stopHistory(it.app.deps, 'org_b', id))).toMatchObject({ status: 404 });
    expect(await stopHistory(it.app.deps, 'org_a', id)).toMatchObject({ status: 'stopped' });
    expect(await goOn(it.app, id)).toMatchObject({ status: 'stopped', found: 0 });
    expect(await stopHistory(it.app.deps, 'org_a', id)).toMatchObject({ status: 'stopped' });
    expect(await it.app.db.read((tx) => listHistories(tx, 'org_b'))).toEqual([]);
    expect(await it.app.db.read((tx) => listHistories(tx, 'org_a'))).toHaveLength(1);
  });

  test('fails when its trigger is deleted, and ends with its integration', async () => {
    await using it = await startProject(PAST);
    const { id } = await startHistory(it.app.deps, request());
    await execute(it.app.db, sql`delete from triggers`);
    expect(await goOn(it.app, id)).toMatchObject({ status: 'failed' });
    await execute(it.app.db, sql`delete from integrations`);
    expect(await it.app.db.read((tx) => listHistories(tx, 'org_a'))).toEqual([]);
  });
});
