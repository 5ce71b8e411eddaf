import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { connectGithub, connectLinear, githubRequest, linearRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// "Result", on the page of a delivery.

let app: TestApp;
let visit: VisitPage;
let connected: Connected;

beforeEach(async () => {
  app = await appWithOrganization();
  visit = await pageVisitor(app, { role: 'member' });
  connected = await connectGithub(app, 'org_a');
});

async function trigger(event: string, integrationId = connected.integrationId, more = {}): Promise<string> {
  const { id } = await createTrigger(app.deps, { integrationId, event, contentType: 'changelog', ...more });
  return id;
}

const sample = (event: string, changes: Record<string, unknown>, repository = 'acme/rocket') => {
  const payload = samplePayload('github', event, { repository, now: app.clock.now() });
  if (payload === null) throw new Error(`no sample of ${event}`);
  return changed(payload, changes);
};

/** Sends a delivery, and lets the triggers do their work. Returns the path of its page. */
async function send([path, init]: [string, RequestInit]): Promise<string> {
  app.clock.advance(60_000);
  expect((await app.request(path, init)).status).toBe(200);
  await runAll(app);
  const [entry] = await logOf(app);
  return `/dashboard/org_a/deliveries/${entry?.id}`;
}

const push = (subject: string, to = connected, repository = 'acme/rocket') => {
  const sha = Bun.SHA1.hash(subject, 'hex');
  const timestamp = app.clock.now().toISOString();
  const url = `https://github.com/${repository}/commit/${sha}`;
  const commit = { id: sha, message: subject, author: { name: 'Ann' }, url, timestamp };
  const pushedAt = Math.floor(app.clock.now().getTime() / 1000);
  const changes = { commits: [commit], after: sha, 'repository.pushed_at': pushedAt };
  return send(githubRequest(to, sample('push', changes, repository), { event: 'push' }));
};

/** The titles of the posts that a delivery's page names. */
async function caused(path: string): Promise<string[]> {
  const html = await (await visit(path)).text();
  const section = /<section aria-labelledby="result".*?<\/section>/s.exec(html)?.[0] ?? '';
  return Array.from(
    section.matchAll(/<a href="[^"]*\/posts\/[^"]*">([^<]*)<\/a>/g),
    ([, title = '']) => title,
  );
}

const UNRELEASED = 'Unreleased: acme/rocket';

describe('a delivery caused', () => {
  test('the draft that includes it, also after later deliveries', async () => {
    await trigger('push');
    const paths = [await push('feat: one'), await push('feat: two'), await push('feat: three')];
    for (const path of paths) expect(await caused(path)).toEqual([UNRELEASED]);
    expect(await postsOf(app)).toHaveLength(1);
  });

  test('the published post, and not the next draft', async () => {
    await trigger('push');
    const before = [await push('feat: one'), await push('feat: two')];
    const [post] = await postsOf(app);
    await editPost(app.deps, post?.id ?? '', { status: 'published' });
    await editPost(app.deps, post?.id ?? '', { title: 'Out now' });
    const after = await push('feat: three');
    for (const path of before) expect(await caused(path)).toEqual(['Out now']);
    expect(await caused(after)).toEqual([UNRELEASED]);
  });

  test('a suggestion for an edited post', async () => {
    await trigger('push');
    await push('feat: one');
    const [post] = await postsOf(app);
    await editPost(app.deps, post?.id ?? '', { title: 'Mine' });
    const path = await push('feat: two');
    expect(await caused(path)).toEqual(['Mine']);
    expect(await (await visit(path)).text()).toContain('Review suggestion');
  });

  test('a post of each trigger that matches it', async () => {
    await trigger('release');
    await trigger('release', connected.integrationId, { contentType: 'linkedin_post' });
    const release = (action: string) =>
      send(githubRequest(connected, sample('release', { action }), { event: 'release' }));
    const [published, edited] = [await release('published'), await release('edited')];
    expect(await caused(published)).toHaveLength(2);
    expect(await caused(edited)).toHaveLength(2);
  });

  test('no post, when its commit is in the draft as a pull request', async () => {
    await trigger('pull_request');
    const sha = Bun.SHA1.hash('feat: one', 'hex');
    const pull = { 'pull_request.merge_commit_sha': sha };
    const merged = await send(
      githubRequest(connected, sample('pull_request', pull), { event: 'pull_request' }),
    );
    const pushed = await push('feat: one');
    expect(await caused(merged)).toEqual([UNRELEASED]);
    expect(await caused(pushed)).toEqual([]);
  });

  test('no post about a pull request with the same number in another repository', async () => {
    const { integrationId, repositoryId = '', webhookUrl } = connected;
    await execute(
      app.db,
      sql`insert into repositories (id, integration_id, full_name, created_at)
      values ('repo_2', ${integrationId}, 'acme/second', '2026-11-20T12:00:00.000Z')`,
    );
    const second = {
      ...connected,
      repositoryId: 'repo_2',
      webhookUrl: webhookUrl.replace(repositoryId, 'repo_2'),
    };
    const other = await connectGithub(app, 'org_a', 'acme/other');
    await trigger('pull_request');
    await trigger('pull_request', other.integrationId);
    const merge = (to: Connected, repository: string) =>
      send(githubRequest(to, sample('pull_request', {}, repository), { event: 'pull_request' }));
    const paths = [
      await merge(connected, 'acme/rocket'),
      await merge(second, 'acme/second'),
      await merge(other, 'acme/other'),
    ];
    const titles = [UNRELEASED, 'Unreleased: acme/second', 'Unreleased: acme/other'];
    for (const [at, path] of paths.entries()) expect(await caused(path)).toEqual([titles[at] ?? '']);
  });

  test('the draft of a team, for each of its issues', async () => {
    const linear = await connectLinear(app, 'org_a');
    await trigger('issue', linear.integrationId);
    const complete = (id: string) => {
      const payload = samplePayload('linear', 'Issue', { now: app.clock.now() });
      if (payload === null) throw new Error('no sample of Issue');
      return send(linearRequest(linear, changed(payload, { 'data.id': id })));
    };
    const paths = [await complete('one'), await complete('two')];
    const [post] = await postsOf(app);
    for (const path of paths) expect(await caused(path)).toEqual([post?.title ?? '-']);
  });
});
