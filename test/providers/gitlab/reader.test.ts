import { expect, test } from 'bun:test';
import { gitlab as provider } from '../../../src/providers/gitlab/provider.ts';
import { eventOf, type Payload, parseEvent } from '../../../src/providers/provider.ts';
import type { PageOf, ReadDelivery } from '../../../src/providers/reader.ts';
import {
  commitOf,
  mergeOf,
  problemOf,
  releaseOf,
  shaOf,
  startRocket,
} from '../../support/gitlab-api/rocket.ts';
import { mergeRequestHook } from '../../support/gitlab-api/views.ts';

/** The event of a payload, as the receiver or a reader makes it. */
function read(event: string, payload: object) {
  const result = parseEvent(provider, event, payload as Payload);
  if (result.outcome !== 'processed') throw new Error(`${result.outcome}: ${result.title}`);
  const { action, data } = result.processed;
  const known = { repository: 'acme/tools/rocket', deliveryId: 'd', receivedAt: '2026-11-21T00:00:00.000Z' };
  return eventOf(provider, { ...known, event, action, data });
}

const tagsOf = (page: PageOf<ReadDelivery> | null) => page?.items.map(({ payload }) => payload.tag);

test('a project without a branch is refused, and one that is not public needs a token', async () => {
  using world = startRocket();
  const { project, reader, anonymous } = world;
  expect(await problemOf(anonymous.getRepository('acme/tools/rocket'))).toMatchObject({
    message:
      'GitLab has no public project acme/tools/rocket. Check the name; a private project needs a token.',
  });
  project.visibility = 'public';
  await anonymous.getRepository('acme/tools/rocket');
  expect(world.gitlab.requests.at(-1)?.authorization).toBeNull();
  project.defaultBranch = null;
  expect(await problemOf(reader.getRepository('acme/tools/rocket'))).toMatchObject({ kind: 'refused' });
});

test('a list without x-next-page goes on at its link', async () => {
  using world = startRocket();
  const { project, reader, gitlab } = world;
  for (let number = 1; number <= 59; number++) project.releases.push(releaseOf(number));
  gitlab.omitNextPage();
  const repository = await reader.getRepository('acme/tools/rocket');
  const first = await reader.listReleases(repository);
  expect(first?.next).toBe('2');
  const second = await reader.listReleases(repository, { cursor: first?.next ?? null });
  expect([tagsOf(second)?.length, second?.next]).toEqual([9, null]);
});

test('releases come newest first, page by page, without upcoming ones', async () => {
  using world = startRocket();
  const { project, reader } = world;
  for (let number = 1; number <= 59; number++) project.releases.push(releaseOf(number));
  project.releases.push(releaseOf(60, { isUpcoming: true, releasedAt: '2030-01-01T00:00:00.000Z' }));
  const repository = await reader.getRepository('acme/tools/rocket');
  const first = await reader.listReleases(repository);
  expect(first).toMatchObject({ next: '2', oldest: '2026-11-20T12:11:07.519Z' });
  expect(tagsOf(first)?.slice(0, 2)).toEqual(['v1.59.0', 'v1.58.0']);
  const second = await reader.listReleases(repository, { cursor: first?.next ?? null });
  expect(second).toMatchObject({ next: null, oldest: '2026-11-20T12:01:07.519Z' });
  expect([...(tagsOf(first) ?? []), ...(tagsOf(second) ?? [])]).toHaveLength(59);
  // By the number, so a rename changes nothing.
  expect(world.gitlab.requests.at(-1)?.path).toBe(`/projects/${project.id}/releases`);
});

test('history and webhooks give the same events of merge requests', async () => {
  using world = startRocket();
  const { project, reader, gitlab } = world;
  project.mergeRequests.push(
    mergeOf(1),
    mergeOf(2, { mergeCommitSha: null, assignees: [], description: null }),
  );
  const repository = await reader.getRepository('acme/tools/rocket');
  const page = await reader.listMerged(repository);
  for (const [index, request] of project.mergeRequests.toReversed().entries()) {
    const sent = read('merge_request', mergeRequestHook(gitlab.world, project, request));
    expect(read('merge_request', page?.items[index]?.payload ?? {})).toEqual(sent);
  }
});

