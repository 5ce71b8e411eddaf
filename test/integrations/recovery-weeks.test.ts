import { expect, test } from 'bun:test';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import { createHook } from '../../src/readers/hooks/service.ts';
import { attentionJob } from '../../src/server/attention.ts';
import { sweep } from '../../src/server/sweep.ts';
import { temporaryFolder } from '../support/cli.ts';
import { logOf } from '../support/deliveries.ts';
import { runAll, textsOf } from '../support/drafts.ts';
import type { Delivery } from '../support/github-api/deliver.ts';
import type { Happening } from '../support/github-api/project.ts';
import { LOCAL_HOSTS, startHookReceiver } from '../support/hook-receiver.ts';
import { HOUR_MS, MINUTE_MS, type RecoveryWorld, startRecovery } from '../support/recovery.ts';
import { rounds } from '../support/rounds.ts';

// Two weeks of a project: one with losses, repeats, outages and a rotated secret, and one in which the webhook is off.

const DAYS = 14;
const STEP_MS = rounds(120, 40) * MINUTE_MS;

/** Numbers from 0 to 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function happeningOf(at: number): Happening {
  if (at % 12 === 0) return { release: `v1.${at}.0`, ...(at % 24 === 0 && { notes: `- Notes of ${at}` }) };
  if (at % 3 === 0) return { merge: at + 1, title: `feat: request ${at}`, author: 'ben' };
  return { push: [`fix: change ${at}`] };
}

/** 0.19 % of deliveries. */
const LOSS = 0.0019;

async function live(world: RecoveryWorld, isDisturbed: boolean) {
  const { app, repository, project } = world;
  using messenger = startHookReceiver();
  const hookDeps = { ...app.deps, hookPrivateHosts: LOCAL_HOSTS };
  await createHook(hookDeps, {
    organizationId: 'org_a',
    name: 'Alerts',
    kind: 'signed',
    about: 'attention-and-server',
    url: messenger.at('/alerts'),
  });
  const sendMessages = createHookSender(hookDeps);
  const random = numbers(19);
  const attention = attentionJob(
    { ...app.deps, db: app.db },
    { dataDir: temporaryFolder().path, backups: undefined, database: undefined },
  );
  const look = async () => {
    await attention.run(new AbortController().signal);
    await sendMessages();
  };
  const late: Delivery[] = [];
  let lost = 0;
  await world.start();
  for (let at = 0; at < (DAYS * 24 * HOUR_MS) / STEP_MS; at++) {
    const hour = (at * STEP_MS) / HOUR_MS;
    const isAway = (hour >= 30 && hour < 32) || (hour >= 60 && hour < 80);
    if (isDisturbed) {
      if (hour === 30 || hour === 60) world.goAway();
      if (hour === 32 || hour === 80) {
        world.comeBack();
        await world.start();
      }
      if (hour === 100) await rotateSecret(app.deps, world.integrationId);
      if (hour === 7 * 24) for (const hook of repository.hooks) hook.isActive = false;
    }
    for (const delivery of project.happen(happeningOf(at))) {
      const luck = isDisturbed ? random() : 1;
      if (luck < LOSS || at === 23) {
        lost++;
        await world.lose([delivery]);
      } else if (luck < 0.02) late.unshift(delivery);
      else await project.send(luck < 0.04 ? [delivery, delivery] : [delivery]);
    }
    if (at % 5 === 0) await project.send(late.splice(0));
    if (isAway || !isDisturbed) app.clock.advance(STEP_MS);
    else await world.recover(STEP_MS, STEP_MS / 4);
    if ((isAway && isDisturbed) || at % 6 > 0) continue;
    await runAll(app);
    await look();
    if (hour % 24 === 0) await sweep({ ...app.deps });
  }
  if (isDisturbed) {
    for (const hook of repository.hooks) hook.isActive = true;
    await project.send(late.splice(0));
  }
  await world.recover(2 * HOUR_MS, STEP_MS / 4);
  await look();
  const messages = messenger.requests.map(({ body }) => JSON.parse(body).data);
  return {
    texts: await textsOf(app),
    lost,
    messages: messages.map(({ state, itemId }) => `${state} ${itemId}`),
  };
}

test('two bad weeks lose nothing, bring nothing twice, and tell of each cause once', async () => {
  await using undisturbed = await startRecovery();
  const { texts: expected, messages: none } = await live(undisturbed, false);
  expect(none).toEqual([]);
  await using world = await startRecovery();
  const { texts, lost, messages } = await live(world, true);
  expect(lost).toBeGreaterThan(0);
  expect(texts).toEqual(expected);
  const taken = (await logOf(world.app)).filter(({ status }) => status === 'processed');
  const ids = taken.flatMap(({ referenceId, payload }) => (payload.data === null ? [] : (referenceId ?? [])));
  expect(new Set(ids).size).toBe(ids.length);
  // The week in which the webhook is off. All else heals before anybody needs to know.
  const item = `webhook_off:${world.integrationId}`;
  expect(messages).toEqual([`began ${item}`, `ended ${item}`]);
}, 1_200_000);
