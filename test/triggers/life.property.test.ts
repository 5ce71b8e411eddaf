import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  switchTrigger,
} from '../../src/drafting/triggers/service.ts';
import { replayDelivery } from '../../src/intake/receiver/send.ts';
import type { Connected } from '../../src/integrations/words.ts';
import type { Post } from '../../src/posts/model.ts';
import { deletePost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { rounds } from '../support/rounds.ts';
import type { TestApp } from '../support/test-app.ts';

// The life of triggers, in any order: a post is made only of an event that arrived while its trigger was enabled, or
// that a person asked for. A model that knows nothing of the code says which posts there must be.

const HOURS = 5;

/** A version of the release of an hour: minute 0 is how it was published, later minutes are edits. */
interface Release {
  kind: 'release';
  hour: number;
  minute: number;
  isPrerelease: boolean;
}

/** A commit that was pushed at half past an hour. */
interface Push {
  kind: 'push';
  hour: number;
}

type Command =
  | Release
  | Push
  | { kind: 'create'; slot: Slot; last: number; isEnabled: boolean }
  | { kind: 'switch'; slot: Slot; isEnabled: boolean }
  /** A delivery that arrives while the trigger is disabled, and enabled again after it. */
  | { kind: 'away'; slot: Slot; delivery: Release | Push }
  | { kind: 'filter'; slot: Slot; prereleases: boolean }
  | { kind: 'replay' | 'delete'; index: number }
  | { kind: 'run' };

/** At most one trigger of each at a time: creating another deletes the one before. */
const slots = {
  drafts: { event: 'release', contentType: 'changelog', publish: false },
  published: { event: 'release', contentType: 'linkedin_post', publish: true },
  rolling: { event: 'push', contentType: 'changelog', publish: false },
} as const;
type Slot = keyof typeof slots;

const anyHour = fc.nat(HOURS - 1);
const anySlot = fc.constantFrom(...(Object.keys(slots) as Slot[]));
const anyRelease = (minute: fc.Arbitrary<number>) =>
  fc.record({ kind: fc.constant('release' as const), hour: anyHour, minute, isPrerelease: fc.boolean() });
const anyDelivery: fc.Arbitrary<Release | Push> = fc.oneof(
  anyRelease(fc.constant(0)),
  anyRelease(fc.integer({ min: 1, max: 3 })),
  fc.record({ kind: fc.constant('push' as const), hour: anyHour }),
);
const weighted = (weight: number, arbitrary: fc.Arbitrary<Command>) => ({ weight, arbitrary });
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  weighted(8, anyDelivery),
  weighted(
    1,
    fc.record({
      kind: fc.constant('create' as const),
      slot: anySlot,
      last: fc.constantFrom(0, 0, 1, 3),
      isEnabled: fc.boolean(),
    }),
  ),
  weighted(1, fc.record({ kind: fc.constant('switch' as const), slot: anySlot, isEnabled: fc.boolean() })),
  weighted(3, fc.record({ kind: fc.constant('away' as const), slot: anySlot, delivery: anyDelivery })),
  weighted(2, fc.record({ kind: fc.constant('filter' as const), slot: anySlot, prereleases: fc.boolean() })),
  weighted(2, fc.record({ kind: fc.constantFrom('replay' as const, 'delete' as const), index: fc.nat(99) })),
  weighted(4, fc.constant({ kind: 'run' as const })),
);

/** Events that can split a rolling draft. */
const anyRollingCommand: fc.Arbitrary<Command> = fc.oneof(
  weighted(4, fc.record({ kind: fc.constant('push' as const), hour: anyHour })),
  weighted(1, anyRelease(fc.constant(0))),
  weighted(
    2,
    fc.record({
      kind: fc.constant('away' as const),
      slot: fc.constant('rolling' as const),
      delivery: anyRelease(fc.constant(0)),
    }),
  ),
  weighted(4, fc.constant({ kind: 'run' as const })),
);

/** The expected drafts of one trigger. */
interface Expected {
  id: string;
  slot: Slot;
  isEnabled: boolean;
  prereleases: boolean;
  /** The releases that it may make posts of, by hour. */
  arrived: Map<number, { isMatch: boolean; draftOnly: boolean }>;
  /** The pushes that it may tell of, by hour. */
  pushes: Set<number>;
  /** The hour from which its queued run plans. */
  since: number | null;
  posts: Map<number, 'draft' | 'published' | 'deleted'>;
}

class World {
  readonly releases = new Map<number, Release>();
  readonly deliveries: (Release | Push)[] = [];
  readonly triggers = new Map<Slot, Expected>();
  /** Triggers that were deleted: their posts stay as they are. */
  readonly deleted: Expected[] = [];

  constructor(
    readonly app: TestApp,
    readonly connected: Connected,
  ) {}

  fits(trigger: Expected, hour: number): boolean {
    return trigger.prereleases || this.releases.get(hour)?.isPrerelease === false;
  }

