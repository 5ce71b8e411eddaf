import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { runAll, textsOf } from '../support/drafts.ts';
import type { Delivery } from '../support/github-api/deliver.ts';
import type { Happening } from '../support/github-api/project.ts';
import { HOUR_MS, MINUTE_MS, type RecoveryWorld, startRecovery } from '../support/recovery.ts';
import { rounds } from '../support/rounds.ts';

// The drafts are those of an undisturbed run in the end, whatever is lost on the way and whoever was away.

/** An event, and the fate of its deliveries. */
interface Step {
  kind: 'push' | 'two' | 'merge' | 'release' | 'notes' | 'edit';
  /** Each delivery: arrives, arrives again later, gets lost on its way. */
  fates: ('arrives' | 'repeats' | 'is lost')[];
  /** The change before it. */
  before: 'nothing' | 'away' | 'back' | 'off' | 'on';
  /** For how long nothing happens after it. */
  waitMs: number;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('push', 'two', 'merge', 'release', 'notes', 'edit'),
  fates: fc.array(fc.constantFrom('arrives', 'arrives', 'repeats', 'is lost'), {
    minLength: 3,
    maxLength: 3,
  }),
  before: fc.constantFrom('nothing', 'nothing', 'nothing', 'away', 'back', 'off', 'on'),
  waitMs: fc.constantFrom(20_000, MINUTE_MS, 15 * MINUTE_MS, 3 * HOUR_MS, 30 * HOUR_MS),
});

function happeningOf(kind: Step['kind'], at: number, tags: string[]): Happening {
  const tag = `v1.${at}.0`;
  switch (kind) {
    case 'push':
      return { push: [`feat: change ${at}`] };
    case 'two':
      return { by: 'ben', push: [`fix: one of ${at}`, `feat: other of ${at}`] };
    case 'merge':
      return { merge: at + 100, title: `feat: request ${at}`, author: 'ben' };
    case 'edit': {
      const last = tags.at(-1);
      if (last !== undefined) return { edit: last, notes: `- Better at ${at}` };
    }
  }
  tags.push(tag);
  return kind === 'release' ? { release: tag } : { release: tag, notes: `- Notes of ${at}` };
}

/** Plays the steps; without `isDisturbed` everything arrives at once. */
async function play(world: RecoveryWorld, steps: readonly Step[], isDisturbed: boolean): Promise<string[]> {
  const { app, github, repository, project } = world;
  const tags: string[] = [];
  const late: Delivery[] = [];
  let isAway = false;
  await world.start();
  const set = async (change: Step['before']) => {
    if (change === 'away' && !isAway) world.goAway();
    if (change === 'back' && isAway) {
      world.comeBack();
      await world.start();
    }
    if (change === 'away' || change === 'back') isAway = change === 'away';
    if (change === 'off' || change === 'on')
      for (const hook of repository.hooks) hook.isActive = change === 'on';
  };
  for (const [at, { kind, fates, before, waitMs }] of steps.entries()) {
    if (isDisturbed) await set(before);
    app.clock.advance(7_000);
    for (const [index, delivery] of project.happen(happeningOf(kind, at, tags)).entries()) {
      const fate = isDisturbed ? fates[index] : 'arrives';
      if (fate === 'is lost') await world.lose([delivery]);
      else await project.send([delivery]);
      if (fate === 'repeats') late.push(delivery);
    }
    if (isDisturbed) await project.send(late.splice(0, Math.max(0, late.length - 2)).reverse());
    await (isAway ? app.clock.advance(waitMs) : world.recover(waitMs, Math.max(20_000, waitMs / 8)));
    if (!isAway) await runAll(app);
  }
  if (isDisturbed) for (const change of ['back', 'on'] as const) await set(change);
  await world.start();
  await world.recover(30 * MINUTE_MS, MINUTE_MS);
  // The list of deliveries does not show that a webhook was off for a moment: that is read once a day.
  await world.recover(25 * HOUR_MS, HOUR_MS);
  await github.settled();
  return textsOf(app);
}

test('drafts do not depend on outages, losses, repeats, and who switched off the webhook', async () => {
  const schedule = fc.array(anyStep, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(schedule, async (steps) => {
      await using undisturbed = await startRecovery();
      await using disturbed = await startRecovery();
      const expected = await play(undisturbed, steps, false);
      expect(await play(disturbed, steps, true)).toEqual(expected);
    }),
    { numRuns: rounds(5, 200) },
  );
}, 1_200_000);