test('a merge request that changed since is dated by its merge', async () => {
  using world = startRocket();
  world.project.mergeRequests.push(mergeOf(1, { updatedAt: mergeOf(9).updatedAt }));
  const page = await world.reader.listMerged(await world.reader.getRepository('acme/tools/rocket'));
  expect(read('merge_request', page?.items[0]?.payload ?? {})?.occurredAt).toBe('2026-11-20T12:01:07.000Z');
});

test('a release whose tag the token may not see is left out', async () => {
  using world = startRocket();
  const repository = await world.reader.getRepository('acme/tools/rocket');
  world.gitlab.failNext(() => Response.json([{ name: 'Hidden' }, { tag_name: 'v1' }]));
  expect(tagsOf(await world.reader.listReleases(repository))).toEqual(['v1']);
});

test('the head of a branch with any name that Git allows', async () => {
  using world = startRocket();
  const repository = await world.reader.getRepository('acme/tools/rocket');
  world.project.defaultBranch = 'release/1.x#2';
  expect((await world.reader.getHead(repository, 'release/1.x#2'))?.sha).toBe(shaOf(4));
});

test('an unknown tag is refused with both names', async () => {
  using world = startRocket();
  const repository = await world.reader.getRepository('acme/tools/rocket');
  expect(await problemOf(world.reader.listCommits(repository, 'gone', 'v2'))).toMatchObject({
    message: 'GitLab cannot compare gone..v2 in acme/tools/rocket: one of them no longer exists.',
  });
});

test('of very many commits the newest 2,000 are read', async () => {
  using world = startRocket();
  world.project.commits.splice(0, 4, ...Array.from({ length: 2_001 }, (_, index) => commitOf(5_000 - index)));
  const repository = await world.reader.getRepository('acme/tools/rocket');
  const { commits, isCut } = await world.reader.listCommits(repository, null, 'main');
  expect(isCut).toBe(true);
  expect(commits).toHaveLength(2_000);
  expect(commits.at(-1)?.sha).toBe(shaOf(5_000));
});

test("the budget is GitLab's, and its limit says when to go on", async () => {
  using world = startRocket();
  const { gitlab, reader, clock, project } = world;
  expect(reader.budget).toEqual({ limit: null, remaining: null, resetAt: null, pollMs: null });
  const resetAt = new Date('2026-11-21T03:50:17.000Z');
  gitlab.limit(2, resetAt);
  const repository = await reader.getRepository('acme/tools/rocket');
  await reader.listReleases(repository);
  // Bun's toMatchObject takes any two dates for equal.
  expect(reader.budget).toEqual({ limit: 2000, remaining: 0, resetAt, pollMs: null });
  expect(await problemOf(reader.listReleases(repository), world.token)).toMatchObject({
    kind: 'rate-limited',
    retryAt: new Date('2026-11-21T03:50:18.000Z'),
  });
  clock.advance(61_000);
  project.releases.push(releaseOf(1));
  expect((await reader.listReleases(repository))?.items).toHaveLength(1);
});

test.each([
  [() => Response.json({ message: '500 Internal Server Error' }, { status: 500 }), 'provider-failed'],
  [() => new Response('<html>', { status: 502 }), 'provider-failed'],
  [() => new Response('<html>', { status: 200 }), 'provider-failed'],
  [() => Response.json([{ tag_name: 5 }]), 'provider-failed'],
  [() => Response.json({ message: '404 Project Not Found' }, { status: 404 }), 'place-not-found'],
  [() => new Response(null, { status: 302, headers: { location: 'http://other.test/' } }), 'provider-failed'],
] as const)('%p ends a listing with %s', async (respond, kind) => {
  using world = startRocket();
  const repository = await world.reader.getRepository('acme/tools/rocket');
  world.gitlab.failNext(respond);
  expect(await problemOf(world.reader.listReleases(repository), world.token)).toMatchObject({ kind });
});

test('a token that may not read a part of a project is named, and so is one that is revoked', async () => {
  using world = startRocket();
  const repository = await world.reader.getRepository('acme/tools/rocket');
  world.gitlab.failNext(() => Response.json({ message: '403 Forbidden' }, { status: 403 }));
  expect(await problemOf(world.reader.listMerged(repository), world.token)).toMatchObject({
    kind: 'missing-permission',
    message: "The token can't read acme/tools/rocket. Its owner needs the role Reporter there.",
  });
  world.gitlab.world.tokens.clear();
  expect(await problemOf(world.reader.listMerged(repository), world.token)).toMatchObject({
    kind: 'bad-token',
    message: expect.stringContaining('with the scope read_api'),
  });
});
