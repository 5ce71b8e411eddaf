import { describe, expect, test } from 'bun:test';
import { forgejo as provider } from '../../../src/providers/forgejo/provider.ts';
import { eventOf, type Payload, parseEvent } from '../../../src/providers/provider.ts';
import {
  commitOf,
  PLACE,
  problemOf,
  pullOf,
  releaseOf,
  shaOf,
  startRocket,
} from '../../support/forgejo-api/rocket.ts';
import { pullHook, pushHook, releaseHook } from '../../support/forgejo-api/views.ts';

/** The event of a payload, as the receiver or a reader makes it. */
function read(event: string, payload: object) {
  const result = parseEvent(provider, event, payload as Payload);
  if (result.outcome !== 'processed') throw new Error(`${result.outcome}: ${result.title}`);
  const { action, data } = result.processed;
  const known = { repository: PLACE, deliveryId: 'd', receivedAt: '2026-11-21T00:00:00.000Z' };
  return eventOf(provider, { ...known, event, action, data });
}

/** The API lists commits without their files. */
const withoutFiles = (event: ReturnType<typeof read>) =>
  event?.type === 'push'
    ? {
        ...event,
        data: { ...event.data, commits: event.data.commits.map(({ paths: _, ...commit }) => commit) },
      }
    : null;

test('a private repository needs a token, and so does a server that wants sign-in', async () => {
  using world = startRocket();
  const { repository, anonymous, forgejo } = world;
  expect(await problemOf(anonymous.getRepository(PLACE))).toMatchObject({
    kind: 'place-not-found',
    message: `The server at ${forgejo.url} has no public repository acme/rocket. Check the name and FORGEJO_API_URL; a private repository needs a token.`,
  });
  repository.isPrivate = false;
  await anonymous.getRepository(PLACE);
  expect(forgejo.requests.at(-1)?.authorization).toBeNull();
  forgejo.world.requiresSignIn = true;
  expect(await problemOf(anonymous.getRepository(PLACE))).toMatchObject({
    kind: 'bad-token',
    message: `The server at ${forgejo.url} answers no requests without a token. Use a token.`,
  });
});

test('releases come without drafts, and no text but a number names a page', async () => {
  using world = startRocket();
  const { repository, reader, forgejo } = world;
  repository.releases = [releaseOf(1), releaseOf(2, { isDraft: true })];
  const known = await reader.getRepository(PLACE);
  expect((await reader.listReleases(known))?.items).toHaveLength(1);
  expect(forgejo.requests.at(-1)?.query).toMatchObject({ draft: 'false' });
  await expect(reader.listReleases(known, { cursor: '../1' })).rejects.toThrow('is not the number of a page');
});

test('a repository whose owner disabled releases has none, and one that is gone is a problem', async () => {
  using world = startRocket();
  const { repository, reader } = world;
  const known = await reader.getRepository(PLACE);
  repository.releases = null;
  expect(await reader.listReleases(known)).toEqual({ items: [], next: null, oldest: null, etag: null });
  repository.path = 'acme/gone';
  expect(await problemOf(reader.listReleases(known))).toMatchObject({ kind: 'place-not-found' });
});

test('merged pull requests come by their last change; one that was only closed counts for the time', async () => {
  using world = startRocket();
  const { repository, reader } = world;
  repository.pulls.push(
    pullOf(1, { merged: null }),
    pullOf(2),
    pullOf(3, { updatedAt: pullOf(9).updatedAt }),
  );
  const page = await reader.listMerged(await reader.getRepository(PLACE));
  expect(page?.items.map(({ payload }) => payload.number)).toEqual([3, 2]);
  expect(page).toMatchObject({ next: null, oldest: '2026-11-20T12:01:07.000Z' });
});

