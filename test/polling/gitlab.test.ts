import { expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectPolled } from '../../src/intake/polling/connect.ts';
import { pollDue } from '../../src/intake/polling/poll.ts';
import { repositoryReaders } from '../../src/providers/index.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { commitOf, mergeOf, releaseOf, startRocket } from '../support/gitlab-api/rocket.ts';
import { appWithOrganization } from '../support/test-app.ts';

test('a project at GitLab is polled by the same code, without a token', async () => {
  using rocket = startRocket();
  const { gitlab, project, clock } = rocket;
  const app = await appWithOrganization({
    clock,
    openReader: repositoryReaders({ gitlab: gitlab.url }),
    providerUrls: { gitlab: gitlab.url },
  });
  project.visibility = 'public';
  project.releases.push(releaseOf(1));
  const { integrationId } = await connectPolled(app.deps, {
    ...{ type: 'gitlab', organizationId: 'org_a', repositories: ['acme/tools/rocket'] },
  });
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const poll = async () => {
    clock.advance(60_000);
    await pollDue(app.deps);
  };
  await poll();
  expect(await logOf(app)).toEqual([]);

  const release = releaseOf(3);
  project.releases.push(release);
  project.mergeRequests.push(mergeOf(12, { mergedAt: clock.now().toISOString() }));
  project.commits.unshift(commitOf(5));
  await poll();
  const titles = (await logOf(app)).map(({ title, isPolled }) => [title, isPolled]).sort();
  expect(titles).toEqual([
    ['1 commit pushed to main', true],
    ['Merge request !12 merged: fix: gauge 12', true],
    ['Release v1.3.0 published', true],
  ]);

  Object.assign(release, { description: '- Better' });
  await poll();
  expect((await logOf(app))[0]).toMatchObject({ title: 'Release v1.3.0 edited' });
  await poll();
  expect(await logOf(app)).toHaveLength(4);
  await runAll(app);
  expect((await postsOf(app)).map(({ markdown }) => markdown.trim())).toEqual(['- Better']);
  await app.db.close();
});