  arrive(delivery: Release | Push): void {
    this.deliveries.push(delivery);
    if (delivery.kind === 'release') {
      const known = this.releases.get(delivery.hour);
      // Of two versions of the same minute the last that came counts.
      if (known === undefined || delivery.minute >= known.minute) this.releases.set(delivery.hour, delivery);
      for (const trigger of this.triggers.values()) this.reach(trigger, delivery, known);
    } else {
      for (const trigger of this.triggers.values()) {
        if (!trigger.isEnabled) continue;
        this.queue(trigger, delivery.hour + 0.5);
        if (trigger.slot === 'rolling') trigger.pushes.add(delivery.hour);
      }
    }
  }

  reach(trigger: Expected, { hour, minute, isPrerelease }: Release, known: Release | undefined): void {
    if (!trigger.isEnabled) return;
    const isAnyMeant = [isPrerelease, known?.isPrerelease].some(
      (each) => each === false || (each === true && trigger.prereleases),
    );
    if (isAnyMeant) this.queue(trigger, hour);
    const before = trigger.arrived.get(hour);
    if (trigger.slot === 'rolling' || (before === undefined && minute > 0)) return;
    const isMatch = this.fits(trigger, hour) || before?.isMatch === true;
    const draftOnly = before?.draftOnly === true;
    trigger.arrived.set(hour, { isMatch, draftOnly });
  }

  queue(trigger: Expected, since: number): void {
    trigger.since = Math.min(trigger.since ?? since, since);
  }

  run(): void {
    for (const trigger of this.triggers.values()) {
      const { since } = trigger;
      if (!trigger.isEnabled || since === null) continue;
      trigger.since = null;
      for (const hour of this.releases.keys()) {
        const arrival = trigger.arrived.get(hour);
        if (hour < since || arrival?.isMatch !== true) continue;
        const post = trigger.posts.get(hour);
        if (!this.fits(trigger, hour)) {
          if (post === 'draft') trigger.posts.delete(hour);
        } else if (post === undefined) {
          const isPublished = slots[trigger.slot].publish && !arrival.draftOnly;
          trigger.posts.set(hour, isPublished ? 'published' : 'draft');
        }
      }
    }
  }

  all(): Expected[] {
    return [...this.deleted, ...this.triggers.values()];
  }
}

const at = (hour: number, minute: number) =>
  `2026-11-20T${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00Z`;

const tagOf = (hour: number) => `v1.${hour}.0`;

function payloadOf(app: TestApp, delivery: Release | Push) {
  const sample =
    samplePayload('github', delivery.kind, { repository: 'acme/rocket', now: app.clock.now() }) ?? {};
  const { hour } = delivery;
  if (delivery.kind === 'push') {
    const sha = Bun.SHA1.hash(`push ${hour}`, 'hex');
    const url = `https://github.com/acme/rocket/commit/${sha}`;
    const commit = { id: sha, message: `feat: push ${hour}`, author: { name: 'Ann' }, url };
    const timestamp = at(hour, 30);
    return changed(sample, {
      commits: [{ ...commit, timestamp }],
      after: sha,
      'repository.pushed_at': Date.parse(timestamp) / 1000,
    });
  }
  return changed(sample, {
    action: delivery.minute === 0 ? 'published' : 'edited',
    'release.tag_name': tagOf(hour),
    'release.name': tagOf(hour),
    // A release without notes lists the pushes before it.
    'release.body': hour % 2 === 0 ? `Minute ${delivery.minute}.` : '',
    'release.prerelease': delivery.isPrerelease,
    'release.published_at': at(hour, 0),
    'release.updated_at': at(hour, delivery.minute),
  });
}