describe('history and webhooks give the same events', () => {
  test('of releases', async () => {
    using world = startRocket();
    const { repository, reader, forgejo } = world;
    const releases = [
      releaseOf(1),
      releaseOf(2, { title: '', notes: '', isPrerelease: true }),
      releaseOf(3, { target: shaOf(3) }),
    ];
    repository.releases = releases;
    const page = await reader.listReleases(await reader.getRepository(PLACE));
    for (const [index, release] of releases.toReversed().entries()) {
      const sent = read('release', releaseHook(forgejo.world, repository, release));
      expect(read(page?.items[index]?.event ?? '', page?.items[index]?.payload ?? {})).toEqual(sent);
      expect(sent?.occurredAt).toBe(new Date(release.createdAt).toISOString());
    }
  });

  test('of pull requests', async () => {
    using world = startRocket();
    const { repository, reader, forgejo } = world;
    repository.pulls.push(pullOf(1), pullOf(2, { milestone: '1.4', labels: [], base: 'release/1' }));
    const page = await reader.listMerged(await reader.getRepository(PLACE));
    for (const [index, pull] of repository.pulls.toReversed().entries()) {
      const sent = read('pull_request', pullHook(forgejo.world, repository, pull));
      expect(read('pull_request', page?.items[index]?.payload ?? {})).toEqual(sent);
    }
  });

  test('of pushes, and a read one has the commits that Forgejo leaves out of a webhook', async () => {
    using world = startRocket();
    const { repository, reader, forgejo } = world;
    const known = await reader.getRepository(PLACE);
    const before = shaOf(1);
    const sent = () =>
      read('push', pushHook(forgejo.world, repository, before, repository.commits.slice(0, -1)));
    const pushed = async () => {
      const { commits } = await reader.listCommits(known, before, 'main');
      return read('push', reader.pushOf(known, before, commits).payload);
    };
    expect(await pushed()).toEqual(withoutFiles(sent()));
    repository.commits.unshift(...[8, 7, 6, 5].map(commitOf));
    const [whole, cut] = [await pushed(), sent()];
    expect(whole).toMatchObject({ key: cut?.key, occurredAt: cut?.occurredAt, version: cut?.version });
    expect(whole).toMatchObject({
      data: { commits: { length: 7 }, compareUrl: expect.stringMatching(/^http/) },
    });
    expect(cut).toMatchObject({ data: { commits: { length: 5 } } });
  });
});

test('the head of a branch, and a branch that does not exist', async () => {
  using world = startRocket();
  const { repository, reader } = world;
  const known = await reader.getRepository(PLACE);
  expect(await reader.getHead(known, 'main')).toEqual({ sha: shaOf(4), etag: null });
  expect(await problemOf(reader.getHead(known, 'gone'))).toMatchObject({
    kind: 'refused',
    message: 'acme/rocket has no branch gone',
  });
  repository.defaultBranch = 'release/1.x#2';
  expect((await reader.getHead(known, 'release/1.x#2'))?.sha).toBe(shaOf(4));
});

test('where a proxy adds ETags, an unchanged page is told by them', async () => {
  using world = startRocket({ sendsEtags: true });
  const { repository, reader, forgejo } = world;
  const known = await reader.getRepository(PLACE);
  const head = await reader.getHead(known, 'main');
  const [releases, merged] = [await reader.listReleases(known), await reader.listMerged(known)];
  for (const changes of [false, true]) {
    if (changes) {
      repository.releases?.push(releaseOf(2));
      repository.pulls.push(pullOf(2));
      repository.commits.unshift(commitOf(5));
    }
    const again = [
      await reader.listReleases(known, { etag: releases?.etag ?? null }),
      await reader.listMerged(known, { etag: merged?.etag ?? null }),
      await reader.getHead(known, 'main', head?.etag),
    ];
    expect(again.map((each) => each !== null)).toEqual([changes, changes, changes]);
  }
  expect(forgejo.requests.filter(({ status }) => status === 304)).toHaveLength(3);
});

