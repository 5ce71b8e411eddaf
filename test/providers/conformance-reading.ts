import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { composeDraft } from '../../src/drafting/compose.ts';
import { findDraftOfPost } from '../../src/drafting/store.ts';
import { findRangeProblem } from '../../src/drafting/triggers/range-store.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { draftCompare } from '../../src/intake/history/compare.ts';
import { readHistory } from '../../src/intake/history/read.ts';
import { startHistory } from '../../src/intake/history/service.ts';
import { findHistory } from '../../src/intake/history/store.ts';
import { withFiles } from '../../src/intake/polling/cursor.ts';
import { connectWithToken } from '../../src/integrations/connect.ts';
import type { Event } from '../../src/providers/events.ts';
import { eventOf, type Payload, parseEvent } from '../../src/providers/provider.ts';
import type { PageOf, PageRequest, ReadDelivery, RepositoryReader } from '../../src/providers/reader.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { problemOf } from '../support/problem-of.ts';
import {
  type Beside,
  type CodeWorld,
  MINUTE_MS,
  type Shipped,
  type Subject,
  startBeside,
} from '../support/provider-kit.ts';

// Reading what a repository shipped: the same events, and so the same posts, as its webhooks would have given.

const LIFE: Shipped[] = [
  { push: ['feat: quiet mode', 'fix(gauge): midnight\n\nBREAKING CHANGE: no gauge\n'] },
  { merge: 12, title: 'feat: softer start', body: 'BREAKING CHANGE: louder end', labels: ['feature'] },
  { release: 'v1.0.0', name: 'One', notes: '### Added\r\n- Quiet mode, “größer” 🚀\r\n' },
  { merge: 13, title: 'fix: a leak' },
  { push: ['docs: say more'] },
  { release: 'v1.1.0', notes: '- Softer start' },
];

type List = (request: PageRequest) => Promise<PageOf<ReadDelivery> | null>;

/** All pages of a list. */
async function readAll(list: List): Promise<ReadDelivery[]> {
  const items: ReadDelivery[] = [];
  let cursor: string | null = null;
  do {
    const page: PageOf<ReadDelivery> | null = await list({ cursor });
    if (page === null) throw new Error('a page without an ETag has changed');
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== null);
  return items;
}