async function apply(world: World, command: Command): Promise<void> {
  const { app, connected } = world;
  switch (command.kind) {
    case 'release':
    case 'push': {
      const request = githubRequest(connected, payloadOf(app, command), { event: command.kind });
      const { status } = await app.fetch(new Request(`http://localhost${request[0]}`, request[1]));
      expect(status).toBe(200);
      // The log is read newest first: no two entries may have the same time.
      app.clock.advance(1_000);
      return world.arrive(command);
    }
    case 'replay': {
      const log = (await logOf(app)).reverse();
      const entry = log[command.index % log.length];
      const delivery = world.deliveries[command.index % log.length];
      if (entry === undefined || delivery === undefined) return;
      await replayDelivery(app.deps, entry);
      app.clock.advance(1_000);
      return world.arrive(delivery);
    }
    case 'create': {
      const { slot, isEnabled } = command;
      const existing = world.triggers.get(slot);
      if (existing !== undefined) {
        await deleteTrigger(app.deps, existing.id);
        world.triggers.delete(slot);
        world.deleted.push(existing);
      }
      const last = slot === 'rolling' ? 0 : command.last;
      const { integrationId } = connected;
      const given = { integrationId, ...slots[slot], enabled: isEnabled, last };
      const { id } = await createTrigger(app.deps, given);
      const trigger: Expected = {
        id,
        slot,
        isEnabled,
        prereleases: true,
        arrived: new Map(),
        pushes: new Set(),
        since: null,
        posts: new Map(),
      };
      world.triggers.set(slot, trigger);
      const newest = [...world.releases.keys()].sort((one, other) => other - one).slice(0, last);
      for (const hour of newest) {
        trigger.arrived.set(hour, { isMatch: true, draftOnly: true });
        world.queue(trigger, hour);
      }
      return;
    }
    case 'switch': {
      const trigger = world.triggers.get(command.slot);
      if (trigger === undefined) return;
      await switchTrigger(app.deps, trigger.id, command.isEnabled);
      trigger.isEnabled = command.isEnabled;
      return;
    }
    case 'away': {
      const { slot, delivery } = command;
      await apply(world, { kind: 'switch', slot, isEnabled: false });
      await apply(world, delivery);
      return apply(world, { kind: 'switch', slot, isEnabled: true });
    }
    case 'filter': {
      const trigger = world.triggers.get(command.slot);
      // Releases that part a rolling draft are another matter.
      if (trigger === undefined || trigger.slot === 'rolling') return;
      const filters = command.prereleases ? {} : { prereleases: false };
      await changeTrigger(app.deps, trigger.id, { filters });
      if (trigger.prereleases === command.prereleases) return;
      trigger.prereleases = command.prereleases;
      for (const [hour, { isMatch }] of trigger.arrived) if (!isMatch) trigger.arrived.delete(hour);
      return;
    }
    case 'delete': {
      const made = world
        .all()
        .flatMap(({ posts, id }) =>
          [...posts].flatMap(([hour, status]) => (status === 'deleted' ? [] : [{ posts, id, hour }])),
        );
      const chosen = made[command.index % made.length];
      const post = (await postsOf(app)).find(
        ({ sourceMetadata }) =>
          sourceMetadata?.triggerId === chosen?.id && sourceMetadata?.version === `1.${chosen?.hour}.0`,
      );
      if (chosen === undefined || post === undefined) return;
      await deletePost(app.deps, post.id);
      chosen.posts.set(chosen.hour, 'deleted');
      return;
    }
    case 'run':
      await runAll(app);
      world.run();
      return compare(world);
  }
}

/** Compares every post with the model. */
async function compare(world: World): Promise<void> {
  const posts = await postsOf(world.app);
  const of = (trigger: Expected) =>
    posts.filter(({ sourceMetadata }) => sourceMetadata?.triggerId === trigger.id);
  const [rolling, releases] = [true, false].map((isRolling) =>
    world.all().filter(({ slot }) => (slot === 'rolling') === isRolling),
  ) as [Expected[], Expected[]];
  const found = releases.map((trigger) =>
    of(trigger).map(({ sourceMetadata, status }) => `v${sourceMetadata?.version} ${status}`),
  );
  const expected = releases.map(({ posts: all }) =>
    [...all].filter(([, status]) => status !== 'deleted').map(([hour, status]) => `${tagOf(hour)} ${status}`),
  );
  expect(found.map((each) => each.sort())).toEqual(expected.map((each) => each.sort()));
  for (const trigger of rolling) {
    const told = of(trigger).flatMap(pushesIn).sort();
    const arrived = [...trigger.pushes].sort();
    // Runs of disabled or deleted triggers are still in the queue, so their drafts do not exist yet.
    if (trigger.since === null) expect(told).toEqual(arrived);
    else expect(told).toEqual(arrived.filter((hour) => told.includes(hour)));
    expect(of(trigger).every(({ status }) => status === 'draft')).toBe(true);
  }
}

const pushesIn = ({ markdown }: Post) =>
  Array.from(markdown.matchAll(/^- Push (\d+)/gm), ([, hour]) => Number(hour));

test.each([
  [
    'a post is made only of events that arrived while its trigger was enabled, or were requested',
    anyCommand,
    60,
  ],
  ['a rolling draft tells of every push that arrived once, however releases part it', anyRollingCommand, 20],
])(
  '%s',
  async (_, command, maxLength) => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength, size: 'max' }), async (commands) => {
        const { app, connected } = await appWithGithub();
        const world = new World(app, connected);
        for (const slot of Object.keys(slots) as Slot[]) {
          await apply(world, { kind: 'create', slot, last: 0, isEnabled: true });
        }
        for (const each of commands) await apply(world, each);
        await apply(world, { kind: 'run' });
        const enabled = [...world.triggers.values()].filter(({ isEnabled }) => isEnabled);
        const waiting = (await app.db.read((tx) => listRuns(tx, {}))).map(({ triggerId }) => triggerId);
        expect(enabled.filter(({ id }) => waiting.includes(id))).toEqual([]);
        await app.db.close();
      }),
      { numRuns: rounds(6, 400) },
    );
  },
  3_600_000,
);
