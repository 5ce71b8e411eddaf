import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { readHistory } from '../../src/intake/history/read.ts';
import { startHistory } from '../../src/intake/history/service.ts';
import { pollNow } from '../../src/intake/polling/poll.ts';
import { connectIntegration } from '../../src/integrations/connect.ts';
import type { Connected } from '../../src/integrations/words.ts';
import type { OpenReader } from '../../src/providers/reader.ts';
import { githubRequest } from '../support/deliveries.ts';
import { runAll, textsOf } from '../support/drafts.ts';
import type { Delivery } from '../support/github-api/deliver.ts';
import type { Happening } from '../support/github-api/project.ts';
import { READER, startPolling } from '../support/polling.ts';
import { rounds } from '../support/rounds.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// Webhooks, polling and history bring the same events, so any mix of them, in any order, with repeats and gaps, gives
// the posts that webhooks alone give. Left out is what GitHub sends no webhook for.

/** Things that can happen at a project. Names follow from the place in the list. */
type Kind =
  | 'push'
  | 'two'
  | 'force'
  | 'squash'
  | 'merge'
  | 'rebase'
  | 'release'
  | 'notes'
  | 'pre'
  | 'edit'
  | 'comment';

interface Step {
  kind: Kind;
  /** How often each of its deliveries is sent at once, and later. */
  sent: number[];
  later: number[];
  /** Work of Tidings by itself after it. */
  next: ('poll' | 'history' | 'run')[];
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom<Kind>(
    ...([
      'push',
      'two',
      'force',
      'squash',
      'merge',
      'rebase',
      'release',
      'notes',
      'pre',
      'edit',
      'comment',
    ] as const),
  ),
  sent: fc.array(fc.nat(2), { minLength: 3, maxLength: 3 }),
  later: fc.array(fc.nat(1), { minLength: 3, maxLength: 3 }),
  next: fc.subarray<'poll' | 'history' | 'run'>(['poll', 'history', 'run']),
});

/** Null for one that is not possible yet. */
function happeningOf(kind: Kind, at: number, before: readonly Kind[]): Happening | null {
  const tags = before.flatMap((each, index) =>
    ['release', 'notes', 'pre'].includes(each) ? [`v1.${index}.0`] : [],
  );
  const merges = before.flatMap((each, index) =>
    ['squash', 'merge', 'rebase'].includes(each) ? [index + 100] : [],
  );
  switch (kind) {
    case 'push':
      return { push: [`feat: change ${at}`] };
    case 'two':
      return { by: 'ben', push: [`fix: one of ${at}`, `feat: other of ${at}\n\nBREAKING CHANGE: all of it`] };
    case 'force':
      return before.includes('push') ? { push: [`feat: instead ${at}`], drop: 1 } : null;
    case 'squash':
    case 'merge':
    case 'rebase':
      return { merge: at + 100, title: `feat: request ${at}`, labels: ['feature'], author: 'ben', how: kind };
    case 'release':
      return { release: `v1.${at}.0`, name: `Release ${at}` };
    case 'notes':
      return { release: `v1.${at}.0`, notes: `- Notes of ${at}` };
    case 'pre':
      return { release: `v1.${at}.0`, isPrerelease: true };
    case 'edit': {
      const tag = tags.at(at % 2 === 0 ? 0 : -1);
      return tag === undefined ? null : { edit: tag, notes: `- Better at ${at}` };
    }
    case 'comment': {
      const number = merges[0];
      return number === undefined ? null : { comment: number };
    }
  }
}

async function deliver(
  app: TestApp,
  connected: Connected,
  { event, payload, guid }: Delivery,
): Promise<void> {
  const [path, init] = githubRequest(connected, payload, { event, delivery: guid });
  const response = await app.fetch(new Request(`http://localhost${path}`, init));
  expect(response.status).toBe(200);
}

const EVENTS = ['release', 'push', 'pull_request'] as const;

async function postsByWebhooks(deliveries: readonly Delivery[], openReader: OpenReader) {
  const app = await appWithOrganization({ openReader });
  try {
    const connected = await connectIntegration(app.deps, 'github', 'org_a', 'acme/rocket');
    const { integrationId } = connected;
    for (const event of EVENTS)
      await createTrigger(app.deps, { integrationId, event, contentType: 'changelog' });
    for (const delivery of deliveries) await deliver(app, connected, delivery);
    return await textsOf(app);
  } finally {
    await app.db.close();
  }
}

/** Compares the posts of a mix with those of webhooks alone. */
async function checkMix(steps: readonly Step[]): Promise<void> {
  await using world = await startPolling({ token: READER });
  // Webhooks alone need no token, but the commits of releases are asked for.
  world.github.limits.anonymous = 5_000;
  const { app, project, integrationId } = world;
  const deliveries: Delivery[] = [];
  const kept: Delivery[] = [];
  const kinds: Kind[] = [];
  let number = 0;
  for (const { kind, sent, later, next } of steps) {
    const happening = happeningOf(kind, kinds.length, kinds);
    if (happening === null) continue;
    kinds.push(kind);
    app.clock.advance(7_000);
    const own = project.happen(happening);
    deliveries.push(...own);
    for (const [index, delivery] of own.entries()) {
      for (let left = sent[index] ?? 0; left > 0; left--) {
        await world.deliver([left === 1 ? delivery : { ...delivery, guid: `again-${++number}` }]);
      }
      if (later[index] === 1) kept.unshift({ ...delivery, guid: `late-${++number}` });
    }
    for (const each of next) {
      if (each === 'run') await runAll(app);
      if (each === 'poll') expect(await pollNow(app.deps, integrationId)).toMatchObject([{ problem: null }]);
      if (each === 'history') await history(app);
    }
  }
  await pollNow(app.deps, integrationId);
  await world.deliver(kept);
  expect(await textsOf(app)).toEqual(await postsByWebhooks(deliveries, app.deps.openReader));
}

async function history(app: TestApp): Promise<void> {
  const { id } = await startHistory(app.deps, {
    type: 'github',
    organizationId: 'org_a',
    repository: 'acme/rocket',
    contentType: 'changelog',
    publish: false,
  });
  await readHistory({ ...app.deps, db: app.db }, id);
}

test('any mix of history, polling and webhooks gives the posts of webhooks alone', async () => {
  await fc.assert(fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 12 }), checkMix), {
    numRuns: rounds(8, 400),
  });
}, 600_000);