describe('commits', () => {
  test('come without what Forgejo would compute for each', async () => {
    using world = startRocket();
    const known = await world.reader.getRepository(PLACE);
    await world.reader.listCommits(known, null, 'main');
    expect(world.forgejo.requests.at(-1)?.query).toMatchObject({
      stat: 'false',
      files: 'false',
      verification: 'false',
    });
  });

  test('that change a folder are found, also when there are none', async () => {
    using world = startRocket();
    const { reader } = world;
    const known = await reader.getRepository(PLACE);
    expect(await reader.listTouching?.(known, 'main', 'packages/api', 100)).toEqual([shaOf(4), shaOf(2)]);
    expect(await reader.listTouching?.(known, shaOf(3), 'packages/api', 1)).toEqual([shaOf(2)]);
    expect(await reader.listTouching?.(known, 'main', 'packages/ap', 100)).toEqual([]);
    expect(await problemOf(reader.listTouching?.(known, 'gone', 'x', 1) ?? Promise.reject())).toMatchObject({
      kind: 'refused',
      message: 'acme/rocket has no tag, branch or commit gone',
    });
  });

  test('of an unknown name are refused by this name; Forgejo just fails', async () => {
    using world = startRocket();
    const { reader } = world;
    const known = await reader.getRepository(PLACE);
    for (const [base, head, unknown] of [
      ['gone', 'main', 'gone'],
      ['main', 'gone/too', 'gone/too'],
      [null, 'gone', 'gone'],
    ] as const) {
      expect(await problemOf(reader.listCommits(known, base, head), world.token)).toMatchObject({
        kind: 'refused',
        message: `acme/rocket has no tag, branch or commit ${unknown}`,
      });
    }
    for (const ref of ['--all', 'a..b', 'a b', '']) {
      expect(await problemOf(reader.listCommits(known, ref, 'main'))).toMatchObject({
        kind: 'refused',
        message: `${ref} cannot be a tag, a branch or a commit`,
      });
    }
  });

  test('of a server that fails are a failure', async () => {
    using world = startRocket();
    const known = await world.reader.getRepository(PLACE);
    world.forgejo.failNext(() => Response.json({ message: '' }, { status: 500 }));
    expect(await problemOf(world.reader.listCommits(known, shaOf(1), 'main'))).toMatchObject({
      kind: 'provider-failed',
    });
  });

  test('of an empty repository are refused', async () => {
    using world = startRocket();
    const known = await world.reader.getRepository(PLACE);
    world.repository.commits.length = 0;
    expect(await problemOf(world.reader.listCommits(known, null, 'main'))).toMatchObject({
      kind: 'refused',
      message: 'acme/rocket has no commits yet',
    });
  });

  test('are the newest 2,000 of very many', async () => {
    using world = startRocket();
    const many = Array.from({ length: 2_001 }, (_, index) => commitOf(5_000 - index));
    world.repository.commits.splice(0, 4, ...many);
    const known = await world.reader.getRepository(PLACE);
    const { commits, isCut } = await world.reader.listCommits(known, null, 'main');
    expect(isCut).toBe(true);
    expect(commits).toHaveLength(2_000);
    expect(commits.at(-1)?.sha).toBe(shaOf(5_000));
  });
});

test('a push that started the branch has no comparison', async () => {
  using world = startRocket();
  const known = await world.reader.getRepository(PLACE);
  const { commits } = await world.reader.listCommits(known, null, 'main');
  const { payload } = world.reader.pushOf(known, '0'.repeat(40), commits);
  expect(payload).toMatchObject({ compare_url: null, after: shaOf(4), total_commits: 4 });
});

test('nothing is said of limits, and a proxy that limits says when to go on', async () => {
  using world = startRocket();
  const { forgejo, anonymous, repository } = world;
  repository.isPrivate = false;
  forgejo.failNext(() => new Response('', { status: 429, headers: { 'retry-after': '7' } }));
  expect(await problemOf(anonymous.getRepository(PLACE))).toMatchObject({
    kind: 'rate-limited',
    retryAt: new Date('2026-11-21T03:49:25.000Z'),
    message: expect.stringContaining('without a token'),
  });
  await anonymous.getRepository(PLACE);
  expect(anonymous.budget).toEqual({ limit: null, remaining: null, resetAt: null, pollMs: null });
  expect(provider.reader?.anonymousPerHour).toBeNull();
});