export function readingTests(subject: Subject): void {
  const { provider } = subject;
  const { id: type } = provider;

  describe.skipIf(provider.reader === null)('a reader', () => {
    let beside: Beside;
    let code: CodeWorld;
    let reader: RepositoryReader;

    beforeEach(async () => {
      beside = await startBeside(subject);
      if (beside.world.code === undefined)
        throw new Error(`${provider.name} has a reader, and its kit no code`);
      ({ code } = beside.world);
      reader = await beside.deps.openReader(type, beside.world.token);
    });
    afterEach(() => beside[Symbol.asyncDispose]());

    const find = () => reader.getRepository(beside.world.place);

    /** Each a minute after the one before. */
    async function live(life: readonly Shipped[]): Promise<ReadDelivery[]> {
      const delivered: ReadDelivery[] = [];
      for (const shipped of life) {
        beside.app.clock.advance(MINUTE_MS);
        delivered.push(...(await code.happen(shipped)));
      }
      return delivered;
    }

    /** The events of deliveries, by type and key: the newest version of each that came first. */
    function eventsIn(deliveries: readonly ReadDelivery[]): Map<string, Event> {
      const events = new Map<string, Event>();
      const known = {
        repository: beside.world.place,
        deliveryId: 'same',
        receivedAt: '2000-01-01T00:00:00.000Z',
      };
      for (const { event, payload } of deliveries) {
        const result = parseEvent(provider, event, payload);
        if (result.outcome !== 'processed') continue;
        const { action, data } = result.processed;
        const made = eventOf(provider, { ...known, event, action, data });
        if (made !== null) events.set(`${made.type} ${made.key}`, made);
      }
      return events;
    }

    test('knows the repository by its name, also by a former one', async () => {
      const found = await find();
      expect(found).toMatchObject({ fullName: beside.world.place, defaultBranch: 'main', isPrivate: true });
      expect(found.providerId).toBeGreaterThan(0);
      expect(await reader.getRepository(` ${beside.world.place} `)).toEqual(found);
      code.rename(`${beside.world.place}-2`);
      expect(await find()).toEqual({ ...found, fullName: `${beside.world.place}-2` });
    });

    test('without a token reads what is public, and nothing else', async () => {
      const anonymous = await beside.deps.openReader(type, null);
      expect(await problemOf(anonymous.getRepository(beside.world.place))).toMatchObject({
        kind: 'place-not-found',
      });
      code.makePublic();
      await live(LIFE);
      const repository = await anonymous.getRepository(beside.world.place);
      expect(repository.isPrivate).toBe(false);
      expect((await readAll((request) => anonymous.listReleases(repository, request))).length).toBe(2);
    });

    test('gives the events that webhooks deliver', async () => {
      const delivered = eventsIn(await live(LIFE));
      const repository = await find();
      const read = eventsIn([
        ...(await readAll((request) => reader.listReleases(repository, request))),
        ...(await readAll((request) => reader.listMerged(repository, request))),
      ]);
      expect([...read.keys()].sort()).toEqual([
        'pull_request 12',
        'pull_request 13',
        'release v1.0.0',
        'release v1.1.0',
      ]);
      for (const [key, event] of read) expect(event).toEqual(delivered.get(key) as Event);
      // The newest first: a round reads on until it has passed the time up to which it knows the list.
      const merged = await reader.listMerged(repository);
      expect([...eventsIn(merged?.items ?? []).keys()]).toEqual(['pull_request 13', 'pull_request 12']);
      expect(merged?.oldest).toBe(delivered.get('pull_request 12')?.occurredAt ?? '');
    });

    test('gives the pushes of the default branch, as webhooks deliver them', async () => {
      const repository = await find();
      const before = await reader.getHead(repository, 'main');
      const [delivered] = await live([{ push: ['feat: one', 'fix: two\n\nBREAKING CHANGE: it\n'] }]);
      const after = await reader.getHead(repository, 'main');
      const { commits, isCut } = await reader.listCommits(repository, before?.sha ?? '', after?.sha ?? '');
      expect(isCut).toBe(false);
      expect(commits.map(({ message }) => message.split('\n')[0])).toEqual(['feat: one', 'fix: two']);
      const push = reader.pushOf(repository, before?.sha ?? '', commits);
      const shasIn = ({ commits }: Payload) => (commits as Payload[]).map(({ id }) => id);
      expect(shasIn(push.payload)).toEqual(shasIn(delivered?.payload ?? {}));
      const [read] = eventsIn([push]).values();
      const [sent] = eventsIn(delivered === undefined ? [] : [delivered]).values();
      expect(read).toMatchObject({ type: 'push', key: sent?.key ?? '', branch: 'main' });
      const commitsOf = (event: Event | undefined) =>
        event?.type === 'push' &&
        event.data.commits.map(({ sha, subject, breaking }) => ({ sha, subject, breaking }));
      expect(commitsOf(read)).toEqual(commitsOf(sent));
    });

    test('lists the files of commits, as webhooks name them', async () => {
      const repository = await find();
      const before = await reader.getHead(repository, 'main');
      const [delivered] = await live([{ push: ['feat: one', 'fix: two'] }]);
      const after = await reader.getHead(repository, 'main');
      const { commits } = await reader.listCommits(repository, before?.sha ?? '', after?.sha ?? '');
      const { pushes, unknown } = await withFiles(reader, repository, [
        reader.pushOf(repository, before?.sha ?? '', commits),
      ]);
      expect(unknown).toBe(0);
      const pathsOf = ([event]: Iterable<Event>) =>
        event?.type === 'push' && event.data.commits.map(({ sha, paths }) => ({ sha, paths }));
      const sent = pathsOf(eventsIn(delivered === undefined ? [] : [delivered]).values());
      expect(sent).toEqual(commits.map(({ sha }) => ({ sha, paths: expect.any(Array) })));
      expect(pathsOf(eventsIn(pushes).values())).toEqual(sent);
    });

    test('lists the commits between two tags, oldest first', async () => {
      await live(LIFE);
      const repository = await find();
      const { commits } = await reader.listCommits(repository, 'v1.0.0', 'v1.1.0');
      expect(commits.at(-1)?.message.trim()).toBe('docs: say more');
      expect(commits).toHaveLength(2);
      for (const { sha, author, url, committedAt } of commits) {
        expect({ author, url }).toEqual({ author: expect.any(String), url: expect.stringContaining(sha) });
        expect(Date.parse(committedAt ?? '')).toBeGreaterThan(0);
      }
      const back = await reader.listCommits(repository, 'v1.1.0', 'v1.0.0');
      expect(back).toMatchObject({ commits: [], isAncestor: false });
      const whole = await reader.listCommits(repository, null, 'v1.1.0');
      expect(whole.commits.map(({ message }) => message.split('\n')[0]).slice(0, 3)).toEqual([
        'chore: start',
        'feat: quiet mode',
        'fix(gauge): midnight',
      ]);
      // Also by their ids, as a push names them.
      const [before, after] = [whole.commits.at(-3)?.sha ?? '', whole.commits.at(-1)?.sha ?? ''];
      expect((await reader.listCommits(repository, before, after)).commits).toEqual(whole.commits.slice(-2));
    });

    test('refuses what the repository does not have, by its name', async () => {
      const repository = await find();
      for (const reading of [
        () => reader.listCommits(repository, 'gone', 'main'),
        () => reader.listCommits(repository, null, 'gone'),
        () => reader.getHead(repository, 'gone'),
      ]) {
        const problem = await problemOf(reading(), [beside.world.token]);
        expect(problem).toMatchObject({ kind: 'refused', message: expect.stringContaining('gone') });
      }
      const nowhere = await problemOf(reader.getRepository('../../version'), [beside.world.token]);
      expect(nowhere.kind).toBe('place-not-found');
    });

    test('reads every page once, newest first', async () => {
      const tags = Array.from({ length: 230 }, (_, number) => `v1.${number}.0`);
      await live(tags.map((release) => ({ release, notes: release })));
      const repository = await find();
      const first = await reader.listReleases(repository);
      expect(first?.next).not.toBeNull();
      const read = await readAll((request) => reader.listReleases(repository, request));
      expect([...eventsIn(read).values()].map(({ key }) => key)).toEqual(tags.toReversed());
      expect(read).toHaveLength(230);
    });

    test('learns from an entity tag that nothing has changed', async () => {
      await live(LIFE);
      const repository = await find();
      const lists: List[] = [
        (request) => reader.listReleases(repository, request),
        (request) => reader.listMerged(repository, request),
      ];
      const etags = await Promise.all(lists.map(async (list) => (await list({}))?.etag ?? null));
      expect(etags.every((etag) => etag !== null)).toBe(code.hasEtags);
      const again = () => Promise.all(lists.map((list, at) => list({ etag: etags[at] ?? null })));
      if (code.hasEtags) expect(await again()).toEqual([null, null]);
      const head = await reader.getHead(repository, 'main');
      expect(head?.etag !== null).toBe(code.hasEtags);
      if (head?.etag != null) expect(await reader.getHead(repository, 'main', head.etag)).toBeNull();
      await live([{ merge: 14, title: 'fix: more' }, { release: 'v1.2.0' }]);
      expect((await again()).map((page) => page !== null)).toEqual([true, true]);
      const { sha } = (await reader.getHead(repository, 'main', head?.etag)) ?? {};
      expect(sha).not.toBe(head?.sha ?? '');
    });

    test('says when a limit ends', async () => {
      const repository = await find();
      const waitMs = code.exhaustLimit();
      const askedAt = Date.now();
      const { kind, retryAt } = await problemOf(reader.listReleases(repository), [beside.world.token]);
      expect(kind).toBe('rate-limited');
      // Some providers say until when, by their clock; others say for how long.
      const until = Math.abs((retryAt?.getTime() ?? 0) - beside.app.clock.now().getTime() - waitMs) < 2000;
      const waited = (retryAt?.getTime() ?? 0) - waitMs;
      const forSoLong = waited > askedAt - 2000 && waited < Date.now() + 2000;
      expect({ retryAt, isRight: until || forSoLong }).toMatchObject({ isRight: true });
    });

    test('refuses an unknown token, and does not repeat it', async () => {
      const stranger = await beside.deps.openReader(type, 'unknown-token');
      const problem = await problemOf(stranger.getRepository(beside.world.place), ['unknown-token']);
      expect(problem.kind).toBe('bad-token');
    });

    test('completes a push whose webhook names too few of its commits', async () => {
      const { app, deps, world } = beside;
      const request = { type, organizationId: 'org_a', token: world.token, places: [world.place] } as const;
      const { integrationId } = await connectWithToken(deps, request);
      await world.settled();
      await createTrigger(deps, { integrationId, event: 'push', contentType: 'changelog' });
      const push = Array.from({ length: 30 }, (_, index) => `feat: part ${index}`);
      const [delivered] = await live([{ push }]);
      await world.settled();
      // The second pass does the work that the first one queues.
      for (let pass = 0; pass < 2; pass++) {
        await runAll(app);
        app.clock.advance(MINUTE_MS);
      }
      expect(delivered?.payload.commits).toHaveLength(code.namedCommits ?? 30);
      const [post] = await postsOf(app);
      const parts = Array.from(post?.markdown.matchAll(/^- Part (\d+) /gm) ?? [], ([, part]) => Number(part));
      expect(parts.sort((a, b) => a - b)).toEqual([...push.keys()]);
      expect(
        await app.db.read(async (tx) => findRangeProblem(tx, await findDraftOfPost(tx, post?.id ?? ''))),
      ).toBeNull();
    });

    test('makes the same posts as webhooks, byte for byte', async () => {
      const { app, deps, world } = beside;
      const request = { type, organizationId: 'org_a', token: world.token, places: [world.place] } as const;
      const { integrationId } = await connectWithToken(deps, request);
      await world.settled();
      await createTrigger(deps, { integrationId, event: 'release', contentType: 'changelog' });
      await live(LIFE);
      await world.settled();
      await runAll(app);

      const { id } = await startHistory(deps, {
        ...{ type, organizationId: 'org_b', repository: world.place, token: world.token },
        ...{ contentType: 'changelog', publish: false },
      });
      await readHistory(deps, id);
      expect(await app.db.read((tx) => findHistory(tx, id))).toMatchObject({ status: 'done', found: 2 });
      await runAll(app);

      const posts = async (organizationId: string) =>
        (await postsOf(app, organizationId)).map(({ id: _, updatedAt: __, sourceMetadata, ...post }) => {
          const { triggerId: ___, deliveryId: ____, ...metadata } = sourceMetadata ?? {};
          return { ...post, metadata };
        });
      const read = await posts('org_b');
      expect(read.map(({ title }) => title)).toHaveLength(2);
      expect(read).toEqual(await posts('org_a'));
    });

    test('makes a draft of the changes between two tags', async () => {
      const { app, deps, world } = beside;
      const request = { type, organizationId: 'org_a', token: world.token, places: [world.place] } as const;
      await connectWithToken(deps, request);
      await live(LIFE);
      const made = await draftCompare(deps, async (recipe, material) => composeDraft(recipe, material), {
        ...{ type, organizationId: 'org_a', repository: world.place, range: 'v1.0.0..v1.1.0' },
      });
      expect(made).toMatchObject({ commits: 2, pullRequests: 1, leftOut: [] });
      expect(await postsOf(app, 'org_a')).toMatchObject([
        { title: 'v1.1.0', status: 'draft', markdown: expect.stringContaining('A leak') },
      ]);
    });
  });
}
